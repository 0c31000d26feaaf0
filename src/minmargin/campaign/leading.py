"""Which score leads in a campaign, and whether a model is better by it than always saying the same.

Where one class has most of the rows, accuracy tells little, and another score leads, by the rule of `compare`. That may
lead with average precision, which takes a score for every row. A campaign keeps counts: how many rows of each class
were right. So balanced accuracy leads here.

How common the classes are is told by held-out rows, or else by audits, or else by the rows that were labeled at the
beginning. Picked rows do not tell it: a strategy finds more of a rare class than there are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any, NamedTuple

from minmargin.campaign.audit import Estimate, wilson
from minmargin.campaign.journal import ClassTally, Measurement
from minmargin.skew import most_common

#: With fewer audited rows, the beginning tells more of how common the classes are.
_LEAST_AUDITED = 50


def mean_interval(tallies: Sequence[tuple[int, int]]) -> tuple[float, float]:
    """Return the ends of the interval that the mean of several proportions lies in, each given as (correct, tested).

    The ends of Wilson's intervals are as far from their proportions as errors in either direction are likely to be; the
    distances add up like independent errors (MOVER: Zou and Donner 2008, for sums of proportions).

    >>> [round(end, 3) for end in mean_interval([(44, 50)])]
    [0.762, 0.944]
    """
    n = len(tallies)
    ends = [(correct / tested, *wilson(correct, tested)) for correct, tested in tallies]
    mean = sum(share for share, _, _ in ends) / n
    below = sum((share - low) ** 2 for share, low, _ in ends) ** 0.5 / n
    above = sum((high - share) ** 2 for share, _, high in ends) ** 0.5 / n
    return max(0.0, mean - below), min(1.0, mean + above)


class Skew(NamedTuple):
    """The class that has most of the rows, its share of them, and which rows tell it."""

    name: str
    share: float
    rows: str

    @property
    def sentence(self) -> str:
        """Why balanced accuracy leads."""
        return f"Balanced accuracy leads, since {self.share:.1%} of the {self.rows} are {self.name!r}."


class Rating(NamedTuple):
    """How a model did on some rows, by each class that they have."""

    classes: tuple[ClassTally, ...]

    @property
    def common(self) -> ClassTally:
        """The class that most of the rows have."""
        return max(self.classes, key=lambda each: each.tested)

    @property
    def guess(self) -> float:
        """The accuracy of always naming that class."""
        return self.share_of(self.common.name)

    @property
    def balanced_accuracy(self) -> float | None:
        """The mean recall of the classes; None if there is but one, whose recall tells nothing of others."""
        return fmean(each.recall for each in self.classes) if len(self.classes) > 1 else None

    @property
    def interval(self) -> tuple[float, float]:
        """Between which bounds the accuracy lies, at 95%."""
        return wilson(sum(each.correct for each in self.classes), sum(each.tested for each in self.classes))

    @property
    def balanced_interval(self) -> tuple[float, float]:
        """Between which bounds the balanced accuracy lies, at 95%."""
        return mean_interval([(each.correct, each.tested) for each in self.classes])

    def share_of(self, name: str) -> float:
        """Return the part of the rows that have a class: the accuracy of always naming it."""
        n_rows = sum(each.tested for each in self.classes)
        return sum(each.tested for each in self.classes if each.name == name) / n_rows

    def is_better_than_a_guess(self, *, skewed: bool) -> bool:
        """Return whether the model is clearly better than always naming one class, by the score that leads."""
        if skewed:
            return self.balanced_interval[0] > 1 / len(self.classes)
        return self.interval[0] > self.guess


def rating_of(measured: Measurement | Estimate) -> Rating | None:
    """Return how a model did by class; None if that is not known, as where an earlier version measured."""
    if isinstance(measured, Measurement):
        classes = measured.classes
    else:
        counts = [(each.name, each.correct, each.labeled) for each in measured.classes]
        classes = tuple(ClassTally(*each) for each in counts if each[-1])
    return Rating(classes) if classes else None


def rated(measured: Measurement | Estimate) -> dict[str, Any]:
    """Return balanced accuracy and the accuracy of always naming the most common class, ready for JSON."""
    rating = rating_of(measured)
    balanced = None if rating is None else rating.balanced_accuracy
    if isinstance(measured, Measurement):  # one class alone has a recall there, too
        balanced = measured.balanced_accuracy
    return {
        "balanced_accuracy": balanced,
        "balanced_interval": None if rating is None or balanced is None else list(rating.balanced_interval),
        "constant_guess": None if rating is None else {"class": rating.common.name, "accuracy": rating.guess},
    }


def find_skew(measured: Measurement | None, audited: Estimate, begun: Mapping[str, int]) -> Skew | None:
    """Return which class has so many rows that balanced accuracy leads; None if accuracy does.

    Args:
        measured: the last measurement.
        audited: what all audits have counted.
        begun: how many rows of each class were labeled at the beginning.
    """
    if measured is not None and measured.way == "held-out" and measured.classes:
        counts, rows = {each.name: each.tested for each in measured.classes}, "held-out rows"
    elif audited.tested >= _LEAST_AUDITED:
        counts, rows = {each.name: each.labeled for each in audited.classes}, "audited rows"
    else:
        counts, rows = dict(begun), "rows labeled at the beginning"
    found = most_common(counts)
    return None if found is None else Skew(*found, rows)
