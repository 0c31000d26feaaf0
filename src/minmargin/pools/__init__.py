"""Pools of any kind: arrays, frames, files, datasets and streams, behind one small contract."""

from minmargin.pools.base import Pool, Wanted
from minmargin.pools.files import find_files, read_frame
from minmargin.pools.opening import (
    MatchedPool,
    check_batch_size,
    empty_pool,
    is_path,
    match_pool,
    open_pool,
    resolve_batch_size,
    too_few_distinct,
    too_large,
)

__all__ = [
    "MatchedPool",
    "Pool",
    "Wanted",
    "check_batch_size",
    "empty_pool",
    "find_files",
    "is_path",
    "match_pool",
    "open_pool",
    "read_frame",
    "resolve_batch_size",
    "too_few_distinct",
    "too_large",
]
