"""Any scikit-learn classifier, given rows in the form in which the caller has them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import check_is_fitted

import minmargin as mm
from minmargin.seeds import SeedTree

NAMES = ["a", "b", "c", "d"]
X, y = load_iris(return_X_y=True)
LABELED, LABELS = X[::5], y[::5]
COLORS = ["red", "green", "blue"] * 50


def pick(labeled: Any, pool: Any, labels: Any = LABELS, **settings: Any) -> mm.Batch:
    defaults = {"batch_size": 10, "n_models": 3, "random_state": 0, "n_jobs": 1}
    return mm.select(labeled, labels, pool, **{**defaults, **settings})


def assert_same(batch: mm.Batch, reference: mm.Batch) -> None:
    assert batch.rows.tolist() == reference.rows.tolist()
    assert batch.scores.tolist() == reference.scores.tolist()


# Dense and sparse


class SparseOnly(ClassifierMixin, BaseEstimator):
    """A classifier that takes CSR and nothing else."""

    def fit(self, X: Any, y: Any) -> SparseOnly:
        if not sparse.issparse(X):
            raise TypeError("CSR only")
        self.model_ = GaussianNB().fit(X.toarray(), y)
        self.classes_ = self.model_.classes_
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        if not sparse.issparse(X):
            raise TypeError("CSR only")
        return self.model_.predict_proba(X.toarray())


@pytest.mark.parametrize("pool", [sparse.csr_array(X), X], ids=["CSR pool", "dense pool"])
@pytest.mark.parametrize("learner", [SparseOnly(), GaussianNB()], ids=["CSR only", "dense only"])
def test_a_sparse_labeled_set_reaches_the_learner_in_a_form_it_takes(learner: Any, pool: Any) -> None:
    assert_same(
        pick(sparse.csr_array(LABELED), pool, learner=learner), pick(LABELED, X, learner=GaussianNB())
    )


def test_a_dense_labeled_set_is_handed_over_dense_with_a_sparse_pool() -> None:
    learner = KNeighborsClassifier(3)
    assert_same(pick(LABELED, sparse.csr_array(X), learner=learner), pick(LABELED, X, learner=learner))


def test_missing_values_reach_a_learner_that_takes_them() -> None:
    holes = np.where(X > 6, np.nan, X)
    learner = HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=2)
    assert len(pick(holes[::5], holes, learner=learner)) == 10


# Frames


class SeesFrames(ClassifierMixin, BaseEstimator):
    """A classifier that records what it is given."""

    seen: ClassVar[list[tuple[type, list[str]]]] = []

    def fit(self, X: Any, y: Any) -> SeesFrames:
        self.classes_ = np.unique(y)
        self.seen.append((type(X), list(getattr(X, "column_names", getattr(X, "columns", [])))))
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        self.seen.append((type(X), list(getattr(X, "column_names", getattr(X, "columns", [])))))
        return np.full((X.shape[0], len(self.classes_)), 1 / len(self.classes_))


def mixed(rows: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=NAMES).assign(color=COLORS[: len(rows)])


FRAMES = {
    "pandas": lambda frame: frame,
    "polars": pl.from_pandas,
    "pyarrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
}


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_a_learner_is_given_the_labeled_sets_own_kind_of_frame(tmp_path: Path, make: Any) -> None:
    mixed(X)[["color", "d", "c", "b", "a"]].assign(more=1).to_parquet(tmp_path / "pool.parquet")
    labeled = make(mixed(LABELED))
    SeesFrames.seen.clear()
    pick(labeled, tmp_path / "pool.parquet", learner=SeesFrames(), features=["color", "a", "b"])
    assert set(map(str, SeesFrames.seen)) == {str((type(labeled), ["color", "a", "b"]))}
    assert len(SeesFrames.seen) == 4 + 3 + 1  # trained: base and members; asked: the same


def column_pipeline() -> Any:
    columns = make_column_transformer(
        (StandardScaler(), ["a", "c"]), (OneHotEncoder(handle_unknown="ignore"), ["color"])
    )
    return make_pipeline(columns, LogisticRegression(max_iter=1000))


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_a_column_transformer_works_on_any_frame_with_a_parquet_pool(tmp_path: Path, make: Any) -> None:
    mixed(X).to_parquet(tmp_path / "pool.parquet", row_group_size=40)
    learner = column_pipeline()
    batch = pick(make(mixed(LABELED)), tmp_path / "pool.parquet", learner=learner, chunk_size=33)
    reference = pick(mixed(LABELED), mixed(X), learner=learner)
    assert batch.rows.tolist() == reference.rows.tolist()
    np.testing.assert_allclose(batch.scores, reference.scores, rtol=1e-6)  # frames differ in memory order


def test_a_column_transformer_works_on_files_alone(tmp_path: Path) -> None:
    mixed(X).to_parquet(tmp_path / "pool.parquet")
    mixed(LABELED).assign(label=LABELS).to_csv(tmp_path / "labeled.csv", index=False)
    learner = column_pipeline()
    batch = pick(tmp_path / "labeled.csv", tmp_path / "pool.parquet", "label", learner=learner)
    assert_same(batch, pick(mixed(LABELED), mixed(X), learner=learner))


def test_a_category_that_only_the_pool_has_can_be_scored() -> None:
    batch = pick(mixed(LABELED), mixed(X).assign(color="violet"), learner=column_pipeline())
    assert np.isfinite(batch.scores).all()


def test_an_embedding_column_is_handed_over_as_a_matrix() -> None:
    labeled, pool = (pa.table({"vector": list(rows)}) for rows in (LABELED, X))
    assert_same(pick(labeled, pool, learner=GaussianNB()), pick(LABELED, X, learner=GaussianNB()))


# Texts


TEXTS = ["good film", "bad film", "good book", "bad book"] * 5
OPINIONS = ["liked", "not"] * 10
TEXT_POOL = ["good thing", "bad thing", "a thing", "good bad film", "some film", "book"]


@pytest.fixture(scope="module")
def text_reference() -> mm.Batch:
    return pick(TEXTS, TEXT_POOL, OPINIONS, batch_size=3, learner=text_pipeline())


def text_pipeline() -> Any:
    return make_pipeline(TfidfVectorizer(), LogisticRegression())


TEXT_FORMS = {
    "list": list,
    "tuple": tuple,
    "array": np.array,
    "array of objects": lambda texts: np.array(texts, dtype=object),
    "pandas": lambda texts: pd.Series(texts, index=range(len(texts), 0, -1)),
    "polars": pl.Series,
    "pyarrow": lambda texts: pa.chunked_array([texts]),
}


@pytest.mark.parametrize("make", TEXT_FORMS.values(), ids=TEXT_FORMS)
def test_texts_can_be_in_any_sequence(text_reference: mm.Batch, make: Any) -> None:
    learner = text_pipeline()
    assert_same(pick(make(TEXTS), TEXT_POOL, OPINIONS, batch_size=3, learner=learner), text_reference)
    assert_same(pick(TEXTS, make(TEXT_POOL), OPINIONS, batch_size=3, learner=learner), text_reference)


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_a_text_column_is_named_by_features(text_reference: mm.Batch, make: Any) -> None:
    labeled = make(pd.DataFrame({"number": range(20), "text": TEXTS, "opinion": OPINIONS}))
    pool = make(pd.DataFrame({"text": TEXT_POOL, "source": "web"}))
    batch = pick(labeled, pool, "opinion", batch_size=3, features="text", learner=text_pipeline())
    assert_same(batch, text_reference)


def test_the_only_column_of_a_frame_is_the_text(text_reference: mm.Batch) -> None:
    labeled, pool = pd.DataFrame({"text": TEXTS}), pd.DataFrame({"text": TEXT_POOL})
    assert_same(pick(labeled, pool, OPINIONS, batch_size=3, learner=text_pipeline()), text_reference)


def test_texts_can_come_from_files(tmp_path: Path, text_reference: mm.Batch) -> None:
    pq.write_table(pa.table({"text": TEXT_POOL, "number": range(6)}), tmp_path / "pool.parquet")
    pd.DataFrame({"text": TEXTS, "opinion": OPINIONS}).to_csv(tmp_path / "labeled.csv", index=False)
    settings: dict[str, Any] = {"batch_size": 3, "features": "text", "learner": text_pipeline()}
    assert_same(pick(TEXTS, tmp_path / "pool.parquet", OPINIONS, **settings), text_reference)
    batch = pick(tmp_path / "labeled.csv", tmp_path / "pool.parquet", "opinion", **settings)
    assert_same(batch, text_reference)


def test_texts_can_come_in_chunks(text_reference: mm.Batch) -> None:
    chunks = (pd.Series(TEXT_POOL[i : i + 2]) for i in (0, 2, 4))
    assert_same(pick(TEXTS, chunks, OPINIONS, batch_size=3, learner=text_pipeline()), text_reference)


def test_a_missing_text_of_a_frame_is_an_empty_text() -> None:
    scores = mm.fit_committee(TEXTS, OPINIONS, learner=text_pipeline(), n_models=3, random_state=0).score
    assert scores(pd.DataFrame({"text": ["good", None]}))[1] == scores(["good", ""])[1]


def test_texts_can_be_compared_by_a_greedy_strategy() -> None:
    batch = pick(TEXTS, TEXT_POOL, OPINIONS, batch_size=3, learner=text_pipeline(), strategy="k-centers")
    assert len(set(batch.rows.tolist())) == 3


# Decision functions


def test_two_classes_without_probabilities_have_margin_twice_the_decision() -> None:
    two = LABELS < 2
    learner = SVC(kernel="linear")
    scores = mm.fit_committee(LABELED[two], LABELS[two], learner=learner, n_models=0, random_state=0).score(
        X, strategy="margin"
    )
    decision = clone(learner).fit(LABELED[two], LABELS[two]).decision_function(X)
    np.testing.assert_allclose(scores, 2 * np.abs(decision), rtol=1e-12)


@pytest.mark.parametrize("learner", [SVC(kernel="linear"), Perceptron()])
def test_several_classes_without_probabilities_have_the_margin_of_the_decisions(learner: Any) -> None:
    committee = mm.fit_committee(LABELED, LABELS, learner=learner, n_models=0, random_state=0)
    seed = int(SeedTree(0).learner(None).generate_state(1)[0] >> 1)
    model = clone(learner).set_params(random_state=seed).fit(LABELED, LABELS)
    second, first = np.sort(model.decision_function(X), axis=1)[:, -2:].T
    np.testing.assert_allclose(committee.score(X, strategy="margin"), first - second, rtol=1e-12, atol=1e-12)


def test_one_against_one_decisions_that_are_not_per_class_are_refused() -> None:
    rng = np.random.default_rng(0)
    labeled, labels = rng.normal(size=(40, 2)), np.arange(40) % 4
    with pytest.raises(mm.InputError) as caught:
        pick(labeled, rng.normal(size=(20, 2)), labels, learner=SVC(decision_function_shape="ovo"))
    assert str(caught.value) == (
        "SVC(decision_function_shape='ovo') scores pairs of classes, and a margin needs a score for each class. "
        "Use decision_function_shape='ovr'."
    )


def test_a_calibrated_svc_has_probabilities() -> None:
    learner = CalibratedClassifierCV(SVC(), ensemble=False, cv=3)
    batch = pick(LABELED, X, learner=learner, strategy="var-softmax")
    assert batch.manifest["settings"]["scoring_path"] == "estimators, predict_proba"
    assert (batch.scores <= 0).all()


# Labels


@pytest.mark.parametrize(
    "names",
    [["setosa", "versicolor", "virginica"], [-7, 0, 1000], [10.0, 20.0, 30.0], ["zeta", "eta", "alpha"]],
    ids=["strings", "integers with gaps", "floats", "strings in reverse"],
)
@pytest.mark.parametrize("learner", ["logistic", LogisticRegression(max_iter=1000), SVC(kernel="linear")])
def test_class_names_go_through_whatever_they_are(learner: Any, names: list[Any]) -> None:
    labels = np.array(names)[LABELS]
    committee = mm.fit_committee(LABELED, labels, learner=learner, n_models=3, random_state=0)
    assert committee.classes_.tolist() == sorted(names)
    batch = committee.select(X, 10, strategy="margin")
    numbers = pick(LABELED, X, learner=learner, strategy="margin")
    assert batch.rows.tolist() == numbers.rows.tolist()
    assert batch.predicted.tolist() == np.array(names)[numbers.predicted].tolist()
    assert batch.top_classes.tolist() == np.array(names)[numbers.top_classes].tolist()


@pytest.mark.parametrize("learner", ["logistic", DecisionTreeClassifier(max_depth=2)])
def test_truth_values_are_labels(learner: Any) -> None:
    batch = pick(LABELED, X, LABELS == 1, learner=learner)
    assert batch.predicted.dtype == bool
    assert set(batch.top_classes.ravel().tolist()) == {False, True}


class ClassesInReverse(GaussianNB):
    """A classifier that lists its classes in another order than scikit-learn's."""

    def fit(self, X: Any, y: Any) -> ClassesInReverse:
        super().fit(X, y)
        self.classes_ = self.classes_[::-1]
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        return super().predict_proba(X)[:, ::-1]


