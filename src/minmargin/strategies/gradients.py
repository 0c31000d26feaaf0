"""Gradients: rows that would pull a model hard, each in another direction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from minmargin.compute import Embedding, pick_apart
from minmargin.data.rows import Matrix
from minmargin.strategies.base import Context, Shortlist, Stroke
from minmargin.strategies.candidates import Candidates
from minmargin.strategies.kept import InMemory, in_pool_order, take_ranked
from minmargin.strategies.registry import register_strategy
from minmargin.topb import Ranked

_GRADIENT = "gradient"


@register_strategy(
    "badge",
    cost="in memory, B passes over the candidates",
    meaning="how far apart the gradients of one model lie",
    stroke=Stroke("purple", (0, (5, 1.5, 1, 1.5))),
)
@dataclass(frozen=True, kw_only=True)
class Badge(InMemory):
    """Gradients of the base that are large and lie apart, by k-means++ (BADGE, Ash et al. 2020).

    A row's gradient is that of the base's last linear layer if its prediction were the label (their equation 1): the
    outer product of p - onehot(prediction) with the row as the last layer sees it, to which a 1 is appended for the
    intercept. The first pick has the largest one. The next are drawn in proportion to the squared distance from the
    nearest pick, and minus that is the score. When all rows that are left have the gradients of picks, those with the
    lowest margin follow.
    """

    name = "badge"
    probabilistic = True

    def shortlists(self, batch_size: int) -> Sequence[Shortlist]:
        """Return what one pass must keep: all rows, or the `prefilter` rows with the lowest margin."""
        return [each._replace(notes=_gradients) for each in super().shortlists(batch_size)]

    def finish(self, shortlists: Sequence[Ranked], context: Context) -> Ranked:
        """Return the batch."""
        candidates = in_pool_order(shortlists[0])
        details = dict(candidates.details)
        gradients, vectors = details.pop(_GRADIENT), details.pop("vector")
        ties = context.seeds.ties(candidates.rows)
        picked, distances = pick_apart(
            Embedding(cast("NDArray[np.float64]", gradients), _with_ones(cast("Matrix", vectors))),
            context.batch_size,
            ties=ties,
            chance=context.seeds.proposals,
            device=context.device,
            n_jobs=context.n_jobs,
        )
        by_margin = np.lexsort((candidates.rows, ties, candidates.scores))
        rest = by_margin[~np.isin(by_margin, picked)][: context.batch_size - len(picked)]
        batch = take_ranked(candidates._replace(details=details), np.concatenate([picked, rest]))
        return batch._replace(scores=0.0 - np.concatenate([distances, np.zeros(len(rest))]))


def _gradients(candidates: Candidates) -> Mapping[str, NDArray[np.float64]]:
    """Return (n, C) p - onehot(prediction) of the base, by name."""
    gradients = candidates.base_scores.copy()
    gradients[np.arange(len(gradients)), gradients.argmax(axis=1)] -= 1.0
    return {_GRADIENT: gradients}


def _with_ones(vectors: Matrix) -> Matrix:
    """Return (n, D + 1) float64 vectors, the last feature of which is 1."""
    n, n_features = vectors.shape
    if isinstance(vectors, sparse.csr_array):
        ones = sparse.csr_array(np.ones((n, 1)))
        return sparse.csr_array(sparse.hstack([vectors.astype(np.float64), ones], format="csr"))
    right = np.ones((n, n_features + 1))
    right[:, :-1] = vectors
    return right
