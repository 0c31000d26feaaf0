"""`learner="logistic"` reaches scikit-learn's optimum, for every weighting and kind of input."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import LogisticRegression

import minmargin as mm
from minmargin.learners import resolve_learner


def reference(X, y, weights=None, C=1.0):
    return LogisticRegression(C=C, tol=1e-10, max_iter=100_000).fit(X, y, sample_weight=weights)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("C", [1.0, 0.05])
def test_base_and_members_are_at_the_optimum(n_classes, C):
    X, y = load_iris(return_X_y=True)
    X, y = X[y < n_classes] if n_classes == 2 else X, y[y < n_classes] if n_classes == 2 else y
    committee = mm.fit_committee(X, y, learner=mm.LogisticLearner(C=C), n_models=2, random_state=0)
    scorer, bootstrap = committee.scorer, committee.training.bootstrap
    base = reference(X, y, C=C)
    np.testing.assert_allclose(scorer.base_weights[:, 0].T, base.coef_, rtol=2e-4, atol=1e-5)
    member = reference(X, y, bootstrap.multiplicities(1), C=C)
    np.testing.assert_allclose(scorer.member_weights[:, 1].T, member.coef_, rtol=2e-4, atol=1e-5)
    np.testing.assert_allclose(committee.scorer.base_scores(X), base.predict_proba(X), atol=1e-5)


def test_a_member_is_trained_on_its_draw():
    X, y = load_iris(return_X_y=True)
    committee = mm.fit_committee(X, y, n_models=1, random_state=0)
    drawn = committee.training.bootstrap.indices(0)
    member = reference(X[drawn], y[drawn])
    np.testing.assert_allclose(committee.scorer.member_weights[:, 0].T, member.coef_, rtol=2e-4, atol=1e-5)


@pytest.mark.parametrize("class_weight", ["balanced", {0: 2.5, 2: 0.5}], ids=str)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_classes_are_weighted_as_scikit_learn_would_on_a_members_draw(class_weight, fit_intercept):
    X, y = load_iris(return_X_y=True)
    X, y = X[:120], y[:120]  # few of the last class
    learner = mm.LogisticLearner(class_weight=class_weight, fit_intercept=fit_intercept)
    committee = mm.fit_committee(X, y, learner=learner, n_models=2, random_state=0)
    everything = np.arange(len(y))
    for drawn, weights, intercepts in (
        (everything, committee.scorer.base_weights[:, 0], committee.scorer.base_intercepts[0]),
        (
            committee.training.bootstrap.indices(1),
            committee.scorer.member_weights[:, 1],
            committee.scorer.member_intercepts[1],
        ),
    ):
        model = LogisticRegression(
            class_weight=class_weight, fit_intercept=fit_intercept, tol=1e-10, max_iter=100_000
        ).fit(X[drawn], y[drawn])
        np.testing.assert_allclose(weights.T, model.coef_, rtol=2e-4, atol=1e-4)
        np.testing.assert_allclose(intercepts, model.intercept_, rtol=1e-3, atol=1e-3)


def test_the_name_shows_what_is_not_usual():
    assert mm.LogisticLearner().name == "logistic"
    assert mm.LogisticLearner(C=0.5).name == "logistic(C=0.5)"
    learner = mm.LogisticLearner(C=2, fit_intercept=False, class_weight="balanced")
    assert learner.name == "logistic(C=2, fit_intercept=False, class_weight='balanced')"
    assert mm.LogisticLearner(tol=1e-3).name == "logistic(tol=0.001)"


def test_columns_of_very_different_scale_converge():
    X, y = load_breast_cancer(return_X_y=True)
    committee = mm.fit_committee(X[:100], y[:100], n_models=2, random_state=0)
    assert committee.scorer.base_scores(X).argmax(axis=1)[100:].tolist().count(1) > 0
    p = committee.scorer.base_scores(X[:100])[:, 1]
    gradient = X[:100].T @ (p - y[:100]) + committee.scorer.base_weights[:, 0, 0]
    assert np.abs(gradient).max() < 1e-3 * np.abs(X[:100].T @ (0.5 - y[:100])).max()


def test_sparse_and_dense_rows_give_one_model():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 8)) * (rng.random((60, 8)) < 0.4)
    y = X[:, 0] > 0
    dense = mm.fit_committee(X, y, n_models=2, random_state=0)
    compressed = mm.fit_committee(sparse.csr_matrix(X), y, n_models=2, random_state=0)
    np.testing.assert_allclose(
        dense.scorer.member_weights, compressed.scorer.member_weights, rtol=1e-6, atol=1e-8
    )


def test_many_weights_go_to_the_iterative_solver():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 1200))
    y = np.where(X[:, 0] > 0, "yes", "no")
    committee = mm.fit_committee(X, y, n_models=1, random_state=0)
    assert (committee.classes_[committee.scorer.base_scores(X).argmax(axis=1)] == y).all()


def test_names_and_objects_resolve():
    assert resolve_learner("logistic") == mm.LogisticLearner()
    assert "RandomForestClassifier" in resolve_learner("random-forest").name
    assert "HistGradientBoostingClassifier" in resolve_learner("gradient-boosting").name
    assert resolve_learner(mm.LogisticLearner(C=3)).C == 3


@pytest.mark.parametrize("C", [0, -1.0, float("nan"), float("inf"), "1"])
def test_a_penalty_that_is_no_positive_number_is_refused(C):
    with pytest.raises(mm.InputError) as caught:
        mm.LogisticLearner(C=C)
    assert (
        str(caught.value)
        == f"C={C!r} must be a positive number, or 'auto'. 1.0 is usual; more fits the labels closer."
    )


@pytest.mark.parametrize("tol", [0, 1.0, -1e-3, float("nan"), "1e-3"])
def test_a_tolerance_that_is_no_share_is_refused(tol):
    with pytest.raises(mm.InputError) as caught:
        mm.LogisticLearner(tol=tol)
    assert (
        str(caught.value)
        == f"tol={tol!r} must be a number between 0 and 1. 2e-07 is usual; more trains faster."
    )


def test_the_tolerance_is_a_setting_of_the_committee():
    X, y = load_iris(return_X_y=True)
    committee = mm.fit_committee(X, y, learner=mm.LogisticLearner(tol=1e-2), n_models=2, random_state=0)
    again = mm.fit_committee(X, y, learner=mm.LogisticLearner(tol=1e-2), n_models=2, random_state=0, n_jobs=2)
    exact = mm.fit_committee(X, y, n_models=2, random_state=0)
    np.testing.assert_array_equal(committee.scorer.member_weights, again.scorer.member_weights)
    assert np.abs(committee.scorer.member_weights - exact.scorer.member_weights).max() > 1e-6
    batch = committee.select(X, batch_size=3)
    assert batch.manifest["settings"]["learner"] == "logistic(tol=0.01)"


@pytest.mark.parametrize("make", [mm.LogisticLearner, LogisticRegression])
def test_a_weight_for_a_class_that_is_not_there_is_refused(make):
    X, y = np.random.default_rng(0).normal(size=(20, 2)), np.arange(20) % 2
    with pytest.raises(mm.InputError) as caught:
        mm.fit_committee(X, y, learner=make(class_weight={0: 1.0, 7: 2.0}), n_models=2, random_state=0)
    assert str(caught.value) == (
        "class_weight has 7, but the classes are 0, 1. Use the labels as they are in y."
    )


def test_weights_that_are_no_mapping_are_told_in_a_few_words():
    with pytest.raises(mm.InputError) as error:
        mm.LogisticLearner(class_weight=[1.0] * 150)
    assert str(error.value) == (
        "class_weight=[1.0, 1.0, 1.0, 1.0, 1.0, 1.0, ...] must be None, 'balanced', or a weight for each class, such "
        "as {0: 2.0}."
    )
