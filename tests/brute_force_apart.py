"""The oracle for rows that lie apart, and for clusters that begin from them: k-means++ one Python number at a time.

It knows embeddings, vectors and seeds; `brute_force` makes them of a pool, and batches of what is picked here.
"""

from __future__ import annotations

import math

import numpy as np

from minmargin.seeds import SeedTree


class Apart:
    """k-means++ as `compute.apart` defines it, one number at a time. An embedding is a pair of lists, its factors."""

    def __init__(self, embeddings, centers=()):
        self.embeddings = embeddings
        self.centers = list(centers)  # the given ones, then the picks
        self.bounds = [math.inf] * len(embeddings)
        self.n_seen = [0] * len(embeddings)
        self.up_to_date_at = self.n_rejected = 0

    def pick(self, n_picks, ties, chance):
        """Return the picks and their squared distances; `chance(t)` are the two numbers of proposal t."""
        picked, distances, t = [], [], 0
        if not self.centers:
            squares = [square_of(e) for e in self.embeddings]
            first = min(range(len(squares)), key=lambda i: (-squares[i], ties[i], i))
            picked, distances = [first], [squares[first]]
            self.centers = [self.embeddings[first]]
        self.bring_all_up_to_date()
        while len(picked) < n_picks:
            if self.n_rejected == 1024:
                self.bring_all_up_to_date()
            if not any(bound > 0.0 for bound in self.bounds):
                break
            where, whether = chance(t)
            t += 1
            i = self.walk(where)
            old = self.bounds[i]
            self.bring_up_to_date(i)
            if not whether * old < self.bounds[i]:
                self.n_rejected += 1
                continue
            picked.append(i)
            distances.append(self.bounds[i])
            self.bounds[i] = 0.0
            self.centers.append(self.embeddings[i])
            if len(self.centers) - self.up_to_date_at >= min(max(self.up_to_date_at // 4, 8), 512):
                self.bring_all_up_to_date()
        return picked, distances

    def bring_up_to_date(self, i):
        for center in self.centers[self.n_seen[i] :]:
            self.bounds[i] = min(self.bounds[i], squared_distance(self.embeddings[i], center))
        self.n_seen[i] = len(self.centers)

    def bring_all_up_to_date(self):
        for i in range(len(self.embeddings)):
            self.bring_up_to_date(i)
        self.up_to_date_at, self.n_rejected = len(self.centers), 0

    def walk(self, where):
        """Return where the sum of bounds passes a share of the whole, block by block and then within one."""
        blocks = [range(i, min(i + 512, len(self.bounds))) for i in range(0, len(self.bounds), 512)]
        sums = [added(self.bounds[i] for i in block) for block in blocks]
        target = where * added(sums)
        passing = [b for b in range(len(sums)) if added(sums[: b + 1]) > target]
        b = passing[0] if passing else [b for b in range(len(sums)) if sums[b] > 0.0][-1]
        up_to = added(sums[:b])
        for i in blocks[b]:
            up_to += self.bounds[i]
            if up_to > target:
                return i
        return [i for i in blocks[b] if self.bounds[i] > 0.0][-1]


def pick_apart(rows, in_line, embeddings, batch_size, *, seed):
    """Return rows whose embeddings lie apart; then, if too few are different, others as they stand in line."""
    places, squares = Apart(embeddings).pick(batch_size, *chances(seed, rows))
    picked = [rows[place] for place in places]
    rest = [row for row in in_line if row not in picked][: batch_size - len(picked)]
    return np.array(picked + rest), np.array([0.0 - math.sqrt(each) for each in squares] + [0.0] * len(rest))


def clusters(vectors, rows, n_clusters, *, seed):
    """Return the cluster of each row: k-means from rows that lie apart, on a sample."""
    x = {row: vectors[row].astype(np.float64).tolist() for row in rows}
    uniform = SeedTree(seed).uniform(np.array(rows)).tolist()
    sample = sorted(row for _, row in sorted(zip(uniform, rows, strict=True))[: 32 * n_clusters])
    apart = Apart([([1.0], x[row]) for row in sample])
    centers = [x[sample[place]] for place in apart.pick(n_clusters, *chances(seed, sample))[0]]

    def nearest(row):
        heights = []
        for center in centers:
            height = -0.5 * dot(center, center)
            for value, of_center in zip(x[row], center, strict=True):
                height += value * of_center
            heights.append(height)
        return heights.index(max(heights))

    for _ in range(5):
        labels = [nearest(row) for row in sample]
        for c in set(labels):
            mine = [x[row] for row, label in zip(sample, labels, strict=True) if label == c]
            centers[c] = [added(of_feature) / len(mine) for of_feature in zip(*mine, strict=True)]
    return {row: nearest(row) for row in rows}


def gradient(p):
    return [each - (code == p.index(max(p))) for code, each in enumerate(p)]


def length(vector):
    return math.sqrt(dot(vector, vector))


def chances(seed, rows):
    """Return what decides among these rows when they are picked apart: ties, and the numbers of a proposal."""
    seeds = SeedTree(seed)
    return seeds.ties(np.array(rows)).tolist(), lambda t: seeds.proposals(np.array([t]))[0].tolist()


def added(values):
    total = 0.0
    for value in values:
        total += value
    return total


def dot(a, b):
    return added(x * y for x, y in zip(a, b, strict=True))


def square_of(embedding):
    left, right = embedding
    return dot(left, left) * dot(right, right)


def squared_distance(a, b):
    found = (square_of(a) + square_of(b)) - 2.0 * (dot(a[0], b[0]) * dot(a[1], b[1]))
    return max(found, 0.0)
