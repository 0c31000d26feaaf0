"""Logistic regressions trained together are each at the optimum that scikit-learn finds alone."""

import re

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

import minmargin as mm
from minmargin.learners.newton import steps, training
from minmargin.learners.newton.training import ColumnTransforms, fit_together


def problem(n, n_features, n_classes, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_features))
    scores = 2 * X @ rng.normal(size=(n_features, n_classes)) / np.sqrt(n_features)
    codes = (scores + rng.gumbel(size=(n, n_classes))).argmax(axis=1)
    weights = rng.integers(0, 4, size=(3, n)).astype(float)
    return X, codes, weights


def alone(X, codes, weights, C=1.0, fit_intercept=True):
    model = LogisticRegression(C=C, fit_intercept=fit_intercept, tol=1e-10, max_iter=100_000)
    return model.fit(X, codes, sample_weight=weights)


def assert_same(found, member, expected, rtol=1e-4, size=1.0):
    coefficients = found.coefficients[:, member].T * size
    assert np.abs(coefficients - expected.coef_).max() <= rtol * np.abs(expected.coef_).max()
    np.testing.assert_allclose(
        found.intercepts[member], expected.intercept_ * np.ones(coefficients.shape[0]), rtol=1e-3, atol=1e-4
    )
    assert found.gradient[member] <= 1e-6


@pytest.fixture(params=[training._SMALL, 0], ids=["stacked", "alone"])
def small(request, monkeypatch):
    """Train small members side by side, and one by one."""
    monkeypatch.setattr(training, "_SMALL", request.param)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("C", [0.01, 1.0, 30.0])
@pytest.mark.parametrize(
    ("n", "n_features", "n_classes"),
    [(60, 3, 2), (80, 40, 2), (40, 90, 2), (90, 4, 3), (60, 70, 4), (90, 60, 3), (150, 130, 2)],
    ids=str,
)
def test_every_member_is_at_its_own_optimum(n, n_features, n_classes, C):
    X, codes, weights = problem(n, n_features, n_classes)
    found = fit_together(X, codes, n_classes, weights, C=C)
    for member in range(3):
        assert_same(found, member, alone(X, codes, weights[member], C=C))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_without_intercept_logits_have_no_constant(n_classes):
    X, codes, weights = problem(70, 5, n_classes)
    found = fit_together(X, codes, n_classes, weights, fit_intercept=False)
    assert_same(found, 1, alone(X, codes, weights[1], fit_intercept=False))
    assert (found.intercepts == 0).all()


@pytest.mark.parametrize("n_features", [6, 200])
def test_sparse_rows_give_the_same_optimum(n_features):
    X, codes, weights = problem(80, n_features, 3)
    X[np.random.default_rng(1).random(X.shape) < 0.6] = 0
    dense = fit_together(X, codes, 3, weights)
    compressed = fit_together(sparse.csr_array(X), codes, 3, weights)
    np.testing.assert_allclose(compressed.coefficients, dense.coefficients, atol=1e-6)


def test_a_start_near_the_optimum_saves_steps_and_changes_nothing():
    X, codes, weights = problem(300, 8, 2)
    base = fit_together(X, codes, 2, np.ones((1, 300)))
    cold, warm = fit_together(X, codes, 2, weights), fit_together(X, codes, 2, weights, start=base)
    np.testing.assert_allclose(warm.coefficients, cold.coefficients, atol=2e-5)
    assert warm.steps.sum() <= cold.steps.sum()
    in_the_row_space = problem(30, 50, 3)
    base = fit_together(*in_the_row_space[:2], 3, np.ones((1, 30)))
    again = fit_together(*in_the_row_space[:2], 3, np.ones((1, 30)), start=base)
    np.testing.assert_allclose(again.coefficients, base.coefficients, atol=2e-5)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("full_hessian", [training._FULL_HESSIAN, 0], ids=["exact", "conjugate"])
