"""Audits: how good the model of a round is on the rest of the pool, by rows that were drawn there by chance.

**What is estimated.** A round draws its audit rows uniformly, without replacement, from the rows that are left of the
pool once its picks and all earlier rows are out. Its model has made a prediction of each before anybody labeled it. So
the part that is right is an unbiased estimate of that model's accuracy on those rows. What is measured on picked rows
is not: these are no sample of the pool.

**How exact it is.** The interval is Wilson's, for a binomial count. To draw without replacement is a little more exact,
so where an audit takes a good part of what is left, the interval is too wide rather than too narrow.

**Over several rounds.** Once they are labeled, audit rows are learned from like all others, so they tell nothing of
later models. Each stays with the model that predicted it. The counts of several rounds together estimate the mean
accuracy of their models, weighted by their rows. What a round draws depends on the rounds before, yet whatever these
were, it is right in expectation; the errors add up like independent ones. The rounds' accuracies differ, and a sum of
such counts varies less than a binomial one with their mean, so Wilson's interval holds for the mean, too.

**Of the model by now**, which has learned from the last audit, nothing is known before the next round's rows come back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, NamedTuple

#: How often an interval should hold the truth.
CONFIDENCE = 0.95
#: How many rounds the mean is taken over: models of long ago are of no interest.
N_ROUNDS_IN_MEAN = 3


def wilson(correct: int, tested: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Return the ends of the interval that a proportion lies in, as far as so many rows can tell (Wilson 1927).

    They are the proportions p with |correct / tested - p| = z sqrt(p (1 - p) / tested).

    >>> [round(end, 3) for end in wilson(44, 50)], wilson(0, 0)
    ([0.762, 0.944], (0.0, 1.0))
    """
    if tested == 0:
        return 0.0, 1.0
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    share, per_row = correct / tested, z * z / tested
    middle = (share + per_row / 2) / (1 + per_row)
    half = z * ((share * (1 - share) + per_row / 4) / tested) ** 0.5 / (1 + per_row)
    # An end may be 0 or 1 itself, which rounding may miss.
    low = 0.0 if correct == 0 else max(0.0, middle - half)
    return low, 1.0 if correct == tested else min(1.0, middle + half)


class AuditedClass(NamedTuple):
    """One class: how many rows have it, how many were taken for it, and how many of these rightly so.

    Rows of a class are a uniform sample of the class, and rows taken for it one of all that are. So recall and
    precision have Wilson's intervals, each for as many rows as there happened to be.
    """

    name: str
    correct: int
    labeled: int
    predicted: int

    @property
    def recall(self) -> float | None:
        """The part of the class's rows that were taken for it; None if there was none."""
        return self.correct / self.labeled if self.labeled else None

    @property
    def precision(self) -> float | None:
        """The part of the rows taken for it that are of the class; None if there was none."""
        return self.correct / self.predicted if self.predicted else None


@dataclass(frozen=True)
class Estimate:
    """Counts of audit rows that have a label.

    Attributes:
        correct: those that were predicted.
        tested: all of them.
        classes: each class that a row has or was taken for.
    """

    correct: int
    tested: int
    classes: tuple[AuditedClass, ...] = ()

    @classmethod
    def of(cls, guesses: Sequence[tuple[str, str]]) -> Estimate:
        """Return the counts of rows, each given as its label and the class that it was taken for.

        >>> Estimate.of([("no", "no"), ("no", "yes"), ("yes", "yes")]).classes[1]
        AuditedClass(name='yes', correct=1, labeled=1, predicted=2)
        """
        labeled = Counter(label for label, _ in guesses)
        predicted = Counter(guess for _, guess in guesses)
        correct = Counter(label for label, guess in guesses if label == guess)
        names = sorted(labeled.keys() | predicted.keys())
        classes = tuple(AuditedClass(name, correct[name], labeled[name], predicted[name]) for name in names)
        return cls(correct.total(), len(guesses), classes)

    @property
    def accuracy(self) -> float | None:
        """The part that is right; None if no row has a label."""
        return self.correct / self.tested if self.tested else None

    @property
    def interval(self) -> tuple[float, float]:
        """Between which bounds the accuracy lies, at 95%."""
        return wilson(self.correct, self.tested)

    def to_dict(self) -> dict[str, Any]:
        """Return all of it, ready for JSON."""
        return {
            "accuracy": self.accuracy,
            "interval": list(self.interval),
            "correct": self.correct,
            "tested": self.tested,
            "classes": {
                each.name: {
                    "correct": each.correct,
                    "labeled": each.labeled,
                    "predicted": each.predicted,
                    "precision": each.precision,
                    "precision_interval": list(wilson(each.correct, each.predicted)),
                    "recall": each.recall,
                    "recall_interval": list(wilson(each.correct, each.labeled)),
                }
                for each in self.classes
            },
        }


