"""Claims of section 2.3, about two Gaussians in the plane."""

from __future__ import annotations

import numpy as np
from scipy import stats

from minmargin.compare.statistics import LEVEL, decide, paired_difference
from minmargin.experiments.paper.claims.base import Claim, Outcome, Verdict, combine, graded, unmeasured
from minmargin.experiments.paper.claims.criteria import (
    as_good_as,
    best,
    better_than,
    differences,
    every,
    gap_changes,
    height,
    large,
    on,
    present,
    small,
    together,
)
from minmargin.experiments.paper.claims.measured import GAUSSIAN, Floats, Measured
from minmargin.experiments.paper.results import Curves

_SHOWN = ("margin", "committee", "random", "mean-margin", "margin-of-mean", "true-margin")
_ORACLE = "true-margin"


def _mean_is_poor(curves: Curves) -> Verdict:
    """Averaged margins are worse than min-margin at most sizes; in part: at some."""
    names = present(curves, ("mean-margin", "margin-of-mean"), "")
    if not names or "min-margin" not in curves.strategies:
        return unmeasured("too few results")
    difference = differences(curves, "min-margin", names, every(curves.sizes))
    worse = (decide(difference) > 0).sum(axis=1)
    findings = []
    for name, n_worse in zip(names, worse.tolist(), strict=True):
        outcome = (
            Outcome.HOLDS if 2 * n_worse > len(curves.sizes) else Outcome.PART if n_worse else Outcome.FAILS
        )
        findings.append(
            Verdict(outcome, f"{name} worse than min-margin at {n_worse} of {len(curves.sizes)} sizes")
        )
    return combine(findings, separator=", ")


def _only_one_beats_the_oracle(curves: Curves) -> Verdict:
    """Among all strategies, only min-margin is better than the oracle at every size."""
    names = present(curves, None, _ORACLE)
    if _ORACLE not in curves.strategies or "min-margin" not in names:
        return unmeasured("too few results")
    others = np.stack([height(curves, name) for name in names])
    better = decide(paired_difference(others, height(curves, _ORACLE))) > 0
    n_sizes = len(curves.sizes)
    counts = {name: int(row.sum()) for name, row in zip(names, better, strict=True)}
    everywhere = [name for name, count in counts.items() if count == n_sizes]
    words = f"better than {_ORACLE} at all {n_sizes} sizes: {', '.join(everywhere) or 'none'}"
    if everywhere == ["min-margin"]:
        return Verdict(Outcome.HOLDS, words)
    most = max(counts.values())
    words += f", and min-margin at {counts['min-margin']} of them"
    if "min-margin" in everywhere or (counts["min-margin"] == most > 0):
        return Verdict(Outcome.PART, words)
    return Verdict(Outcome.FAILS, words)


def _adapts(measured: Measured) -> Verdict:
    """Where the first model was worse, min-margin gains more on margin: a rank correlation over draws."""
    findings = []
    for place in GAUSSIAN:
        curves, before = measured.curves(place), measured.before(place)
        if curves is None or before is None or len(present(curves, ("min-margin", "margin"), "")) < 2:
            findings.append(unmeasured(f"no results of {place.label}"))
            continue
        gains = (height(curves, "min-margin") - height(curves, "margin"))[large(curves.sizes)].mean(axis=0)
        there = np.isfinite(gains) & np.isfinite(before)
        if there.sum() < 4 or np.ptp(gains[there]) == 0 or np.ptp(before[there]) == 0:
            findings.append(unmeasured(f"{place.label}: too few draws"))
            continue
        correlation, p_value = stats.spearmanr(before[there], gains[there])
        held = correlation < 0 and p_value < LEVEL
        outcome = Outcome.HOLDS if held else Outcome.FAILS
        words = f"{place.label} ({outcome}): rank correlation {correlation:+.2f} (p = {p_value:.2g})"
        findings.append(Verdict(outcome, words))
    return combine(findings)


def _spread(line: Floats, rows: Floats) -> float:
    """Return the standard deviation of the distance of rows from a line, each on its side."""
    return float(np.std((rows @ line[:2] + line[2]) / np.linalg.norm(line[:2])))


