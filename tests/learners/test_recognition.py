"""Linear estimators are compiled, and logistic ones trained together, without a change to what is picked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn import linear_model
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.impute import SimpleImputer
from sklearn.linear_model import (
    LogisticRegression,
    LogisticRegressionCV,
    Perceptron,
    RidgeClassifier,
    RidgeClassifierCV,
    SGDClassifier,
)
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import SVC, LinearSVC

import minmargin as mm
from minmargin.learners.linear import LinearScorer
from minmargin.learners.sklearn import EstimatorScorer

X, y = load_iris(return_X_y=True)
X = X + np.array([0.0, 10.0, -100.0, 0.5])
NAMES = ["a", "b", "c", "d"]
LABELED = np.arange(0, 150, 3)
HOLES = np.where(np.random.default_rng(0).random(X.shape) < 0.15, np.nan, X)
EXACT = {"solver": "newton-cholesky", "tol": 1e-10, "max_iter": 1000}

CLASSIFIERS = {
    "logistic": LogisticRegression(**EXACT),
    "logistic, weighted classes": LogisticRegression(C=0.3, class_weight={0: 1.0, 1: 5.0}, **EXACT),
    "logistic, balanced classes": LogisticRegression(class_weight="balanced", **EXACT),
    "logistic, no intercept": LogisticRegression(fit_intercept=False, **EXACT),
    "logistic, elastic net": LogisticRegression(l1_ratio=0.5, solver="saga", max_iter=50),
    "batched": mm.BatchedLogisticRegression(C=2.0),
    "logistic cv": LogisticRegressionCV(
        Cs=[0.1, 1.0], cv=2, l1_ratios=[0], scoring="accuracy", use_legacy_attributes=False, max_iter=1000
    ),
    "svm": LinearSVC(),
    "svm, no intercept": LinearSVC(fit_intercept=False),
    "svm, Crammer-Singer": LinearSVC(multi_class="crammer_singer"),
    "ridge": RidgeClassifier(),
    "ridge, no intercept": RidgeClassifier(fit_intercept=False),
    "ridge cv": RidgeClassifierCV(),
    "sgd": SGDClassifier(),
    "sgd, averaged": SGDClassifier(average=True, loss="squared_hinge"),
    "sgd, logistic": SGDClassifier(loss="log_loss"),
    "perceptron": Perceptron(),
    "lda": LinearDiscriminantAnalysis(),
    "lda, shrunk": LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
}
TOGETHER = {
    "logistic",
    "logistic, weighted classes",
    "logistic, balanced classes",
    "logistic, no intercept",
    "batched",
}
TRANSFORMERS = {
    "standard": [StandardScaler()],
    "standard, not centered": [StandardScaler(with_mean=False)],
    "standard, not scaled": [StandardScaler(with_std=False)],
    "min-max": [MinMaxScaler((-3, 5))],
    "max-abs": [MaxAbsScaler()],
    "robust": [RobustScaler(quantile_range=(10, 80), unit_variance=True)],
    "robust, plain": [RobustScaler(with_centering=False, with_scaling=False)],
    "passthrough": ["passthrough", FunctionTransformer()],
    "several": [MinMaxScaler(), make_pipeline(RobustScaler(), MaxAbsScaler()), StandardScaler()],
    "writing in place": [StandardScaler(copy=False), MinMaxScaler(copy=False)],
    "columns": [
        make_column_transformer(
            (StandardScaler(), [2, 0]), (MinMaxScaler(), slice(1, 3)), ("drop", [3]), ("passthrough", [-2])
        )
    ],
    "columns and the rest": [
        MaxAbsScaler(),
        ColumnTransformer(
            [
                ("mask", make_pipeline(RobustScaler(), StandardScaler()), [True, False, False, True]),
                ("none", MaxAbsScaler(), []),
            ],
            remainder=MinMaxScaler(),
        ),
        StandardScaler(),
    ],
}
IMPUTERS = {
    "mean": [SimpleImputer()],
    "before a scaler": [SimpleImputer(strategy="median"), StandardScaler()],
    "after a scaler": [MinMaxScaler(), SimpleImputer(strategy="most_frequent"), RobustScaler()],
    "a constant, twice": [
        SimpleImputer(strategy="constant", fill_value=-7.0),
        SimpleImputer(),
        StandardScaler(),
    ],
    "columns": [
        make_column_transformer(
            (make_pipeline(SimpleImputer(), StandardScaler()), [0, 1]),
            (make_pipeline(StandardScaler(), SimpleImputer(strategy="constant")), [1, 3]),
        )
    ],
}
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def committee(
    learner: Any, rows: Any = X, n_classes: int = 3, labeled: Any = None, **settings: Any
) -> mm.Committee:
    chosen = LABELED[y[LABELED] < n_classes]
    if labeled is None:
        labeled = rows.iloc[chosen] if isinstance(rows, pd.DataFrame) else rows[chosen]
    settings = {"n_models": 3, "random_state": 0, "n_jobs": 1, **settings}
    return mm.fit_committee(labeled, y[chosen], learner=learner, **settings)


@pytest.fixture
def general(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return `committee`, without recognition."""

    def make(*args: Any, **settings: Any) -> mm.Committee:
        with monkeypatch.context() as patch:
            patch.setattr("minmargin.learners.sklearn.recognize", lambda *_: None)
            made = committee(*args, **settings)
        assert isinstance(made.scorer, EstimatorScorer)
        return made

    return make


