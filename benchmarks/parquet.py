"""Selecting from Parquet, Feather and CSV, against pyarrow alone reading the same columns.

pyarrow reads in the ways that a program could choose. From Parquet these are batches of 65,536 rows from
`ParquetFile.iter_batches` and from a dataset's scanner, whole row groups, and whole row groups in one Python thread per
core. From Feather and CSV they are the batches of a file, a dataset's scanner, and whole files. Each only counts rows,
keeps none of them and converts nothing: columns stay as they were decoded. The fastest is what minmargin is compared
with, which decodes them too, and scores every row with 25 models. Both have all cores for that, so the ratio is at most
the time that decoding takes, by decoding and scoring together. The last column has the processor time of all threads.

The files lie in the page cache, written with pyarrow's own settings (row groups of 1,048,576, Snappy; Feather has LZ4).
Peak memory is that of a process of its own which trains and selects, by VmHWM.

    python benchmarks/parquet.py [--quick] [--rows 20e6] [--repeats 5] [--folder DIR] [--json FILE]
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.ipc
import pyarrow.parquet as pq
from pyarrow import csv, feather

import minmargin as mm
from generated import labeled_set
from measuring import Report, Table, Times, arguments_of, figure, select_once, take_turns, times
from pool_files import folder_for_pools, write_files

N_FEATURES = 32
N_FILES = 10
RUN = 65_536


def ways_of_parquet(paths: list[str]) -> dict[str, Callable[[], int]]:
    """Return the plain ways to read every column of every row once; each returns how many rows it saw."""

    def iter_batches() -> int:
        return sum(
            len(batch)
            for path in paths
            for batch in pq.ParquetFile(path).iter_batches(batch_size=RUN, use_threads=True)
        )

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
        "pyarrow, dataset scanner": lambda: scan(paths, "parquet"),
        "pyarrow, row groups": row_groups,
        "pyarrow, row groups, a thread per core": row_groups_by_thread,
    }


def ways_of_feather(paths: list[str]) -> dict[str, Callable[[], int]]:
    """Return the same for Feather files."""

    def batches() -> int:
        files = map(pa.ipc.open_file, paths)
        return sum(len(file.get_batch(i)) for file in files for i in range(file.num_record_batches))

    return {
        "pyarrow, get_batch": batches,
        "pyarrow, dataset scanner": lambda: scan(paths, "feather"),
        "pyarrow, read_table": lambda: sum(len(feather.read_table(path, memory_map=False)) for path in paths),
    }


def ways_of_csv(paths: list[str]) -> dict[str, Callable[[], int]]:
    """Return the same for CSV files, whose numbers become float64."""
    return {
        "pyarrow, open_csv": lambda: sum(len(batch) for path in paths for batch in csv.open_csv(path)),
        "pyarrow, dataset scanner": lambda: scan(paths, "csv"),
        "pyarrow, read_csv": lambda: sum(len(csv.read_csv(path)) for path in paths),
    }


def scan(paths: list[str], kind: str) -> int:
    """Return how many rows a dataset's scanner gives, in batches."""
    return sum(len(batch) for batch in ds.dataset(paths, format=kind).scanner(batch_size=RUN).to_batches())


class Format(NamedTuple):
    """Files that hold rows.

    Attributes:
        suffix: of their names.
        share: of the rows of the Parquet files, so that all take about as long.
        ways: the ways in which pyarrow alone reads such files.
        least: the least speed of minmargin that is asked for, relative to the fastest of them; None: it is shown.
    """

    suffix: str
    share: float
    ways: Callable[[list[str]], dict[str, Callable[[], int]]]
    least: float | None = None


FORMATS = {
    "Parquet": Format(".parquet", 1.0, ways_of_parquet, 0.85),
    "Feather": Format(".feather", 0.5, ways_of_feather),
    "CSV": Format(".csv", 0.05, ways_of_csv),
}


def main() -> None:
    """Write the files, measure, remove them."""
    arguments = arguments_of(
        __doc__,
        rows=(20e6, "rows of the pool"),
        repeats=(5, "rounds"),
        formats=(",".join(FORMATS), "which formats"),
        folder=(None, "where to write the files; by default where temporary files go"),
    )
    n_rows, repeats = (400_000, 2) if arguments.quick else (int(arguments.rows), arguments.repeats)
    report = Report(__file__, __doc__, arguments)
    for name in arguments.formats.split(","):
        with folder_for_pools(arguments.folder) as folder:
            measure(report, name, int(n_rows * FORMATS[name].share) // N_FILES, folder, repeats)
    report.write()


def measure(report: Report, name: str, n_rows: int, folder: Path, repeats: int) -> None:
    """Measure files of a format with so many rows each."""
    kind = FORMATS[name]
    paths = write_files(folder, N_FILES, n_rows, N_FEATURES, kind.suffix)
    size = sum(Path(path).stat().st_size for path in paths)
    ratio = compare_speed(report, name, paths, n_rows * N_FILES, repeats)
    asked = f"{name}: {n_rows * N_FILES:,} rows of {N_FEATURES} columns ({size / 1e9:.1f} GB)"
    if kind.least is not None:
        report.goal(
            f"files: {asked} at {kind.least} or more of pyarrow's speed",
            f"{ratio:.2f}",
            met=ratio >= kind.least,
        )
        growth = compare_memory(report, paths)
        report.goal(
            f"files: {name}: peak memory the same within 10% for {n_rows:,} and {n_rows * N_FILES:,} rows",
            f"{growth:.2f}",
            met=abs(growth - 1) <= 0.1,
        )


def compare_speed(report: Report, name: str, paths: list[str], n_rows: int, repeats: int) -> float:
    """Add the table of speeds; return minmargin's relative to the fastest way of pyarrow."""
    committee = mm.fit_committee(*labeled_set(N_FEATURES), random_state=0)
    columns = [f"f{i}" for i in range(N_FEATURES)]
    pyarrow_ways = FORMATS[name].ways(paths)
    for way, read in pyarrow_ways.items():
        assert read() == n_rows, way
    ways = {**pyarrow_ways, "minmargin": lambda: committee.select(paths, 1000, features=columns)}
    ways["minmargin"]()
    processor: dict[str, list[float]] = {way: [] for way in ways}

    def work(way: str) -> None:
        start = time.process_time()
        ways[way]()
        processor[way].append(time.process_time() - start)

    found = take_turns({way: partial(work, way) for way in ways}, repeats, warm_up=False)
    best = found.fastest(pyarrow_ways)
    table = Table(
        f"{name}: {n_rows:,} rows of {N_FEATURES} float32 columns in {N_FILES} files",
        ["way", "seconds", "million rows/s", "GB/s", "speed, of pyarrow's best", "processor seconds"],
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
                figure(Times(processor).median(way)),
            ]
        )
    report.add(table)
    return found.ratio(best, "minmargin")


def compare_memory(report: Report, paths: list[str]) -> float:
    """Add the table of peaks; return the peak for all files relative to that for the first."""
    table = Table("Peak memory of a whole selection", ["rows", "peak MB", "of the smallest", "seconds"])
    peaks: list[float] = []
    for chosen in (paths[:1], paths):
        found = select_once(chosen, features=N_FEATURES)
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
