"""Plays variants of `spread` on half of the problems: `python study/vary.py HALF FIRST:END [--packed DIR] [--out DIR]`.

A variant is a few lines of numpy here, so that it can be changed at will; `spread` itself is in
`strategies.gradients`. Problems, deals, committees and final models are the study's own, with logistic regression.
Results go to OUT as those of the study do, and `minmargin study --page --out OUT` makes tables of them.

The results in study/results were played by an earlier form of this script, which dealt the same rows by other seeds.
The draws to choose by begin at 0, those to confirm at 100.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from minmargin.compare.deals import Deal
from minmargin.compare.game import Game, Picks
from minmargin.execution import one_thread_each
from minmargin.experiments.study.cells import N_LABELED, Task, deal, judge, sizes_of
from minmargin.experiments.study.facts import write_facts
from minmargin.experiments.study.grid import REFERENCES
from minmargin.experiments.study.parts import join_parts, write_part
from minmargin.experiments.study.problems import PROBLEMS, half_of, load_problem
from minmargin.experiments.study.variants import VARIED
from minmargin.experiments.study.ways import make_way

Floats = NDArray[np.float64]


class Variant(NamedTuple):
    """How a batch is picked.

    Attributes:
        power: f is divided by its length to this power.
        oversample: how many rows are drawn for each pick; None takes the whole pool.
        drawn_by: what rows are drawn in proportion to: "g", "g2", "e" or "1-margin"; "top" takes the lowest margins.
        p: whose probabilities: "mean" of the members, or "base".
        from_labeled: whether the labeled rows are the first centers.
        at_random: which part of the batch is picked at random.
    """

    power: float = 0.5
    oversample: int | None = 4
    drawn_by: str = "g"
    p: str = "mean"
    from_labeled: bool = False
    at_random: float = 0.0


VARIANTS = {
    "spread": Variant(),
    "power0": Variant(power=0),
    "power1": Variant(power=1),
    "over1": Variant(oversample=1),
    "over2": Variant(oversample=2),
    "over8": Variant(oversample=8),
    "power0-over8": Variant(power=0, oversample=8),
    "by-g2": Variant(drawn_by="g2"),
    "by-e": Variant(drawn_by="e"),
    "by-1-margin": Variant(drawn_by="1-margin"),
    "top4": Variant(drawn_by="top"),
    "base": Variant(p="base"),
    "all-base-0": Variant(oversample=None, p="base", power=0),
    "from-labeled": Variant(from_labeled=True),
    "uniform10": Variant(at_random=0.1),
}


class Seen(NamedTuple):
    """What a committee says of rows.

    Attributes:
        p: (n, C) probabilities, of the members' "mean" and of the "base".
        f: (n, D + 1) what the last linear layer sees: the features, and a 1.
    """

    p: dict[str, Floats]
    f: Floats


def pick(
    variant: Variant, size: int, pool: Seen, labeled: Seen, rng: np.random.Generator
) -> NDArray[np.intp]:
    """Return the places in the pool of a batch."""
    n_at_random = round(variant.at_random * size)
    n_picks = size - n_at_random
    drawn = draw(variant, n_picks, pool, rng)
    picked = drawn
    if variant.oversample != 1:
        centers = embed(variant, labeled) if variant.from_labeled else None
        g, f = embed(variant, pool)
        picked = drawn[thin_out(g[drawn], f[drawn], n_picks, centers, rng)]
    rest = np.setdiff1d(np.arange(len(pool.f)), picked)
    return np.concatenate([picked, rng.choice(rest, n_at_random, replace=False)])


def draw(variant: Variant, n_picks: int, pool: Seen, rng: np.random.Generator) -> NDArray[np.intp]:
    """Return the places of the rows among which picks are made."""
    n_rows = len(pool.f)
    n_drawn = n_rows if variant.oversample is None else min(variant.oversample * n_picks, n_rows)
    ordered = np.sort(pool.p[variant.p], axis=1)
    margin = ordered[:, -1] - ordered[:, -2]
    if variant.drawn_by == "top":
        return np.argsort(margin, kind="stable")[:n_drawn]
    g, f = embed(variant, pool)
    length = np.linalg.norm(g, axis=1)
    weight = {
        "g": length,
        "g2": length**2,
        "e": length * np.linalg.norm(f, axis=1),
        "1-margin": 1 - margin,
    }[variant.drawn_by]
    # The highest sums of a logarithm and Gumbel noise are a draw without replacement.
    keys = np.log(np.maximum(weight, 1e-30)) - np.log(-np.log(rng.random(n_rows)))
    return np.argsort(-keys)[:n_drawn]


def embed(variant: Variant, seen: Seen) -> tuple[Floats, Floats]:
    """Return (n, C) and (n, D + 1): g and the shortened f, whose product is a row's embedding e."""
    g = seen.p[variant.p].copy()
    g[np.arange(len(g)), g.argmax(axis=1)] -= 1
    return g, seen.f / np.linalg.norm(seen.f, axis=1, keepdims=True) ** variant.power


