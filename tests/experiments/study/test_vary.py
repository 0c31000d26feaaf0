"""Variants of spread, as study/vary.py plays them."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from minmargin.experiments.study.grid import REFERENCES
from minmargin.experiments.study.parts import read_results
from minmargin.experiments.study.variants import MEANINGS, VARIED
from scripts import load_script

SCRIPT = Path(__file__).parents[3] / "study" / "vary.py"


@pytest.fixture(scope="module")
def vary():
    return load_script(SCRIPT)


@pytest.fixture
def pool(vary):
    """Ten unsure rows among ninety that all are sure of, in three directions."""
    rng = np.random.default_rng(0)
    sure = np.tile([1 - 1e-9, 1e-9], (90, 1))
    unsure = np.tile([0.55, 0.45], (10, 1))
    p = np.concatenate([unsure, sure])
    return vary.Seen({"mean": p, "base": p[::-1]}, np.column_stack([rng.normal(size=(100, 2)), np.ones(100)]))


def test_every_variant_is_explained(vary):
    assert set(vary.VARIANTS) == set(MEANINGS)


@pytest.mark.parametrize("name", MEANINGS)
def test_a_batch_has_as_many_different_rows_as_asked_for(vary, pool, name):
    rows = vary.pick(vary.VARIANTS[name], 10, pool, pool, np.random.default_rng(1))
    assert len(np.unique(rows)) == len(rows) == 10


def test_unsure_rows_of_the_right_models_are_drawn(vary, pool):
    rng = np.random.default_rng(2)
    assert set(vary.draw(vary.VARIANTS["over2"], 5, pool, rng)) == set(range(10))
    assert set(vary.draw(vary.VARIANTS["base"]._replace(oversample=2), 5, pool, rng)) == set(range(90, 100))
    assert set(vary.draw(vary.VARIANTS["top4"]._replace(oversample=1), 10, pool, rng)) == set(range(10))
    assert len(vary.draw(vary.VARIANTS["all-base-0"], 5, pool, rng)) == 100


def test_picks_lie_apart_and_the_longest_is_first(vary):
    g = np.tile([0.5, -0.5], (6, 1))
    f = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [0.0, 1.0], [3.0, 0.0]])
    for seed in range(5):
        first, *others = vary.thin_out(g, f, 3, None, np.random.default_rng(seed))
        assert first == 5
        assert {tuple(f[at]) for at in others} == {(1.0, 0.0), (0.0, 1.0)}
    from_centers = vary.thin_out(g, f, 2, (g[:3], f[:3]), np.random.default_rng(0))
    assert from_centers[0] == 5  # all others are where a center is


def test_f_is_shortened_by_its_power(vary, pool):
    lengths = {
        name: np.linalg.norm(vary.embed(vary.VARIANTS[name], pool)[1], axis=1)
        for name in ("power0", "power1", "spread")
    }
    np.testing.assert_allclose(lengths["power1"], 1)
    np.testing.assert_allclose(lengths["spread"], np.sqrt(lengths["power0"]))


def test_a_draw_is_played_beside_the_references(vary, packed, tmp_path, monkeypatch):
    given = ["vary.py", "choose", "0:1", "--problems", "phoneme", "satimage", "--variants", "spread", "over1"]
    given += ["--packed", str(packed), "--out", str(tmp_path), "--n-jobs", "1"]
    monkeypatch.setattr(sys, "argv", given)
    vary.main()
    table = read_results(tmp_path).to_pandas()
    assert set(table.way) == {VARIED}
    assert set(table.problem) == {"satimage"}  # the other is to confirm
    assert set(table.strategy) == {*REFERENCES, "spread", "over1", "none"}
    assert (table.accuracy > 1 / 3).all()
