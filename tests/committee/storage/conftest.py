"""Committees of every kind that can be saved, each with a pool to pick from."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler
from sklearn.svm import SVC

import minmargin as mm
from fixed_network_committee import FixedNetworks

X, Y = load_iris(return_X_y=True)
NAMES = ["a", "b", "c", "d"]
LABELED = slice(None, None, 5)
WORDS = np.array(["red", "green", "blue", "", "grün\0", "=1+1"], dtype=object)
TREES = ["sklearn.tree._tree.Tree"]
# All but the first are known to skops today; those of the oldest libraries are not to its oldest version.
PREDICTORS = [
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.ensemble._hist_gradient_boosting.binning._BinMapper",
    "sklearn._loss._loss.CyHalfMultinomialLoss",
    "sklearn._loss.link.Interval",
    "sklearn._loss.link.MultinomialLogit",
    "sklearn._loss.loss.HalfMultinomialLoss",
]


class Case(NamedTuple):
    """A committee, a pool for it, and what has to be trusted to load it."""

    committee: mm.Committee
    pool: Any
    trusted: list[str]


def case(X: Any, y: Any, pool: Any, learner: Any = "logistic", trusted: Any = (), **settings: Any) -> Case:
    usual = {"n_models": 3, "random_state": 11, "n_jobs": 1, "bootstrap_fraction": 1.5}
    return Case(mm.fit_committee(X, y, learner=learner, **{**usual, **settings}), pool, list(trusted))


def arrays(learner: Any = "logistic", y: Any = Y, pool: Any = X, **settings: Any) -> Case:
    return case(pool[LABELED], y[LABELED], pool, learner, **settings)


def named() -> pd.DataFrame:
    return pd.DataFrame(X, columns=NAMES)


def holed() -> np.ndarray:
    """Return rows with missing values in the first and third column."""
    rows = X.copy()
    rows[::7, 0], rows[3::11, 2] = np.nan, np.nan
    return rows


def table() -> pd.DataFrame:
    """Return numbers with holes, texts with odd ones among them, and an embedding."""
    frame = pd.DataFrame(holed()[:, :2], columns=["a", "b"])
    frame["colour"] = WORDS[np.arange(150) * 7 % 6]
    frame["size"] = pd.Categorical(np.array(["small", "large"])[(X[:, 2] > 3).astype(int)])
    frame["vector"] = list(X[:, 2:])
    return frame


def wide() -> pd.DataFrame:
    """Return a table whose one-hot codes are kept sparse."""
    return pd.DataFrame({"a": X[:, 0], "word": [f"w{i % 130}" for i in range(150)]})


def texts() -> list[str]:
    return [f"{'petal ' * int(10 * a)} {'sepal ' * int(10 * b)}" for a, b in X[:, 2:]]


def odd_texts() -> list[str]:
    return [f"{WORDS[i % 6]} ünï{i % 4} w\ud800rd 日本{i % 3}" for i in range(40)]


def columns() -> pl.DataFrame:
    """Return texts in two columns, some of them missing."""
    halves = [text.split(" sepal", 1) for text in texts()]
    return pl.DataFrame(
        {
            "head": [None if i % 9 == 0 else half[0] for i, half in enumerate(halves)],
            "tail": [h[-1] for h in halves],
        }
    )


def mixed() -> pd.DataFrame:
    return pd.DataFrame({"a": X[:, 0], "b": X[:, 2], "colour": WORDS[(X[:, 3] * 2).astype(int) % 3]})


def encoded(learner: Any) -> Any:
    """Return a pipeline that a frame with names has to be given to."""
    return make_pipeline(
        make_column_transformer(
            (OneHotEncoder(handle_unknown="ignore"), ["colour"]), remainder="passthrough"
        ),
        learner,
    )


def given(model: Any, pool: Any = X, trusted: Any = ()) -> Case:
    """Return a committee of models that were trained elsewhere, one of which knows fewer classes."""
    rows = [np.arange(k, n, 3) for k, n in ((0, 150), (1, 150), (2, 100))]
    fitted = [
        clone(model).fit(pool.iloc[i] if isinstance(pool, pd.DataFrame) else pool[i], Y[i]) for i in rows
    ]
    rows_given = list(pool) if isinstance(pool, np.ndarray) and pool.ndim == 1 else pool
    base, *members = fitted
    made = mm.Committee.from_models(members, base=base, classes=range(4), random_state=11)
    return Case(made, rows_given, list(trusted))


def every(step: int, rows: Any) -> Any:
    return rows.iloc[::step].reset_index(drop=True)


CASES: dict[str, Callable[[], Case]] = {
    "logistic": arrays,
    "chosen penalty": lambda: arrays(mm.LogisticLearner(C="auto")),
    "two classes": lambda: arrays(y=Y > 0),
    "classes of text": lambda: arrays(y=np.array(["", "ünï", "日本"])[Y], classes=["", "ünï", "日本"]),
    "classes of float": lambda: arrays(y=Y.astype(np.float32) - 2),
    "classes of small numbers": lambda: arrays(y=(Y * 100).astype(np.uint8)),
    "float32 rows": lambda: arrays(pool=X.astype(np.float32)),
    "sparse rows": lambda: arrays(pool=sparse.csr_array(np.where(X > 2, X, 0))),
    "no members": lambda: arrays(n_models=0),
    "large seed": lambda: arrays(random_state=2**90 + 1),
    "pandas": lambda: case(every(5, named()), Y[LABELED], pa.Table.from_pandas(named())),
    "embedding": lambda: case(pl.DataFrame({"v": X[::5]}), Y[LABELED], pl.DataFrame({"v": X})),
    "networks": lambda: arrays(FixedNetworks()),
    "networks without hidden layer": lambda: arrays(FixedNetworks(()), pool=X.astype(np.float32)),
    "recognized": lambda: arrays(make_pipeline(StandardScaler(), LogisticRegression(C=3))),
    "decision function": lambda: arrays(make_pipeline(StandardScaler(), RidgeClassifier()), y=Y > 1),
    "discriminants": lambda: arrays(LinearDiscriminantAnalysis()),
    "imputed": lambda: arrays(make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression()), pool=holed()),
    "preprocessed": lambda: case(every(5, table()), Y[LABELED], table(), preprocess="auto"),
    "preprocessed array": lambda: arrays(pool=holed(), preprocess="auto"),
    "preprocessed wide": lambda: case(wide(), Y, wide(), preprocess="auto"),
    "preprocessed texts": lambda: case(
        every(5, table()[["colour", "size"]]), Y[LABELED], table(), FixedNetworks((3,)), preprocess="auto"
    ),
    "forest": lambda: arrays(RandomForestClassifier(4, max_depth=3), trusted=TREES),
    "boosting": lambda: arrays(HistGradientBoostingClassifier(max_iter=3), pool=holed(), trusted=PREDICTORS),
    "preprocessed forest": lambda: case(
        every(5, table()), Y[LABELED], table(), RandomForestClassifier(3), TREES, preprocess="auto"
    ),
    "support vectors": lambda: arrays(make_pipeline(StandardScaler(), SVC())),
    "bayes": lambda: arrays(make_pipeline(PolynomialFeatures(2), GaussianNB()), y=np.array(["x", "y", "z"])[Y]),
    "words": lambda: case(texts()[::5], Y[LABELED], texts(), "text"),
    "words of two classes": lambda: case(odd_texts()[:20], [0, 1] * 10, odd_texts(), mm.TextLearner(2, "balanced")),
    "words of columns": lambda: case(columns()[::5], Y[LABELED], pa.table(columns().to_dict(as_series=False)), "text"),
    "texts": lambda: case(texts()[::5], Y[LABELED], texts(), make_pipeline(TfidfVectorizer(), LogisticRegression())),
    "counts": lambda: case(texts()[::5], Y[LABELED], texts(), make_pipeline(CountVectorizer(), MultinomialNB())),
    "frame": lambda: case(every(5, mixed()), Y[LABELED], pl.from_pandas(mixed()), encoded(GaussianNB())),
    "classes without labels": lambda: arrays(classes=[-1, 0, 1, 2, 5]),
    "forest with classes without labels": lambda: arrays(
        RandomForestClassifier(3), classes=[0, 1, 2, 5], trusted=TREES
    ),
    "networks with classes without labels": lambda: arrays(FixedNetworks(), classes=[0, 1, 2, 5]),
    "given": lambda: given(LogisticRegression(max_iter=1000)),
    "given with names": lambda: given(RandomForestClassifier(3), named(), TREES),
    "given with columns of several kinds": lambda: given(encoded(GaussianNB()), mixed()),
    "given texts": lambda: given(make_pipeline(TfidfVectorizer(), MultinomialNB()), np.array(texts(), dtype=object)),
}  # fmt: skip


@cache
def fitted(name: str) -> Case:
    return CASES[name]()


@pytest.fixture(params=CASES)
def each(request: pytest.FixtureRequest) -> Case:
    """Every kind of committee that can be saved, one after the other."""
    return fitted(request.param)


@pytest.fixture
def one() -> Callable[[str], Case]:
    """Return a committee by the name of its kind."""
    return fitted
