"""Batches that are drawn: a row is the more likely to be picked the lower its margin, and no row is sure of its place.

The B lowest of a score minus Gumbel noise are B rows drawn one after the other, without replacement, each in proportion
to e^-score of those that are left (Kirsch et al. 2023, "Stochastic Batch Acquisition: A Simple Baseline for Deep Active
Learning"). Noise is a hash, so a drawn batch is as reproducible as any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from minmargin import margins
from minmargin.checks import is_number, set_without_numpy
from minmargin.data.rows import take_rows
from minmargin.errors import InputError
from minmargin.strategies.base import Context, Needs, RowScore, Shortlist, Stroke
from minmargin.strategies.candidates import Candidates
from minmargin.strategies.memory import check_memory_limit, gigabytes, half_of_memory
from minmargin.strategies.registry import RowScoreStrategy, register_strategy, resolve_strategy
from minmargin.topb import Ranked, TopB

# The least doubt there is: 1 minus the number next to it. Below, its logarithm would be infinite.
_LEAST_DOUBT = 1.0 - np.nextafter(1.0, 0.0)
_RANKS_AT_A_TIME = 1 << 18


@register_strategy(
    "power-margin",
    contest="mean",
    meaning="a draw in proportion to how undecided the mean of {K} members is",
    stroke=Stroke("gold", (0, (3, 1.5))),
)
class PowerMargin(RowScoreStrategy):
    """A draw in proportion to (1 - margin of the members' mean) to a power (Kirsch et al. 2023, power acquisition).

    The power is `sharpness`, which the paper calls beta: 0 is chance alone, and many are nearly `margin-of-mean`.
    """

    def __init__(self, *, sharpness: float = 1.0) -> None:
        _check_sharpness(sharpness)
        super().__init__(
            "power-margin",
            partial(_draw_by_power, sharpness=float(sharpness)),
            needs="members",
            probabilistic=True,
            contest="mean",
            options={"sharpness": float(sharpness)},
        )


def _draw_by_power(candidates: Candidates, *, sharpness: float) -> NDArray[np.float64]:
    doubt = np.maximum(1.0 - margins.margin(candidates.mean_scores), _LEAST_DOUBT)
    return -(sharpness * margins.log(doubt)) - candidates.gumbel


@register_strategy(
    "soft-rank",
    cost="in memory, one pass, K models a row",
    contest="mean",
    meaning="a draw in favor of low ranks by the margin of the mean of {K} members",
    stroke=Stroke("gold", (0, (1, 1.5))),
)
@dataclass(frozen=True, kw_only=True)
class SoftRank:
    """A draw in proportion to 1 / rank by margin of the members' mean, to a power (Kirsch et al. 2023, softrank).

    Only the order of margins counts, so they need not be of probabilities. The score of the row with rank r is
    sharpness * log(r) minus the noise of r. Noise goes with ranks and not with rows: ranks are drawn, and rows follow.

    Attributes:
        sharpness: the power, which the paper calls beta; 0 is chance alone, and many are nearly `margin-of-mean`.
        memory_limit: bytes that the kept rows may take; None allows half of this machine's memory.
    """

    sharpness: float = 1.0
    memory_limit: int | None = None

    name: ClassVar[str] = "soft-rank"
    needs: ClassVar[Needs] = "members"
    probabilistic: ClassVar[bool] = False
    nested: ClassVar[bool] = True

    def __post_init__(self) -> None:
        set_without_numpy(self)
        _check_sharpness(self.sharpness)
        check_memory_limit(self.memory_limit)

    @property
    def options(self) -> dict[str, Any]:
        """What the manifest records besides the name."""
        return {"sharpness": float(self.sharpness)}

    def shortlists(self, batch_size: int) -> Sequence[Shortlist]:
        """Return what one pass must keep: all rows, since any rank may be drawn."""
        by = cast("RowScore", resolve_strategy("margin-of-mean"))
        return [Shortlist(by, None, check_rows=self._check_memory)]

    def finish(self, shortlists: Sequence[Ranked], context: Context) -> Ranked:
        """Return the rows whose ranks are drawn, the first drawn first."""
        ranked = shortlists[0]
        drawn = TopB(context.batch_size, context.seeds)
        for start in range(0, len(ranked.rows), _RANKS_AT_A_TIME):
            places = np.arange(start, min(start + _RANKS_AT_A_TIME, len(ranked.rows)))
            ranks = (places + 1).astype(np.float64)
            drawn.update(places, self.sharpness * margins.log(ranks) - context.seeds.gumbel(places))
        places, scores, _ = drawn.finish()
        details = {name: take_rows(values, places) for name, values in ranked.details.items()}
        return Ranked(ranked.rows[places], scores, details)

    def _check_memory(self, n_rows: int, bytes_per_row: float) -> None:
        limit = self.memory_limit if self.memory_limit is not None else half_of_memory()
        # Joining and sorting the kept runs of rows holds them twice for a moment.
        needed = 2 * n_rows * bytes_per_row
        if needed > limit:
            raise InputError(
                f"Strategy 'soft-rank' ranks all candidates in memory: {n_rows:,} rows need about {gigabytes(needed)} "
                f"and {gigabytes(limit)} may be used. Raise memory_limit, or use strategy='power-margin', which keeps "
                "no more than the batch."
            )


def _check_sharpness(sharpness: float) -> None:
    # So far from 1, noise decides nothing any more; and nothing overflows yet.
    if not (is_number(sharpness) and 0 <= sharpness <= 1e6):
        raise InputError(
            f"sharpness={sharpness!r} must lie between 0 (chance alone) and 1e6 (hardly any); 1 is usual."
        )
