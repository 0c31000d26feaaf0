"""Made-up problems, packed under the names of real ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from minmargin.experiments.study.problems import Problem, pack_problems


def made_up(name: str, *, n_rows: int = 900, n_classes: int = 2) -> Problem:
    rng = np.random.default_rng(len(name))
    y = rng.integers(n_classes, size=n_rows)
    X = rng.normal(size=(n_rows, 4)) + y[:, np.newaxis] * [1.0, 0.5, 0.0, -0.5]
    return Problem(
        name, X.astype(np.float16), y.astype(np.int16), np.array([f"class {k}" for k in range(n_classes)])
    )


@pytest.fixture(scope="session")
def packed(tmp_path_factory) -> Path:
    """A folder with a problem of two classes and one of three."""
    folder = tmp_path_factory.mktemp("packed")
    problems = {"phoneme": made_up("phoneme"), "satimage": made_up("satimage", n_classes=3)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("minmargin.experiments.study.problems.make_problem", lambda name, _: problems[name])
        pack_problems(folder, problems)
    return folder
