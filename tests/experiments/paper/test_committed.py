"""The results that are committed are whole, and the page says what they say."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from minmargin.experiments.paper.claims import CLAIMS, Measured, judge
from minmargin.experiments.paper.page import N_DRAWS_SEEN
from minmargin.experiments.paper.page.draws import play_anew
from minmargin.experiments.paper.page.tables import ledger
from minmargin.experiments.paper.reproduce import GAMES

ROOT = Path(__file__).parents[3]
RESULTS = ROOT / "paper" / "results"


@pytest.fixture(scope="module")
def measured():
    return replace(Measured.read(RESULTS), draws=[play_anew(draw) for draw in range(N_DRAWS_SEEN)])


def test_the_page_shows_the_verdicts_that_the_results_give(measured):
    verdicts = judge(measured)
    assert set(verdicts) == {claim.name for claim in CLAIMS}
    assert ledger(verdicts) in (ROOT / "docs" / "paper.md").read_text(), "run make docs"


@pytest.mark.parametrize("name", [path.stem for path in RESULTS.glob("*.parquet") if path.stem in GAMES])
def test_committed_results_have_every_draw_strategy_and_size(name, measured):
    experiment = GAMES[name]()
    results = measured.results[name]
    for setting in experiment.settings:
        curves = results.curves(setting.dataset, setting.variant)
        assert curves.strategies == setting.game.names
        assert curves.sizes == list(setting.game.batch_sizes)
        assert len(curves.draws) == experiment.n_draws
        assert ((curves.accuracies > 0) & (curves.accuracies <= 1)).all()
