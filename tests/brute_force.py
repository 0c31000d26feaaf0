"""The oracle for selection: every class score of the whole pool at once, then a full sort.

It shares the formulas of `margins` (tested on their own) with the package, and nothing else: no blocks, no
TopB, no kernels, no threads.
"""

from __future__ import annotations

import numpy as np

from minmargin import margins
from minmargin.seeds import SeedTree

ROW_SCORES = {
    "min-margin": lambda base, members, uniform: margins.min_margin(members),
    "margin": lambda base, members, uniform: margins.margin(base),
    "mean-margin": lambda base, members, uniform: margins.mean_margin(members),
    "margin-of-mean": lambda base, members, uniform: margins.margin_of_mean(members),
    "committee": lambda base, members, uniform: margins.vote_margin(members),
    "var-softmax": lambda base, members, uniform: margins.negative_variance(members),
    "random": lambda base, members, uniform: uniform,
}


def in_order(scores, seed):
    """Return the row numbers sorted by (score, tie hash, row)."""
    rows = np.arange(len(scores))
    return np.lexsort((rows, SeedTree(seed).ties(rows), scores))


def pick(strategy, base, members, vectors, labeled_vectors, batch_size, seed, out=()):
    """Return the rows and scores of the batch that `strategy` must pick; the rows `out` score infinity."""
    out = list(out)
    uniform = SeedTree(seed).uniform(np.arange(len(base)))
    if strategy in ROW_SCORES:
        scores = ROW_SCORES[strategy](base, members, uniform).copy()
        scores[out] = np.inf
        rows = in_order(scores, seed)[:batch_size]
        return rows, scores[rows]
    if strategy == "random-margin-mix":
        margin = margins.margin(base)
        margin[out] = uniform[out] = np.inf
        by_margin = in_order(margin, seed)[: (batch_size + 1) // 2]
        rest = [row for row in in_order(uniform, seed) if row not in by_margin]
        by_chance = np.array(rest[: batch_size - len(by_margin)], dtype=np.int64)
        return np.r_[by_margin, by_chance], np.r_[margin[by_margin], uniform[by_chance]]
    return pick_greedily(strategy, margins.margin(base), vectors, labeled_vectors, batch_size, seed, out)


def pick_greedily(strategy, margin, vectors, labeled_vectors, batch_size, seed, out=()):
    """Return the greedy batch, with every cosine computed anew for every pick: O(B^2 n D)."""
    centers = [] if strategy == "balanced-margin" else list(labeled_vectors)
    picked, scores = [], []
    for _ in range(batch_size):
        likeness = np.array([[cosine(z, s) for s in centers] for z in vectors])
        if strategy == "balanced-margin":
            closest = likeness.max(axis=1) if centers else np.zeros(len(vectors))
            score = 0.5 * margin + 0.5 * closest
        else:
            score = likeness.max(axis=1) - 1.0
        score[[*picked, *out]] = np.inf
        best = in_order(score, seed)[0]
        picked.append(best)
        scores.append(score[best])
        centers.append(vectors[best])
    return np.array(picked), np.array(scores)


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
    logits = np.repeat(intercepts[:, np.newaxis, :], len(X), axis=1)
    for d in range(X.shape[1]):
        logits = logits + X[:, d].astype(np.float64)[np.newaxis, :, np.newaxis] * weights[d][:, np.newaxis, :]
    if not softmax:
        return np.concatenate([-logits, logits], axis=2) if logits.shape[2] == 1 else logits
    return margins.sigmoid_pair(logits[..., 0]) if logits.shape[2] == 1 else margins.softmax(logits)
