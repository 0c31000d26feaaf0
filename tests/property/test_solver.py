"""Whatever the units of columns and the strength of the penalty, training reaches the optimum."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from minmargin.learners.newton import descent, training
from minmargin.learners.newton.training import fit_together

TOLERANCE = 2e-7


@st.composite
def problems(draw):
    """Rows with columns over six orders of magnitude, turned or not, of few or many classes, and draws of them."""
    n_classes = draw(st.one_of(st.integers(2, 6), st.just(15)))
    n = draw(st.integers(20, 100))
    n_features = draw(st.integers(1, 20))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = rng.normal(size=(n, n_features)) @ rng.normal(size=(n_features, n_features)) / np.sqrt(n_features)
    X *= 10.0 ** rng.uniform(-3, 3, n_features)
    form = draw(st.sampled_from(["plain", "turned", "shifted", "sparse"]))
    if form == "turned":
        X = X @ np.linalg.qr(rng.normal(size=(n_features, n_features)))[0]
    elif form == "shifted":
        X += np.abs(X).max(axis=0) * rng.normal(size=n_features)
    elif form == "sparse":
        X[rng.random(X.shape) < 0.7] = 0.0
    signal = X / np.maximum(np.abs(X).max(axis=0), 1e-300) @ rng.normal(size=(n_features, n_classes))
    noise = draw(st.sampled_from([0.0, 0.3, 3.0]))
    codes = (signal + noise * rng.gumbel(size=signal.shape)).argmax(axis=1)
    codes[rng.permutation(n)[:n_classes]] = np.arange(n_classes)
    weights = rng.multinomial(n, np.full(n, 1 / n), size=2).astype(float)
    weights[:, [np.flatnonzero(codes == code)[0] for code in range(n_classes)]] += 1.0
    C = 10.0 ** draw(st.integers(-4, 4))
    return (sparse.csr_array(X) if form == "sparse" else X), codes, n_classes, weights, C


def objective(X, codes, n_classes, weights, C, coefficients, intercepts):
    """The loss, and its gradient by coefficients (D, O) of centered columns and by intercepts (O,)."""
    X = X.toarray() if sparse.issparse(X) else X
    logits = X @ coefficients + intercepts
    if n_classes == 2:
        logits = np.column_stack([np.zeros(len(logits)), logits])
    highest = logits.max(axis=1, keepdims=True)
    normalizer = np.log(np.exp(logits - highest).sum(axis=1, keepdims=True)) + highest
    loss = weights @ (normalizer[:, 0] - logits[np.arange(len(codes)), codes])
    truth = codes[:, np.newaxis] == np.arange(n_classes)
    residual = weights[:, np.newaxis] * (np.exp(logits - normalizer) - truth)
    residual = residual[:, 1:] if n_classes == 2 else residual
    centered = X - X.mean(axis=0)
    gradient = np.vstack([centered.T @ residual + coefficients / C, residual.sum(axis=0)])
    most = np.sqrt(weights.sum() * (weights @ (1.0 + (centered**2).sum(axis=1))))
    return loss + (coefficients**2).sum() / (2 * C), np.linalg.norm(gradient), most


@pytest.mark.parametrize(
    ("full_hessian", "wide"),
    [(training._FULL_HESSIAN, descent._WIDE), (0, descent._WIDE), (0, 0)],
    ids=["as it is", "Newton's steps", "steps that remember"],
)
@settings(max_examples=12, deadline=None)
@given(problem=problems())
def test_any_problem_is_solved(full_hessian, wide, problem):
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(training, "_FULL_HESSIAN", full_hessian)
        patched.setattr(descent, "_WIDE", wide)
        X, codes, n_classes, weights, C = problem
        base = fit_together(X, codes, n_classes, np.ones((1, len(codes))), C=C)
        found = fit_together(X, codes, n_classes, weights, C=C, start=base)
    for member in range(len(weights)):
        mine = X, codes, n_classes, weights[member], C
        n_outputs = found.coefficients.shape[2]
        zeros = np.zeros((X.shape[1], n_outputs)), np.zeros(n_outputs)
        _, at_zero, most = objective(*mine, *zeros)
        loss, slope, _ = objective(*mine, found.coefficients[:, member], found.intercepts[member])
        # Coefficients of large columns are sums of many: their last bits leave a trace in the gradient of any solver.
        rounding = 1e-13 * most * (1.0 + np.abs(found.coefficients[:, member]).max() * np.abs(X).max())
        assert slope <= 1.5 * TOLERANCE * max(at_zero, 1e-3 * most) + rounding
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.simplefilter("ignore", UserWarning)  # that there are many classes for so few rows
            theirs = LogisticRegression(C=C, max_iter=200).fit(X, codes, sample_weight=weights[member])
        their_loss = objective(*mine, theirs.coef_.T, theirs.intercept_)[0]
        assert loss <= their_loss * (1.0 + 1e-9) + 1e-12
