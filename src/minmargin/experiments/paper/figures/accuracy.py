"""Accuracy against batch size, and paired differences of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from minmargin.compare.statistics import paired_difference, summarize
from minmargin.experiments.paper.claims.criteria import height, present
from minmargin.experiments.paper.claims.measured import Measured, Place
from minmargin.experiments.paper.figures.style import (
    ANY,
    STROKES,
    STYLE,
    Axes,
    Figure,
    draw_line,
    log_sizes,
    make_grid,
    name_outer,
    plotting,
    share_legend,
)
from minmargin.experiments.paper.results import Curves


class Panel(NamedTuple):
    """One of several small plots: a title, curves, and which strategies of them to draw; None: all."""

    title: str
    curves: Curves
    strategies: Sequence[str] | None = None


def panels_of(
    measured: Measured, experiment: str, variant: str = "main", strategies: Sequence[str] | None = None
) -> list[Panel]:
    """Return a panel for each dataset of an experiment that has this variant."""
    results = measured.results[experiment]
    places = [Place(experiment, name, variant) for name in results.datasets()]
    found = ((place.label, measured.curves(place)) for place in places)
    return [Panel(label, curves, strategies) for label, curves in found if curves is not None]


def accuracy_figure(panels: Sequence[Panel], *, band: str = "error") -> Figure:
    """Draw accuracy against batch size in each panel; bands are a standard "error" or "deviation" wide."""
    with plotting().rc_context(STYLE):
        figure, axes, legend = make_grid(len(panels))
        for panel, ax in zip(panels, axes, strict=True):
            names = present(panel.curves, panel.strategies or panel.curves.strategies, "")
            draw_accuracy(ax, panel.curves, names, band)
            ax.set_title(panel.title)
        share_legend(figure, axes, legend)
        name_outer(axes, "batch size", "test accuracy, %")
        return figure


def draw_accuracy(ax: Axes, curves: Curves, strategies: Sequence[str], band: str = "error") -> None:
    """Draw the curves of strategies, min-margin on top of all others."""
    for name in strategies:
        stroke = STROKES.get(name, ANY)
        bands = summarize(height(curves, name))
        around = np.nan_to_num(bands.error if band == "error" else bands.deviation)
        on_top = 4 if name == "min-margin" else 3
        ax.fill_between(
            curves.sizes,
            100 * (bands.mean - around),
            100 * (bands.mean + around),
            color=stroke.color,
            alpha=0.18 if band == "error" else 0.05,
            linewidth=0,
            zorder=on_top - 2,
        )
        draw_line(ax, curves.sizes, 100 * bands.mean, stroke, name, on_top)
    log_sizes(ax, curves.sizes)


def difference_figure(
    panels: Sequence[Panel],
    strategies: Sequence[str] = ("min-margin", "random", "committee"),
    to: str = "margin",
) -> Figure:
    """Draw paired differences to one strategy with 95% intervals, a panel per dataset."""
    with plotting().rc_context(STYLE):
        figure, axes, legend = make_grid(len(panels))
        for panel, ax in zip(panels, axes, strict=True):
            draw_differences(ax, panel.curves, present(panel.curves, strategies, to), to)
            ax.set_title(panel.title)
        share_legend(figure, axes, legend)
        name_outer(axes, "batch size", f"points ahead of {to}")
        return figure


def draw_differences(ax: Axes, curves: Curves, strategies: Sequence[str], to: str) -> None:
    """Draw the paired differences of strategies to another, with 95% intervals, side by side at each size."""
    ax.axhline(0, color=STROKES.get(to, ANY).color, linewidth=1.4, zorder=2)
    sizes = np.array(curves.sizes, dtype=np.float64)
    apart = (sizes[-1] / sizes[0]) ** (0.012) if len(sizes) > 1 else 1.02
    for number, name in enumerate(strategies):
        stroke = STROKES.get(name, ANY)
        difference = paired_difference(height(curves, name), height(curves, to))
        shifted = sizes * apart ** (number - (len(strategies) - 1) / 2)
        reach = np.where(np.isfinite(difference.low), difference.mean - difference.low, 0)
        on_top = 4 if name == "min-margin" else 3
        ax.errorbar(
            shifted,
            100 * difference.mean,
            100 * reach,
            fmt="none",
            ecolor=stroke.color,
            elinewidth=1.1,
            capsize=1.8,
            capthick=1.1,
            zorder=on_top,
        )
        draw_line(ax, shifted, 100 * difference.mean, stroke, name, on_top)
    log_sizes(ax, curves.sizes)
