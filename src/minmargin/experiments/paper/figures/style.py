"""What all figures have in common: colours, grids of panels, legends, files."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from minmargin.errors import missing_extra
from minmargin.files import write_whole

# matplotlib has no types that could be checked.
Axes: TypeAlias = Any
Figure: TypeAlias = Any


class Stroke(NamedTuple):
    """How a strategy's line looks."""

    color: str
    style: str | tuple[int, tuple[float, ...]] = "-"
    width: float = 1.3


STROKES: Mapping[str, Stroke] = {
    "min-margin": Stroke("#d55e00", width=2.6),
    "margin": Stroke("#0072b2", width=1.9),
    "random": Stroke("#6b7077", (0, (4, 2)), 1.6),
    "committee": Stroke("#009e73"),
    "var-softmax": Stroke("#cc79a7"),
    "mean-margin": Stroke("#56b4e9"),
    "margin-of-mean": Stroke("#332288", (0, (1, 1.5))),
    "random-margin-mix": Stroke("#e69f00"),
    "balanced-margin": Stroke("#7a7a1f", (0, (5, 1.5, 1, 1.5))),
    "k-centers": Stroke("#882255", (0, (3, 1.5))),
    "true-margin": Stroke("#000000", (0, (1, 1.2)), 1.6),
}
ANY = Stroke("#333333")
MAIN_TEXT = ("min-margin", "margin", "random", "committee", "var-softmax", "mean-margin", "margin-of-mean")
APPENDIX = ("min-margin", "margin", "random", "random-margin-mix", "balanced-margin", "k-centers")

STYLE = {
    "svg.fonttype": "none",  # text stays text: it can be searched, and files are smaller
    "svg.hashsalt": "minmargin",
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#8a9099",
    "axes.labelcolor": "#333a44",
    "xtick.color": "#5b626c",
    "ytick.color": "#5b626c",
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e6e9ed",
    "grid.linewidth": 0.7,
    "legend.frameon": False,
}


def save(figure: Figure, path: Path | str, *, dpi: int = 150) -> Path:
    """Write a figure as SVG or PNG, by the path's suffix, and return the path."""
    path = Path(path)
    form = path.suffix.lower().lstrip(".")
    metadata = {"Date": None} if form == "svg" else {}
    with plotting().rc_context(STYLE):
        return write_whole(
            path,
            lambda file: figure.savefig(file, format=form, dpi=dpi, metadata=metadata, facecolor="white"),
        )


def draw_line(ax: Axes, x: Any, y: Any, stroke: Stroke, label: str, on_top: float) -> Any:
    """Draw a line, with a label if there is one, and return it."""
    (line,) = ax.plot(
        x,
        y,
        color=stroke.color,
        linestyle=stroke.style,
        linewidth=stroke.width,
        label=label or None,
        zorder=on_top,
    )
    return line


def make_grid(n_panels: int) -> tuple[Figure, list[Axes], Axes | None]:
    """Return a figure with panels, at most three in a row, and a free place for the legend if there is one."""
    columns = min(n_panels, 3)
    rows = math.ceil(n_panels / columns)
    mpl = plotting()
    wide = {1: 4.8, 2: 4.4, 3: 3.2}[columns]
    figure = mpl.figure.Figure(figsize=(wide * columns + 0.4, 2.7 * rows + 0.6), layout="constrained")
    axes = list(figure.subplots(rows, columns, squeeze=False).ravel())
    for ax in axes[n_panels:]:
        ax.set_axis_off()
    return figure, axes[:n_panels], axes[n_panels] if len(axes) > n_panels else None


def share_legend(figure: Figure, axes: Sequence[Axes], place: Axes | None) -> None:
    """Put one legend for all panels into the free place, or beneath the panels."""
    lines: dict[str, Any] = {}
    for ax in axes:
        handles, labels = ax.get_legend_handles_labels()
        lines |= dict(zip(labels, handles, strict=True))
    if place is not None:
        place.legend(lines.values(), lines.keys(), loc="center left")
    else:
        figure.legend(lines.values(), lines.keys(), loc="outside lower center", ncols=min(len(lines), 4))


def name_outer(axes: Sequence[Axes], x_label: str, y_label: str) -> None:
    """Name the axes: y only at the left."""
    for ax in axes:
        where = ax.get_subplotspec()
        if where.is_first_col():
            ax.set_ylabel(y_label)
        ax.set_xlabel(x_label)


def log_sizes(ax: Axes, sizes: Sequence[int]) -> None:
    """Put batch sizes on a logarithmic axis."""
    ax.set_xscale("log")
    plain_ticks(ax, sizes)


def plain_ticks(ax: Axes, sizes: Sequence[int]) -> None:
    """Name the sizes themselves: every one while there are few, else every other."""
    shown = list(sizes) if len(sizes) <= 6 else list(sizes)[::-2][::-1]
    ax.set_xticks(
        shown, [f"{size // 1000}k" if size >= 1000 and size % 1000 == 0 else f"{size}" for size in shown]
    )
    ax.set_xticks([], minor=True)


def plotting() -> Any:
    """Return matplotlib, which is an extra, with the part of it that keeps no figures of its own."""
    try:
        import matplotlib.figure  # noqa: PLC0415 - an extra
    except ImportError:
        raise missing_extra("Figures need matplotlib", "report") from None
    return matplotlib
