"""The curves of a campaign's page: the score that leads by the number of labels, as measured and as audited.

Where classes are skewed that is balanced accuracy. Accuracy is drawn beside it, and what it is for a constant guess.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from minmargin.campaign.audit import Estimate, known_audits, wilson
from minmargin.campaign.bars import SPAN, widened
from minmargin.campaign.forecast import LEAST_POINTS, Point, fit_curve
from minmargin.campaign.journal import Measurement
from minmargin.campaign.leading import rating_of
from minmargin.campaign.status import Status

if TYPE_CHECKING:
    from markupsafe import Markup


class Series(NamedTuple):
    """A score by the number of labels, with its 95% intervals.

    Attributes:
        name: of the score.
        labels: how many there were each time.
        scores: what it was.
        ends: between which bounds it lies, as far as so many rows can tell.
    """

    name: str
    labels: tuple[int, ...]
    scores: tuple[float, ...]
    ends: tuple[tuple[float, float], ...]

    def describe(self, what: str) -> str:
        """Return what a reader is told who cannot see the picture."""
        return (
            f"{what} by number of labels: {self.scores[0]:.1%} with {self.labels[0]:,}, "
            f"{self.scores[-1]:.1%} with {self.labels[-1]:,}."
        )


def accuracy_of(points: Sequence[tuple[int, Measurement | Estimate]]) -> Series:
    """Return accuracy by the number of labels, as far as it is known."""
    known = [(labels, each.accuracy, each) for labels, each in points if each.accuracy is not None]
    ends = tuple(wilson(each.correct, each.tested) for _, _, each in known)
    return Series("accuracy", tuple(n for n, _, _ in known), tuple(score for _, score, _ in known), ends)


def balanced_of(points: Sequence[tuple[int, Measurement | Estimate]]) -> Series:
    """Return balanced accuracy by the number of labels, as far as it is known."""
    rated = [(labels, rating) for labels, each in points if (rating := rating_of(each)) is not None]
    known = [(n, score, each) for n, each in rated if (score := each.balanced_accuracy) is not None]
    ends = tuple(each.balanced_interval for _, _, each in known)
    return Series(
        "balanced accuracy", tuple(n for n, _, _ in known), tuple(score for _, score, _ in known), ends
    )


def in_order(
    points: Sequence[tuple[int, Measurement | Estimate]], *, skewed: bool
) -> tuple[Series, Series | None]:
    """Return the score that leads, and accuracy beside it where that is another."""
    accuracy, balanced = accuracy_of(points), balanced_of(points)
    return (balanced, accuracy) if skewed and balanced.labels else (accuracy, None)


def draw_curve(status: Status, *, held_out: bool) -> Markup:
    """Return scores by the number of labels. On held-out rows, a band shows how exact so many rows can tell them."""
    from minmargin.report.drawing import COLORS, drawn, inline  # noqa: PLC0415 - an extra

    skewed = status.skew is not None
    lead, beside = in_order([(each.labels, each) for each in status.curve], skewed=skewed)
    with drawn(7.0, 3.2) as (figure, axes):
        if held_out:
            low, high = zip(*lead.ends, strict=True)
            axes.fill_between(lead.labels, low, high, color=COLORS["blue"], alpha=0.15, linewidth=0)
        axes.plot(
            lead.labels,
            lead.scores,
            color=COLORS["blue"],
            marker="o",
            markersize=4.5,
            linewidth=1.6,
            label=lead.name,
        )
        if beside is not None:
            _draw_beside(axes, beside, status.curve[-1], linewidth=1.2)
            _name_lines(figure, axes, lead.name)
        bottom, top = axes.get_ylim()
        axes.set_ylim(widened(bottom, top, least=SPAN))
        _label(axes, "labels", lead.name if beside is None else "")
        return inline(figure, lead.describe(lead.name.capitalize()))


def draw_audit(status: Status) -> Markup:
    """Return the audits' scores by the labels that the models had, with intervals; of accuracy the curve that fits."""
    from minmargin.report.drawing import COLORS, drawn, inline  # noqa: PLC0415 - an extra

    known = known_audits(status.audits)
    lead, beside = in_order([(each.labels, each.estimate) for each in known], skewed=status.skew is not None)
    down, up = (
        [abs(score - ends[side]) for score, ends in zip(lead.scores, lead.ends, strict=True)]
        for side in (0, 1)
    )
    with drawn(7.0, 3.2) as (figure, axes):
        axes.errorbar(
            lead.labels,
            lead.scores,
            yerr=[down, up],
            fmt="o",
            color=COLORS["blue"],
            markersize=4.5,
            elinewidth=1.2,
            label=lead.name,
        )
        if beside is not None:
            _draw_beside(axes, beside, status.audited, linewidth=0)
            _name_lines(figure, axes, lead.name)
        elif len(set(lead.labels)) >= LEAST_POINTS:
            curve = fit_curve(
                [Point(each.labels, each.estimate.correct, each.estimate.tested) for each in known]
            )
            steps = np.linspace(min(lead.labels), max(*lead.labels, status.labels), 100)
            axes.plot(
                steps, [min(1.0, curve.at(step)) for step in steps], color=COLORS["muted"], linewidth=1.2
            )
        _label(axes, "labels that the model had", "accuracy by audit" if beside is None else "by audit")
        return inline(figure, lead.describe(f"{lead.name.capitalize()} by audit,"))


def _draw_beside(axes: Any, beside: Series, measured: Measurement | Estimate, *, linewidth: float) -> None:
    """Draw the score that does not lead, and the accuracy of always naming the most common class."""
    from minmargin.report.drawing import COLORS  # noqa: PLC0415 - an extra

    look = {"color": COLORS["muted"], "marker": "o", "markersize": 3.0}
    axes.plot(beside.labels, beside.scores, **look, linewidth=linewidth, label=beside.name)
    rating = rating_of(measured)
    if rating is not None:
        label = "accuracy of always naming the most common class"
        axes.axhline(rating.guess, color=COLORS["faint"], linestyle="--", linewidth=1.0, label=label)


def _name_lines(figure: Any, axes: Any, first: str) -> None:
    """Draw the legend, which begins with the score that leads."""
    handles, names = axes.get_legend_handles_labels()
    order = sorted(range(len(names)), key=lambda place: names[place] != first)
    figure.legend(
        [handles[place] for place in order],
        [names[place] for place in order],
        loc="outside upper left",
        ncols=3,
        handlelength=1.4,
        columnspacing=1.2,
    )


def _label(axes: Any, across: str, up: str) -> None:
    axes.grid(axis="y")
    axes.set(xlabel=across, ylabel=up)
    axes.yaxis.set_major_formatter(lambda value, _: f"{round(100 * value, 1):g}%" if value <= 1 else "")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
