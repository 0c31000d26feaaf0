"""A screen never dismisses a row that belongs, whatever the numbers; and it dismisses most of the others."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit
from scipy import sparse

import minmargin as mm
from minmargin.compute.cpu import llvm
from minmargin.compute.cpu.reductions import add_margins
from minmargin.compute.cpu.screen import LinearScreen
from minmargin.compute.rounding import EXP_ERROR
from minmargin.topb import Cut
from soundness import SCORES, assert_keeps_what_belongs, linear_class_scores, links

SCALES = [1e-45, 1e-38, 1e-20, 1e-3, 1.0, 1e3, 1e10, 1e25, 1e38]


def containers(X):
    return X, np.asfortranarray(X), sparse.csr_array(X)


class Looking:
    """A screen that looks in one of its two ways: as if all that it saw last had been needed, or nothing."""

    def __init__(self, screen, *, much):
        self.screen, self.much = screen, much

    def near(self, X, *, cut, size):
        self.screen.last_share[0] = np.inf if self.much else 0.0
        return self.screen.near(X, cut=cut, size=size)


def assert_sound(X, weights, intercepts, *, scores=SCORES, at=(0, 0.1, 0.5, 1)):
    for score, formula in scores.items():
        for softmax in links(score):
            screen = LinearScreen.of(weights, intercepts, score, softmax=softmax)
            with np.errstate(all="ignore"):
                exact = formula(linear_class_scores(X, weights, intercepts, softmax=softmax))
            ways = [
                Looking(screen, much=much) for much in ([False, True] if score == "min-margin" else [True])
            ]
            for rows, way in itertools.product(containers(X), ways):
                assert_keeps_what_belongs(way, rows, exact, at=at)


def models(rng, n_features, n_models, n_outputs, scale):
    return (
        rng.normal(size=(n_features, n_models, n_outputs)) * scale,
        rng.normal(size=(n_models, n_outputs)) * scale,
    )


@settings(max_examples=100)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_features=st.sampled_from([1, 2, 17, 64, 300]),
    n_outputs=st.sampled_from([1, 3, 10]),
    row_scale=st.sampled_from(SCALES),
    weight_scale=st.sampled_from([1e-30, 1e-3, 1.0, 1e4, 1e20]),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_no_scale_of_rows_or_weights_loses_a_row(seed, n_features, n_outputs, row_scale, weight_scale, dtype):
    rng = np.random.default_rng(seed)
    weights, intercepts = models(rng, n_features, 6, n_outputs, weight_scale)
    with np.errstate(over="ignore"):
        X = (rng.normal(size=(40, n_features)) * row_scale).astype(dtype)
    X = np.nan_to_num(X, posinf=1e38, neginf=-1e38)
    X[:5] = 0
    assert_sound(X, weights, intercepts)


@given(seed=st.integers(0, 2**32 - 1), n_outputs=st.sampled_from([1, 4]), offset=st.floats(-1e-5, 1e-5))
def test_scores_packed_inside_the_error_band_are_kept(seed, n_outputs, offset):
    """Rows that cancel: long vectors almost on a boundary, where float32 knows nothing of the sign."""
    rng = np.random.default_rng(seed)
    weights, intercepts = models(rng, 30, 3, n_outputs, 1.0)
    normal = weights[:, 1, 0] - (weights[:, 1, 1] if n_outputs > 1 else 0.0)
    constant = intercepts[1, 0] - (intercepts[1, 1] if n_outputs > 1 else 0.0)
    X = rng.normal(size=(60, 30)) * 1e3
    X -= np.outer((X @ normal + constant + offset) / (normal @ normal), normal)
    assert_sound(X, weights, intercepts)


@given(seed=st.integers(0, 2**32 - 1), common=st.sampled_from([1e3, 1e8, 1e12, 1e15]))
def test_what_all_classes_have_in_common_loses_no_row(seed, common):
    """Canonical logits then differ in their last digits only; relative ones do not know of that."""
    rng = np.random.default_rng(seed)
    weights, intercepts = models(rng, 20, 4, 3, 1.0)
    weights += common * rng.normal(size=(20, 4, 1))
    X = rng.normal(size=(50, 20))
    assert_sound(X, weights, intercepts)


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_rows_whose_logits_leave_the_range_of_float32_are_kept(n_outputs):
    """A logit that becomes NaN or infinite on the way tells nothing, whatever the other models say."""
    for seed in range(100):
        rng = np.random.default_rng(seed)
        weights, intercepts = models(rng, 4, 3, n_outputs, 1.0)
        weights *= 1e21
        normal = weights[:, 1, 0] - (weights[:, 1, 1] if n_outputs > 1 else 0.0)
        X = rng.normal(size=(30, 4)) * 10.0 ** rng.integers(10, 19, size=(30, 1))
        X[0] -= X[0] @ normal / (normal @ normal) * normal
        assert_sound(X, weights, intercepts, scores={"min-margin": SCORES["min-margin"]}, at=(0, 0.1, 0.5))


@pytest.mark.parametrize("n_outputs", [1, 5])
@pytest.mark.parametrize("score", SCORES)
def test_a_screen_leaves_little_more_than_the_rows_that_belong(score, n_outputs):
    rng = np.random.default_rng(0)
    for softmax in links(score):
        weights, intercepts = models(rng, 32, 25, n_outputs, 1.0)
        X = rng.normal(size=(20_000, 32)).astype(np.float32)
        exact = SCORES[score](linear_class_scores(X, weights, intercepts, softmax=softmax))
        threshold = float(np.quantile(exact, 0.01))
        screen = LinearScreen.of(weights, intercepts, score, softmax=softmax)
        for rows, much in itertools.product(containers(X), [False, True]):
            near = Looking(screen, much=much).near(rows, cut=Cut(score=threshold), size=None)
            assert len(near.places) <= 1.3 * (exact <= threshold).sum()


@pytest.mark.parametrize("n_outputs", [3, 10])
def test_while_much_is_needed_one_look_tells_nearly_as_much_as_two(n_outputs, monkeypatch):
    """A first block, of which half is needed, gets no closer look; bounds of its margins are narrow all the same."""
    rng = np.random.default_rng(0)
    weights, intercepts = models(rng, 100, 5, n_outputs, 1.0)
    X = rng.normal(size=(2000, 100)).astype(np.float32)
    screen = LinearScreen.of(weights, intercepts)
    looked_at = []
    closer = LinearScreen._look_closer

    def look_closer(self, rows, lengths):
        looked_at.append(len(rows))
        return closer(self, rows, lengths)

    monkeypatch.setattr(LinearScreen, "_look_closer", look_closer)
    first = screen.near(X, cut=Cut(), size=1000)
    assert 1000 <= len(first.places) < 1050
    assert looked_at == []
    exact = SCORES["min-margin"](linear_class_scores(X, weights, intercepts))
    assert (first.lower <= exact[first.places]).all()
    assert (first.upper >= exact[first.places]).all()
    screen.near(X, cut=Cut(score=float(np.quantile(exact, 0.002))), size=1000)
    few = screen.near(X, cut=Cut(score=float(np.quantile(exact, 0.002))), size=1000)
    assert looked_at, "by then hardly anything is needed"
    assert set(np.flatnonzero(exact <= np.quantile(exact, 0.002)).tolist()) <= set(few.places.tolist())


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("score", SCORES)
def test_rough_scores_agree_with_the_exact_ones_to_about_six_digits(score, n_outputs):
    rng = np.random.default_rng(1)
    weights, intercepts = models(rng, 20, 7, n_outputs, 1.0)
    X = rng.normal(size=(1000, 20))
    for softmax in links(score):
        exact = SCORES[score](linear_class_scores(X, weights, intercepts, softmax=softmax))
        screen = LinearScreen.of(weights, intercepts, score, softmax=softmax)
        for rows in containers(X):
            found = screen.scores(rows)
            told = np.isfinite(found)
            np.testing.assert_allclose(found[told], exact[told], rtol=1e-5, atol=2e-5)
            assert told.mean() > 0.99


def test_thresholds_at_the_ends_are_handled():
    rng = np.random.default_rng(0)
    weights, intercepts = models(rng, 4, 3, 1, 1.0)
    X = rng.normal(size=(50, 4))
    screen = LinearScreen.of(weights, intercepts)
    assert len(screen.near(X, cut=Cut(score=1.0), size=None).places) == 50
    assert len(screen.near(X, cut=Cut(score=0.0), size=None).places) == 0
    assert len(screen.near(X[:0], cut=Cut(score=0.5), size=3).places) == 0
    assert len(screen.near(np.zeros((3, 4)), cut=Cut(score=0.5), size=None).places) == (
        3 if np.abs(np.tanh(intercepts / 2)).min() <= 0.5 else 0
    )


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e300])
@pytest.mark.parametrize("row", [0, 17, 49])
def test_a_value_that_may_not_be_finite_is_reported_and_its_row_kept(value, row):
    rng = np.random.default_rng(0)
    weights, intercepts = models(rng, 9, 3, 1, 1.0)
    X = rng.normal(size=(50, 9))
    X[row, 8] = value
    for rows in containers(X):
        with np.errstate(over="ignore"):
            near = LinearScreen.of(weights, intercepts).near(rows, cut=Cut(score=1e-9), size=5)
        assert not near.finite
        assert row in near.places


def test_weights_beyond_float32_are_not_screened():
    assert LinearScreen.of(np.full((2, 1, 1), 1e39), np.zeros((1, 1))) is None


def test_the_rough_exponential_errs_no_more_than_is_allowed_for():
    """tanh(z / 2) = (1 - e) / (1 + e), so e = (1 - m) / (1 + m) is read off the margins, and m errs by 2 e at most."""

    @njit
    def margins_of(logits, out):
        sums = np.empty(4 * llvm.LANES, np.float32)
        for start in range(0, len(logits), llvm.LANES):
            add_margins(logits[start : start + llvm.LANES], 1, 1, sums)
            out[start : start + llvm.LANES] = sums[: llvm.LANES]

    z = np.linspace(0, 30, 1 << 20, dtype=np.float32)
    rough = np.empty_like(z)
    margins_of(z, rough)
    allowed = 2 * EXP_ERROR * np.exp(-z.astype(np.float64)) + 3 * 2.0**-24
    assert (np.abs(rough - np.tanh(z.astype(np.float64) / 2)) <= allowed).all()


@pytest.mark.usefixtures("large_work")
def test_the_manifest_tells_how_many_rows_were_scored_exactly():
    rng = np.random.default_rng(0)
    X, pool = rng.normal(size=(60, 5)), rng.normal(size=(100_000, 5))
    for strategy in ("min-margin", "margin", "committee", "mean-margin"):
        batch = mm.select(X, X[:, 0] > 0, pool, 100, strategy=strategy, random_state=0, n_jobs=1)
        # Thousands of rows tie at the last pick by votes; their hashes are enough to tell which are needed.
        assert 100 <= batch.manifest["rows_scored_exactly"] < 150
    uniform = mm.select(X, X[:, 0] > 0, pool, 100, strategy="random", random_state=0)
    assert uniform.manifest["rows_scored_exactly"] == 100, "chance needs no look at any other row"


def test_all_rows_of_a_small_pool_are_scored_exactly():
    rng = np.random.default_rng(0)
    X, pool = rng.normal(size=(60, 5)), rng.normal(size=(1000, 5))
    for rows in (pool, iter([pool])):
        batch = mm.select(X, X[:, 0] > 0, rows, 10, random_state=0)
        assert batch.manifest["rows_scored_exactly"] == 1000
