"""Numbers of another size in the pool than in the labeled set: another unit, most likely.

A labeled set need not be like the pool: active learning picks what is odd. So it is not asked whether both differ, but
whether they hardly overlap: whether few pool values lie where most labeled ones do, and few labeled ones where most of
the pool's do. Numbers about zero keep overlapping when they are multiplied, so sizes without signs are compared, too;
and zeros are the same in any unit. Numbers that spread over many sizes, such as wages, overlap in any case: there it
has to be the very number by which units differ.
"""

from __future__ import annotations

from collections.abc import Iterator
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minmargin.inspection.profiles import Numbers, Profile, Seen

_FEW_ROWS = 20  # in fewer, chance explains nearly anything
_FEW_VALUES = 3  # a flag that is set in one file has no unit
_HARDLY, _LITTLE = 0.1, 0.35  # of the values of one lie among most of the other
_FACTORS = (10, 12, 60, 100, 1000, 1_000_000)
_ERRORS = 3.0  # standard errors that a quartile may be off
_INEXACT = 0.05  # and the share of its size


class _Change(NamedTuple):
    """What another unit makes of a number, and how that is told of the pool."""

    words: str
    factor: float
    added: float = 0.0


_CHANGES = (
    *(_Change(f"{factor:,} times as large there", factor) for factor in _FACTORS),
    *(_Change(f"{factor:,} times as small there", 1 / factor) for factor in _FACTORS),
    _Change("in Fahrenheit there and in Celsius here", 1.8, 32),
    _Change("in Celsius there and in Fahrenheit here", 1 / 1.8, -32 / 1.8),
)


def other_units(seen: Seen) -> Iterator[str]:
    """Numbers that are of another size in the pool."""
    here, there = _of_any_size(seen.labeled), _of_any_size(seen.pool)
    if here is None or there is None:
        return
    ways = [(here.sizes, there.sizes)] if min(len(here.sizes), len(there.sizes)) else []
    if not (here.mostly_zero or there.mostly_zero):
        ways.append((here.percentiles, there.percentiles))
    overlap = min((_overlap(*map(np.asarray, way)) for way in ways), default=1.0)
    if overlap >= _LITTLE:
        return
    off, known = min(
        ((_off(each, here, there, seen.labeled.n_known), each) for each in _CHANGES), key=itemgetter(0)
    )
    if overlap < _HARDLY or off <= 1:
        as_if = f", as if it were {known.words}" if off <= 1 else ""
        yield (
            f"Column {seen.name!r} is mostly {_most(there)} in the pool and {_most(here)} in the labeled set{as_if}. "
            f"Look whether both are in the same unit, or use drop=[{seen.name!r}]."
        )


def _of_any_size(profile: Profile | None) -> Numbers | None:
    if profile is None or profile.n_known < _FEW_ROWS or profile.n_different < _FEW_VALUES:
        return None
    return profile.numbers


def _overlap(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """Return which share of one's values lies among most of the other's, or the other way round: the larger."""
    return max(_share_within(one, other), _share_within(other, one))


def _share_within(values: NDArray[np.float64], others: NDArray[np.float64]) -> float:
    return float(((others[5] <= values) & (values <= others[95])).mean())


def _off(change: _Change, here: Numbers, there: Numbers, n_here: int) -> float:
    """Return how far the pool's quartiles are off what another unit makes of the labeled set's; 1 may be chance."""
    mine, theirs = (np.asarray(each.percentiles)[[25, 50, 75]] for each in (here, there))
    with np.errstate(all="ignore"):  # of numbers that are as large as any
        expected = mine * change.factor + change.added
        # The error of a quartile is about that of a normal variable's: 1.36 deviations, each of 0.74 times the spread.
        error = _ERRORS * 1.36 * 0.74 * (expected[2] - expected[0]) / np.sqrt(n_here)
        off = float((np.abs(theirs - expected) / (error + _INEXACT * np.abs(expected))).max())
    return off if mine[0] < mine[2] and np.isfinite(off) else np.inf


def _most(numbers: Numbers) -> str:
    return f"{numbers.percentiles[5]:.6g} to {numbers.percentiles[95]:.6g}"
