"""The table of reductions: complete, light to import, and known to every screen."""

from __future__ import annotations

import subprocess
import sys
from typing import get_args

import numpy as np
import pytest

from minmargin.compute.networks import screen
from minmargin.compute.reductions import OF_SCORE, REDUCTIONS, Shape
from minmargin.margins import ScoreName
from soundness import SCORES


def test_every_score_has_a_reduction_and_every_reduction_a_score():
    assert set(OF_SCORE) == set(get_args(ScoreName))
    shortcuts = {each.shortcut for each in OF_SCORE.values()} - {None}
    assert {*OF_SCORE.values(), *shortcuts} == set(REDUCTIONS.values())


def test_codes_are_those_of_the_compiled_code():
    assert sorted(REDUCTIONS) == list(range(len(REDUCTIONS)))


def test_the_suites_of_screens_try_every_score():
    assert set(SCORES) == set(OF_SCORE) - {"margin"}, "margin is min-margin of one model"


def test_networks_know_every_reduction_that_gives_a_score():
    known = {REDUCTIONS[code] for code in screen._VALUES}
    assert known == {each for each in OF_SCORE.values() if not each.counts_doubt}


def test_the_table_imports_nothing_heavy():
    script = (
        "import sys, minmargin.compute.reductions; print([m for m in ('numba', 'torch') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert found.strip() == "[]"


@pytest.mark.parametrize("n_outputs", [1, 2, 5])
@pytest.mark.parametrize("code", REDUCTIONS)
def test_a_value_above_what_is_allowed_has_a_lower_bound_above_the_threshold(code, n_outputs):
    """What a kernel dismisses by one comparison, bounds would dismiss as well."""
    reduction, shape = REDUCTIONS[code], Shape(25, n_outputs)
    for threshold in (0.0, 0.04, 0.2, 0.96):
        allowed = reduction.allowed(threshold, shape)
        values = np.array([np.nextafter(allowed, np.inf) + 1e-9, allowed + 1.0])
        assert (reduction.bounds(values, np.zeros(2), shape).lower > threshold).all()


@pytest.mark.parametrize("n_classes", [2, 3, 20])
@pytest.mark.parametrize("code", screen._VALUES)
def test_no_value_moves_by_more_than_its_share_of_the_error_of_logits(code, n_classes):
    """Logits of all sizes are each off by e or -e, in every second row alike for all models."""
    rng = np.random.default_rng(code)
    value, factor = screen._VALUES[code], REDUCTIONS[code].error_factor(Shape(5, n_classes))
    for error in (1e-4, 1e-2, 0.3):
        logits = rng.normal(size=(5, 3000, n_classes)) * 10.0 ** rng.uniform(-4, 1.5, size=(1, 3000, 1))
        signs = rng.choice([-1.0, 1.0], size=logits.shape)
        signs[:, ::2] = signs[:1, ::2]
        moved = np.abs(value(logits + error * signs) - value(logits))
        assert moved.max() <= factor * error * (1 + 1e-9) + 1e-12
        assert moved.max() > 0.01 * factor * error, "else the test has no teeth"
