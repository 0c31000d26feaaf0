"""Bad settings, strategies and learners, found before any training is wasted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

import minmargin as mm
from complaints import (
    LABELED,
    LABELED_FRAME,
    LABELS,
    POOL_FRAME,
    STRATEGIES,
    Recorder,
    X,
    complaint,
    pick,
    with_cell,
)
from minmargin.errors import TooFewDistinctError

# The batch


@pytest.mark.parametrize("size", [0, -1, 2.5, True, None])
def test_a_batch_size_that_is_no_positive_whole_number_is_refused(size: Any) -> None:
    assert complaint(batch_size=size) == f"batch_size={size!r} must be a whole number >= 1."


def test_a_batch_larger_than_an_array_is_refused() -> None:
    assert complaint(batch_size=151) == (
        "batch_size=151 is larger than the pool (150 rows in the pool). Use batch_size<=150."
    )


def test_a_batch_larger_than_a_glob_of_parquet_names_the_glob(parquet: Path) -> None:
    glob = parquet.parent / "*.parquet"
    assert complaint(LABELED_FRAME, pool=glob, batch_size=5000) == (
        f"batch_size=5000 is larger than the pool (150 rows in {glob}). Use batch_size<=150."
    )


def test_a_batch_larger_than_a_generator_is_found_at_its_end() -> None:
    assert complaint(pool=(X[i : i + 50] for i in (0, 50)), batch_size=101) == (
        "batch_size=101 is larger than the pool (100 rows in the pool). Use batch_size<=100."
    )


@pytest.mark.parametrize("strategy", ["min-margin", "random", "random-margin-mix", "k-centers", "soft-rank"])
def test_a_batch_larger_than_the_distinct_rows_is_found_at_the_end(strategy: str) -> None:
    pool = np.repeat(np.unique(X, axis=0)[:50], 20, axis=0)
    asked = {"pool": pool, "strategy": strategy, "distinct": True}
    assert complaint(error=TooFewDistinctError, batch_size=51, **asked) == (
        "batch_size=51 is larger than the number of distinct rows (50 among 1,000 rows in the pool). "
        "Use batch_size<=50, or distinct=False."
    )
    batch = pick(batch_size=50, **asked)
    assert len(np.unique(pool[batch.rows], axis=0)) == 50


def test_distinct_rows_are_those_that_are_not_excluded() -> None:
    pool = np.repeat(np.unique(X, axis=0)[:50], 20, axis=0)
    assert complaint(
        error=TooFewDistinctError, pool=pool, batch_size=50, distinct=True, exclude=range(40)
    ) == (
        "batch_size=50 is larger than the number of distinct rows (48 among 1,000 rows in the pool, 40 of them "
        "excluded). Use batch_size<=48, or distinct=False."
    )


def test_a_strategy_that_takes_distinct_rows_always_cannot_be_told_otherwise() -> None:
    class Always(mm.RandomMarginMix):
        def shortlists(self, batch_size: int) -> Any:
            return [each._replace(distinct=True) for each in super().shortlists(batch_size)]

    pool = np.repeat(np.unique(X, axis=0)[:50], 20, axis=0)
    assert complaint(error=TooFewDistinctError, pool=pool, batch_size=51, strategy=Always()) == (
        "batch_size=51 is larger than the number of distinct rows (50 among 1,000 rows in the pool). "
        "Use batch_size<=50."
    )
    batch = pick(pool=pool, batch_size=50, strategy=Always(), distinct=False)
    assert batch.manifest["settings"]["distinct"] is False
    assert batch.manifest["copies_passed_over"] > 0


def test_repeated_ids_among_the_picks_warn_with_their_number() -> None:
    pool = POOL_FRAME.assign(id=[0, 1] * 75)
    with pytest.warns(mm.DataWarning) as caught:
        batch = pick(LABELED_FRAME, pool=pool, batch_size=5, id_column="id")
    assert len(batch) == 5
    assert [str(each.message) for each in caught] == [
        (
            "Column 'id' identifies rows, and in the pool 2 ids are there more than once, such as 0, 75 times. Who "
            "labels by id cannot tell these rows apart: number them."
        ),
        (
            "3 of the 5 picked rows repeat an id of column 'id'. "
            "Use a column whose values are unique, or rows to tell them apart."
        ),
    ]


# Strategies


def test_the_nearest_name_is_suggested_for_an_unknown_strategy() -> None:
    assert complaint(strategy="minmargin") == (
        f"There is no strategy 'minmargin' (names: {STRATEGIES}). Did you mean 'min-margin'?"
    )


def test_a_strategy_that_is_neither_name_nor_function_is_refused() -> None:
    assert complaint(strategy=5) == (
        "strategy=5 is neither a name, a score function nor an object with score(candidates). "
        "mm.strategies() lists the names."
    )


def test_a_strategy_given_as_a_class_is_refused() -> None:
    assert complaint(strategy=mm.KCenters) == "strategy is the class KCenters. Pass an instance: KCenters()."


def test_true_margin_without_its_function_is_refused() -> None:
    assert complaint(strategy="true-margin") == (
        "Strategy 'true-margin' needs the function that gives the true margin. "
        "Use strategy=mm.TrueMargin(function)."
    )


def test_a_strategy_that_does_not_fit_in_memory_says_which_prefilter_does() -> None:
    pool = np.random.default_rng(0).normal(size=(20_000, 4))
    assert complaint(pool=pool, strategy=mm.KCenters(memory_limit=1_000_000)) == (
        "Strategy 'k-centers' compares all candidates in memory: 20,000 rows need about 1.3 MB and 1.0 MB may "
        "be used. Use prefilter=15625 to keep only the rows with the lowest margin."
    )
    assert len(pick(pool=pool, strategy=mm.KCenters(memory_limit=1_000_000, prefilter=15_625))) == 3


def test_a_prefilter_smaller_than_the_batch_is_refused() -> None:
    assert complaint(batch_size=20, strategy=mm.BalancedMargin(prefilter=10)) == (
        "prefilter=10 keeps fewer rows than batch_size=20 asks for. Use prefilter>=20."
    )


def test_a_prefilter_of_no_rows_is_refused() -> None:
    with pytest.raises(mm.InputError) as caught:
        mm.KCenters(prefilter=0)
    assert str(caught.value) == "prefilter=0 must be a whole number >= 1."


def test_a_balance_outside_0_to_1_is_refused() -> None:
    with pytest.raises(mm.InputError) as caught:
        mm.BalancedMargin(balance=1.5)
    assert str(caught.value) == "balance=1.5 must lie between 0 (only diversity) and 1 (only margin)."


def test_variance_of_probabilities_needs_probabilities() -> None:
    assert complaint(strategy="var-softmax", learner=SVC()) == (
        "Strategy 'var-softmax' needs class probabilities, and SVC() has only decision_function. "
        "Wrap it in CalibratedClassifierCV(..., ensemble=False)."
    )


def test_min_margin_needs_members() -> None:
    assert complaint(n_models=0) == (
        "Strategy 'min-margin' needs members, and n_models=0. Use n_models>=1; 25 is usual."
    )


@pytest.mark.parametrize("n_models", [-1, 2.5, True, "25"])
def test_a_number_of_models_that_is_no_whole_number_is_refused(n_models: Any) -> None:
    assert complaint(n_models=n_models) == f"n_models={n_models!r} must be a whole number >= 0; 25 is usual."


def test_scores_of_the_wrong_shape_are_refused() -> None:
    assert complaint(strategy=lambda candidates: candidates.base_scores) == (
        "The strategy gave scores of shape (150, 3) for 150 rows. Give one float a row."
    )


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_score_that_is_not_finite_names_the_row(value: float) -> None:
    assert complaint(strategy=lambda candidates: np.where(candidates.rows == 7, value, 0.0)) == (
        f"The score of pool row 7 is {value}. Scores must be finite numbers."
    )


def test_a_strategy_without_row_scores_cannot_score() -> None:
    committee = mm.fit_committee(LABELED, LABELS, n_models=3, random_state=0)
    with pytest.raises(mm.InputError) as caught:
        committee.score(X, strategy="k-centers")
    assert str(caught.value) == (
        "Strategy 'k-centers' has no score of a row by itself: each pick depends on the others. "
        "Use select, or a strategy that is a row score."
    )


# Learners


class NoScores(Recorder):
    """A classifier that can only predict."""

    predict_proba = property()  # type: ignore[assignment]

    def predict(self, X: Any) -> np.ndarray:
        return np.full(len(X), self.classes_[0])


class NoRepeats(Recorder):
    """A classifier that cannot be trained on a bootstrap draw."""

    def fit(self, X: Any, y: Any) -> NoRepeats:
        if len(np.unique(X, axis=0)) < len(X):
            raise ValueError("rows repeat")
        super().fit(X, y)
        return self


class NoPool(Recorder):
    """A classifier that can be trained but not asked."""

    def predict_proba(self, X: Any) -> np.ndarray:
        raise ValueError("out of order")


def test_a_reference_to_a_learner_says_where_it_works_and_what_to_pass() -> None:
    assert complaint(learner="package.models:make") == (
        "learner='package.models:make' names a factory, which the command line and Campaign.init take. Here, pass what "
        "it makes: from package.models import make, then learner=make(), or learner=make for torch modules."
    )


def test_the_nearest_name_is_suggested_for_an_unknown_learner() -> None:
    assert complaint(learner="randomforest") == (
        "There is no learner 'randomforest' (names: 'logistic', 'text', 'mlp', 'random-forest', 'gradient-boosting'). "
        "Did you mean 'random-forest'? Any scikit-learn classifier can be passed as an object."
    )


def test_a_learner_given_as_a_class_is_refused() -> None:
    assert complaint(learner=LogisticRegression) == (
        "learner is the class LogisticRegression. Pass an instance: LogisticRegression()."
    )


def test_a_regressor_is_refused() -> None:
    assert complaint(learner=Ridge()) == (
        "learner=Ridge() is not a classifier. Margins need class scores: use a classifier."
    )


def test_a_learner_of_another_kind_is_refused() -> None:
    assert complaint(learner={"C": 1.0}) == (
        "learner is a dict, which is not a scikit-learn classifier. "
        "Use one, or one of the names 'logistic', 'text', 'mlp', 'random-forest', 'gradient-boosting'."
    )


def test_a_classifier_without_class_scores_is_refused() -> None:
    assert complaint(learner=NoScores()) == (
        "NoScores has neither predict_proba nor decision_function, so it has no margin. "
        "Wrap it in CalibratedClassifierCV, or use another classifier."
    )


def test_texts_need_a_learner_that_reads_them() -> None:
    texts = ["good", "bad", "fine"] * 10
    assert complaint(texts, pool=texts) == (
        "The labeled set is a list of texts, and this learner takes numbers only. Use learner='text', or a "
        "scikit-learn pipeline that begins with a vectorizer."
    )


def test_a_text_learner_needs_to_know_the_text_column() -> None:
    frame = pd.DataFrame({"title": ["good", "bad", "fine"] * 10, "body": "words"})
    learner = make_pipeline(TfidfVectorizer(), LogisticRegression())
    assert complaint(frame, pool=frame, learner=learner) == (
        "TfidfVectorizer() reads one text column, but the features are 'title', 'body'. "
        "Name the text column with features='...'."
    )


def test_a_member_that_cannot_be_trained_is_named_with_its_draw_and_the_reason() -> None:
    assert complaint(learner=NoRepeats(), bootstrap_fraction=0.7, error=mm.MemberFitError) == (
        "Member 0 of 3 failed to fit on 21 rows (classes 0: 7, 1: 7, 2: 7): ValueError: rows repeat"
    )


def test_a_base_that_cannot_be_trained_is_named_with_the_classes_and_the_reason() -> None:
    twice = np.vstack([LABELED, LABELED])
    assert complaint(twice, np.tile(LABELS, 2), learner=NoRepeats(), error=mm.MemberFitError) == (
        "The base model failed to fit on 60 rows (classes 0: 20, 1: 20, 2: 20): ValueError: rows repeat"
    )


def test_a_model_that_cannot_score_is_reported_with_the_rows_and_the_reason() -> None:
    assert complaint(learner=NoPool(), error=mm.ScoringError) == (
        "The learner failed on pool rows 0 to 149: ValueError: out of order"
    )


# Other settings


@pytest.mark.parametrize("seed", [-1, 1.5, "seed", [1, 2]])
def test_a_random_state_that_cannot_seed_is_refused(seed: Any) -> None:
    assert complaint(random_state=seed) == (
        f"random_state={seed!r} cannot seed a run. Use None, a whole number >= 0, or a numpy random generator."
    )


@pytest.mark.parametrize("size", [0, -5, 2.5, True, "8"])
def test_a_chunk_size_that_is_no_positive_whole_number_is_refused(size: Any) -> None:
    assert complaint(chunk_size=size) == f"chunk_size={size!r} must be a whole number >= 1."


@pytest.mark.parametrize("n_jobs", [0, 1.5, True, "all"])
def test_a_number_of_jobs_that_is_no_whole_number_is_refused(n_jobs: Any) -> None:
    assert complaint(n_jobs=n_jobs) == (
        f"n_jobs={n_jobs!r} must be a whole number >= 1, or -1 for all cores."
    )


# Before training


UNUSABLE: dict[str, dict[str, Any]] = {
    "batch size": {"batch_size": 0},
    "batch larger than the pool": {"batch_size": 151},
    "strategy": {"strategy": "minmargin"},
    "number of models": {"n_models": -1},
    "number of jobs": {"n_jobs": 0},
    "chunk size": {"chunk_size": 0},
    "strategy given as a class": {"strategy": mm.KCenters},
    "bootstrap fraction": {"bootstrap_fraction": 0.01},
    "random state": {"random_state": -1},
    "preprocessing": {"preprocess": "full"},
    "labels": {"labels": [0] * 30},
    "infinite value in the labeled set": {"labeled": with_cell(LABELED, np.inf), "pool": X},
    "kind of pool": {"pool": None},
    "empty pool": {"pool": POOL_FRAME[:0]},
    "pool without a column": {"pool": POOL_FRAME[["a", "b"]]},
    "pool with a column of another type": {"pool": POOL_FRAME.assign(a="text")},
    "file": {"pool": "no/such/pool.parquet"},
    "id column": {"id_column": "id"},
    "kept column": {"keep": ["title"]},
}


@pytest.mark.parametrize("settings", UNUSABLE.values(), ids=UNUSABLE)
def test_nothing_is_trained_for_an_unusable(recorder: Recorder, settings: dict[str, Any]) -> None:
    with pytest.raises(mm.InputError):
        pick(**{"labeled": LABELED_FRAME, "pool": POOL_FRAME, "learner": recorder, **settings})
    assert Recorder.n_fits == 0


def test_a_usable_run_trains_the_base_and_every_member(recorder: Recorder) -> None:
    pick(LABELED_FRAME, pool=POOL_FRAME, learner=recorder)
    assert Recorder.n_fits == 4
