"""A batch of a billion rows: how long it takes, how much memory, and whether it is the right one.

The pool has 16 float32 features, made on the fly, chunk by chunk: row r is a hash of r. There are two classes and 25
members, and the batch has 1,000 rows. *Making alone* is the same pool without a selection, in one thread, as it is made
during a selection; both share the two cores, so the difference is not subtracted. `distinct` is `min-margin` with
`distinct=True`, of a pool whose second half repeats the first, row by row. Every selection runs in a process of its
own, and is timed there after small ones that load the compiled code. Memory is the peak that was resident (VmHWM), and
what was resident at each tenth of the way.

Each batch of the largest pool is compared with that of an oracle in plain numpy,
[benchmarks/billion_oracle.py](../benchmarks/billion_oracle.py): it makes the rows again, in other runs, and scores all
of them in float64 by formulas of its own. Rows and their order must be the same, and scores within 1e-12.

*From Parquet*, the same rows lie on disk as plain float32 columns, in row groups of 262,144, and the process has 1 GB
of address space (`RLIMIT_AS`), as in [benchmarks/bounds.py](../benchmarks/bounds.py). The batch must be that of the
same rows made on the fly, to the bit. Here no row repeats another, so distinct rows are any rows.

    python benchmarks/billion.py [--quick] [--rows 1e9] [--disk 2e8] [--parts stream,parquet] [--folder DIR]
        [--oracle DIR] [--found DIR] [--json FILE]
"""

from __future__ import annotations

import json
import os
import resource
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import generated
from billion_oracle import ask
from bounds import LIMIT, RESERVES_NOTHING, ROW_GROUP
from measuring import Goal, Report, Table, arguments_of, figure, in_own_process, times
from one_stream import BATCH, N_FEATURES, WAYS
from pool_files import folder_for_pools
from scaling import fit_power, slope

N_FILES = 20
CLOSE = 1e-12  # scores of the oracle: its exponentials are those of numpy


def main() -> None:
    """Measure both parts, or one."""
    arguments = arguments_of(
        __doc__,
        rows=(1e9, "the largest pool"),
        disk=(2e8, "rows in Parquet"),
        parts=("stream,parquet", "which parts"),
        folder=(None, "where to write the files; by default where temporary files go"),
        oracle=(None, "a folder that holds what billion_oracle.py has found, or shall"),
        found=(None, "a folder that holds what was measured before, or shall: it is not measured again"),
    )
    if arguments.quick:
        arguments.rows, arguments.disk = 2_000_000, 1_000_000
    report = Report(__file__, __doc__, arguments)
    with folder_for_pools(arguments.folder) as folder:
        if "stream" in arguments.parts:
            grow(report, int(arguments.rows), arguments.found or folder, arguments.oracle or folder)
        if "parquet" in arguments.parts:
            on_disk(report, int(arguments.disk), arguments.found or folder, folder)
    report.write()


def select(*pool: object, way: str, to: Path, repeats: int = 1, **settings: Any) -> dict[str, Any]:
    """Return what a selection took in a process of its own; its batch and that are kept in files called `to`."""
    known = to.with_suffix(".json")
    if not known.exists():
        options = ("--way", way, "--repeats", repeats, "--batch", to.with_suffix(".npz"))
        known.parent.mkdir(parents=True, exist_ok=True)
        known.write_text(json.dumps(in_own_process("one_stream.py", *pool, *options, **settings)))
    return json.loads(known.read_text())


