"""The page of a comparison: advice, curves, certainty and settings in one HTML text."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from minmargin.compare.advice import reference
from minmargin.compare.drawing import draw_curves, draw_differences
from minmargin.compare.shown import HEADINGS
from minmargin.learners import LEARNERS
from minmargin.report.pages import number, render

if TYPE_CHECKING:
    from minmargin.compare.comparison import Comparison

_NUMERIC = ("labels", "difference", "95% interval", "adjusted p")


def make_page(comparison: Comparison) -> str:
    """Return the page of a comparison as HTML."""
    settings, played, words = comparison.settings, comparison.played, comparison.words
    to = reference(played).strategy
    tables = [comparison.differences(to), comparison.gains_of_rounds()]
    compared = [(each.shown.title, each.shown.rows) for each in tables if len(each)]
    scoring = settings["scoring"].replace("_", " ")
    return render(
        "compare.html.jinja",
        comparison=comparison,
        settings=settings,
        scoring=scoring,
        reference=to,
        numbers=list(_numbers(settings)),
        curves=draw_curves(played, settings["scoring"], words),
        differences=draw_differences(played, words) if len(played.lines) > 1 else None,
        table=comparison.table,
        headings=HEADINGS,
        numeric=_NUMERIC,
        compared=compared,
        rounds=len(settings["rounds"]) > 1,
        facts=list(_facts(settings)),
        repeat=_python_call(settings),
        settings_text=json.dumps(settings, indent=2, ensure_ascii=False, default=str),
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
