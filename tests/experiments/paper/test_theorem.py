"""The half circle: the exact draw against real pools, the proof's closed forms, and runs that are taken up again."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.svm import LinearSVC

from minmargin.errors import InputError
from minmargin.experiments.paper import proof, theorem
from minmargin.experiments.paper.angles import (
    RIGHT_ANGLE,
    Cover,
    Labeled,
    distances_to_nearest,
    draw_cover,
    radius_covering,
    stream_batches,
)

seeds = st.integers(0, 2**32 - 1)


def brute_force(boundaries: np.ndarray, candidates: np.ndarray, batch_size: int) -> np.ndarray:
    """The picked candidates, by every member's margin on every candidate and a full sort."""
    margins = np.abs(np.sin(candidates[:, None] - boundaries))
    return candidates[np.argsort(margins.min(axis=1))[:batch_size]]


def innermost(batch: np.ndarray) -> float:
    return float(np.abs(batch).min())


# The geometry


@given(seeds, st.integers(1, 6))
def test_the_boundary_of_most_margin_is_midway_between_the_innermost_rows(seed: int, m: int) -> None:
    """Rows far out can lie more than a right angle from the boundary, but are never nearer to its line."""
    labeled = Labeled.draw(np.random.default_rng(seed), m)
    angles = np.concatenate([labeled.upper, -labeled.lower])
    signs = np.repeat([1, -1], m)
    directions = np.concatenate([labeled.base, np.linspace(-np.pi, np.pi, 2001)])
    smallest = (signs * np.sin(angles - directions[:, None])).min(axis=1)
    assert smallest[0] > 0
    assert smallest[0] >= smallest.max() - 1e-12


def test_a_linear_svm_through_the_origin_finds_that_boundary() -> None:
    labeled = Labeled.draw(np.random.default_rng(3), 8)
    angles = np.concatenate([labeled.upper, -labeled.lower])
    X, y = np.stack([np.cos(angles), np.sin(angles)], axis=1), np.repeat([1, -1], 8)
    svm = LinearSVC(
        C=1e5, loss="hinge", fit_intercept=False, max_iter=1_000_000, tol=1e-8, random_state=0
    ).fit(X, y)
    across, along = svm.coef_[0]
    assert np.arctan2(-across, along) == pytest.approx(labeled.base[0], abs=1e-4)


def test_every_pair_of_rows_is_the_innermost_pair_of_some_bootstrap_draw() -> None:
    labeled = Labeled.draw(np.random.default_rng(0), 3)
    drawn = labeled.some_members(np.random.default_rng(1), 20_000)
    assert np.unique(drawn) == pytest.approx(labeled.every_member)


@given(seeds, st.integers(1, 5), st.floats(0.001, 0.999))
def test_the_radius_is_the_one_whose_cover_has_the_length(seed: int, m: int, share: float) -> None:
    boundaries = Labeled.draw(np.random.default_rng(seed), m).every_member
    cover = Cover(boundaries, radius_covering(boundaries, np.pi * share))
    assert cover.length == pytest.approx(np.pi * share)
    grid = (np.arange(40_000) + 0.5) / 40_000 * np.pi - RIGHT_ANGLE
    on_cover = distances_to_nearest(boundaries, grid) < cover.radius
    assert on_cover.mean() == pytest.approx(share, abs=2 * (m * m + 1) / 40_000)
    # Of each interval of the cover the grid may miss, or have too much, a point at either end.
    off = 2 * (m * m + 1) / max(on_cover.sum(), 1) * RIGHT_ANGLE**2
    assert (grid[on_cover] ** 2).sum() / max(on_cover.sum(), 1) == pytest.approx(cover.mean_square, abs=off)
    for side, sign in zip(cover.sides, (1, -1), strict=True):
        within = (sign * grid > 0) & (np.abs(grid) < 0.5) & on_cover
        assert side.length_within(0.5) / np.pi == pytest.approx(within.mean(), abs=2 * (m * m + 1) / 4000)


