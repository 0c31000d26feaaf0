"""One table of which some rows have labels: these are the labeled set, and the others its pool.

The pool is the whole table, and its labeled rows are excluded. So rows keep their numbers in the table.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minmargin.data.containers import is_unframed
from minmargin.data.conversion import missing_marks
from minmargin.data.reading import Reading, as_reading
from minmargin.data.rows import Block, count_rows, take_rows
from minmargin.data.schema import is_missing
from minmargin.errors import InputError
from minmargin.execution import CHUNK_SIZE
from minmargin.labeled import LabeledSet, rows_and_labels
from minmargin.labels import is_no_label, list_labels, whole_labels
from minmargin.pools import MatchedPool, is_path
from minmargin.pools.exclusion import Exclusion
from minmargin.pools.opening import OneTable


@dataclass(frozen=True)
class PartlyLabeled:
    """A table, and which of its rows have labels.

    Attributes:
        labeled: the rows with labels.
        places: (N,) their numbers in the table.
        n_rows: how many rows the table has.
        mark: what stands for no label, in words.
    """

    labeled: LabeledSet
    places: NDArray[np.int64]
    n_rows: int
    mark: str

    @classmethod
    def of(
        cls,
        X: Any,
        y: Any,
        *,
        classes: Iterable[Any] | None = None,
        features: str | Sequence[str] | None = None,
        not_features: Sequence[str] = (),
        reading: Reading | None = None,
    ) -> PartlyLabeled:
        """Return the parts of a table, given as `LabeledSet.of` takes it, with labels for some rows."""
        named = None if classes is None or isinstance(classes, (str, bytes)) else list(classes)
        rows, given = rows_and_labels(X, y, as_reading(reading))
        labels = list_labels(given)
        if isinstance(y, str):
            not_features = (*not_features, y)
        n_rows = count_rows(rows)
        if len(labels) != n_rows:
            raise InputError(
                f"X has {n_rows:,} rows and y has {len(labels):,} labels. With pool=None, give one a row, and None or "
                "NaN for rows without a label."
            )
        places, known, mark = find_labeled(labels, named or [])
        labeled = LabeledSet.of(
            take_rows(rows, places),
            known,
            classes=classes if named is None else named,
            features=features,
            not_features=not_features,
            reading=reading,
        )
        labeled = replace(labeled, from_files=is_path(X) or is_unframed(X))
        return cls(labeled, places.astype(np.int64), n_rows, mark)

    @classmethod
    def if_so(cls, X: Any, y: Any, *, reading: Reading | None = None, **more: Any) -> PartlyLabeled | None:
        """Return the parts of a table of which some rows have labels, and others None, NaN or a text of blanks.

        None of any other table. -1 may be a class as well, so it is asked about.
        """
        labels = list_labels(rows_and_labels(X, y, as_reading(reading))[1])
        without = list(map(is_no_label, labels))
        if not any(without) or all(without) or "" in (more.get("classes") or ()):
            return None
        return cls.of(X, y, reading=reading, **more)

    @property
    def n_unlabeled(self) -> int:
        """How many rows have no label."""
        return self.n_rows - len(self.places)

    def leave_out_labeled(self, matched: MatchedPool, batch_size: Any) -> MatchedPool:
        """Return the table as a pool that is matched already, without its labeled rows and those to leave out.

        The batch size must be one that what is left can fill.
        """
        asked = np.array([], dtype=np.int64)
        if matched.exclusion is not None:
            asked = _rows_of(matched.exclusion, matched)
            matched.exclusion.warn_of_absent(len(asked), read_here=True)
        out = np.union1d(self.places, asked)
        n_left = self.n_rows - len(out)
        if isinstance(batch_size, int) and batch_size > n_left:
            fix = f"Use batch_size<={n_left}." if n_left else "There is nothing left to pick."
            raise InputError(
                f"batch_size={batch_size} is larger than the number of rows without a label that may be picked "
                f"({n_left:,} of {self.n_rows:,} rows). {fix}"
            )
        n_asked = 0 if matched.exclusion is None else len(matched.exclusion)
        return matched._replace(
            exclusion=Exclusion.by_row(out, self.n_rows),
            one_table=OneTable(len(self.places), self.mark, n_asked, self.n_rows),
        )


def find_labeled(labels: list[Any], classes: list[Any]) -> tuple[NDArray[np.intp], list[Any], str]:
    """Return which rows of a table have labels, these labels, and what stands for none; `classes` are no such marks."""
    marked, mark = _without_label(labels, classes)
    places = np.flatnonzero(~marked)
    known = [labels[place] for place in places.tolist()]
    _check_parts(known, len(labels), mark)
    return places, whole_labels(known) if mark == "None or NaN" else known, mark


def _without_label(labels: list[Any], classes: list[Any]) -> tuple[NDArray[np.bool_], str]:
    """Return which labels are none, and what stands for that: None, NaN or blanks; in default of these, -1.

    What the caller named as a class stands for nothing else.
    """
    missing = np.array([is_missing(label) for label in labels], dtype=bool)
    blank = np.array([is_no_label(label) and label not in classes for label in labels], dtype=bool)
    if missing.any():
        return missing | blank, "None or NaN"
    same = np.array([type(label) is not bool and label == -1 for label in labels], dtype=bool)
    if same.any() and -1 not in classes:
        return same, "-1"
    if blank.any():
        return blank, repr("")
    return missing, "None or NaN"


def _check_parts(known: list[Any], n_rows: int, mark: str) -> None:
    if len(known) == n_rows:
        texts = {label for label in known if isinstance(label, str)}
        made = sorted(texts.intersection({"nan", "None"}))
        marks = sorted(missing_marks(texts))
        why = " Give the rows to pick from as pool."
        if marks and marks != made:
            why = f" If {marks[0]!r} stands for none, use missing=[{marks[0]!r}]."
        elif made:
            why = f" {made[0]!r} is a text here, as numpy makes it: use dtype=object."
        raise InputError(
            f"All {n_rows:,} rows have labels. With pool=None, those are picked from whose label is None, NaN, -1 or "
            f"empty.{why}"
        )
    if not known:
        raise InputError(
            f"Not one of {n_rows:,} rows has a label. Label at least one row of each of two classes."
        )
    if mark == "-1" and len(set(known)) == 1:
        raise InputError(
            f"With pool=None, -1 stands for no label, and all {len(known):,} other rows are of class {known[0]!r}. "
            "If -1 is a class, use None or NaN for rows without a label."
        )


def _rows_of(exclusion: Exclusion, matched: MatchedPool) -> NDArray[np.int64]:
    """Return the numbers of the rows that an exclusion names by number or by id."""
    if exclusion.column is None:
        return np.asarray(exclusion.values.to_numpy())
    wanted = {exclusion.column: (matched.kinds or {}).get(exclusion.column)}
    found, first_row = [], 0
    for chunk in matched.pool.chunks(wanted, CHUNK_SIZE):
        found.append(exclusion.places(Block(first_row, chunk)) + first_row)
        first_row += count_rows(chunk)
    return np.concatenate(found).astype(np.int64)
