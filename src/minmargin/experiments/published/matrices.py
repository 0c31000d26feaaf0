"""Tables of wins in ALPBench's form: learners down, strategies across."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from minmargin.compare.statistics import LEVEL, Tally, decide, join, tally
from minmargin.experiments.paper.page.tables import table
from minmargin.experiments.published.alpbench import LEARNERS, STRATEGIES
from minmargin.experiments.published.areas import Areas, Cell, welch_p_value

#: Whom a strategy is held against.
_OPPONENTS = ("random", "margin")


def list_played(areas: Areas, cells: Sequence[Cell]) -> str:
    """Return the sets that have been played, with the number of draws that all have."""
    draws: dict[str, list[int]] = {}
    for cell in cells:
        for strategy in areas.strategies(cell):
            draws.setdefault(cell.problem, []).append(len(areas.of(cell, strategy)))
    return ", ".join(f"{problem} ({_from_to(counts)} draws)" for problem, counts in sorted(draws.items()))


def count_best(areas: Areas, cells: Sequence[Cell]) -> str:
    """Return on how many sets each pair of learner and strategy is not told from the best pair."""
    counts: dict[tuple[str, str], int] = {}
    for problem in sorted({cell.problem for cell in cells}):
        found = {
            (cell.learner, strategy): areas.of(cell, strategy)
            for cell in cells
            if cell.problem == problem
            for strategy in areas.strategies(cell)
        }
        best = max(found.values(), key=lambda each: float(each.mean()))
        for pair, each in found.items():
            counts[pair] = counts.get(pair, 0) + (each is best or welch_p_value(each, best) >= LEVEL)
    learners, strategies = _axes(counts)
    rows = [(learner, *(f"{counts.get((learner, name), '')}" for name in strategies)) for learner in learners]
    return table(("learner", *strategies), rows)


def count_wins(areas: Areas, cells: Sequence[Cell]) -> str:
    """Return wins, ties and losses of each strategy against random and margin, by learner."""
    played = {(cell.learner, name): 0 for cell in cells for name in areas.strategies(cell)}
    learners, strategies = _axes(played)
    rows = []
    for learner in learners:
        own = [cell for cell in cells if cell.learner == learner]
        for opponent in _OPPONENTS:
            for how in ("Welch", "paired"):
                found = [_told(areas, own, name, opponent, how=how) for name in strategies]
                rows.append((f"{learner}, against {opponent}, {how}", *found))
    return table(("learner", *strategies), rows)


def _told(areas: Areas, cells: Sequence[Cell], name: str, opponent: str, *, how: str) -> str:
    both = [cell for cell in cells if len(areas.of(cell, name)) > 1 and len(areas.of(cell, opponent)) > 1]
    if name == opponent or not both:
        return ""
    count = (
        _by_welch(areas, both, name, opponent) if how == "Welch" else _by_pairs(areas, both, name, opponent)
    )
    return "-".join(map(str, count))


def _by_welch(areas: Areas, cells: Sequence[Cell], first: str, second: str) -> Tally:
    signs = []
    for cell in cells:
        one, two = areas.of(cell, first), areas.of(cell, second)
        signs.append(np.sign(one.mean() - two.mean()) if welch_p_value(one, two) < LEVEL else 0.0)
    return tally(np.array(signs, dtype=np.int8))


def _by_pairs(areas: Areas, cells: Sequence[Cell], first: str, second: str) -> Tally:
    return tally(decide(join([areas.difference((cell, first), (cell, second)) for cell in cells])))


def _axes(pairs: dict[tuple[str, str], int]) -> tuple[list[str], list[str]]:
    """Return the learners and strategies that occur, in the order of the table."""
    return (
        [each for each in LEARNERS if any(learner == each for learner, _ in pairs)],
        [each for each in STRATEGIES if any(name == each for _, name in pairs)],
    )


def _from_to(counts: Sequence[int]) -> str:
    return f"{min(counts)}" if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"