def thin_out(
    g: Floats, f: Floats, n_picks: int, centers: tuple[Floats, Floats] | None, rng: np.random.Generator
) -> NDArray[np.intp]:
    """Return the places of picks by k-means++ on products of g and f; the longest is first where there is no center."""
    squares = (g * g).sum(axis=1) * (f * f).sum(axis=1)

    def distances_to(a: Floats, b: Floats) -> Floats:
        """Return squared distances from the product of a and b: products have the product of the dot products."""
        return np.maximum(squares + (a @ a) * (b @ b) - 2 * (g @ a) * (f @ b), 0)

    picked: list[int] = []
    nearest = np.full(len(g), np.inf)
    for a, b in zip(*centers, strict=True) if centers is not None else ():
        nearest = np.minimum(nearest, distances_to(a, b))
    while len(picked) < n_picks:
        if not picked and centers is None:
            at = int(squares.argmax())
        elif nearest.any():
            sums = np.cumsum(nearest)
            at = min(int(np.searchsorted(sums, rng.random() * sums[-1])), len(g) - 1)
        else:  # all that are left have embeddings of picks
            rest = np.setdiff1d(np.arange(len(g)), picked)
            return np.concatenate([picked, rest[: n_picks - len(picked)]]).astype(np.intp)
        picked.append(at)
        nearest = np.minimum(nearest, distances_to(g[at], f[at]))
        nearest[at] = 0
    return np.array(picked)


def look(scorer: Any, rows: NDArray[np.float32]) -> Seen:
    """Return what a committee says of rows."""
    X = rows.astype(np.float64)
    mean = np.mean(list(scorer.each_member(X)), axis=0)
    return Seen({"mean": mean, "base": scorer.base_scores(X)}, np.column_stack([X, np.ones(len(X))]))


def pick_all(names: list[str], sizes: tuple[int, ...], dealt: Deal, game: Game, number: int) -> Picks:
    """Return what the references and each variant pick from the pool of a draw."""
    committee = game.train(dealt, device="cpu")
    rows, seconds = (dict(each) for each in game.pick_with(committee, dealt, device="cpu"))
    pool, labeled = (look(committee.scorer, dealt.X[some]) for some in (dealt.pool, dealt.labeled))
    for name in names:
        for size in sizes:
            rng = np.random.default_rng([dealt.seed, number, size, list(VARIANTS).index(name)])
            start = time.perf_counter()
            rows[name, size] = dealt.pool[pick(VARIANTS[name], size, pool, labeled, rng)]
            seconds[name, size] = time.perf_counter() - start
    return Picks(rows, seconds)


def play(problem_name: str, n_labeled: int, number: int, names: list[str], packed: Path, out: Path) -> None:
    """Play a draw of a problem, and write what it gave; nothing where no batch fits into the pool."""
    problem = load_problem(packed, problem_name)
    way = make_way("logistic", len(problem.names))
    sizes = sizes_of(problem_name, len(problem.y), n_labeled, way="logistic")
    if not sizes:
        return
    task = Task(VARIED, problem_name, n_labeled, (number,), (*REFERENCES, *names))
    deals = deal(problem, n_labeled, task.draws)
    with one_thread_each():
        picks = [pick_all(names, sizes, deals[0], Game(way.picker, REFERENCES, sizes), number)]
        write_part(out, task, judge(task, problem, way, deals, picks))


def main() -> None:
    """Play what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("half", choices=("choose", "confirm"))
    parser.add_argument("draws", help="FIRST:END")
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=list(VARIANTS))
    parser.add_argument("--problems", nargs="+", choices=PROBLEMS, default=PROBLEMS)
    parser.add_argument("--packed", type=Path, default=Path(".study-data"))
    parser.add_argument("--out", type=Path, default=Path("varied"))
    parser.add_argument("--n-jobs", type=int, default=-1)
    asked = parser.parse_args()
    problems = [name for name in asked.problems if half_of(name) == asked.half]
    write_facts(asked.out, (load_problem(asked.packed, name) for name in problems))
    Parallel(n_jobs=asked.n_jobs)(
        delayed(play)(name, n_labeled, number, asked.variants, asked.packed, asked.out)
        for number in range(*map(int, asked.draws.split(":")))
        for name in problems
        for n_labeled in N_LABELED
    )
    print(*join_parts(asked.out))


if __name__ == "__main__":
    main()
