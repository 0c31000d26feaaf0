"""Gradients: rows that would pull a model hard, each in another direction.

If a row's label were the class that is thought most likely, the last linear layer would be moved by the outer product
of g = p - onehot(that class) with f, which is what the layer sees of the row, and a 1 for the intercept. |g| tells how
unsure the model is, and the product in which direction a label would move it. Rows whose products lie apart are found
by k-means++ (see `compute.pick_apart`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from minmargin import margins
from minmargin.checks import check_count, set_without_numpy
from minmargin.compute import Embedding, pick_apart
from minmargin.data.rows import Matrix
from minmargin.errors import InputError
from minmargin.margins import ScoreName
from minmargin.strategies.base import Contest, Context, Needs, Reasons, Shortlist, Stroke
from minmargin.strategies.candidates import Candidates
from minmargin.strategies.kept import InMemory, check_lengths, take_ranked
from minmargin.strategies.registry import register_strategy, without_member
from minmargin.topb import Ranked

_GRADIENT, _VECTOR = "gradient", "vector"
_LEAST_LENGTH = 1e-300  # of a gradient, so that its logarithm is finite
_SLACK = 1e-9  # more than rounding can add to a length


@register_strategy(
    "spread",
    cost="one pass, K models for the few rows that chance leaves; then oversample * B rows in memory",
    contest="mean",
    meaning="how unsure the mean of {K} members is, and how far apart rows lie",
    stroke=Stroke("ink", width=2.2),
    apart=True,
)
@dataclass(frozen=True, kw_only=True)
class Spread:
    """Unsure rows, spread out: drawn by how unsure the members' mean is, then thinned out by k-means++.

    One pass draws `oversample` * B rows in proportion to |g|, where p is the members' mean. Among them, the first pick
    has the longest product of g with f / |f|^(1/2). Each next one is drawn in proportion to the squared distance of its
    product from the nearest pick. The score is minus that distance. No two picks have the same features.

    Attributes:
        oversample: how many rows are drawn for each that is picked.
    """

    oversample: int = 4

    name: ClassVar[str] = "spread"
    needs: ClassVar[Needs] = "members"
    probabilistic: ClassVar[bool] = True
    nested: ClassVar[bool] = False

    def __post_init__(self) -> None:
        set_without_numpy(self)
        check_count("oversample", self.oversample, least=1, usual=4)

    @property
    def options(self) -> dict[str, Any]:
        """What the manifest records besides the name."""
        return asdict(self)

    def shortlists(self, batch_size: int) -> Sequence[Shortlist]:
        """Return what one pass must keep: the rows that are drawn."""
        size = self.oversample * batch_size
        return [Shortlist(_Drawn(), size, notes=_of_members, distinct=True, floor=_floor)]

    def finish(self, shortlists: Sequence[Ranked], context: Context) -> Ranked:
        """Return the batch."""
        return _pick_apart(shortlists[0], context, shorten=_shortened)


@register_strategy(
    "badge",
    cost="in memory, B passes over the candidates",
    meaning="how far apart the gradients of one model lie",
    stroke=Stroke("purple", (0, (5, 1.5, 1, 1.5))),
    apart=True,
)
@dataclass(frozen=True, kw_only=True)
class Badge(InMemory):
    """Gradients of the base that are large and lie apart, by k-means++ (BADGE, Ash et al. 2020).

    The first pick has the largest one (their equation 1). The next are drawn in proportion to the squared distance from
    the nearest pick, and the score is minus that distance. When all rows that are left have the gradients of picks,
    those with the lowest margin follow.
    """

    name = "badge"
    probabilistic = True

    def shortlists(self, batch_size: int) -> Sequence[Shortlist]:
        """Return what one pass must keep: all rows, or the `prefilter` rows with the lowest margin."""
        return [each._replace(notes=_of_base) for each in super().shortlists(batch_size)]

    def finish(self, shortlists: Sequence[Ranked], context: Context) -> Ranked:
        """Return the batch."""
        return _pick_apart(shortlists[0], context, shorten=lambda features: features)


@dataclass(frozen=True)
class _Drawn:
    """-log|g| minus Gumbel noise: the lowest are drawn without replacement, in proportion to |g|."""

    needs: ClassVar[Needs] = "members"
    screen: ClassVar[ScoreName | None] = None
    contest: ClassVar[Contest] = "mean"

    def score(self, candidates: Candidates) -> NDArray[np.float64]:
        lengths = margins.norms(_gradients(candidates.mean_scores))
        # A row that has no length must not be dismissed: `finish` says which it is.
        known = np.where(np.isfinite(lengths), lengths, _longest(candidates.mean_scores.shape[1]))
        return -margins.log(np.maximum(known, _LEAST_LENGTH)) - candidates.gumbel

    def explain(self, candidates: Candidates) -> Reasons:
        return without_member(candidates.mean_scores)


def _longest(n_classes: int) -> float:
    """Return a length that no gradient exceeds.

    A convex function of probabilities is largest at a corner of what is possible. There k classes have 1/k each, and
    the length is (1 - 1/k)^(1/2).
    """
    return math.sqrt(1.0 - 1.0 / n_classes) * (1.0 + _SLACK)


def _floor(n_classes: int) -> float:
    """Return what -log|g| is never below."""
    return float(-margins.log(np.array(_longest(n_classes)))) - _SLACK


def _gradients(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return (n, C) g: probabilities, less 1 for the most likely class."""
    gradients = probabilities.copy()
    gradients[np.arange(len(gradients)), gradients.argmax(axis=1)] -= 1.0
    return gradients


