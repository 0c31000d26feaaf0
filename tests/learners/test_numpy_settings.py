"""Settings that are numpy's numbers: the same batch, and the same settings on record, as with Python's."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris

import minmargin as mm

X, y = load_iris(return_X_y=True)
PROBABILITIES = np.random.default_rng(0).dirichlet(np.ones(3), size=(4, 60))


def pick(**settings: Any) -> tuple[list[int], str]:
    batch = mm.select(X[::5], y[::5], X, 4, **{"n_models": 3, "random_state": 0, "n_jobs": 1, **settings})
    return batch.rows.tolist(), json.dumps(batch.manifest["settings"])


@pytest.mark.parametrize(
    ("name", "plain", "of_numpy"),
    [
        ("bootstrap_fraction", 0.7, np.float32(0.7)),
        ("bootstrap_fraction", 0.7, np.float64(0.7)),
        ("n_models", 4, np.int64(4)),
        ("random_state", 3, np.uint8(3)),
        ("chunk_size", 64, np.int32(64)),
        ("distinct", True, np.bool_(True)),
        ("distinct", False, np.bool_(False)),
    ],
)
def test_an_argument_of_numpy_is_like_one_of_python(name: str, plain: Any, of_numpy: Any) -> None:
    assert pick(**{name: of_numpy}) == pick(**{name: plain})


@pytest.mark.parametrize("distinct", [True, False])
def test_batches_of_probabilities_record_plain_settings(distinct: bool) -> None:
    batch = mm.select_from_probabilities(PROBABILITIES, 4, distinct=np.bool_(distinct), random_state=0)
    assert json.loads(json.dumps(batch.manifest["settings"]))["distinct"] is distinct


@pytest.mark.parametrize(
    ("learner", "plain", "of_numpy"),
    [
        (mm.LogisticLearner, {"C": 0.1, "tol": 1e-5}, {"C": np.float32(0.1), "tol": np.float64(1e-5)}),
        (mm.LogisticLearner, {"fit_intercept": False}, {"fit_intercept": np.bool_(False)}),
        (mm.LogisticLearner, {"class_weight": {1: 0.3}}, {"class_weight": {np.int64(1): np.float32(0.3)}}),
        (mm.TextLearner, {"C": 0.1}, {"C": np.float32(0.1)}),
        (
            mm.MLPLearner,
            {"hidden": (16,), "epochs": 3, "lr": 0.01, "weight_decay": 0.1, "standardize": False},
            {
                "hidden": (np.int64(16),),
                "epochs": np.int64(3),
                "lr": np.float32(0.01),
                "weight_decay": np.float32(0.1),
                "standardize": np.bool_(False),
            },
        ),
        (
            lambda **settings: mm.ModuleLearner(dict, **settings),
            {
                "epochs": 3,
                "lr": 0.01,
                "schedule": "cosine",
                "warmup": 0.1,
                "patience": 2,
                "input_shape": (2, 2),
            },
            {
                "epochs": np.int64(3),
                "lr": np.float32(0.01),
                "schedule": "cosine",
                "warmup": np.float32(0.1),
                "patience": np.uint8(2),
                "input_shape": (np.int64(2), np.int64(2)),
            },
        ),
    ],
    ids=["logistic", "a truth value", "weights of classes", "text", "mlp", "module"],
)
def test_a_learner_with_settings_of_numpy_is_the_plain_one(learner: Any, plain: Any, of_numpy: Any) -> None:
    assert learner(**of_numpy) == learner(**plain)
    assert learner(**of_numpy).name == learner(**plain).name
    assert repr(learner(**of_numpy)) == repr(learner(**plain))
