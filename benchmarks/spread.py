"""What `spread` takes beside `min-margin`, and distinct rows beside any rows.

Pools are normal float32 numbers. Labels follow a linear rule of some of the features, with noise. How unsure the 25
members are decides how many rows `spread` scores: that is shown as the mean of |g|, which is 0 where all are sure and
(1 - 1/C)^(1/2) at most. *In memory* and *from Parquet*, whole selections of 1,000 rows take turns; the pass over the
pool is what their manifests say it took. *The finish* alone is k-means++ among outer products of C and D normal
numbers, `minmargin.compute.pick_apart`. Where there is a GPU, its picks and distances are compared with the CPU's, to
the bit, and the program fails if they differ. *Distinct rows* are those of `min-margin` with `distinct=True`, beside
any rows, of pools that have no copies, by the processor time of all threads. *Memory* is the peak (VmHWM) of a
process that selects by `spread` from a generator, beside what the formula of docs/scale.md says.

    python benchmarks/spread.py [--quick] [--parts memory,finish] [--folder DIR] [--json FILE]
"""

from __future__ import annotations

import gc
import os
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import bounds
import generated
import minmargin as mm
from measuring import Report, Table, Times, arguments_of, figure, select_once, take_turns, times
from minmargin.compute import Embedding, pick_apart
from minmargin.device import resolve_device
from minmargin.seeds import SeedTree
from pool_files import folder_for_pools, write_files

BATCH = 1_000
WAYS = ("min-margin", "spread")
QUICK = 0.02  # of all sizes


class Problem(NamedTuple):
    """A pool, and labels that are learned."""

    n_rows: int
    n_features: int
    n_classes: int
    n_labeled: int
    n_telling: int  # features that labels depend on

    @property
    def name(self) -> str:
        """The row of a table."""
        return f"{self.n_rows:,} x {self.n_features}, {self.n_classes} classes"

    def committee(self) -> mm.Committee:
        """Return 25 members."""
        rng = np.random.default_rng(0)
        X = rng.standard_normal((self.n_labeled, self.n_features), dtype=np.float32)
        weights = rng.normal(size=(self.n_telling, self.n_classes))
        noise = rng.gumbel(size=(self.n_labeled, self.n_classes))
        y = (X[:, : self.n_telling] @ weights + noise).argmax(axis=1)
        return mm.fit_committee(X, y, random_state=0)

    def pool(self) -> np.ndarray:
        """Return the pool in memory."""
        return np.random.default_rng(1).standard_normal((self.n_rows, self.n_features), dtype=np.float32)


IMAGES = Problem(1_000_000, 784, 10, n_labeled=2_000, n_telling=16)
TABLE = Problem(4_000_000, 32, 2, n_labeled=500, n_telling=8)

#: The least rate of the pass, relative to min-margin's.
IN_MEMORY = ((IMAGES, 3.0), (TABLE, 1.5))

#: Pools without copies, and rounds.
WITHOUT_COPIES = (
    (TABLE._replace(n_rows=1_000_000), 41),
    (TABLE, 21),
    (IMAGES._replace(n_rows=200_000), 11),
)


class Finish(NamedTuple):
    """Candidates to pick among, and the most seconds that the CPU, and a GPU, may take."""

    n_candidates: int
    n_picks: int
    n_features: int
    n_classes: int
    on_cpu: float
    on_gpu: float | None = None

    @property
    def name(self) -> str:
        """The row of a table."""
        return f"{self.n_picks:,} of {self.n_candidates:,}, D = {self.n_features}, C = {self.n_classes}"


FINISHES = (Finish(4_000, 1_000, 64, 10, 0.3), Finish(200_000, 50_000, 54, 2, 120.0, 10.0))


# The last line of the formula in docs/scale.md, as it is for `spread`; fitted to the points below.
OVERSAMPLE = 4
TIMES_THE_DRAWN = 6.0
BYTES_OF_A_CLASS = 12  # of a gradient, and of class scores while they are made


class Point(NamedTuple):
    """A selection by `spread` whose peak is predicted and measured."""

    rows: int
    features: int
    classes: int
    batch: int

    def predicted(self) -> float:
        """Return the peak, in bytes, by the formula of docs/scale.md."""
        n_jobs = os.cpu_count() or 1
        alike = bounds.Point(self.rows, self.features, generated.CHUNK_SIZE, self.batch, n_jobs)
        of_drawn = bounds.BYTES_OF_A_ROW + 4 * (self.features + 1) + BYTES_OF_A_CLASS * self.classes
        last_line = bounds.TIMES_THE_BATCH * self.batch * bounds.BYTES_OF_A_ROW
        return alike.predicted() - last_line + TIMES_THE_DRAWN * OVERSAMPLE * self.batch * of_drawn


