"""Provenance: what a committee keeps of its training, so that it can select without training again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from minmargin.data.intake import Intake
from minmargin.data.rows import Matrix
from minmargin.learners.base import Preprocess
from minmargin.seeds import SeedTree


@dataclass(frozen=True)
class Provenance:
    """All that a selection and its manifest need to know of the training, besides the models.

    Attributes:
        learner: the learner's name.
        intake: the form in which the models take rows.
        preprocess: what is done to rows before that.
        bootstrap_fraction: beta.
        seeds: the seed tree that the draws came from, and that ties are broken with.
        sparse: whether the models were given CSR rows.
        labeled: returns what the manifest records of the labeled set.
        vectors: returns (N, D) the labeled rows as the learner's last step sees them.
    """

    learner: str
    intake: Intake
    preprocess: Preprocess
    bootstrap_fraction: float
    seeds: SeedTree
    sparse: bool
    labeled: Callable[[], dict[str, Any]]
    vectors: Callable[[], Matrix]
