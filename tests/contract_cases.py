"""What the contract suites run over: a labeled set and a pool, in every container, under every kind of learner."""

from __future__ import annotations

import functools
import math
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from pyarrow import feather
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

import brute_force
import minmargin as mm
from minmargin.learners.linear import LinearScorer
from minmargin.learners.networks.module_scorer import ModuleScorer
from minmargin.learners.networks.scorer import NetworkScorer
from minmargin.learners.text import TextScorer

SEED, N_MODELS, BATCH_SIZE = 11, 4, 9
NAMES = [f"f{i}" for i in range(5)]


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


@functools.cache
def pool_rows(*, repeated):
    """Return the pool; with `repeated`, sixty rows of it five times, in which zeros are of either sign."""
    pool = data()[2]
    if not repeated:
        return pool
    pool = np.tile(pool[:60], (5, 1))
    pool[60:200][pool[60:200] == 0] = -0.0
    return pool


# --- pools: each makes a pool of the same rows ---------------------------------------------------------------


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


def hub_dataset(X, folder):
    """Return a Hugging Face dataset that was shuffled and put in order again: its table is in another order."""
    import datasets  # noqa: PLC0415 - takes a second

    order = np.random.default_rng(5).permutation(len(X))
    return datasets.Dataset(table(X[order])).select(np.argsort(order))


def write_texts(X, folder):
    pq.write_table(pa.table({"text": texts(X)}), folder / "pool.parquet", row_group_size=33)
    return folder / "pool.parquet"


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
    "hub dataset": hub_dataset,
    "list of dicts": lambda X, folder: table(X).to_pylist(),
    "columns in another order": lambda X, folder: (
        table(X).select(NAMES[::-1]).append_column("extra", pa.nulls(len(X)))
    ),
}
TEXT_POOLS = {"list of texts": lambda X, folder: texts(X)}
TEXT_FRAME_POOLS = {"text column": write_texts}
NUMBER_POOLS = {**ARRAY_POOLS, **FRAME_POOLS}
POOLS = {**NUMBER_POOLS, **TEXT_POOLS, **TEXT_FRAME_POOLS}


def texts(X):
    """Return rows as texts: a word for each number, and some words twice."""
    lines = []
    for number, x in enumerate(X.tolist()):
        words = [f"{name}_{10 + math.floor(value)}" for name, value in zip(NAMES, x, strict=True)]
        lines.append(" ".join([*words, *words[: number % 3]]))
    return lines


# --- learners: those that have a name go by it ---------------------------------------------------------------

LEARNERS = {
    "logistic": "logistic",
    "text": "text",
    "random-forest": "random-forest",
    "gradient-boosting": "gradient-boosting",
    "scaled logistic": make_pipeline(StandardScaler(), LogisticRegression()),
    "linear svm": make_pipeline(StandardScaler(), LinearSVC()),
    "pipeline": make_pipeline(StandardScaler(), PCA(), LogisticRegression()),
    "tree": DecisionTreeClassifier(max_depth=3),
    "boosting of small leaves": HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=3),
    "svm without probabilities": SVC(),
    "two classes": "logistic",
    "svm of two classes": SVC(),
}


def dense_module():
    from torch import nn  # noqa: PLC0415 - an extra

    return nn.Sequential(nn.Linear(5, 7), nn.ReLU(), nn.Linear(7, 3))


