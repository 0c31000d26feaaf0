"""Peak memory of selecting, as the pool and the batch grow.

Each selection runs in a process of its own, and its peak resident memory (VmHWM) is compared with that of the
smallest pool of its kind. It must not follow the pool; it may follow the batch, of which ids and reasons are kept.

    python benchmarks/memory.py [--quick] [--rows 10e6] [--folder DIR] [--json FILE]
"""

from __future__ import annotations

from pathlib import Path

from measuring import Report, Table, arguments_of, figure, select_once, times
from pool_files import folder_for_pools, write_files

N_FEATURES = 16


def main() -> None:
    """Measure every kind of pool that is not in memory anyway."""
    arguments = arguments_of(
        __doc__,
        rows=(10e6, "rows of the largest pool"),
        folder=(None, "where to write the files; by default where temporary files go"),
    )
    n_rows = 500_000 if arguments.quick else int(arguments.rows)
    report = Report(__file__, __doc__, arguments)
    table = Table(
        f"Pools of {N_FEATURES} float32 features, 25 members",
        ["pool", "rows", "batch", "peak MB", "of the smallest", "seconds"],
    )
    with folder_for_pools(arguments.folder) as folder:
        for kind in ("Parquet",) if arguments.quick else ("Parquet", "CSV", "generator"):
            add_kind(table, kind, n_rows // 10 if kind == "CSV" else n_rows, folder)
    report.add(table)
    report.write()


def add_kind(table: Table, kind: str, n_rows: int, folder: Path) -> None:
    """Add the rows of one kind of pool: a tenth, then the whole, then the whole with a large batch."""
    if kind == "generator":
        smallest, whole = [f"generated:{n_rows // 10}"], [f"generated:{n_rows}"]
    else:
        whole = write_files(folder, 10, n_rows // 10, N_FEATURES, f".{kind.lower()}")
        smallest = whole[:1]
    jobs = [(smallest, 1_000), (whole, 1_000), (whole, n_rows // 20)]
    # The very first selection compiles the kernels, which takes memory that later ones do not.
    found = [
        select_once(pool, features=N_FEATURES, batch_size=batch_size) for pool, batch_size in [jobs[0], *jobs]
    ][1:]
    for (_, batch_size), result in zip(jobs, found, strict=True):
        table.rows.append(
            [
                kind,
                f"{result['rows']:,}",
                f"{batch_size:,}",
                figure(result["peak"] / 1e6),
                times(result["peak"] / found[0]["peak"]),
                figure(result["seconds"]),
            ]
        )


if __name__ == "__main__":
    main()
