"""Calls that mypy must allow, and calls that it must not: `make lint` checks this file, and nothing runs it.

Where an error is expected, the line has `type: ignore` with its code. Without that error, mypy finds the remark unused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

import minmargin as mm
from minmargin.strategies import Shortlist, resolve_strategy
from minmargin.strategies.base import Context
from minmargin.topb import Ranked
from minmargin.typing import Needs, StrategyName

Floats = NDArray[np.float64]


def base_confidence(candidates: mm.Candidates) -> Floats:
    """Return a score."""
    return cast("Floats", candidates.base_scores.max(axis=1))


class Scores:
    """An object that scores rows."""

    needs: Needs = "base"

    def score(self, candidates: mm.Candidates) -> Floats:
        """Return a score."""
        return base_confidence(candidates)


class Whole:
    """A strategy with all of its members."""

    name = "whole"
    needs: Needs = "base"
    probabilistic = False

    def shortlists(self, batch_size: int) -> Sequence[Shortlist]:
        """Return what one pass must keep."""
        return []

    def finish(self, shortlists: Sequence[Ranked], context: Context) -> Ranked:
        """Return the batch."""
        return shortlists[0]


class Classifier:
    """What type checkers see of a classifier of scikit-learn."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Classifier:
        """Train it."""
        return self

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return its settings."""
        return {}


class HubDataset:
    """What type checkers see of a dataset of Hugging Face."""

    @property
    def column_names(self) -> Any:
        """Return the names of its columns."""

    def with_format(self, type: str | None = None) -> HubDataset:  # noqa: A002 - their name
        """Return it for another library."""
        return self


class TensorLoader:
    """What type checkers see of a loader of torch."""

    dataset: Any


class Net:
    """What type checkers see of a torch module."""

    def __init__(self, width: int = 4) -> None:
        """Make one."""


def strategies(X: Floats, y: Sequence[str], pool: Floats, given: str) -> None:
    """Names of strategies are known; functions and objects are allowed."""
    mm.select(X, y, pool, 5, strategy="min-margin")
    mm.select(X, y, pool, 5, strategy="min_margin")  # type: ignore[arg-type]
    mm.select(X, y, pool, 5, strategy=base_confidence)
    mm.select(X, y, pool, 5, strategy=lambda candidates: candidates.uniform)
    mm.select(X, y, pool, 5, strategy=Scores())
    mm.select(X, y, pool, 5, strategy=Whole())
    mm.select(X, y, pool, 5, strategy=mm.KCenters(prefilter=10))
    mm.select(X, y, pool, 5, strategy=mm.RandomMarginMix())
    mm.select(X, y, pool, 5, strategy=mm.TrueMargin(lambda rows: np.zeros(len(rows))))
    mm.select(X, y, pool, 5, strategy=mm.KCenters)  # type: ignore[arg-type]
    mm.select(X, y, pool, 5, strategy=3)  # type: ignore[arg-type]
    # A text that is known only when the program runs, or that someone else has registered.
    mm.select(X, y, pool, 5, strategy=given)  # type: ignore[arg-type]
    mm.select(X, y, pool, 5, strategy=cast("StrategyName", given))
    mm.select(X, y, pool, 5, strategy=resolve_strategy(given))
    for each in mm.strategies():
        mm.select(X, y, pool, 5, strategy=each.name)


def learners(X: Floats, y: Sequence[str], pool: Floats) -> None:
    """Names of learners are known; classifiers, learners and factories are allowed."""
    mm.select(X, y, pool, 5, learner="random-forest")
    mm.select(X, y, pool, 5, learner="random_forest")  # type: ignore[arg-type]
    mm.select(X, y, pool, 5, learner=Classifier())
    mm.select(X, y, pool, 5, learner=mm.LogisticLearner(C=3.0))
    mm.select(X, y, pool, 5, learner=mm.TextLearner())
    mm.select(X, y, pool, 5, learner=mm.MLPLearner(hidden=(8,)))
    mm.select(X, y, pool, 5, learner=mm.ModuleLearner(Net))
    mm.select(X, y, pool, 5, learner=Net)
    mm.select(X, y, pool, 5, learner=lambda: Net(8))
    mm.fit_committee(X, y, learner="logistc")  # type: ignore[arg-type]


def settings(X: Floats, y: Sequence[str], pool: Floats) -> None:
    """So are the few values of other arguments."""
    mm.select(
        X,
        y,
        pool,
        5,
        preprocess="auto",
        device="cuda",
        precision="fast",
        engine="dask",
        random_state=np.int64(0),
    )
    mm.select(X, y, pool, 5, preprocess="automatic")  # type: ignore[arg-type]
    mm.select(X, y, pool, 5, device="cuda:0", n_jobs=None)
    mm.select(X, y, pool, 5, device="gpu")  # type: ignore[arg-type]
    mm.select(X, y, pool, 5, precision="float16")  # type: ignore[arg-type]
    mm.select(X, y, pool, 5, engine="slurm")  # type: ignore[arg-type]
    mm.select(X, y, pool, 5, random_state="0")  # type: ignore[arg-type]


def rows(X: Floats, y: Sequence[str], pool: Floats, csr: sparse.csr_array) -> None:
    """Rows come as arrays, sparse matrices, lists, texts and files; pools also as chunks."""
    mm.select(csr, y, csr, 5)
    mm.select([{"a": 1.0, "y": "up"}, {"a": 0.0, "y": "down"}], "y", [{"a": 0.5}], 1)
    mm.select(HubDataset(), "y", HubDataset(), 5)
    mm.select(X, y, TensorLoader(), 5)
    mm.select([[0.0, 1.0], [1, 0]], [0, 1], [[0.5, 0.5]], 1)
    mm.select(["lost", "stolen"], np.array([0, 1]), ["my card"], 1, learner="text")
    mm.select("labeled.csv", "y", Path("pool.parquet"), 5)
    mm.select("labeled.csv", "y", ["pool/0.csv", Path("pool/1.csv")], 5)

    def chunks() -> Iterator[Floats]:
        yield pool

    mm.select(X, y, chunks(), 5)
    mm.select(X, y, [pool, pool], 5)
    mm.select(X, y, 7, 5)  # type: ignore[arg-type]
    mm.select(X, 7, pool, 5)  # type: ignore[arg-type]
    mm.select(None, y, pool, 5)  # type: ignore[arg-type]


def others(X: Floats, y: Sequence[str], pool: Floats) -> None:
    """All functions and methods know the same names."""
    committee = mm.fit_committee(X, y, device="cpu")
    committee.score(pool, strategy="margin", precision="fast")
    committee.score(pool, strategy="margins")  # type: ignore[arg-type]
    committee.select(pool, 5, strategy="margin", engine="ray")
    committee.select(pool, 5, strategy="margins")  # type: ignore[arg-type]
    committee.select(pool, 5, engine="rays")  # type: ignore[arg-type]
    mm.compare(X, y, strategies=["margin", base_confidence, mm.KCenters()])
    mm.compare(X, y, strategies=["margins"])  # type: ignore[list-item]
    campaign = mm.Campaign.init(
        "cards", labeled="labeled.csv", label_column="y", pool="pool.csv", batch_size=5, strategy="margin"
    )
    campaign.next(device="auto", engine="local")
    campaign.next(device="gpu")  # type: ignore[arg-type]
    mm.Campaign.init(
        "cards",
        labeled="labeled.csv",
        label_column="y",
        pool="pool.csv",
        batch_size=5,
        strategy="margins",  # type: ignore[arg-type]
        learner="package.module:factory",
    )
