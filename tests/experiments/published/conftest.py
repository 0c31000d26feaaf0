"""Made-up sets, packed under the names of real ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from minmargin.experiments.published.rows import Rows, pack_rows


def made_up(name: str, *, n_rows: int = 100, n_classes: int = 2) -> Rows:
    rng = np.random.default_rng(len(name))
    y = np.arange(n_rows) % n_classes
    X = rng.normal(size=(n_rows, 4)) + y[:, np.newaxis] * [1.5, 1.0, 0.0, -0.5]
    return Rows(name, X, y)


@pytest.fixture(scope="session")
def packed(tmp_path_factory) -> Path:
    """A folder with two sets of two classes and one of three."""
    folder = tmp_path_factory.mktemp("packed")
    sets = {
        "phoneme": made_up("phoneme"),
        "spambase": made_up("spambase"),
        "satimage": made_up("satimage", n_rows=400, n_classes=3),
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("minmargin.experiments.published.rows.make_rows", lambda name, _: sets[name])
        pack_rows(folder, sets)
    return folder
