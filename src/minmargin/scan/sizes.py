"""How many rows a block has: enough to be worth the trouble, and few enough to stay in memory."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from minmargin.device import Device
from minmargin.learners import Scorer

#: Rows of the smallest block, and of the first ones where rows are scored by themselves.
SMALLEST, FIRST = 256, 8192

_FLOATS = 1 << 22  # features, or class scores, of a block: 32 MB at most
_LARGEST, _LARGEST_SCREENED = 65_536, 131_072
_TURNS, _SHORTEST_TURN = 4, 1024  # blocks of a small pool for each thread, and their rows
_GPU_FLOATS, _LARGEST_ON_GPU = 1 << 27, 1 << 22  # 512 MB: each hand-over to a GPU has its price
_FIRST_GPU_FLOATS = 1 << 22  # nothing else is done until the first block has given a cut


def block_sizes(
    scorer: Scorer,
    n_classes: int,
    width: int,
    device: Device,
    *,
    screened: bool,
    n_rows: int | None = None,
    n_workers: int = 1,
) -> Iterator[int]:
    """Return the sizes of the blocks, one after the other.

    For a scorer whose results depend on them, they depend on the committee alone.

    Args:
        scorer: what is asked for class scores.
        n_classes: C.
        width: how many features a row has.
        device: where rows are looked at.
        screened: whether no block is scored whole.
        n_rows: of the pool; None if only reading it can tell.
        n_workers: threads that share the blocks.
    """
    per_row = max(scorer.n_members, 1) * n_classes
    largest, most_floats = _LARGEST, _FLOATS
    if screened and scorer.rowwise:
        per_row, largest = width, _LARGEST_SCREENED
        if device == "cuda":
            largest, most_floats = _LARGEST_ON_GPU, _GPU_FLOATS
        elif n_rows is not None:  # no thread should wait long for the last block of another
            largest = min(largest, max(-(-n_rows // (_TURNS * n_workers)), _SHORTEST_TURN))
    while largest > SMALLEST and largest * per_row > most_floats:
        largest //= 2
    # Little can be screened before there is a cut: smaller blocks give one sooner.
    size, growth = largest, 2
    if scorer.rowwise:
        size = FIRST
        if device == "cuda":
            size, growth = max(_FIRST_GPU_FLOATS // width, size), 8
    while size < largest:
        yield size
        size *= growth
    yield from itertools.repeat(largest)