@pytest.mark.parametrize(("load", "n_classes"), [(load_breast_cancer, 2), (load_wine, 3)])
def test_features_of_any_unit_reach_the_optimum(load, n_classes, full_hessian, monkeypatch):
    """scikit-learn's own solver for such features is Newton's too."""
    monkeypatch.setattr(training, "_FULL_HESSIAN", full_hessian)
    X, y = load(return_X_y=True)
    found = fit_together(X, y, n_classes, np.ones((1, len(y))))
    model = LogisticRegression(solver="newton-cholesky", tol=1e-12, max_iter=1000).fit(X, y)
    assert_same(found, 0, model)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_weights_may_be_any_numbers(n_classes):
    X, codes, weights = problem(80, 6, n_classes)
    weights *= np.random.default_rng(2).random(weights.shape) * 10
    assert_same(fit_together(X, codes, n_classes, weights), 2, alone(X, codes, weights[2]))


def drawn_rows(weights):
    return np.repeat(np.arange(len(weights)), weights.astype(int))


def transforms_of(pipelines):
    """What the fitted scalers and imputers do to columns, read from their attributes."""
    scalers = [pipeline["standardscaler"] for pipeline in pipelines]
    fills = [p["simpleimputer"].statistics_ for p in pipelines if "simpleimputer" in p.named_steps]
    return ColumnTransforms(
        np.stack([scaler.mean_ for scaler in scalers]),
        np.stack([scaler.scale_ for scaler in scalers]),
        np.stack(fills) if fills else None,
    )


@pytest.mark.parametrize("missing", [False, True], ids=["complete", "missing"])
@pytest.mark.parametrize("fit_intercept", [True, False], ids=["intercept", "none"])
@pytest.mark.parametrize(
    ("n", "n_features", "n_classes"),
    [(90, 4, 2), (40, 70, 2), (300, 200, 2), (90, 4, 3), (60, 90, 4), (120, 80, 3)],
    ids=str,
)
def test_members_with_columns_of_their_own_equal_pipelines_fitted_on_their_draws(
    n, n_features, n_classes, fit_intercept, missing, monkeypatch
):
    X, codes, weights = problem(n, n_features, n_classes)
    X = 1e5 + X * np.logspace(-2, 3, n_features)
    if missing:
        X[np.random.default_rng(1).random(X.shape) < 0.1] = np.nan
    steps = [SimpleImputer(), StandardScaler()] if missing else [StandardScaler()]
    logistic = LogisticRegression(fit_intercept=fit_intercept, tol=1e-10, max_iter=100_000)
    draws = [drawn_rows(w) for w in weights]
    pipelines = [clone(make_pipeline(*steps, logistic)).fit(X[drawn], codes[drawn]) for drawn in draws]
    columns = transforms_of(pipelines)
    for own_axes in (training._OWN_AXES, 0):
        monkeypatch.setattr(training, "_OWN_AXES", own_axes)
        found = fit_together(X, codes, n_classes, weights, columns=columns, fit_intercept=fit_intercept)
        assert_same(found, 1, pipelines[1][-1])


@pytest.mark.parametrize(
    ("always_dense", "dense"), [(training._MOST_DENSE_IF_NEARLY_EMPTY, True), (0, False)], ids=["few", "many"]
)
@pytest.mark.parametrize("n_classes", [2, 4])
def test_rows_that_are_nearly_empty_are_trained_on_as_they_are(n_classes, always_dense, dense, monkeypatch):
    """Texts have few of all words. Made dense, a committee on them took ten times as long to train."""
    monkeypatch.setattr(training, "_MOST_DENSE_IF_NEARLY_EMPTY", always_dense)
    X, codes, weights = problem(200, 90, n_classes)
    X[np.random.default_rng(1).random(X.shape) < 0.97] = 0
    assert training._is_better_dense(sparse.csr_array(X)) is dense
    found = fit_together(sparse.csr_array(X), codes, n_classes, weights, C=30.0)
    for member in range(3):
        assert_same(found, member, alone(X, codes, weights[member], C=30.0))