def test_scores_are_put_in_the_sorted_order_of_classes() -> None:
    batch = pick(LABELED, X, learner=ClassesInReverse())
    reference = pick(LABELED, X, learner=GaussianNB())
    assert_same(batch, reference)
    assert batch.predicted.tolist() == reference.predicted.tolist()


# The caller's estimator


def test_the_callers_estimator_is_not_changed() -> None:
    learner = make_pipeline(StandardScaler(), RandomForestClassifier(5, random_state=7))
    before = {name: repr(value) for name, value in learner.get_params().items()}
    attributes = [sorted(vars(step)) for _, step in learner.steps]
    pick(LABELED, X, learner=learner)
    assert {name: repr(value) for name, value in learner.get_params().items()} == before
    assert [sorted(vars(step)) for _, step in learner.steps] == attributes
    with pytest.raises(NotFittedError):
        check_is_fitted(learner[-1])


def test_an_estimator_that_was_fitted_keeps_its_fit() -> None:
    learner = GaussianNB().fit(LABELED[:20], LABELS[:20])
    before = learner.predict_proba(X)
    pick(LABELED, X, learner=learner)
    np.testing.assert_array_equal(learner.predict_proba(X), before)


# Randomness


def nested_forest() -> Any:
    return make_pipeline(StandardScaler(), RandomForestClassifier(3, max_features=1))


