"""Stable predictions: whether the models of successive rounds still differ in what they take rows of the pool for.

Bloodgood and Vijay-Shanker (2009) stop when they do not: when Cohen's kappa between the predictions of successive
models on a fixed set of rows, in the mean of the last three comparisons, is at least 0.99. Kappa is agreement beyond
what chance gives, and chance gives much where one class is common: two models that nearly always say "no" agree nearly
always.

The rows are those of the stop set: see `sampling`. Rows that were picked in between are left out, since nobody needs a
prediction of them any more. Of two rounds without new labels in between, the later counts: that is one model, seen
twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, NamedTuple

#: The mean kappa from which predictions are called stable, and of how many comparisons it is taken.
LEAST_KAPPA = 0.99
N_PAIRS = 3
#: With fewer rows, a kappa tells too little.
LEAST_ROWS = 500


class Model(NamedTuple):
    """What the model of a round takes the rows of its stop set for.

    Attributes:
        round: its number.
        labels: how many labels the model had learned from.
        learned_from: what tells the model from that of another round.
        predicted: the class of each row, by its id.
    """

    round: int
    labels: int
    learned_from: Hashable
    predicted: Mapping[str, str]


class Pair(NamedTuple):
    """How far two successive models agree.

    Attributes:
        rounds: of which the models are.
        labels: how many labels each had learned from.
        rows: how many rows of the pool both have predicted.
        agreed: how many of these alike.
        kappa: the same beyond chance; None if both take all rows for one class, or there is none.
    """

    rounds: tuple[int, int]
    labels: tuple[int, int]
    rows: int
    agreed: int
    kappa: float | None


@dataclass(frozen=True)
class Stability:
    """How far successive models agree.

    Attributes:
        n_models: how many models there are.
        pairs: each of them with the one after it, the first ones first.
    """

    n_models: int
    pairs: tuple[Pair, ...]

    @property
    def last(self) -> tuple[Pair, ...]:
        """The pairs that tell whether predictions are stable."""
        return self.pairs[-N_PAIRS:]

    @property
    def kappa(self) -> float | None:
        """The mean kappa of the last three pairs; None if it is not known of each, or told by too few rows."""
        known = [each.kappa for each in self.last if each.kappa is not None and each.rows >= LEAST_ROWS]
        # Three times 0.99 is not below 0.99 in the mean, as floats would have it.
        return round(fmean(known), 12) if len(known) == N_PAIRS else None

    @property
    def stable(self) -> bool:
        """Whether predictions have hardly changed."""
        return self.kappa is not None and self.kappa >= LEAST_KAPPA

    @property
    def sentence(self) -> str:
        """How far the last models agree, in words."""
        last = self.last
        if len(last) < N_PAIRS:
            return (
                f"Stable predictions: cannot tell yet. It takes {N_PAIRS + 1} models of rounds with stop hints, and "
                f"there {'is' if self.n_models == 1 else 'are'} {self.n_models}."
            )
        rows, most = min(each.rows for each in last), max(each.rows for each in last)
        if rows < LEAST_ROWS:
            return (
                f"Stable predictions: cannot tell. The last models can be compared on {rows:,} rows of the pool, and "
                f"it takes {LEAST_ROWS:,}."
            )
        if self.kappa is None:
            return "Stable predictions: cannot tell. Successive models take all compared rows for one class."
        by = f"{rows:,} rows" if rows == most else f"{rows:,} rows or more"
        before, after = last[0].labels[0], last[-1].labels[1]
        said = "have hardly changed" if self.stable else "still change"
        return (
            f"Predictions {said}: kappa {_shown(self.kappa)} in the mean of the last {N_PAIRS} pairs of models (with "
            f"{before:,} to {after:,} labels), by {by} of the pool."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return all of it, ready for JSON."""
        return {
            "stable": self.stable,
            "kappa": self.kappa,
            "least_kappa": LEAST_KAPPA,
            "sentence": self.sentence,
            "pairs": [each._asdict() for each in self.pairs],
        }


def compare_models(models: Sequence[Model]) -> Stability:
    """Return how far each model agrees with the one before it; they come in the order of their rounds."""
    others: list[Model] = []
    for model in models:
        if others and others[-1].learned_from == model.learned_from:
            others.pop()
        others.append(model)
    return Stability(len(others), tuple(map(_compare, others, others[1:])))


def _compare(before: Model, after: Model) -> Pair:
    both = [
        (guess, after.predicted[each]) for each, guess in before.predicted.items() if each in after.predicted
    ]
    agreed = sum(one == other for one, other in both)
    labels = (before.labels, after.labels)
    return Pair((before.round, after.round), labels, len(both), agreed, kappa_of(both))


def kappa_of(pairs: Sequence[tuple[str, str]]) -> float | None:
    """Return Cohen's kappa of pairs of predictions; None if chance alone explains that all agree (Cohen 1960).

    >>> round(kappa_of([("no", "no")] * 8 + [("yes", "yes"), ("no", "yes")]), 3)
    0.615
    """
    n = len(pairs)
    firsts, seconds = Counter(one for one, _ in pairs), Counter(other for _, other in pairs)
    by_chance = sum(
        count * seconds[name] for name, count in firsts.items()
    )  # in whole numbers: n * n of n * n is all
    if by_chance == n * n:
        return None
    agreed = sum(one == other for one, other in pairs)
    return (agreed * n - by_chance) / (n * n - by_chance)


def _shown(kappa: float) -> str:
    """Return a kappa with three digits, rounded down: 0.99 must not be what is just below it.

    >>> _shown(0.98999), _shown(0.995)
    ('0.989', '0.995')
    """
    return f"{int(kappa * 1000 + 1e-9) / 1000:.3f}"