POINTS = (
    Point(1_000_000, 32, 2, 20_000),
    Point(1_000_000, 128, 2, 20_000),
    Point(1_000_000, 16, 10, 50_000),
    Point(500_000, 256, 4, 10_000),
    Point(2_000_000, 64, 3, 30_000),
    Point(1_000_000, 8, 5, 50_000),
)


def main() -> None:
    """Measure all parts, or some."""
    parts: dict[str, Callable[[Report, Any], None]] = {
        "memory": in_memory,
        "parquet": from_parquet,
        "finish": finishing,
        "distinct": distinct_rows,
        "peaks": peaks,
    }
    arguments = arguments_of(
        __doc__,
        parts=(",".join(parts), "which parts"),
        repeats=(5, "rounds"),
        folder=(None, "where to write the files; by default where temporary files go"),
    )
    if arguments.quick:
        arguments.repeats = 2
    report = Report(__file__, __doc__, arguments)
    for part in arguments.parts.split(","):
        parts[part](report, arguments)
    report.write()


def smaller(problem: Problem, arguments: Any) -> Problem:
    """Return a problem, small where small ones are asked for."""
    if not arguments.quick:
        return problem
    n_features = min(problem.n_features, 64)
    return problem._replace(n_rows=int(problem.n_rows * QUICK), n_features=n_features)


def mean_length(committee: mm.Committee, rows: np.ndarray) -> float:
    """Return the mean of |g| over some rows."""
    gradients = np.mean(list(committee.scorer.each_member(rows)), axis=0)
    gradients[np.arange(len(rows)), gradients.argmax(axis=1)] -= 1.0
    return float(np.linalg.norm(gradients, axis=1).mean())


def table_of_passes(title: str) -> Table:
    """Return an empty table for `add_pass`."""
    columns = [f"{way}, {what}" for what in ("pass", "whole") for way in WAYS]
    header = ["pool", *columns, "pass, times as fast", "whole", "scored exactly", "mean of |g|"]
    return Table(title, header)


def add_pass(
    table: Table, problem: Problem, committee: mm.Committee, pools: tuple[Any, np.ndarray], repeats: int
) -> float:
    """Add a pool to the table; return how many times as fast the pass of `spread` is."""
    pool, some = pools
    columns = None if isinstance(pool, np.ndarray) else [f"f{i}" for i in range(problem.n_features)]
    manifests: dict[str, list[dict[str, Any]]] = {way: [] for way in WAYS}

    def select(way: str) -> None:
        manifests[way].append(committee.select(pool, BATCH, strategy=way, features=columns).manifest)

    whole = take_turns({way: partial(select, way) for way in WAYS}, repeats)
    # The first selections are to warm up.
    passes = Times({way: [each["seconds"]["scanning"] for each in manifests[way][1:]] for way in WAYS})
    faster = passes.ratio(*WAYS)
    exact = manifests["spread"][-1]["rows_scored_exactly"]
    table.rows.append(
        [
            problem.name,
            *(figure(found.median(way)) for found in (passes, whole) for way in WAYS),
            times(faster),
            times(whole.ratio(*WAYS)),
            f"{exact:,} ({exact / problem.n_rows:.2%})",
            figure(mean_length(committee, some)),
        ]
    )
    return faster


def in_memory(report: Report, arguments: Any) -> None:
    """Compare passes over pools in memory."""
    table, goals = table_of_passes("Pools in memory: seconds for a batch of 1,000"), []
    for asked, least in IN_MEMORY:
        problem = smaller(asked, arguments)
        pool = problem.pool()
        faster = add_pass(table, problem, problem.committee(), (pool, pool[:5_000]), arguments.repeats)
        goals.append((problem, least, faster))
        del pool
    report.add(table)
    for problem, least, faster in goals:
        asked_for = (
            f"spread: {problem.name}, in memory: a pass at least {least:g} times as fast as min-margin's"
        )
        report.goal(asked_for, times(faster), met=faster >= least)


