"""Pictures of a study: regrets of strategies on problems at a glance, and mean ranks on a line."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from minmargin.experiments.paper.figures.style import STYLE, Axes, Figure, plotting
from minmargin.experiments.study.grid import Grid
from minmargin.experiments.study.problems import half_of
from minmargin.experiments.study.ranks import Ranks

_HALVES = {"choose": 0, "confirm": 1}
_MOST_SHOWN = 4.0  # units of regret: beyond, colours no longer differ, only the numbers do
_BETTER, _SAME, _WORSE = "#2166ac", "#f7f7f7", "#b2182b"
_INK, _PALE, _MISSING = "#1c2128", "#ffffff", "#dfe3e8"


def draw_regrets(grid: Grid, *, scale: float, unit: str) -> Figure:
    """Return mean regrets, a row for each strategy and a column for each problem, the two halves apart."""
    mpl = plotting()
    problems = sorted(grid.problems, key=lambda name: (_HALVES[half_of(name)], name))
    places = [grid.problems.index(name) for name in problems]
    regrets = scale * grid.by_problem()[:, places]
    n_first = sum(half_of(name) == "choose" for name in problems)
    with mpl.rc_context(STYLE):
        figure = mpl.figure.Figure(
            figsize=(0.46 * len(problems) + 2.9, 0.27 * len(grid.strategies) + 1.9), layout="constrained"
        )
        ax = figure.add_subplot()
        left = [number + (number >= n_first) * 0.4 for number in range(len(problems))]
        for row, column in itertools.product(range(len(grid.strategies)), range(len(problems))):
            _draw_cell(ax, left[column], row, float(regrets[row, column]))
        ax.set_xlim(-0.02, (left[-1] if left else 0) + 1.02)
        ax.set_ylim(len(grid.strategies), 0)
        ax.set_xticks([x + 0.5 for x in left], problems, rotation=50, ha="right", rotation_mode="anchor")
        ax.set_yticks(np.arange(len(grid.strategies)) + 0.5, grid.strategies)
        ax.grid(visible=False)
        ax.tick_params(length=0)
        for spine in ax.spines.values():
            spine.set_visible(False)
        for first, end, name in ((0, n_first, "to choose"), (n_first, len(problems), "to confirm")):
            if first < end:
                ax.text(
                    (left[first] + left[end - 1] + 1) / 2, -0.25, name, ha="center", va="bottom", color=_INK
                )
        mappable = mpl.cm.ScalarMappable(mpl.colors.Normalize(-_MOST_SHOWN, _MOST_SHOWN), _colors())
        bar = figure.colorbar(mappable, ax=ax, shrink=0.7, pad=0.01, extend="both")
        bar.set_label(f"regret, {unit}: blue is better than the best of three")
        bar.outline.set_visible(False)
    return figure


def draw_ranks(strategies: Sequence[str], ranks: Ranks) -> Figure:
    """Return mean ranks on a line, the best at the left; bars join those that cannot be told from each other."""
    mpl = plotting()
    order = np.argsort(ranks.mean, kind="stable")
    mean = ranks.mean[order]
    names = [strategies[place] for place in order]
    n_left = (len(names) + 1) // 2
    groups = joined(mean.tolist(), ranks.critical)
    with mpl.rc_context(STYLE):
        depth = 0.9 + 0.28 * len(groups)
        figure = mpl.figure.Figure(figsize=(9.0, 0.21 * (n_left + 2) + 0.75 + 0.13 * len(groups)))
        ax = figure.add_axes((0.2, 0.02, 0.6, 0.94))
        # A little wider than the ranks, so that the line of none falls together with an edge.
        low, high = float(np.floor(mean.min() - 0.2)), float(np.ceil(mean.max() + 0.2))
        ax.set_xlim(low, high)
        ax.set_ylim(depth + n_left + 0.3, -2.2)
        ax.axis("off")
        ax.plot([low, high], [0, 0], color=_INK, linewidth=1)
        for tick in np.arange(low, high + 1):
            ax.plot([tick, tick], [-0.25, 0], color=_INK, linewidth=1)
            ax.text(tick, -0.4, f"{tick:g}", ha="center", va="bottom", fontsize=8)
        if np.isfinite(ranks.critical) and ranks.critical <= high - low:
            ax.plot([low, low + ranks.critical], [-1.6, -1.6], color="#d55e00", linewidth=2)
            ax.text(
                low + ranks.critical + 0.05 * (high - low) / 3,
                -1.6,
                f"critical difference {ranks.critical:.2f}",
                va="center",
                fontsize=8,
            )
        for number, (first, last) in enumerate(groups):
            height = 0.45 + 0.28 * number
            ax.plot([mean[first], mean[last]], [height, height], color=_INK, linewidth=3, alpha=0.8)
        for number, (name, x) in enumerate(zip(names, mean.tolist(), strict=True)):
            left = number < n_left
            height = depth + (number if left else len(names) - 1 - number)
            edge = low if left else high
            ax.plot([x, x, edge], [0, height, height], color="#8a9099", linewidth=0.8, clip_on=False)
            ax.text(
                edge,
                height,
                f"{name}  {x:.2f} " if left else f" {x:.2f}  {name}",
                ha="right" if left else "left",
                va="center",
                fontsize=8.5,
            )
    return figure


def joined(ranks: Sequence[float], critical: float) -> list[tuple[int, int]]:
    """Return runs (first, last) of ascending ranks that lie within the critical difference, none inside another.

    >>> joined([1.0, 1.5, 2.5, 4.0], 1.5)
    [(0, 2), (2, 3)]
    """
    runs: list[tuple[int, int]] = []
    for first in range(len(ranks)):
        last = max(place for place in range(first, len(ranks)) if not ranks[place] - ranks[first] > critical)
        if last > first and (not runs or last > runs[-1][1]):
            runs.append((first, last))
    return runs


def _draw_cell(ax: Axes, x: float, y: float, regret: float) -> None:
    """Draw a coloured field with its number."""
    mpl = plotting()
    missing = not np.isfinite(regret)
    share = 0.5 if missing else float(np.clip(0.5 + regret / (2 * _MOST_SHOWN), 0, 1))
    color = _MISSING if missing else _colors()(share)
    ax.add_patch(mpl.patches.Rectangle((x + 0.02, y + 0.03), 0.96, 0.94, facecolor=color, linewidth=0))
    if not missing:
        shown = f"{regret:.1f}" if abs(regret) >= 0.05 else "0"
        ax.text(
            x + 0.5,
            y + 0.53,
            shown,
            ha="center",
            va="center",
            fontsize=7,
            color=_PALE if abs(share - 0.5) > 0.33 else _INK,
        )


def _colors() -> Figure:
    return plotting().colors.LinearSegmentedColormap.from_list(
        "regret", [_BETTER, "#92c5de", _SAME, "#f4a582", _WORSE]
    )
