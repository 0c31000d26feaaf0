"""Selection equals the brute-force reference, for every strategy, learner kind and pool kind."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from pyarrow import feather
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

import brute_force
import minmargin as mm
from minmargin.learners.linear import LinearScorer

SEED, N_MODELS, BATCH_SIZE = 11, 4, 9
NAMES = [f"f{i}" for i in range(5)]

pytestmark = pytest.mark.usefixtures("small_blocks", "either_way")


@functools.cache
def data():
    """Return a labeled set of three classes and a pool of float32 values, with repeated and zero rows."""
    rng = np.random.default_rng(0)
    centers = rng.normal(scale=1.5, size=(3, 5))
    y = np.repeat(["a", "b", "c"], [12, 10, 9])
    X = (centers[np.repeat([0, 1, 2], [12, 10, 9])] + rng.normal(size=(31, 5))).astype(np.float32)
    pool = (centers[rng.integers(0, 3, 300)] + rng.normal(size=(300, 5))).astype(np.float32)
    pool[rng.random(pool.shape) < 0.2] = 0
    pool[200:250] = pool[:50]
    pool[7] = 0
    return X, y, pool


# --- pool kinds: each makes a pool of the same rows ---------------------------------------------------------


def table(X):
    return pa.table({name: X[:, i] for i, name in enumerate(NAMES)})


def write_parquet(X, folder):
    """Write three files with several row groups each, out of order, and an empty one."""
    for name, part in zip(["c", "a", "b"], [X[180:], X[:100], X[100:180]], strict=True):
        pq.write_table(table(part), folder / f"{name}.parquet", row_group_size=33)
    pq.write_table(table(X[:0]), folder / "aa.parquet")
    return str(folder / "*.parquet")


def write_csv(X, folder):
    table(X).to_pandas().astype(np.float64).to_csv(folder / "pool.csv.gz", sep=";", index=False)
    return folder / "pool.csv.gz"


def write_feather(X, folder):
    feather.write_feather(table(X), folder / "pool.feather", chunksize=70)
    return folder / "pool.feather"


def write_npy(X, folder):
    np.save(folder / "pool.npy", X)
    return str(folder / "pool.npy")


def write_memmap(X, folder):
    mapped = np.memmap(folder / "pool.bin", dtype=np.float32, mode="w+", shape=X.shape)
    mapped[:] = X
    return mapped


def write_embedding(X, folder):
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), X.shape[1])
    pq.write_table(pa.table({"id": np.arange(len(X)), "vector": vectors}), folder / "pool.parquet")
    return folder / "pool.parquet"


def dataset(X, folder):
    write_parquet(X, folder)
    return ds.dataset(sorted(str(path) for path in folder.glob("*.parquet")), format="parquet")


ARRAY_POOLS = {
    "float32": lambda X, folder: X,
    "float64": lambda X, folder: X.astype(np.float64),
    "fortran order": lambda X, folder: np.asfortranarray(X),
    "memory map": write_memmap,
    "npy file": write_npy,
    "csr": lambda X, folder: sparse.csr_array(X),
    "generator of arrays": lambda X, folder: (X[i : i + 37] for i in range(0, len(X), 37)),
    "list of csr chunks": lambda X, folder: [sparse.csr_matrix(X[:111]), sparse.csr_matrix(X[111:])],
    "embedding column": write_embedding,
}
FRAME_POOLS = {
    "pandas": lambda X, folder: pd.DataFrame(X, columns=NAMES),
    "polars": lambda X, folder: pl.DataFrame(X, schema=NAMES),
    "pyarrow": lambda X, folder: table(X),
    "arrow dataset": dataset,
    "parquet files": write_parquet,
    "csv file": write_csv,
    "feather file": write_feather,
    "generator of frames": lambda X, folder: (
        pd.DataFrame(X[i : i + 45], columns=NAMES) for i in range(0, len(X), 45)
    ),
    "columns in another order": lambda X, folder: (
        table(X).select(NAMES[::-1]).append_column("extra", pa.nulls(len(X)))
    ),
}
POOLS = {**ARRAY_POOLS, **FRAME_POOLS}

LEARNERS = {
    "logistic": "logistic",
    "scaled logistic": make_pipeline(StandardScaler(), LogisticRegression()),
    "linear svm": make_pipeline(StandardScaler(), LinearSVC()),
    "pipeline": make_pipeline(StandardScaler(), PCA(), LogisticRegression()),
    "tree": DecisionTreeClassifier(max_depth=3),
    "forest": RandomForestClassifier(n_estimators=5),
    "boosting": HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=3),
    "svm without probabilities": SVC(),
}
STRATEGIES = [entry.name for entry in mm.strategies() if entry.name != "true-margin"]
BUILT_IN = [
    *brute_force.ROW_SCORES,
    "random-margin-mix",
    "balanced-margin",
    "k-centers",
]


@functools.cache
def committee(learner, *, named):
    X, y, _ = data()
    rows = pd.DataFrame(X, columns=NAMES) if named else X
    return mm.fit_committee(
        rows, y, learner=LEARNERS[learner], n_models=N_MODELS, random_state=SEED, n_jobs=1
    )


@functools.cache
def expected(learner, strategy, *, named):
    """Return what brute force picks, from the models of the committee and nothing else of it."""
    X, _, pool = data()
    scorer = committee(learner, named=named).scorer
    if isinstance(scorer, LinearScorer):
        score = functools.partial(brute_force.linear_class_scores, pool, softmax=scorer.link == "softmax")
        base = score(scorer.base_weights, scorer.base_intercepts)[0]
        members = score(scorer.member_weights, scorer.member_intercepts)
        vectors, labeled = scorer.vectors(pool), scorer.vectors(X)
    else:
        as_fitted = (lambda rows: pd.DataFrame(rows, columns=NAMES)) if named else (lambda rows: rows)
        # The blocks that a model is handed are part of the contract; each model is asked by itself.
        parts = [as_fitted(pool[i : i + 64]) for i in range(0, len(pool), 64)]
        base, *members = (
            np.concatenate([class_scores(model, part) for part in parts])
            for model in (scorer._base, *scorer._members)
        )
        members = np.stack(members)
        vectors, labeled = pool, X
        if learner == "pipeline":
            vectors = np.concatenate([scorer._base[:-1].transform(part) for part in parts])
            labeled = scorer._base[:-1].transform(as_fitted(X))
    return brute_force.pick(strategy, base, members, vectors, labeled, BATCH_SIZE, SEED)


def class_scores(model, X):
    scores = model.predict_proba(X) if hasattr(model, "predict_proba") else model.decision_function(X)
    return np.asarray(scores, dtype=np.float64)


def check(learner, strategy, pool_kind):
    named = pool_kind in FRAME_POOLS
    with tempfile.TemporaryDirectory() as folder:
        pool = POOLS[pool_kind](data()[2], Path(folder))
        features = ["vector"] if pool_kind == "embedding column" else None
        batch = committee(learner, named=named).select(
            pool, BATCH_SIZE, strategy=strategy, features=features, chunk_size=50
        )
    rows, scores = expected(learner, strategy, named=named)
    assert batch.rows.tolist() == rows.tolist()
    np.testing.assert_array_equal(batch.scores, scores)


def test_every_built_in_strategy_is_covered():
    assert set(BUILT_IN) <= set(STRATEGIES)
    assert len(BUILT_IN) == 10, "the eleventh, true-margin, takes a function"


@pytest.mark.parametrize("pool_kind", POOLS)
@pytest.mark.parametrize("strategy", BUILT_IN)
def test_every_strategy_on_every_pool(strategy, pool_kind):
    check("logistic", strategy, pool_kind)


@pytest.mark.parametrize("pool_kind", ["float32", "csr", "parquet files"])
@pytest.mark.parametrize("strategy", BUILT_IN)
@pytest.mark.parametrize("learner", [name for name in LEARNERS if name != "logistic"])
def test_every_strategy_with_every_learner(learner, strategy, pool_kind):
    if strategy == "var-softmax" and "svm" in learner:
        with pytest.raises(mm.InputError, match="needs class probabilities"):
            check(learner, strategy, pool_kind)
    else:
        check(learner, strategy, pool_kind)


@pytest.mark.parametrize("strategy", [*brute_force.ROW_SCORES])
def test_score_gives_every_row_its_score(strategy):
    X, y, pool = data()
    del X, y
    scores = committee("logistic", named=False).score(pool, strategy=strategy, chunk_size=13)
    rows, lowest = expected("logistic", strategy, named=False)
    np.testing.assert_array_equal(scores[rows], lowest)
    assert brute_force.in_order(scores, SEED)[:BATCH_SIZE].tolist() == rows.tolist()