@pytest.mark.parametrize("as_well_dense", [training._MOST_DENSE, 0], ids=["made dense", "sparse"])
@pytest.mark.parametrize(("n", "n_features"), [(80, 6), (60, 200)], ids=str)
def test_scaled_columns_of_sparse_rows_stay_sparse(n, n_features, as_well_dense, monkeypatch):
    monkeypatch.setattr(training, "_MOST_DENSE", as_well_dense)
    X, codes, weights = problem(n, n_features, 3)
    X[np.random.default_rng(1).random(X.shape) < 0.6] = 0
    drawn = drawn_rows(weights[0])
    pipeline = make_pipeline(MaxAbsScaler(), LogisticRegression(tol=1e-10, max_iter=100_000))
    pipeline.fit(X[drawn], codes[drawn])
    scale = pipeline["maxabsscaler"].scale_[np.newaxis]
    scaled = ColumnTransforms(np.zeros_like(scale), scale)
    found = fit_together(sparse.csr_array(X), codes, 3, weights[:1], columns=scaled)
    assert_same(found, 0, pipeline[-1])
    # A center moves nothing but the constant, which is free.
    centered = ColumnTransforms(np.full_like(scale, 0.3), scale)
    moved = fit_together(sparse.csr_array(X), codes, 3, weights[:1], columns=centered)
    np.testing.assert_allclose(moved.coefficients, found.coefficients, atol=1e-4)
    shift = (0.3 / scale) @ found.coefficients[:, 0]
    np.testing.assert_allclose(
        moved.intercepts, found.intercepts + shift - (shift + found.intercepts).mean(), atol=1e-3
    )


def test_missing_entries_of_sparse_rows_are_filled():
    X, codes, weights = problem(80, 6, 2)
    holes = sparse.csr_array(np.where(X > 1.5, np.nan, X))
    columns = ColumnTransforms(np.zeros((3, 6)), np.ones((3, 6)), np.full((3, 6), 2.0))
    found = fit_together(holes, codes, 2, weights, columns=columns)
    assert_same(found, 1, alone(np.where(X > 1.5, 2.0, X), codes, weights[1]))


@pytest.mark.parametrize("shape", [(50, 20), (20, 50)], ids=str)
def test_too_many_axes_to_be_found_do_not_change_the_optimum(shape, monkeypatch):
    X, codes, weights = problem(*shape, 3)
    monkeypatch.setattr(training, "_FULL_HESSIAN", 0)
    monkeypatch.setattr(training, "_MOST_AXES", 10)
    assert_same(fit_together(X, codes, 3, weights), 0, alone(X, codes, weights[0]))


def test_no_part_of_the_rows_is_needed_twice():
    """Columns that are constant or repeat others leave training fewer axes, and get their share of coefficients."""
    X, codes, weights = problem(90, 60, 3)
    X[:, 30:45], X[:, 45:] = X[:, :15], 1.0
    found = fit_together(X, codes, 3, weights)
    assert_same(found, 0, alone(X, codes, weights[0]))
    np.testing.assert_allclose(found.coefficients[30:45], found.coefficients[:15], atol=1e-10)
    np.testing.assert_allclose(found.coefficients[45:], 0, atol=1e-10)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("n_classes", [2, 3])
def test_separable_and_collinear_rows_have_an_optimum_too(n_classes):
    codes = np.repeat(np.arange(n_classes), 10)
    X = np.stack([codes, codes, 2.0 * codes, np.ones(len(codes))], axis=1) * 100.0
    found = fit_together(X, codes, n_classes, np.ones((1, len(codes))))
    assert found.gradient[0] <= 1e-6
    logits = X @ found.coefficients[:, 0] + found.intercepts[0]
    predicted = (logits[:, 0] > 0).astype(int) if n_classes == 2 else logits.argmax(axis=1)
    assert (predicted == codes).all()


@pytest.mark.parametrize("size", [1e25, 1e-25])
def test_features_beyond_the_range_of_float32_reach_the_optimum(size):
    X, codes, weights = problem(40, 60, 4)
    found = fit_together(X * size, codes, 4, weights, C=size**-2)
    assert_same(found, 0, alone(X, codes, weights[0]), size=size)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("size", [1e160, 1e300])
