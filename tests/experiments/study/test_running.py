"""A study is played in parts: stopped, taken up again, on one process or several, it gives the same results."""

from __future__ import annotations

import time

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from minmargin.compare.game import Game
from minmargin.errors import InputError
from minmargin.execution import silent
from minmargin.experiments.study.cells import STAGES, Task, deal, play, settings_of, sizes_of
from minmargin.experiments.study.facts import read_facts
from minmargin.experiments.study.named import playable, usual
from minmargin.experiments.study.parts import join_parts, read_results, write_part
from minmargin.experiments.study.problems import load_problem
from minmargin.experiments.study.running import Study, plan, run_study
from minmargin.experiments.study.ways import WAYS, can_be_played, check_ways
from minmargin.strategies import BUILT_IN

STUDY = Study(("phoneme", "satimage"), ("logistic",), ("min-margin", "margin", "random"), range(2))
SCORES = ["accuracy", "balanced_accuracy", "minus_log_loss", "average_precision"]


def run(study, packed, out, *, n_jobs=1, time_limit=None, progress=silent):
    return run_study(
        study, packed, out, n_jobs=n_jobs, device="cpu", time_limit=time_limit, progress=progress
    )


def scores_of(folder):
    """All results but the seconds, which no two runs share."""
    table = read_results(folder)
    return table.drop_columns(["seconds"]).to_pylist()


def pack_twice(packed, folder):
    """Pack a problem with each of its rows twice: enough for a batch of 500."""
    few = load_problem(packed, "phoneme")
    X, y = (np.concatenate([values, values]) for values in (few.X, few.y))
    np.savez(folder / "phoneme.npz", X=X, y=y, names=few.names)
    return folder


@pytest.fixture(scope="module")
def whole(packed, tmp_path_factory):
    """The folder of a study that was played in one go."""
    folder = tmp_path_factory.mktemp("whole")
    ran = run(STUDY, packed, folder)
    assert (ran.n_asked, ran.n_played) == (4, 4)
    return folder


def test_every_strategy_that_a_name_is_enough_for_plays():
    assert set(BUILT_IN) - set(playable()) == {"true-margin"}


def test_what_would_take_too_long_plays_only_where_it_is_named(packed, tmp_path):
    assert set(usual("logistic", "covtype-large")) == set(playable()) - {"balanced-margin", "k-centers"}
    assert set(usual("boosting", "covtype")) < set(playable())
    folder, nothing = pack_twice(packed, tmp_path), read_results(tmp_path)
    for strategies, expected in ((None, usual("boosting", "phoneme")), (("k-centers",), ("k-centers",))):
        (task,) = plan(Study(("phoneme",), ("boosting",), strategies, range(1)), folder, nothing, tmp_path)
        assert task.strategies == expected


def test_distinct_picks_pass_over_copies(packed, tmp_path):
    problem = load_problem(packed, "phoneme")
    X, y = (np.concatenate([values[:400]] + [values[:50]] * 10) for values in (problem.X, problem.y))
    np.savez(tmp_path / "phoneme.npz", X=X, y=y, names=problem.names)
    table = play(Task("logistic", "phoneme", 100, (0,), ("random", "random+distinct")), tmp_path)
    with_copies, distinct = (
        table.filter(pc.equal(pc.cast(table["strategy"], "string"), name))["accuracy"].to_pylist()
        for name in ("random", "random+distinct")
    )
    assert with_copies != distinct


def test_results_have_every_draw_strategy_and_metric(whole):
    table = read_results(whole)
    assert table.num_rows == 2 * 2 * (1 + 3)  # problems, draws, no batch and three strategies of one size
    two = table.to_pandas().query("problem == 'phoneme'")
    assert two[SCORES].notna().all().all()
    assert ((two.accuracy > 0.5) & (two.accuracy <= 1)).all()
    three = table.to_pandas().query("problem == 'satimage'")
    assert three.average_precision.isna().all()
    assert (table.to_pandas().query("strategy == 'none'").batch_size == 0).all()
    assert read_facts(whole)["satimage"]["classes"] == 3


def test_a_study_that_was_stopped_is_taken_up_where_it_was(whole, packed, tmp_path):
    class StopError(Exception):
        pass

    def stop_after_one(stage, done, total):
        if done == 1:
            raise StopError

    with pytest.raises(StopError):
        run(STUDY, packed, tmp_path, progress=stop_after_one)
    assert len(list((tmp_path / "parts").iterdir())) == 1
    ran = run(STUDY, packed, tmp_path)
    assert (ran.n_asked, ran.n_played) == (3, 3)
    assert scores_of(tmp_path) == scores_of(whole)
    assert run(STUDY, packed, tmp_path).n_asked == 0


