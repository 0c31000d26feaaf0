"""The oracle for selection: every class score of the whole pool at once, one Python number at a time, then a full sort.

It has formulas of its own. Of the package it uses what is tested by itself and whose bits cannot be had otherwise: the
canonical exponential (and logarithm), and the seeds. No blocks, no TopB, no kernels, no threads.

The contract suites go by the tables `ROW_SCORES` and `BATCHES`: every strategy of the package stands in one of them.
How rows are picked that lie apart, and clusters made, stands in `brute_force_apart`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy import sparse

from brute_force_apart import clusters, gradient, length, pick_apart
from minmargin.margins import exp_nonpositive, log
from minmargin.seeds import SeedTree
from minmargin.strategies import resolve_strategy


class Row(NamedTuple):
    """A row of the pool: its class scores under the base and each member, its random number, features and noise."""

    base: list[float]
    members: list[list[float]]
    uniform: float
    x: list[float]
    noise: float = 0.0


def mean(values):
    total = 0.0
    for value in values:
        total += value
    return total / len(values)


def margin(scores):
    highest, second = sorted(scores, reverse=True)[:2]
    return highest - second


def votes_for(members, code):
    return sum(scores.index(max(scores)) == code for scores in members)


def variance(values):
    center = mean(values)
    return mean([(value - center) * (value - center) for value in values])


def min_margin(row):
    return min(margin(scores) for scores in row.members)


def mean_margin(row):
    return mean([margin(scores) for scores in row.members])


def mean_scores(row):
    return [mean(of_class) for of_class in zip(*row.members, strict=True)]


def margin_of_mean(row):
    return margin(mean_scores(row))


def vote_margin(row):
    return margin([votes_for(row.members, code) for code in range(len(row.base))]) / len(row.members)


def var_softmax(row):
    total = 0.0
    for of_class in zip(*row.members, strict=True):
        total += variance(of_class)
    return -total


def entropy(probabilities):
    total = 0.0
    for p in probabilities:
        if p > 0:
            total -= p * float(log(np.array(p)))
    return total


def bald(row):
    return mean([entropy(scores) for scores in row.members]) - entropy(mean_scores(row))


def power_margin(row):
    doubt = max(1.0 - margin_of_mean(row), 2.0**-53)
    return -float(log(np.array(doubt))) - row.noise


#: Strategies that score each row by itself: what they must give for one row.
ROW_SCORES = {
    "min-margin": min_margin,
    "margin": lambda row: margin(row.base),
    "mean-margin": mean_margin,
    "margin-of-mean": margin_of_mean,
    "committee": vote_margin,
    "var-softmax": var_softmax,
    "bald": bald,
    "entropy": lambda row: -entropy(mean_scores(row)),
    "least-confident": lambda row: max(mean_scores(row)),
    "random": lambda row: row.uniform,
    "power-margin": power_margin,
    "true-margin": lambda row: abs(row.x[0]),
}


def pick(
    strategy,
    base,
    members,
    vectors,
    labeled_vectors,
    batch_size,
    seed,
    out=(),
    X=None,
    *,
    embedding=None,
    distinct=False,
):
    """Return the rows and scores of the batch that `strategy` must pick; the rows `out` score infinity.

    `X` are the rows in the learner's form, and `embedding` what the base's last layer sees, if these are others than
    the vectors. If rows must be distinct, no two of the batch have the same vector.
    """
    X, embedding = (vectors if given is None else given for given in (X, embedding))
    pool = Pool(base, members, X, vectors, labeled_vectors, seed, list(out), distinct, embedding)
    return batch_of(strategy)(pool, batch_size)


def row_scores(strategy, base, members, seed, X):
    """Return the scores that `strategy`, which scores each row by itself, must give to all rows."""
    return Pool(base, members, X, X, X, seed).scores(ROW_SCORES[strategy])


def batch_of(strategy):
    """Return the oracle of a strategy's batches, or say that it has none."""
    if strategy in ROW_SCORES:
        return lambda pool, batch_size: pool.lowest(pool.scores(ROW_SCORES[strategy]), batch_size)
    assert strategy in BATCHES, (
        f"Strategy {strategy!r} has no oracle. Write down in tests/brute_force.py what it must give: in ROW_SCORES if "
        "it scores each row by itself, else in BATCHES."
    )
    return BATCHES[strategy]


def made(strategy):
    """Return a strategy of the package by name; one that has to be given a function gets one."""

    def true_margin(X):  # in here, so that it can travel to where this module is not known
        X = np.asarray(X.toarray() if sparse.issparse(X) else X)
        return (
            np.abs(X[:, 0].astype(np.float64)) if X.ndim == 2 else np.array([float(len(text)) for text in X])
        )

    options = {"true-margin": {"function": true_margin}}
    return resolve_strategy(strategy, **options.get(strategy, {}))


def in_order(scores, seed):
    """Return the row numbers sorted by (score, tie hash, row)."""
    rows = np.arange(len(scores))
    return np.lexsort((rows, SeedTree(seed).ties(rows), scores))


