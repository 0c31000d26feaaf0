"""Claims of the abstract, the introduction and the conclusion, about all experiments together."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from minmargin.compare.statistics import Difference, Tally, decide, join, tally
from minmargin.experiments.paper.claims.base import Claim, Outcome, Verdict, combine, unmeasured
from minmargin.experiments.paper.claims.criteria import (
    SUBSTANTIAL,
    as_good_as,
    better_than,
    differences,
    every,
    grouped,
    interval,
    large,
    present,
    small,
)
from minmargin.experiments.paper.claims.measured import BENCHMARK, EVERYWHERE, IMAGES, Measured, Place

_NEEDS = ("gaussian", "mnist", "fashion", "benchmark", "large")


class Duels(NamedTuple):
    """All comparisons of min-margin with a rival, over datasets and sizes, as one family.

    Attributes:
        rivals: (n,) with whom.
        late: (n,) whether the size is in the larger half of those of its dataset.
        decided: (n,) 1, 0 or -1.
    """

    rivals: list[str]
    late: list[bool]
    decided: list[int]

    def against(self, rival: str | None = None, *, late: bool | None = None) -> Tally:
        """Return how the comparisons came out: with one rival or all, at the larger or smaller half of sizes or all."""
        rows = zip(self.rivals, self.late, self.decided, strict=True)
        kept = [sign for name, is_late, sign in rows if rival in {None, name} and late in {None, is_late}]
        return tally(np.array(kept, dtype=np.int8))


def duels(measured: Measured, places: tuple[Place, ...] = EVERYWHERE) -> Duels:
    """Return min-margin's comparisons with every other strategy but the oracle, at every size of these places."""
    rivals: list[str] = []
    late: list[bool] = []
    found: list[Difference] = []
    for place in places:
        curves = measured.curves(place)
        if curves is None or "min-margin" not in curves.strategies:
            continue
        others = present(curves, None, "min-margin")
        if not others:
            continue
        difference = differences(curves, "min-margin", others, every(curves.sizes))
        found.append(difference)
        half = len(curves.sizes) // 2
        for rival in others:
            rivals += [rival] * len(curves.sizes)
            late += [number >= half for number in range(len(curves.sizes))]
    if not found:
        return Duels([], [], [])
    return Duels(rivals, late, decide(join(found)).tolist())


def net(score: Tally) -> float:
    """Return the share of wins less that of losses."""
    return (score.wins - score.losses) / max(sum(score), 1)


def _outperforms(measured: Measured) -> Verdict:
    """Against each rival there are more wins than losses, and the net share of wins is no lower in larger batches."""
    found = duels(measured)
    if not found.rivals:
        return unmeasured("no results")
    scores = {rival: found.against(rival) for rival in dict.fromkeys(found.rivals)}
    ahead = [rival for rival, score in scores.items() if score.wins > score.losses]
    early, late = net(found.against(late=False)), net(found.against(late=True))
    words = "wins-ties-losses: " + ", ".join(
        f"{rival} {score.wins}-{score.ties}-{score.losses}" for rival, score in scores.items()
    )
    words += f"; wins less losses: {early:+.0%} of the comparisons in smaller, {late:+.0%} in larger batches"
    if len(ahead) == len(scores) and late >= early:
        return Verdict(Outcome.HOLDS, words)
    return Verdict(Outcome.PART if 2 * len(ahead) > len(scores) else Outcome.FAILS, words)


