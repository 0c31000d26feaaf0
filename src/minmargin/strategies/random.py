"""Chance: alone, and mixed half and half with plain margin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from minmargin.data.keys import Keys, are_among
from minmargin.data.rows import concat_rows, take_rows
from minmargin.strategies.base import Context, Needs, RowScore, Shortlist, Stroke
from minmargin.strategies.candidates import Candidates
from minmargin.strategies.registry import RowScoreStrategy, register_strategy, resolve_strategy
from minmargin.topb import KEY, Ranked


@register_strategy(
    "random",
    needs="nothing",
    contest="chance",
    meaning="chance",
    stroke=Stroke("muted", (0, (4, 2)), 1.6),
)
class Random(RowScoreStrategy):
    """A uniform number in [0, 1): every row is as likely as any other."""

    def __init__(self) -> None:
        super().__init__("random", _uniform, needs="nothing", contest="chance")

    def shortlists(self, batch_size: int) -> Sequence[Shortlist]:
        """Return what one pass over the pool must keep: the batch, for which no other row needs to be read."""
        return [Shortlist(self, batch_size, chance=True)]


def _uniform(candidates: Candidates) -> NDArray[np.float64]:
    return candidates.uniform


@register_strategy(
    "random-margin-mix",
    cost="one pass, one model a row",
    meaning="half the margin of one model, half chance",
    stroke=Stroke("gold"),
)
@dataclass(frozen=True)
class RandomMarginMix:
    """Half the batch by margin, half uniformly from the rest.

    The margin half comes first. A row's score is the one it was picked by: its margin, or its random number.
    """

    name = "random-margin-mix"
    needs: ClassVar[Needs] = "base"
    probabilistic = False
    nested = False  # half of a larger batch is more than half of a smaller one

    @property
    def options(self) -> dict[str, Any]:
        """What the manifest records besides the name: nothing."""
        return {}

    def shortlists(self, batch_size: int) -> Sequence[Shortlist]:
        """Return what one pass must keep: enough random rows, should all margin rows be among them."""
        by_margin = cast("RowScore", resolve_strategy("margin"))
        by_chance = cast("RowScore", resolve_strategy("random"))
        return [Shortlist(by_margin, (batch_size + 1) // 2), Shortlist(by_chance, batch_size, chance=True)]

    def finish(self, shortlists: Sequence[Ranked], context: Context) -> Ranked:
        """Return the margin half, then the first random rows that are not in it, nor copies of such."""
        by_margin, by_chance = shortlists
        taken = np.isin(by_chance.rows, by_margin.rows)
        if KEY in by_margin.details:  # rows must be distinct: then copies of these are taken, too
            keys, others = (cast("Keys", each.details[KEY]) for each in (by_chance, by_margin))
            taken |= are_among(keys, others)
        fresh = np.flatnonzero(~taken)
        fresh = fresh[: context.batch_size - len(by_margin.rows)]
        details = {
            name: concat_rows([values, take_rows(by_chance.details[name], fresh)])
            for name, values in by_margin.details.items()
        }
        return Ranked(
            np.concatenate([by_margin.rows, by_chance.rows[fresh]]),
            np.concatenate([by_margin.scores, by_chance.scores[fresh]]),
            details,
        )
