"""What models elsewhere say of the irises, in three rounds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from campaign.flowers import IDS

CLASSES = ["setosa", "versicolor", "virginica"]
ROUNDS = [np.random.default_rng(seed).dirichlet(np.ones(3), size=(2, 150)) for seed in (1, 2, 3)]
VECTORS = np.random.default_rng(9).normal(size=(150, 4))


def predicted(members: Any, ids: Any = IDS) -> pd.DataFrame:
    """Return a frame with the columns of each model, the classes not in the campaign's order, and embeddings."""
    columns = {"row_id": list(ids), "note": "not a number", "vector": list(VECTORS)}
    for k, member in enumerate(members):
        columns |= {f"m{k}_{CLASSES[c]}": member[:, c] for c in (2, 0, 1)}
    return pd.DataFrame(columns)
