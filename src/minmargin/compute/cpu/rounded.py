"""What goes into the CPU's first look at linear models, and what comes out: in plain numpy, so that numba can wait."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minmargin.compute.reductions import Shape
from minmargin.properties import cached_property

#: Features that are summed at a time.
SPAN = 64


@dataclass(frozen=True)
class RoundedModels:
    """K linear models with O outputs each, as float32 products read them.

    Attributes:
        weights: (K * O, D).
        constants: (K * O,).
        shape: of the models.
        relative: whether a first output is left out, to which the others are relative.
    """

    weights: NDArray[np.float64]
    constants: NDArray[np.float64]
    shape: Shape
    relative: bool = False

    @cached_property
    def length(self) -> float:
        """The largest length of an output's weights and constant together, rounded up."""
        return float(np.sqrt((self.weights**2).sum(axis=1) + self.constants**2).max()) * (1.0 + 1e-6)

    @cached_property
    def dense(self) -> NDArray[np.float32]:
        """As products with dense rows read them."""
        from minmargin.compute.cpu.simd import pack  # noqa: PLC0415 - imports numba

        return pack(self.weights, self.constants, np.float32)

    @cached_property
    def csr(self) -> NDArray[np.float32]:
        """As products with CSR rows read them."""
        return np.vstack([self.constants, self.weights.T]).astype(np.float32)

    def as_relative(self) -> RoundedModels:
        """Return the same models, relative to the first output: gaps and a softmax stay the same."""
        n_models, n_outputs, _ = self.shape
        if n_outputs == 1:
            return self
        weights = self.weights.reshape(n_models, n_outputs, -1)
        constants = self.constants.reshape(n_models, n_outputs)
        weights, constants = weights[:, 1:] - weights[:, :1], constants[:, 1:] - constants[:, :1]
        shape = self.shape._replace(n_outputs=n_outputs - 1)
        return RoundedModels(
            weights.reshape(-1, self.weights.shape[1]), constants.ravel(), shape, relative=True
        )


class Limits(NamedTuple):
    """What makes a row near.

    Attributes:
        allowed: the value up to which it is.
        lost: the error of a value that is the same for all rows.
        slope: its error besides, per length of the row.
        logit_slope: the error of a logit, per length of the row.
        longest: the length from which on nothing is known of a row.
    """

    allowed: float
    lost: float
    slope: float
    logit_slope: float
    longest: float

    def as_float32(self) -> NDArray[np.float32]:
        """Return them as kernels read them, no limit on the wrong side of what it was."""
        longest = min(self.longest**2, 1e38)
        with np.errstate(over="ignore"):  # a limit that becomes infinite dismisses no row
            allowed = self.allowed + self.lost
            limits = np.array([allowed, self.slope**2, longest, self.logit_slope], dtype=np.float32)
        return np.nextafter(limits, np.array([np.inf, np.inf, -np.inf, np.inf], dtype=np.float32))


class Look(NamedTuple):
    """What a look at a block tells: its rows that are near, in order.

    Attributes:
        places: (m,) where in the block they stand.
        values: (m,) what their logits are reduced to.
        squares: (m,) their squared lengths.
        finite: whether all numbers of all rows are certain to be finite.
    """

    places: NDArray[np.intp]
    values: NDArray[np.float32]
    squares: NDArray[np.float32]
    finite: bool