def test_several_processes_give_the_same_results_and_tell_what_they_spent(whole, packed, tmp_path):
    ran = run(STUDY, packed, tmp_path, n_jobs=2)
    assert ran.n_played == 4
    assert list(ran.seconds) == ["logistic"]
    assert list(ran.seconds["logistic"]) == list(STAGES)
    assert all(took > 0 for took in ran.seconds["logistic"].values())
    assert scores_of(tmp_path) == scores_of(whole)


def test_time_that_is_up_ends_a_study_between_parts(packed, tmp_path):
    ran = run(STUDY, packed, tmp_path, time_limit=0.0)
    assert (ran.n_asked, ran.n_played) == (4, 0)
    start = time.monotonic()
    ran = run(STUDY, packed, tmp_path, n_jobs=2, time_limit=0.3)  # processes take longer to start
    assert time.monotonic() - start < 5
    assert ran.n_played == 0
    assert read_results(tmp_path).num_rows == 0


def test_what_cannot_be_played_is_told_and_the_others_play_on(packed, tmp_path):
    problem = load_problem(packed, "phoneme")
    X = problem.X.copy()
    X[:, 0] = np.nan
    np.savez(tmp_path / "phoneme.npz", X=X, y=problem.y, names=problem.names)
    (tmp_path / "satimage.npz").write_bytes((packed / "satimage.npz").read_bytes())
    study = Study(("phoneme", "satimage"), ("logistic",), ("random",), range(1))
    ran = run(study, tmp_path, tmp_path / "out")
    assert (ran.n_asked, ran.n_played) == (2, 1)
    (refused,) = ran.refused
    assert refused == (
        "logistic, phoneme, 100 labeled, draw 0: Labeled row 0, column 0 is missing (NaN). "
        "Fill it, drop the row, or use preprocess='auto'."
    )
    several = run(study._replace(draws=range(2)), tmp_path, tmp_path / "out", n_jobs=2)
    assert refused in several.refused


def test_a_strategy_that_came_later_plays_alone(whole, packed, tmp_path):
    first = Study(STUDY.problems, STUDY.ways, ("min-margin", "random"), STUDY.draws)
    run(first, packed, tmp_path)
    tasks = plan(STUDY, packed, read_results(tmp_path), tmp_path)
    assert {task.strategies for task in tasks} == {("margin",)}
    assert run(STUDY, packed, tmp_path).n_played == 4
    assert scores_of(tmp_path) == scores_of(whole)


def test_parts_of_two_machines_lie_in_one_folder(whole, packed, tmp_path):
    for number, draws in enumerate((range(1), range(2))):  # both have draw 0
        folder = tmp_path / str(number)
        run(STUDY._replace(draws=draws), packed, folder)
        for path in (folder / "parts").iterdir():
            (tmp_path / "parts").mkdir(exist_ok=True)
            path.rename(tmp_path / "parts" / f"{number}-{path.name}")
    assert scores_of(tmp_path) == scores_of(whole)
    (joined,) = join_parts(tmp_path)
    for path in (tmp_path / "parts").iterdir():
        path.unlink()
    assert joined.name == "logistic.parquet"
    assert scores_of(tmp_path) == scores_of(whole)


def test_all_problems_have_draw_0_before_any_has_draw_1(packed, tmp_path):
    tasks = plan(STUDY, packed, read_results(tmp_path), tmp_path)
    assert [task.draws for task in tasks] == [(0,), (0,), (1,), (1,)]
    assert [task.problem for task in tasks] == ["satimage", "phoneme"] * 2  # three classes are more work


def test_draws_that_a_gpu_trains_together_are_one_task(packed, tmp_path):
    study = STUDY._replace(ways=("networks",), problems=("phoneme",), draws=range(6))
    tasks = plan(study, packed, read_results(tmp_path), tmp_path, together=True)
    assert [task.draws for task in tasks] == [(0, 1, 2, 3), (4, 5)]


def test_a_gpu_trains_networks_and_all_processes_share_it(packed, tmp_path, monkeypatch):
    """Only networks are trained there. Their pools are small, so picking looks for itself what is worth while."""
    asked = []

    def pretend(task, folder, *, device, stopwatch):
        asked.append((task.way, task.draws, device))
        return play(task._replace(way="logistic"), folder, stopwatch=stopwatch)

    monkeypatch.setattr("minmargin.experiments.study.running.play", pretend)
    monkeypatch.setattr("minmargin.experiments.study.running.resolve_device", lambda _: "cuda")
    run(STUDY._replace(ways=("logistic", "networks"), problems=("phoneme",)), packed, tmp_path)
    assert sorted(asked) == [
        ("logistic", (0,), "cpu"),
        ("logistic", (1,), "cpu"),
        ("networks", (0, 1), "cuda"),
    ]