def from_parquet(report: Report, arguments: Any) -> None:
    """Compare selections from files."""
    problem, n_files = smaller(TABLE, arguments), 4
    table = table_of_passes(f"Parquet, {n_files} files: seconds for a batch of 1,000")
    with folder_for_pools(arguments.folder) as folder:
        paths = write_files(folder, n_files, problem.n_rows // n_files, problem.n_features, ".parquet")
        faster = add_pass(
            table, problem, problem.committee(), (paths, problem.pool()[:5_000]), arguments.repeats
        )
    report.add(table)
    asked_for = f"spread: {problem.name}, from Parquet: a pass no slower than min-margin's"
    report.goal(asked_for, times(faster), met=faster >= 1.0)


def picks(size: Finish, device: str) -> tuple[float, bytes]:
    """Return the seconds that picking takes, and all bits of what is picked."""
    n, rng, seeds = size.n_candidates, np.random.default_rng(0), SeedTree(0)
    embedding = Embedding(rng.normal(size=(n, size.n_classes)), rng.normal(size=(n, size.n_features)))
    ties = seeds.ties(np.arange(n))
    start = time.perf_counter()
    picked, squares = pick_apart(embedding, size.n_picks, ties=ties, chance=seeds.proposals, device=device)
    return time.perf_counter() - start, picked.tobytes() + squares.tobytes()


def finishing(report: Report, arguments: Any) -> None:
    """Pick apart, on the CPU and, where there is one, on a GPU."""
    devices = ["cpu"] if resolve_device("auto") == "cpu" else ["cpu", "cuda"]
    table, goals = Table("The finish: seconds", ["picks", *devices, "the same picks"]), []
    for asked in FINISHES:
        size = asked
        if arguments.quick:
            size = asked._replace(n_candidates=asked.n_candidates // 10, n_picks=asked.n_picks // 50)
        for device in devices:
            picks(size._replace(n_candidates=20_000, n_picks=100), device)  # to compile takes its time
        taken, bits = zip(*(picks(size, device) for device in devices), strict=True)
        if len(set(bits)) > 1:
            sys.exit(f"benchmarks/spread.py: the GPU picks other rows than the CPU of {size}.")
        same = "to the bit" if len(devices) > 1 else "no GPU"
        table.rows.append([size.name, *map(figure, taken), same])
        for device, seconds in zip(devices, taken, strict=True):
            most = size.on_cpu if device == "cpu" else size.on_gpu
            if most is not None:
                goals.append((f"spread: the finish, {size.name}: {most:g} s on a {device}", seconds, most))
    report.add(table)
    for asked_for, seconds, most in goals:
        report.goal(
            asked_for.replace("cuda", "GPU").replace("cpu", "CPU"),
            f"{figure(seconds)} s",
            met=seconds <= most,
        )


def distinct_rows(report: Report, arguments: Any) -> None:
    """Compare batches of distinct rows with batches of any."""
    header = ["pool", "any rows, s of CPU", "distinct, s of CPU", "more"]
    table, goals = Table("Distinct rows of pools without copies: min-margin, a batch of 1,000", header), []
    for asked, repeats in WITHOUT_COPIES:
        problem = smaller(asked, arguments)
        pool, committee = problem.pool(), problem.committee()
        rounds: dict[str, list[float]] = {"any": [], "distinct": []}
        for number in range(-1, arguments.repeats if arguments.quick else repeats):
            for way in rounds if number % 2 else reversed(rounds):  # whoever goes second finds a warm cache
                gc.collect()
                start = time.process_time()
                committee.select(pool, BATCH, distinct=way == "distinct")
                if number >= 0:
                    rounds[way].append(time.process_time() - start)
        found = Times(rounds)
        more = found.ratio("distinct", "any") - 1.0
        table.rows.append(
            [problem.name, figure(found.median("any")), figure(found.median("distinct")), f"{more:+.1%}"]
        )
        goals.append((problem, more))
        del pool
    report.add(table)
    for problem, more in goals:
        asked_for = f"distinct: {problem.name}, no copies: less than 5% more CPU time"
        report.goal(asked_for, f"{more:+.1%}", met=more < 0.05)


def peaks(report: Report, arguments: Any) -> None:
    """Compare the memory of `spread` with the formula."""
    header = ["rows", "features", "classes", "batch", "predicted MB", "measured MB", "error"]
    table, errors = (
        Table("Peak resident memory of spread: predicted by the formula, and measured", header),
        [],
    )
    for asked in POINTS[:1] if arguments.quick else POINTS:
        point = asked._replace(rows=100_000, batch=1_000) if arguments.quick else asked
        peak = peak_of(point)
        errors.append(point.predicted() / peak - 1.0)
        found = (figure(point.predicted() / 1e6), figure(peak / 1e6))
        table.rows.append([*map("{:,}".format, point), *found, f"{errors[-1]:+.0%}"])
    report.add(table)
    worst = max(map(abs, errors))
    asked_for = f"spread: peak memory follows the formula, within 15% at {len(errors)} points"
    report.goal(asked_for, f"within {worst:.0%}", met=worst <= 0.15)


def peak_of(point: Point) -> float:
    """Return the peak of a selection in a process of its own."""
    pool = [f"generated:{point.rows}"]
    options = {"classes": point.classes, "batch_size": point.batch, "strategy": "spread"}
    return select_once(pool, features=point.features, **options)["peak"]


if __name__ == "__main__":
    main()
