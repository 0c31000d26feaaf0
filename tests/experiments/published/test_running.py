"""A table is played in parts: stopped, taken up again, on one process or several, it gives the same curves."""

from __future__ import annotations

import numpy as np
import pytest

from minmargin.errors import InputError
from minmargin.execution import silent
from minmargin.experiments.published.curves import read_curves
from minmargin.experiments.published.rows import Rows, load_rows, make_rows, pack_rows
from minmargin.experiments.published.running import Wanted, plan, run_table
from minmargin.experiments.study.coding import Columns, Images
from minmargin.experiments.study.sets import RealSet

WANTED = Wanted("rebenchmark", ("phoneme", "spambase"), None, (50, 10), ("margin", "random"), range(2))


def run(wanted, packed, out, *, n_jobs=1, time_limit=None, progress=silent):
    return run_table(wanted, packed, out, n_jobs=n_jobs, time_limit=time_limit, progress=progress)


def curves_in(folder):
    return [(curve.task, curve.right.tolist()) for curve in read_curves(folder)]


@pytest.fixture(scope="module")
def whole(packed, tmp_path_factory):
    """The folder of a table that was played in one go."""
    folder = tmp_path_factory.mktemp("whole")
    ran = run(WANTED, packed, folder)
    assert (ran.n_asked, ran.n_played, ran.refused) == (16, 16, [])
    assert ran.results == [folder / "rebenchmark.parquet"]
    return folder


def test_a_run_that_was_stopped_is_taken_up_where_it_was(whole, packed, tmp_path):
    class StopError(Exception):
        pass

    def stop_after_three(stage, done, total):
        if done == 3:
            raise StopError

    with pytest.raises(StopError):
        run(WANTED, packed, tmp_path, progress=stop_after_three)
    assert len(list((tmp_path / "parts").iterdir())) == 3
    assert run(WANTED, packed, tmp_path).n_asked == 13
    assert curves_in(tmp_path) == curves_in(whole)
    assert run(WANTED, packed, tmp_path).n_asked == 0


def test_several_processes_give_the_same_curves(whole, packed, tmp_path):
    assert run(WANTED, packed, tmp_path, n_jobs=2).n_played == 16
    assert curves_in(tmp_path) == curves_in(whole)


def test_time_that_is_up_ends_a_run(packed, tmp_path):
    ran = run(WANTED, packed, tmp_path, time_limit=0.0)
    assert (ran.n_asked, ran.n_played) == (16, 0)


def test_draw_0_of_everything_comes_first_and_what_takes_long_before_what_does_not(packed, tmp_path):
    tasks = plan(Wanted("rebenchmark", ("phoneme",)), packed, [], tmp_path)
    assert len(tasks) == 10 * 3 * 9
    assert [task.draw for task in tasks] == sorted(task.draw for task in tasks)
    assert (tasks[0].strategy, tasks[26].strategy) == ("spread", "random")
    ours = plan(Wanted("alpbench", ("satimage",), draws=range(1)), packed, [], tmp_path)
    assert len(ours) == 3 * (7 + 8 + 7)
    assert {(task.n_labeled, task.batch_size) for task in ours} == {(30, 10), (100, 50), (300, 200)}


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (
            Wanted("alpbensh"),
            "There is no table 'alpbensh' (names: 'rebenchmark', 'alpbench'). Did you mean 'alpbench'?",
        ),
        (
            Wanted("rebenchmark", ("iris",)),
            "There is no set 'iris' (names: 'phoneme', 'spambase').",
        ),
        (
            Wanted("rebenchmark", batch_sizes=(5,)),
            "There is no batch size '5' (names: '50', '10', '1'). Did you mean '50'?",
        ),
        (
            Wanted("rebenchmark", learners=("forest",)),
            "There is no learner 'forest' (names: 'svc').",
        ),
    ],
)
def test_what_is_in_no_table_is_said(packed, tmp_path, wanted, message):
    with pytest.raises(InputError) as caught:
        plan(wanted, packed, [], tmp_path)
    assert str(caught.value) == message


def test_results_of_other_rows_are_refused(whole, packed, tmp_path):
    few = load_rows(packed, "phoneme")
    np.savez(tmp_path / "phoneme.npz", X=few.X + 1, y=few.y.astype(np.int16))
    other = Rows("phoneme", few.X + 1, few.y).fingerprint
    with pytest.raises(InputError) as caught:
        plan(WANTED._replace(problems=("phoneme",)), tmp_path, read_curves(whole), whole)
    rules = "their draws, test 0.4, K=25, slope on the labeled rows"
    assert str(caught.value) == (
        f"Set 'phoneme' was played by other rules in {str(whole)!r} (rows {few.fingerprint}, {rules}; "
        f"now: rows {other}, {rules}). Use another folder."
    )


def test_a_set_that_is_not_packed_or_is_broken_is_named(tmp_path):
    path = tmp_path / "phoneme.npz"
    with pytest.raises(InputError) as caught:
        load_rows(tmp_path, "phoneme")
    assert str(caught.value) == (
        f"Set 'phoneme' is not packed: there is no file {str(path)!r}. Use minmargin published --pack first."
    )
    np.savez(path, X=np.zeros((3, 2)), y=np.zeros(4, dtype=np.int16))
    with pytest.raises(InputError) as caught:
        load_rows(tmp_path, "phoneme")
    assert str(caught.value) == (
        f"{str(path)!r} cannot be read (its arrays are not rows and labels). Delete it, then use minmargin published "
        "--pack."
    )


def test_rows_are_packed_with_all_their_digits(tmp_path, monkeypatch):
    numbers = np.array([[0.1, 3.0], [1e-9, 4.0], [2.5, 5.0]])
    table = RealSet(Columns(numbers, np.array([["b"], ["a"], ["b"]])), np.array(["no", "yes", "no"]))
    images = RealSet(Images(np.arange(12, dtype=np.uint8).reshape(3, 2, 2)), np.array([4, 4, 9]))
    readers = {"phoneme": lambda _: table, "mnist": lambda _: images}
    monkeypatch.setattr("minmargin.experiments.published.rows.READERS", readers)
    pack_rows(tmp_path, readers)
    rows = load_rows(tmp_path, "phoneme")
    assert (rows.X.dtype, rows.X.tolist()) == (np.float64, [[0.1, 3, 1], [1e-9, 4, 0], [2.5, 5, 1]])
    assert rows.y.tolist() == [0, 1, 0]
    assert rows.fingerprint == make_rows("phoneme").fingerprint
    shown = load_rows(tmp_path, "mnist")
    assert (shown.X.dtype, shown.X.shape, shown.y.tolist()) == (np.uint8, (3, 4), [0, 0, 1])
