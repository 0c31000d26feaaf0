"""Bounds on memory: a pool inside 1 GB of address space, a batch of a million rows, and a formula for the peak.

A pool of 50 million rows of 32 float32 columns, in row groups of 262,144 rows, is selected from in a process whose
address space is limited to 1 GB (`RLIMIT_AS`) from its start. Addresses count whether or not anything is in them, so
allocators that reserve them ahead are set not to: Arrow's pool is the system's, and malloc has one arena
(`ARROW_DEFAULT_MEMORY_POOL=system MALLOC_ARENA_MAX=1`). The other figures are peaks of resident memory, with the
usual settings. Each selection runs in a process of its own.

    python benchmarks/bounds.py [--quick] [--rows 50e6] [--pool FOLDER] [--folder DIR] [--json FILE]
"""

from __future__ import annotations

import os
import resource
from pathlib import Path
from subprocess import CalledProcessError
from typing import Any, NamedTuple

from measuring import Report, Table, arguments_of, figure, select_once
from pool_files import folder_for_pools, write_files

LIMIT = 10**9
RESERVES_NOTHING = {"ARROW_DEFAULT_MEMORY_POOL": "system", "MALLOC_ARENA_MAX": "1"}
N_FEATURES, N_FILES, ROW_GROUP = 32, 10, 1 << 18
N_MODELS = 25

# The formula of docs/scale.md. The first number is the interpreter with all libraries and compiled kernels.
BASE = 330e6
ROW_GROUPS = 2.1  # one is read while the other is looked at
EXACT = 2.2  # copies of rows that are scored exactly, in float64
TIMES_THE_BATCH = 5.0  # what is held, half as many again, and both while they are joined, sorted and taken
BYTES_OF_A_ROW = 40  # row, score, place among equals; member, two classes, prediction
BLOCK_ROWS, BLOCK_FLOATS = 131_072, 1 << 22


class Point(NamedTuple):
    """A selection whose peak is predicted and measured."""

    rows: int
    features: int
    row_group: int
    batch: int
    n_jobs: int
    kept: int = 0  # float32 columns

    def predicted(self) -> float:
        """Return the peak, in bytes, by the formula."""
        block = BLOCK_ROWS
        while block * self.features > BLOCK_FLOATS:
            block //= 2
        return (
            BASE
            + ROW_GROUPS * min(self.row_group, self.rows) * (self.features + self.kept) * 4
            + EXACT * self.n_jobs * min(self.batch, block) * (self.features + N_MODELS + 1) * 8
            + TIMES_THE_BATCH * self.batch * (BYTES_OF_A_ROW + 4 * self.kept)
        )


POINTS = [
    Point(1_000_000, 16, 1 << 18, 1_000, 2),
    Point(8_000_000, 16, 1 << 18, 1_000, 2),
    Point(2_000_000, 32, 1 << 20, 1_000, 1),
    Point(1_000_000, 64, 1 << 17, 10_000, 2),
    Point(2_000_000, 32, 1 << 18, 200_000, 2),
    Point(2_000_000, 32, 1 << 18, 200_000, 2, 8),
    Point(2_000_000, 16, 1 << 18, 500_000, 1),
    Point(2_000_000, 16, 1 << 18, 500_000, 4),
]


