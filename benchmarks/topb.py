"""Keeping the B lowest of a stream of scores.

TopB takes chunks of 65,536 scores and orders equal ones by a hash, in O(B) memory. Beside it stand numpy with the
whole stream in memory (`argpartition`, then a sort of the B; `argsort`), numpy on the stream (`argpartition` of the
best so far and the next chunk), and `heapq.nsmallest`, timed on a fiftieth of the stream because it handles one row
at a time. The stream is random, or it falls so that each chunk replaces the last, or it has only 26 values as votes do.

    python benchmarks/topb.py [--quick] [--rows 10e6] [--repeats 5] [--json FILE]
"""

from __future__ import annotations

import heapq

import numpy as np

from measuring import Report, Table, arguments_of, figure, take_turns, times
from minmargin.seeds import SeedTree
from minmargin.topb import TopB

CHUNK = 65_536
SEEDS = SeedTree(0)


def by_topb(scores: np.ndarray, rows: np.ndarray, size: int) -> np.ndarray:
    """Return the rows in order, from chunks."""
    best = TopB(size, SEEDS)
    for i in range(0, len(scores), CHUNK):
        best.update(rows[i : i + CHUNK], scores[i : i + CHUNK])
    return best.finish().rows


def by_argpartition(scores: np.ndarray, size: int) -> np.ndarray:
    """Return the rows in order, from all scores at once."""
    lowest = np.argpartition(scores, size - 1)[:size]
    return lowest[np.argsort(scores[lowest])]


def by_chunks(scores: np.ndarray, size: int) -> np.ndarray:
    """Return the rows in order, holding the best so far and one chunk."""
    rows, lowest = np.empty(0, np.int64), np.empty(0)
    for i in range(0, len(scores), CHUNK):
        chunk = scores[i : i + CHUNK]
        lowest = np.concatenate([lowest, chunk])
        rows = np.concatenate([rows, np.arange(i, i + len(chunk))])
        if len(rows) > size:
            kept = np.argpartition(lowest, size - 1)[:size]
            rows, lowest = rows[kept], lowest[kept]
    return rows[np.argsort(lowest)]


def by_heap(scores: np.ndarray, size: int) -> list[tuple[float, int]]:
    """Return (score, row) in order, one row at a time."""
    return heapq.nsmallest(size, zip(scores.tolist(), range(len(scores)), strict=True))


def main() -> None:
    """Measure all streams and sizes."""
    arguments = arguments_of(__doc__, rows=(10e6, "length of the stream"), repeats=(5, "rounds"))
    n, repeats = (500_000, 2) if arguments.quick else (int(arguments.rows), arguments.repeats)
    report = Report(__file__, __doc__, arguments)
    random = np.random.default_rng(0).random(n)
    streams = {
        "random": (random, [100, 1_000, 10_000, 100_000, 1_000_000]),
        "falling": (np.sort(random)[::-1].copy(), [1_000, 100_000]),
        "26 values": (np.floor(random * 26) / 25, [1_000, 100_000]),
    }
    others = ["argpartition", "argsort", "in chunks", "heapq"]
    table = Table(
        f"{n:,} scores: million scores a second, and how many times as fast TopB is",
        ["stream, B", "TopB", *others, *map("vs {}".format, others)],
    )
    for name, (scores, sizes) in streams.items():
        for size in sizes:
            if size <= n // 10:
                table.rows.append([f"{name}, {size:,}", *measure(scores, size, repeats)])
    report.add(table)
    report.write()


def measure(scores: np.ndarray, size: int, repeats: int) -> list[str]:
    """Return the cells of one row."""
    n, n_heap = len(scores), max(len(scores) // 50, size)
    rows = np.arange(n)
    found = take_turns(
        {
            "TopB": lambda: by_topb(scores, rows, size),
            "argpartition": lambda: by_argpartition(scores, size),
            "argsort": lambda: np.argsort(scores)[:size],
            "in chunks": lambda: by_chunks(scores, size),
            "heapq": lambda: by_heap(scores[:n_heap], size),
        },
        repeats,
    )
    lowest = np.sort(scores)[:size]
    assert np.array_equal(scores[by_topb(scores, rows, size)], lowest)
    assert np.array_equal(scores[by_chunks(scores, size)], lowest)
    counts = {way: n_heap if way == "heapq" else n for way in found.rounds}
    ratios = [found.ratio(way, "TopB") * n / counts[way] for way in found.rounds if way != "TopB"]
    return [*(figure(counts[way] / found.median(way) / 1e6) for way in counts), *map(times, ratios)]


if __name__ == "__main__":
    main()
