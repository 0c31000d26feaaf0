"""How fast other strategies go than min-margin, and small pools.

Pools in memory, 25 linear members, B = 1,000. `committee` counts votes, which tie by the thousand. `random` needs no
row but its picks: what it takes besides hashes is some 6 ms, however many rows there are. `random-margin-mix` takes
half of its batch by chance. The loop is that of `score.py`. All ways of a pool take turns in one process. With
`--before`, a checkout of earlier code takes turns with this one, process by process, so that one run shows what has
changed.

    python benchmarks/strategies.py [--quick] [--rounds 3] [--turns 1] [--before FOLDER] [--json FILE]
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

from measuring import Report, Table, Times, arguments_of, figure, in_own_process, times

STRATEGIES = ["min-margin", "committee", "random", "random-margin-mix"]
HERE = Path(__file__).parents[1]


class Pool(NamedTuple):
    """A pool; the loop is timed on fewer rows, because it is slow."""

    n_classes: int
    n_features: int
    n_rows: int
    n_looped: int

    @property
    def name(self) -> str:
        """The row of the table."""
        return f"{self.n_rows:,} rows, {self.n_classes} classes, D = {self.n_features}"


LARGE, SMALL = Pool(2, 32, 10_000_000, 200_000), Pool(10, 784, 20_000, 5_000)
POOLS = [LARGE, Pool(10, 784, 400_000, 5_000), SMALL]


def measure(pool: Pool, code: Path, rounds: int) -> dict[str, Any]:
    """Return what one process has measured with the package of a checkout."""
    path = os.pathsep.join([str(code / "src"), str(HERE / "benchmarks")])
    arguments = [*pool, rounds, *STRATEGIES]
    return in_own_process("one_pool.py", *arguments, env={**os.environ, "PYTHONPATH": path})


def joined(found: list[dict[str, Any]]) -> Times:
    """Return the seconds of several processes as those of one."""
    ways = found[0]["seconds"]
    return Times({way: [each for part in found for each in part["seconds"][way]] for way in ways})


def main() -> None:
    """Measure all pools."""
    arguments = arguments_of(
        __doc__,
        rounds=(3, "rounds in a process"),
        turns=(1, "processes of each checkout"),
        before=(None, "a checkout of earlier code"),
    )
    report = Report(__file__, __doc__, arguments)
    codes = {"now": HERE, **({} if arguments.before is None else {"before": arguments.before.resolve()})}
    rounds, turns = (2, 1) if arguments.quick else (arguments.rounds, arguments.turns)
    speeds = Table(
        "Million rows a second, and how many times as fast as the loop min-margin is",
        ["pool", "code", "loop", *STRATEGIES, "min-margin vs loop", "committee vs min-margin"],
    )
    exact = Table("Rows scored exactly", ["pool", "code", *STRATEGIES])
    goals: dict[str, tuple[float, float, str]] = {}
    for pool in POOLS:
        some = pool._replace(n_rows=max(pool.n_rows // 100, 2_000), n_looped=500) if arguments.quick else pool
        parts: dict[str, list[dict[str, Any]]] = {code: [] for code in codes}
        for _ in range(turns):
            for code, folder in codes.items():
                parts[code].append(measure(some, folder, rounds))
        for code, found in parts.items():
            seconds = joined(found)
            rates = {way: some.n_rows / seconds.median(way) for way in STRATEGIES}
            rates["loop"] = some.n_looped / seconds.median("loop")
            against_loop = seconds.ratio("loop", "min-margin") * some.n_rows / some.n_looped
            votes = seconds.ratio("min-margin", "committee")
            shown = [figure(rates[way] / 1e6) for way in ("loop", *STRATEGIES)]
            speeds.rows.append([some.name, code, *shown, times(against_loop), times(votes)])
            counts = found[0]["exactly"]
            exact.rows.append([some.name, code, *(f"{counts[way]:,}" for way in STRATEGIES)])
            if code == "now":
                goals[f"{pool.name}: `committee` at 0.8 of min-margin's rate"] = votes, 0.8, times(votes)
                if pool is SMALL:
                    goals[f"{pool.name}: ten times the loop"] = against_loop, 10.0, times(against_loop)
                if pool is LARGE:
                    rate = f"{figure(rates['random'] / 1e6)} million"
                    goals[f"{pool.name}: `random` at 100 million rows a second"] = rates["random"], 1e8, rate
    report.add(speeds)
    report.add(exact)
    for asked, (found, least, shown) in goals.items():
        report.goal(f"strategies: {asked}", shown, met=found >= least)
    report.write()


if __name__ == "__main__":
    main()