def _substantial(measured: Measured) -> Verdict:
    """Somewhere the lead on margin at the largest size is more than a point; in part: there is a lead at all."""
    leads: dict[str, Difference] = {}
    for place in EVERYWHERE:
        curves = measured.curves(place)
        if curves is not None and len(present(curves, ("min-margin", "margin"), "")) == 2:
            last = len(curves.sizes) - 1
            lead = differences(curves, "min-margin", ["margin"], [last])
            leads[f"{place.label} at {curves.sizes[last]:,}"] = lead.cell(0, 0)
    if not leads:
        return unmeasured("no results")
    decided = decide(join(list(leads.values())))
    best_first = sorted(leads, key=lambda name: -float(leads[name].mean))
    substantial = [name for name in best_first if leads[name].low > SUBSTANTIAL]
    words = (
        f"by more than a point on {len(substantial)} of {len(leads)} datasets; largest leads: "
        + ", ".join(f"{name} {interval(leads[name])}" for name in best_first[:3])
    )
    if substantial:
        return Verdict(Outcome.HOLDS, words)
    return Verdict(Outcome.PART if (decided > 0).any() else Outcome.FAILS, words)


def _as_margin_then_better(measured: Measured) -> Verdict:
    return combine(
        [
            grouped(EVERYWHERE, as_good_as("min-margin", ["margin"], small), "as good in small batches")(
                measured
            ),
            grouped(EVERYWHERE, better_than("min-margin", ["margin"], large), "better in large batches")(
                measured
            ),
        ]
    )


def _cheap(measured: Measured) -> Verdict:
    """Decide whether methods that compare rows take so long."""
    found = []
    for place in (*IMAGES, *BENCHMARK):
        seconds = measured.seconds(place)
        greedy = [seconds[name] for name in ("balanced-margin", "k-centers") if name in seconds]
        if greedy and seconds.get("min-margin"):
            times = min(greedy) / seconds["min-margin"]
            outcome = Outcome.HOLDS if times >= 10 else Outcome.PART if times > 1 else Outcome.FAILS
            found.append(Verdict(outcome, f"{place.label} {times:,.1f}"))
    if not found:
        return unmeasured("no dataset has results of these methods")
    outcome, evidence = combine(found, separator=", ")
    return Verdict(outcome, f"times as long as min-margin, the faster of the two: {evidence}")


def _elsewhere(why: str) -> Callable[[Measured], Verdict]:
    return lambda measured: unmeasured(why)


CLAIMS = (
    Claim(
        "outperforms",
        "Over many problems, min-margin does better than other methods, the more so the larger the batch.",
        "abstract and introduction",
        _NEEDS,
        "Over all datasets and sizes, min-margin is more often better than worse than each other strategy, and wins "
        "less losses are no smaller a share in the larger half of the sizes.",
        _outperforms,
    ),
    Claim(
        "as-margin-then-better",
        "Without tuning, min-margin is as good as margin in small batches and better in large ones.",
        "introduction",
        _NEEDS,
        "On each dataset, min-margin is as good as margin at the small sizes and better at the large ones.",
        _as_margin_then_better,
    ),
    Claim(
        "competitive-with-margin",
        "Min-margin keeps up with margin everywhere.",
        "conclusion",
        _NEEDS,
        "On each dataset, min-margin is as good as margin at every size.",
        grouped(EVERYWHERE, as_good_as("min-margin", ["margin"]), "as good as margin"),
    ),
    Claim(
        "substantially-better",
        "In large batches min-margin can be ahead of margin by a lot.",
        "conclusion",
        _NEEDS,
        "On some dataset the 95% interval of the lead at the largest size is above one percentage point; in part, if "
        "there is a smaller lead.",
        _substantial,
    ),
    Claim(
        "margin-lacks-diversity",
        "What margin picks becomes less diverse with larger batches and larger pools.",
        "introduction",
        (),
        "Results are accuracies; no experiment of the paper varies the pool.",
        _elsewhere("results do not tell how diverse batches are, and the pool is not varied"),
    ),
    Claim(
        "linear-cost",
        "Picking takes time linear in the pool; methods that compare rows in pairs take too long on large tables.",
        "introduction, 4.4 and conclusion",
        ("mnist", "fashion", "benchmark"),
        "By its effect: picking the largest batch by min-margin takes a tenth of the seconds of balanced-margin and of "
        "k-centers, or less; in part, if it takes fewer. That it is linear, docs/benchmarks.md measures.",
        _cheap,
    ),
)
