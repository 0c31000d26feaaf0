"""What came of `peer_picks.py`, as tables: accuracies with paired intervals, and seconds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from measuring import Table, figure
from minmargin.compare.statistics import Difference, adjust, decide, join, paired_difference
from peer_cells import Cells
from peer_strategies import WAYS

PROBLEMS = ("bank-marketing", "magic04", "covtype", "fashion-mnist", "ag-news", "20newsgroups")
GROWTH = (100, 1_000, 10_000)
RANDOM, MIN_MARGIN, SPREAD = "minmargin random", "minmargin min-margin", "minmargin spread"
RIVALS = (RANDOM, MIN_MARGIN)
NAMES = tuple(way.name for way in WAYS)
WITHOUT_A_MODEL = (
    *("scikit-activeml core-set", "scikit-activeml TypiClust", "scikit-activeml MaxHerding"),
    *("small-text core-set", "small-text k-means"),
)
ALIKE = (("scikit-activeml BADGE", "minmargin badge"), ("scikit-activeml margin", "minmargin margin"))
NEAR = 0.005  # half a point
NOT_TRIED = "not tried"  # a smaller batch was too much already
NOT_SHOWN = "not shown"  # what was expected may be so, or not: the draws do not tell
MEASURES = ("accuracy", "average_precision")

Floats = NDArray[np.float64]


class Played(NamedTuple):
    """What is known.

    Attributes:
        quality: by batch size, measure and way: (problems, draws), NaN where it is not known.
        stopped: by batch size and way: why it was stopped, by problem.
        seconds: by way and batch size: seconds, or why it was stopped.
    """

    quality: dict[int, dict[str, dict[str, Floats]]]
    stopped: dict[int, dict[str, dict[str, str]]]
    seconds: dict[str, dict[int, float | str]]

    @classmethod
    def of(cls, quality: Cells, seconds: Cells, sizes: Sequence[int], n_draws: int) -> Played:
        """Return what cells on disk tell."""
        found: dict[int, dict[str, dict[str, Floats]]] = {}
        stopped: dict[int, dict[str, dict[str, str]]] = {}
        for size in sizes:
            shape = (len(PROBLEMS), n_draws)
            found[size] = {measure: {way: np.full(shape, np.nan) for way in NAMES} for measure in MEASURES}
            stopped[size] = {}
            for way, (place, problem), draw in cells_of(n_draws):
                cell = quality.read(problem, size, draw, way)
                if cell is None:
                    continue
                if "stopped" in cell:
                    stopped[size].setdefault(way, {})[problem] = cell["stopped"]
                    continue
                for measure in MEASURES:
                    value = cell[measure]
                    found[size][measure][way][place, draw] = np.nan if value is None else value
        timed: dict[str, dict[int, float | str]] = {}
        for way in NAMES:
            known = {size: seconds.read(size, way) for size in GROWTH}
            timed[way] = {
                size: cell.get("stopped") or cell["seconds"]
                for size, cell in known.items()
                if cell is not None
            }
        return cls(found, stopped, timed)

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Played:
        """Return what `as_json` gave."""
        quality = {
            int(size): {
                measure: {way: np.array(rows, dtype=np.float64) for way, rows in of_ways.items()}
                for measure, of_ways in of_size.items()
            }
            for size, of_size in kept["quality"].items()
        }
        stopped = {int(size): of_ways for size, of_ways in kept["stopped"].items()}
        seconds = {
            way: {int(size): value for size, value in row.items()} for way, row in kept["seconds"].items()
        }
        return cls(quality, stopped, seconds)

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON has it: what is not known is None."""
        quality = {
            size: {
                measure: {way: _with_none(rows) for way, rows in of_ways.items()}
                for measure, of_ways in of_size.items()
            }
            for size, of_size in self.quality.items()
        }
        return {"quality": quality, "stopped": self.stopped, "seconds": self.seconds}

    def accuracies(self, size: int, way: str) -> Floats:
        """Return (draws,) the mean accuracy over all problems, NaN where one is missing."""
        return np.asarray(self.quality[size]["accuracy"][way].mean(axis=0))

    def precisions(self, size: int, way: str) -> Floats:
        """Return (draws,) the mean average precision over problems of two classes, NaN where one is missing."""
        rows = self.quality[size]["average_precision"][way]
        two = np.isfinite(self.quality[size]["average_precision"][RANDOM]).any(axis=1)
        return np.asarray(rows[two].mean(axis=0)) if two.any() else np.full(rows.shape[1], np.nan)

    def n_draws(self, size: int) -> int:
        """Return how many draws all ways have played that were not stopped."""
        playing = [way for way in NAMES if way not in self.stopped[size]]
        there = [np.isfinite(self.accuracies(size, way)) for way in playing]
        return int(np.logical_and.reduce(there).sum()) if there else 0


