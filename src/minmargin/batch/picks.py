"""Picks: one row of a batch as a record, and which of them an index means."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from minmargin.batch.reasons import reasons_of
from minmargin.errors import InputError, listing

if TYPE_CHECKING:
    from minmargin.batch.batch import Batch


@dataclass(frozen=True, repr=False)
class Pick:
    """One picked row, with the reason, in plain Python values: a line of a batch's file.

    Attributes:
        rank: 1 for the best row of its batch, 2 for the next.
        row: its number in the pool.
        id: its value in the id column; None if there was none.
        score: lower was picked first.
        member: the member on whose boundary it lies; None where no single member decided.
        first_class: one of the two classes that it is torn between.
        second_class: the other.
        predicted: the base's prediction.
        kept: its values in the columns asked for with `keep`, by their names.
        audit: whether it was drawn by chance, to measure the model by.
        reason: why it was picked, in words.
    """

    rank: int
    row: int
    id: Any
    score: float
    member: int | None
    first_class: Any
    second_class: Any
    predicted: Any
    kept: Mapping[str, Any] = field(default_factory=dict)
    audit: bool = False
    reason: str = field(default="", repr=False, compare=False)

    def __repr__(self) -> str:
        values = {each.name: getattr(self, each.name) for each in fields(self) if each.repr}
        absent = [
            name
            for name, nothing in (("id", None), ("kept", {}), ("audit", False))
            if values[name] == nothing
        ]
        shown = (f"{name}={value!r}" for name, value in values.items() if name not in absent)
        return f"Pick({', '.join(shown)})"


def picks_of(batch: Batch, first_rank: int = 1) -> Iterator[Pick]:
    """Yield the rows of a batch one by one, best first."""
    n = len(batch)
    columns = (
        range(first_rank, first_rank + n),
        batch.rows.tolist(),
        [None] * n if batch.ids is None else pa.array(batch.ids).to_pylist(),
        batch.scores.tolist(),
        [None if member < 0 else member for member in batch.member.tolist()],
        batch.top_classes[:, 0].tolist(),
        batch.top_classes[:, 1].tolist(),
        batch.predicted.tolist(),
        [{} for _ in range(n)] if batch.kept is None else batch.kept.to_pylist(),
        [False] * n if batch.audit is None else batch.audit.tolist(),
        reasons_of(batch, first_rank=first_rank),
    )
    for values in zip(*columns, strict=True):
        yield Pick(*values)


def is_place(index: object) -> bool:
    """Return whether an index means one pick; True and False are no numbers here."""
    return hasattr(index, "__index__") and not isinstance(index, (bool, np.bool_, np.ndarray))


def places_of(index: Any, n: int) -> NDArray[np.intp]:
    """Return the places that a slice, a mask or several numbers mean, among n; each at most once.

    >>> places_of(slice(1, None), 3), places_of([False, True, True], 3), places_of([-1, 0], 3)
    (array([1, 2]), array([1, 2]), array([2, 0]))
    """
    if isinstance(index, slice):
        return np.arange(n)[index]
    places = np.asarray(index)
    if places.ndim == 1 and places.dtype == bool:
        if len(places) != n:
            raise InputError(
                f"The mask has {len(places):,} values, and the batch has {n:,} picks. Give one value a pick."
            )
        return np.flatnonzero(places)
    if isinstance(index, list) and not index:
        return np.arange(0)
    if places.ndim != 1 or places.dtype.kind not in "iu" or isinstance(index, tuple):
        raise InputError(
            f"A batch takes a number, a slice, a mask or a list of numbers in its brackets, not {index!r}. Its columns "
            "are attributes, such as batch.scores, and to_pandas() has all of them."
        )
    for place in places[(places < -n) | (places >= n)][:1]:
        raise out_of_range(place, n)
    places = places.astype(np.intp) % max(n, 1)
    found, times = np.unique(places, return_counts=True)
    if (times > 1).any():
        raise InputError(
            f"Pick {listing(found[times > 1].tolist(), most=3)} is named twice. Name each pick once."
        )
    return places


def out_of_range(place: Any, n: int) -> IndexError:
    """Return the error for a pick that is not there; it is the one that Python's own sequences raise."""
    return IndexError(f"There is no pick {place} in a batch of {n:,}, whose picks are counted from 0.")
