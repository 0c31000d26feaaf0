"""Pictures of a study: gains of strategies on problems at a glance, and mean ranks on a line."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from minmargin.experiments.paper.figures.style import STYLE, Axes, Figure, plotting
from minmargin.experiments.study.grid import Grid, mean_over_draws
from minmargin.experiments.study.problems import half_of
from minmargin.experiments.study.ranks import Ranks

_HALVES = {"choose": 0, "confirm": 1}
_MOST_SHOWN = 2.0  # units of gain: beyond, colours no longer differ, only the numbers do
_GAP = 0.4  # between the mean and the two halves, in columns
_WORSE, _SAME, _BETTER = "#b2182b", "#f7f7f7", "#2166ac"
_INK, _PALE, _MISSING = "#1c2128", "#ffffff", "#dfe3e8"


def draw_gains(grid: Grid, *, scale: float, unit: str) -> Figure:
    """Return mean gains: a row for each strategy; a column for the mean, then one for each problem, half by half."""
    mpl = plotting()
    problems = sorted(grid.problems, key=lambda name: (_HALVES[half_of(name)], name))
    places = [grid.problems.index(name) for name in problems]
    overall = mean_over_draws(mean_over_draws(grid.gains).T)
    gains = scale * np.column_stack([overall, grid.by_problem()[:, places]])
    ends = np.cumsum([0, 1, *(sum(half_of(name) == half for name in problems) for half in _HALVES)]).tolist()
    groups = [
        (first, end, title)
        for (first, end), title in zip(itertools.pairwise(ends), ("", "to choose", "to confirm"), strict=True)
        if first < end
    ]
    left = [
        column + _GAP * number
        for number, (first, end, _) in enumerate(groups)
        for column in range(first, end)
    ]
    with mpl.rc_context(STYLE):
        figure = mpl.figure.Figure(
            figsize=(0.46 * len(left) + 2.6, 0.27 * len(grid.strategies) + 1.9), layout="constrained"
        )
        ax = figure.add_subplot()
        for row, column in itertools.product(range(len(grid.strategies)), range(len(left))):
            _draw_cell(ax, left[column], row, float(gains[row, column]), bold=column == 0)
        ax.set_xlim(-0.02, left[-1] + 1.02)
        ax.set_ylim(len(grid.strategies), 0)
        names = ["mean of all cells", *problems]
        ax.set_xticks([x + 0.5 for x in left], names, rotation=50, ha="right", rotation_mode="anchor")
        ax.set_yticks(np.arange(len(grid.strategies)) + 0.5, grid.strategies)
        ax.grid(visible=False)
        ax.tick_params(length=0, labelcolor=_INK)
        for spine in ax.spines.values():
            spine.set_visible(False)
        for first, end, title in groups:
            middle = (left[first] + left[end - 1] + 1) / 2
            ax.text(middle, -0.25, title, ha="center", va="bottom", color=_INK)
        mappable = mpl.cm.ScalarMappable(mpl.colors.Normalize(-_MOST_SHOWN, _MOST_SHOWN), _colors())
        bar = figure.colorbar(mappable, ax=ax, shrink=0.7, pad=0.01, aspect=30, extend="both")
        bar.set_label(f"gain, {unit}: blue is better than the best of three")
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


def _draw_cell(ax: Axes, x: float, y: float, gain: float, *, bold: bool) -> None:
    """Draw a coloured field with its number."""
    mpl = plotting()
    missing = not np.isfinite(gain)
    share = 0.5 if missing else float(np.clip(0.5 + gain / (2 * _MOST_SHOWN), 0, 1))
    color = _MISSING if missing else _colors()(share)
    ax.add_patch(mpl.patches.Rectangle((x + 0.02, y + 0.03), 0.96, 0.94, facecolor=color, linewidth=0))
    if not missing:
        ax.text(
            x + 0.5,
            y + 0.53,
            f"{gain:+.2f}" if bold else f"{gain:+.1f}" if abs(gain) >= 0.05 else "0",
            ha="center",
            va="center",
            fontsize=7.5,
            fontweight="bold" if bold else "normal",
            color=_PALE if abs(share - 0.5) > 0.33 else _INK,
        )


def _colors() -> Figure:
    return plotting().colors.LinearSegmentedColormap.from_list(
        "gain", [_WORSE, "#f4a582", _SAME, "#92c5de", _BETTER]
    )
