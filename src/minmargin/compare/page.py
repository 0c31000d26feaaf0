"""The page of a comparison: advice, curves, certainty and settings in one HTML text."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from minmargin.compare.advice import reference
from minmargin.compare.drawing import draw_curves, draw_differences
from minmargin.compare.shown import HEADINGS
from minmargin.compare.tables import ScoreTable
from minmargin.learners import LEARNERS
from minmargin.report.pages import number, render

if TYPE_CHECKING:
    from markupsafe import Markup

    from minmargin.compare.comparison import Comparison

_NUMERIC = ("labels", "difference", "95% interval", "adjusted p")


def make_page(comparison: Comparison) -> str:
    """Return the page of a comparison as HTML."""
    settings = comparison.settings
    to = reference(comparison.played).strategy
    return render(
        "compare.html.jinja",
        comparison=comparison,
        settings=settings,
        scores=[_score(each, to) for each in comparison.by_scoring],
        reference=to,
        numbers=list(_numbers(settings)),
        headings=HEADINGS,
        numeric=_NUMERIC,
        rounds=len(settings["rounds"]) > 1,
        facts=list(_facts(settings)),
        repeat=_python_call(settings),
        settings_text=json.dumps(settings, indent=2, ensure_ascii=False, default=str),
    )


class _Score(NamedTuple):
    """What the page shows of one scoring."""

    name: str
    curves: Markup
    differences: Markup | None
    table: ScoreTable
    compared: list[tuple[str, list[list[str]]]]


def _score(comparison: Comparison, to: str) -> _Score:
    """Return what the page shows of a comparison by a single scoring."""
    played, words = comparison.played, comparison.words
    tables = [comparison.differences(to), comparison.gains_of_rounds()]
    return _Score(
        comparison.score_name,
        draw_curves(played, comparison.leading, words),
        draw_differences(played, words) if len(played.lines) > 1 else None,
        comparison.table,
        [(each.shown.title, each.shown.rows) for each in tables if len(each)],
    )


def _numbers(settings: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield number(settings["n_draws"]), "draws"
    yield number(settings["n_labeled"]), "labeled from the start"
    yield number(settings["n_pool"]), "in the pool"
    yield number(settings["n_test"]), "to test on"
    yield number(len(settings["class_counts"])), "classes"


def _facts(settings: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield "table", f"{settings['rows']:,} rows"
    yield "strategies", ", ".join(settings["strategies"])
    yield "learner", settings["learner"]
    yield (
        "members",
        f"{settings['n_models']}, of draws with bootstrap fraction {settings['bootstrap_fraction']:g}",
    )
    yield "preprocess", settings["preprocess"]
    yield "rounds", ", ".join(map(str, settings["rounds"]))
    yield "seed", str(settings["seed"])


def _python_call(settings: Mapping[str, Any]) -> str:
    """Return the call that repeats a comparison, on the same X and y."""
    known = settings["learner"] in LEARNERS
    arguments = {
        "strategies": settings["strategies"],
        "batch_sizes": settings["batch_sizes"],
        "n_labeled": settings["n_labeled"],
        "test_size": settings["n_test"],
        "n_draws": settings["n_draws"],
        "n_models": settings["n_models"],
        "bootstrap_fraction": settings["bootstrap_fraction"],
        "scoring": settings["scoring"],
        "rounds": settings["rounds"],
        "preprocess": settings["preprocess"],
        "random_state": settings["seed"],
    }
    learner = f"{settings['learner']!r}," if known else f"...,  # {settings['learner']}"
    lines = [f"    {name}={value!r}," for name, value in arguments.items()]
    return "\n".join(["minmargin.compare(", "    X,", "    y,", f"    learner={learner}", *lines, ")"])
