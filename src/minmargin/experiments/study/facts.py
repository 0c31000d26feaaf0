"""What is known of the problems that were played, kept beside the results: a page needs it, and not their rows."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from minmargin.experiments.study.cells import rules_of
from minmargin.experiments.study.problems import Problem, half_of
from minmargin.files import write_json

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
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / _FILE, dict(sorted(known.items())))


def read_facts(folder: Path) -> dict[str, dict[str, Any]]:
    """Return what is known of problems, by name; nothing where nothing was written."""
    path = folder / _FILE
    found: dict[str, dict[str, Any]] = json.loads(path.read_text()) if path.exists() else {}
    return found