@functools.cache
def class_of_columns():
    """Return a class of modules that take the five columns by their names."""
    import torch  # noqa: PLC0415 - an extra

    class OfColumns(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = dense_module()

        def forward(self, f0, f1, f2, f3, f4):
            return self.inner(torch.stack([f0, f1, f2, f3, f4], dim=1))

    return OfColumns


def module_of_columns():
    return class_of_columns()()


#: These need torch, so `make test-torch` runs them, in test_network_learners.py.
NETWORK_LEARNERS = {
    "mlp": "mlp",
    "small mlp": mm.MLPLearner(hidden=(7, 3), epochs=20),
    "mlp with empty classes": mm.MLPLearner(hidden=(7,), epochs=5),
    "module that stops": mm.ModuleLearner(
        dense_module, epochs=20, lr=0.05, patience=2, schedule="cosine", class_weight="balanced"
    ),
    "module of columns": mm.ModuleLearner(
        module_of_columns, epochs=5, lr=0.05, inputs=NAMES, optimizer="adamw"
    ),
}
#: Classes that may occur in these data, some of them before and between those that rows have.
EVERY_CLASS = ["0", "a", "b", "ba", "c"]


def pools_for(learner):
    """Return the kinds of pool that a learner is tried on, one that is screened in each way."""
    if learner == "text":
        return [*TEXT_POOLS, *TEXT_FRAME_POOLS]
    if learner == "module of columns":
        return ["pyarrow", "parquet files"]
    return (
        ["float32", "parquet files"] if learner in NETWORK_LEARNERS else ["float32", "csr", "parquet files"]
    )


@functools.cache
def committee(learner, *, named, classes=None):
    X, y, _ = data()
    if "empty classes" in learner:
        classes = tuple(EVERY_CLASS)
    rows = pd.DataFrame(X, columns=NAMES) if named else X
    if learner == "text":
        rows = pd.DataFrame({"text": texts(X)}) if named else texts(X)
    if "two classes" in learner:
        y = np.where(y == "c", "a", y)
    model = {**LEARNERS, **NETWORK_LEARNERS}[learner]
    return mm.fit_committee(
        rows,
        y,
        classes=classes,
        learner=model,
        n_models=N_MODELS,
        random_state=SEED,
        n_jobs=1,
        device="cpu",
    )


class Known(NamedTuple):
    """The pool's class scores (n, C) and (K, n, C), its vectors and the labeled set's, and the rows for true-margin.

    Also what the base's last layer sees, if that is something else than the vectors.
    """

    base: np.ndarray
    members: np.ndarray
    vectors: np.ndarray
    labeled_vectors: np.ndarray
    X: np.ndarray
    embedding: np.ndarray | None = None


@functools.cache
def known(learner, *, named, repeated=False):
    """Return what brute force knows of the pool: from the models of the committee, and nothing else of it."""
    X, pool = data()[0], pool_rows(repeated=repeated)
    scorer = committee(learner, named=named).scorer
    if isinstance(scorer, NetworkScorer):
        base, members = (
            brute_force.network_class_scores(pool, networks.scaled(scorer.scale), scorer.center)
            for networks in (scorer.base, scorer.members)
        )
        hidden = brute_force.last_hidden_layer(pool, scorer.base.scaled(scorer.scale), scorer.center)
        return Known(base[0], members, scorer.vectors(pool), scorer.vectors(X), pool, hidden)
    if isinstance(scorer, ModuleScorer):
        base, *members = (module_class_scores(module, pool) for module in (scorer.base, *scorer.members))
        return Known(base, np.stack(members), pool, X, pool)
    if isinstance(scorer, LinearScorer):
        if isinstance(scorer, TextScorer):
            words = scorer.expansion
            vectors, labeled_vectors = (
                word_weights(texts(rows), words.words, words.rarity) for rows in (pool, X)
            )
            features, given = vectors, np.array([[float(len(text))] for text in texts(pool)])
        else:
            vectors, labeled_vectors = scorer.vectors(pool), scorer.vectors(X)
            features = given = pool
        score = functools.partial(brute_force.linear_class_scores, features, softmax=scorer.link == "softmax")
        base = score(scorer.base_weights, scorer.base_intercepts)[0]
        members = score(scorer.member_weights, scorer.member_intercepts)
        return Known(base, members, vectors, labeled_vectors, given)
    as_fitted = (lambda rows: pd.DataFrame(rows, columns=NAMES)) if named else (lambda rows: rows)
    # The blocks that a model is handed are part of the contract; each model is asked by itself.
    parts = [as_fitted(pool[i : i + 64]) for i in range(0, len(pool), 64)]
    base, *members = (
        np.concatenate([class_scores(model, part) for part in parts])
        for model in (scorer._base, *scorer._members)
    )
    vectors, labeled_vectors = pool, X
    if learner == "pipeline":
        vectors = np.concatenate([scorer._base[:-1].transform(part) for part in parts])
        labeled_vectors = scorer._base[:-1].transform(as_fitted(X))
    return Known(base, np.stack(members), vectors, labeled_vectors, pool)


def class_scores(model, X):
    scores = model.predict_proba(X) if hasattr(model, "predict_proba") else model.decision_function(X)
    scores = np.asarray(scores, dtype=np.float64)
    return np.stack([-scores, scores], axis=1) if scores.ndim == 1 else scores


def module_class_scores(module, X):
    """Return (n, C): softmax of what a module gives for blocks of 64 rows, in one tensor or by their names."""
    import torch  # noqa: PLC0415 - an extra

    logits = []
    for start in range(0, len(X), 64):
        rows = torch.tensor(X[start : start + 64])
        with torch.no_grad():
            if isinstance(module, torch.nn.Sequential):
                outputs = module(rows)
            else:
                outputs = module(**{name: rows[:, i].contiguous() for i, name in enumerate(NAMES)})
        logits.append(outputs.numpy().astype(np.float64))
    return brute_force.probabilities(np.concatenate(logits))


def word_weights(lines, words, rarity):
    """Return (n, D): the root of a word's count times its rarity, over the length of all, one number at a time."""
    weights = np.zeros((len(lines), len(words)))
    for n, line in enumerate(lines):
        said = line.split()
        of_line = [math.sqrt(said.count(word)) * float(rarity[d]) for d, word in enumerate(words)]
        square = 0.0
        for weight in of_line:
            square += weight * weight
        weights[n] = [weight / math.sqrt(square) if square else 0.0 for weight in of_line]
    return weights


@functools.cache
def expected(learner, strategy, *, named, distinct):
    """Return the rows and scores that brute force picks."""
    of_pool = known(learner, named=named, repeated=distinct)
    return brute_force.pick(
        strategy,
        of_pool.base,
        of_pool.members,
        of_pool.vectors,
        of_pool.labeled_vectors,
        BATCH_SIZE,
        SEED,
        X=of_pool.X,
        embedding=of_pool.embedding,
        distinct=distinct,
    )


def check(learner, strategy, pool_kind, *, distinct=False):
    """Assert that a selection is what brute force picks, to the bit; if rows must be distinct, of a pool of copies."""
    named = pool_kind in {**FRAME_POOLS, **TEXT_FRAME_POOLS}
    with tempfile.TemporaryDirectory() as folder:
        pool = POOLS[pool_kind](pool_rows(repeated=distinct), Path(folder))
        features = ["vector"] if pool_kind == "embedding column" else None
        batch = committee(learner, named=named).select(
            pool,
            BATCH_SIZE,
            strategy=brute_force.made(strategy),
            features=features,
            distinct=distinct,
            chunk_size=50,
        )
    rows, scores = expected(learner, strategy, named=named, distinct=distinct)
    assert batch.rows.tolist() == rows.tolist()
    np.testing.assert_array_equal(batch.scores, scores)
