"""The compiled kernels are equal to the bit to plain numpy, and to themselves wherever a row stands."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit
from scipy import sparse

from brute_force import cosine, linear_class_scores
from minmargin import margins
from minmargin.compute import kernels
from minmargin.compute.cpu import simd
from minmargin.compute.models import LinearModels, cosine_functions, scoring_work


def class_scores(X, weights, intercepts, *, softmax=True):
    return kernels.LinearKernel(weights, intercepts, softmax=softmax).class_scores(X)


def problem(seed, n, n_features, n_models, n_outputs, dtype, scale=1.0):
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(n, n_features)) * scale * (rng.random((n, n_features)) < 0.7)).astype(dtype)
    return X, rng.normal(size=(n_features, n_models, n_outputs)), rng.normal(size=(n_models, n_outputs))


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 20),
    n_features=st.integers(1, 40),
    n_models=st.integers(1, 5),
    n_outputs=st.sampled_from([1, 3, 10]),
    dtype=st.sampled_from([np.float32, np.float64]),
    scale=st.sampled_from([1e-300, 1.0, 1e3]),
    softmax=st.booleans(),
)
def test_class_scores_equal_the_numpy_reference_to_the_bit(
    seed, n, n_features, n_models, n_outputs, dtype, scale, softmax
):
    X, weights, intercepts = problem(seed, n, n_features, n_models, n_outputs, dtype, scale)
    expected = linear_class_scores(X, weights, intercepts, softmax=softmax)
    for rows in (X, sparse.csr_array(X)):
        np.testing.assert_array_equal(class_scores(rows, weights, intercepts, softmax=softmax), expected)
        np.testing.assert_array_equal(
            margins.linear_class_scores(rows, weights, intercepts, probabilistic=softmax), expected
        )


@given(
    seed=st.integers(0, 2**32 - 1),
    n_outputs=st.sampled_from([1, 3]),
    scale=st.sampled_from([1e-300, 1e3, 1e150, 1e300]),
    softmax=st.booleans(),
)
def test_small_and_large_work_give_the_same_bits_for_extreme_logits(seed, n_outputs, scale, softmax):
    X, weights, intercepts = problem(seed, 19, 6, 3, n_outputs, np.float64, scale)
    weights *= scale  # products leave the range of float64, and sums of them are not numbers
    small = LinearModels(weights, intercepts, softmax)
    large = LinearModels(weights, intercepts, softmax, compiled=True)
    for rows in (X, sparse.csr_array(X), X[:0], sparse.csr_array(X[:0])):
        np.testing.assert_array_equal(small.class_scores(rows), large.class_scores(rows))


@pytest.mark.parametrize("as_csr", [False, True])
def test_the_size_of_the_work_decides_who_does_it(as_csr, monkeypatch):
    X, weights, intercepts = problem(0, 10, 8, 2, 3, np.float64)
    rows = sparse.csr_array(X) if as_csr else X
    n_terms = rows.nnz // 10 if as_csr else 8
    models = LinearModels(weights, intercepts, softmax=True)
    monkeypatch.setattr("minmargin.compute.models.SMALL_WORK", scoring_work(10, 6, n_terms))
    models.class_scores(rows)
    assert "_kernel" not in models.__dict__
    monkeypatch.setattr("minmargin.compute.models.SMALL_WORK", scoring_work(10, 6, n_terms) - 1)
    models.class_scores(rows)
    assert "_kernel" in models.__dict__
    assert cosine_functions(rows, 1) == (kernels.norms, kernels.raise_to_cosines)
    monkeypatch.undo()
    assert cosine_functions(rows, 1) == (margins.norms, margins.raise_to_cosines)


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_class_scores_do_not_depend_on_layout_or_neighbors(n_outputs):
    X, weights, intercepts = problem(0, 101, 17, 4, n_outputs, np.float64)
    whole = class_scores(X, weights, intercepts)
    for start, stop in [(0, 1), (3, 11), (50, 101)]:
        part = class_scores(X[start:stop], weights, intercepts)
        np.testing.assert_array_equal(part, whole[:, start:stop])
    np.testing.assert_array_equal(class_scores(np.asfortranarray(X), weights, intercepts), whole)
    np.testing.assert_array_equal(class_scores(sparse.csr_array(X), weights, intercepts), whole)


@given(
    logits=st.lists(
        st.lists(
            st.one_of(
                st.sampled_from([0.0, -0.0, 708.0, -708.0, 709.0, 1e308, np.inf, -np.inf, np.nan]),
                st.floats(),
            ),
            min_size=4,
            max_size=4,
        ),
        min_size=1,
        max_size=40,
    )
)
def test_any_logits_give_the_probabilities_of_the_numpy_reference(logits):
    """Not finite ones too: they must come out as NaN, which is then found, and must not disturb other rows."""
    logits = np.array(logits)
    with np.errstate(invalid="ignore", over="ignore"):
        of_four = margins.softmax(logits)
        of_one = margins.sigmoid_pair(logits[:, 0])
    by_output = np.ascontiguousarray(logits.T[np.newaxis])
    np.testing.assert_array_equal(kernels.class_scores_of(by_output, softmax=True)[0], of_four)
    np.testing.assert_array_equal(kernels.class_scores_of(by_output[:, :1], softmax=True)[0], of_one)


def test_kernels_fuse_no_multiplication_with_an_addition():
    """A fused multiply-add rounds once where others round twice, so its bits would depend on the machine."""
    X, weights, intercepts = problem(0, 5, 4, 2, 3, np.float64)
    kernel = njit(kernels._score_dense.py_func)  # compiled anew: cached code cannot be looked at
    packed = simd.pack(weights.reshape(4, 6).T, intercepts.reshape(6), np.float64)
    kernel(X.reshape(-1), 4, packed, 3, True, np.empty((2, 5, 3)))
    for assembly in kernel.inspect_asm().values():
        assert "mulpd" in assembly or "mulsd" in assembly or "fmul" in assembly
        assert "fmadd" not in assembly
        assert "fmla" not in assembly


@pytest.mark.parametrize("by", [kernels, margins], ids=["compiled", "numpy"])
@pytest.mark.parametrize("as_csr", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_cosines_equal_the_reference_to_the_bit(as_csr, dtype, by):
    X, _, _ = problem(3, 21, 9, 1, 1, dtype)
    X[4] = 0
    closest = np.full(21, -np.inf)
    rows = sparse.csr_array(X) if as_csr else X
    for center in (2, 4, 20):
        vector = X[center].astype(np.float64)
        lengths = by.norms(rows)
        by.raise_to_cosines(rows, lengths, vector, float(lengths[center]), closest)
    expected = [max(cosine(x, X[c]) for c in (2, 4, 20)) for x in X]
    np.testing.assert_array_equal(closest, expected)


@pytest.mark.parametrize("as_csr", [False, True])
@pytest.mark.parametrize("scale", [1e-200, 1e160, 1e300])
def test_cosines_of_extreme_rows_are_the_same_either_way(as_csr, scale):
    X, _, _ = problem(3, 21, 9, 1, 1, np.float64)
    X[::2] *= scale
    rows, found = sparse.csr_array(X) if as_csr else X, []
    for by in (kernels, margins):
        closest, lengths = np.full(21, -np.inf), by.norms(rows)
        for center in (0, 1, 20):
            by.raise_to_cosines(rows, lengths, X[center], float(lengths[center]), closest)
        found.append((lengths, closest))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_array_equal(found[0][1], found[1][1])
