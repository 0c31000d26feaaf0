"""What libraries of today pick: the accuracy that their rows lead to, and how long picking takes.

*Quality.* A draw of a problem has 200 labeled rows, a pool of 5,000 and up to 8,000 rows to test on. Every way picks
B rows of the same pool, with the same labels. Then the same model, logistic regression, is trained on the labeled
rows and the picked ones, and tried on the test rows. The problems are six of the study's: two tables with two classes
(bank-marketing, magic04), one with seven (covtype), images with ten (fashion-mnist), and texts with four and with
twenty (ag-news, 20newsgroups). Columns of tables are standardized; images and texts are given by principal
components. Every library has one thread, and a limit of two minutes of processor time a batch.

*Seconds.* B of 100,000 rows of covtype, class 2 against the rest, 54 features, with 1,000 labeled rows, from training
to the rows. Each way is alone on the machine, has all cores, and has done a small job before, so that everything is
loaded and compiled. Shown is the median of three jobs, or the first if it took longer than 5 s.

Ways run in processes of their own, in `.bench-venv`, with the settings that their libraries have if none are given:
scikit-activeml 1.0.1 (which has MaxHerding, but not UHerding), small-text 2.0.0.dev4, cleanlab 2.9.0, baal 2.1.0 and
modAL 0.4.2.1. pyrelational 1.0.2 is not among them: it wants PyTorch < 2.3 and scikit-learn < 1.4.3.

Differences are of draws in pairs, with 95% intervals; Holm's correction is over all ways, beside random and beside
min-margin. These hypotheses were written down before the first cell was played. They are about the mean accuracy over
the six problems at B = 100, but for the last.

1.  min-margin is above random.
2.  spread is above random.
3.  spread is above min-margin.
4.  No way of another library is above spread.
5.  Ways that never ask a model (core-set, TypiClust, MaxHerding, k-means) are below min-margin.
6.  BADGE of scikit-activeml and `badge` differ by less than half a point, and so do its margin and `margin`.
7.  For 10,000 of 100,000 rows, min-margin takes less than a second, and no way of another library as little.

    python benchmarks/peer_picks.py [--draws 20] [--sizes 100,500] [--parts quality,seconds] [--jobs 16] [--stop 150]
                                    [--python PYTHON] [--json FILE]

    What is on disk in --cells is not played again. No cell is begun after --stop seconds.
"""

from __future__ import annotations

import statistics
import sys
import time
import zlib
from argparse import Namespace
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from measuring import Report, arguments_of
from minmargin.compare.deals import Deal
from minmargin.compare.trainers import LogisticTrainer
from minmargin.experiments.study.metrics import METRICS
from minmargin.experiments.study.problems import load_problem
from minmargin.labeled import LabeledSet
from peer_cells import Cells, Worker, strategy_worker
from peer_strategies import WAYS
from peer_summary import GROWTH, PROBLEMS, Played, tables_of
from peers import ready_python

ROOT = Path(__file__).parents[1]
N_LABELED, N_POOL, MOST_TEST = 200, 5_000, 8_000
N_GROWTH_LABELED, N_GROWTH_POOL = 1_000, 100_000
LONG, REPEATS = 5.0, 3  # a way whose first job takes longer than so many seconds does one, others so many
# So few at first, so that all ways soon have some; then twice as many, since a process takes seconds to load.
FIRST_DRAWS = 2
QUALITY_RULES = f"{N_LABELED} labeled, pool of {N_POOL}, K=25"
SECONDS_RULES = f"covtype-large, {N_GROWTH_LABELED} labeled, pool of {N_GROWTH_POOL}, K=25"


