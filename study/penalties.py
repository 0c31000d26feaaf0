"""Plays `C="auto"` against C = 1: `python study/penalties.py FIRST:END [--packed DIR] [--out DIR] [--minutes M]`.

Problems, deals and metrics are the study's own, with logistic regression. Each draw is played twice: with C = 1, and
with `C="auto"`, which then chooses for the committee that picks and again, with the batch, for each final model. Both
have the same labeled rows, pools, test rows and seeds, so that they can be compared draw by draw.

Results go to OUT as those of the study do. A strategy that plays with `C="auto"` has "+auto" behind its name. The
seconds of a row without a batch are those of training the committee.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import pyarrow as pa

from minmargin.compare.game import Game
from minmargin.compare.outcome import NONE
from minmargin.compare.trainers import AnyTrainer, LogisticTrainer
from minmargin.execution import one_thread_each
from minmargin.experiments.study.cells import N_LABELED, Task, deal, judge, sizes_of
from minmargin.experiments.study.parts import join_parts, read_results, strategies_played, write_part
from minmargin.experiments.study.penalties import AUTO, PENALTIES, STRATEGIES
from minmargin.experiments.study.problems import PROBLEMS, load_problem
from minmargin.experiments.study.ways import Way
from minmargin.learners.logistic import LogisticLearner

BATCH_SIZES = (100, 500)

# At a fixed C all final models are trained together; one that is chosen differs from model to model.
_WAYS = {
    "": Way("C=1", LogisticTrainer(), LogisticTrainer()),
    AUTO: Way("C=auto", *[AnyTrainer(LogisticLearner(C="auto"))] * 2),
}


def play(problem_name: str, n_labeled: int, number: int, packed: Path, out: Path) -> None:
    """Play a draw of a problem with both penalties, write what it gave, and print what it took.

    Nothing is played where no batch fits into the pool.
    """
    problem = load_problem(packed, problem_name)
    fitting = sizes_of(problem_name, len(problem.y), n_labeled, way="logistic")
    sizes = tuple(size for size in BATCH_SIZES if size in fitting)
    if not sizes:
        return
    task = Task(PENALTIES, problem_name, n_labeled, (number,), STRATEGIES)
    deals = deal(problem, n_labeled, task.draws)
    tables = []
    for ending, way in _WAYS.items():
        game = Game(way.picker, STRATEGIES, sizes)
        start = time.perf_counter()
        committee = game.train(deals[0], device="cpu")
        trained = time.perf_counter()
        picks = game.pick_with(committee, deals[0], device="cpu")
        picked = time.perf_counter()
        table = judge(task, problem, way, deals, [picks])
        judged = time.perf_counter()
        tables.append(_mark(table, ending, trained - start))
        chosen = 1.0 if committee.choice is None else committee.choice.C
        print(
            f"{number} {problem_name} {n_labeled} {way.name} chose {chosen:g}: committee {trained - start:.3f} s, "
            f"picking {picked - trained:.3f} s, final models {judged - picked:.3f} s",
            flush=True,
        )
    write_part(out, task, pa.concat_tables(tables))


def _mark(table: pa.Table, ending: str, seconds: float) -> pa.Table:
    """Return results with an ending behind their strategies, and seconds where there is no batch."""
    rows = table.to_pylist()
    for row in rows:
        row["seconds"] = seconds if row["strategy"] == NONE else row["seconds"]
        row["strategy"] += ending
    return pa.Table.from_pylist(rows, schema=table.schema)


def main() -> None:
    """Play what is asked for and not in OUT yet, one draw of all problems after the other, while there is time."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("draws", help="FIRST:END")
    parser.add_argument("--problems", nargs="+", choices=PROBLEMS, default=PROBLEMS)
    parser.add_argument("--packed", type=Path, default=Path(".study-data"))
    parser.add_argument("--out", type=Path, default=Path("penalties"))
    parser.add_argument("--minutes", type=float, default=float("inf"))
    asked = parser.parse_args()
    deadline = time.monotonic() + 60 * asked.minutes
    played = strategies_played(read_results(asked.out))
    with one_thread_each():
        for number in range(*map(int, asked.draws.split(":"))):
            for name in asked.problems:
                for n_labeled in N_LABELED:
                    place = (PENALTIES, name, n_labeled, number)
                    if place not in played and time.monotonic() < deadline:
                        play(name, n_labeled, number, asked.packed, asked.out)
    print(*join_parts(asked.out))


if __name__ == "__main__":
    main()
