"""What every screen must hold to, whatever it screens and wherever it runs; the suites share it."""

from __future__ import annotations

import numpy as np

from minmargin import margins
from minmargin.compute.kernels import LinearKernel
from minmargin.topb import Cut

#: The scores that a screen of members may be asked for, as the reference defines them.
SCORES = {
    "min-margin": margins.min_margin,
    "mean-margin": margins.mean_margin,
    "margin-of-mean": margins.margin_of_mean,
    "committee": lambda members: margins.margin(margins.votes(members)) / len(members),
    "var-softmax": margins.negative_variance,
    "entropy": lambda members: margins.negative_entropy(margins.mean_scores(members)),
    "least-confident": margins.highest_of_mean,
}


def linear_class_scores(X, weights, intercepts, *, softmax=True):
    """Return (K, n, C): the canonical class scores of rows under K linear models."""
    return LinearKernel(weights, intercepts, softmax=softmax).class_scores(X)


def links(score):
    """Return whether the score is of probabilities: both, but for a variance and an entropy."""
    return [True] if score in {"var-softmax", "entropy"} else [True, False]


def assert_keeps_what_belongs(screen, X, exact, *, at):
    """Assert that no row is left out that is at a threshold or below, or among the lowest three.

    `exact` are the rows' canonical scores; thresholds are taken at these shares of them.
    """
    finite = np.isfinite(exact)
    for threshold in np.quantile(exact[finite], at, method="lower") if finite.any() else ():
        belongs = set(np.flatnonzero(exact <= threshold).tolist())
        near = screen.near(X, cut=Cut(score=float(threshold)), size=None)
        assert belongs <= set(near.places.tolist())
        assert not (near.lower > exact[near.places]).any()
        assert not (near.upper < exact[near.places]).any()
    few = screen.near(X, cut=Cut(), size=3)
    lowest = np.flatnonzero(exact < np.partition(exact, 2)[2])
    assert set(lowest.tolist()) <= set(few.places.tolist())
    assert not (few.upper < exact[few.places]).any()
