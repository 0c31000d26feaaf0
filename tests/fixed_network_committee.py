"""A committee of networks that nobody trained; run as a process of its own, it prints digests of its batches.

Its weights are whole numbers over 64, and so the same on every machine; centers and scales see to it that sums are not.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

import minmargin as mm
from minmargin.compute import models
from minmargin.compute.networks.dense import DenseNetworks
from minmargin.learners.networks.scorer import NetworkScorer
from minmargin.scan import sizes
from minmargin.strategies import BUILT_IN

STRATEGIES = [name for name in BUILT_IN if name != "true-margin"]  # which has no default
N_FEATURES = 33


@dataclass(frozen=True)
class FixedNetworks:
    """A learner that ignores the labels: training is not what is compared here."""

    hidden: tuple[int, ...] = (19, 7)

    name = "fixed networks"
    takes_sparse = False
    probabilistic = True

    def check(self, n_classes):
        pass

    def intake(self, labeled):
        return labeled.numeric_intake(takes_sparse=False, missing=False)

    def fit(self, X, labeled, bootstrap, n_members, **_: Any):
        del bootstrap
        rng = np.random.default_rng(7)
        widths = (X.shape[1], *self.hidden, len(labeled.classes))

        def networks(n_networks):
            shapes = list(itertools.pairwise(widths))
            return DenseNetworks(
                tuple(rng.integers(-24, 25, (n_networks, *shape)) / np.float32(64) for shape in shapes),
                tuple(rng.integers(-24, 25, (n_networks, n_out)) / np.float32(64) for _, n_out in shapes),
            )

        center = rng.integers(-100, 100, X.shape[1]).astype(np.float32) / 7
        scale = rng.integers(1, 100, X.shape[1]) / 30
        return NetworkScorer(networks(1), networks(n_members), center, scale)


def fixed_committee(n_classes):
    """Return a committee of seven members."""
    X = np.random.default_rng(0).normal(size=(60, N_FEATURES))
    return mm.fit_committee(X, np.arange(60) % n_classes, learner=FixedNetworks(), n_models=7, random_state=0)


def pool_rows(repeated, n=400):
    """Return pool rows; `repeated` of them are copies of one another."""
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(n, N_FEATURES))
    rows[:repeated] = rows[0]
    return rng.permutation(rows)


def contents(batch):
    """Return every byte of a batch but its manifest."""
    parts = (batch.rows, batch.scores, batch.member, batch.top_classes, batch.predicted)
    return b"".join(np.ascontiguousarray(part).tobytes() for part in parts)


def main():
    models.SMALL_WORK = 0
    sizes._LARGEST = sizes._LARGEST_SCREENED = 256
    sizes.SMALLEST = sizes.FIRST = 64
    committee, pool = fixed_committee(3), pool_rows(0, 2000)
    digests = {}
    for name in STRATEGIES:
        batch = committee.select(pool, 25, strategy=name, chunk_size=300)
        digests[name] = hashlib.sha256(contents(batch)).hexdigest()
    sys.stdout.write(json.dumps(digests, indent=2) + "\n")


if __name__ == "__main__":
    main()
