"""The picture of a comparison: scores against batch size, and how far ahead of the reference each line is."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from minmargin.compare.advice import reference
from minmargin.compare.outcome import CONSTANT
from minmargin.compare.picture import Picture
from minmargin.compare.played import Line, Played
from minmargin.compare.statistics import paired_difference
from minmargin.compare.words import Words
from minmargin.errors import InputError
from minmargin.files import write_whole
from minmargin.report.drawing import COLORS, Axes, Figure, drawn, inline
from minmargin.strategies import Stroke, entry_of

if TYPE_CHECKING:
    from markupsafe import Markup

_FORMATS = (".png", ".svg", ".pdf")
_WIDTH = 9.2  # inches of both drawings side by side
#: Of strategies that were registered without a stroke.
_OTHERS = [
    Stroke("ink", (0, (2, 1))),
    Stroke("green", (0, (2, 1))),
    Stroke("purple", (0, (2, 1))),
    Stroke("gold", (0, (2, 1))),
    Stroke("blue", (0, (2, 1))),
]
_IN_ROUNDS = ["o", "s", "^", "D"]  # rounds are told apart by marks


def draw_curves(played: Played, scoring: str, words: Words) -> Markup:
    """Return mean scores with 95% intervals, to stand in a page."""
    with drawn(4.6, 3.3) as (figure, axes):
        _draw_scores(axes, played, scoring, words)
        _add_legend(figure, 4.6)
        return inline(figure, f"Mean test {scoring} by batch size, a line for each strategy.")


def draw_differences(played: Played, words: Words) -> Markup:
    """Return paired differences to the reference with 95% intervals, to stand in a page."""
    with drawn(4.6, 3.3) as (figure, axes):
        _draw_differences(axes, played, words)
        _add_legend(figure, 4.6)
        return inline(
            figure, f"How far ahead of {reference(played).strategy} each strategy is, by batch size."
        )


def save(played: Played, path: str | Path, scoring: str, words: Words) -> Path:
    """Write both as one picture, in the format that the path's suffix names, and return its path."""
    path = Path(path)
    form = path.suffix.lower()
    if form not in _FORMATS:
        raise InputError(f"{str(path)!r} is no picture. Use one of {', '.join(_FORMATS)}.")
    return write_whole(path, lambda file: _draw_both(file, form[1:], played, scoring, words))


def draw(played: Played, scoring: str, words: Words) -> Picture:
    """Return both as one picture, for a notebook."""
    with io.BytesIO() as file:
        _draw_both(file, "png", played, scoring, words)
        return Picture(file.getvalue(), round(96 * _WIDTH))  # a page has 96 pixels an inch


def _draw_both(file: IO[bytes], form: str, played: Played, scoring: str, words: Words) -> None:
    with drawn(_WIDTH, 3.6, ncols=2) as (figure, (left, right)):
        _draw_scores(left, played, scoring, words)
        _draw_differences(right, played, words, labeled=False)
        _add_legend(figure, _WIDTH)
        metadata: dict[str, Any] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(form, {})
        figure.savefig(file, format=form, dpi=160, facecolor="white", metadata=metadata)


def _draw_scores(axes: Axes, played: Played, scoring: str, words: Words) -> None:
    factor = 100 if words.share else 1
    before = factor * float(played.before.mean())
    axes.axhline(before, color=COLORS["faint"], linewidth=0.9, zorder=1, label="before")
    for line in played.lines:
        scores = played.of_line(line)
        band = paired_difference(scores, np.zeros_like(scores))
        color = COLORS[_stroke(line, played.lines).color]
        axes.fill_between(
            played.sizes, factor * band.low, factor * band.high, color=color, alpha=0.13, linewidth=0
        )
        _draw_line(axes, played, line, factor * band.mean, str(line))
    if played.constant is not None:
        _draw_constant(axes, float(np.nanmean(played.constant)), words)
    axes.set_ylabel(f"test {scoring.replace('_', ' ')}{', %' if words.share else ''}")
    _label_sizes(axes, played.sizes)


def _draw_constant(axes: Axes, score: float, words: Words) -> None:
    """Draw the constant guess beside curves; only name it where it is so low that it would press them together."""
    height = (100 if words.share else 1) * score
    bottom, top = axes.get_ylim()
    style = {"color": COLORS["muted"], "linestyle": (0, (6, 2, 1, 2)), "linewidth": 1.0}
    label = f"{CONSTANT} {words.score(score)}"
    if bottom - height > top - bottom:
        axes.plot([], [], label=f"{label}, below", **style)
    else:
        axes.axhline(height, label=label, zorder=1, **style)


def _draw_differences(axes: Axes, played: Played, words: Words, *, labeled: bool = True) -> None:
    factor = 100 if words.share else 1
    to = reference(played)
    stroke = _stroke(to, played.lines)
    axes.axhline(0, color=COLORS[stroke.color], linestyle=stroke.style, linewidth=stroke.width)
    others = [line for line in played.lines if line != to]
    if others:
        ahead = played.differences([(line, played.opponent(line, to.strategy)) for line in others])
    apart = 1.03
    for number, line in enumerate(others):
        shifted = np.array(played.sizes) * apart ** (number - (len(others) - 1) / 2)
        reach = factor * (ahead.high[number] - ahead.mean[number])
        color = COLORS[_stroke(line, played.lines).color]
        axes.errorbar(
            shifted,
            factor * ahead.mean[number],
            reach,
            fmt="none",
            ecolor=color,
            elinewidth=1.0,
            capsize=2,
            zorder=2,
        )
        _draw_line(
            axes, played, line, factor * ahead.mean[number], str(line) if labeled else None, at=shifted
        )
    axes.set_ylabel(f"{words.unit} ahead of {to.strategy}".lstrip())
    _label_sizes(axes, played.sizes)


def _draw_line(
    axes: Axes, played: Played, line: Line, heights: Any, label: str | None, at: Any = None
) -> None:
    stroke = _stroke(line, played.lines)
    rounds = sorted({each.rounds for each in played.lines})
    mark = _IN_ROUNDS[(rounds.index(line.rounds) - 1) % len(_IN_ROUNDS)] if line.rounds > rounds[0] else None
    axes.plot(
        played.sizes if at is None else at,
        heights,
        color=COLORS[stroke.color],
        linestyle=stroke.style,
        linewidth=stroke.width,
        marker=mark,
        markersize=4,
        label=label,
        zorder=4 if line.strategy == "min-margin" else 3,
    )


def _stroke(line: Line, lines: Sequence[Line]) -> Stroke:
    own = _own_stroke(line)
    if own is not None:
        return own
    others = list(dict.fromkeys(each.strategy for each in lines if _own_stroke(each) is None))
    return _OTHERS[others.index(line.strategy) % len(_OTHERS)]


def _own_stroke(line: Line) -> Stroke | None:
    entry = entry_of(line.strategy)
    return None if entry is None else entry.stroke


def _add_legend(figure: Figure, width: float) -> None:
    """Name the lines above a figure of some inches, in as many columns as the longest name leaves room for."""
    labels = [label for axes in figure.axes for label in axes.get_legend_handles_labels()[1]]
    longest = max(map(len, labels), default=0)
    figure.legend(
        loc="outside upper left", ncols=max(int(width / (0.5 + 0.075 * longest)), 1), columnspacing=1.2
    )


def _label_sizes(axes: Axes, sizes: Sequence[int]) -> None:
    axes.set_xscale("log")
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axes.set_xticks([], minor=True)
    axes.set_xlabel("labels added")
    axes.grid(axis="y")
