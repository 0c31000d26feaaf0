"""Where min-margin helps and where it does not: sentences that are chosen and filled by what was measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from minmargin.compare.statistics import Difference, Tally, area, decide, join, summarize
from minmargin.experiments.paper.claims import CLAIMS, Measured, Outcome, Verdict
from minmargin.experiments.paper.claims.criteria import differences, height, points, present
from minmargin.experiments.paper.claims.measured import BENCHMARK, EVERYWHERE, Place
from minmargin.experiments.paper.claims.overall import Duels, duels
from minmargin.experiments.paper.figures.style import APPENDIX, MAIN_TEXT


class Ends(NamedTuple):
    """How min-margin stands to a rival at the largest size of each dataset.

    Attributes:
        ahead, level, behind: names of datasets, with the lead in points; decided after Holm's correction.
    """

    ahead: list[str]
    level: list[str]
    behind: list[str]


def summarize_all(measured: Measured, verdicts: Mapping[str, Verdict]) -> list[str]:
    """Return the summary as a list of points."""
    found = duels(measured)
    lines = [_count(verdicts)]
    if not found.rivals:
        return [*lines, "Min-margin has not been measured on any dataset of the paper yet."]
    for rival in ("margin", "random"):
        if rival in found.rivals:
            lines += [_against(found, rival), _ends(largest(measured, rival), rival)]
    lines.append(_leaders(measured))
    lines += _trainers(measured)
    lines.append(_advice(found))
    return lines


def largest(measured: Measured, rival: str, places: Sequence[Place] = EVERYWHERE) -> Ends:
    """Return on which datasets min-margin is ahead of a rival in the largest batch."""
    leads: dict[str, Difference] = {}
    for place in places:
        curves = measured.curves(place)
        if curves is not None and len(present(curves, ("min-margin", rival), "")) == 2:
            lead = differences(curves, "min-margin", [rival], [len(curves.sizes) - 1]).cell(0, 0)
            if np.isfinite(lead.mean):
                leads[f"{place.label} ({points(float(lead.mean))})"] = lead
    if not leads:
        return Ends([], [], [])
    decided = decide(join(list(leads.values()))).tolist()
    return Ends(
        *([name for name, each in zip(leads, decided, strict=True) if each == sign] for sign in (1, 0, -1))
    )


def _count(verdicts: Mapping[str, Verdict]) -> str:
    outcomes = [verdict.outcome for verdict in verdicts.values()]
    counts = {outcome: outcomes.count(outcome) for outcome in Outcome}
    return (
        f"Of {len(CLAIMS)} claims, {counts[Outcome.HOLDS]} hold, {counts[Outcome.PART]} hold in part, "
        f"{counts[Outcome.FAILS]} do not hold; not measured: {counts[Outcome.UNMEASURED]}."
    )


def _against(found: Duels, rival: str) -> str:
    whole, early, late = (found.against(rival, late=late) for late in (None, False, True))
    return (
        f"Against {rival}, over all datasets and batch sizes of the main runs, min-margin is {_score(whole)}: in the "
        f"smaller half of the batch sizes {_score(early)}, in the larger half {_score(late)}."
    )


def _score(score: Tally) -> str:
    return f"better {score.wins}, worse {score.losses} and neither {score.ties} times"


def _ends(ends: Ends, rival: str) -> str:
    parts = [
        f"{word} {', '.join(names)}"
        for word, names in (
            ("ahead on", ends.ahead),
            ("level with it on", ends.level),
            ("behind on", ends.behind),
        )
        if names
    ]
    return f"In the largest batch, min-margin's lead on {rival} in points: {'; '.join(parts)}."


def _leaders(measured: Measured) -> str:
    """Say which strategy has the largest mean area on each dataset."""
    leaders: dict[str, list[str]] = {}
    for place in EVERYWHERE:
        curves = measured.curves(place)
        if curves is None:
            continue
        names = present(curves, None, "")
        areas = {name: float(summarize(area(height(curves, name), curves.sizes)).mean) for name in names}
        measured_areas = {name: value for name, value in areas.items() if np.isfinite(value)}
        if measured_areas:
            leaders.setdefault(max(measured_areas, key=measured_areas.__getitem__), []).append(place.label)
    in_order = sorted(leaders.items(), key=lambda item: -len(item[1]))
    words = "; ".join(f"{name} on {', '.join(datasets)}" for name, datasets in in_order)
    return f"The largest mean area under the curve of batch sizes: {words}."


def _trainers(measured: Measured) -> list[str]:
    """Say how far the benchmark's comparisons with margin and random depend on how the model is trained."""
    variants = {
        variant: duels(measured, tuple(place._replace(variant=variant) for place in BENCHMARK))
        for variant in ("main", "liblinear", "standardized")
    }
    lines = []
    for rival in ("margin", "random"):
        scores = {name: found.against(rival) for name, found in variants.items() if rival in found.rivals}
        if len(scores) > 1:
            words = "; ".join(f"{name}: {_score(score)}" for name, score in scores.items())
            lines.append(
                f"On the benchmark tables the comparison with {rival} depends on the training as follows. {words}."
            )
    return lines


_RARE = 10  # a lead in fewer than one of so many comparisons is none to speak of


def _advice(found: Duels) -> str:
    """Say what to use: whatever the comparisons in the larger and smaller half of sizes are in favor of."""
    late, early = found.against("margin", late=True), found.against("margin", late=False)
    rivals = [name for name in dict.fromkeys((*MAIN_TEXT, *APPENDIX)) if name in found.rivals]
    beaten = [name for name in rivals if found.against(name).wins > found.against(name).losses]
    beating = [name for name in rivals if found.against(name).wins < found.against(name).losses]
    words = f"What to take from it: for large batches {_choice(late)}; for small ones {_choice(early)}."
    words += f" Over all, min-margin was more often better than worse than {', '.join(beaten) or 'no other strategy'}"
    return words + f", and more often worse than better than {', '.join(beating) or 'none'}."


def _choice(score: Tally) -> str:
    n = sum(score)
    if n == 0:
        return "nothing was measured against margin"
    if abs(score.wins - score.losses) * _RARE < n:
        return (
            f"it hardly matters: min-margin was better {score.wins} and worse {score.losses} of {n} times, and margin "
            "needs one model only"
        )
    if score.wins > score.losses:
        often = "mostly" if 2 * score.wins > n else "sometimes"
        return f"prefer min-margin to margin, which it {often} beats ({score.wins} of {n}, and loses {score.losses})"
    often = "mostly" if 2 * score.losses > n else "sometimes"
    return f"prefer margin, which {often} beats min-margin ({score.losses} of {n}, and loses {score.wins})"