@dataclass(frozen=True)
class Audit:
    """What a round's audit tells of its model.

    Attributes:
        round: its number.
        labels: how many labels the model had learned from.
        drawn: how many rows were drawn; those without a label yet tell nothing.
        estimate: what the others tell.
    """

    round: int
    labels: int
    drawn: int
    estimate: Estimate

    @classmethod
    def of(cls, number: int, labels: int, predicted: Mapping[str, str], given: Mapping[str, str]) -> Audit:
        """Return the audit of a round, by what was predicted of each drawn id and the labels that were given."""
        guesses = [(given[each], guess) for each, guess in predicted.items() if each in given]
        return cls(number, labels, len(predicted), Estimate.of(guesses))

    def to_dict(self) -> dict[str, Any]:
        """Return all of it, ready for JSON."""
        return {
            "round": self.round,
            "labels": self.labels,
            "drawn": self.drawn,
            **self.estimate.to_dict(),
        }


def known_audits(audits: Sequence[Audit]) -> list[Audit]:
    """Return the audits of which a row has a label."""
    return [each for each in audits if each.estimate.tested]


def mean_of(audits: Sequence[Audit]) -> Estimate:
    """Return the counts of several audits together: they tell the mean accuracy of the models, not that of any one."""
    counts: dict[str, list[int]] = {}
    for audit in audits:
        for name, *numbers in audit.estimate.classes:
            before = counts.get(name, [0, 0, 0])
            counts[name] = [old + new for old, new in zip(before, numbers, strict=True)]
    return Estimate(
        sum(each.estimate.correct for each in audits),
        sum(each.estimate.tested for each in audits),
        tuple(AuditedClass(name, *counts[name]) for name in sorted(counts)),
    )


def describe_audits(audits: Sequence[Audit]) -> list[str]:
    """Return what audits tell, in sentences: of the last model that one measured, and of the last few in the mean."""
    known = known_audits(audits)
    if not known:
        return ["Audit: no row that was drawn by chance has a label yet."] if audits else []
    last = known[-1]
    of_drawn = "" if last.estimate.tested == last.drawn else f" of {last.drawn:,}"
    of_last = (
        f"Audit: the model with {last.labels:,} labels is right in {_shown(last.estimate)} of what round {last.round} "
        f"left of the pool, by {_rows(last.estimate.tested, of_drawn)} drawn by chance."
    )
    lines = [of_last]
    several = known[-N_ROUNDS_IN_MEAN:]
    if len(several) > 1:
        mean = mean_of(several)
        lines.append(
            f"The mean of the last {len(several)} audited models is {_shown(mean)}, by {_rows(mean.tested)}."
        )
    return lines


def _shown(estimate: Estimate) -> str:
    low, high = estimate.interval
    return f"{estimate.accuracy:.1%} (95% interval {low:.1%} to {high:.1%})"


def _rows(n: int, of: str = "") -> str:
    return "1 row" if n == 1 and not of else f"{n:,}{of} rows"