def assert_same_scores(
    compiled: mm.Committee, general: mm.Committee, pool: Any = X, rtol: float = 1e-6
) -> None:
    assert isinstance(compiled.scorer, LinearScorer)
    assert compiled.scorer.probabilistic == general.scorer.probabilistic
    for strategy in ["min-margin", "mean-margin", "margin"]:
        expected = general.score(pool, strategy=strategy)
        scores = compiled.score(pool, strategy=strategy)
        np.testing.assert_allclose(scores, expected, rtol=rtol, atol=rtol * np.abs(expected).max())
        picked = compiled.select(pool, 9, strategy=strategy, distinct=False).rows
        np.testing.assert_allclose(expected[picked], np.sort(expected)[:9], rtol=rtol, atol=rtol)
    vectors = compiled.provenance.vectors(), general.provenance.vectors()
    np.testing.assert_allclose(*map(dense, vectors), rtol=1e-6, atol=1e-6)


def dense(rows: Any) -> np.ndarray:
    return rows.toarray() if sparse.issparse(rows) else rows


def closeness(classifier: str) -> float:
    return 3e-5 if classifier in TOGETHER else 1e-7


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("classifier", CLASSIFIERS)
def test_every_linear_classifier_gives_the_scores_that_scikit_learn_gives(
    general: Any, classifier: str, n_classes: int
) -> None:
    learner = make_pipeline(StandardScaler(), CLASSIFIERS[classifier])
    if classifier == "sgd, logistic" and n_classes == 3:
        assert isinstance(committee(learner).scorer, EstimatorScorer)  # one against the rest
        return
    compiled = committee(learner, n_classes=n_classes)
    assert_same_scores(compiled, general(learner, n_classes=n_classes), rtol=closeness(classifier))
    how = "together" if classifier in TOGETHER else "one by one"
    assert (
        compiled.select(X, 5)
        .manifest["settings"]["scoring_path"]
        .startswith(f"linear models, trained {how};")
    )


@pytest.mark.skipif(
    not hasattr(linear_model, "PassiveAggressiveClassifier"), reason="gone from scikit-learn 1.10 on"
)
@pytest.mark.filterwarnings("ignore:Class PassiveAggressiveClassifier is deprecated:FutureWarning")
def test_a_passive_aggressive_classifier_is_linear_too(general: Any) -> None:
    learner = linear_model.PassiveAggressiveClassifier()
    assert_same_scores(committee(learner), general(learner), rtol=1e-7)


@pytest.mark.parametrize("classifier", ["logistic", "svm", "lda"])
@pytest.mark.parametrize("transformers", TRANSFORMERS)
def test_scalers_are_folded_into_the_weights(general: Any, transformers: str, classifier: str) -> None:
    learner = make_pipeline(*TRANSFORMERS[transformers], CLASSIFIERS[classifier])
    assert_same_scores(committee(learner), general(learner), rtol=closeness(classifier))


