"""Clusters: low margins, but not all of them from the same corner of the pool."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, cast

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from scipy import sparse

from minmargin.checks import check_count, set_without_numpy
from minmargin.compute import Embedding, linear_models, pick_apart
from minmargin.data.rows import Matrix
from minmargin.errors import InputError
from minmargin.seeds import SeedTree
from minmargin.strategies.base import Context, Needs, RowScore, Shortlist, Stroke
from minmargin.strategies.kept import check_lengths, in_pool_order, n_rows_that_fit, take_ranked, too_many
from minmargin.strategies.memory import check_memory_limit
from minmargin.strategies.registry import register_strategy, resolve_strategy
from minmargin.topb import Ranked

Floats = NDArray[np.float64]
Labels = NDArray[np.intp]

# Part of what makes a batch reproducible.
_MOST_CLUSTERS = 1_000  # unless more are asked for
_SAMPLE = 32  # rows a cluster, from which the centers are found
_ROUNDS = 5  # in which centers move
_PRODUCTS = 1 << 22  # of rows with centers that a thread holds at a time


@register_strategy(
    "cluster-margin",
    cost="one pass, one model a row; then clusters in memory",
    meaning="the margin of one model, in turns over clusters",
    stroke=Stroke("green", (0, (1, 1.5))),
)
@dataclass(frozen=True, kw_only=True)
class ClusterMargin:
    """The lowest margins of the base, in turns over clusters (Cluster-Margin, Citovsky et al. 2021).

    The `oversample` * B rows with the lowest margin are kept, and fall into clusters. From the smallest cluster to the
    largest, each gives one row, and then again those that have any left, until the batch is full (their Algorithm 2).
    The score of a row is its margin.

    Three things differ from the paper. Clusters are those of k-means, with Euclidean distances between rows as the
    learner's last step sees them; there, they come from hierarchical clustering with average linkage (HAC). They are
    found among the rows that are kept, once a batch; there, among the whole pool, once for all. And a cluster gives
    the row with the lowest margin that it has left; there, any of its rows.

    Attributes:
        oversample: how many rows are kept for each one that is picked.
        n_clusters: how many clusters are looked for; None: as many as the batch has rows, but no more than 1,000.
        memory_limit: bytes that the kept rows may take; None allows half of this machine's memory.
    """

    oversample: int = 10
    n_clusters: int | None = None
    memory_limit: int | None = None

    name = "cluster-margin"
    needs: ClassVar[Needs] = "base"
    probabilistic = False
    nested = False  # a larger batch keeps more rows, and they fall into other clusters

    def __post_init__(self) -> None:
        set_without_numpy(self)
        check_count("oversample", self.oversample, least=1)
        if self.n_clusters is not None:
            check_count("n_clusters", self.n_clusters, least=1)
        check_memory_limit(self.memory_limit)

    @property
    def options(self) -> dict[str, Any]:
        """What the manifest records besides the name."""
        return {"oversample": self.oversample, "n_clusters": self.n_clusters}

    def shortlists(self, batch_size: int) -> Sequence[Shortlist]:
        """Return what one pass must keep: the rows with the lowest margin, with their vectors."""
        by_margin = cast("RowScore", resolve_strategy("margin"))
        return [Shortlist(by_margin, self.oversample * batch_size, partial(self._check_memory, batch_size))]

    def finish(self, shortlists: Sequence[Ranked], context: Context) -> Ranked:
        """Return the batch."""
        kept = in_pool_order(shortlists[0])
        details = dict(kept.details)
        vectors = cast("Matrix", details.pop("vector"))
        n_clusters = self.n_clusters or min(context.batch_size, _MOST_CLUSTERS)
        check_lengths(kept.rows, Embedding(np.ones((len(kept.rows), 1)), vectors))
        labels = _find_clusters(vectors, kept.rows, n_clusters, context)
        by_margin = np.lexsort((kept.rows, context.seeds.ties(kept.rows), kept.scores))
        picked = by_margin[_in_turns(labels[by_margin])[: context.batch_size]]
        return take_ranked(kept._replace(details=details), picked)

    def _check_memory(self, batch_size: int, n_rows: int, bytes_per_row: float) -> None:
        fits = n_rows_that_fit(n_rows, bytes_per_row, self.memory_limit)
        if fits < n_rows:
            fix = (
                f"Use oversample={fits // batch_size}."
                if fits >= batch_size
                else "Raise memory_limit, or pick fewer rows."
            )
            raise InputError(f"{too_many(self.name, n_rows, bytes_per_row, self.memory_limit)} {fix}")


def _in_turns(labels: Labels) -> NDArray[np.intp]:
    """Return the order in which clusters give their rows in turns, where rows come best first.

    The smallest cluster is first; of equal ones, that with the best row.
    """
    _, firsts, numbers, sizes = np.unique(labels, return_index=True, return_inverse=True, return_counts=True)
    place_of_cluster = np.empty(len(sizes), dtype=np.intp)
    place_of_cluster[np.lexsort((firsts, sizes))] = np.arange(len(sizes))
    together = np.argsort(numbers, kind="stable")
    ends = np.cumsum(sizes)  # whole numbers
    turns = np.empty(len(labels), dtype=np.intp)
    turns[together] = np.arange(len(labels)) - np.repeat(ends - sizes, sizes)
    return np.lexsort((place_of_cluster[numbers], turns))


def _find_clusters(vectors: Matrix, rows: NDArray[np.int64], n_clusters: int, context: Context) -> Labels:
    """Return (n,) the number of each row's cluster, by k-means.

    Centers begin as rows of a sample that lie apart, and move a few times to the mean of the sample's rows that are
    nearest to them. Sums go in the order of rows, so every machine finds the same.
    """
    X = _without_unused(vectors)
    sample = np.arange(len(rows))
    if len(rows) > _SAMPLE * n_clusters:
        by_chance = np.lexsort((rows, context.seeds.uniform(rows)))
        sample = np.sort(by_chance[: _SAMPLE * n_clusters])
    of_sample = X[sample]
    centers = _first_centers(of_sample, rows[sample], n_clusters, context)
    for _ in range(_ROUNDS):
        centers = _means(of_sample, _nearest(of_sample, centers, context.n_jobs), centers)
    return _nearest(X, centers, context.n_jobs)


def _without_unused(vectors: Matrix) -> Matrix:
    """Return the same rows; of sparse ones only the features that some row has, since centers are dense."""
    if not isinstance(vectors, sparse.csr_array):
        return vectors
    used, places = np.unique(vectors.indices, return_inverse=True)
    return sparse.csr_array((vectors.data, places, vectors.indptr), shape=(vectors.shape[0], len(used)))


def _first_centers(X: Matrix, rows: NDArray[np.int64], n_clusters: int, context: Context) -> Floats:
    """Return rows that lie apart, dense: fewer than asked for, if there are not as many different ones."""
    seeds: SeedTree = context.seeds
    picked, _ = pick_apart(
        Embedding(np.ones((len(rows), 1)), X),
        n_clusters,
        ties=seeds.ties(rows),
        chance=seeds.proposals,
        device=context.device,
        n_jobs=context.n_jobs,
    )
    centers = X[picked]
    return np.asarray(
        centers.toarray() if isinstance(centers, sparse.csr_array) else centers, dtype=np.float64
    )


def _nearest(X: Matrix, centers: Floats, n_jobs: int) -> Labels:
    """Return (n,) which center is nearest to each row; the first of several.

    The nearest is where x . c - |c|^2 / 2 is highest. That is a linear model of x, whose scores are canonical.
    """
    n, n_centers = X.shape[0], len(centers)
    if n_centers == 1:
        return np.zeros(n, dtype=np.intp)
    squares = np.zeros(n_centers)
    for values in centers.T:
        squares += values * values
    models = linear_models(centers.T[:, np.newaxis].copy(), -0.5 * squares[np.newaxis], softmax=False)
    step = max(_PRODUCTS // n_centers, 1)

    def find(start: int) -> Labels:
        return cast("Labels", models.class_scores(X[start : start + step])[0].argmax(axis=1))

    with ThreadPoolExecutor(effective_n_jobs(n_jobs)) as threads:
        return np.concatenate(list(threads.map(find, range(0, n, step))))


def _means(X: Matrix, labels: Labels, centers: Floats) -> Floats:
    """Return the mean of each center's rows; a center that has none stays where it is."""
    n_centers, n_features = centers.shape
    counts = np.bincount(labels, minlength=n_centers)[:, np.newaxis]
    # What counts with weights adds one by one, from the first row to the last.
    if isinstance(X, sparse.csr_array):
        of_entries = np.repeat(labels, np.diff(X.indptr)) * n_features + X.indices
        sums = np.bincount(of_entries, X.data.astype(np.float64), minlength=centers.size)
        totals = sums.reshape(centers.shape)
    else:
        columns = [np.bincount(labels, X[:, d], minlength=n_centers) for d in range(n_features)]
        totals = np.stack(columns, axis=1)
    return np.where(counts > 0, totals / np.maximum(counts, 1), centers)