def grow(report: Report, largest: int, folder: Path, oracle: Path) -> None:
    """Add the tables of pools that are made on the fly, from a thousandth of the largest on."""
    sizes = [largest // 1000, largest // 100, largest // 10, largest]
    table = Table(
        f"{N_FEATURES} features made on the fly, 25 members, batch of {BATCH:,}",
        [
            "way",
            "rows",
            "seconds",
            "million rows/s",
            "ns a row",
            "making alone, s",
            "scored exactly",
            "peak MB",
        ],
    )
    checks = Table(
        "The batches against the oracle", ["way", "rows", "the same rows in order", "scores differ by"]
    )
    goals = []
    for way in WAYS:
        found = []
        for n_rows in sizes:
            to, repeats = folder / f"{way}-{n_rows}", 5 if n_rows <= 10_000_000 else 1
            found.append(select(f"generated:{n_rows}", way=way, to=to, repeats=repeats))
            table.rows.append(row_of(way, found[-1]))
        taken, resident = [each["seconds"] for each in found], found[-1]["resident"]
        fixed, exponent = fit_power(sizes, taken)
        report.curves[way] = {"sizes": sizes, "seconds": taken, "exponent": exponent, "resident": resident}
        same, apart = compare(folder / f"{way}-{largest}.npz", way, largest, oracle)
        checks.rows.append([way, f"{largest:,}", "yes" if same else "no", f"{apart:.1e} at most"])
        growth = found[-1]["peak"] / found[0]["peak"]
        at_tenths = f"resident at each tenth {min(resident) / 1e6:.0f} to {max(resident) / 1e6:.0f} MB"
        goals += [
            Goal(
                f"billion: {way}: the batch of {largest:,} x {N_FEATURES} rows is the oracle's",
                "the same rows in the same order" if same else "another batch",
                same and apart <= CLOSE,
            ),
            Goal(
                f"billion: {way}: time linear from {sizes[0]:,} to {largest:,} rows: exponent 1.00 ± 0.05",
                f"{exponent:.3f} beside a fixed {fixed * 1e3:.0f} ms ({slope(sizes, taken):.3f} with it)",
                abs(exponent - 1) <= 0.05,
            ),
            Goal(
                f"billion: {way}: the peak of {largest:,} rows within 10% of that of {sizes[0]:,}",
                f"{times(growth)}; {at_tenths}",
                growth <= 1.1,
            ),
        ]
    add(report, [table, checks], goals)


def add(report: Report, tables: list[Table], goals: list[Goal]) -> None:
    """Add tables, then goals."""
    for table in tables:
        report.add(table)
    for goal in goals:
        report.goal(goal.asked, goal.measured, met=goal.met)


def row_of(way: str, found: dict[str, Any]) -> list[str]:
    """Return the row of a table for one selection."""
    n_rows, taken = found["rows"], found["seconds"]
    return [
        way,
        f"{n_rows:,}",
        figure(taken),
        figure(n_rows / taken / 1e6),
        figure(taken / n_rows * 1e9),
        figure(found["making"]),
        f"{found['scored_exactly']:,}",
        figure(found["peak"] / 1e6),
    ]


def compare(batch: Path, way: str, n_rows: int, oracle: Path) -> tuple[bool, float]:
    """Return whether a batch has the oracle's rows in its order, and how far scores differ at most."""
    answer = ask(way, n_rows, oracle)
    with np.load(batch) as found:
        same = np.array_equal(found["rows"], answer.rows)
        return same, float(np.abs(found["scores"] - answer.scores).max()) if same else np.inf


def on_disk(report: Report, n_rows: int, kept: Path, folder: Path) -> None:
    """Add the table of the pool on disk, inside a limit of memory."""
    about = kept / f"parquet-{n_rows}.json"
    paths: list[Path] = []
    if not about.exists():
        start = time.perf_counter()
        paths = write_pool(folder, n_rows)
        written = {
            "seconds": time.perf_counter() - start,
            "bytes": sum(path.stat().st_size for path in paths),
        }
        about.parent.mkdir(parents=True, exist_ok=True)
        about.write_text(json.dumps(written))
    written = json.loads(about.read_text())
    table = Table(
        f"{n_rows:,} x {N_FEATURES} rows in Parquet, {written['bytes'] / 1e9:.1f} GB, inside 1 GB of address space",
        [
            "way",
            "seconds",
            "million rows/s",
            "GB/s",
            "peak of addresses, MB",
            "peak resident, MB",
            "the batch",
        ],
        note=f"Writing the {N_FILES} files took {written['seconds']:.0f} s. They are read soon after, partly from the "
        "page cache and partly from disk.",
    )

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))

    goals = []
    for way in WAYS:
        like = "min-margin" if way == "distinct" else way  # on disk no row is repeated
        made = kept / f"{like}-made-{n_rows}"
        select(f"generated:{n_rows}", way=like, to=made)
        read = kept / f"{way}-parquet-{n_rows}"
        found = select(*paths, way=way, to=read, preexec_fn=limited, env=os.environ | RESERVES_NOTHING)
        with np.load(made.with_suffix(".npz")) as one, np.load(read.with_suffix(".npz")) as other:
            same = all(np.array_equal(one[name], other[name]) for name in ("rows", "scores"))
        taken = found["seconds"]
        table.rows.append(
            [
                way,
                figure(taken),
                figure(n_rows / taken / 1e6),
                figure(n_rows * N_FEATURES * 4 / taken / 1e9),
                figure(found["address_space"] / 1e6),
                figure(found["peak"] / 1e6),
                "the same to the bit" if same else "another one",
            ]
        )
        goals.append(
            Goal(
                f"billion: {way}: {n_rows:,} x {N_FEATURES} rows from Parquet inside 1 GB of address space",
                f"{table.rows[-1][4]} MB of addresses, {table.rows[-1][5]} MB resident",
                same and found["rows"] == n_rows,
            )
        )
    add(report, [table], goals)


def write_pool(folder: Path, n_rows: int) -> list[Path]:
    """Write generated rows to Parquet files; return their paths.

    Columns are plain: each has only 65,536 different values, of which pyarrow would make a dictionary, and files of
    half the size. Features of real pools have more.
    """
    names = [f"f{i}" for i in range(N_FEATURES)]
    schema = pa.schema([(name, pa.float32()) for name in names])
    chunks = generated.chunks(n_rows, N_FEATURES, ROW_GROUP)
    paths = [folder / f"part-{number:03d}.parquet" for number in range(N_FILES)]
    n_groups = -(-n_rows // ROW_GROUP)
    for number, path in enumerate(paths):
        share = range(number * n_groups // N_FILES, (number + 1) * n_groups // N_FILES)
        with pq.ParquetWriter(path, schema, use_dictionary=False) as writer:
            for _, rows in zip(share, chunks, strict=False):
                columns = [np.ascontiguousarray(column) for column in rows.T]
                writer.write_table(pa.table(columns, schema=schema), row_group_size=ROW_GROUP)
    return paths


if __name__ == "__main__":
    main()
