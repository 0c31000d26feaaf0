"""TopBs as Arrow tables: what travels between processes, and what a checkpoint keeps.

A table has a column for rows and one for scores, and one for each detail. Vectors are lists, and so are keys and other
details of several numbers a row; vectors of sparse rows are lists of places and of values. Copies that were passed over
are no rows of the table: their scores, and how many they are, stand in its metadata. Places in line among equal scores
are hashes of the rows, and made anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import narwhals as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy import sparse

from minmargin.data.keys import Keys
from minmargin.data.objects import chunks_or_texts
from minmargin.data.rows import Matrix, Rows
from minmargin.seeds import SeedTree
from minmargin.topb import KEY, Details, PassedOver, TopB

_PASSED_SCORES, _PASSED_COUNTS = b"minmargin scores of copies", b"minmargin counts of copies"
#: What the name of a carried column begins with; where the places of sparse vectors stand, and their width.
CARRIED, PLACES, WIDTH = "carried:", "vector places", b"minmargin vector width"
_VECTOR = "vector"


def to_table(top: TopB) -> pa.Table:
    """Return what a TopB holds."""
    held = top.held()
    if held is None:
        return pa.table({"row": pa.array([], pa.int64()), "score": pa.array([], pa.float64())})
    columns: dict[str, Any] = {"row": held.rows, "score": held.scores}
    passed = top.passed_over()
    metadata = {}
    if len(passed.scores):
        metadata = {
            _PASSED_SCORES: _to_hex(passed.scores, "<f8"),
            _PASSED_COUNTS: _to_hex(passed.counts, "<i8"),
        }
    for name, values in held.details.items():
        if isinstance(values, nw.DataFrame):
            columns |= {CARRIED + name: chunks_or_texts(values[name]) for name in values.columns}
        elif isinstance(values, sparse.csr_array):
            columns |= _sparse_to_lists(values)
            metadata[WIDTH] = str(values.shape[1]).encode()
        elif values.ndim == 2:
            flat = pa.array(np.ascontiguousarray(values).reshape(-1))
            columns[name] = pa.FixedSizeListArray.from_arrays(flat, values.shape[1])
        else:
            columns[name] = values
    return pa.table(columns).replace_schema_metadata(metadata)


def from_table(table: pa.Table, size: int | None, seeds: SeedTree, *, distinct: bool = False) -> TopB:
    """Return the TopB whose rows a table holds."""
    top = TopB(size, seeds, distinct=distinct)
    rows, scores = (np.asarray(table[name].to_numpy()) for name in ("row", "score"))
    details = _details_of(table)
    keys = cast("Keys", details[KEY]) if KEY in details else None
    top.update(
        rows,
        scores,
        lambda index: {name: _taken(values, index) for name, values in details.items()},
        keys=None if keys is None else lambda index: keys[index],
    )
    metadata = table.schema.metadata or {}
    if _PASSED_SCORES in metadata:
        top.pass_over(
            PassedOver(_of_hex(metadata[_PASSED_SCORES], "<f8"), _of_hex(metadata[_PASSED_COUNTS], "<i8"))
        )
    return top


def _to_hex(values: NDArray[Any], kind: str) -> bytes:
    return values.astype(kind).tobytes().hex().encode()  # metadata is text


def _of_hex(text: bytes, kind: str) -> NDArray[Any]:
    return np.frombuffer(bytes.fromhex(text.decode()), kind)


def _details_of(table: pa.Table) -> Details:
    details: dict[str, Any] = {}
    carried = {
        name.removeprefix(CARRIED): table[name] for name in table.column_names if name.startswith(CARRIED)
    }
    if carried:
        details["carried"] = nw.from_native(pa.table(carried), eager_only=True)
    for name in table.column_names:
        if name in {"row", "score", PLACES} or name.startswith(CARRIED):
            continue
        if name == _VECTOR and PLACES in table.column_names:
            details[name] = _sparse_of_lists(table, int((table.schema.metadata or {})[WIDTH]))
        elif isinstance(table[name].type, pa.FixedSizeListType):
            flat = table[name].combine_chunks().flatten().to_numpy(zero_copy_only=False)
            details[name] = flat.reshape(-1, table[name].type.list_size)
        else:
            details[name] = np.asarray(table[name].to_numpy())
    return details


def _taken(values: Rows, index: NDArray[np.intp]) -> Rows:
    if len(index) == values.shape[0] and (index == np.arange(len(index))).all():
        return values
    return values[index, :] if isinstance(values, nw.DataFrame) else values[index]


def _sparse_to_lists(vectors: sparse.csr_array) -> Mapping[str, pa.Array]:
    ends = pa.array(vectors.indptr.astype(np.int64))
    return {
        PLACES: pa.LargeListArray.from_arrays(ends, pa.array(vectors.indices)),
        _VECTOR: pa.LargeListArray.from_arrays(ends, pa.array(vectors.data)),
    }


def _sparse_of_lists(table: pa.Table, width: int) -> Matrix:
    column = table[_VECTOR].combine_chunks()
    values = column.flatten().to_numpy(zero_copy_only=False)
    counts = np.diff(column.offsets.to_numpy())
    places = table[PLACES].combine_chunks().flatten().to_numpy()
    ends = np.concatenate([[0], np.cumsum(counts)])
    return sparse.csr_array((values, places, ends), shape=(table.num_rows, width))
