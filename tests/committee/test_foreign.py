"""`Committee.from_models`: committees of models that were trained elsewhere."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

import minmargin as mm
from minmargin.learners.linear import LinearScorer
from parsed_page import ParsedPage

# Forests of few trees have margins of 0, which is said, and is not what is tested here.
pytestmark = pytest.mark.filterwarnings("ignore:All .* picks have the score 0")

X, y = load_iris(return_X_y=True)
SPECIES = np.array(["setosa", "versicolor", "virginica"])[y]
NAMES = ["a", "b", "c", "d"]
FRAME = pd.DataFrame(X, columns=NAMES)
TREES = ["sklearn.tree._tree.Tree"]


def trained(model: Any, k: int, rows: Any = X, labels: Any = SPECIES) -> Any:
    """Return a copy of a model, trained on every third row or so."""
    some = np.arange(k, len(labels), 3)
    return clone(model).fit(rows.iloc[some] if isinstance(rows, pd.DataFrame) else rows[some], labels[some])


def several(model: Any, rows: Any = X, labels: Any = SPECIES) -> list[Any]:
    return [trained(model, k, rows, labels) for k in range(3)]


def committee_of(models: Any, **settings: Any) -> mm.Committee:
    return mm.Committee.from_models(models, **{"random_state": 0, **settings})


def complaint(models: Any, **settings: Any) -> str:
    with pytest.raises(mm.InputError) as error:
        committee_of(models, **settings)
    return str(error.value)


class Known:
    """Something that has probabilities, says nothing else of itself, and remembers what it was given."""

    def __init__(self, order: list[int]) -> None:
        self.model, self.order = LogisticRegression(max_iter=1000).fit(X[::2], y[::2]), order
        self.given: Any = None

    def predict_proba(self, rows: Any) -> Any:
        self.given = rows
        return self.model.predict_proba(np.asarray(rows))[:, self.order]


# The same as what was trained here


@pytest.mark.parametrize("strategy", ["min-margin", "margin", "entropy", "committee", "spread", "badge"])
def test_models_give_the_batch_of_the_committee_they_come_from(strategy: Any) -> None:
    whole = mm.fit_committee(
        X[::5], SPECIES[::5], learner=RandomForestClassifier(5), n_models=3, random_state=0
    )
    scorer: Any = whole.scorer
    again = committee_of(scorer._members, base=scorer._base)
    assert again.select(X, 7, strategy=strategy) == whole.select(X, 7, strategy=strategy)


LINEAR = {
    "logistic": LogisticRegression(max_iter=1000),
    "scaled": make_pipeline(StandardScaler(), LogisticRegression()),
    "imputed": make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression()),
    "svm": LinearSVC(),
}


@pytest.mark.parametrize("kind", LINEAR)
@pytest.mark.parametrize("classes", [SPECIES, np.where(y == 0, "no", "yes")], ids=["three", "two"])
def test_linear_models_are_compiled(kind: str, classes: Any) -> None:
    models = several(LINEAR[kind], labels=classes)
    committee = committee_of(models)
    assert isinstance(committee.scorer, LinearScorer)
    assert committee.scorer.path == (
        "linear models, trained elsewhere; float32 screen, canonical float64 decision"
    )
    asked = [model.decision_function(X) if kind == "svm" else model.predict_proba(X) for model in models]
    mean = np.mean([np.stack([-each, each], axis=1) if each.ndim == 1 else each for each in asked], axis=0)
    np.testing.assert_allclose(committee.class_scores(X, of="members"), mean, atol=1e-12)


def test_missing_values_reach_models_that_fill_them() -> None:
    holed = X.copy()
    holed[::7, 1] = np.nan
    models = several(LINEAR["imputed"], rows=holed)
    mean = np.mean([model.predict_proba(holed) for model in models], axis=0)
    np.testing.assert_allclose(committee_of(models).class_scores(holed, of="members"), mean, atol=1e-12)
    with pytest.raises(mm.InputError) as error:
        committee_of(several(LINEAR["scaled"])).select(holed, 3)
    assert str(error.value) == (
        "Pool row 0, column 1 is missing (NaN). Fill it, drop the row, or use preprocess='auto'."
    )


def test_models_of_several_kinds_are_asked_one_by_one() -> None:
    models = [LINEAR["logistic"].fit(X, SPECIES), DecisionTreeClassifier(max_depth=2).fit(X, SPECIES)]
    committee = committee_of(models)
    assert committee.scorer.path == "estimators, predict_proba"
    mean = np.mean([model.predict_proba(X) for model in models], axis=0)
    np.testing.assert_allclose(committee.class_scores(X, of="members"), mean, atol=1e-15)


# Bases


def test_one_model_is_base_and_member() -> None:
    committee = committee_of([LINEAR["logistic"].fit(X, SPECIES)])
    assert committee.n_models == 1
    np.testing.assert_array_equal(committee.select(X, 9, strategy="margin").rows, committee.select(X, 9).rows)


def test_without_a_base_the_mean_stands_for_it() -> None:
    committee = committee_of(several(LinearSVC()))
    batch = committee.select(X, 9, strategy="margin")
    np.testing.assert_array_equal(batch.rows, committee.select(X, 9, strategy="margin-of-mean").rows)


def test_a_base_is_asked_for_margins_and_predictions() -> None:
    base = DecisionTreeClassifier(max_depth=2).fit(X, SPECIES)
    committee = committee_of(several(DecisionTreeClassifier(max_depth=2)), base=base)
    np.testing.assert_array_equal(committee.predict(X), base.predict(X))


# Frozen estimators


def test_frozen_models_are_thawed() -> None:
    models = several(LINEAR["logistic"])
    frozen = committee_of([FrozenEstimator(model) for model in models])
    assert isinstance(frozen.scorer, LinearScorer)
    assert frozen.select(X, 5) == committee_of(models).select(X, 5)


@pytest.mark.parametrize("wrapped", [False, True])
def test_a_frozen_model_is_no_learner(wrapped: bool) -> None:
    frozen = FrozenEstimator(LogisticRegression(max_iter=1000).fit(X, y))
    with pytest.raises(mm.InputError) as error:
        mm.select(X, y, X, 3, learner=make_pipeline(StandardScaler(), frozen) if wrapped else frozen)
    assert str(error.value) == (
        "learner has a FrozenEstimator, which is never trained, and each member is trained on its own draw. Use its "
        "LogisticRegression to train it anew, or Committee.from_models([...]) with models that are trained."
    )


# Classes


def test_models_that_know_fewer_classes_give_the_others_nothing() -> None:
    rows = np.flatnonzero(y < 2)
    models = [LINEAR["logistic"].fit(X, SPECIES), LogisticRegression().fit(X[rows], SPECIES[rows])]
    whole, part = (
        clone(model).fit(X[some], SPECIES[some])
        for model, some in zip(models, (slice(None), rows), strict=True)
    )
    committee = committee_of([whole, part], classes=["rose", "setosa", "versicolor", "virginica"])
    expected = np.zeros((150, 4))
    expected[:, 1:] = whole.predict_proba(X)
    expected[:, 1:3] += part.predict_proba(X)
    np.testing.assert_allclose(committee.class_scores(X, of="members"), expected / 2, atol=1e-15)


def test_classes_must_agree() -> None:
    rows = np.flatnonzero(y < 2)
    whole, part = (
        LogisticRegression(max_iter=1000).fit(X, SPECIES),
        LogisticRegression().fit(X[rows], SPECIES[rows]),
    )
    expected = (
        "Model {} knows class 'virginica' and model {} does not. If some models have never seen a class, name all of "
        "them with classes=[...]."
    )
    assert complaint([whole, part]) == expected.format(0, 1)
    assert complaint([part, whole]) == expected.format(1, 0)
    assert complaint([part], base=whole) == (
        "The base knows class 'virginica' and model 0 does not. If some models have never seen a class, name all of "
        "them with classes=[...]."
    )


def test_classes_must_include_those_of_the_models() -> None:
    assert complaint(several(LinearSVC()), classes=["setosa", "versicolor", "virginca"]) == (
        "The models know class 'virginica', which is not among the classes given ('setosa', 'versicolor', 'virginca'). "
        "Did you mean 'virginca'? Mend it, or add it to classes=[...]."
    )


def test_models_that_tell_nothing_give_their_probabilities_in_the_order_of_the_classes() -> None:
    model = Known([2, 0, 1])
    committee = committee_of([model], classes=["virginica", "setosa", "versicolor"])
    assert committee.classes_.tolist() == ["setosa", "versicolor", "virginica"]
    np.testing.assert_array_equal(committee.predict_proba(X), model.model.predict_proba(X))
    assert complaint([model]) == (
        "Model 0, a Known, has no classes_. Name its classes with classes=[...], in the order of its probabilities."
    )


def test_a_single_class_is_refused() -> None:
    model = DecisionTreeClassifier().fit(X[:9], SPECIES[:9])
    assert complaint([model]) == "The models know one class, 'setosa'. Give models of two or more classes."


# What is refused


def test_what_is_no_list_of_trained_classifiers_is_refused() -> None:
    assert complaint([]) == "models is empty. Give at least one trained model."
    assert complaint(LinearSVC()) == "models is a LinearSVC. Give a list of trained models."
    assert complaint([LinearSVC()]) == "Model 0, a LinearSVC, is not trained. Train it, or use fit_committee."
    assert complaint([LinearRegression().fit(X, y)]) == (
        "LinearRegression has neither predict_proba nor decision_function, so it has no margin. Wrap it in "
        "CalibratedClassifierCV, or use another classifier."
    )


def test_probabilities_and_decision_values_are_not_mixed() -> None:
    assert complaint([SVC().fit(X, SPECIES)], base=LINEAR["logistic"].fit(X, SPECIES)) == (
        "The base has predict_proba and model 0 has only decision_function, and their scores cannot be compared. Give "
        "models of one kind."
    )


def test_models_of_other_widths_are_refused() -> None:
    models = [DecisionTreeClassifier().fit(X[:, :n], SPECIES) for n in (3, 4)]
    assert complaint(models) == "The models take rows of '3', '4' features. Give models of the same."


# Rows in every form


def test_columns_are_found_by_the_names_that_models_know(tmp_path: Path) -> None:
    models = several(RandomForestClassifier(5, random_state=0), rows=FRAME)
    committee = committee_of(models)
    plain = committee.select(FRAME, 5)
    shuffled = FRAME[NAMES[::-1]].assign(extra="text")
    shuffled.to_csv(tmp_path / "pool.csv", index=False)
    assert committee.select(shuffled, 5) == plain
    assert committee.select(tmp_path / "pool.csv", 5) == plain
    with pytest.raises(mm.InputError) as error:
        committee.select(X, 5)
    assert str(error.value) == (
        "The models were trained on columns with names ('a', 'b', 'c', 'd'), and the pool has none. Give it as a frame "
        "or as files."
    )
    with pytest.raises(mm.InputError) as error:
        committee.select(FRAME.rename(columns={"c": "cc"}), 5)
    assert str(error.value) == (
        "The models were trained on column 'c', which is not in the pool (columns: 'a', 'b', 'cc', 'd'). Did you mean "
        "'cc'? Rename it."
    )


def test_linear_models_find_their_columns_by_name_too() -> None:
    committee = committee_of(several(LINEAR["scaled"], rows=FRAME))
    assert isinstance(committee.scorer, LinearScorer)
    assert committee.select(FRAME[NAMES[::-1]], 5) == committee.select(FRAME, 5)
    with pytest.raises(mm.InputError) as error:
        committee.select(FRAME[["a", "b"]], 5)
    assert str(error.value) == (
        "Column 'c' of the training set of the models is not in the pool (columns: 'a', 'b'). Rename it, or leave it "
        "out with features=[...]."
    )


def test_a_pipeline_of_columns_of_several_kinds(tmp_path: Path) -> None:
    rows = FRAME[["a", "c"]].assign(color=np.array(["red", "green"])[(X[:, 3] > 1).astype(int)])
    encode = make_column_transformer((OneHotEncoder(), ["color"]), remainder="passthrough")
    models = several(make_pipeline(encode, LogisticRegression(max_iter=1000)), rows=rows)
    committee = committee_of(models)
    mean = np.mean([model.predict_proba(rows) for model in models], axis=0)
    np.testing.assert_allclose(committee.class_scores(rows, of="members"), mean, atol=1e-12)
    rows.to_csv(tmp_path / "pool.csv", index=False)
    assert committee.select(tmp_path / "pool.csv", 5) == committee.select(rows, 5)


def test_texts_reach_a_vectorizer() -> None:
    texts = [f"{'petal ' * int(5 * a)} {'sepal ' * int(5 * b)}" for a, b in X[:, 2:]]
    models = several(make_pipeline(TfidfVectorizer(), MultinomialNB()), rows=np.array(texts, dtype=object))
    committee = committee_of(models)
    frame = pd.DataFrame({"id": range(150), "text": texts})
    assert committee.select(frame, 5, features="text") == committee.select(texts, 5)


def test_arrays_and_sparse_rows_are_handed_over_as_they_are() -> None:
    committee = committee_of(several(MultinomialNB()))
    dense = committee.class_scores(X, of="members")
    np.testing.assert_allclose(committee.class_scores(sparse.csr_array(X), of="members"), dense, atol=1e-12)
    np.testing.assert_array_equal(committee.class_scores(FRAME, of="members"), dense)
    with pytest.raises(mm.InputError) as error:
        committee.select(X[:, :3], 5)
    assert str(error.value) == (
        "The pool has 3 features and the training set of the models has 4. Give both the same columns in the same "
        "order."
    )


def test_a_model_that_tells_nothing_is_given_the_rows_as_they_come(tmp_path: Path) -> None:
    model = Known([0, 1, 2])
    committee = committee_of([model], classes=[0, 1, 2])
    assert (
        committee.select(X, 5, n_jobs=1).rows.tolist() == committee.select(FRAME, 5, n_jobs=1).rows.tolist()
    )
    assert list(model.given.columns) == NAMES
    FRAME.assign(row_id=range(150)).to_parquet(tmp_path / "pool.parquet")
    batch = committee.select(tmp_path / "pool.parquet", 5, id_column="row_id", n_jobs=1)
    assert isinstance(model.given, pd.DataFrame)
    assert list(model.given.columns) == NAMES
    assert batch.ids.tolist() == batch.rows.tolist()
    committee.select(tmp_path / "pool.parquet", 5, features=NAMES, n_jobs=1)
    assert list(model.given.columns) == NAMES


# What is made of them


@pytest.mark.parametrize(
    ("model", "rows"),
    [
        (LINEAR["scaled"], X),
        (LINEAR["logistic"], FRAME),
        (RandomForestClassifier(3, random_state=0), X),
        (RandomForestClassifier(3, random_state=0), FRAME),
    ],
    ids=["linear", "linear with names", "forest", "forest with names"],
)
@pytest.mark.parametrize("has_base", [False, True])
def test_they_are_saved(model: Any, rows: Any, has_base: bool, tmp_path: Path) -> None:
    pytest.importorskip("skops")
    base = trained(model, 1, rows) if has_base else None
    committee = committee_of(several(model, rows), base=base, classes=["aster", *np.unique(SPECIES)])
    loaded = mm.load_committee(committee.save(tmp_path / "saved"), trusted=TREES)
    assert loaded.classes_.tolist() == committee.classes_.tolist()
    assert loaded.select(rows, 9) == committee.select(rows, 9)
    with pytest.raises(mm.InputError) as error:
        loaded.select(rows.iloc[:, :2] if isinstance(rows, pd.DataFrame) else rows[:, :2], 9)
    with pytest.raises(mm.InputError) as expected:
        committee.select(rows.iloc[:, :2] if isinstance(rows, pd.DataFrame) else rows[:, :2], 9)
    assert str(error.value) == str(expected.value)


def test_a_checkpoint_is_taken_up_by_the_same_models_only(tmp_path: Path) -> None:
    models = several(RandomForestClassifier(3, random_state=0))
    batch = committee_of(models).select(X, 5, checkpoint=tmp_path)
    same = copy.deepcopy(models)
    assert committee_of(same).select(X, 5, checkpoint=tmp_path) == batch
    with pytest.raises(mm.InputError, match="committee"):
        committee_of(models[::-1]).select(X, 5, checkpoint=tmp_path)


def test_a_report_is_written(tmp_path: Path) -> None:
    batch = committee_of(several(LINEAR["logistic"])).select(FRAME, 9)
    said = ParsedPage(batch.report(tmp_path / "report.html")).sentences()
    assert "learnertrained elsewhere (LogisticRegression)" in said
    assert "Where the picks lie" in said


class Locked(Known):
    """A model that cannot be pickled."""

    def __reduce__(self) -> Any:
        raise TypeError("locked")


def test_a_checkpoint_needs_models_that_can_be_told_apart(tmp_path: Path) -> None:
    with pytest.raises(mm.InputError) as error:
        committee_of([Locked([0, 1, 2])], classes=[0, 1, 2]).select(X, 5, checkpoint=tmp_path)
    assert str(error.value) == (
        "checkpoint= needs models that can be pickled, to tell them from others (locked). Leave it out."
    )