class Stop:
    """Tells when no more cells are to be begun."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    @property
    def come(self) -> bool:
        """Whether it is time."""
        return time.monotonic() > self._end


# --- quality --------------------------------------------------------------------------------------------------


@lru_cache(maxsize=len(PROBLEMS))
def table_of(data: Path, name: str) -> LabeledSet:
    """Return all rows of a problem."""
    problem = load_problem(data, name)
    return LabeledSet.of(problem.X.astype(np.float32), problem.y)


def deal_of(data: Path, name: str, draw: int) -> Deal:
    """Return the rows of a draw of a problem."""
    table = table_of(data, name)
    seeds = np.random.SeedSequence([zlib.crc32(f"peers/{name}".encode()), draw])
    order = np.random.default_rng(seeds).permutation(len(table.codes))
    labeled, pool, test = np.split(order, [N_LABELED, N_LABELED + N_POOL])
    return Deal(table, labeled, pool, test[:MOST_TEST], int(seeds.generate_state(1)[0]))


def write_arrays(deal: Deal, path: Path) -> Path:
    """Write what a way is told of a draw: labeled rows, codes of their classes, and the pool."""
    known = deal.part(deal.labeled)
    np.savez(path, X=deal.X[deal.labeled], y=known.codes.astype(np.int64), pool=deal.X[deal.pool])
    return path


def judge(deal: Deal, rows: Sequence[int]) -> dict[str, float | None]:
    """Return what a model is worth that has learned from the labeled rows and some of the pool, by each metric."""
    learned = np.concatenate([deal.labeled, deal.pool[np.asarray(rows, dtype=np.intp)]])
    (scores,) = LogisticTrainer().scores([deal], [[learned]], METRICS, device="cpu")
    named = zip(METRICS, scores[0].tolist(), strict=True)
    return {metric.name: None if np.isnan(value) else round(value, 6) for metric, value in named}


def play_quality(cells: Cells, python: str, sizes: Sequence[int], arguments: Namespace, stop: Stop) -> None:
    """Play what is left, the first draws of all ways, problems and sizes before the next of any."""
    # Threads, which mostly wait for the processes of their ways, and share the tables.
    Parallel(n_jobs=arguments.jobs, prefer="threads")(
        delayed(play_draws)(cells, python, way.name, size, draws, arguments, stop)
        for size, draws in turns(sizes, arguments.draws)
        for way in WAYS
    )


def play_draws(
    cells: Cells, python: str, way: str, size: int, draws: range, arguments: Namespace, stop: Stop
) -> None:
    """Play what is left of some draws by one way, in a process of its own."""
    with (
        strategy_worker(way, python, one_thread=True) as worker,
        TemporaryDirectory(dir=arguments.cells) as folder,
    ):
        for draw in draws:
            for problem in PROBLEMS:
                if stop.come:
                    return
                key = (problem, size, draw, way)
                if cells.left(key, limit=arguments.limit):
                    cells.write(key, quality_of(worker, cells, key, Path(folder), arguments))
    print(f"B = {size}, draws {draws[0]} to {draws[-1]}: {way}", flush=True)


def turns(sizes: Sequence[int], n_draws: int) -> Iterator[tuple[int, range]]:
    """Return sizes with a few draws each, in the order in which they are played: the smallest size comes first."""
    for size in sizes:
        first, more = 0, FIRST_DRAWS
        while first < n_draws:
            yield size, range(first, min(first + more, n_draws))
            first, more = first + more, 2 * more


def quality_of(
    worker: Worker, cells: Cells, key: tuple[str, int, int, str], folder: Path, arguments: Namespace
) -> dict[str, Any]:
    """Return what a cell comes to. A way that once did not finish a batch of that problem is not asked again.

    What the worker is told is written into `folder`.
    """
    problem, size, draw, way = key
    earlier = (cells.read(problem, size, before, way) for before in range(draw))
    stopped = next((found for found in earlier if found is not None and "stopped" in found), None)
    if stopped is not None and stopped.get("limit", arguments.limit) >= arguments.limit:
        return {name: stopped[name] for name in ("stopped", "limit") if name in stopped}
    deal = deal_of(arguments.data, problem, draw)
    arrays = write_arrays(deal, folder / "draw.npz")
    job = {"arrays": str(arrays), "rows": N_POOL, "size": size, "seed": deal.seed}
    answer = worker.ask(job, limit=arguments.limit)
    if "stopped" in answer:
        return answer
    rows = answer.pop("rows")
    if len(set(rows)) != size:
        return {"stopped": f"picked {len(set(rows))} rows"}
    return {**answer, **judge(deal, rows), "rows": rows}


# --- seconds --------------------------------------------------------------------------------------------------


def play_seconds(cells: Cells, python: str, arguments: Namespace, stop: Stop) -> None:
    """Time what is left, small batches of all ways before larger ones of any."""
    arrays = arguments.cells / "covtype.npz"
    if not arrays.exists():
        write_growth(arguments.data, arrays)
    for size in GROWTH:
        for way in WAYS:
            if stop.come:
                return
            smaller = [cells.read(less, way.name) for less in GROWTH if less < size]
            if any(found is None or "stopped" in found for found in smaller):
                continue
            if cells.left((size, way.name), limit=arguments.patience):
                found = seconds_of(way.name, size, arrays, python, limit=arguments.patience)
                cells.write((size, way.name), found)
                print(f"B = {size:,}: {way.name}, {found.get('stopped') or found['seconds']}", flush=True)


def write_growth(data: Path, path: Path) -> None:
    """Write the labeled rows and the pool that seconds are measured with."""
    few, many = (load_problem(data, name) for name in ("covtype", "covtype-large"))
    y = (few.names[few.y[:N_GROWTH_LABELED]] == "2").astype(np.int64)
    X, pool = few.X[:N_GROWTH_LABELED].astype(np.float32), many.X[:N_GROWTH_POOL].astype(np.float32)
    np.savez(path, X=X, y=y, pool=pool)


def seconds_of(way: str, size: int, arrays: Path, python: str, *, limit: float) -> dict[str, Any]:
    """Return the seconds that a way takes for a batch of the whole pool, and its peak memory."""
    job = {"arrays": str(arrays), "rows": N_GROWTH_POOL, "size": size, "seed": 0}
    with strategy_worker(way, python, one_thread=False) as worker:
        rehearsed = worker.ask({**job, "rows": 2_000, "size": 10}, limit=limit)
        if "stopped" in rehearsed:
            return rehearsed
        # Only the first job decides how many there are: one that is slow by chance must not be the one that counts.
        taken: list[float] = []
        while len(taken) < (1 if taken and taken[0] > LONG else REPEATS):
            answer = worker.ask(job, limit=limit)
            if "stopped" in answer:
                return answer
            taken.append(answer["seconds"])
    return {"seconds": statistics.median(taken), "taken": taken, "peak": answer["peak"]}


# --- all of it ------------------------------------------------------------------------------------------------


def main() -> None:
    """Play what is left, and write what is known."""
    arguments = arguments_of(
        __doc__,
        draws=(20, "draws of each problem"),
        sizes=("100,500", "batch sizes of quality"),
        parts=("quality,seconds", "what to play; nothing, to write what is known"),
        jobs=(1, "ways that play quality at a time"),
        python=("", "what runs the libraries, if not .bench-venv"),
        limit=(120.0, "seconds of processor time for a batch of quality"),
        patience=(600.0, "seconds for a batch that is timed"),
        stop=(float("inf"), "seconds after which no more cells are begun"),
        data=(ROOT / ".study-data", "the folder of packed sets, which `minmargin study --pack` makes"),
        cells=(ROOT / "build" / "peers", "the folder of cells"),
    )
    if not arguments.data.is_dir():
        print(f"peer_picks: skipped, there is no {arguments.data}.")
        return
    sizes = [int(size) for size in arguments.sizes.split(",")]
    quality = Cells(arguments.cells / "quality", QUALITY_RULES)
    seconds = Cells(arguments.cells / "seconds", SECONDS_RULES)
    python = arguments.python or ready_python(install=True) or sys.executable
    stop = Stop(arguments.stop)
    if "quality" in arguments.parts:
        play_quality(quality, python, sizes, arguments, stop)
    if "seconds" in arguments.parts:
        play_seconds(seconds, python, arguments, stop)
    if arguments.json is not None:
        played = Played.of(quality, seconds, sizes, arguments.draws)
        report = Report(__file__, __doc__, arguments)
        for table in tables_of(played):
            report.add(table)
        report.curves = played.as_json()
        report.write()


if __name__ == "__main__":
    main()
