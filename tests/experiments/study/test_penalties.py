"""C="auto" against C = 1: how study/penalties.py plays, and what is made of the results."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

from minmargin.compare.trainers import AnyTrainer
from minmargin.experiments.study.cells import SCHEMA, deal
from minmargin.experiments.study.grid import Cell
from minmargin.experiments.study.metrics import METRICS
from minmargin.experiments.study.parts import read_results
from minmargin.experiments.study.penalties import (
    AUTO,
    PENALTIES,
    STRATEGIES,
    compare_penalties,
    training_seconds,
)
from minmargin.experiments.study.problems import load_problem
from minmargin.learners.logistic import LogisticLearner
from scripts import load_script

SCRIPT = Path(__file__).parents[3] / "study" / "penalties.py"
CLEARLY = {"a9a": [0.03, 0.031, 0.029, 0.03], "mnist": [-0.02, -0.021, -0.019, -0.02]}
HARDLY = {"magic04": [0.01, -0.01, 0.02, -0.018]}


@pytest.fixture(scope="module")
def penalties():
    return load_script(SCRIPT)


def made_up_results():
    """Results in which "auto" is ahead by so much in each draw of a problem, and spread by a point less than others."""
    rows = []
    for problem, ahead in {**CLEARLY, **HARDLY}.items():
        for draw, gain in enumerate(ahead):
            shared = {
                "way": PENALTIES,
                "problem": problem,
                "draw": draw,
                "n_labeled": 500,
                "rules": "made up",
            }
            for ending, seconds in (("", 0.5), (AUTO, 1.5 + draw)):
                rows.append({**shared, "strategy": f"none{ending}", "batch_size": 0, "seconds": seconds})
                for strategy in STRATEGIES:
                    score = 0.6 + 0.02 * draw + bool(ending) * (gain - 0.01 * (strategy == "spread"))
                    scores = dict.fromkeys((metric.name for metric in METRICS), score)
                    rows.append(
                        {**shared, "strategy": strategy + ending, "batch_size": 100, "seconds": 0.1, **scores}
                    )
    return pa.Table.from_pylist(rows, schema=SCHEMA)


@pytest.fixture(scope="module")
def compared():
    return compare_penalties(made_up_results(), "accuracy")


def test_a_problem_has_the_interval_of_its_paired_draws(compared):
    assert compared.problems == ["a9a", "magic04", "mnist"]
    for number, problem in enumerate(compared.problems):
        of_draws = np.array({**CLEARLY, **HARDLY}[problem]) - 0.01 / 3
        interval = stats.ttest_1samp(of_draws, 0).confidence_interval()
        found = compared.by_problem.cell(number)
        assert (found.mean, found.low, found.high) == pytest.approx((of_draws.mean(), *interval), abs=1e-6)
    assert compared.by_problem.n_draws.tolist() == [4, 4, 4]


def test_the_lowest_cell_is_that_of_spread(compared):
    assert [(cell, strategy) for cell, strategy, _ in compared.worst] == [
        (Cell(problem, 500, 100), "spread") for problem in compared.problems
    ]
    assert [lowest for *_, lowest in compared.worst] == pytest.approx([0.02, -0.0095, -0.03], abs=1e-6)


def test_all_cells_count_alike_and_wins_are_told_from_losses(compared):
    mean = np.mean([np.mean(ahead) for ahead in (*CLEARLY.values(), *HARDLY.values())]) - 0.01 / 3
    assert compared.overall.mean == pytest.approx(mean, abs=1e-6)
    assert {name: (told.wins, told.losses) for name, told in compared.told.items()} == dict.fromkeys(
        STRATEGIES, (1, 1)
    )
    assert compared.by_size.keys() == {(500, 100)}
    assert compared.by_size[500, 100] == pytest.approx(compared.overall)


def test_seconds_are_medians_of_training_committees():
    assert training_seconds(made_up_results(), 500) == dict.fromkeys(("a9a", "magic04", "mnist"), (0.5, 3.0))
    assert training_seconds(made_up_results(), 100) == {}


def test_a_draw_is_played_with_both_penalties(penalties, packed, tmp_path, monkeypatch, capsys):
    given = ["penalties.py", "0:1", "--problems", "satimage", "--packed", str(packed), "--out", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", given)
    penalties.main()
    table = read_results(tmp_path).to_pandas()
    assert set(table.way) == {PENALTIES}
    assert set(table.n_labeled) == {100}  # of 100 rows in the pool, no batch is picked
    names = {"none", *STRATEGIES}
    assert set(table.strategy) == names | {name + AUTO for name in names}
    assert (table.accuracy > 1 / 3).all()
    assert (table.seconds > 0).all()
    scores = table.set_index("strategy").minus_log_loss
    assert all(scores[name] != scores[name + AUTO] for name in names)  # another C was chosen
    assert "0 satimage 100 C=auto chose " in capsys.readouterr().out
    penalties.main()
    assert "chose" not in capsys.readouterr().out  # what is there is not played again


def test_no_draw_begins_after_the_time_is_up(penalties, packed, tmp_path, monkeypatch):
    given = ["penalties.py", "0:1", "--minutes", "0", "--packed", str(packed), "--out", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", given)
    penalties.main()
    assert read_results(tmp_path).num_rows == 0


@pytest.mark.parametrize("name", ["phoneme", "satimage"])
def test_models_trained_one_by_one_are_those_trained_together(penalties, packed, name):
    """So that what differs between the two is C, and not how models are trained."""
    deals = deal(load_problem(packed, name), 100, (0,))
    row_sets = [[deals[0].labeled, np.concatenate([deals[0].labeled, deals[0].pool[:100]])]]
    together, one_by_one = (
        trainer.scores(deals, row_sets, METRICS[:3], device="cpu")[0]
        for trainer in (penalties._WAYS[""].judge, AnyTrainer(LogisticLearner(C=1.0)))
    )
    np.testing.assert_allclose(one_by_one, together, rtol=1e-6)
