"""XGBoost, LightGBM and CatBoost as learners, with the real libraries: `make test-libraries` installs them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import minmargin as mm

rng = np.random.default_rng(0)
TABLE = pd.DataFrame(
    {
        "a": rng.normal(size=400),
        "b": rng.normal(size=400),
        "color": rng.choice(["red", "green", "blue"], 400),
        "city": rng.choice(list("abcdefgh"), 400),
    }
)
LABELS = np.where(
    TABLE["a"] + (TABLE["color"] == "red") > 0.5, "yes", np.where(TABLE["b"] > 0, "maybe", "no")
)
NUMBERS = ["a", "b"]


def xgboost(**settings):
    return pytest.importorskip("xgboost").XGBClassifier(n_estimators=8, n_jobs=1, **settings)


def lightgbm(**settings):
    return pytest.importorskip("lightgbm").LGBMClassifier(n_estimators=8, n_jobs=1, verbose=-1, **settings)


def catboost(**settings):
    return pytest.importorskip("catboost").CatBoostClassifier(iterations=8, thread_count=1, **settings)


BOOSTERS = [xgboost, lightgbm, catboost]


def committee(learner, table=TABLE[NUMBERS], labels=LABELS):
    return mm.fit_committee(table[:90], labels[:90], learner=learner, n_models=3, random_state=0)


@pytest.mark.parametrize("booster", BOOSTERS)
@pytest.mark.parametrize("labels", [LABELS, np.where(LABELS == "yes", 7, 3)], ids=["texts", "two numbers"])
def test_labels_of_any_type(booster, labels):
    learner = booster()
    given = learner.get_params()
    trained = committee(learner, labels=labels)
    pool = TABLE[NUMBERS][90:]
    assert trained.classes_.tolist() == sorted(set(labels.tolist()))
    # The base learned what the labels say, and not their neighbors.
    assert (trained.predict(pool) == labels[90:]).mean() > 0.6
    batch = trained.select(pool, 6, chunk_size=50)
    assert batch == mm.select(
        TABLE[NUMBERS][:90], labels[:90], pool, 6, learner=learner, n_models=3, random_state=0
    )
    assert learner.get_params() == given


@pytest.mark.parametrize("booster", BOOSTERS)
def test_the_base_is_the_classifier_itself(booster):
    quiet = {"verbose": False, "allow_writing_files": False} if booster is catboost else {}
    alone = booster(**quiet).fit(TABLE[NUMBERS][:90], np.unique(LABELS[:90], return_inverse=True)[1])
    pool = TABLE[NUMBERS][90:]
    # None of them draws rows or columns by default, so the seed changes nothing.
    np.testing.assert_allclose(
        committee(booster(**quiet)).predict_proba(pool), alone.predict_proba(pool), rtol=1e-6
    )


def test_xgboost_takes_any_labels_within_other_estimators_too():
    for learner in (make_pipeline(StandardScaler(), xgboost()), CalibratedClassifierCV(xgboost(), cv=3)):
        trained = committee(learner)
        assert trained.classes_.tolist() == ["maybe", "no", "yes"]
        assert (trained.predict(TABLE[NUMBERS][90:]) == LABELS[90:]).mean() > 0.6


def test_catboost_is_given_its_categories_by_name_or_place():
    by_name = committee(catboost(cat_features=["color", "city"]), TABLE)
    by_place = committee(catboost(cat_features=[2, 3]), TABLE)
    batch = by_name.select(TABLE[90:], 6)
    assert batch == by_place.select(TABLE[90:], 6)
    assert (by_name.predict(TABLE[90:]) == LABELS[90:]).mean() > 0.7
    in_pipeline = committee(make_pipeline("passthrough", catboost(cat_features=["color", "city"])), TABLE)
    assert in_pipeline.select(TABLE[90:], 6) == batch


def test_catboost_takes_categories_from_files(tmp_path):
    TABLE[:90].assign(y=LABELS[:90]).to_csv(tmp_path / "labeled.csv", index=False)
    TABLE[90:].to_parquet(tmp_path / "pool.parquet")
    learner = catboost(cat_features=["color", "city"])
    batch = mm.select(
        tmp_path / "labeled.csv",
        "y",
        tmp_path / "pool.parquet",
        6,
        learner=learner,
        n_models=3,
        random_state=0,
    )
    assert batch.rows.tolist() == committee(learner, TABLE).select(TABLE[90:], 6).rows.tolist()


@pytest.mark.parametrize(
    "booster", [lambda: xgboost(enable_categorical=True), lightgbm], ids=["xgboost", "lightgbm"]
)
def test_categories_of_pandas(booster):
    table = TABLE.astype({"color": "category", "city": "category"})
    trained = committee(booster(), table)
    assert (trained.predict(table[90:]) == LABELS[90:]).mean() > 0.6
    assert trained.select(table[90:], 6, chunk_size=40) == trained.select(table[90:], 6)


def test_catboost_is_quiet_and_writes_nothing_unless_told_to(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    committee(catboost())
    assert capfd.readouterr().out == ""
    assert not list(tmp_path.iterdir())
    committee(catboost(verbose=True, allow_writing_files=True, train_dir="mine"))
    assert "learn:" in capfd.readouterr().out
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]