def test_a_nested_random_state_is_seeded_for_each_member() -> None:
    committee = mm.fit_committee(LABELED, LABELS, learner=nested_forest(), n_models=3, random_state=0)
    models = [committee.scorer._base, *committee.scorer._members]
    seeds = [model[-1].random_state for model in models]
    assert len(set(seeds)) == 4
    assert all(isinstance(seed, int) for seed in seeds)


def test_members_of_a_learner_with_chance_differ_even_on_the_same_draw() -> None:
    one_row_a_class = np.array([0, 10, 20])
    committee = mm.fit_committee(
        LABELED[one_row_a_class], LABELS[one_row_a_class], learner=nested_forest(), n_models=3, random_state=0
    )
    scores = [member.predict_proba(X) for member in committee.scorer._members]
    assert not np.array_equal(scores[0], scores[1])


def test_the_same_seed_gives_the_same_batch_and_another_seed_another() -> None:
    first, again = (pick(LABELED, X, learner=nested_forest(), random_state=5) for _ in range(2))
    assert_same(again, first)
    other = pick(LABELED, X, learner=nested_forest(), random_state=6)
    assert other.scores.tolist() != first.scores.tolist()


def test_the_number_of_threads_does_not_change_the_batch() -> None:
    assert_same(
        pick(LABELED, X, learner=nested_forest(), n_jobs=2),
        pick(LABELED, X, learner=nested_forest(), n_jobs=1),
    )


@pytest.mark.parametrize("learner", ["random-forest", "gradient-boosting"])
def test_learners_with_a_name_are_scikit_learns(learner: str) -> None:
    batch = pick(LABELED, X, learner=learner, strategy="margin")
    kinds = {
        "random-forest": "RandomForestClassifier()",
        "gradient-boosting": "HistGradientBoostingClassifier()",
    }
    assert batch.manifest["settings"]["learner"] == kinds[learner]