class Pool(NamedTuple):
    """Everything that a strategy may know of a pool. The rows `out` must not be picked.

    If it is `distinct`, no row must be picked that has the vector of another one.
    """

    base: np.ndarray
    members: np.ndarray
    X: np.ndarray
    vectors: np.ndarray
    labeled_vectors: np.ndarray
    seed: int
    out: list[int] = []  # noqa: RUF012 - never written to
    distinct: bool = False
    embedding: np.ndarray | None = None

    def seen(self, row):
        """Return what the base's last layer sees of a row, and a 1."""
        return [*dense(self.embedding)[row].astype(np.float64).tolist(), 1.0]

    def scores(self, formula):
        """Return a score of every row, which is infinite for the rows that are out."""
        seeds, rows = SeedTree(self.seed), np.arange(len(self.base))
        uniform, noise = seeds.uniform(rows).tolist(), seeds.gumbel(rows).tolist()
        X = self.X.toarray() if sparse.issparse(self.X) else np.asarray(self.X)
        scores = [
            formula(
                Row(self.base[n].tolist(), self.members[:, n].tolist(), uniform[n], X[n].tolist(), noise[n])
            )
            for n in range(len(self.base))
        ]
        return np.array([np.inf if n in self.out else score for n, score in enumerate(scores)])

    def lowest(self, scores, batch_size):
        rows = np.array(self.first_of_each(in_order(scores, self.seed).tolist())[:batch_size])
        return rows, scores[rows]

    def first_of_each(self, rows, taken=()):
        """Return rows in their order, without those that look like one before them, or like one that is taken."""
        if not self.distinct:
            return list(rows)
        vectors = dense(self.vectors)
        seen = {tuple(vectors[row].tolist()) for row in taken}
        found = []
        for row in rows:
            values = tuple(vectors[row].tolist())
            if values not in seen:
                found.append(row)
                seen.add(values)
        return found

    def without_copies(self, scores):
        """Return the pool in which all rows are out but the first of each kind, by a score."""
        kept = self.first_of_each(row for row in in_order(scores, self.seed).tolist() if row not in self.out)
        return self._replace(out=[row for row in range(len(scores)) if row not in kept])


