"""Rows of the pool that are labeled already: those whose id a row of the labeled set has."""

from __future__ import annotations

from typing import Any, cast

import narwhals as nw
import numpy as np
import pyarrow as pa

from minmargin.batch.excluded import read_excluded
from minmargin.data.objects import chunks_or_texts
from minmargin.data.rows import Frame
from minmargin.errors import InputError, warn
from minmargin.inspection.ids import not_comparable
from minmargin.labeled import LabeledSet
from minmargin.pools import MatchedPool, is_path
from minmargin.pools.exclusion import Named
from minmargin.pools.opening import exclusion_of


def leave_out_labeled(matched: MatchedPool, X: Any, labeled: LabeledSet, id_column: str) -> MatchedPool:
    """Return the pool without rows that have the id of a labeled row, where both have the id column.

    Args:
        matched: the pool.
        X: the labeled rows as they were given: ids in a CSV file are taken as they stand there.
        labeled: the labeled set.
        id_column: the column that identifies a row.
    """
    if not isinstance(labeled.rows, nw.DataFrame) or id_column not in labeled.rows.columns:
        return matched
    ids = _ids(X, labeled, id_column)
    asked = matched.exclusion
    try:
        of_labeled = exclusion_of(Named(ids, expected=False), matched, id_column)
        exclusion = of_labeled if asked is None else asked.joined(of_labeled)
    except InputError:
        warn(not_comparable(id_column))
        return matched
    n_asked = 0 if asked is None else len(asked)
    return matched._replace(exclusion=exclusion, labeled_ids=(len(of_labeled), n_asked))


def _ids(X: Any, labeled: LabeledSet, id_column: str) -> Any:
    if is_path(X):
        found = read_excluded([str(X)] if not isinstance(X, (list, tuple)) else list(map(str, X)), id_column)
        values = pa.array([]) if found is None else found.values
        if labeled.left_out is not None:
            values = values.take(pa.array(np.delete(np.arange(len(values)), labeled.left_out)))
    else:
        values = chunks_or_texts(cast("Frame", labeled.rows)[id_column])
    return values.drop_null()
