"""How long a cluster takes, what moves to the driver and what it costs: a simulation of pools of 1e9 to 1e11 rows.

Workers take fragments one after the other, and take as long as their rows, or as storage lets them have the bytes.
Whatever a fragment keeps goes to the driver, which takes results in one at a time. Fragments that are given out later
know how far the line has come, and send back less; Spark is given 4,096 of them at once. (That it waits for the last
of these is not part of the model.) Workers differ, some are slow,
and some are lost: their fragment is given out again, and a new worker comes after a while. What a fragment takes on
each engine was measured by `engines.py`, and so was what the driver does.

    python benchmarks/cluster_model.py [--quick] [--measured FILE] [--dollars 0.05] [--json FILE]
"""

from __future__ import annotations

import heapq
import json
import math
import statistics
from collections import deque
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from measuring import Report, Table, arguments_of, figure

FRAGMENT_ROWS = 1 << 20
SPARKS = 1 << 12  # fragments that Spark is given at once
MEASURED = Path(__file__).with_name("results") / "epyc" / "engines.json"


@dataclass(frozen=True)
class Job:
    """A selection.

    Attributes:
        rows: of the pool.
        batch: B.
        fragment_rows: that a task looks at.
        bytes_a_row: in storage, of the columns that are read.
        bytes_a_kept_row: of a row that goes to the driver.
    """

    rows: int
    batch: int = 1_000
    fragment_rows: int = FRAGMENT_ROWS
    bytes_a_row: float = 0.0
    bytes_a_kept_row: float = 33.0

    @property
    def n_fragments(self) -> int:
        """How many tasks there are."""
        return -(-self.rows // self.fragment_rows)


@dataclass(frozen=True)
class Cluster:
    """Workers, a driver and storage; times are in seconds.

    Attributes:
        workers: how many, of one core each.
        rows_a_second: of one worker.
        task: what an engine adds to each fragment.
        fixed: what a selection takes whatever the pool.
        merge: what the driver takes for a result, and for each row in it.
        at_once: how many fragments are given out together: they know how far the line had come before.
        storage: bytes a second that it gives to all workers together.
        spread: of the logarithm of a fragment's time.
        slow: the share of workers that are slow, and how many times as long they take.
        lifetime: of a worker, on average, until it is lost.
        back: until another takes its place.
    """

    workers: int
    rows_a_second: float
    task: float = 0.0
    fixed: float = 0.0
    merge: tuple[float, float] = (0.0, 0.0)
    at_once: int = 1
    storage: float = math.inf
    spread: float = 0.0
    slow: tuple[float, float] = (0.0, 1.0)
    lifetime: float = math.inf
    back: float = 60.0


@dataclass(frozen=True)
class Outcome:
    """What came of it.

    Attributes:
        seconds: until the driver has everything.
        to_driver: bytes.
        finished: how many fragments were finished.
        lost: how many were begun on a worker that was lost.
    """

    seconds: float
    to_driver: float
    finished: int
    lost: int

    def dollars(self, workers: int, an_hour: float) -> float:
        """Return what the workers cost at a price for each and an hour."""
        return workers * self.seconds / 3600 * an_hour


def simulate(job: Job, cluster: Cluster, seed: int = 0) -> Outcome:
    """Return what becomes of a selection."""
    rng = np.random.default_rng(seed)
    waiting = deque((cluster.fixed, n_rows) for n_rows in _fragment_sizes(job))  # since when
    n_slow = round(cluster.slow[0] * cluster.workers)
    pace = [cluster.slow[1] if worker < n_slow else 1.0 for worker in range(cluster.workers)]
    dies = [_life(cluster, rng) for _ in pace]
    free = [(cluster.fixed, worker) for worker in range(cluster.workers)]
    running: list[tuple[float, int, int, int]] = []
    driver_free, merged_rows, to_driver, finished, lost = cluster.fixed, 0, 0.0, 0, 0
    given = told = 0
    while waiting or running:
        if waiting and free and (not running or free[0][0] <= running[0][0]):
            start, worker = heapq.heappop(free)
            start = max(start, waiting[0][0])
            if dies[worker] < start:  # while it had nothing to do
                back = dies[worker] + cluster.back
                dies[worker] = back + _life(cluster, rng)
                heapq.heappush(free, (max(start, back), worker))
                continue
            _, n_rows = waiting.popleft()
            taken = cluster.task + pace[worker] * _scan_seconds(job, cluster, n_rows, rng)
            if given % cluster.at_once == 0:
                told = merged_rows
            given += 1
            kept = _kept(job, n_rows, told)
            heapq.heappush(running, (min(start + taken, dies[worker]), worker, n_rows, kept))
            continue
        end, worker, n_rows, kept = heapq.heappop(running)
        if end == dies[worker]:
            lost += 1
            waiting.append((end, n_rows))
            end += cluster.back
            dies[worker] = end + _life(cluster, rng)
        else:
            finished += 1
            merged_rows += n_rows
            to_driver += kept * job.bytes_a_kept_row
            driver_free = max(driver_free, end) + cluster.merge[0] + kept * cluster.merge[1]
        heapq.heappush(free, (end, worker))
    return Outcome(driver_free, to_driver, finished, lost)


def _fragment_sizes(job: Job) -> list[int]:
    sizes = [job.fragment_rows] * job.n_fragments
    sizes[-1] -= job.n_fragments * job.fragment_rows - job.rows
    return sizes


def _life(cluster: Cluster, rng: np.random.Generator) -> float:
    return rng.exponential(cluster.lifetime) if math.isfinite(cluster.lifetime) else math.inf


def _scan_seconds(job: Job, cluster: Cluster, n_rows: int, rng: np.random.Generator) -> float:
    reading = n_rows * job.bytes_a_row * cluster.workers / cluster.storage
    luck = math.exp(cluster.spread * rng.standard_normal() - cluster.spread**2 / 2)  # 1 on average
    return max(n_rows / cluster.rows_a_second * luck, reading)


def _kept(job: Job, n_rows: int, merged_rows: int) -> int:
    """Return how many rows a fragment sends: as many, in random order, as come before the B-th lowest so far."""
    known = max(merged_rows, job.batch)  # before there are B rows, all of them are sent
    return min(job.batch, math.ceil(n_rows * job.batch / known))


# --- what was measured, and what follows -------------------------------------------------------------------------


def measured_cluster(measured: dict[str, Any], engine: str, workers: int) -> Cluster:
    """Return a cluster like the one that was measured, from its runs with one worker alone."""
    found = measured["curves"]
    local, own = (per_fragment(found["engines"][name]["1"]) for name in ("local", engine))
    few, _, many = found["merging"]
    per_row = (many["seconds"] - few["seconds"]) / (many["rows"] - few["rows"])
    # Cores of one machine share its memory, so two that are busy may each be slower than one.
    contention = max(found["contention"], 1.0) if workers > 1 else 1.0
    return Cluster(
        workers,
        FRAGMENT_ROWS / local[0] / contention,
        task=max(own[0] - local[0], 0.0),
        fixed=own[1],
        merge=(few["seconds"], per_row),
        at_once=SPARKS if engine == "spark" else 1,
    )


def per_fragment(runs: list[dict[str, Any]]) -> tuple[float, float]:
    """Return the seconds of a fragment, and those that a selection takes beside them."""
    (n_small, small), (n_large, large) = ((run["rows"], statistics.median(run["seconds"])) for run in runs)
    per_row = (large - small) / (n_large - n_small)
    return per_row * FRAGMENT_ROWS, max(small - per_row * n_small, 0.0)


def check(report: Report, measured: dict[str, Any]) -> None:
    """Add the table of what was predicted from one worker, and measured with two."""
    table = Table(
        "Seconds predicted from runs with one worker, and measured",
        ["engine", "workers", "rows", "predicted", "measured", "error"],
        note="What one worker takes is what the model was given. What two take follows from it, and from how long a "
        f"core takes while another is busy too ({measured['curves']['contention']:.2f} of alone).",
    )
    errors = []
    for engine, by_workers in measured["curves"]["engines"].items():
        for run in by_workers["2"]:
            job = Job(run["rows"])
            predicted = simulate(job, measured_cluster(measured, engine, 2)).seconds
            taken = statistics.median(run["seconds"])
            errors.append(predicted / taken - 1)
            cells = [f"{run['rows']:,}", figure(predicted), figure(taken), f"{errors[-1]:+.0%}"]
            table.rows.append([engine, "2", *cells])
    report.add(table)
    worst = max(map(abs, errors))
    report.goal(
        "cluster_model: time with two workers predicted within 25%",
        f"within {worst:.0%}",
        met=worst <= 0.25,
    )


def forecast(report: Report, measured: dict[str, Any], dollars: float, *, quick: bool) -> None:
    """Add the table of clusters that are not here."""
    table = Table(
        "Forecast: 32 float32 columns, 25 members, B = 1,000, tasks as Ray has them",
        [
            "rows",
            "workers",
            "time",
            "what binds",
            "lost fragments",
            "MB to the driver",
            "Spark's MB",
            "dollars",
        ],
        note="Workers are cores. 5% of them are half as fast, the times of fragments vary by a quarter, a worker lives "
        "six hours on average and is replaced in a minute. Storage gives 100 GB/s to all together. A worker costs "
        f"{dollars:g} dollars an hour.",
    )
    calm = measured_cluster(measured, "ray", 2)
    rough = replace(calm, storage=100e9, spread=0.25, slow=(0.05, 2.0), lifetime=6 * 3600.0)
    for rows in (10**9,) if quick else (10**9, 10**10, 10**11):
        for workers in (10, 100, 1_000):
            job = Job(rows, bytes_a_row=measured["curves"]["bytes of a row"])
            cluster = replace(rough, workers=workers)
            outcome = simulate(job, cluster)
            without = simulate(job, replace(cluster, at_once=SPARKS))
            table.rows.append(
                [
                    f"1e{math.log10(rows):.0f}",
                    f"{workers:,}",
                    _duration(outcome.seconds),
                    what_binds(job, cluster),
                    f"{outcome.lost:,}",
                    figure(outcome.to_driver / 1e6),
                    figure(without.to_driver / 1e6),
                    figure(outcome.dollars(workers, dollars)),
                ]
            )
    report.add(table)


def what_binds(job: Job, cluster: Cluster) -> str:
    """Return what takes longest if everything else takes no time."""
    alone = {
        "workers": job.rows / (cluster.rows_a_second * cluster.workers),
        "storage": job.rows * job.bytes_a_row / cluster.storage,
        "driver": job.n_fragments * cluster.merge[0],
    }
    return max(alone, key=lambda name: alone[name])


def _duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.1f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def main() -> None:
    """Check the model against what was measured, and say what follows."""
    arguments = arguments_of(
        __doc__,
        measured=(MEASURED, "what engines.py wrote"),
        dollars=(0.05, "what a worker costs an hour"),
    )
    measured = json.loads(arguments.measured.read_text())
    report = Report(__file__, __doc__, arguments)
    check(report, measured)
    forecast(report, measured, arguments.dollars, quick=arguments.quick)
    report.write()


if __name__ == "__main__":
    main()
