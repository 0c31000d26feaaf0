"""The next round of a campaign, as a command or a call that says what it needs to be told again."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from minmargin.campaign.journal import Journal
from minmargin.campaign.settings import Settings
from minmargin.learners.reference import is_reference

_FILE = "probabilities.parquet"
_USUAL = {"columns": "p_*"}  # where no round shows what files look like


def told_before(journal: Journal) -> dict[str, Any] | None:
    """Return what the last round was told beside the probabilities, by the names of arguments; None before a first."""
    evidence = journal.evidence()
    if not evidence:
        return None
    told: dict[str, Any] = json.loads(evidence[max(evidence)].settings).get("told", {})
    return told


def next_flags(settings: Settings, journal: Journal) -> tuple[str, ...]:
    """Return what `minmargin campaign next` takes besides the folder, for a shell."""
    if is_reference(settings.learner):
        return "--learner", shlex.quote(settings.learner)
    if not settings.given:
        return ()
    told = told_before(journal)
    return "--probabilities", _FILE, *as_flags(_USUAL if told is None else told)


def next_call(journal: Journal) -> str:
    """Return the call in Python."""
    told = told_before(journal) or {}
    return f"next({', '.join(['probabilities=...', *(f'{name}={value!r}' for name, value in told.items())])})"


def as_flags(told: Mapping[str, Any]) -> list[str]:
    """Return arguments as the flags of a command line.

    >>> as_flags({"columns": ["m0_*", "m1_*"], "values": "logits", "base": ["a", "b"]})
    ['--columns', "'m0_*'", '--columns', "'m1_*'", '--values', 'logits', '--base', 'a,b']
    >>> as_flags({"columns": [["a", "b"], ["c", "d"]]}), as_flags({"columns": ["a", "b"]})
    (['--columns', 'a,b', '--columns', 'c,d'], ['--columns', 'a,b'])
    """
    flags = []
    for name, value in told.items():
        for each in _models(value) if name == "columns" else [value]:
            text = each if isinstance(each, str) else ",".join(map(str, each))
            flags += [f"--{name}", shlex.quote(text)]
    return flags


def _models(columns: str | Sequence[Any]) -> Sequence[Any]:
    """Return the columns of each model: patterns, or lists, stand for one each."""
    if isinstance(columns, str) or all(isinstance(each, str) and "*" not in each for each in columns):
        return [columns]
    return columns
