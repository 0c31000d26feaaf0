"""Claims of sections 4.1, 4.2 and 4.4 and of the appendix, about images, benchmark tables and large tables."""

from __future__ import annotations

from minmargin.compare.statistics import decide
from minmargin.experiments.paper.claims.base import Claim, Outcome, Verdict, unmeasured
from minmargin.experiments.paper.claims.criteria import (
    as_good_as,
    best,
    better_than,
    differences,
    falls_behind,
    gap_changes,
    large,
    lower_area,
    on,
    present,
    small,
    together,
)
from minmargin.experiments.paper.claims.measured import BENCHMARK, IMAGES, LARGE, Measured
from minmargin.experiments.paper.results import Curves

_MAIN_TEXT = ("min-margin", "margin", "random", "committee", "var-softmax", "mean-margin")
_APPENDIX = ("balanced-margin", "k-centers", "random-margin-mix")


def _appendix_is_weak(measured: Measured) -> Verdict:
    """The appendix's methods have a lower area than most methods of the main text; 'often' is more than half."""
    judged = [
        lower_area(name, _MAIN_TEXT)(curves)
        for place in (*IMAGES, *BENCHMARK)
        if (curves := measured.curves(place)) is not None
        for name in present(curves, _APPENDIX, "")
    ]
    counted = [verdict.outcome for verdict in judged if verdict.outcome is not Outcome.UNMEASURED]
    if not counted:
        return unmeasured(f"no results of {', '.join(_APPENDIX)}")
    weak = counted.count(Outcome.HOLDS)
    words = f"below most methods of the main text in {weak} of {len(counted)} cases (method and dataset)"
    if 2 * weak > len(counted):
        return Verdict(Outcome.HOLDS, words)
    return Verdict(Outcome.PART if weak else Outcome.FAILS, words)


def _only_one_keeps_up_with_random(curves: Curves) -> Verdict:
    """Only min-margin is not worse than random, at the small and at the large sizes."""
    names = present(curves, None, "random")
    if "random" not in curves.strategies or "min-margin" not in names:
        return unmeasured("too few results")
    where = sorted({*small(curves.sizes), *large(curves.sizes)})
    rows = {name: differences(curves, name, ["random"], where) for name in names}
    keeps_up = [name for name, difference in rows.items() if (decide(difference) >= 0).all()]
    words = f"nowhere worse than random: {', '.join(keeps_up) or 'none'}"
    if keeps_up == ["min-margin"]:
        return Verdict(Outcome.HOLDS, words)
    return Verdict(Outcome.PART if "min-margin" in keeps_up else Outcome.FAILS, words)


IMAGE_CLAIMS = (
    Claim(
        "images-best",
        "Min-margin is the best strategy on both image sets.",
        "4.1",
        ("mnist", "fashion"),
        "No other strategy is better at any size, and min-margin has the highest mean at most sizes.",
        on(IMAGES, best("min-margin")),
    ),
    Claim(
        "images-among-best",
        "At every batch size min-margin is among the best on both image sets.",
        "caption of Figure 2",
        ("mnist", "fashion"),
        "Min-margin is as good as every other strategy at every size.",
        on(IMAGES, as_good_as("min-margin")),
    ),
    Claim(
        "images-gain-grows",
        "The lead of min-margin on margin grows with the batch size.",
        "4.1",
        ("mnist", "fashion"),
        "The difference rises with the size, and min-margin is better at the large sizes.",
        on(IMAGES, together(gap_changes("min-margin", "margin", 1), better_than("min-margin", ["margin"]))),
    ),
)

BENCHMARK_CLAIMS = (
    Claim(
        "benchmark-competitive",
        "Min-margin keeps up with the best strategy at every batch size, on all tables.",
        "4.2",
        ("benchmark",),
        "Min-margin is as good as every other strategy at every size, on all five (the text speaks of four).",
        on(BENCHMARK, as_good_as("min-margin")),
    ),
    Claim(
        "benchmark-margin-small",
        "Margin does well as long as batches are small.",
        "4.2",
        ("benchmark",),
        "Margin is as good as every other strategy at the small sizes.",
        on(BENCHMARK, as_good_as("margin", None, small)),
    ),
    Claim(
        "benchmark-margin-large",
        "Margin can be poor in large batches, as shuttle and magic04 show.",
        "4.2",
        ("benchmark",),
        "On these two, some strategy is better than margin by more than half a point at each large size.",
        on(BENCHMARK[1:3], falls_behind("margin")),
    ),
    Claim(
        "benchmark-better-large",
        "Where margin is poor in large batches, min-margin is not.",
        "4.2",
        ("benchmark",),
        "On shuttle and magic04, min-margin is better than margin at the large sizes.",
        on(BENCHMARK[1:3], better_than("min-margin", ["margin"])),
    ),
)

LARGE_CLAIMS = (
    Claim(
        "large-margin-degrades",
        "Compared with random, margin gets worse as batches grow.",
        "4.4",
        ("large",),
        "The difference of margin to random falls with the size (5,000 labeled rows; public tables stand in).",
        on(LARGE, gap_changes("margin", "random", -1)),
    ),
    Claim(
        "large-beats-all",
        "In large batches min-margin is ahead of all other methods.",
        "4.4 and caption of Figure 5",
        ("large",),
        "Min-margin is better than each other strategy at each large size.",
        on(LARGE, better_than("min-margin")),
    ),
    Claim(
        "large-competitive-small",
        "In smaller batches min-margin still keeps up.",
        "4.4",
        ("large",),
        "Min-margin is as good as every other strategy at the small sizes.",
        on(LARGE, as_good_as("min-margin", None, small)),
    ),
    Claim(
        "large-only-like-random",
        "Only min-margin does as well as random both in small and in large batches (said of one of the two tables).",
        "caption of Figure 5",
        ("large",),
        "At the small and large sizes min-margin is nowhere worse than random, and each other strategy somewhere is.",
        on(LARGE, _only_one_keeps_up_with_random),
    ),
)

APPENDIX_CLAIMS = (
    Claim(
        "appendix-weak",
        "Balanced-margin, k-centers and random-margin-mix often fall short of the methods in the main text.",
        "appendix",
        ("mnist", "fashion", "benchmark"),
        "In more than half of the cases (method and dataset), the area under the curve is lower than those of more "
        "than half of the main text's methods.",
        _appendix_is_weak,
    ),
)
