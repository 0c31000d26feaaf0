"""Points in numbers that may stand between thousands: what the texts tell, where they are still known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from minmargin.data.conversion import is_text
from minmargin.data.objects import chunks_of
from minmargin.data.rows import Frame, Rows
from minmargin.data.schema import Column, Kind
from minmargin.data.thousands import Points, doubtful_points, notes_of, points_in
from minmargin.inspection.profiles import Profile, Seen
from minmargin.inspection.samples import some_rows
from minmargin.pools import MatchedPool
from minmargin.pools.files import FilePool

_FEW = 5  # whole numbers below 1000: of fewer, all may be by chance


def points_of_labeled(rows: Rows, columns: Iterable[Column]) -> dict[str, Points]:
    """Return the columns of a labeled set whose points may stand between thousands."""
    frame = cast("Frame", rows)
    noted = notes_of(frame.to_native()) if frame.implementation.is_pyarrow() else {}
    return noted | doubtful_points(_in_texts(frame, columns), semicolons=False)


def points_of_pool(matched: MatchedPool, sample: Frame, columns: Iterable[Column]) -> dict[str, Points]:
    """Return those of a pool. Numbers of CSV files are read once more, as the texts that they are."""
    asked = [column for column in columns if column.name in sample.columns and _may_have_points(column)]
    found, semicolons = _in_texts(sample, asked), False
    pool = matched.pool
    if isinstance(pool, FilePool) and not pool.schema.parsed:
        semicolons = pool.has_semicolons
        kinds: dict[str, Kind | None] = {
            column.name: None
            for column in asked
            if column.name not in found and _may_be_grouped(chunks_of(sample[column.name]))
        }
        texts = some_rows(matched._replace(kinds=kinds)) if kinds else None
        if texts is not None:
            found |= {name: points_in(chunks_of(texts[name])) for name in kinds}
        # Others have decimals, as far as they are no whole numbers.
        found |= {
            column.name: Points(1, "", doubtful=False, telling=False)
            for column in asked
            if column.name not in found and not _is_whole(chunks_of(sample[column.name]))
        }
    return doubtful_points(found, semicolons=semicolons)


def points_between_thousands(seen: Seen) -> Iterator[str]:
    """Numbers that were read by their points, which may stand between thousands."""
    if seen.declared:
        return
    profiles = {"the labeled set": seen.labeled, "the pool": seen.pool}
    for where, points in seen.points:
        (other,) = (profile for name, profile in profiles.items() if name != where)
        if points.telling or _is_below_thousands(other):
            yield (
                f"Column {seen.name!r} of {where} is read as numbers, and all {points.n:,} values that have a point "
                f"have three digits behind it, such as {points.example!r}. If it stands between thousands, use "
                f"decimal=',' and thousands='.'; if not, number=[{seen.name!r}]."
            )
            return


def _in_texts(frame: Frame, columns: Iterable[Column]) -> dict[str, Points]:
    """Return what is known of numbers that are kept as texts."""
    found = {}
    for column in columns:
        if column.conversion is not None and _may_have_points(column):
            values = chunks_of(frame[column.name])
            if is_text(values.type):
                found[column.name] = points_in(values, column.conversion.marks.missing)
    return found


def _may_have_points(column: Column) -> bool:
    """Return whether a column is of numbers that are read by their points."""
    marks = None if column.conversion is None else column.conversion.marks
    return column.kind == "number" and (marks is None or (marks.decimal, marks.thousands) == (".", ""))


def _may_be_grouped(numbers: pa.ChunkedArray) -> bool:
    """Return whether all of these are below 1000, have three decimals at most, and some have any."""
    values = _finite(numbers)
    thousandfold = np.abs(values) * 1000
    even = np.abs(thousandfold - np.round(thousandfold)) < 1e-6
    return bool(even.all() and (np.abs(values) < 1000).all() and (values != np.floor(values)).any())


def _is_whole(numbers: pa.ChunkedArray) -> bool:
    values = _finite(numbers)
    return bool((values == np.floor(values)).all())


def _finite(numbers: pa.ChunkedArray) -> NDArray[np.float64]:
    if is_text(numbers.type):
        return np.zeros(0)
    values: NDArray[np.float64] = np.asarray(
        numbers.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    )
    return values[np.isfinite(values)]


def _is_below_thousands(profile: Profile | None) -> bool:
    """Return whether there are a few numbers, all of them whole and below 1000."""
    numbers = None if profile is None else profile.numbers
    if profile is None or numbers is None or profile.n_known < _FEW or not numbers.whole:
        return False
    return max(abs(numbers.lowest), abs(numbers.highest)) < 1000