@pytest.mark.parametrize("classifier", ["logistic", "ridge"])
@pytest.mark.parametrize("transformers", IMPUTERS)
def test_imputers_are_folded_into_weights_of_what_is_missing(
    general: Any, transformers: str, classifier: str
) -> None:
    learner = make_pipeline(*IMPUTERS[transformers], CLASSIFIERS[classifier])
    compiled = committee(learner, HOLES)
    assert_same_scores(compiled, general(learner, HOLES), HOLES, rtol=closeness(classifier))
    assert_same_scores(committee(learner, X), general(learner, X), HOLES, rtol=closeness(classifier))


STEPS = [step for steps in (*TRANSFORMERS.values(), *IMPUTERS.values()) for step in steps]


@settings(max_examples=40)  # each fits a dozen pipelines
@given(
    steps=st.lists(
        st.sampled_from([step for step in STEPS if not isinstance(step, ColumnTransformer)]), max_size=4
    ),
    last=st.sampled_from(["logistic", "svm", "ridge, no intercept", "perceptron"]),
    seed=st.integers(0, 1000),
)
def test_any_chain_of_scalers_and_imputers_compiles(steps: list[Any], last: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(150, 4)) * 10.0 ** rng.integers(-3, 4, 4) + 10.0 ** rng.integers(-3, 4, 4)
    # Standardized last, or scikit-learn does not find the optimum.
    learner = make_pipeline(SimpleImputer(), *steps, StandardScaler(), CLASSIFIERS[last])
    rows[rng.random(rows.shape) < 0.1] = np.nan
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("minmargin.learners.sklearn.recognize", lambda *_: None)
        reference = committee(learner, rows)
    compiled = committee(learner, rows)
    assert isinstance(compiled.scorer, LinearScorer)
    expected = reference.score(rows)
    np.testing.assert_allclose(compiled.score(rows), expected, atol=closeness(last) * np.abs(expected).max())


# Forms of input


FRAMES = {
    "pandas": lambda frame: frame,
    "polars": pl.from_pandas,
    "pyarrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
}


def by_name(classifier: Any) -> Pipeline:
    columns = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), ["d", "a"]),
        (make_column_transformer((MinMaxScaler(), ["c"]), remainder="drop"), ["b", "c"]),
    )
    return make_pipeline(columns, classifier)


@pytest.mark.parametrize("classifier", ["logistic", "ridge"])
@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_columns_by_name_become_positions(general: Any, make: Any, classifier: str) -> None:
    frame = pd.DataFrame(HOLES, columns=NAMES).assign(b=np.arange(150), c=X[:, 2])
    settings = {"labeled": make(frame.iloc[LABELED]), "rows": None}
    compiled = committee(by_name(CLASSIFIERS[classifier]), **settings)
    reference = general(by_name(CLASSIFIERS[classifier]), **settings)
    assert (compiled.training.intake.form, reference.training.intake.form) == ("matrix", "frame")
    assert_same_scores(compiled, reference, make(frame[["d", "b", "a", "c"]]), rtol=closeness(classifier))


def test_files_and_frames_give_one_batch(tmp_path: Path) -> None:
    frame = pd.DataFrame(HOLES, columns=NAMES).assign(c=X[:, 2])
    frame.iloc[LABELED].assign(label=y[LABELED]).to_csv(tmp_path / "labeled.csv", index=False)
    frame[["c", "d", "b", "a"]].to_parquet(tmp_path / "pool.parquet", row_group_size=40)
    settings = {"batch_size": 9, "learner": by_name(LogisticRegression()), "n_models": 3, "random_state": 0}
    batch = mm.select(tmp_path / "labeled.csv", "label", tmp_path / "pool.parquet", **settings)
    in_memory = mm.select(frame.iloc[LABELED], y[LABELED], frame, **settings)
    assert batch.rows.tolist() == in_memory.rows.tolist()
    np.testing.assert_array_equal(batch.scores, in_memory.scores)


