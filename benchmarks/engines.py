"""Rows a second of every engine with one worker and with two, from Parquet files.

A worker is a core: with one of them, the engine and all that it starts have one core, with two they have two. Each
engine runs in a process of its own and is started before the time is taken. Two pools are selected from, one four
times as large as the other. What both take tells the seconds that a fragment of 1,048,576 rows takes, and those that
a selection takes whatever the pool, such as sending the committee. Rows a second are those of the larger pool with
everything in it. Efficiency is the speed with two workers by twice that with one. Two cores of one machine share its
memory: how much slower two processes with a core each are, that have nothing to do with each other, is measured too.

    python benchmarks/engines.py [--quick] [--rows 16777216] [--repeats 3] [--folder DIR] [--json FILE]
"""

from __future__ import annotations

import statistics
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from measuring import Report, Table, arguments_of, figure, in_own_process, seconds
from minmargin.scan.wire import from_table, to_table
from minmargin.seeds import SeedTree
from minmargin.topb import TopB
from pool_files import folder_for_pools, write_files

ENGINES = ("local", "dask", "ray", "spark")
N_FEATURES, N_FILES = 32, 8
FRAGMENT_ROWS = 1 << 20  # what a scan is cut into


def main() -> None:
    """Measure the engines, and what the driver does with what they send."""
    arguments = arguments_of(
        __doc__,
        rows=(1 << 24, "rows of the larger pool"),
        repeats=(3, "selections from each pool"),
        folder=(None, "where to write the files; by default where temporary files go"),
    )
    n_rows, repeats = (400_000, 1) if arguments.quick else (arguments.rows, arguments.repeats)
    report = Report(__file__, __doc__, arguments)
    with folder_for_pools(arguments.folder) as folder:
        paths = write_files(folder, N_FILES, n_rows // N_FILES, N_FEATURES, ".parquet")
        whole, quarter = folder / "whole", folder / "quarter"
        for place, some in ((whole, paths), (quarter, paths[::4])):
            place.mkdir()
            for path in some:
                (place / Path(path).name).hardlink_to(path)
        n_bytes = sum(Path(path).stat().st_size for path in paths)
        compare_engines(report, quarter, whole, repeats)
        report.curves["contention"] = measure_contention(report, whole, repeats)
    report.curves |= {"bytes of a row": n_bytes / n_rows, "merging": measure_merging(report)}
    report.write()


def compare_engines(report: Report, quarter: Path, whole: Path, repeats: int) -> None:
    """Add the table of engines, and keep what it is made of."""
    found: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for engine in ENGINES:
        for n_workers in (1, 2):
            settings = ("--features", N_FEATURES, "--repeats", repeats)
            runs = in_own_process("one_engine.py", engine, n_workers, quarter, whole, *settings)
            found.setdefault(engine, {})[str(n_workers)] = runs
    table = Table(
        f"{found['local']['1'][-1]['rows']:,} rows of {N_FEATURES} float32 columns in {N_FILES} files",
        ["engine", "workers", "seconds", "million rows/s", "s a fragment", "s beside them", "efficiency"],
    )
    for engine, by_workers in found.items():
        rates = {}
        for n_workers, runs in by_workers.items():
            small, large = (statistics.median(run["seconds"]) for run in runs)
            rows = [run["rows"] for run in runs]
            per_row = (large - small) / (rows[1] - rows[0])
            rates[n_workers] = rows[1] / large
            cells = [figure(large), figure(rates[n_workers] / 1e6), figure(per_row * FRAGMENT_ROWS)]
            efficiency = "" if n_workers == "1" else f"{rates['2'] / rates['1'] / 2:.2f}"
            fixed = max(small - per_row * rows[0], 0.0)
            table.rows.append([engine, n_workers, *cells, figure(fixed), efficiency])
    report.add(table)
    report.curves["engines"] = found
    batches = {runs[-1]["batch"] for by_workers in found.values() for runs in by_workers.values()}
    report.goal(
        "engines: all pick the same batch, to the bit",
        "the same" if len(batches) == 1 else f"{len(batches)} batches",
        met=len(batches) == 1,
    )
    spark, dask = (statistics.median(found[engine]["2"][-1]["seconds"]) for engine in ("spark", "dask"))
    report.goal(
        "engines: Spark at 0.8 or more of Dask's speed, two workers",
        f"{dask / spark:.2f}",
        met=dask / spark >= 0.8,
    )


def measure_contention(report: Report, whole: Path, repeats: int) -> float:
    """Add how much longer a process with a core of its own takes while another has the other core; return it."""

    def taken_by(core: int) -> float:
        settings = ("--features", N_FEATURES, "--repeats", repeats, "--first-core", core)
        (run,) = in_own_process("one_engine.py", "local", 1, whole, *settings)
        return statistics.median(run["seconds"])

    alone = taken_by(0)
    with ThreadPoolExecutor(2) as threads:
        both = statistics.mean(threads.map(taken_by, (0, 1)))
    rows = [["alone", figure(alone), "1.00"], ["both at once", figure(both), f"{both / alone:.2f}"]]
    report.add(Table("Two processes with a core each", ["", "seconds", "of alone"], rows))
    return both / alone


def measure_merging(report: Report) -> list[dict[str, float]]:
    """Add the table of what a driver does with a fragment's result: bytes, and seconds to open and merge it."""
    table = Table("What comes back of a fragment", ["rows kept", "bytes", "bytes a row", "ms to take in"])
    found = []
    for n_rows in (10, 1_000, 100_000):
        parcel = to_table(made_up(n_rows, first_row=n_rows))
        with pa.BufferOutputStream() as sink, pa.ipc.new_stream(sink, parcel.schema) as writer:
            writer.write_table(parcel)
            n_bytes = sink.tell()
        taken = []
        for _ in range(9):
            held = made_up(n_rows, first_row=0)
            taken.append(seconds(partial(take_in, held, parcel)))
        found.append({"rows": n_rows, "bytes": n_bytes, "seconds": statistics.median(taken)})
        cells = [f"{n_rows:,}", f"{n_bytes:,}", figure(n_bytes / n_rows), figure(found[-1]["seconds"] * 1e3)]
        table.rows.append(cells)
    report.add(table)
    return found


def take_in(held: TopB, parcel: pa.Table) -> None:
    """Do what a driver does when a result comes."""
    held.merge(from_table(parcel, held.size, held.seeds))


def made_up(n_rows: int, first_row: int) -> TopB:
    """Return a full TopB with the details that min-margin has."""
    top = TopB(n_rows, SeedTree(0))
    names = ("member", "first", "second", "predicted")
    details = {name: np.zeros(n_rows, np.int32) for name in names}
    scores = np.random.default_rng(first_row).random(n_rows)
    top.update(np.arange(first_row, first_row + n_rows), scores, lambda index: _taken(details, index))
    return top


def _taken(details: dict[str, np.ndarray], index: np.ndarray) -> dict[str, np.ndarray]:
    return {name: values[index] for name, values in details.items()}


if __name__ == "__main__":
    main()
