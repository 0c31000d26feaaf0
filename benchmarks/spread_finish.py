"""k-means++ among candidates in memory: how long, and whether a GPU picks what the CPU picks.

Embeddings are outer products of C and D normal numbers, as `spread` and `badge` have them. What is timed is
`minmargin.compute.pick_apart` alone. Where there is a GPU, its picks and distances are compared with the CPU's, to the
bit, and the program fails if they differ.

    python benchmarks/spread_finish.py [--quick] [--json FILE]
"""

from __future__ import annotations

import sys
import time

import numpy as np

from measuring import Report, Table, arguments_of, figure
from minmargin.compute import Embedding, pick_apart
from minmargin.device import resolve_device
from minmargin.seeds import SeedTree

#: Candidates, picks, D and C.
SIZES = ((4_000, 1_000, 64, 10), (200_000, 50_000, 54, 2))
QUICK = ((1_000, 200, 64, 10), (20_000, 500, 54, 2))


def picks(size: tuple[int, int, int, int], device: str) -> tuple[float, bytes]:
    """Return the seconds that picking takes, and all bits of what is picked."""
    n, n_picks, n_right, n_left = size
    rng = np.random.default_rng(0)
    embedding, seeds = Embedding(rng.normal(size=(n, n_left)), rng.normal(size=(n, n_right))), SeedTree(0)
    ties = seeds.ties(np.arange(n))
    started = time.perf_counter()
    picked, distances = pick_apart(embedding, n_picks, ties=ties, chance=seeds.proposals, device=device)
    return time.perf_counter() - started, picked.tobytes() + distances.tobytes()


def main() -> None:
    """Measure all sizes."""
    arguments = arguments_of(__doc__)
    report = Report(__file__, __doc__, arguments)
    devices = ["cpu"] if resolve_device("auto") == "cpu" else ["cpu", "cuda"]
    table = Table("Picking apart: seconds", ["candidates, picks, D, C", *devices, "the same picks"])
    for size in QUICK if arguments.quick else SIZES:
        for device in devices:
            picks((20_000, 100, *size[2:]), device)  # to compile takes its time
        taken, bits = zip(*(picks(size, device) for device in devices), strict=True)
        if len(set(bits)) > 1:
            sys.exit(f"benchmarks/spread_finish.py: the GPU picks other rows than the CPU of {size}.")
        same = "to the bit" if len(devices) > 1 else "no GPU"
        table.rows.append([", ".join(f"{number:,}" for number in size), *map(figure, taken), same])
    report.add(table)
    report.write()


if __name__ == "__main__":
    main()