@pytest.mark.parametrize("classifier", ["logistic", "ridge", "perceptron"])
@pytest.mark.parametrize(
    "steps",
    [[StandardScaler(with_mean=False)], [MaxAbsScaler()], [RobustScaler(with_centering=False)], []],
    ids=str,
)
def test_sparse_rows_stay_sparse(general: Any, steps: list[Any], classifier: str) -> None:
    rows = sparse.csr_array(np.where(X > 3, X, 0.0))
    learner = make_pipeline(*steps, CLASSIFIERS[classifier])
    compiled = committee(learner, rows)
    assert compiled.training.intake.form == "sparse"
    assert sparse.issparse(compiled.provenance.vectors())
    assert_same_scores(compiled, general(learner, rows), rows, rtol=closeness(classifier))


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.uint8, bool])
@pytest.mark.parametrize("classifier", ["logistic", "svm"])
def test_any_numbers_are_taken(general: Any, classifier: str, dtype: Any) -> None:
    rows = (X > [5.8, 13.0, -97.0, 1.8]).astype(dtype) if dtype is bool else (X + 100).astype(dtype)
    learner = make_pipeline(StandardScaler(), CLASSIFIERS[classifier])
    rtol = 1e-3 if dtype is np.float32 else closeness(classifier)  # scikit-learn works in float32, too
    assert_same_scores(committee(learner, rows), general(learner, rows), rows, rtol=rtol)


def test_an_embedding_is_a_matrix(general: Any) -> None:
    table = pa.table({"vector": list(X)})
    settings = {"labeled": table.take(LABELED), "rows": None}
    learner = make_pipeline(StandardScaler(), CLASSIFIERS["logistic"])
    assert_same_scores(committee(learner, **settings), general(learner, **settings), table, rtol=3e-5)


def test_what_preprocessing_gives_is_a_matrix_too() -> None:
    frame = pd.DataFrame(X, columns=NAMES).assign(
        color=["red", "red", "green", "blue"] * 37 + ["red", "green"]
    )
    compiled = committee(LinearSVC(), frame, preprocess="auto")
    assert isinstance(compiled.scorer, LinearScorer)
    assert compiled.scorer.base_weights.shape == (7, 1, 3)


# Greedy strategies


@pytest.mark.parametrize("strategy", ["k-centers", "balanced-margin"])
@pytest.mark.parametrize("transformers", [*TRANSFORMERS, *IMPUTERS])
def test_greedy_strategies_see_what_the_last_step_sees(
    general: Any, transformers: str, strategy: str
) -> None:
    steps = TRANSFORMERS.get(transformers) or IMPUTERS[transformers]
    rows = X if transformers in TRANSFORMERS else HOLES
    learner = make_pipeline(*steps, RidgeClassifier())
    picked, expected = (
        make(learner, rows).select(rows, 6, strategy=strategy) for make in (committee, general)
    )
    np.testing.assert_allclose(picked.scores, expected.scores, rtol=1e-6, atol=1e-9)


# What is left to scikit-learn


class MyLogisticRegression(LogisticRegression):
    """A subclass may do anything."""


GENERAL = {
    "another classifier": SVC(),
    "a subclass": MyLogisticRegression(),
    "one against the rest": SGDClassifier(loss="log_loss"),
    "clipped probabilities": SGDClassifier(loss="modified_huber"),
    "a transformer that mixes columns": make_pipeline(PolynomialFeatures(2), Perceptron()),
    "a function": make_pipeline(FunctionTransformer(np.cbrt), LinearSVC()),
    "clipping": make_pipeline(MinMaxScaler(clip=True), LinearSVC()),
    "clipping to one": make_pipeline(MaxAbsScaler(clip=True), LinearSVC()),
    "marks beside the columns": make_pipeline(SimpleImputer(add_indicator=True), LinearSVC()),
    "missing values that are numbers": make_pipeline(SimpleImputer(missing_values=0.2), LinearSVC()),
    "a projection": make_pipeline(LinearDiscriminantAnalysis(), LinearSVC()),
    "weighted columns": make_pipeline(
        ColumnTransformer([("all", MaxAbsScaler(), [0, 1, 2, 3])], transformer_weights={"all": 2.0}),
        LinearSVC(),
    ),
    "a function chooses columns": make_pipeline(
        make_column_transformer((MaxAbsScaler(), lambda rows: [0, 1])), LinearSVC()
    ),
    "a part that is not known": make_pipeline(
        make_column_transformer((make_pipeline(PolynomialFeatures(2)), [0, 1])), LinearSVC()
    ),
    "a rest that is not known": make_pipeline(
        make_column_transformer((MaxAbsScaler(), [0]), remainder=PolynomialFeatures(2)), LinearSVC()
    ),
}


