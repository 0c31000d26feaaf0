"""Labeled rows that are there more than once: copies, and copies with another label.

Tables with few different values have equal rows by chance. So copies are told only where chance makes none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from minmargin.data.objects import chunks_of, mixes_types
from minmargin.data.rows import Rows, count_rows
from minmargin.data.schema import Column
from minmargin.inspection.findings import Finding

_FEW_VALUES = 10  # of a column: flags tell no rows apart, however many there are
_BY_CHANCE = 0.05  # pairs of equal rows
_FEWEST = (
    3  # copies with the same label: columns that go together make one or two by chance, as those of iris do
)
_MOST = 0.1  # of the rows: where there are more copies, the columns are those of few things
_Pairs: TypeAlias = list[tuple[int, int]]
_MEND = "No model can learn both: mend one of them, or drop both."


def find_copies(
    rows: Rows, columns: Sequence[Column] | None, labels: NDArray[np.generic] | None, id_column: str | None
) -> list[Finding]:
    """Return findings for rows with the same id, or else equal in all features: of other labels, and of the same."""
    if labels is None or not columns or not isinstance(rows, nw.DataFrame) or len(labels) != count_rows(rows):
        return []
    if id_column is not None and id_column in rows.columns and not mixes_types(rows[id_column]):
        ids = chunks_of(rows[id_column])
        groups = _numbered(ids)
        known = np.flatnonzero(~ids.is_null().to_numpy())
        if len(np.unique(groups[known])) < len(known):
            return _of_ids(ids, groups, known, labels, id_column)
    different = _groups(rows, columns)
    return [] if different is None else _of_features(different, labels)


def _numbered(values: pa.ChunkedArray) -> NDArray[np.int64]:
    """Return a number for each value, the same for equal ones."""
    if not pa.types.is_dictionary(values.type):
        values = values.dictionary_encode()
    codes = values.unify_dictionaries().combine_chunks()
    codes = codes.combine_chunks() if isinstance(codes, pa.ChunkedArray) else codes
    return np.asarray(pc.fill_null(codes.indices.cast(pa.int64()), -1)).astype(np.int64) + 1


def _groups(rows: nw.DataFrame[Any], columns: Sequence[Column]) -> NDArray[np.int64] | None:
    """Return a number for each row, the same for rows equal in all columns; None if none are, or chance makes some."""
    n_rows = count_rows(rows)
    groups, coded = np.zeros(n_rows, np.int64), list[NDArray[np.int64]]()
    for column in columns:
        if column.kind in {"embedding", "other"}:
            return None
        coded.append(_numbered(chunks_of(rows[column.name])))
        groups = np.unique(groups * (coded[-1].max() + 1) + coded[-1], return_inverse=True)[1]
        if groups.max() + 1 == n_rows:
            return None
    different = np.unique(groups, return_index=True)[1]
    copies_are_few = n_rows - len(different) <= _MOST * n_rows
    return (
        groups if copies_are_few and _by_chance([codes[different] for codes in coded]) < _BY_CHANCE else None
    )


def _by_chance(coded: Sequence[NDArray[np.int64]]) -> float:
    """Return how many pairs of equal rows there would be if columns had nothing to do with each other.

    At least one pair is taken to be equal in each column: of few rows, nobody knows better.
    """
    expected = pairs = len(coded[0]) * (len(coded[0]) - 1) / 2
    for codes in coded:
        counts = np.bincount(codes)
        if np.count_nonzero(counts) >= _FEW_VALUES:
            expected *= (float((counts * (counts - 1) / 2).sum()) + 1) / max(pairs, 1)
    return expected


def _pairs(groups: NDArray[np.int64], labels: NDArray[np.generic]) -> tuple[_Pairs, _Pairs]:
    """Return each row that comes after one of its group, with the first of these: of other labels, and of the same."""
    _, first, place = np.unique(groups, return_index=True, return_inverse=True)
    firsts = first[place]
    later = np.flatnonzero(firsts != np.arange(len(groups)))
    pairs = [(int(firsts[row]), int(row)) for row in later]
    contrary = [pair for pair in pairs if labels[pair[0]] != labels[pair[1]]]
    return contrary, [pair for pair in pairs if labels[pair[0]] == labels[pair[1]]]


def _of_features(groups: NDArray[np.int64], labels: NDArray[np.generic]) -> list[Finding]:
    contrary, same = _pairs(groups, labels)
    found = []
    if contrary:
        one, other = contrary[0]
        rows = "1 labeled row has" if len(contrary) == 1 else f"{len(contrary):,} labeled rows have"
        found.append(
            f"{rows} the features of an earlier one, and another label, such as rows {one:,} and {other:,} of those "
            f"with a label ({labels[[one, other]].tolist()[0]!r} and {labels[[one, other]].tolist()[1]!r}). {_MEND}"
        )
    if len(same) >= _FEWEST:
        one, other = same[0]
        found.append(
            f"{len(same):,} labeled rows are copies of an earlier one in all features and in the label, such as row "
            f"{other:,} of row {one:,} of those with a label. Copies count more than once: drop them, if they are of "
            "one thing."
        )
    return [Finding(None, message) for message in found]


def _of_ids(
    ids: pa.ChunkedArray,
    groups: NDArray[np.int64],
    known: NDArray[np.intp],
    labels: NDArray[np.generic],
    id_column: str,
) -> list[Finding]:
    contrary, same = _pairs(groups[known], labels[known])
    found = []
    if contrary:
        one, other = known[list(contrary[0])]
        names = labels[[one, other]].tolist()
        n = len({groups[known[row]] for _, row in contrary})
        have = "1 id has" if n == 1 else f"{n:,} ids have"
        found.append(
            f"Column {id_column!r} identifies rows, and in the labeled set {have} several labels, such as "
            f"{ids[int(one)].as_py()!r} with {names[0]!r} and {names[1]!r}. {_MEND}"
        )
    if same:
        n = len({groups[known[row]] for _, row in same})
        are = "1 id is" if n == 1 else f"{n:,} ids are"
        found.append(
            f"Column {id_column!r} identifies rows, and in the labeled set {are} there more than once with one label, "
            f"such as {ids[int(known[same[0][0]])].as_py()!r}. Copies count more than once: drop them."
        )
    return [Finding(id_column, message) for message in found]
