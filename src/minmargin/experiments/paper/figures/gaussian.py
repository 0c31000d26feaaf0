"""The paper's first figure: a draw of two Gaussians, looked at, and the accuracy over all draws."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minmargin.experiments.paper.claims.measured import Floats, GaussianDraw
from minmargin.experiments.paper.figures.accuracy import draw_accuracy
from minmargin.experiments.paper.figures.style import ANY, STROKES, STYLE, Axes, Figure, plotting
from minmargin.experiments.paper.results import Curves


def gaussian_figure(draw: GaussianDraw, curves: Curves) -> Figure:
    """Draw all four panels of the paper's first figure: a draw, its committee, its picks, and the accuracy of all."""
    mpl = plotting()
    with mpl.rc_context(STYLE):
        figure = mpl.figure.Figure(figsize=(9.2, 8.2), layout="constrained")
        axes = figure.subplots(2, 2)
        gaussian_panels(axes.ravel()[:3], draw)
        last = axes[1, 1]
        draw_accuracy(last, curves, curves.strategies, "deviation")
        last.set(xlabel="batch size", ylabel="test accuracy, %")
        last.set_title(f"Mean of {len(curves.draws)} draws, standard deviation shaded")
        last.legend(loc="lower right", fontsize=8, ncols=2, frameon=True, framealpha=0.85, edgecolor="none")
        return figure


def gaussian_panels(axes: Sequence[Axes], draw: GaussianDraw) -> None:
    """Draw the labeled rows with the true and the learned boundary, the members' boundaries, and what is picked."""
    first, second, third = axes
    window = _window([draw.points, *draw.picks.values()])
    for ax in axes:
        for label, marker in ((0, "o"), (1, "^")):
            rows = draw.points[draw.classes == label]
            faint = {"alpha": 0.35} if ax is third else {}
            ax.scatter(
                *rows.T,
                s=24,
                marker=marker,
                facecolor="white",
                edgecolor="#333a44",
                linewidth=0.9,
                zorder=4,
                **faint,
            )
        _boundary(ax, draw.truth, window, color="black", linewidth=1.8, zorder=3, label="true boundary")
        ax.set(xlim=window[:2], ylim=window[2:], xticks=[], yticks=[], aspect="equal")
        ax.grid(visible=False)
    for number, line in enumerate(draw.members):
        named = f"{len(draw.members)} members" if number == 0 else None
        _boundary(second, line, window, color="#009e73", linewidth=0.8, linestyle="--", zorder=2, label=named)
    for ax in axes:
        _boundary(ax, draw.base, window, color="#e6b000", linewidth=1.8, zorder=3, label="learned boundary")
    for name, rows in draw.picks.items():
        stroke = STROKES.get(name, ANY)
        third.scatter(*rows.T, s=15, color=stroke.color, linewidths=0, alpha=0.85, zorder=5, label=name)
    first.set_title(f"{len(draw.points)} labeled rows")
    second.set_title("The members' boundaries")
    third.set_title(f"First {max(map(len, draw.picks.values()), default=0)} picks of each strategy")
    for ax in axes:
        ax.legend(loc="lower left", fontsize=8, frameon=True, framealpha=0.85, edgecolor="none")


def _window(rows: Sequence[Floats]) -> tuple[float, float, float, float]:
    """Return a square window around all rows: left, right, bottom, top."""
    together = np.concatenate(list(rows))
    middle = (together.min(axis=0) + together.max(axis=0)) / 2
    reach = 1.08 * float((together.max(axis=0) - together.min(axis=0)).max()) / 2
    return middle[0] - reach, middle[0] + reach, middle[1] - reach, middle[1] + reach


def _boundary(ax: Axes, line: Floats, window: tuple[float, float, float, float], **stroke: Any) -> None:
    """Draw the line a x + b y + c = 0, long enough to cross the window."""
    normal = line[:2] / np.linalg.norm(line[:2])
    middle = np.array([window[0] + window[1], window[2] + window[3]]) / 2
    nearest = middle - normal * (middle @ line[:2] + line[2]) / np.linalg.norm(line[:2])
    along = np.array([-normal[1], normal[0]]) * 2 * (window[1] - window[0])
    ax.plot(*np.stack([nearest - along, nearest + along]).T, **stroke)
