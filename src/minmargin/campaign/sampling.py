"""Rows of an audit: drawn by chance from what a round leaves of the pool, in the same pass that picks its batch.

An audit row must not depend on what the models make of it. Its chance is a hash of its number under a seed of the
audit's own: were it the noise of the round, a strategy that uses that noise would leave behind rows of a certain kind.
Copies count as often as they are met, also where a batch has distinct rows. The rows come in the order of their hash,
so that the first that are labeled are a sample, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minmargin.batch import Batch
from minmargin.campaign.settings import Settings
from minmargin.data.rows import concat_rows, take_rows
from minmargin.seeds import SeedTree
from minmargin.strategies import Context, Needs, RowScoreStrategy, Shortlist, Strategy, resolve_strategy
from minmargin.strategies.candidates import Candidates
from minmargin.topb import Ranked

_DETAILS = ("member", "first", "second", "predicted", "carried")


@dataclass(frozen=True)
class WithAudit:
    """A strategy, and after its picks rows that are drawn by chance from the rest of the pool.

    Attributes:
        picker: the strategy.
        n_rows: how many rows are drawn; all that are left, if these are fewer.
        seed: of the draw.
    """

    picker: Strategy
    n_rows: int
    seed: int

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
        return {**self.picker.options, "audit": self.n_rows, "audit_seed": self.seed}

    @property
    def nested(self) -> bool:
        """Whether a smaller batch is the beginning of a larger one: no, the draw comes after the picks."""
        return False

    def shortlists(self, batch_size: int) -> Sequence[Shortlist]:
        """Return what one pass must keep: the strategy's own, and enough drawn rows, should all picks be among them."""
        draw = RowScoreStrategy("audit", _Draw(SeedTree(self.seed)), "nothing")
        return [
            *self.picker.shortlists(batch_size),
            Shortlist(draw, batch_size + self.n_rows, copies=True),
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

    def mark(self, batch: Batch, n_picks: int) -> Batch:
        """Return a batch that this strategy gave, with its audit rows marked and told of in the manifest."""
        settings = {**batch.manifest["settings"], "strategy_options": dict(self.picker.options)}
        audit = {"rows": len(batch) - n_picks, "seed": self.seed}
        origin = None if batch.origin is None else replace(batch.origin, strategy=self.picker)
        return replace(
            batch,
            audit=np.arange(len(batch)) >= n_picks,
            manifest={**batch.manifest, "settings": settings, "audit": audit},
            origin=origin,
        )


@dataclass(frozen=True)
class _Draw:
    """The number in [0, 1) that the hash of a row gives."""

    seeds: SeedTree

    def __call__(self, candidates: Candidates) -> NDArray[np.float64]:
        return self.seeds.uniform(candidates.rows)


def strategy_of(settings: Settings, number: int) -> Strategy:
    """Return how a round of a campaign is picked, with its audit if there is one."""
    picker = resolve_strategy(settings.strategy, **settings.strategy_options)
    return WithAudit(picker, settings.audit, settings.audit_seed_of(number)) if settings.audit > 0 else picker


def marked(batch: Batch, strategy: Strategy, n_picks: int) -> Batch:
    """Return the batch of a round; if there was an audit, with its rows marked."""
    return strategy.mark(batch, n_picks) if isinstance(strategy, WithAudit) else batch
