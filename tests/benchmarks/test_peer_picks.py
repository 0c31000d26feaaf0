"""What libraries pick: the game, that it is taken up where it was halted, and its summary."""

from __future__ import annotations

import json
from argparse import Namespace
from pathlib import Path
from typing import Any, Self

import numpy as np
import pytest

import peer_picks
from peer_cells import Cells
from peer_strategies import WAYS
from peer_summary import GROWTH, MEASURES, MIN_MARGIN, NAMES, PROBLEMS, RANDOM, SPREAD, Played, tables_of

KEPT = Path(__file__).parents[2] / "benchmarks" / "results" / "epyc" / "peer_picks.json"


class PlayedWorker:
    """Picks the first rows of the pool, or does not finish, and remembers what it was asked."""

    asked: list[str]

    def __init__(self, way: str, *, stopped: str = "") -> None:
        self._way, self._stopped = way, stopped

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        pass

    def ask(self, job: dict[str, Any], *, limit: float) -> dict[str, Any]:
        self.asked.append(self._way)
        if self._way == self._stopped:
            return {"stopped": f"did not finish in {limit:.0f} s", "limit": limit}
        return {"rows": list(range(job["size"])), "seconds": 1.5, "peak": 1}


@pytest.fixture
def game(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Namespace:
    """A game of one small problem, whose ways pick the first rows; the last of them does not finish."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3)).astype(np.float16)
    np.savez(tmp_path / "magic04.npz", X=X, y=(X[:, 0] > 0).astype(np.int16), names=np.array(["no", "yes"]))
    monkeypatch.setattr(peer_picks, "PROBLEMS", ("magic04",))
    monkeypatch.setattr(peer_picks, "N_LABELED", 30)
    monkeypatch.setattr(peer_picks, "N_POOL", 100)
    monkeypatch.setattr(PlayedWorker, "asked", [], raising=False)
    monkeypatch.setattr(
        peer_picks,
        "strategy_worker",
        lambda way, python, one_thread: PlayedWorker(way, stopped=NAMES[-1]),
    )
    return Namespace(draws=2, jobs=2, limit=9.0, data=tmp_path, cells=tmp_path)


def play(game: Namespace) -> Cells:
    cells = Cells(game.cells / "quality", peer_picks.QUALITY_RULES)
    peer_picks.play_quality(cells, "python", [10], game, peer_picks.Stop(1e9))
    return cells


def test_a_draw_is_the_same_for_every_way_and_its_parts_are_apart(game: Namespace) -> None:
    deal = peer_picks.deal_of(game.data, "magic04", 0)
    assert [len(deal.labeled), len(deal.pool), len(deal.test)] == [30, 100, 170]
    assert len(np.unique(np.concatenate([deal.labeled, deal.pool, deal.test]))) == 300


def test_all_ways_soon_have_some_draws_and_no_draw_is_missing() -> None:
    assert list(peer_picks.turns([100], 9)) == [(100, range(2)), (100, range(2, 6)), (100, range(6, 9))]


def test_a_game_that_was_halted_is_taken_up(game: Namespace) -> None:
    cells = play(game)
    # The way that did not finish the first draw is not asked for the second.
    assert len(PlayedWorker.asked) == 2 * len(WAYS) - 1
    first = cells.read("magic04", 10, 1, RANDOM)
    PlayedWorker.asked.clear()
    play(game)
    assert PlayedWorker.asked == []
    (game.cells / "quality" / "magic04.10.1.minmargin-random.json").unlink()
    cells = play(game)
    assert PlayedWorker.asked == [RANDOM]
    assert cells.read("magic04", 10, 1, RANDOM) == first


def test_what_did_not_finish_is_said_and_tried_again_with_more_time(game: Namespace) -> None:
    cells = play(game)
    stopped = {"rules": peer_picks.QUALITY_RULES, "stopped": "did not finish in 9 s", "limit": 9.0}
    assert [cells.read("magic04", 10, draw, NAMES[-1]) for draw in (0, 1)] == [stopped, stopped]
    PlayedWorker.asked.clear()
    game.limit = 20.0
    play(game)
    assert PlayedWorker.asked == [NAMES[-1]]
    found = cells.read("magic04", 10, 1, NAMES[-1])
    assert found is not None
    assert found["stopped"] == "did not finish in 20 s"


def test_the_judge_trains_on_the_labeled_rows_and_the_picked_ones(game: Namespace) -> None:
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415

    deal = peer_picks.deal_of(game.data, "magic04", 0)
    rows = np.concatenate([deal.labeled, deal.pool[[3, 5]]])
    model = LogisticRegression(tol=1e-8, max_iter=1000).fit(deal.X[rows], deal.y[rows])
    judged = peer_picks.judge(deal, [3, 5])
    assert judged["accuracy"] == pytest.approx(model.score(deal.X[deal.test], deal.y[deal.test]), abs=1e-6)


@pytest.mark.parametrize(
    ("taken", "median", "n_jobs"), [([1.0, 9.0, 2.0], 2.0, 3), ([9.0], 9.0, 1)], ids=["short", "long"]
)
def test_only_the_first_job_decides_how_many_are_timed(
    taken: list[float], median: float, n_jobs: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    left = [0.5, *taken]  # the first of all is a rehearsal

    class TimedWorker(PlayedWorker):
        def ask(self, job: dict[str, Any], *, limit: float) -> dict[str, Any]:
            return {**super().ask(job, limit=limit), "seconds": left.pop(0)}

    monkeypatch.setattr(PlayedWorker, "asked", [], raising=False)
    monkeypatch.setattr(peer_picks, "strategy_worker", lambda way, python, one_thread: TimedWorker(way))
    found = peer_picks.seconds_of("some way", 100, tmp_path, "python", limit=60)
    assert (found["seconds"], len(found["taken"]), left) == (median, n_jobs, [])


def made_up(*, n_draws: int = 8) -> Played:
    """Return results in which spread leads, random is last, and the last way did not finish."""
    rng = np.random.default_rng(0)
    leads = dict.fromkeys(NAMES, 0.01) | {RANDOM: 0.0, MIN_MARGIN: 0.02, SPREAD: 0.03}
    draws = 0.8 + 0.01 * rng.normal(size=(len(PROBLEMS), n_draws))
    quality = {
        measure: {
            way: draws + lead + 0.0005 * rng.normal(size=draws.shape)
            if measure == "accuracy"
            else np.where(np.arange(len(PROBLEMS))[:, np.newaxis] < 2, draws + lead, np.nan)
            for way, lead in leads.items()
        }
        for measure in MEASURES
    }
    quality["accuracy"][NAMES[-1]][:] = np.nan
    stopped = {100: {NAMES[-1]: dict.fromkeys(PROBLEMS, "did not finish in 120 s")}}
    seconds: dict[str, dict[int, float | str]] = {
        way: {size: size / 1000 for size in GROWTH} for way in NAMES
    }
    seconds[MIN_MARGIN] = dict.fromkeys(GROWTH, 0.1)
    seconds[NAMES[-1]] = {100: 2.5, 1_000: "did not finish in 600 s"}
    return Played({100: quality}, stopped, seconds)


def test_the_summary_shows_paired_differences_and_what_did_not_finish() -> None:
    table, expected = tables_of(made_up())
    rows = {row[0]: row[1:] for row in table.rows}
    assert rows[NAMES[-1]] == [
        "",
        "did not finish in 120 s",
        "",
        "",
        "",
        "2.50",
        "did not finish in 600 s",
        "not tried",
    ]
    assert rows[SPREAD][1] == "**+2.98 (+2.95 to +3.02)**"
    assert rows[SPREAD][3:] == ["6, 0", "+1.00 (+1.00 to +1.00)", "0.100", "1.00", "10.0"]
    assert rows[MIN_MARGIN][2:5] == ["", "", ""]
    assert [row[3] for row in expected.rows] == ["yes", "yes", "yes", "not refuted", "yes", "yes", "yes"]


def test_a_hypothesis_that_does_not_hold_says_so() -> None:
    played = made_up()
    played.quality[100]["accuracy"]["baal BALD"] += 0.05
    played.seconds["baal BALD"][GROWTH[-1]] = 0.01
    rows = tables_of(played)[-1].rows
    assert rows[3][1:] == ["no way of another library is above spread", "baal BALD", "**no**"]
    assert rows[6][2:] == ["0.100 s; baal BALD: 0.0100 s", "**no**"]


def test_what_few_draws_leave_open_is_not_called_refuted() -> None:
    played = made_up()
    accuracies = played.quality[100]["accuracy"]
    accuracies[MIN_MARGIN] = accuracies[RANDOM] + 0.01 * np.random.default_rng(1).normal(
        size=(len(PROBLEMS), 8)
    )
    del played.seconds["baal BALD"][GROWTH[-1]]
    rows = tables_of(played)[-1].rows
    assert rows[0][3] == "not shown"
    assert rows[6][2:] == ["not all are measured", ""]


def test_results_that_were_kept_are_read_back() -> None:
    played = made_up()
    again = Played.from_json(json.loads(json.dumps(played.as_json())))
    assert [table.rows for table in tables_of(again)] == [table.rows for table in tables_of(played)]


def test_the_tables_are_those_of_the_kept_results() -> None:
    kept = json.loads(KEPT.read_text())
    tables = tables_of(Played.from_json(kept["curves"]))
    assert [table.rows for table in tables] == [table["rows"] for table in kept["tables"]]
