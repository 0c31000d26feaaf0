"""Features far smaller than any that mean something: a model, or an error that names them."""

import contextlib

import numpy as np
import pytest

import minmargin as mm


@pytest.mark.parametrize("scale", [1e-30, 1e-100, 1e-150, 1e-200, 1e-300])
@pytest.mark.parametrize("shift", [0.0, 1.0])
def test_tiny_features_are_trained_on_or_refused(scale, shift):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3)) * scale + shift * scale
    y = (X[:, 0] > shift * scale).astype(int)
    for C in (1.0, 1e6, 1e12):
        with contextlib.suppress(mm.MinMarginError):
            mm.select(X, y, X, 3, learner=mm.LogisticLearner(C=C), n_models=2, random_state=0)
