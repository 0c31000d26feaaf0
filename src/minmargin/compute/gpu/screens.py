"""Screens on a device: rows are staged there, and get a first look, and a closer one where that leaves doubt."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from minmargin.compute import bounds
from minmargin.compute.gpu.gaps import GapLooks
from minmargin.compute.gpu.looks import DeviceNetworks, Found, NetworkLooks, has_triton, linear_networks
from minmargin.compute.gpu.staging import Staging
from minmargin.compute.reductions import OF_SCORE, Bounds, Shape
from minmargin.data.rows import ColumnBlock
from minmargin.device import Precision
from minmargin.margins import ScoreName
from minmargin.topb import Cut, Near

_WORTH_A_LOOK = 1 << 30  # multiplications that take about as long as a closer look takes to begin
_TOO_MANY = 1 / 8  # of a block, that a first look leaves in doubt
# Device work is many short calls. If threads make them at the same time, they mostly wait for the interpreter's lock.
_one_at_a_time = Lock()


@dataclass(frozen=True)
class DeviceScreen:
    """The screen of one score of a committee, on a device.

    Attributes:
        looks: at any score.
        gaps: faster ones at the lowest margin of linear models, if they can be had.
        center: (D,) what is subtracted from rows before anything else; None for nothing.
        staging: what hands rows to the device.
        leaves_too_many: not empty once a first look has left most of a block in doubt.
    """

    looks: NetworkLooks
    gaps: GapLooks | None
    center: NDArray[np.float32] | None
    staging: Staging
    leaves_too_many: list[bool] = field(default_factory=list, init=False, repr=False)

    def near(self, X: NDArray[Any] | ColumnBlock, *, cut: Cut, size: int | None) -> Near:
        """Return the rows whose score may not be above the cut, and may be among the `size` lowest."""
        with self.staging.rows(X, self.center) as rows:
            found, first = self._first_look(rows, cut, size, exact=self._arrives_exactly(X))

            def look_closer(index: NDArray[np.intp]) -> Bounds:
                # What has to be copied to the device stands in line behind other threads' rows: nobody waits for that.
                exactly = self._exactly(X, rows, found.places[index])
                with _one_at_a_time:
                    closer = self.looks.closer_look(exactly)
                return self._bounds(closer)

            if not found.finite:
                return Near.unknown(found.places)
            index, closest = bounds.two_looks(
                first, look_closer, threshold=cut.score, size=size, at_least=self._at_least
            )
        return Near(found.places[index], *closest)

    def scores(self, X: NDArray[Any] | ColumnBlock) -> NDArray[np.float64]:
        """Return (n,) the scores as float32 gives them; NaN where nothing is known of a row's logits."""
        with self.staging.rows(X, self.center) as rows:
            found = self.looks.certain_look(rows)
        scores = self.looks.reduction.scores_of(found.values, self.looks.shape)
        return np.where(found.errors < np.inf, scores, np.nan)

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
        return _WORTH_A_LOOK // sum(layer.size for layer in self.looks.networks.weights) + 1

    def _first_look(self, rows: Tensor, cut: Cut, size: int | None, *, exact: bool) -> tuple[Found, Bounds]:
        reduction, gap = self.looks.reduction, self.looks.reduction.shortcut
        if self.gaps is None or gap is None:
            with _one_at_a_time:
                found = self.looks.first_look(rows)
            return found, self._bounds(found)
        n_models, n_outputs, _ = self.gaps.weights.shape
        shape = Shape(n_models, n_outputs, self.looks.softmax)

        def allowed_beside(value: float) -> float:
            above = gap.bounds(np.array([value]), np.zeros(1), shape).upper
            return gap.allowed(float(above[0]), shape)

        with _one_at_a_time:
            threshold = cut.score  # as low as it is by now
            allowed = gap.allowed(threshold, shape)
            if not exact:  # then a closer look has to start from the rows as they came
                near = self.gaps.first_look(rows, allowed)
            elif threshold == math.inf or self.leaves_too_many:
                # A first cut should be a good one; and where a first look leaves too many rows, it is of no use.
                found = self.gaps.closer_look(rows, allowed)
            else:
                found, n_near = self.gaps.both_looks(rows, allowed)
                if n_near > _TOO_MANY * len(rows):
                    self.leaves_too_many.append(True)
        if not exact:
            found = self.gaps.found_by(near, size, allowed_beside)
        known = np.where(found.errors < np.inf, found.values, 0.0)
        told = reduction if exact and self.gaps.tells_margins else gap
        return found, told.bounds(known, found.errors, shape)

    def _bounds(self, found: Found) -> Bounds:
        return self.looks.reduction.bounds(found.values, found.errors, self.looks.shape)


def network_screen(
    models: DeviceNetworks,
    center: NDArray[np.float32] | None,
    score: ScoreName,
    *,
    softmax: bool = True,
    precision: Precision,
    gaps: GapLooks | None = None,
) -> DeviceScreen | None:
    """Return the screen of a score of networks; None if there are none, or float32 cannot hold them."""
    if not models.networks.n_networks or not models.errors.fits_float32:
        return None
    looks = NetworkLooks(models, OF_SCORE[score], softmax, precision)
    return DeviceScreen(looks, gaps, center, Staging(models.device))


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
    if OF_SCORE[score].shortcut is not None and has_triton(device):
        stacked = np.ascontiguousarray(weights.transpose(1, 2, 0))
        gaps = GapLooks(stacked, intercepts, softmax, precision, device)
        gaps.load()
    models = DeviceNetworks(linear_networks(weights, intercepts, softmax=softmax), device)
    return network_screen(models, None, score, softmax=softmax, precision=precision, gaps=gaps)