def test_where_a_gpu_trains_picking_looks_for_itself(packed, monkeypatch):
    where = []

    class Seen(Game):
        def train(self, deal, *, device, n_jobs=1):
            where.append(("train", device))
            return super().train(deal, device="cpu")

        def pick_with(self, committee, deal, *, device, n_jobs=1):
            where.append(("pick", device))
            return super().pick_with(committee, deal, device="cpu")

    monkeypatch.setattr("minmargin.experiments.study.cells.Game", Seen)
    play(Task("logistic", "phoneme", 100, (0,), ("random",)), packed, device="cuda")
    assert where == [("train", "cuda"), ("pick", "auto")]


def test_results_of_other_rows_are_refused(whole, packed, tmp_path):
    problem = load_problem(packed, "phoneme")
    other = problem._replace(X=problem.X[::-1])
    np.savez(tmp_path / "phoneme.npz", X=other.X, y=other.y, names=other.names)
    with pytest.raises(InputError) as caught:
        run(STUDY._replace(problems=("phoneme",)), tmp_path, whole)
    assert str(caught.value) == (
        f"Problem 'phoneme' was played by other rules in {str(whole)!r} (rows {problem.fingerprint}, K=25, beta=1; "
        f"now: rows {other.fingerprint}, K=25, beta=1). Use another folder."
    )


def test_a_file_that_is_no_part_is_named(tmp_path):
    path = tmp_path / "logistic.parquet"
    path.write_bytes(b"nothing")
    with pytest.raises(
        InputError, match=r"logistic.parquet' is no part of a study \(.*\)\. Take it out of the folder\.$"
    ):
        read_results(tmp_path)


def test_a_deal_shares_its_test_rows_between_numbers_of_labeled_rows(packed):
    problem = load_problem(packed, "phoneme")
    (few,), (many,) = deal(problem, 100, [3]), deal(problem, 500, [3])
    np.testing.assert_array_equal(few.test, many.test)
    np.testing.assert_array_equal(few.labeled, many.labeled[:100])
    for each in (few, many):
        rows = np.concatenate([each.labeled, each.pool, each.test])
        np.testing.assert_array_equal(np.sort(rows), np.arange(900))
    first, second = deal(problem, 100, [0, 1])
    assert first.X is second.X
    assert first.seed != second.seed


def test_batches_are_at_most_half_of_the_pool():
    assert sizes_of("phoneme", 24_000, 100, way="logistic") == (100, 500, 2000)
    assert sizes_of("phoneme", 24_000, 100, way="boosting") == (500, 2000)
    assert sizes_of("phoneme", 4_601, 500, way="logistic") == (100, 500)
    assert sizes_of("phoneme", 900, 500, way="logistic") == ()
    assert settings_of("covtype-large") == (500,)
    assert sizes_of("covtype-large", 100_000, 500, way="logistic") == (20_000,)


def test_boosting_is_judged_by_boosted_models_and_left_out_where_it_takes_too_long(packed, tmp_path):
    folder = pack_twice(packed, tmp_path)
    task = Task("boosting", "phoneme", 100, (0,), ("random",))
    boosted, linear = play(task, folder), play(task._replace(way="logistic"), folder)
    assert boosted["batch_size"].to_pylist() == [0, 500]
    linear = linear.filter(pc.not_equal(linear["batch_size"], 100))
    assert boosted["accuracy"].to_pylist() != linear["accuracy"].to_pylist()
    assert (boosted["accuracy"].to_numpy() > 0.5).all()
    assert can_be_played("boosting", 10)
    assert not can_be_played("boosting", 11)
    assert can_be_played("logistic", 77)


def test_networks_play_together(packed):
    pytest.importorskip("torch")
    together = play(Task("networks", "satimage", 100, (0, 1), ("margin", "random")), packed)
    alone = play(Task("networks", "satimage", 100, (1,), ("margin", "random")), packed)
    assert together.num_rows == 6
    np.testing.assert_allclose(together["accuracy"].to_numpy()[3:], alone["accuracy"].to_numpy(), atol=0.02)
    assert (together["accuracy"].to_numpy() > 1 / 3).all()


def test_a_way_that_nobody_knows_is_refused():
    assert check_ways(list(WAYS)) == WAYS
    with pytest.raises(InputError, match=r"^There is no way of learning 'forest' \(names: .*'logistic'"):
        check_ways(["forest"])


def test_a_part_tells_its_place_by_its_name(packed, tmp_path):
    task = Task("logistic", "phoneme", 100, (0, 1), ("random",))
    path = write_part(tmp_path, task, play(task, packed))
    assert path.name.startswith("logistic.phoneme.100.0000-0001.")
    assert pq.read_table(path).num_rows == 4