@given(seeds, st.integers(1, 5))
def test_the_distance_round_the_circle_orders_candidates_as_the_margin_does(seed: int, m: int) -> None:
    rng = np.random.default_rng(seed)
    boundaries = Labeled.draw(rng, m).every_member
    candidates = rng.uniform(-RIGHT_ANGLE, RIGHT_ANGLE, 200)
    margins = np.abs(np.sin(candidates[:, None] - boundaries)).min(axis=1)
    assert np.sin(distances_to_nearest(boundaries, candidates)) == pytest.approx(margins, abs=1e-12)


# The exact draw


@given(seeds, st.integers(1, 5), st.integers(1, 40), st.integers(1, 200), st.integers(1, 300))
def test_streaming_picks_what_brute_force_picks(
    seed: int, m: int, batch_size: int, n_more: int, chunk_size: int
) -> None:
    labeled = Labeled.draw(np.random.default_rng(seed), m)
    n_candidates = batch_size + n_more
    committees = [labeled.base, labeled.every_member]
    streamed = stream_batches(
        np.random.default_rng(seed), committees, n_candidates, batch_size, chunk_size=chunk_size
    )
    candidates = np.random.default_rng(seed).uniform(-RIGHT_ANGLE, RIGHT_ANGLE, n_candidates)
    for boundaries, found in zip(committees, streamed, strict=True):
        batch = brute_force(boundaries, candidates, batch_size)
        assert found.nearest.angle == innermost(batch)
        assert found.nearest.upper == batch[batch >= 0].min(initial=np.inf)
        assert found.nearest.lower == (-batch[batch < 0]).min(initial=np.inf)
        assert distances_to_nearest(boundaries, batch).max() < found.cover.radius


@pytest.mark.parametrize(("m", "batch_size", "n_candidates"), [(3, 20, 100), (4, 60, 700), (2, 5, 6)])
@pytest.mark.parametrize("of_all", [True, False], ids=["min-margin", "margin"])
def test_drawn_batches_are_distributed_like_batches_of_real_pools(
    m: int, batch_size: int, n_candidates: int, of_all: bool
) -> None:
    """Labeled sets and pools afresh in each draw: both two-sample tests would see a difference of some percent."""
    rng = np.random.default_rng(m)
    drawn, made = [], []
    for _ in range(3000):
        labeled = Labeled.draw(rng, m)
        boundaries = labeled.every_member if of_all else labeled.base
        nearest = draw_cover(rng, boundaries, n_candidates, batch_size).draw_nearest(rng, batch_size)
        drawn.append((nearest.angle, labeled.with_batch(nearest)))
        labeled = Labeled.draw(rng, m)
        boundaries = labeled.every_member if of_all else labeled.base
        batch = brute_force(boundaries, rng.uniform(-RIGHT_ANGLE, RIGHT_ANGLE, n_candidates), batch_size)
        angles = np.concatenate([batch, labeled.upper, -labeled.lower])
        made.append((innermost(batch), (angles[angles > 0].min() + angles[angles < 0].max()) / 2))
    for ours, theirs in zip(np.transpose(drawn), np.transpose(made), strict=True):
        assert stats.ks_2samp(ours, theirs).pvalue > 0.01


def test_real_pools_lie_where_the_law_says() -> None:
    """Given the boundaries, the radius and the nearest candidate are spread over their laws' quantiles evenly."""
    rng = np.random.default_rng(5)
    quantiles = []
    for _ in range(1500):
        labeled = Labeled.draw(rng, 5)
        batches = stream_batches(rng, [labeled.base, labeled.every_member], 900, 30)
        quantiles += [(batch.radius_quantile, batch.nearest_quantile) for batch in batches]
    for values in np.transpose(quantiles):
        assert stats.kstest(values[::2], "uniform").pvalue > 0.01
        assert stats.kstest(values[1::2], "uniform").pvalue > 0.01


