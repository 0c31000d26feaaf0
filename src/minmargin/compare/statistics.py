"""What results say, with how much certainty.

All strategies of a draw share its labeled rows, pool, test set and committee. So draws are compared in pairs: how hard
a draw was cancels out of the difference, and what is left is what the strategies did. Draws are the last axis of every
array; a missing result is NaN and takes its pair with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

Floats = NDArray[np.float64]

#: How often an interval misses, or one of a family of comparisons finds what is not there.
LEVEL = 0.05
_ALIKE = 1e-6  # differences that differ by less are equal, but for rounding


class Difference(NamedTuple):
    """Mean paired differences, one per cell of an array: first minus second.

    Attributes:
        mean: over the draws that have both; NaN where none has.
        low, high: the ends of the t interval; infinite where fewer than two draws leave everything open.
        p_value: of the two-sided paired t test; 1 where nothing can be told, NaN where nothing was measured.
        n_draws: how many pairs there are.
    """

    mean: Floats
    low: Floats
    high: Floats
    p_value: Floats
    n_draws: NDArray[np.intp]

    def cell(self, *place: int) -> Difference:
        """Return one of the differences."""
        return _mapped(lambda part: part[place], [self])


class Bands(NamedTuple):
    """Means over draws, and how wide a band around them is.

    Attributes:
        mean: NaN where there is no draw.
        deviation: the standard deviation of draws (n - 1); NaN below two draws.
        error: the standard error of the mean; NaN below two draws.
        n_draws: how many draws there are.
    """

    mean: Floats
    deviation: Floats
    error: Floats
    n_draws: NDArray[np.intp]


class Tally(NamedTuple):
    """How often the first of two came out better, neither, and worse."""

    wins: int
    ties: int
    losses: int


def summarize(values: ArrayLike) -> Bands:
    """Return means, standard deviations and standard errors over the last axis, without missing values."""
    values = np.asarray(values, dtype=np.float64)
    there = np.isfinite(values)
    n_draws = there.sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(there, values, 0).sum(axis=-1) / n_draws
        squares = np.where(there, values - mean[..., np.newaxis], 0) ** 2
        deviation = np.where(n_draws > 1, np.sqrt(squares.sum(axis=-1) / (n_draws - 1)), np.nan)
        return Bands(mean, deviation, deviation / np.sqrt(n_draws), n_draws)


def paired_difference(first: ArrayLike, second: ArrayLike, *, level: float = LEVEL) -> Difference:
    """Return the mean difference of paired draws, with its 1 - level interval and the p-value against no difference.

    >>> difference = paired_difference([0.80, 0.90, 0.85], [0.70, 0.84, 0.77])
    >>> print(f"{difference.mean:.2f} in {difference.low:.2f}..{difference.high:.2f}, p = {difference.p_value:.3f}")
    0.08 in 0.03..0.13, p = 0.020
    """
    bands = summarize(np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64))
    freedom = np.maximum(bands.n_draws - 1, 1)
    told = bands.n_draws > 1
    reach = np.where(told, special.stdtrit(freedom, 1 - level / 2) * bands.error, np.inf)
    with np.errstate(invalid="ignore", divide="ignore"):
        # Draws that all differ by the same amount leave no doubt: t is infinite, or 0 / 0 where they are equal.
        t = np.where(bands.mean == 0, 0.0, np.abs(bands.mean) / bands.error)
    p_value = np.where(told, 2 * special.stdtr(freedom, -t), np.where(bands.n_draws == 1, 1.0, np.nan))
    return Difference(bands.mean, bands.mean - reach, bands.mean + reach, p_value, bands.n_draws)


def careful_difference(first: ArrayLike, second: ArrayLike) -> Difference:
    """Return the mean difference of paired draws, which may be so few that they are alike by chance.

    Scores are counts of test rows, so that the differences of a few draws may come out the same: their spread then
    tells nothing, and a t test would find no doubt. What is left is that all have one sign, and of fewer than six that
    may be chance.

    >>> careful_difference([0.80, 0.90], [0.70, 0.80]).p_value
    array(0.5)
    """
    found = paired_difference(first, second)
    alike = (found.n_draws > 1) & (found.mean != 0) & (found.high - found.low <= _ALIKE)
    by_sign = 0.5 ** (found.n_draws - 1.0)
    untold = alike & (by_sign >= LEVEL)
    low, high = (np.where(untold, end, told) for end, told in ((-np.inf, found.low), (np.inf, found.high)))
    return found._replace(low=low, high=high, p_value=np.where(untold, by_sign, found.p_value))


def join(differences: Sequence[Difference]) -> Difference:
    """Return the cells of several differences in one row: one family, to be decided together."""
    return _mapped(lambda *parts: np.concatenate([np.ravel(part) for part in parts]), differences)


def _mapped(change: Callable[..., NDArray[Any]], differences: Sequence[Difference]) -> Difference:
    return Difference(*(np.asarray(change(*parts)) for parts in zip(*differences, strict=True)))


def adjust(p_values: ArrayLike) -> Floats:
    """Return p-values after Holm's correction, over all cells of an array as one family; NaN stays out of it.

    An adjusted value below the level is a finding that stands among all the comparisons made.

    >>> adjust([0.01, 0.04, 0.03, 0.5]).tolist()
    [0.04, 0.09, 0.09, 0.5]
    """
    p_values = np.asarray(p_values, dtype=np.float64)
    adjusted = np.full(p_values.shape, np.nan)
    there = np.isfinite(p_values)
    family = p_values[there]
    order = np.argsort(family, kind="stable")
    stepped = np.maximum.accumulate(family[order] * np.arange(len(family), 0, -1))
    corrected = np.empty_like(family)
    corrected[order] = np.minimum(stepped, 1)
    adjusted[there] = corrected
    return adjusted


def decide(difference: Difference, *, level: float = LEVEL) -> NDArray[np.int8]:
    """Return 1 where the first is better, -1 where it is worse, 0 where that cannot be told, after Holm's correction.

    All cells are one family. At the level that Holm's steps give a cell, its interval leaves out 0 just where the
    result is not 0.
    """
    with np.errstate(invalid="ignore"):
        found = adjust(difference.p_value) < level
    return np.where(found, np.sign(difference.mean), 0).astype(np.int8)


def tally(decided: NDArray[np.int8], measured: NDArray[np.bool_] | None = None) -> Tally:
    """Return how many of the decided cells are wins, ties and losses, leaving out those that were not measured."""
    if measured is not None:
        decided = decided[measured]
    return Tally(*(int((decided == sign).sum()) for sign in (1, 0, -1)))


def area(accuracies: ArrayLike, sizes: Sequence[int]) -> Floats:
    """Return the mean height of curves over the logarithm of the batch size, one per draw.

    Doubling a batch counts alike at any size. A draw that lacks a size has no area: without it, the curve's other sizes
    would count for it.

    Args:
        accuracies: (..., B, R).
        sizes: B ascending batch sizes, at least 1.

    Returns:
        (..., R), NaN where a size is missing.
    """
    heights = np.asarray(accuracies, dtype=np.float64)
    if len(sizes) == 1:
        return np.asarray(heights[..., 0, :])
    along = np.log(np.asarray(sizes, dtype=np.float64))
    return np.asarray(np.trapezoid(heights, along, axis=-2) / (along[-1] - along[0]))


def slope(values: ArrayLike, along: ArrayLike) -> Floats:
    """Return the least-squares slopes of values (..., n, R) along n places, one per draw: (..., R)."""
    away = np.asarray(along, dtype=np.float64)
    away = away - away.mean()
    weights = away / (away @ away)
    return np.asarray(np.einsum("n,...nr->...r", weights, np.asarray(values, dtype=np.float64)))
