"""The sentences of a batch's report: what was asked, and how to repeat it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from minmargin.learners import LEARNERS
from minmargin.report.drawing import legible
from minmargin.strategies import entry_of


def short(text: object, most: int = 28) -> str:
    r"""Return a text in one line that is not too long for a figure.

    >>> short("a  very long name of a class that nobody reads to its end"), short("two\nlines")
    ('a very long name of a class…', 'two lines')
    """
    line = " ".join(legible(str(text)).split())
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def meaning(strategy: str, n_models: int) -> str:
    """Return what a strategy goes by, or nothing if its registration does not say."""
    entry = entry_of(strategy)
    return "" if entry is None else entry.meaning.format(K=n_models)


def python_call(manifest: Mapping[str, Any]) -> str:
    """Return the call that repeats a selection, on the same X, y and pool; or by the same committee."""
    settings = manifest["settings"]
    arguments: list[tuple[str, str, str]] = [("batch_size", repr(settings["batch_size"]), "")]
    options = ", ".join(f"{name}={value!r}" for name, value in settings["strategy_options"].items())
    arguments.append(("strategy", _quoted(settings["strategy"]), f"with {options}" if options else ""))
    trained = manifest.get("labeled", {}) is not None
    if trained:
        arguments += _training_arguments(settings)
        if manifest.get("reading"):
            declared = ", ".join(f"{name}={said!r}" for name, said in manifest["reading"].items())
            arguments.append(("reading", f"minmargin.Reading({declared})", ""))
    excluded = manifest.get("excluded") or {}
    if excluded.get("asked"):
        arguments.append(("exclude", "...", f"the same {excluded['asked']:,} values"))
    arguments.append(("distinct", repr(settings.get("distinct", False)), ""))
    if trained:
        arguments.append(("random_state", repr(settings["seed"]), ""))
    lines = (f"    {name}={value},{f'  # {note}' if note else ''}" for name, value, note in arguments)
    call = ["minmargin.select(", "    X,", "    y,"] if trained else ["committee.select("]
    pool = "    pool=None," if "labeled" in excluded else "    pool,"
    return "\n".join([*call, pool, *lines, ")"])


def _training_arguments(settings: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Return the arguments that say how a committee is trained, each with its value and a note."""
    known = settings["learner"] in LEARNERS
    learner = (
        ("learner", _quoted(settings["learner"]), "") if known else ("learner", "...", settings["learner"])
    )
    return [learner] + [
        (name, _quoted(settings[name]) if isinstance(settings[name], str) else repr(settings[name]), "")
        for name in ("n_models", "bootstrap_fraction", "preprocess")
        if name != "n_models" or settings[name]
    ]


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
