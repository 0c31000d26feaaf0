"""How min-margin depends on K and beta."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minmargin.compare.statistics import summarize
from minmargin.experiments.paper.claims.criteria import height
from minmargin.experiments.paper.claims.measured import FRACTIONS, MEMBER_COUNTS, Measured, Place
from minmargin.experiments.paper.claims.tuning import variants
from minmargin.experiments.paper.figures.style import (
    ANY,
    STROKES,
    STYLE,
    Axes,
    Figure,
    Stroke,
    draw_line,
    log_sizes,
    plotting,
)


def tuning_figure(measured: Measured, datasets: Sequence[str] | None = None) -> Figure:
    """Draw min-margin with various K (top row) and beta (bottom row), with margin and random for reference."""
    mpl = plotting()
    names = list(datasets or measured.results["tuning"].datasets())
    with mpl.rc_context(STYLE):
        figure = mpl.figure.Figure(figsize=(3.1 * len(names) + 1.3, 5.6), layout="constrained")
        axes = figure.subplots(2, len(names), squeeze=False, sharex=True, sharey="col")
        for row, (setting, values, symbol) in enumerate(
            (("K", MEMBER_COUNTS, "K"), ("beta", FRACTIONS, "β"))
        ):
            lines: dict[str, Any] = {}
            for ax, dataset in zip(axes[row], names, strict=True):
                lines |= _draw_tuning(ax, measured, dataset, setting, values, symbol)
                if row == 0:
                    ax.set_title(dataset)
            axes[row, -1].legend(lines.values(), lines.keys(), loc="center left", bbox_to_anchor=(1.01, 0.5))
            axes[row, 0].set_ylabel("test accuracy, %")
        for ax in axes[-1]:
            ax.set_xlabel("batch size")
        return figure


def _draw_tuning(
    ax: Axes, measured: Measured, dataset: str, setting: str, values: Sequence[float], symbol: str
) -> dict[str, Any]:
    """Draw one panel, and return its lines by name."""
    lines: dict[str, Any] = {}
    shades = plotting().colormaps["plasma_r"]
    found = variants(measured, dataset, setting, values)
    if found is not None:
        for value, heights in zip(found.values, found.heights, strict=True):
            shade = shades(0.12 + 0.8 * list(values).index(value) / (len(values) - 1))
            stroke = Stroke(shade, width=2.4 if value == (25 if setting == "K" else 1) else 1.3)
            means = 100 * summarize(heights).mean
            lines[f"{symbol} = {value:g}"] = draw_line(ax, found.sizes, means, stroke, "", 3)
        log_sizes(ax, found.sizes)
    curves = measured.curves(Place("tuning", dataset, "reference"))
    if curves is not None:
        for name in curves.strategies:
            means = 100 * summarize(height(curves, name)).mean
            stroke = STROKES.get(name, ANY)._replace(style=(0, (4, 2)), width=1.1)
            lines[name] = draw_line(ax, curves.sizes, means, stroke, "", 2)
    return lines