@pytest.mark.parametrize("learner", GENERAL.values(), ids=GENERAL)
def test_what_is_not_known_to_be_linear_is_asked_as_it_is(learner: Any) -> None:
    made = committee(learner)
    assert isinstance(made.scorer, EstimatorScorer)
    assert made.select(X, 5).manifest["settings"]["scoring_path"].startswith("estimators, ")


def test_columns_chosen_by_their_type_are_left_to_scikit_learn() -> None:
    chosen = make_column_transformer((StandardScaler(), make_column_selector(dtype_include="number")))
    made = committee(make_pipeline(chosen, LinearSVC()), pd.DataFrame(X, columns=NAMES))
    assert isinstance(made.scorer, EstimatorScorer)


def test_a_frame_with_text_is_left_to_scikit_learn() -> None:
    frame = pd.DataFrame(X, columns=NAMES).assign(color="red")
    made = committee(by_name(LogisticRegression()), frame)
    assert isinstance(made.scorer, EstimatorScorer)
    assert made.training.intake.form == "frame"


def test_sparse_rows_with_missing_values_are_left_to_scikit_learn() -> None:
    rows = sparse.csr_array(HOLES)
    made = committee(make_pipeline(SimpleImputer(), LinearSVC()), rows)
    assert isinstance(made.scorer, EstimatorScorer)
    assert np.isfinite(made.score(rows)).all()


def test_columns_too_far_from_zero_are_left_to_scikit_learn(general: Any) -> None:
    learner = make_pipeline(StandardScaler(), LogisticRegression())
    assert isinstance(committee(learner, X + 1e6).scorer, LinearScorer)
    assert isinstance(committee(learner, X + 1e10).scorer, EstimatorScorer)


@pytest.mark.parametrize("last", [LogisticRegression(), LinearSVC()])
def test_names_behind_a_scaler_are_as_unknown_as_in_scikit_learn(last: Any) -> None:
    learner = make_pipeline(StandardScaler(), make_column_transformer((MaxAbsScaler(), ["a", "c"])), last)
    with pytest.raises(mm.MemberFitError, match="columns using strings is only supported for dataframes"):
        committee(learner, pd.DataFrame(X, columns=NAMES))


ONE_BY_ONE = {
    "lasso": LogisticRegression(l1_ratio=1.0, solver="saga"),
    "no penalty": LogisticRegression(C=np.inf),
    "liblinear": LogisticRegression(solver="liblinear"),
    "dual": LogisticRegression(solver="liblinear", dual=True),
    "warm start": LogisticRegression(warm_start=True),
}


@pytest.mark.parametrize("last", ONE_BY_ONE.values(), ids=ONE_BY_ONE)
def test_logistic_regression_with_another_optimum_is_trained_one_by_one(general: Any, last: Any) -> None:
    learner = make_pipeline(StandardScaler(), last)
    compiled = committee(learner, n_classes=2)
    assert compiled.scorer.path.startswith("linear models, trained one by one;")
    assert_same_scores(compiled, general(learner, n_classes=2), rtol=1e-7)


@pytest.mark.filterwarnings("ignore:Skipping features without any observed values:UserWarning")
@pytest.mark.parametrize("classifier", ["logistic", "ridge"])
def test_a_column_that_some_draws_have_no_value_of_is_compiled(general: Any, classifier: str) -> None:
    rows = X.copy()
    rows[LABELED[:-2], 1] = np.nan
    learner = make_pipeline(SimpleImputer(), StandardScaler(), CLASSIFIERS[classifier])
    compiled = committee(learner, rows, n_models=20)
    assert compiled.scorer.path.startswith("linear models, trained one by one;")
    assert 0 < np.count_nonzero(compiled.scorer.member_weights[1, :, 0]) < 20
    assert_same_scores(compiled, general(learner, rows, n_models=20), rows, rtol=1e-6)


