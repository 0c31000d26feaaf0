"""The figures of a batch's report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from minmargin.report.chart import Boundaries, Chart, Points
from minmargin.report.differences import Difference, Side
from minmargin.report.drawing import COLORS, MANY, Axes, drawn, inline, scatter
from minmargin.report.words import short

if TYPE_CHECKING:
    from markupsafe import Markup

_WIDTH = 4.4  # inches
N_BARS = 12  # pairs, classes or members that are shown by name


def draw_chart(chart: Chart, whose: Literal["this batch", "plain margin"]) -> Markup:
    """Return the map with the picks of this batch, or of plain margin."""
    name, color, picks = ("picked", "vermilion", chart.picks)
    leads = () if chart.boundaries is None else chart.boundaries.members
    if whose == "plain margin":
        assert chart.by_margin is not None
        name, color, picks = ("plain margin's", "purple", chart.by_margin)
        leads = () if chart.boundaries is None else chart.boundaries.base
    with drawn(_WIDTH, 3.7) as (figure, axes):
        scatter(axes, *chart.sample.T, color="faint", size=5, alpha=0.55, label="pool, a sample", zorder=2)
        if chart.labeled is not None:
            size = 13 if len(chart.labeled) <= 200 else 7
            scatter(axes, *chart.labeled.T, color="blue", size=size, marker="s", label="labeled", zorder=4)
        size = 13 if len(picks) <= 200 else 8
        scatter(axes, *picks.T, color=color, size=size, label=name, zorder=3, alpha=0.9)
        if chart.boundaries is not None:
            _draw_boundaries(axes, chart.boundaries, leads)
        if chart.links is not None and whose == "this batch":
            _draw_links(axes, chart.links)
        _frame(axes, np.concatenate([chart.sample, picks]))
        axes.set(xlabel=short(chart.axes[0]), ylabel=short(chart.axes[1]))
        axes.tick_params(length=0, labelsize=7.5)
        if not chart.measured:
            axes.set(xticks=[], yticks=[])
        figure.legend(loc="outside upper left", ncols=4, markerscale=1.6, columnspacing=1.1, borderpad=0.1)
        return inline(figure, f"A map of {len(chart.sample):,} rows of the pool and {len(picks):,} picks.")


def _draw_boundaries(axes: Axes, grid: Boundaries, leads: Sequence[NDArray[np.float64]]) -> None:
    for lead in leads:
        for ahead in lead:
            if ahead.min() < 0 < ahead.max():
                look = {"colors": COLORS["green"], "linewidths": 0.7 if len(leads) > 1 else 1.2}
                axes.contour(grid.x, grid.y, ahead, levels=[0.0], zorder=1, alpha=0.7, **look)
    axes.plot(
        [], [], color=COLORS["green"], linewidth=1, label="boundaries" if len(leads) > 1 else "boundary"
    )


def _draw_links(axes: Axes, links: NDArray[np.float64]) -> None:
    # As one line with gaps: a line for each pair would make the page large.
    x, y = (np.insert(links[:, :, axis], 2, np.nan, axis=1).ravel() for axis in (0, 1))
    look = {"color": COLORS["gold"], "linewidth": 0.7, "zorder": 2.5}
    axes.plot(x, y, alpha=0.8, rasterized=len(links) > MANY, label="nearest pick", **look)


def _frame(axes: Axes, points: Points) -> None:
    """Show all but the furthest points: one outlier must not press the rest into a corner."""
    low, high = np.quantile(points, [0.002, 0.998], axis=0)
    edge = 0.05 * np.where(high > low, high - low, 1.0)
    axes.set(xlim=(low[0] - edge[0], high[0] + edge[0]), ylim=(low[1] - edge[1], high[1] + edge[1]))


def draw_scores(scores: NDArray[np.float64], cut: float, name: str) -> Markup:
    """Return how the pool's scores are spread, and where the batch ends."""
    low, high = float(min(scores.min(), cut)), float(max(np.quantile(scores, 0.998), cut))
    if low == high:
        low, high = low - 0.5, high + 0.5
    smallest = scores[scores > 0].min(initial=cut if cut > 0 else high)
    # Close to zero, where margins are cut, a linear axis would show a single bar.
    logarithmic = low >= 0 and 0 < cut < 0.1 * high
    if logarithmic:
        edges = np.geomspace(max(smallest, high * 1e-6), high * (1 + 1e-9), 49)
    else:
        edges = np.linspace(low, high + 1e-9 * (high - low), 49)
    counts, _ = np.histogram(np.clip(scores, edges[0], edges[-1]), bins=edges)
    with drawn(_WIDTH, 2.3) as (figure, axes):
        colors = [COLORS["vermilion" if edge < cut else "faint"] for edge in edges[:-1]]
        axes.bar(edges[:-1], counts, np.diff(edges), align="edge", color=colors, linewidth=0)
        axes.axvline(cut, color=COLORS["ink"], linewidth=0.9)
        if logarithmic:
            axes.set_xscale("log")
            axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
            axes.xaxis.set_minor_formatter(lambda value, _: "")
        before = (counts * (edges[:-1] < cut)).sum() * 2 > counts.sum()
        axes.annotate(
            f"cut at {cut:.3g}",
            (cut, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(4 if before else -4, 0),
            textcoords="offset points",
            ha="left" if before else "right",
            va="top",
        )
        axes.set(xlabel=f"score ({short(name)})", yticks=[])
        axes.spines["left"].set_visible(False)
        said = f"with a line where the batch ends, at {cut:.3g}"
        return inline(figure, f"A histogram of {len(scores):,} scores, {said}.")


def draw_margins(sample: NDArray[np.float64], picks: NDArray[np.float64]) -> Markup:
    """Return how the base's margins are spread in the pool and in the batch."""
    with drawn(_WIDTH, 2.5) as (figure, axes):
        edges = np.linspace(0, max(sample.max(), picks.max()) + 1e-12, 41)
        for values, color, name in ((sample, "faint", "pool, a sample"), (picks, "vermilion", "picked")):
            axes.hist(
                values,
                edges,
                weights=np.full(len(values), 100 / len(values)),
                color=COLORS[color],
                alpha=0.65,
                label=name,
            )
        axes.set(xlabel="margin of the base", ylabel="% of rows")
        axes.legend()
        return inline(figure, "Two histograms of the base's margin: of the pool and of the picks.")


def draw_members(counts: Sequence[int], names: Sequence[str] | None = None) -> Markup:
    """Return how many picks lie on each member's boundary; `names` are what they are called, if they are."""
    shown = None if names is None or len(names) > N_BARS else [short(name, 16) for name in names]
    with drawn(_WIDTH, 2.1) as (figure, axes):
        axes.bar(np.arange(len(counts)), counts, 0.75, color=COLORS["vermilion"])
        axes.set(xlabel="member", ylabel="picks", xlim=(-0.7, len(counts) - 0.3))
        axes.yaxis.get_major_locator().set_params(integer=True)
        if shown is None:
            axes.xaxis.get_major_locator().set_params(integer=True)
        else:
            axes.set_xticks(range(len(shown)), shown)
        axes.tick_params(axis="x", length=0)
        axes.grid(axis="y")
        told = [str(n) if shown is None else f"{shown[k]} {n}" for k, n in enumerate(counts)]
        return inline(figure, "A bar for each member: " + ", ".join(told) + " picks.")


def draw_pairs(pairs: Sequence[tuple[tuple[str, str], int]]) -> Markup:
    """Return how many picks lie between each pair of classes, most first."""
    in_two_lines = any(len(name) > 20 for pair, _ in pairs for name in pair)
    joint, most, height = (" /\n", 34, 0.36) if in_two_lines else (" / ", 20, 0.2)
    names = [joint.join(short(name, most) for name in pair) for pair, _ in pairs]
    with drawn(_WIDTH, 0.1 + height * len(pairs)) as (figure, axes):
        places = np.arange(len(pairs))[::-1]
        counts = [count for _, count in pairs]
        bars = axes.barh(places, counts, 0.7, color=COLORS["vermilion"])
        axes.bar_label(
            bars, [f"{count:,}" for count in counts], padding=3, color=COLORS["muted"], fontsize=8.5
        )
        axes.set_yticks(places, names)
        axes.tick_params(axis="y", length=0)
        axes.set(xticks=[], xlim=(0, 1.12 * max(counts)), ylim=(-0.5, len(pairs) - 0.5))
        for side in ("bottom", "left"):
            axes.spines[side].set_visible(False)
        said = ", ".join(f"{' / '.join(map(short, pair))} {count:,}" for pair, count in pairs)
        return inline(figure, f"Picks: {said}.")


def draw_mix(shares: Mapping[str, Mapping[str, float]]) -> Markup:
    """Return the shares of the first classes, a row of dots each: in the labeled set, the pool and the batch."""
    names = list(shares["batch"])[:N_BARS]
    said = ", ".join(f"{short(name)} {shares['batch'][name]:.1%}" for name in names)
    rows = {kind: [each[name] for name in names] for kind, each in shares.items()}
    return _draw_shares([short(name) for name in names], rows, f"Predicted classes of the batch: {said}.")


def draw_differences(found: Sequence[Difference], side: Side) -> Markup:
    """Return what sets rows apart from the pool: a row of two dots for each of the first questions."""
    shown = found[:N_BARS]
    kind = "batch" if side == "picks" else "labeled"
    said = "; ".join(
        f"{short(each.question, 60)}: {each.share:.0%}, pool {each.of_pool:.0%}" for each in shown
    )
    return _draw_shares(
        [short(each.question, 34) for each in shown],
        {"pool": [each.of_pool for each in shown], kind: [each.share for each in shown]},
        f"Shares of rows, the largest difference first. {said}.",
    )


def _draw_shares(names: Sequence[str], shares: Mapping[str, Sequence[float]], label: str) -> Markup:
    """Return a row of dots for each name: one for each kind of rows, where its share is."""
    looks = {"labeled": ("blue", "s", 17), "pool": ("faint", "o", 24), "batch": ("vermilion", "o", 26)}
    with drawn(_WIDTH, 0.75 + 0.2 * len(names)) as (figure, axes):
        places = np.arange(len(names))[::-1]
        percent = 100 * np.array(list(shares.values()))
        axes.hlines(places, percent.min(axis=0), percent.max(axis=0), color=COLORS["rule"], linewidth=2)
        for kind, values in zip(shares, percent, strict=True):
            color, marker, size = looks[kind]
            kwargs = {"color": COLORS[color], "marker": marker, "label": kind}
            axes.scatter(values, places, size, zorder=3, linewidths=0, **kwargs)
        axes.set_yticks(places, names)
        edge = 0.03 * percent.max()
        axes.set(xlabel="% of rows", xlim=(-edge, percent.max() + edge), ylim=(-0.6, len(names) - 0.4))
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="x")
        figure.legend(loc="outside upper left", ncols=3, columnspacing=1.1, borderpad=0.1)
        return inline(figure, label)


def draw_averages(averages: Mapping[str, NDArray[np.float64]], shape: Sequence[int]) -> Markup:
    """Return what rows that are images look like on average, and where the picks differ from the pool."""
    low, high = (
        float(end) for end in (min(map(np.min, averages.values())), max(map(np.max, averages.values())))
    )
    with drawn(_WIDTH, 1.4, ncols=len(averages) + 1) as (figure, panels):
        for panel, (name, average) in zip(panels, averages.items(), strict=False):
            image = (average.reshape(tuple(shape)) - low) / ((high - low) or 1.0)
            panel.imshow(image, cmap="gray", vmin=0, vmax=1)
            panel.set_title(name)
        differ = (averages["batch"] - averages["pool"]).reshape(*shape[:2], -1).mean(axis=2)
        most = float(np.abs(differ).max()) or 1.0
        panels[-1].imshow(differ, cmap="PuOr_r", vmin=-most, vmax=most)
        panels[-1].set_title("batch less pool")
        for panel in panels:
            panel.set_axis_off()
        said = f"The mean images of {', '.join(averages)}, and how the batch differs from the pool."
        return inline(figure, said)
