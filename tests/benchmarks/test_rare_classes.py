"""The game for rare classes, and the page that shows what came of it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from rare_classes import HYPOTHESES, N_LABELED, N_POOL, Deal, Problem, balanced_accuracy
from write_rare_classes import PAGE, RESULTS, SAID, tables_of, with_tables


def test_the_page_shows_the_kept_results() -> None:
    page = PAGE.read_text()
    assert with_tables(page, tables_of(json.loads(RESULTS.read_text()))) == page


def test_each_hypothesis_has_its_words() -> None:
    assert len(SAID) == len(HYPOTHESES)


def test_positives_that_are_left_of_a_thinned_set_lie_everywhere(tmp_path: Path) -> None:
    y = np.repeat([0, 1], [16_000, 4_000])
    np.savez(tmp_path / "made-up.npz", X=y[:, np.newaxis], y=y)
    deal = Deal.of(Problem("made-up", 0.05), 0, tmp_path)
    assert (deal.X[:, 0] == deal.y).all()
    assert round(deal.y.mean(), 3) == 0.05
    for part in (deal.y[: N_LABELED + N_POOL], deal.y[N_LABELED + N_POOL :]):
        assert abs(part.mean() - 0.05) < 0.01


def test_balanced_accuracy_counts_both_classes_alike() -> None:
    truth = np.array([True, False, False, False, False])
    assert balanced_accuracy(truth, np.array([False, False, False, False, False])) == 0.5
    assert balanced_accuracy(truth, np.array([True, True, False, False, False])) == (1 + 3 / 4) / 2
