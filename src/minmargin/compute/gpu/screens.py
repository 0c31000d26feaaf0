"""Screens on a device: rows are staged there, looked at roughly, and looked at closer where that leaves doubt."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from minmargin.compute import bounds
from minmargin.compute.gpu.gaps import GapLook
from minmargin.compute.gpu.looks import DeviceNetworks, Found, NetworkLook, has_triton, linear_networks
from minmargin.compute.gpu.staging import Staging
from minmargin.data.rows import ColumnBlock
from minmargin.device import Precision
from minmargin.margins import ScoreName
from minmargin.topb import Cut, Near

_WORTH_A_LOOK = 1 << 30  # multiplications that take about as long as a closer look takes to begin
_TOO_MANY = 1 / 8  # of a block, that a first look leaves in doubt
# Device work is many short calls. If threads make them at the same time, they mostly wait for the interpreter's lock.
_one_at_a_time = Lock()

#: (n,) numbers that no score is below, and that none is above.
Bounds: TypeAlias = tuple[NDArray[np.float64], NDArray[np.float64]]


@dataclass(frozen=True)
class DeviceScreen:
    """A rough and fast look at one score of a committee, on a device.

    Attributes:
        look: at any score, coarse or fine.
        gaps: the faster first look at the lowest margin of linear models, if it can be had.
        center: (D,) what is subtracted from rows before anything else; None for nothing.
        staging: what hands rows to the device.
        leaves_too_many: not empty once a first look has left most of a block in doubt.
    """

    look: NetworkLook
    gaps: GapLook | None
    center: NDArray[np.float32] | None
    staging: Staging
    leaves_too_many: list[bool] = field(default_factory=list, init=False, repr=False)

    def near(self, X: NDArray[Any] | ColumnBlock, *, cut: Cut, size: int | None) -> Near:
        """Return the rows whose score may not be above the cut, and may be among the `size` lowest."""
        with self.staging.rows(X, self.center) as rows:
            found, (lower, upper) = self._first_look(rows, cut, size, exact=self._arrives_exactly(X))

            def look_closer(index: NDArray[np.intp]) -> Bounds:
                # What has to be copied to the device stands in line behind other threads' rows: nobody waits for that.
                exactly = self._exactly(X, rows, found.places[index])
                with _one_at_a_time:
                    closer = self.look.look_closer(exactly)
                return self._bounds(closer)

            if not found.finite:
                return Near.unknown(found.places)
            index, lower, upper = bounds.two_looks(
                lower, upper, look_closer, threshold=cut.score, size=size, at_least=self._at_least
            )
        return Near(found.places[index], lower, upper)

    def scores(self, X: NDArray[Any] | ColumnBlock) -> NDArray[np.float64]:
        """Return (n,) the scores as float32 gives them."""
        with self.staging.rows(X, self.center) as rows:
            values = self.look.values(rows)
        return values / self.look.networks.n_networks if self.look.kind == bounds.VOTES else values

    def _exactly(self, X: NDArray[Any] | ColumnBlock, rows: Tensor, places: NDArray[np.intp]) -> Tensor:
        """Return some rows in float64: from the device, or as they came if they were rounded on the way there."""
        if self._arrives_exactly(X):
            return rows[torch.from_numpy(places).to(rows.device)].double()
        exactly = np.asarray(X[places], dtype=np.float64)
        if self.center is not None:
            exactly = exactly - self.center
        return torch.from_numpy(exactly).to(rows.device)

    def _arrives_exactly(self, X: NDArray[Any] | ColumnBlock) -> bool:
        """Return whether rows on the device are what they were before, and no number was rounded."""
        return isinstance(X, np.ndarray) and X.dtype == np.float32 and self.center is None

    @property
    def _at_least(self) -> int:
        """How many rows make a closer look worth its while."""
        return _WORTH_A_LOOK // sum(layer.size for layer in self.look.networks.weights) + 1

    def _first_look(self, rows: Tensor, cut: Cut, size: int | None, *, exact: bool) -> tuple[Found, Bounds]:
        if self.gaps is None:
            with _one_at_a_time:
                found = self.look.look(rows)
            return found, self._bounds(found)
        n_models, n_outputs, _ = self.gaps.weights.shape
        shape: dict[str, Any] = {"n_models": n_models, "n_outputs": n_outputs, "softmax": self.look.softmax}

        def allowed(score: float) -> float:
            return bounds.allowed(score, bounds.LOWEST_GAP, **shape)

        def allowed_beside(gap: float) -> float:
            _, above = bounds.score_bounds(np.array([gap]), np.zeros(1), bounds.LOWEST_GAP, **shape)
            return allowed(float(above[0]))

        with _one_at_a_time:
            threshold = cut.score  # as low as it is by now
            if not exact:  # then a closer look has to start from the rows as they came
                kept = self.gaps.keep(rows, allowed(threshold))
            elif threshold == math.inf or self.leaves_too_many:
                # A first cut should be a good one; and where a quick look leaves too many rows, it is of no use.
                found = self.gaps.look_closely(rows, allowed(threshold))
            else:
                found, n_kept = self.gaps.look_twice(rows, allowed(threshold))
                if n_kept > _TOO_MANY * len(rows):
                    self.leaves_too_many.append(True)
        if not exact:
            found = self.gaps.describe(kept, size, allowed_beside)
        known = np.where(found.errors < np.inf, found.values, 0.0)
        kind = bounds.LOWEST_MARGIN if exact and self.gaps.tells_margins else bounds.LOWEST_GAP
        return found, bounds.score_bounds(known, found.errors, kind, **shape)

    def _bounds(self, found: Found) -> Bounds:
        networks = self.look.networks
        if self.look.kind == bounds.VOTES:  # each vote in doubt may go to the leader or to the second
            lower, upper = found.values - found.errors, found.values + found.errors
            return np.maximum(lower, 0.0) / networks.n_networks, upper / networks.n_networks
        return bounds.score_bounds(
            found.values,
            found.errors,
            self.look.kind,
            n_models=networks.n_networks,
            n_outputs=networks.widths[-1],
            softmax=self.look.softmax,
        )


def network_screen(
    models: DeviceNetworks,
    center: NDArray[np.float32] | None,
    score: ScoreName,
    *,
    softmax: bool = True,
    precision: Precision,
    gaps: GapLook | None = None,
) -> DeviceScreen | None:
    """Return the screen of a score of networks; None if there are none, or float32 cannot hold them."""
    if not models.networks.n_networks or not models.errors.fits_float32:
        return None
    kind = bounds.KINDS[score]
    kind = bounds.LOWEST_MARGIN if kind == bounds.LOWEST_GAP else kind
    return DeviceScreen(NetworkLook(models, kind, softmax, precision), gaps, center, Staging(models.device))


def linear_screen(
    weights: NDArray[np.float64],
    intercepts: NDArray[np.float64],
    score: ScoreName,
    *,
    softmax: bool,
    precision: Precision,
    device: str = "cuda",
) -> DeviceScreen | None:
    """Return the screen of a score of (D, K, O) linear models; None if there are none, or float32 cannot hold them."""
    gaps = None
    if bounds.KINDS[score] == bounds.LOWEST_GAP and has_triton(device):
        stacked = np.ascontiguousarray(weights.transpose(1, 2, 0))
        gaps = GapLook(stacked, intercepts, softmax, precision, device)
        gaps.load()
    models = DeviceNetworks(linear_networks(weights, intercepts, softmax=softmax), device)
    return network_screen(models, None, score, softmax=softmax, precision=precision, gaps=gaps)
