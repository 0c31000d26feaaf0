"""The looks at the lowest gap of linear models: Triton kernels that write down the rows that are near."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from minmargin.compute.gpu import plain, splits
from minmargin.compute.gpu.looks import Found
from minmargin.compute.rounding import SMALL_UNIT, TINY, UNIT, gamma
from minmargin.device import Precision
from minmargin.properties import cached_property

_DOUBLES = 1 << 25  # that a closer look has in memory at a time: 256 MB


@dataclass(frozen=True)
class GapLooks:
    """The looks at the lowest gap of K linear models: highest minus second-highest logit, or the size of the only one.

    Attributes:
        weights: (K, O, D) one output a class, or a single one for two classes.
        constants: (K, O).
        precision: how closely to look.
        softmax: whether class scores are the softmax of the logits, and not the logits themselves.
        device: where.
    """

    weights: NDArray[np.float64]
    constants: NDArray[np.float64]
    softmax: bool
    precision: Precision
    device: str
    _typical: list[float] = field(default_factory=list, init=False, repr=False)

    def load(self) -> None:
        """Put all that the looks read on the device now, before rows stand in line for the same way."""
        _ = self._tensors, self._exact

    def first_look(self, rows: Tensor, allowed: float) -> NDArray[np.float32]:
        """Return (3, m) the rows whose gap may be `allowed` or less: their places, gaps and squared lengths.

        The places are whole numbers, of as many bits. `found_by` tells what follows.
        """
        return _to_host(_written_by(partial(self.prepare(rows), allowed), rows))

    def both_looks(self, rows: Tensor, allowed: float) -> tuple[Found, int]:
        """Return what a closer look tells of the rows that the first one leaves near, and how many these are."""
        near = _written_by(partial(self.prepare(rows), allowed), rows)
        places = near[0].view(torch.int32).sort().values
        if not len(places):
            nothing = np.empty(0)
            return Found(np.empty(0, np.intp), nothing, nothing, finite=True), 0
        found = self.closer_look(rows[places], allowed)
        return found._replace(places=places.cpu().numpy()[found.places].astype(np.intp)), len(places)

    def closer_look(self, rows: Tensor, allowed: float) -> Found:
        """Return what float64 products tell of the rows whose gap may be `allowed` or less: see `tells_margins`.

        The proven error of a long sum on matrix units is so wide that the first look may leave nearly every row near.
        If rows come from the host, there is time for this one, and hardly a row is left to look at again.
        """
        from minmargin.compute.gpu.linear_kernels import near_gaps  # noqa: PLC0415 - imports Triton

        n_models, n_outputs, n_features = self.weights.shape
        block = 32
        step = max(_DOUBLES // max(n_features, n_models * n_outputs) // block, 1) * block

        def launch(written: tuple[Tensor, ...]) -> None:
            for first in range(0, len(rows), step):
                exactly = rows[first : first + step].double()
                logits = torch.addmm(self._exact["bias"], exactly, self._exact["weights"])
                near_gaps[(-(-len(exactly) // block),)](
                    logits, plain.squared_lengths(exactly), first, len(exactly), n_models, n_outputs,
                    _rounded_up(allowed), _rounded_up(self.fine_slope), *written, margins=self.tells_margins,
                    n_columns=max(1 << (n_models - 1).bit_length(), 16), block=block, num_warps=4,
                )  # fmt: skip

        near = _to_host(_written_by(launch, rows))
        in_order = np.argsort(near[0].view(np.int32))
        places, (values, lengths) = near[0].view(np.int32)[in_order], near[1:, in_order].astype(np.float64)
        with np.errstate(invalid="ignore"):
            # What is written is rounded to float32.
            errors = self.fine_slope * np.sqrt(lengths + 1.0) + 2.0 * UNIT * np.abs(values) + TINY
        return Found(places.astype(np.intp), values, errors, bool(np.isfinite(lengths).all()))

    @property
    def tells_margins(self) -> bool:
        """Whether a closer look gives lowest margins: of more than two classes, gaps tell them only roughly."""
        return self.softmax and self.weights.shape[1] > 1

    def found_by(
        self,
        first_look: NDArray[np.float32],
        size: int | None,
        allowed_beside: Callable[[float], float],
    ) -> Found:
        """Return what a first look tells of rows, without those that are not needed for the `size` lowest.

        `allowed_beside(gap)` is what is allowed if as many rows as are needed have gaps no larger than `gap`.
        """
        places, (values, lengths) = first_look[0].view(np.int32), first_look[1:].astype(np.float64)
        finite = bool(np.isfinite(lengths).all())
        in_range = lengths < (math.inf if self._short is not None else 65504.0**2)
        with np.errstate(invalid="ignore"):
            errors = np.where(in_range, self.slope * np.sqrt(lengths + 1.0), np.inf)
            if finite and size is not None and len(places) > size:
                certain = float(np.partition(np.nan_to_num(values + errors, nan=np.inf), size - 1)[size - 1])
                near = ~(values - errors > allowed_beside(certain))
                places, values, errors = places[near], values[near], errors[near]
        in_order = np.argsort(places)
        return Found(places[in_order].astype(np.intp), values[in_order], errors[in_order], finite)

    @cached_property
    def slope(self) -> float:
        """How far a gap may be off, per length of the row, the canonical logits' own error included."""
        split: Any = self._short or self._half
        powers = 1.0 if self._half is None else self._half.scale[: self.weights.shape[2]].astype(np.float64)
        scaled = np.sqrt(((self.weights / powers) ** 2).sum(axis=2) + self.constants**2)
        canonical = gamma(self.weights.shape[2] + 8, SMALL_UNIT) * float(scaled.max())
        return (1.0 if self.weights.shape[1] == 1 else 2.0) * (float(split.slope) + 2.0 * canonical)

    @cached_property
    def fine_slope(self) -> float:
        """The same where products are float64. A margin is off by less than a gap."""
        length = float(np.sqrt((self.weights**2).sum(axis=2) + self.constants**2).max())
        relative = 2.0 * gamma(self.weights.shape[2] + 8, SMALL_UNIT)
        # The length of a row is rounded to float32 on its way.
        return (1.0 if self.weights.shape[1] == 1 else 2.0) * relative * length * (1.0 + 2.0**-9)

    def prepare(self, rows: Tensor) -> Callable[[float, tuple[Tensor, ...]], None]:
        """Return the launch of a kernel on these rows, given what is allowed and where to write the rows that are near.

        It writes how many these are, which, their gaps and their squared lengths.
        """
        return self._short_launch(rows) if self._short is not None else self._long_launch(rows)

    def _short_launch(self, rows: Tensor) -> Callable[[float, tuple[Tensor, ...]], None]:
        from minmargin.compute.gpu.linear_kernels import short_rows  # noqa: PLC0415 - imports Triton

        n, n_features = rows.shape
        tensors, slope = self._tensors, self.slope
        span, n_columns = tensors["high"].shape
        # The root of a row's squared length s, of which the kernel takes no root, is at most (s + 1) / 2c + c / 2,
        # and hardly more than the root if c is near it. What is typical of the first rows is taken for all.
        if not self._typical:
            sample = plain.squared_lengths(rows[:: max(n // 256, 1)]).nan_to_num(0.0, 0.0, 0.0)
            self._typical.append(math.sqrt(min(float(sample.mean()), 1e30) + 1.0))
        typical = self._typical[0]
        tilt = slope / (2.0 * typical)
        block = 128
        # As many as keep memory busy: with more to compute for each row, it takes more of them.
        per_processor = 6 if self.precision == "float32" else 4
        n_programs = min(-(-n // block), per_processor * _n_processors(self.device))

        def launch(allowed: float, written: tuple[Tensor, ...]) -> None:
            short_rows[(n_programs,)](
                rows, n, n_features, tensors["high"], tensors["low"], tensors["ones"], tensors["bias"],
                allowed + tilt + 0.5 * slope * typical, tilt, *written, split=self.precision == "float32",
                n_columns=n_columns, block=block, span=span, stages=3, num_warps=4,
            )  # fmt: skip

        return launch

    def _long_launch(self, rows: Tensor) -> Callable[[float, tuple[Tensor, ...]], None]:
        from minmargin.compute.gpu.linear_kernels import classes, two_classes  # noqa: PLC0415 - imports Triton

        split = self._half
        assert split is not None
        n, n_features = rows.shape
        tensors, block = self._tensors, 128
        shape: dict[str, Any] = {
            "n_groups": len(split.high),
            "split": self.precision == "float32",
            "n_columns": splits.MEMBERS,
            "block": block,
            "span": splits.SPAN,
            "num_warps": 8,
            "num_stages": 3,
        }
        kernel: Any = two_classes
        if self.weights.shape[1] > 1:
            kernel = classes
            shape |= {"n_full": split.n_full, "n_outputs": split.n_outputs, "rest": split.rest}

        def launch(allowed: float, written: tuple[Tensor, ...]) -> None:
            kernel[(-(-n // block),)](
                rows, n, n_features, tensors["scale"], tensors["high"], tensors["low"], tensors["bias"],
                allowed, self.slope, *written, **shape,
            )  # fmt: skip

        return launch

    @cached_property
    def _short(self) -> splits.ShortSplit | None:
        n_models, n_outputs, n_features = self.weights.shape
        if n_outputs > 1 or n_features > splits.LONGEST_SHORT or n_models > splits.MOST_SHORT:
            return None
        return splits.ShortSplit.of(self.weights[:, 0], self.constants[:, 0], self.precision)

    @cached_property
    def _half(self) -> splits.HalfSplit | None:
        if self._short is not None:
            return None
        weights, constants = self.weights, self.constants
        if weights.shape[1] > 1:  # relative to the first class, which then costs nothing
            weights, constants = weights[:, 1:] - weights[:, :1], constants[:, 1:] - constants[:, :1]
        return splits.HalfSplit.of(weights, constants, self.precision)

    @cached_property
    def _tensors(self) -> dict[str, Tensor]:
        split: Any = self._short or self._half
        names = ["high", "low", "bias", *(["scale"] if self._short is None else [])]
        tensors = {
            name: torch.from_numpy(np.ascontiguousarray(getattr(split, name))).to(self.device)
            for name in names
        }
        tensors["low"] = tensors["low"].to(tensors["high"].dtype)
        tensors["ones"] = torch.ones_like(tensors["high"])
        return tensors

    @cached_property
    def _exact(self) -> dict[str, Tensor]:
        """Float64 weights (D, O * K) and biases (O * K,), ordered by output and then by member."""
        by_output = {"weights": self.weights.transpose(2, 1, 0), "bias": self.constants.T}
        return {
            name: torch.from_numpy(np.ascontiguousarray(values)).flatten(-2).to(self.device)
            for name, values in by_output.items()
        }


def _rounded_up(value: float) -> float:
    """Return a number that is no smaller and fits into float32, as which Triton hands it to a kernel."""
    with np.errstate(over="ignore"):
        return float(np.nextafter(np.float32(value), np.float32(np.inf)))


def _written_by(launch: Callable[[tuple[Tensor, ...]], None], rows: Tensor) -> Tensor:
    """Return (3, m) what a kernel writes of the rows that are near."""
    room = -(-len(rows) // 16) * 16  # so that all three are aligned, for which kernels are compiled
    written = torch.empty((3, room), dtype=torch.float32, device=rows.device)
    counter = torch.zeros(1, dtype=torch.int32, device=rows.device)
    launch((counter, written[0].view(torch.int32), *written[1:]))
    return written[:, : int(counter.item())]


def _to_host(written: Tensor) -> NDArray[np.float32]:
    return np.asarray(written.cpu().numpy())


def _n_processors(device: str) -> int:
    return 1 if device == "cpu" else int(torch.cuda.get_device_properties(device).multi_processor_count)