def cells_of(n_draws: int) -> Iterator[tuple[str, tuple[int, str], int]]:
    """Return every way, problem with its place, and draw."""
    for way in NAMES:
        for place in enumerate(PROBLEMS):
            for draw in range(n_draws):
                yield way, place, draw


def _with_none(rows: Floats) -> list[list[float | None]]:
    return [[None if np.isnan(value) else value for value in row] for row in rows.tolist()]


# --- tables ---------------------------------------------------------------------------------------------------


def tables_of(played: Played) -> list[Table]:
    """Return the tables of the page: one for each batch size of which there are draws, then the hypotheses."""
    sizes = [size for size in played.quality if played.n_draws(size) > 1]
    return [*(quality_table(played, size, timed=size == sizes[0]) for size in sizes), hypotheses(played)]


def quality_table(played: Played, size: int, *, timed: bool) -> Table:
    """Return accuracies and what they are beside random's and min-margin's; with seconds, if asked for."""
    means = means_of(played, size)
    over_problems = by_problem(played, size)
    grown = [f"s, {each:,}" for each in GROWTH] if timed else []
    n_draws = played.n_draws(size)
    table = Table(
        f"B = {size}: accuracy after retraining"
        + (f", and seconds for {GROWTH[0]:,} to {GROWTH[-1]:,} of {N_ROWS} rows" if timed else ""),
        ["way", "accuracy", "vs random", "vs min-margin", "better, worse", "average precision", *grown],
        note=f"{n_draws} draws. Accuracy is the mean over six problems, in percent. Differences are in points, with "
        "95% intervals, and bold where they stand after Holm's correction. *Better, worse* counts problems on which "
        "a way is above and below min-margin after the correction over all ways and problems. Average precision is the "
        "difference to min-margin on the two problems with two classes.",
    )
    for way in NAMES:
        stopped = played.stopped[size].get(way)
        if stopped is not None:
            cells = ["", "; ".join(sorted(set(stopped.values()))), "", "", ""]
        else:
            cells = [
                f"{100 * np.nanmean(played.accuracies(size, way)):.2f}",
                *("" if rival == way else in_points(*means[way, rival]) for rival in RIVALS),
                "" if way == MIN_MARGIN else "{}, {}".format(*over_problems[way]),
                "" if way == MIN_MARGIN else in_points(precision_of(played, size, way), stands=False),
            ]
        table.rows.append([way, *cells, *(seconds_text(played, way, each) for each in GROWTH if timed)])
    return table


N_ROWS = "100,000"


def seconds_text(played: Played, way: str, size: int) -> str:
    """Return the seconds of a way, or why there are none."""
    value = played.seconds[way].get(size)
    if value is None:
        smaller = [played.seconds[way].get(less) for less in GROWTH if less < size]
        return NOT_TRIED if any(isinstance(each, str) for each in smaller) else ""
    return value if isinstance(value, str) else figure(value)


def means_of(played: Played, size: int) -> dict[tuple[str, str], tuple[Difference, bool]]:
    """Return mean differences of all ways to both rivals, and whether each stands among all of them."""
    pairs = [
        (way, rival) for way in NAMES for rival in RIVALS if way != rival and way not in played.stopped[size]
    ]
    found = [
        paired_difference(played.accuracies(size, way), played.accuracies(size, rival))
        for way, rival in pairs
    ]
    stands = decide(join(found)) != 0
    return {pair: (found[i], bool(stands[i])) for i, pair in enumerate(pairs)}


def by_problem(played: Played, size: int) -> dict[str, tuple[int, int]]:
    """Return on how many problems each way is above and below min-margin, corrected over all ways and problems."""
    ways = [way for way in NAMES if way not in played.stopped[size] and way != MIN_MARGIN]
    of = played.quality[size]["accuracy"]
    signs = decide(join([paired_difference(of[way], of[MIN_MARGIN]) for way in ways]))
    signs = signs.reshape(len(ways), len(PROBLEMS))
    return {way: (int((row > 0).sum()), int((row < 0).sum())) for way, row in zip(ways, signs, strict=True)}


