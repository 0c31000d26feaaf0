"""Weights cut up for the matrix units of a GPU, with a bound on the error of what these compute.

A float32 number is the sum of two numbers of 11 binary digits, high and low, and a rest of at most 2^-22 of it. Left
out of a product of two are low * low and the rests: 3 * 2^-22 of it at most. With `precision="fast"`, all but
high * high is left out. A matrix unit adds the products of an instruction to a sum, cutting each off at the last place
of the largest (Fasi et al., Numerical behavior of NVIDIA tensor cores, 2021), which costs less than 2^-23 of |x| |w|
for each product added, where |.| is the Euclidean length, with a 1 and the constant appended. So all of the error is a
slope times |x|.

**Half precision** is the fastest, but ends at 65,504 and loses digits below 2^-14. Feature d is therefore multiplied by
s_d, the power of two next to its largest weight, and the weights are divided by it. Then no weight exceeds 2, and the
product of feature and weight, which is all that matters for a logit, lies in range unless the logit is extreme. Below
the range, numbers lose up to 2^-25 each. Of a row that might exceed it, nothing is known.

**TF32** has float32's range. Short rows are bound by memory and not by arithmetic, and need nothing else.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from minmargin.compute.rounding import TINY
from minmargin.device import Precision

MEMBERS = 32  # columns of an output: a member each
OUTPUTS = 8  # outputs that are multiplied at once
SPAN = 32  # features that are multiplied at once
LONGEST_SHORT = 64  # features of a row that is multiplied all at once
MOST_SHORT = 128  # members of a committee that is


@dataclass(frozen=True)
class ShortSplit:
    """Two-class models of few features, for `linear_kernels.short_rows`.

    Attributes:
        high: (span, n_columns) float32 of TF32 numbers, a column a member.
        low: what `high` leaves of the weights.
        bias: (n_columns,) float32.
        slope: how far a logit may be from its true value, per length of the row.
    """

    high: NDArray[np.float32]
    low: NDArray[np.float32]
    bias: NDArray[np.float32]
    slope: float

    @classmethod
    def of(
        cls, weights: NDArray[np.float64], constants: NDArray[np.float64], precision: Precision
    ) -> ShortSplit:
        """Return (K, D) weights and (K,) constants, cut up."""
        n_models, n_features = weights.shape
        lengths = np.sqrt((weights**2).sum(axis=1) + constants**2)
        members = _filled_up(n_models, max(_power_of_two(n_models), 16))
        filled = np.zeros((max(_power_of_two(n_features), 16), len(members)))
        filled[:n_features] = weights[members].T
        high = _as_tf32(filled.astype(np.float32))
        low = _as_tf32((filled - high).astype(np.float32))
        slope = logit_slope(float(lengths.max()), len(filled), precision)
        return cls(high, low, constants[members].astype(np.float32), slope)


@dataclass(frozen=True)
class HalfSplit:
    """Linear models for `linear_kernels.two_classes` and `linear_kernels.classes`.

    Attributes:
        scale: (D padded,) float32 powers of two by which features are multiplied.
        high: (groups of members, D padded, width) float16.
        low: what `high` leaves of the weights, for a GPU to round: with numbers so small, a processor takes long.
        bias: (groups, width) float32; -inf for outputs that only fill up.
        n_full: how often `n_outputs` outputs are multiplied at once.
        n_outputs: a power of two.
        rest: how many outputs are left then, filled up to a power of two, or 0.
        slope: how far a logit may be from its true value, per length of the scaled row.
    """

    scale: NDArray[np.float32]
    high: NDArray[np.float16]
    low: NDArray[np.float32]
    bias: NDArray[np.float32]
    n_full: int
    n_outputs: int
    rest: int
    slope: float

    @classmethod
    def of(
        cls, weights: NDArray[np.float64], constants: NDArray[np.float64], precision: Precision
    ) -> HalfSplit:
        """Return (K, O, D) weights and (K, O) constants, cut up."""
        n_models, n_real, n_features = weights.shape
        powers = powers_of_two(np.abs(weights).max(axis=(0, 1)))
        scaled = weights / powers
        lengths = np.sqrt((scaled**2).sum(axis=2) + constants**2)
        n_full, rest, n_outputs = n_real // OUTPUTS, n_real % OUTPUTS, OUTPUTS
        if n_full == 0:  # few outputs: all of them at once
            n_full, rest, n_outputs = 1, 0, _power_of_two(n_real)
        rest = _power_of_two(rest) if rest else 0
        n_filled = n_full * n_outputs + rest
        n_groups = -(-n_models // MEMBERS)
        n_padded = -(-n_features // SPAN) * SPAN
        members = _filled_up(n_models, n_groups * MEMBERS)
        filled = np.zeros((len(members), n_filled, n_padded))
        filled[:, :n_real, :n_features] = scaled[members]
        grouped = filled.reshape(n_groups, MEMBERS, n_filled, n_padded)
        by_feature = grouped.transpose(0, 3, 2, 1).reshape(n_groups, n_padded, -1)
        bias = np.full((len(members), n_filled), -np.inf)
        bias[:, :n_real] = constants[members]
        bias = bias.reshape(n_groups, MEMBERS, n_filled).transpose(0, 2, 1).reshape(n_groups, -1)
        high = by_feature.astype(np.float16)
        return cls(
            np.concatenate([powers, np.ones(n_padded - n_features)]).astype(np.float32),
            high,
            (by_feature - high).astype(np.float32),
            bias.astype(np.float32),
            n_full,
            n_outputs,
            rest,
            logit_slope(float(lengths.max()), n_padded, precision, below_range=True),
        )


def powers_of_two(sizes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the power of two next to each size, and 1 for size 0."""
    # Far from 1, what is scaled could leave float32's range: such features are left to lose digits.
    exponents = np.clip(np.rint(np.log2(np.where(sizes > 0, sizes, 1.0))), -60, 60)
    return np.asarray(np.ldexp(1.0, exponents.astype(np.int64)))


def logit_slope(length: float, n_features: int, precision: Precision, *, below_range: bool = False) -> float:
    """Return how far a logit may be from its true value, per length of the row; see above.

    Args:
        length: the largest length of a model's weights.
        n_features: D, padded.
        precision: "fast" leaves out all but the product of the high parts.
        below_range: whether numbers may fall below the range of half precision, and not only of float32.
    """
    n_products, left_out = (3, 3 * 2.0**-22) if precision == "float32" else (1, 2 * 2.0**-10)
    relative = left_out * (1.0 + 2.0**-9) + (n_products * n_features + 16) * 2.0**-23
    lost = 8.0 * (n_features + 2) * TINY * (2.0 + length)
    if below_range:
        lost += 4.0 * (n_features + math.sqrt(n_features)) * 2.0**-24
    # The length is itself a sum of squares, in float32 or of products that a matrix unit cuts off.
    return (relative * length + lost) * (1.0 + 2.0**-9 + n_features * 2.0**-23)


def _as_tf32(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return float32 numbers rounded to the 11 digits that a matrix unit reads of them."""
    bits = (values.view(np.uint32).astype(np.uint64) + 0x1000) & 0xFFFFE000
    return bits.astype(np.uint32).view(np.float32)


def _filled_up(n_members: int, n_columns: int) -> NDArray[np.intp]:
    """Return the member of each column; those that only fill up are the first, which cannot change a minimum."""
    members = np.zeros(n_columns, dtype=np.intp)
    members[:n_members] = np.arange(n_members)
    return members


def _power_of_two(n: int) -> int:
    return 1 << max(n - 1, 0).bit_length()