def test_features_whose_squares_are_beyond_float64_are_refused(size, n_classes):
    X, codes, _ = problem(40, 3, n_classes)
    with pytest.raises(mm.InputError) as caught:
        mm.fit_committee(X * size, codes, n_models=2, random_state=0)
    assert re.fullmatch(
        r"3 of 3 logistic models could not be trained: numbers grew beyond all bounds\. "
        r"Features are as large as \S+e\+\d+\. Divide them\.",
        str(caught.value),
    )


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("n_features", [2, 300])
def test_rows_that_are_all_zero_have_no_coefficients(n_features, fit_intercept):
    codes = np.repeat([0, 1, 2], [10, 20, 30])
    found = fit_together(np.zeros((60, n_features)), codes, 3, np.ones((1, 60)), fit_intercept=fit_intercept)
    np.testing.assert_array_equal(found.coefficients, 0)
    shares = np.exp(found.intercepts[0]) / np.exp(found.intercepts[0]).sum()
    np.testing.assert_allclose(shares, [1 / 6, 1 / 3, 1 / 2] if fit_intercept else 1 / 3, rtol=1e-5)


def test_intercepts_of_many_classes_sum_to_zero():
    X, codes, weights = problem(90, 4, 3)
    np.testing.assert_allclose(fit_together(X, codes, 3, weights).intercepts.sum(axis=1), 0, atol=1e-12)


@pytest.mark.parametrize("n_features", [3, 300])
def test_a_model_that_stops_short_is_told_of(n_features, monkeypatch):
    monkeypatch.setattr(steps, "MOST_STEPS", 1)
    X, codes, _ = problem(60, n_features, 2)
    with pytest.warns(mm.DataWarning) as caught:
        mm.fit_committee(X, codes, n_models=5, random_state=0)
    assert re.fullmatch(
        r"6 of 6 logistic models stopped short of the optimum, at gradients of up to \S+ of the gradient at zero, "
        r"where 2e-07 was asked for\. The features are of one size, so use a smaller C than 1, or a larger tol\.",
        str(caught[0].message),
    )


def test_uneven_columns_are_named_as_the_reason(monkeypatch):
    """A pipeline that has standardized them is told of something else."""
    monkeypatch.setattr(steps, "MOST_STEPS", 1)
    X, codes, _ = problem(60, 3, 2)
    X[:, 1] *= 1e6
    said = {}
    for learner in (mm.LogisticLearner(C=3.0), make_pipeline(StandardScaler(), LogisticRegression(C=3.0))):
        with pytest.warns(mm.DataWarning) as caught:
            mm.fit_committee(X, codes, learner=learner, n_models=1, random_state=0)
        said[type(learner)] = str(caught[0].message).partition("asked for. ")[2]
    raw, standardized = said.values()
    assert re.fullmatch(
        r"Some columns are \de\+06 times as large as others\. Standardize the features\.", raw
    )
    assert standardized == "The features are of one size, so use a smaller C than 3, or a larger tol."


@pytest.mark.parametrize("shape", [(60, 5, 3), (60, 80, 4), (80, 400, 3)], ids=str)
def test_the_penalty_may_differ_by_member(shape):
    X, codes, weights = problem(*shape)
    strengths = np.array([0.01, 1.0, 30.0])
    found = fit_together(X, codes, shape[2], weights, C=strengths)
    for member, C in enumerate(strengths):
        assert_same(found, member, alone(X, codes, weights[member], C=C))
        by_itself = fit_together(X, codes, shape[2], weights[[member]], C=C)
        np.testing.assert_array_equal(by_itself.coefficients[:, 0], found.coefficients[:, member])


@pytest.mark.parametrize("tolerance", [1e-2, 1e-4])
@pytest.mark.parametrize("shape", [(300, 5, 3), (300, 80, 4), (300, 400, 3)], ids=str)
def test_a_looser_tolerance_saves_steps_and_is_kept(shape, tolerance):
    X, codes, weights = problem(*shape)
    optimum = fit_together(X, codes, shape[2], weights)
    found = fit_together(X, codes, shape[2], weights, tolerance=tolerance)
    assert (found.gradient <= tolerance).all()
    assert found.steps.sum() < optimum.steps.sum()
    error = np.linalg.norm(found.coefficients - optimum.coefficients) / np.linalg.norm(optimum.coefficients)
    assert error <= 100 * tolerance


