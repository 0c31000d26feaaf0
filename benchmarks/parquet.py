"""Selecting from Parquet, against pyarrow alone reading the same columns.

pyarrow reads in the ways that a program could choose: batches of 65,536 rows from `ParquetFile.iter_batches` and
from a dataset's scanner, whole row groups, and whole row groups in one Python thread per core. The fastest of them
is what minmargin is compared with. The files lie in the page cache, written with pyarrow's own settings (row groups
of 1,048,576, Snappy). Peak memory is that of a process of its own which trains and selects, by VmHWM.

    python benchmarks/parquet.py [--quick] [--rows 20e6] [--repeats 5] [--folder DIR] [--json FILE]
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow.dataset as ds
import pyarrow.parquet as pq

import minmargin as mm
from generated import labeled_set
from measuring import Report, Table, arguments_of, figure, in_own_process, take_turns, times
from pool_files import folder_for_pools, write_files

N_FEATURES = 32
N_FILES = 10
RUN = 65_536


def ways_of_pyarrow(paths: list[str]) -> dict[str, Callable[[], int]]:
    """Return the plain ways to read every column of every row once; each returns how many rows it saw."""

    def iter_batches() -> int:
        return sum(
            len(batch)
            for path in paths
            for batch in pq.ParquetFile(path).iter_batches(batch_size=RUN, use_threads=True)
        )

    def scanner() -> int:
        return sum(len(batch) for batch in ds.dataset(paths).scanner(batch_size=RUN).to_batches())

    def row_groups() -> int:
        files = map(pq.ParquetFile, paths)
        return sum(len(file.read_row_group(i)) for file in files for i in range(file.num_row_groups))

    def row_groups_by_thread() -> int:
        groups = [(path, i) for path in paths for i in range(pq.read_metadata(path).num_row_groups)]

        def read(group: tuple[str, int]) -> int:
            path, i = group
            return len(pq.ParquetFile(path).read_row_group(i, use_threads=False))

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            return sum(pool.map(read, groups))

    return {
        "pyarrow, iter_batches": iter_batches,
        "pyarrow, dataset scanner": scanner,
        "pyarrow, row groups": row_groups,
        "pyarrow, row groups, a thread per core": row_groups_by_thread,
    }


def main() -> None:
    """Write the files, measure, remove them."""
    arguments = arguments_of(
        __doc__,
        rows=(20e6, "rows of the pool"),
        repeats=(5, "rounds"),
        folder=(None, "where to write the files; by default where temporary files go"),
    )
    n_rows, repeats = (400_000, 2) if arguments.quick else (int(arguments.rows), arguments.repeats)
    report = Report(__file__, __doc__, arguments)
    with folder_for_pools(arguments.folder) as folder:
        paths = write_files(folder, N_FILES, n_rows // N_FILES, N_FEATURES, ".parquet")
        size = sum(Path(path).stat().st_size for path in paths)
        ratio = compare_speed(report, paths, n_rows, repeats)
        growth = compare_memory(report, paths)
    report.goal(
        f"parquet: {n_rows:,} rows of {N_FEATURES} columns ({size / 1e9:.1f} GB) at 0.7 or more of pyarrow's speed",
        f"{ratio:.2f}",
        met=ratio >= 0.7,
    )
    report.goal(
        f"parquet: peak memory the same within 10% for {n_rows // N_FILES:,} and {n_rows:,} rows",
        f"{growth:.2f}",
        met=abs(growth - 1) <= 0.1,
    )
    report.write()


def compare_speed(report: Report, paths: list[str], n_rows: int, repeats: int) -> float:
    """Add the table of speeds; return minmargin's relative to the fastest way of pyarrow."""
    committee = mm.fit_committee(*labeled_set(N_FEATURES), random_state=0)
    columns = [f"f{i}" for i in range(N_FEATURES)]
    pyarrow_ways = ways_of_pyarrow(paths)
    for way, read in pyarrow_ways.items():
        assert read() == n_rows, way
    ways = {**pyarrow_ways, "minmargin": lambda: committee.select(paths, 1000, features=columns)}
    found = take_turns(ways, repeats)
    best = found.fastest(pyarrow_ways)
    table = Table(
        f"{n_rows:,} rows of {N_FEATURES} float32 columns in {N_FILES} files",
        ["way", "seconds", "million rows/s", "GB/s", "speed, of pyarrow's best"],
    )
    for way in ways:
        taken = found.median(way)
        table.rows.append(
            [
                way,
                figure(taken),
                figure(n_rows / taken / 1e6),
                figure(n_rows * N_FEATURES * 4 / taken / 1e9),
                f"{found.ratio(best, way):.2f}",
            ]
        )
    report.add(table)
    return found.ratio(best, "minmargin")


def compare_memory(report: Report, paths: list[str]) -> float:
    """Add the table of peaks; return the peak for all files relative to that for the first."""
    table = Table("Peak memory of a whole selection", ["rows", "peak MB", "of the smallest", "seconds"])
    peaks: list[float] = []
    for chosen in (paths[:1], paths):
        found = in_own_process("one_selection.py", *chosen, "--features", N_FEATURES)
        peaks.append(found["peak"])
        table.rows.append(
            [
                f"{found['rows']:,}",
                figure(peaks[-1] / 1e6),
                times(peaks[-1] / peaks[0]),
                figure(found["seconds"]),
            ]
        )
    report.add(table)
    return peaks[-1] / peaks[0]


if __name__ == "__main__":
    main()
