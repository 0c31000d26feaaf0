"""Profiles: what is seen of a column in some rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from minmargin.data.conversion import Marks, as_text, moments_of
from minmargin.data.schema import Column, Kind
from minmargin.data.thousands import Points

_MOST_LEVELS = 10_000
_FEW_SIZES = 10  # numbers beside zero


class Numbers(NamedTuple):
    """What is seen of numbers.

    The extremes, each with how often it occurs and the value next to it; percentiles of the values, and of their sizes
    without signs and zeros, if there are enough; whether half of them are zero; whether all are whole, and whether they
    lie evenly apart.
    """

    lowest: float
    n_lowest: int
    next_lowest: float
    highest: float
    n_highest: int
    next_highest: float
    percentiles: tuple[float, ...]
    sizes: tuple[float, ...]
    mostly_zero: bool
    whole: bool
    even: bool


@dataclass(frozen=True)
class Profile:
    """What is seen of a column in some rows.

    Attributes:
        name: the column's name.
        kind: what it serves as.
        n_rows: how many rows were looked at.
        n_missing: in how many of them it has no value.
        n_different: how many different values it has.
        numbers: of a column of numbers; None of others, or if there is no finite one.
        levels: the values of a column of texts, with how often they occur, the most common first.
        span: the first and the last of a column of dates.
    """

    name: str
    kind: Kind
    n_rows: int
    n_missing: int
    n_different: int
    numbers: Numbers | None = None
    levels: tuple[tuple[str, int], ...] = ()
    span: tuple[str, str] | None = None

    @property
    def n_known(self) -> int:
        """In how many rows it has a value."""
        return self.n_rows - self.n_missing


class Seen(NamedTuple):
    """A feature column, as it is seen in the labeled set and, if there is one, in the pool.

    Attributes:
        column: the column.
        labeled: what is seen of it in the labeled set.
        pool: and in the pool.
        declared: whether the caller has said what it is: then nobody guesses.
        points: of numbers whose points may stand between thousands, what is known of them, and where.
        decimals: what comes before decimals in the labeled set and in the pool, as far as other columns tell it.
    """

    column: Column
    labeled: Profile
    pool: Profile | None
    declared: bool = False
    points: tuple[tuple[str, Points], ...] = ()
    decimals: Mapping[str, str] = MappingProxyType({})

    @property
    def name(self) -> str:
        """The column's name."""
        return self.column.name

    @property
    def marks(self) -> Marks:
        """The marks by which its texts were read."""
        return Marks() if self.column.conversion is None else self.column.conversion.marks


def profile_of(column: Column, values: pa.ChunkedArray) -> Profile:
    """Return what is seen of a column whose values are as a learner would see them."""
    n_rows, kind = len(values), column.kind
    if kind == "number":
        return _of_numbers(column.name, values)
    if kind == "text":
        return _of_texts(column.name, values)
    known = values.drop_null()
    different = 0 if kind in {"embedding", "other"} else len(known.unique())
    found = Profile(column.name, kind, n_rows, n_rows - len(known), different)
    if kind == "date" and len(known):
        ends = pc.min_max(moments_of(known))
        return replace(found, span=(_day(ends["min"]), _day(ends["max"])))
    return found


def _of_numbers(name: str, values: pa.ChunkedArray) -> Profile:
    floats = np.asarray(values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False))
    known = floats[np.isfinite(floats)]
    n_missing = int(np.isnan(floats).sum())
    if not len(known):
        return Profile(name, "number", len(floats), n_missing, 0)
    different, counts = np.unique(known, return_counts=True)
    sizes = np.abs(known[known != 0])
    numbers = Numbers(
        float(different[0]),
        int(counts[0]),
        float(different[min(1, len(different) - 1)]),
        float(different[-1]),
        int(counts[-1]),
        float(different[max(len(different) - 2, 0)]),
        _percentiles(known),
        _percentiles(sizes) if len(sizes) >= _FEW_SIZES else (),
        len(sizes) * 2 <= len(known),
        bool((different == np.floor(different)).all()),
        len(different) > 2 and bool((np.diff(different) == different[1] - different[0]).all()),
    )
    return Profile(name, "number", len(floats), n_missing, len(different), numbers)


def _percentiles(values: NDArray[np.float64]) -> tuple[float, ...]:
    """Return the percentiles from 0 to 100, each one of the values: numbers may be as large as any."""
    return tuple(np.percentile(values, np.arange(101), method="inverted_cdf").tolist())


def _of_texts(name: str, values: pa.ChunkedArray) -> Profile:
    texts = as_text(values)
    counted = pc.value_counts(texts.drop_null())
    pairs = [(each["values"], each["counts"]) for each in counted.to_pylist()]
    levels = sorted(((text, n) for text, n in pairs if text.strip()), key=lambda pair: (-pair[1], pair[0]))
    n_known = sum(n for _, n in levels)
    return Profile(
        name, "text", len(texts), len(texts) - n_known, len(levels), levels=tuple(levels[:_MOST_LEVELS])
    )


def _day(moment: pa.Scalar) -> str:
    return str(moment.as_py()).removesuffix(" 00:00:00")
