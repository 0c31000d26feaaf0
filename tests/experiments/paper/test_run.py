"""Runs: every finished draw is on disk, an interrupted run is taken up, and order and workers change nothing."""

from __future__ import annotations

import json
import shutil

import pyarrow.parquet as pq
import pytest

from minmargin.compare.game import Game
from minmargin.compare.outcome import NONE
from minmargin.compare.trainers import LogisticTrainer
from minmargin.errors import InputError
from minmargin.experiments.paper.experiment import Experiment, Setting, SplitTable
from minmargin.experiments.paper.reproduce import GAMES, NAMES, reproduce
from minmargin.experiments.paper.results import Results
from minmargin.experiments.paper.run import run

SIZES = (5, 20)


def tiny(sizes=SIZES, variants=("main", "standardized")):
    game = Game(LogisticTrainer(), ("min-margin", "random"), sizes, n_models=3)
    settings = tuple(
        Setting(
            "breast-cancer",
            variant,
            game,
            SplitTable("tiny", "breast-cancer", 20, standardized=variant == "standardized"),
        )
        for variant in variants
    )
    return Experiment("tiny", "0", settings, n_draws=3)


def silent(*_):
    pass


def numbers(results):
    """Everything but the seconds."""
    return results.table.drop_columns(["seconds"]).to_pylist()


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return run(tiny(), tmp_path_factory.mktemp("whole"), progress=silent)


def test_every_draw_strategy_and_size_has_a_result(whole):
    assert len(whole) == 2 * 3 * (1 + 2 * len(SIZES))
    curves = whole.curves("breast-cancer", "main")
    assert (curves.strategies, curves.sizes, curves.draws) == (["min-margin", "random"], [5, 20], [0, 1, 2])
    assert (curves.accuracies > 0.7).all()
    assert (whole.before("breast-cancer", "main") > 0.7).all()


def test_variants_share_their_deals(whole):
    """Same labeled rows and test rows: only the columns' scale differs."""
    raw, scaled = (tiny().settings[place].deal(1, None) for place in (0, 1))
    for part in ("labeled", "pool", "test"):
        assert getattr(raw, part).tolist() == getattr(scaled, part).tolist()
    assert raw.seed == scaled.seed
    assert not set(raw.labeled) & set(raw.pool)
    assert not set(raw.test) & (set(raw.labeled) | set(raw.pool))


def test_an_interrupted_run_is_taken_up_and_gives_the_same(whole, tmp_path):
    def interrupt(stage, done, total):
        if done == 2:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        run(tiny(), tmp_path, progress=interrupt)
    files = sorted(path.name for path in (tmp_path / "tiny").iterdir())
    assert files == ["breast-cancer.main.00000.parquet", "breast-cancer.main.00001.parquet"]
    played = []
    results = run(tiny(), tmp_path, progress=lambda stage, done, total: played.append(done))
    assert played == [2, 3, 4, 5, 6]
    assert numbers(results) == numbers(whole)
    assert numbers(Results.read(tmp_path / "tiny.parquet")) == numbers(whole)


def test_workers_change_nothing(whole, tmp_path):
    assert numbers(run(tiny(), tmp_path, workers=2, progress=silent)) == numbers(whole)


def test_more_draws_extend_fewer(whole, tmp_path):
    run(tiny(), tmp_path, draws=1, progress=silent)
    first = json.loads((tmp_path / "tiny.json").read_text())
    assert first["draws"] == 1
    assert numbers(run(tiny(), tmp_path, progress=silent)) == numbers(whole)
    then = json.loads((tmp_path / "tiny.json").read_text())
    assert then["draws"] == 3
    assert then["seconds"] >= first["seconds"]
    assert {"machine", "versions", "date"} <= set(then)


def test_a_folder_of_other_rules_is_refused(tmp_path):
    run(tiny(), tmp_path, draws=1, progress=silent)
    with pytest.raises(InputError, match="other rules"):
        run(tiny(sizes=(5, 30)), tmp_path, draws=1, progress=silent)


def test_a_part_of_the_datasets_can_be_asked_for(tmp_path):
    with pytest.raises(InputError, match=r"no dataset 'wine'.*breast-cancer"):
        run(tiny(), tmp_path, datasets=["wine"], progress=silent)
    run(tiny(variants=("main",)), tmp_path, datasets=["breast-cancer"], draws=1, progress=silent)
    assert pq.read_table(tmp_path / "tiny.parquet").num_rows == 5


def test_the_experiments_are_those_of_the_paper():
    assert NAMES == ("gaussian", "theorem", "benchmark", "tuning", "mnist", "fashion", "large")
    draws = {name: make().n_draws for name, make in GAMES.items()}
    assert draws == {
        "gaussian": 500, "benchmark": 100, "tuning": 100, "mnist": 100, "fashion": 100, "large": 100
    }  # fmt: skip


def test_an_unknown_experiment_names_the_known_ones(tmp_path):
    with pytest.raises(InputError, match=r"no experiment 'imagenet'.*gaussian"):
        reproduce("imagenet", tmp_path, progress=silent)


@pytest.mark.parametrize("name", ["gaussian", "benchmark", "tuning"])
def test_quick_runs_need_no_file(name, tmp_path):
    reproduce(name, tmp_path, quick=True, draws=1, progress=silent)
    results = Results.read(tmp_path / f"{name}.parquet")
    setting = GAMES[name](quick=True).settings[0]
    assert results.strategies(setting.dataset, setting.variant) == setting.game.names
    assert NONE not in setting.game.names
    shutil.rmtree(tmp_path)


@pytest.mark.parametrize("name", ["mnist", "fashion", "large"])
def test_quick_runs_of_networks(name, tmp_path):
    pytest.importorskip("torch")
    reproduce(name, tmp_path, quick=True, draws=1, device="cpu", progress=silent)
    assert len(Results.read(tmp_path / f"{name}.parquet")) > 10