def main() -> None:
    """Measure both."""
    arguments = arguments_of(
        __doc__,
        rows=(50e6, "rows of the large pool"),
        pool=(None, "a folder that holds the large pool already"),
        folder=(None, "where to write the files; by default where temporary files go"),
    )
    n_rows = 400_000 if arguments.quick else int(arguments.rows)
    report = Report(__file__, __doc__, arguments)
    with folder_for_pools(arguments.folder) as folder:
        paths = sorted(map(str, arguments.pool.glob("*.parquet"))) if arguments.pool else None
        if paths is None:
            paths = write_files(
                folder, N_FILES, n_rows // N_FILES, N_FEATURES, ".parquet", row_group=ROW_GROUP
            )
        large = Point(n_rows, N_FEATURES, ROW_GROUP, n_rows // 50, os.cpu_count() or 1)
        peak = inside_a_limit(report, paths, large)
        points = [point._replace(rows=point.rows // 20, batch=point.batch // 20) for point in POINTS]
        check_formula(report, points if arguments.quick else POINTS, folder, (large, peak))
    report.write()


def inside_a_limit(report: Report, paths: list[str], large: Point) -> float:
    """Add the table of the large pool; return the peak of the large batch."""
    n_bytes = sum(Path(path).stat().st_size for path in paths)
    table = Table(
        f"{large.rows:,} x {N_FEATURES} rows in Parquet, {n_bytes / 1e9:.1f} GB",
        ["batch", "limit", "seconds", "scored exactly", "peak of addresses, MB", "peak resident, MB"],
    )

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))

    cases: list[tuple[int, str, dict[str, Any]]] = [
        (1_000, "1 GB of addresses", {"preexec_fn": limited, "env": os.environ | RESERVES_NOTHING}),
        (1_000, "none", {}),
        (large.batch, "none", {}),
    ]
    select_at(Point(0, N_FEATURES, ROW_GROUP, 1_000, -1), paths[:1])  # compiles the kernels
    peak, went_through = 0.0, True
    for batch, limit, limits in cases:
        try:
            found = select_at(large._replace(batch=batch, n_jobs=-1), paths, limits)
        except CalledProcessError as error:
            went_through = False
            table.rows.append([f"{batch:,}", limit, f"failed: {error.stderr.splitlines()[-1]}", "", "", ""])
            continue
        assert found["rows"] == large.rows
        peak = found["peak"]
        table.rows.append(
            [
                f"{batch:,}",
                limit,
                figure(found["seconds"]),
                f"{found['scored_exactly']:,}",
                figure(found["address_space"] / 1e6),
                figure(peak / 1e6),
            ]
        )
    report.add(table)
    report.goal(
        f"bounds: a batch of {large.rows:,} x {N_FEATURES} rows inside 1 GB of address space",
        f"{table.rows[0][4]} MB of addresses, {table.rows[0][5]} MB resident",
        met=went_through,
    )
    return peak


def check_formula(report: Report, points: list[Point], folder: Path, known: tuple[Point, float]) -> None:
    """Add the table of predicted and measured peaks; `known` is one that was measured before."""
    table = Table(
        "Peak resident memory: predicted by the formula, and measured",
        ["rows", "features", "row group", "batch", "threads", "kept", "predicted MB", "measured MB", "error"],
    )
    found = [known]
    for number, point in enumerate(points):
        place = folder / f"point-{number}"
        place.mkdir()
        width = point.features + point.kept
        paths = write_files(place, 1, point.rows, width, ".parquet", row_group=point.row_group)
        found.append((point, select_at(point, paths)["peak"]))
        Path(paths[0]).unlink()
    errors = []
    for point, peak in found:
        errors.append(point.predicted() / peak - 1)
        cells = [f"{value:,}" for value in point]
        table.rows.append([*cells, figure(point.predicted() / 1e6), figure(peak / 1e6), f"{errors[-1]:+.0%}"])
    report.add(table)
    worst = max(map(abs, errors))
    report.goal(
        f"bounds: peak memory follows the formula, within 15% at {len(errors)} points",
        f"within {worst:.0%}",
        met=worst <= 0.15,
    )


def select_at(point: Point, paths: list[str], limits: dict[str, Any] | None = None) -> dict[str, float]:
    """Return the peaks, seconds and rows of a selection in a process of its own."""
    options = {"batch_size": point.batch, "n_jobs": point.n_jobs, "keep": point.kept}
    return select_once(paths, features=point.features, limits=limits, **options)


if __name__ == "__main__":
    main()