@pytest.mark.parametrize("correlated", [False, True])
def test_axes_are_looked_for_where_columns_are_correlated(correlated):
    X, _, _ = problem(400, 90, 3)
    X = (X @ np.random.default_rng(1).normal(size=(90, 90)) if correlated else X) * np.logspace(-3, 3, 90)
    X -= X.mean(axis=0)
    assert (training.principal_axes(X) is not None) is correlated


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("n_models", [1, 4, 7])
@pytest.mark.parametrize("n_features", [4, 300])
def test_neither_the_number_of_members_nor_of_threads_changes_a_member(n_features, n_models, monkeypatch):
    monkeypatch.setattr(training, "_WORTH_THREADS", 0)
    X, codes, _ = problem(60, n_features, 3)
    many = mm.fit_committee(X, codes, n_models=11, random_state=0, n_jobs=2).scorer
    few = mm.fit_committee(X, codes, n_models=n_models, random_state=0, n_jobs=1).scorer
    np.testing.assert_array_equal(few.member_weights, many.member_weights[:, :n_models])
    np.testing.assert_array_equal(few.member_intercepts, many.member_intercepts[:n_models])


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("shape", [(60, 7), (30, 45)], ids=str)
def test_no_bit_of_a_member_depends_on_the_stack_it_is_in(shape, n_classes, monkeypatch):
    """Nor do rows that it does not count: they change rounding alone."""
    X, codes, _ = problem(*shape, n_classes)
    rng = np.random.default_rng(3)
    X[:, 5] *= rng.random(shape[0]) < 0.1  # a column that is all zero in some draws
    weights = rng.integers(0, 3, size=(9, shape[0])).astype(float)
    scales = rng.uniform(0.5, 2, size=(9, shape[1]))
    for columns in (None, ColumnTransforms(np.zeros_like(scales), scales)):
        together = fit_together(X, codes, n_classes, weights, columns=columns)
        for k in (0, 4, 8):
            own = None if columns is None else ColumnTransforms(*(part[[k]] for part in columns[:2]))
            by_itself = fit_together(X, codes, n_classes, weights[[k]], columns=own)
            np.testing.assert_array_equal(by_itself.coefficients[:, 0], together.coefficients[:, k])
            np.testing.assert_array_equal(by_itself.intercepts[0], together.intercepts[k])
        with monkeypatch.context() as patched:
            patched.setattr(training, "_SMALL", 0)
            one_by_one = fit_together(X, codes, n_classes, weights, columns=columns)
        np.testing.assert_allclose(one_by_one.coefficients, together.coefficients, atol=1e-5)


def test_a_start_that_is_worse_than_zero_is_not_taken():
    """Under scales of its own, a member may find the base's coefficients far from anything."""
    X, codes, weights = problem(60, 4, 3)
    ones, scales = np.ones((1, 60)), np.array([[1e-3, 1.0, 1e3, 1.0]])
    start = fit_together(X, codes, 3, ones, columns=ColumnTransforms(np.zeros((1, 4)), scales))
    own = ColumnTransforms(np.zeros((3, 4)), np.repeat(1.0 / scales, 3, axis=0))
    found = fit_together(X, codes, 3, weights, columns=own, start=start)
    assert (found.gradient <= 1e-6).all()


@pytest.mark.parametrize("n_features", [2, 200], ids=["whole Hessian", "conjugate gradients"])
def test_a_goal_below_what_rounding_allows_ends_the_steps_soon(n_features):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, n_features)) * (rng.random((300, n_features)) < 0.2)
    codes = rng.integers(0, 20, 300)
    found = fit_together(X, codes, 20, np.ones((1, 300)), tolerance=1e-16)
    assert found.gradient.max() < 1e-7
    assert found.steps.max() < 30