def pick_mix(pool, batch_size):
    """Return half the batch by margin, and the other half at random from the rest."""
    uniform = pool.scores(ROW_SCORES["random"])
    by_margin, margins = pool.lowest(pool.scores(ROW_SCORES["margin"]), (batch_size + 1) // 2)
    rest = [row for row in in_order(uniform, pool.seed).tolist() if row not in by_margin]
    rest = pool.first_of_each(rest, taken=by_margin)
    by_chance = np.array(rest[: batch_size - len(by_margin)], dtype=np.int64)
    return np.r_[by_margin, by_chance], np.r_[margins, uniform[by_chance]]


def pick_soft_rank(pool, batch_size):
    """Return the rows whose ranks are drawn; the rows that are out have none."""
    by_margin = in_order(pool.scores(margin_of_mean), pool.seed).tolist()
    ranked = pool.first_of_each(row for row in by_margin if row not in pool.out)
    noise = SeedTree(pool.seed).gumbel(np.arange(len(ranked))).tolist()
    scores = [float(log(np.array(place + 1.0))) - noise[place] for place in range(len(ranked))]
    drawn = sorted(range(len(ranked)), key=lambda place: scores[place])[:batch_size]
    return np.array([ranked[place] for place in drawn]), np.array([scores[place] for place in drawn])


def pick_balanced(pool, batch_size):
    margins = pool.scores(ROW_SCORES["margin"])
    return pick_greedily(pool, [], lambda closest: 0.5 * margins + 0.5 * closest, batch_size)


def pick_centers(pool, batch_size):
    return pick_greedily(pool, list(dense(pool.labeled_vectors)), lambda closest: closest - 1.0, batch_size)


def pick_greedily(pool, centers, score_of, batch_size):
    """Return the greedy batch: before every pick, each row's highest cosine of those with all centers so far."""
    pool = pool.without_copies(pool.scores(ROW_SCORES["margin"]))
    vectors = dense(pool.vectors)
    cosines = [[cosine(z, s) for s in centers] for z in vectors]
    picked, scores = [], []
    for _ in range(batch_size):
        closest = np.array([max(of_row, default=0.0) for of_row in cosines])
        score = score_of(closest)
        score[[*picked, *pool.out]] = np.inf
        best = in_order(score, pool.seed)[0]
        picked.append(best)
        scores.append(score[best])
        for of_row, z in zip(cosines, vectors, strict=True):
            of_row.append(cosine(z, vectors[best]))
    return np.array(picked), np.array(scores)


def pick_badge(pool, batch_size):
    """Return gradients that lie apart; then, if too few are different, the lowest margins."""
    pool = pool.without_copies(pool.scores(ROW_SCORES["margin"]))
    rows = [n for n in range(len(pool.base)) if n not in pool.out]
    in_line = in_order(pool.scores(ROW_SCORES["margin"]), pool.seed).tolist()
    embeddings = [(gradient(pool.base[n].tolist()), pool.seen(n)) for n in rows]
    return pick_apart(rows, in_line, embeddings, batch_size, seed=pool.seed)


def pick_spread(pool, batch_size, oversample=4):
    """Return rows drawn in proportion to how unsure the members' mean is, no two alike, of those that lie apart."""
    unsure = pool.scores(
        lambda row: -float(log(np.array(max(length(gradient(mean_scores(row))), 1e-300)))) - row.noise
    )
    drawn = [n for n in in_order(unsure, pool.seed).tolist() if n not in pool.out]
    drawn = pool._replace(distinct=True).first_of_each(drawn)[: oversample * batch_size]
    rows, embeddings = sorted(drawn), []
    for n in rows:
        by = math.sqrt(length(pool.seen(n)))
        of_members = [mean(of_class) for of_class in pool.members[:, n].T.tolist()]
        embeddings.append((gradient(of_members), [value / by for value in pool.seen(n)]))
    return pick_apart(rows, drawn, embeddings, batch_size, seed=pool.seed)


def pick_cluster_margin(pool, batch_size, oversample=10, n_clusters=None):
    """Return the lowest margins, one from each cluster in turn."""
    margins = pool.scores(ROW_SCORES["margin"])
    pool = pool.without_copies(margins)
    n_kept = min(oversample * batch_size, len(margins) - len(pool.out))
    by_margin = in_order(pool.scores(ROW_SCORES["margin"]), pool.seed)[:n_kept].tolist()
    cluster_of = clusters(
        dense(pool.vectors), sorted(by_margin), n_clusters or min(batch_size, 1000), seed=pool.seed
    )
    waiting = {}
    for row in by_margin:
        waiting.setdefault(cluster_of[row], []).append(row)
    in_turn = sorted(waiting.values(), key=len)  # of equal ones, that with the lowest margin is first
    picked = []
    while len(picked) < batch_size:
        for cluster in in_turn:
            picked += cluster[:1]
            del cluster[:1]
    return np.array(picked[:batch_size]), margins[picked[:batch_size]]


#: Strategies in which picks depend on each other: the rows and scores of their batch.
BATCHES = {
    "random-margin-mix": pick_mix,
    "soft-rank": pick_soft_rank,
    "balanced-margin": pick_balanced,
    "k-centers": pick_centers,
    "badge": pick_badge,
    "spread": pick_spread,
    "cluster-margin": pick_cluster_margin,
}


def dense(vectors):
    return vectors.toarray() if sparse.issparse(vectors) else vectors


def cosine(a, b):
    """Return the cosine of two vectors, summed in order; 0 for a zero vector."""
    dot = square_a = square_b = 0.0
    for x, y in zip(a.tolist(), b.tolist(), strict=True):
        dot += x * y
        square_a += x * x
        square_b += y * y
    lengths = np.sqrt(square_a) * np.sqrt(square_b)
    return dot / lengths if lengths > 0 else 0.0


def linear_class_scores(X, weights, intercepts, *, softmax=True):
    """Return (K, n, C): class scores of linear models, features added in order, in plain numpy."""
    logits = np.repeat(intercepts[:, np.newaxis, :], X.shape[0], axis=1)
    for d in range(X.shape[1]):
        logits = logits + X[:, d].astype(np.float64)[np.newaxis, :, np.newaxis] * weights[d][:, np.newaxis, :]
    if logits.shape[2] == 1:  # of two classes; the first one's logit is 0, or the opposite
        logits = np.concatenate([np.zeros_like(logits) if softmax else -logits, logits], axis=2)
    return probabilities(logits) if softmax else logits


def network_class_scores(X, networks, center):
    """Return (K, n, C): class scores of networks, in plain numpy."""
    return probabilities(network_logits(X, networks, center))


def last_hidden_layer(X, networks, center):
    """Return (n, H): what the last layer of the first network is given."""
    before = type(networks)(networks.weights[:-1], networks.biases[:-1])
    outputs = network_logits(X, before, center)[0]
    return np.where(outputs <= 0.0, 0.0, outputs)


def network_logits(X, networks, center):
    """Return (K, n, C): logits of float64 networks, inputs added in order to the bias.

    `center` is what is subtracted from the (n, D) rows first.
    """
    rows = X.astype(np.float64) - center.astype(np.float64)
    values = np.repeat(rows[np.newaxis], networks.n_networks, axis=0)
    for layer, (weights, biases) in enumerate(zip(networks.weights, networks.biases, strict=True)):
        if layer:
            values = np.where(values <= 0.0, 0.0, values)
        sums = np.repeat(biases[:, np.newaxis, :], len(X), axis=1)
        for d in range(weights.shape[1]):
            sums = sums + values[:, :, d, np.newaxis] * weights[:, np.newaxis, d]
        values = sums
    return values


def probabilities(logits):
    """Return e^logit of each class by that of all, added in the order of the classes."""
    highest = logits[..., 0]
    for c in range(1, logits.shape[-1]):
        highest = np.maximum(highest, logits[..., c])
    weights = [exp_nonpositive(logits[..., c] - highest) for c in range(logits.shape[-1])]
    total = weights[0]
    for weight in weights[1:]:
        total = total + weight
    return np.stack([weight / total for weight in weights], axis=-1)
