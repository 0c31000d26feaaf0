"""Run as a process of its own: prints digests of batches, so that runs on other BLAS kernels can be compared."""

from __future__ import annotations

import hashlib
import json
import sys
from dataclasses import dataclass

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import minmargin as mm
from minmargin.compute import models
from minmargin.learners.linear import LinearScorer
from minmargin.scan import sizes
from minmargin.strategies import BUILT_IN

STRATEGIES = [name for name in BUILT_IN if name != "true-margin"]  # which has no default


@dataclass(frozen=True)
class FixedWeights:
    """A learner that ignores the labels: training uses BLAS too, and is not what is compared here."""

    name = "fixed weights"
    takes_sparse = True
    probabilistic = True

    def check(self, n_classes):
        pass

    def intake(self, labeled):
        return labeled.numeric_intake(takes_sparse=True, missing=False)

    def fit(self, X, labeled, bootstrap, n_members, *, n_jobs, device, progress):
        del labeled, bootstrap, n_jobs, device, progress
        rng = np.random.default_rng(5)
        shape = (X.shape[1], n_members, 3)
        return LinearScorer(
            rng.normal(size=(X.shape[1], 1, 3)),
            rng.normal(size=(1, 3)),
            rng.normal(size=shape),
            rng.normal(size=shape[1:]),
        )


def digest(batch):
    parts = (batch.rows, batch.scores, batch.member, batch.top_classes, batch.predicted)
    return hashlib.sha256(b"".join(np.ascontiguousarray(part).tobytes() for part in parts)).hexdigest()


def main():
    if sys.argv[1:] != ["small"]:
        models.SMALL_WORK = 0
    sizes._LARGEST = sizes._LARGEST_SCREENED = 256
    sizes.SMALLEST = sizes.FIRST = 64
    rng = np.random.default_rng(0)
    X, y, pool = rng.normal(size=(60, 33)), np.arange(60) % 3, rng.normal(size=(2000, 33))
    fixed = mm.fit_committee(X, y, learner=FixedWeights(), n_models=7, random_state=0)
    by_kernels = {name: digest(fixed.select(pool, 25, strategy=name, chunk_size=300)) for name in STRATEGIES}

    general = make_pipeline(StandardScaler(), LogisticRegression(C=0.1))
    trained = mm.fit_committee(X, y, learner=general, n_models=7, random_state=0)
    ways = [{"chunk_size": 1, "n_jobs": 1}, {"chunk_size": 13, "n_jobs": 2}, {"chunk_size": 777, "n_jobs": 3}]
    products = {
        name: [digest(trained.select(pool, 25, strategy=name, **way)) for way in ways] for name in STRATEGIES
    }

    weights = rng.normal(size=(33, 21))
    whole = pool @ weights
    alone = np.concatenate([pool[i : i + 7] @ weights for i in range(0, len(pool), 7)])
    depend = int((whole != alone).any(axis=1).sum())
    result = {"canonical": by_kernels, "products": products, "rows_that_depend_on_their_tile": depend}
    sys.stdout.write(json.dumps(result))


if __name__ == "__main__":
    main()
