"""Ways of learning: who picks, and which models are trained anew with what was picked."""

from __future__ import annotations

from typing import Any, NamedTuple

from minmargin.compare.network_trainer import NetworkTrainer
from minmargin.compare.trainers import AnyTrainer, LogisticTrainer, Trainer
from minmargin.errors import InputError, listing, nearest
from minmargin.learners.mlp import MLPLearner

WAYS = ("logistic", "networks", "boosting")

#: A boosted model has a tree for each class and step: with more classes than this, it takes too long.
MOST_BOOSTED_CLASSES = 10
_BOOSTING_STEPS = 100

#: The networks: the package's own settings. Problems come coded: columns keep their proportions, and the draws of one
#: problem make one stack. Fewer epochs would be faster, but models that are not done learning tell less of their rows.
NETWORKS = MLPLearner(standardize=False)


class Way(NamedTuple):
    """A way of learning.

    Attributes:
        name: one of `WAYS`.
        picker: trains the committee that strategies ask.
        judge: trains the models that tell what a batch is worth.
        together: how many draws are played together where a GPU trains their models in one stack.
    """

    name: str
    picker: Trainer
    judge: Trainer
    together: int = 1


def make_way(name: str, n_classes: int) -> Way:
    """Return a way of learning for a problem with so many classes."""
    if name == "networks":
        networks = NetworkTrainer(NETWORKS, n_classes)
        return Way(name, networks, networks, together=4)
    logistic = LogisticTrainer()
    return Way(name, logistic, logistic if name == "logistic" else AnyTrainer(_boosting()))


def can_be_played(way: str, n_classes: int) -> bool:
    """Return whether a way of learning is played on problems with so many classes."""
    return way != "boosting" or n_classes <= MOST_BOOSTED_CLASSES


def check_ways(names: list[str]) -> tuple[str, ...]:
    """Return names of ways, which must be known."""
    for name in names:
        if name not in WAYS:
            raise InputError(
                f"There is no way of learning {name!r} (names: {listing(WAYS)}).{nearest(name, WAYS)}"
            )
    return tuple(names)


def _boosting() -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier  # noqa: PLC0415 - slow to import

    # Rows set aside to stop early would not be learned from, and few are labeled.
    return HistGradientBoostingClassifier(max_iter=_BOOSTING_STEPS, early_stopping=False)