# Missing values without an imputer


def partly_imputed() -> Pipeline:
    return make_pipeline(
        make_column_transformer((SimpleImputer(), [0, 1]), (StandardScaler(), [2])), LinearSVC()
    )


def test_a_missing_value_that_nothing_fills_is_refused() -> None:
    pool = np.where(np.arange(4) == 2, HOLES, X)
    with pytest.raises(mm.InputError) as caught:
        committee(partly_imputed()).score(pool, strategy="committee")
    assert str(caught.value) == (
        "Column 2 of the pool has a missing value (NaN), and the learner has an imputer for other columns only. "
        "Fill it, drop the row, or add an imputer."
    )


def test_a_missing_value_in_a_column_that_is_not_looked_at_does_no_harm(general: Any) -> None:
    pool = np.where(np.arange(4) == 2, X, HOLES)
    assert np.isnan(pool[:, 3]).any()
    assert_same_scores(committee(partly_imputed()), general(partly_imputed()), pool, rtol=1e-7)


def test_a_missing_value_behind_a_scaler_alone_is_named() -> None:
    learner = make_pipeline(StandardScaler(), LogisticRegression())
    with pytest.raises(mm.InputError) as caught:
        committee(learner).score(HOLES)
    row, column = np.argwhere(np.isnan(HOLES))[0]
    assert str(caught.value) == (
        f"Pool row {row}, column {column} is missing (NaN). Fill it, drop the row, or use preprocess='auto'."
    )


@pytest.mark.parametrize("last", [LogisticRegression(), LinearSVC()])
def test_a_missing_value_in_the_labeled_set_that_nothing_fills_fails_as_in_scikit_learn(last: Any) -> None:
    learner = make_pipeline(make_column_transformer((SimpleImputer(), [0, 1]), (StandardScaler(), [2])), last)
    with pytest.raises(
        mm.MemberFitError, match=r"^The base model failed to fit .* ValueError: Input X contains NaN"
    ):
        committee(learner, HOLES)


# Training


def test_neither_n_models_nor_n_jobs_changes_a_member() -> None:
    learner = make_pipeline(StandardScaler(), LogisticRegression())
    few, many = (committee(learner, n_models=n, n_jobs=j).scorer for n, j in [(2, 1), (7, 2)])
    np.testing.assert_array_equal(few.member_weights, many.member_weights[:, :2])
    np.testing.assert_array_equal(few.member_intercepts, many.member_intercepts[:2])
    assert committee(learner, n_models=0).scorer.n_members == 0


def test_progress_tells_of_every_model() -> None:
    told: list[tuple[str, int, int | None]] = []
    committee(LogisticRegression(), progress=lambda *state: told.append(state))
    assert told == [("training", done, 4) for done in range(5)]


def test_a_transformer_that_cannot_be_fitted_is_told_of_as_ever() -> None:
    learner = make_pipeline(MinMaxScaler((1, 0)), LogisticRegression())
    with pytest.raises(
        mm.MemberFitError, match=r"^The base model failed to fit .* Minimum of desired feature range"
    ):
        committee(learner)


@pytest.mark.parametrize("last", [LogisticRegression(), LinearSVC(), SVC()])
def test_the_callers_rows_are_not_written_to(last: Any) -> None:
    labeled, pool = X[LABELED], X.copy()
    learner = make_pipeline(StandardScaler(copy=False), MinMaxScaler(copy=False), last)
    mm.select(labeled, y[LABELED], pool, batch_size=5, learner=learner, n_models=2, random_state=0)
    np.testing.assert_array_equal(labeled, X[LABELED])
    np.testing.assert_array_equal(pool, X)
    assert learner[0].copy is False


def test_unscaled_columns_reach_the_optimum() -> None:
    rows, labels = load_breast_cancer(return_X_y=True)
    exact = LogisticRegression(solver="newton-cholesky", tol=1e-10).fit(rows, labels)
    made = mm.fit_committee(rows, labels, learner=LogisticRegression(), n_models=0, random_state=0)
    np.testing.assert_allclose(made.scorer.base_scores(rows), exact.predict_proba(rows), atol=1e-4)
