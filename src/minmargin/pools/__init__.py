"""Pools of any kind: arrays, frames, files, datasets and streams, behind one small contract."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
from scipy import sparse

from minmargin.data.schema import as_rows
from minmargin.pools.base import Block, Pool, Wanted, blocks
from minmargin.pools.files import DatasetPool, FilePool, find_files, read_frame
from minmargin.pools.formats import FORMATS, suffix_of
from minmargin.pools.memory import MemoryPool
from minmargin.pools.stores import ARROW_SCHEMES
from minmargin.pools.stream import StreamPool
from minmargin.pools.uris import is_uri, scheme_of, shown

__all__ = ["Block", "Pool", "Wanted", "blocks", "find_files", "is_path", "open_pool", "read_frame"]


def open_pool(source: Any) -> Pool:
    """Return the pool that `source` names or holds, opened but not read."""
    if hasattr(type(source), "chunks") and hasattr(type(source), "describe"):
        pool: Pool = source
        return pool
    if is_path(source):
        return FilePool(source)
    if type(source).__module__.startswith("pyarrow") and hasattr(source, "scanner"):
        return DatasetPool(source)
    if _is_stream(source):
        return StreamPool(source)
    return MemoryPool(as_rows(source, "The pool"))


def is_path(source: Any) -> bool:
    """Return whether `source` names files: a string, a path, a URI, or a list of these.

    A list of strings may be texts instead; it names files if all its entries end like files that
    can be read, or are URIs of object storage.
    """
    if isinstance(source, (str, Path)):
        return True
    if not isinstance(source, (list, tuple)) or not source:
        return False
    return all(isinstance(each, Path) or (isinstance(each, str) and _names_files(each)) for each in source)


def _names_files(text: str) -> bool:
    return suffix_of(shown(text)) in FORMATS or (is_uri(text) and scheme_of(text) in ARROW_SCHEMES)


def _is_stream(source: Any) -> bool:
    if isinstance(source, (np.ndarray, str, Mapping)) or sparse.issparse(source):
        return False
    if isinstance(source, (list, tuple)):  # a list of chunks, not a list of rows
        return bool(source) and _is_chunk(source[0])
    if nw.dependencies.is_into_dataframe(source) or nw.dependencies.is_into_series(source):
        return False
    return isinstance(source, Iterable) and not hasattr(source, "__array__")


def _is_chunk(item: Any) -> bool:
    array_of_rows = getattr(item, "ndim", 1) >= 2
    return array_of_rows or isinstance(item, pa.RecordBatch) or nw.dependencies.is_into_dataframe(item)
