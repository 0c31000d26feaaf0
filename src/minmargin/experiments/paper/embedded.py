"""Small tables that need no file: for quick runs of the experiments."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, make_classification

from minmargin.experiments.datasets import Table


def _digits() -> Table:
    images, digits = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(images))
    X, y = (images[order] / 16).astype(np.float32), digits[order].astype(np.intp)
    names = tuple(map(str, range(10)))
    return Table(
        X[:1200], y[:1200], names, X[1200:], y[1200:], tuple(f"pixel {place}" for place in range(64))
    )


def _breast_cancer() -> Table:
    found = load_breast_cancer()
    return Table(
        found.data,
        found.target.astype(np.intp),
        tuple(found.target_names),
        None,
        None,
        tuple(found.feature_names),
    )


def _made_up() -> Table:
    X, y = make_classification(
        20_000, 16, n_informative=8, n_clusters_per_class=4, flip_y=0.05, random_state=0
    )
    return Table(X, y.astype(np.intp), ("0", "1"), None, None, tuple(f"x{place}" for place in range(16)))


#: What makes each table.
TABLES: dict[str, Callable[[], Table]] = {
    "digits": _digits,
    "breast-cancer": _breast_cancer,
    "made-up": _made_up,
}