def test_the_share_of_a_boundary_is_how_often_a_pick_is_nearest_to_it() -> None:
    boundaries = np.array([-0.3, -0.1, 0.0, 0.05, 0.4])
    cover = Cover(boundaries, 0.06)
    assert cover.reach.tolist() == pytest.approx([0.06, 0.05, 0.025, 0.06, 0.06])
    shares = [cover.share_of(boundary) for boundary in range(5)]
    assert shares == pytest.approx(np.array([0.12, 0.11, 0.075, 0.085, 0.12]) / 0.51)
    candidates = np.linspace(-RIGHT_ANGLE, RIGHT_ANGLE, 100_001)
    picked = candidates[distances_to_nearest(boundaries, candidates) < 0.06]
    nearest_to = np.abs(picked[:, None] - boundaries).argmin(axis=1)
    assert np.bincount(nearest_to) / len(picked) == pytest.approx(np.array(shares), abs=1e-3)


def test_a_batch_as_large_as_the_pool_is_refused() -> None:
    with pytest.raises(InputError) as caught:
        draw_cover(np.random.default_rng(0), np.zeros(1), 10, 10)
    assert str(caught.value) == (
        "batch_size=10 must be at least 1 and below the number of candidates (10). Use 1 <= batch_size <= 9."
    )


# The proof's steps


def test_the_base_has_the_error_of_the_papers_closed_form() -> None:
    rng = np.random.default_rng(0)
    innermost_rows = rng.uniform(0, RIGHT_ANGLE, (100_000, 2, 12)).min(axis=2)
    squares = (np.diff(innermost_rows, axis=1) / 2) ** 2
    assert squares.mean() == pytest.approx(proof.base_error(12), abs=4 * stats.sem(squares, axis=None))


def test_the_best_member_has_the_error_of_our_closed_form() -> None:
    rng = np.random.default_rng(0)
    for m in (1, 2, 7):
        upper, lower = rng.uniform(0, RIGHT_ANGLE, (2, 50_000, m))
        squares = (np.abs(upper[:, :, None] - lower[:, None]).min(axis=(1, 2)) / 2) ** 2
        assert squares.mean() == pytest.approx(proof.best_member_error(m), abs=4 * stats.sem(squares))


@pytest.mark.parametrize("m", [1, 2, 5, 20, 100, 200])
def test_lemma_1_has_the_value_that_integration_gives(m: int) -> None:
    assert proof.lemma_1(m) == pytest.approx(proof.lemma_1_by_integration(m), rel=1e-9)


def test_lemmas_hold_where_the_paper_says() -> None:
    assert all(proof.lemma_1(m) <= proof.lemma_1_bound(m) for m in range(20, 500))
    assert all(proof.lemma_2(m) <= proof.lemma_2_bound(m) for m in range(100, 500))


def test_the_proofs_steps_hold_from_these_m_on() -> None:
    found = proof.check_proof([20, 100], np.random.default_rng(0))
    assert list(found["holds_from"].values()) == [9, 19, 49, 15, 2, 64, 25, 2]
    for line in found["lemma_1"]:
        assert line["sampled"] == pytest.approx(line["exact"], abs=4 * line["sampled_error"])