def _picks_are_spread(measured: Measured) -> Verdict:
    """Across the base's boundary, the first picks of min-margin vary more than those of margin and committee."""
    names = ("min-margin", "margin", "committee")
    draws = [draw for draw in measured.draws if all(name in draw.picks for name in names)]
    if len(draws) < 2:
        return unmeasured("no picks to look at")
    spreads = np.array([[_spread(draw.base, draw.picks[name]) for draw in draws] for name in names])
    wider = decide(paired_difference(spreads[:1], spreads[1:])) > 0
    means = spreads.mean(axis=1)
    words = ", ".join(f"{name} {mean:.3f}" for name, mean in zip(names, means, strict=True))
    n_picks = len(draws[0].picks["margin"])
    return graded(
        int(wider.sum()),
        2,
        f"standard deviation of {n_picks} picks across the base's boundary, mean of {len(draws)} draws: {words}",
    )


def _oracle_shrinks(curves: Curves) -> Verdict:
    return together(better_than("min-margin", [_ORACLE], small), gap_changes("min-margin", _ORACLE, -1))(
        curves
    )


CLAIMS = (
    Claim(
        "gaussian-best",
        "On two Gaussians, min-margin has the highest accuracy at every batch size.",
        "2.3 and caption of Figure 1",
        ("gaussian",),
        "At each distance no strategy of the figure (margin, committee, random, both means, oracle) is better at any "
        "size, and min-margin has the highest mean at most sizes.",
        on(GAUSSIAN, best("min-margin", _SHOWN)),
    ),
    Claim(
        "gaussian-margin-small",
        "Margin is just as good while batches are small; in larger batches min-margin is ahead.",
        "2.3",
        ("gaussian",),
        "At the small sizes margin is as good as min-margin, at the large ones min-margin is better.",
        on(
            GAUSSIAN,
            together(as_good_as("margin", ["min-margin"], small), better_than("min-margin", ["margin"])),
        ),
    ),
    Claim(
        "gaussian-mean-poor",
        "Averaging over the bootstrapped models before or after taking margins gives poor batches.",
        "2.3",
        ("gaussian",),
        "Mean-margin and margin-of-mean are each worse than min-margin at more than half of the sizes.",
        on(GAUSSIAN, _mean_is_poor),
    ),
    Claim(
        "gaussian-beats-oracle",
        "Min-margin does better than picking by the distance to the true boundary.",
        "2.3",
        ("gaussian",),
        "Min-margin is better than the oracle at every size.",
        on(GAUSSIAN, better_than("min-margin", [_ORACLE], every)),
    ),
    Claim(
        "gaussian-only-one",
        "No other method does better than the oracle at all batch sizes.",
        "2.3",
        ("gaussian",),
        "Min-margin, and no other strategy, is better than the oracle at every size; in part, if others are too, or if "
        "none is but min-margin is so at most sizes of all.",
        on(GAUSSIAN, _only_one_beats_the_oracle),
    ),
    Claim(
        "gaussian-oracle-small",
        "The oracle is comparatively weak in small batches and catches up in large ones.",
        "2.3",
        ("gaussian",),
        "Min-margin is better than the oracle at the small sizes, and its lead falls with the size.",
        on(GAUSSIAN, _oracle_shrinks),
    ),
    Claim(
        "gaussian-picks",
        "Margin and committee pick in narrow regions; what min-margin picks is more diverse across the boundary.",
        "2.3 and Figure 1, bottom left",
        ("gaussian",),
        "The distance of the first 50 picks from the base's boundary varies more for min-margin than for either.",
        _picks_are_spread,
    ),
    Claim(
        "gaussian-adapts",
        "The diversity adapts: the less the initial sample taught the model, the more min-margin spreads its picks.",
        "2.3",
        ("gaussian",),
        "By its effect: over draws, the accuracy before the batch and min-margin's lead on margin at the large sizes "
        "have a negative rank correlation.",
        _adapts,
    ),
)
