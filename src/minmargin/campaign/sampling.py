"""Rows that are drawn by chance from what a round leaves of the pool, in the same pass that picks its batch.

There are two kinds. The rows of an **audit** come with the batch and are labeled. The rows of a **stop set** are not:
the journal keeps what the round's model takes them for, so that the models of successive rounds can be compared.

A drawn row must not depend on what the models make of it. Its chance is a hash of its number under a seed of the draw's
own: were it the noise of the round, a strategy that uses that noise would leave behind rows of a certain kind. Copies
count as often as they are met, also where a batch has distinct rows. The rows come in the order of their hash, so that
the first of them are a sample, too.

An audit has another seed in each round. A stop set has one for the whole campaign: of the rows that are left, the ones
with the smallest hashes are the same in every round, however the pool is read, but for those that were picked since.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from minmargin.batch import Batch
from minmargin.campaign.settings import Settings
from minmargin.data.rows import concat_rows, take_rows
from minmargin.seeds import SeedTree
from minmargin.strategies import Context, Needs, RowScoreStrategy, Shortlist, Strategy, resolve_strategy
from minmargin.strategies.candidates import Candidates
from minmargin.topb import Ranked

#: How many rows a stop set has; all that are left, if these are fewer.
STOP_SET_SIZE = 2_000

_DETAILS = ("member", "first", "second", "predicted", "carried")


@dataclass(frozen=True)
class WithDrawn:
    """A strategy, and after its picks rows that are drawn by chance from the rest of the pool.

    Attributes:
        picker: the strategy, which may itself draw rows after its picks.
        n_rows: how many rows are drawn; all that are left, if these are fewer.
        seed: of the draw.
        purpose: what the rows are for, in a word: two draws must not have the same.
    """

    picker: Strategy
    n_rows: int
    seed: int
    purpose: str

    @property
    def name(self) -> str:
        """The strategy's own name: the draw is no way to pick."""
        return self.picker.name

    @property
    def needs(self) -> Needs:
        """Which models the strategy looks at; the draw looks at none."""
        return self.picker.needs

    @property
    def probabilistic(self) -> bool:
        """Whether the strategy needs probabilities."""
        return self.picker.probabilistic

    @property
    def options(self) -> Mapping[str, Any]:
        """What a checkpoint must know of: another draw keeps other rows."""
        return {**self.picker.options, self.purpose: self.n_rows, f"{self.purpose}_seed": self.seed}

    @property
    def nested(self) -> bool:
        """Whether a smaller batch is the beginning of a larger one: no, the draw comes after the picks."""
        return False

    def shortlists(self, batch_size: int) -> Sequence[Shortlist]:
        """Return what one pass must keep: the strategy's own, and enough drawn rows, should all picks be among them."""
        draw = RowScoreStrategy(self.purpose, _Draw(SeedTree(self.seed)), "nothing")
        drawn_before = self.picker.n_rows if isinstance(self.picker, WithDrawn) else 0
        return [
            *self.picker.shortlists(batch_size),
            Shortlist(draw, batch_size + drawn_before + self.n_rows, copies=True),
        ]

    def finish(self, shortlists: Sequence[Ranked], context: Context) -> Ranked:
        """Return the picks, then the first drawn rows that are not among them."""
        *own, drawn = shortlists
        picks = self.picker.finish(own, context)
        rest = np.flatnonzero(~np.isin(drawn.rows, picks.rows))[: self.n_rows]
        details = {
            name: concat_rows([picks.details[name], take_rows(drawn.details[name], rest)])
            for name in _DETAILS
            if name in picks.details
        }
        return Ranked(
            np.concatenate([picks.rows, drawn.rows[rest]]),
            np.concatenate([picks.scores, drawn.scores[rest]]),
            details,
        )


@dataclass(frozen=True)
class _Draw:
    """The number in [0, 1) that the hash of a row gives."""

    seeds: SeedTree

    def __call__(self, candidates: Candidates) -> NDArray[np.float64]:
        return self.seeds.uniform(candidates.rows)


class Drawn(NamedTuple):
    """What a round has picked and drawn.

    Attributes:
        batch: the picks, and after them the rows of its audit, which are marked.
        stop_set: the rows of its stop set, those that were picked too, with the class that the model takes each for;
            None if there was none.
    """

    batch: Batch
    stop_set: Batch | None


def strategy_of(settings: Settings, number: int) -> Strategy:
    """Return how a round of a campaign is picked, with what it draws by chance."""
    picker = resolve_strategy(settings.strategy, **settings.strategy_options)
    if settings.audit > 0:
        picker = WithDrawn(picker, settings.audit, settings.audit_seed_of(number), "audit")
    if settings.stop_hints:
        picker = WithDrawn(picker, STOP_SET_SIZE, settings.stop_set_seed, "stop_set")
    return picker


def told_apart(batch: Batch, strategy: Strategy, n_picks: int) -> Drawn:
    """Return the batch of a round, which a strategy of `strategy_of` has picked, and the rows of its stop set."""
    stop_set = None
    if isinstance(strategy, WithDrawn) and strategy.purpose == "stop_set":
        draw, strategy = strategy, strategy.picker
        n_rows = n_picks + (strategy.n_rows if isinstance(strategy, WithDrawn) else 0)
        stop_set = _stop_set_of(batch, n_rows, draw)
        batch = _picked_by(batch[:n_rows], strategy)
    if isinstance(strategy, WithDrawn):
        audit = {"rows": len(batch) - n_picks, "seed": strategy.seed}
        batch = replace(_picked_by(batch, strategy.picker), audit=np.arange(len(batch)) >= n_picks)
        batch = replace(batch, manifest={**batch.manifest, "audit": audit})
    return Drawn(batch, stop_set)


def _stop_set_of(batch: Batch, n_rows: int, draw: WithDrawn) -> Batch:
    """Return the drawn rows, which come after so many others, and those of these that were drawn, too."""
    chances = SeedTree(draw.seed).uniform(batch.rows)
    drawn = chances[n_rows:]
    return batch[chances <= drawn.max()] if len(drawn) == draw.n_rows else batch


def _picked_by(batch: Batch, strategy: Strategy) -> Batch:
    """Return a batch as if a strategy alone had picked it."""
    settings = {**batch.manifest["settings"], "strategy_options": dict(strategy.options)}
    origin = None if batch.origin is None else replace(batch.origin, strategy=strategy)
    return replace(batch, manifest={**batch.manifest, "settings": settings}, origin=origin)