def _of_members(candidates: Candidates) -> Mapping[str, Any]:
    return _factors(candidates, candidates.mean_scores)


def _of_base(candidates: Candidates) -> Mapping[str, Any]:
    return _factors(candidates, candidates.base_scores)


def _factors(candidates: Candidates, probabilities: NDArray[np.float64]) -> Mapping[str, Any]:
    """Return (n, C) g and (n, D + 1) f, by name."""
    vectors = candidates.embedding
    ones = np.ones((len(candidates), 1), dtype=vectors.dtype)
    if isinstance(vectors, sparse.csr_array):
        features: Matrix = sparse.csr_array(sparse.hstack([vectors, sparse.csr_array(ones)], format="csr"))
    else:
        features = np.hstack([vectors, ones])
    return {_GRADIENT: _gradients(probabilities), _VECTOR: features}


def _pick_apart(shortlist: Ranked, context: Context, *, shorten: Callable[[Matrix], Matrix]) -> Ranked:
    """Return rows of a shortlist that lie apart; then, where too few do, its others in their order."""
    order = np.argsort(shortlist.rows)  # that of the pool, which does not depend on scores
    details = dict(shortlist.details)
    gradients, features = (cast("Any", details.pop(name))[order] for name in (_GRADIENT, _VECTOR))
    candidates = take_ranked(shortlist._replace(details=details), order)
    _check_scored(candidates.rows, gradients, features)
    embedding = Embedding(gradients, shorten(_without_missing(features)))
    check_lengths(candidates.rows, embedding)
    picked, squares = pick_apart(
        embedding,
        context.batch_size,
        ties=context.seeds.ties(candidates.rows),
        chance=context.seeds.proposals,
        device=context.device,
        n_jobs=context.n_jobs,
    )
    in_line = np.searchsorted(candidates.rows, shortlist.rows)
    rest = in_line[~np.isin(in_line, picked)][: context.batch_size - len(picked)]
    batch = take_ranked(candidates, np.concatenate([picked, rest]))
    return batch._replace(scores=0.0 - np.concatenate([np.sqrt(squares), np.zeros(len(rest))]))


def _shortened(features: Matrix) -> Matrix:
    """Return f / |f|^(1/2), in float64."""
    by = np.sqrt(margins.norms(features))
    if isinstance(features, sparse.csr_array):
        return _with_values(features, features.data / np.repeat(by, np.diff(features.indptr)))
    return np.asarray(features / by[:, np.newaxis])


def _without_missing(features: Matrix) -> Matrix:
    """Return features with 0 where a value is missing, which only some learners allow."""
    values = features.data if isinstance(features, sparse.csr_array) else features
    if not np.isnan(values).any():
        return features
    known = np.where(np.isnan(values), values.dtype.type(0), values)
    return _with_values(features, known) if isinstance(features, sparse.csr_array) else known


def _with_values(features: sparse.csr_array, values: NDArray[Any]) -> sparse.csr_array:
    return sparse.csr_array((values, features.indices, features.indptr), shape=features.shape)


def _check_scored(rows: NDArray[np.int64], gradients: NDArray[np.float64], features: Matrix) -> None:
    """Raise an error that names the first row which no model can score."""
    unscored = np.flatnonzero(~np.isfinite(gradients).all(axis=1))
    if not len(unscored):
        return
    row, place = int(rows[unscored[0]]), int(unscored[0])
    vector = features[[place]]
    values = vector.toarray()[0] if isinstance(vector, sparse.csr_array) else vector[0]
    wrong = np.flatnonzero(~np.isfinite(values))
    if not len(wrong):
        raise InputError(f"The class scores of pool row {row:,} are not finite numbers. Scale its features.")
    missing = bool(np.isnan(values[wrong[0]]))
    problem = "is missing (NaN)" if missing else "is infinite"
    fix = "Fill it, drop the row, or use preprocess='auto'" if missing else "Replace it"
    raise InputError(f"Pool row {row:,}, column {int(wrong[0]):,} {problem}. {fix}.")
