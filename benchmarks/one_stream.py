"""One selection from rows made on the fly, or from files, in a process of its own; prints what it took as JSON.

The time is that of `Committee.select`, after small selections of the same kind that load the compiled code; making the
same rows without selecting is timed after it. Resident memory is noted ten times on the way, and its peak at the end.

python benchmarks/one_stream.py generated:ROWS or FILE... --way min-margin|spread|distinct [--repeats N] [--batch FILE]
"""

from __future__ import annotations

import argparse
import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import generated
import minmargin as mm
from measuring import peak_address_space, peak_memory, resident_memory, seconds

N_FEATURES, BATCH = 16, 1_000
SMALL = 400_000

#: What each way asks for.
WAYS: dict[str, dict[str, Any]] = {
    "min-margin": {"strategy": "min-margin", "distinct": False},
    "spread": {"strategy": "spread"},
    "distinct": {"strategy": "min-margin", "distinct": True},
}


def rows_of(way: str, n_rows: int) -> Iterator[np.ndarray]:
    """Return the chunks of a generated pool. Where distinct rows are asked for, its second half repeats the first."""
    if way != "distinct":
        return generated.chunks(n_rows, N_FEATURES)
    return itertools.chain.from_iterable(generated.chunks(n_rows // 2, N_FEATURES) for _ in range(2))


def noting(chunks: Iterator[np.ndarray], n_rows: int, noted: list[int]) -> Iterator[np.ndarray]:
    """Return the chunks, and note the resident memory whenever another tenth of them has been handed out."""
    n_given = 0
    for chunk in chunks:
        yield chunk
        n_given += len(chunk)
        if n_given * 10 >= n_rows * (len(noted) + 1):
            noted.append(resident_memory())


def main() -> None:
    """Select."""
    parser = argparse.ArgumentParser()
    parser.add_argument("pool", nargs="+")
    parser.add_argument("--way", choices=WAYS, required=True)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--batch", type=Path, help="where to write the rows and scores of the batch")
    arguments = parser.parse_args()
    committee = mm.fit_committee(*generated.labeled_set(N_FEATURES), random_state=0)
    batches: list[mm.Batch] = []
    noted: list[int] = []

    def select(pool: Any) -> None:
        batches.append(committee.select(pool, BATCH, **WAYS[arguments.way]))

    found: dict[str, Any] = {}
    if arguments.pool[0].startswith("generated:"):
        n_rows = int(arguments.pool[0].removeprefix("generated:"))
        for _ in range(2):
            select(rows_of(arguments.way, min(SMALL, n_rows)))
        taken = []
        for _ in range(arguments.repeats):
            noted.clear()
            pool = noting(rows_of(arguments.way, n_rows), n_rows, noted)
            taken.append(seconds(lambda pool=pool: select(pool)))
        making = [
            seconds(lambda: sum(map(len, rows_of(arguments.way, n_rows)))) for _ in range(arguments.repeats)
        ]
        found["making"] = float(np.median(making))
    else:
        select(generated.chunks(SMALL, N_FEATURES))
        taken = [seconds(lambda: select(arguments.pool))]
    batch = batches[-1]
    if arguments.batch is not None:
        np.savez(arguments.batch, rows=batch.rows, scores=batch.scores)
    found |= {
        "seconds": float(np.median(taken)),
        "peak": peak_memory(),
        "address_space": peak_address_space(),
        "resident": noted,
        "rows": batch.manifest["pool"]["rows"],
        "scored_exactly": batch.manifest["rows_scored_exactly"],
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
