"""The published tables that can be played, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from minmargin.experiments.published import alpbench, rebenchmark
from minmargin.experiments.published.curves import Curve, Task
from minmargin.experiments.published.rows import Rows


class Table(NamedTuple):
    """A published table.

    Attributes:
        name: by which it is asked for.
        sets: that it is played on.
        sizes: how many rows are labeled from the start, by batch size.
        strategies: who plays, by learner.
        n_draws: how many draws they have.
        play: plays a task.
        rules_of: tells what results depend on.
    """

    name: str
    sets: tuple[str, ...]
    sizes: Mapping[int, int]
    strategies: Mapping[str, tuple[str, ...]]
    n_draws: int
    play: Callable[[Task, Rows], Curve]
    rules_of: Callable[[Rows], str]


TABLES = {
    table.name: table
    for table in (
        Table(
            rebenchmark.TABLE,
            rebenchmark.SETS,
            dict.fromkeys(rebenchmark.BATCH_SIZES, rebenchmark.N_LABELED),
            {rebenchmark.LEARNER: rebenchmark.STRATEGIES},
            rebenchmark.N_DRAWS,
            rebenchmark.play,
            rebenchmark.rules_of,
        ),
        Table(
            alpbench.TABLE,
            alpbench.SETS,
            alpbench.SIZES,
            {learner: alpbench.strategies_of(learner) for learner in alpbench.LEARNERS},
            alpbench.N_DRAWS,
            alpbench.play,
            alpbench.rules_of,
        ),
    )
}
