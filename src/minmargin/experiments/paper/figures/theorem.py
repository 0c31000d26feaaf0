"""The theorem: mean squared angles, and the bounds of the proof."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from minmargin.experiments.paper.claims.measured import Measured
from minmargin.experiments.paper.claims.theorem import (
    MARGIN_BOUND,
    MIN_MARGIN_BOUND,
    closed_form,
    margin_mean,
    mean_and_interval,
    pool_words,
    scaled_angles,
)
from minmargin.experiments.paper.figures.style import (
    STROKES,
    STYLE,
    Axes,
    Figure,
    plain_ticks,
    plotting,
    share_legend,
)


def theorem_figure(measured: Measured) -> Figure:
    """Draw mean squared angles against m, in units in which the paper's bounds are level, a column per size of pool.

    At the top margin from near by, since its bound is close; beneath, both strategies.
    """
    regimes = measured.regimes()
    factors = sorted({factor for _, factor in regimes})
    mpl = plotting()
    with mpl.rc_context(STYLE):
        figure = mpl.figure.Figure(figsize=(4.2 * len(factors) + 0.6, 6.2), layout="constrained")
        axes = figure.subplots(2, len(factors), squeeze=False, sharex=True, sharey="row")
        for (near, whole), factor in zip(axes.T, factors, strict=True):
            sizes = [m for m, each in regimes if each == factor and measured.angles(m, each) is not None]
            margin = [margin_mean(measured, m, factor) for m in sizes]
            min_margin = [mean_and_interval(scaled_angles(measured, m, factor)[1]) for m in sizes]
            for ax in (near, whole):
                _draw_bounds(ax, sizes)
                _draw_means(ax, sizes, margin, "margin")
            _draw_means(whole, sizes, min_margin, "min-margin")
            near.set_title(pool_words(factor))
            whole.set(xscale="log", yscale="log", xlabel="m, labeled rows per class")
            plain_ticks(whole, sizes)
        axes[0, 0].set_ylabel("margin only")
        axes[1, 0].set_ylabel("both, logarithmic")
        figure.supylabel("E[Θ*] · (m+1)(m+2) / π²", fontsize=9)
        share_legend(figure, list(axes.ravel()), None)
        return figure


def _draw_bounds(ax: Axes, sizes: Sequence[int]) -> None:
    for name, bound, fraction in (
        ("margin", MARGIN_BOUND, "7/64"),
        ("min-margin", MIN_MARGIN_BOUND, "13/128"),
    ):
        label = f"{fraction}, bound for {name}"
        ax.axhline(bound, color=STROKES[name].color, linewidth=1.2, linestyle=":", label=label)
    ax.plot(
        sizes, [closed_form(m) for m in sizes], color="#8a9099", linewidth=1, label="E(h_margin), closed form"
    )


def _draw_means(
    ax: Axes, sizes: Sequence[int], means: Sequence[tuple[float, float, float]], name: str
) -> None:
    """Draw means with their intervals, whose ends are the second and third numbers."""
    middle, low, high = np.array(means, dtype=np.float64).T
    stroke = STROKES[name]
    ax.errorbar(
        sizes,
        middle,
        np.stack([middle - low, high - middle]),
        color=stroke.color,
        linewidth=stroke.width,
        marker="o",
        markersize=4,
        elinewidth=1.1,
        capsize=2,
        label=name,
    )
