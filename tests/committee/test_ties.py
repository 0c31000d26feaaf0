"""Picks that all have the score 0, as those of a forest: advice that makes scores finer."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.neighbors import KNeighborsClassifier

import minmargin as mm
from minmargin.campaign.sampling import WithDrawn
from minmargin.cli.flags import with_flags
from minmargin.strategies import resolve_strategy

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 4))
Y = (X.sum(axis=1) + rng.normal(size=60) > 0).astype(int)
POOL = rng.normal(size=(500, 4))
TIED = (
    "All 5 picks have the score 0, the lowest there is, so the score does not order them, and other rows of the pool "
    "may be as good: among equals the seed decides."
)
TREES = "give the forest more trees, such as n_estimators=500"
TOGETHER = "use strategy='margin-of-mean', which counts the votes of all members together"


def said(learner: Any, **settings: Any) -> list[str]:
    """Return what is warned of when five rows are picked."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        mm.select(X, Y, POOL, 5, learner=learner, n_models=3, random_state=0, n_jobs=1, **settings)
    return [str(each.message) for each in caught if each.category is mm.DataWarning]


@pytest.mark.parametrize(
    ("learner", "strategy", "fix"),
    [
        (RandomForestClassifier(4), "min-margin", f" For finer scores, {TREES}, or {TOGETHER}."),
        (RandomForestClassifier(2), "margin-of-mean", f" For finer scores, {TREES}."),
        (KNeighborsClassifier(4), "min-margin", f" For finer scores, {TOGETHER}."),
        (KNeighborsClassifier(2), "margin-of-mean", ""),
    ],
    ids=["forest", "forest by its mean", "neighbors", "neighbors by their mean"],
)
def test_ties_at_the_lowest_score_get_advice(learner: Any, strategy: Any, fix: str) -> None:
    assert said(learner, strategy=strategy) == [TIED + fix]


def test_scores_that_differ_get_none() -> None:
    assert said("logistic") == []
    assert said(KNeighborsClassifier(1), strategy="margin") == []  # always 1
    assert said(RandomForestClassifier(4), strategy="random") == []


def test_rows_that_a_campaign_draws_by_chance_do_not_hide_that_all_picks_are_alike() -> None:
    audited = WithDrawn(resolve_strategy("min-margin"), 20, 0, "audit")
    assert said(RandomForestClassifier(4), strategy=audited) == [
        f"{TIED} For finer scores, {TREES}, or {TOGETHER}."
    ]


def test_the_command_line_says_it_with_flags() -> None:
    assert with_flags(f"{TIED} For finer scores, {TREES}, or {TOGETHER}.") == (
        f"{TIED} For finer scores, give the forest more trees, such as --learner-option n_estimators=500, or use "
        "--strategy margin-of-mean, which counts the votes of all members together."
    )