def precision_of(played: Played, size: int, way: str) -> Difference:
    """Return how a way's average precision differs from min-margin's."""
    return paired_difference(played.precisions(size, way), played.precisions(size, MIN_MARGIN))


def in_points(difference: Difference, stands: bool) -> str:
    """Return a difference with its interval; bold, if it stands."""
    mean, low, high = (100 * float(value) for value in (difference.mean, difference.low, difference.high))
    text = f"{mean:+.2f} ({low:+.2f} to {high:+.2f})"
    return f"**{text}**" if stands else text


# --- hypotheses -----------------------------------------------------------------------------------------------


def hypotheses(played: Played) -> Table:
    """Return what was written down before, and what came of it."""
    size = next(iter(played.quality))
    means = means_of(played, size)
    table = Table("What was expected, and what came of it", ["", "expected", "found", "holds"])

    def add(expected: str, found: str, holds: str) -> None:
        table.rows.append([f"{len(table.rows) + 1}.", expected, found, holds])

    for way, rival in ((MIN_MARGIN, RANDOM), (SPREAD, RANDOM), (SPREAD, MIN_MARGIN)):
        difference, stands = means[way, rival]
        text = in_points(difference, stands=False)
        names = [name.removeprefix("minmargin ") for name in (way, rival)]
        sign = "yes" if difference.mean > 0 else "**no**"
        add("{} is above {}".format(*names), text, sign if stands else NOT_SHOWN)
    above = above_spread(played, size)
    text = ", ".join(above) if above else "none is shown to be"
    add("no way of another library is above spread", text, "**no**" if above else "not refuted")
    below = [way for way in WITHOUT_A_MODEL if below_min_margin(means, way)]
    text = f"{len(below)} of {len(WITHOUT_A_MODEL)} are shown to be"
    holds = "yes" if len(below) == len(WITHOUT_A_MODEL) else NOT_SHOWN
    add("ways that never ask a model are below min-margin", text, holds)
    gaps = [
        paired_difference(played.accuracies(size, first), played.accuracies(size, second))
        for first, second in ALIKE
    ]
    text = "; ".join(in_points(gap, stands=False) for gap in gaps)
    near = all(max(-gap.low, gap.high) < NEAR for gap in gaps)
    text_of_near = "BADGE of scikit-activeml is within half a point of badge, and its margin of margin"
    add(text_of_near, text, "yes" if near else NOT_SHOWN)
    text, holds = fastest(played)
    add(
        "min-margin takes less than a second for 10,000, and no way of another library as little", text, holds
    )
    return table


def above_spread(played: Played, size: int) -> list[str]:
    """Return the ways of other libraries that are above spread, corrected over all of them."""
    others = [way for way in NAMES if not way.startswith("minmargin ") and way not in played.stopped[size]]
    spread = played.accuracies(size, SPREAD)
    found = [paired_difference(played.accuracies(size, way), spread) for way in others]
    adjusted = adjust([float(each.p_value) for each in found])
    with np.errstate(invalid="ignore"):
        return [
            way for way, each, p in zip(others, found, adjusted, strict=True) if p < 0.05 and each.mean > 0
        ]


def below_min_margin(means: Mapping[tuple[str, str], tuple[Difference, bool]], way: str) -> bool:
    """Return whether a way is below min-margin among all comparisons; one that was stopped is not."""
    if (way, MIN_MARGIN) not in means:
        return False
    difference, stands = means[way, MIN_MARGIN]
    return stands and bool(difference.mean < 0)


def fastest(played: Played) -> tuple[str, str]:
    """Return what is known of the seventh hypothesis, and whether it holds."""
    size = GROWTH[-1]
    ours = played.seconds[MIN_MARGIN].get(size)
    others = [way for way in NAMES if not way.startswith("minmargin ")]
    if not isinstance(ours, float) or not all(seconds_text(played, way, size) for way in others):
        return "not all are measured", ""
    known = {way: value for way in others if isinstance(value := played.seconds[way].get(size), float)}
    best = min(known, key=known.__getitem__)
    holds = ours < 1 and ours < known[best]
    return f"{figure(ours)} s; {best}: {figure(known[best])} s", "yes" if holds else "**no**"
