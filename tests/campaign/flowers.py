"""What the tests of campaigns share: irises with ids, and their true classes."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_iris

import minmargin as mm

NAMES = ["a", "b", "c", "d"]
X, y = load_iris(return_X_y=True)
SPECIES = np.array(["setosa", "versicolor", "virginica"])[y]
IDS = [f"r{row:03d}" for row in range(len(X))]
TRUTH = dict(zip(IDS, SPECIES.tolist(), strict=True))


def answers(batch: mm.Batch) -> dict[str, str]:
    """Return the true labels of a batch, by id."""
    return {each: TRUTH[each] for each in batch.ids.tolist()}