@pytest.mark.parametrize("m", [20, 21, 100, 101])
def test_the_middle_row_has_the_moments_of_an_order_statistic(m: int) -> None:
    rows = np.sort(np.random.default_rng(m).uniform(0, RIGHT_ANGLE, (20_000, m)), axis=1)[:, m // 2 - 1]
    law = proof.middle_row(m)
    assert rows.mean() == pytest.approx(law["mean"], abs=4 * stats.sem(rows))
    assert rows.var() == pytest.approx(law["variance"], rel=0.05)
    assert law["tail"] <= law["tail_by_chebyshev"] <= law["tail_in_paper"]
    if m % 2 == 0:
        assert law["tail_by_chebyshev"] == pytest.approx(4 / (m + 1))


def test_the_stated_regime_has_166_million_candidates() -> None:
    assert proof.batch_size(100) == 138_156
    assert proof.n_candidates(100, "12Bm") == 165_787_200
    assert proof.n_candidates(100, "12Bm2") == 16_578_720_000


# The run


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run of a second."""
    monkeypatch.setattr(theorem, "QUICK_SIZES", (4, 10))
    monkeypatch.setattr(theorem, "N_STREAMED", 2)


def contents(out: Path) -> tuple[object, dict[str, object]]:
    found = json.loads((out / "theorem.json").read_text())
    for line in found["streamed"]:
        del line["seconds"]
    return pq.read_table(out / "theorem.parquet"), {**found, "created": None, "seconds": None}


@pytest.mark.usefixtures("small")
def test_the_table_has_a_row_for_each_draw_and_strategy(tmp_path: Path) -> None:
    theorem.run_theorem(tmp_path / "new" / "folder", quick=True, draws=6)
    table, found = contents(tmp_path / "new" / "folder")
    assert table.column_names == [
        "m", "batch_size", "n_candidates", "pool_factor", "draw", "strategy", "squared_angle",
        "retrained_squared_angle",
    ]  # fmt: skip
    assert table.num_rows == 2 * 2 * 6 * 2
    lines = table.to_pylist()
    assert {(line["m"], line["pool_factor"], line["n_candidates"]) for line in lines} == {
        (m, factor, proof.n_candidates(m, factor)) for m in (4, 10) for factor in ("12Bm", "12Bm2")
    }
    assert {line["strategy"] for line in lines} == {"margin", "min-margin"}
    assert [line["m"] for line in found["streamed"]] == [10, 10]


@pytest.mark.usefixtures("small")
def test_an_interrupted_run_goes_on_and_gives_the_same_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(theorem, "_BLOCK", 3)
    theorem.run_theorem(tmp_path / "whole", quick=True, draws=8)

    def stop(stage: str, done: int, total: int | None) -> None:
        if done >= 10:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        theorem.run_theorem(tmp_path / "broken", quick=True, draws=8, progress=stop)
    kept = sorted((tmp_path / "broken" / "theorem" / "parts").iterdir())
    times = [part.stat().st_mtime_ns for part in kept]
    assert kept
    assert not (tmp_path / "broken" / "theorem.parquet").exists()

    theorem.run_theorem(tmp_path / "broken", quick=True, draws=8)
    assert [part.stat().st_mtime_ns for part in kept] == times
    assert contents(tmp_path / "broken") == contents(tmp_path / "whole")


@pytest.mark.slow  # processes start anew, and import the libraries
@pytest.mark.usefixtures("small")
def test_workers_do_not_change_the_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(theorem, "_BLOCK", 4)
    theorem.run_theorem(tmp_path / "one", quick=True, draws=8)
    theorem.run_theorem(tmp_path / "two", quick=True, draws=8, workers=2)
    assert contents(tmp_path / "two") == contents(tmp_path / "one")


@pytest.mark.usefixtures("small")
def test_fewer_draws_are_the_first_of_more(tmp_path: Path) -> None:
    theorem.run_theorem(tmp_path / "few", quick=True, draws=3)
    theorem.run_theorem(tmp_path / "more", quick=True, draws=5)
    few, more = (pq.read_table(tmp_path / name / "theorem.parquet").to_pylist() for name in ("few", "more"))
    assert few == [line for line in more if line["draw"] < 3]


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"draws": 1}, "draws=1 must be a whole number >= 2."),
        ({"workers": 0}, "workers=0 must be a whole number >= 1."),
    ],
)
def test_numbers_that_make_no_run_are_refused(
    tmp_path: Path, settings: dict[str, int], sentence: str
) -> None:
    with pytest.raises(InputError) as caught:
        theorem.run_theorem(tmp_path, **settings)
    assert str(caught.value) == sentence
    assert not any(tmp_path.iterdir())
