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
