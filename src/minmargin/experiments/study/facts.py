"""What is known of the problems that were played, kept beside the results: a page needs it, and not their rows."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from minmargin.errors import InputError
from minmargin.experiments.study.cells import rules_of
from minmargin.experiments.study.problems import Problem, half_of
from minmargin.fields import Fields, parse_json
from minmargin.files import make_folder, write_json

_FILE = "problems.json"


def write_facts(folder: Path, problems: Iterable[Problem]) -> None:
    """Write what is known of problems; what was written of others, or of the same rows, stays."""
    known = read_facts(folder)
    for problem in problems:
        rules = rules_of(problem)
        if known.get(problem.name, {}).get("rules") != rules:
            known[problem.name] = {
                "half": half_of(problem.name),
                "rows": len(problem.y),
                "columns": problem.X.shape[1],
                "classes": len(problem.names),
                "largest_class": round(float(np.bincount(problem.y).max() / len(problem.y)), 4),
                "copies": round(problem.copies, 4),
                "rules": rules,
            }
    make_folder(folder)
    write_json(folder / _FILE, dict(sorted(known.items())))


def read_facts(folder: Path) -> dict[str, dict[str, Any]]:
    """Return what is known of problems, by name; nothing where nothing was written."""
    path = folder / _FILE
    if not path.exists():
        return {}
    try:
        found = parse_json(path.read_bytes())
    except (OSError, ValueError) as error:
        raise _wrong(path, str(error)) from error
    facts = Fields(found, partial(_wrong, path))
    return {name: facts.get(name, dict) for name in facts.names}


def _wrong(path: Path, reason: str) -> InputError:
    return InputError(
        f"{str(path)!r} does not tell what is known of problems ({reason}). Remove it: the next run of the study "
        "writes it anew."
    )
