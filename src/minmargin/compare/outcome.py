"""Outcome: what a batch was worth."""

from __future__ import annotations

from typing import NamedTuple

#: The pseudo-strategy that picks nothing: how good the model is before any batch.
NONE = "none"
#: The pseudo-strategy of a model that says the same of every row.
CONSTANT = "constant"


class Outcome(NamedTuple):
    """What a batch was worth: the scores after training with it, and the seconds that picking took."""

    strategy: str
    batch_size: int
    scores: tuple[float, ...]
    seconds: float

    @property
    def score(self) -> float:
        """The first score, which is the only one where a single scoring is played."""
        return self.scores[0]
