"""The nearest other pick, near-copies, and what the page says of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.datasets import load_iris

import minmargin as mm
from minmargin.execution import silent
from minmargin.report.chart import make_chart
from minmargin.report.neighbors import NearCopies, find_near_copies, nearest_of
from minmargin.report.summary import copies_in_words
from minmargin.report.survey import survey_pool
from parsed_page import ParsedPage

X, y = load_iris(return_X_y=True)
RULE = (
    "closer to another than a tenth of 2.5, the median distance from a random row of the pool to the nearest of "
    "as many"
)
SETTINGS: dict[str, Any] = {"n_models": 3, "random_state": 0, "n_jobs": 1}


@given(arrays(np.float64, (7, 3), elements=st.floats(-100, 100, allow_subnormal=False)))
def test_distances_are_those_to_the_place_that_is_named(vectors: np.ndarray) -> None:
    for rows in (vectors, sparse.csr_array(vectors)):
        places, distances = nearest_of(rows)
        apart = cdist(vectors, vectors)
        np.testing.assert_allclose(distances, apart[np.arange(7), places], atol=1e-9)
        assert (places != np.arange(7)).all()
        np.testing.assert_allclose(distances, (apart + np.diag([np.inf] * 7)).min(axis=1), atol=1e-5)


def test_the_distance_of_copies_is_nothing_at_all() -> None:
    vectors = np.float32([[1e3, 1.1], [1e3, 1.1], [0, 0]])
    assert nearest_of(vectors).distances[:2].tolist() == [0.0, 0.0]


def test_near_copies_are_pairs_of_ranks_the_closest_first() -> None:
    pool = np.concatenate([X, X[:60] + 1e-3])
    batch = mm.select(X[::5], y[::5], pool, 200, **SETTINGS)
    assert batch.origin is not None
    survey = survey_pool(batch, batch.origin, columns=(), progress=silent)
    found = find_near_copies(survey, 0.3)
    assert found is not None
    apart = cdist(pool[batch.rows], pool[batch.rows]) + np.diag([np.inf] * 200)
    near = np.flatnonzero(apart.min(axis=1) <= 0.03)
    assert sorted(found.twin_of) == near.tolist()
    assert all(first < second for first, second, _ in found.pairs)
    assert [distance for *_, distance in found.pairs] == sorted(distance for *_, distance in found.pairs)
    np.testing.assert_allclose(
        [apart[first, second] for first, second, _ in found.pairs], [pair[2] for pair in found.pairs]
    )


@pytest.mark.parametrize(
    ("pairs", "usual", "said"),
    [
        (
            [],
            2.5,
            f"No pick lies {RULE}.",
        ),
        (
            [(0, 4, 0.1), (2, 4, 0.2)],
            2.5,
            f"3 picks lie {RULE}. To label both of such a pair tells little more than to label one.",
        ),
        ([], 0.0, "No pick lies at the same place as another."),
    ],
)
def test_the_rule_is_said(pairs: list[tuple[int, int, float]], usual: float, said: str) -> None:
    assert copies_in_words(NearCopies(pairs, usual)) == said


def test_the_page_names_near_copies_by_their_ids(tmp_path: Path) -> None:
    rows = np.concatenate([X, X[100:] + 1e-4])
    table: dict[str, Any] = {name: rows[:, place] for place, name in enumerate("abcd")}
    pool = {**table, "id": [f"r{row}" for row in range(200)]}
    labeled = {name: values[:150:5] for name, values in table.items()}
    batch = mm.select(labeled, y[::5], pool, 60, id_column="id", **SETTINGS)
    assert batch.ids is not None
    page = ParsedPage(batch.report(tmp_path / "x.html"))
    twins = dict(zip(page.column("id"), page.column("near-copy of"), strict=True))
    ids = set(batch.ids.tolist())
    expected = {f"r{row}": f"r{row + 50}" for row in range(100, 150)}
    both = {first: second for first, second in expected.items() if {first, second} <= ids}
    assert len(both) > 5
    assert both.items() <= twins.items()
    said = page.sentences()
    assert f"near-copies of another{sum(map(bool, twins.values()))}" in said
    first, second = next(iter(both.items()))
    ranks = {each: rank + 1 for rank, each in enumerate(batch.ids.tolist())}
    named = sorted([(ranks[first], first), (ranks[second], second)])
    if len(both) <= 12:
        assert "".join(f"{each} (rank {rank})" for rank, each in named) in said


def test_a_page_without_near_copies_says_so_and_has_no_column_for_them(tmp_path: Path) -> None:
    page = ParsedPage(mm.select(X[::5], y[::5], X[::9], 5, **SETTINGS).report(tmp_path / "x.html"))
    assert "near-copy of" not in page.headings
    assert "No pick lies closer to another than a tenth of" in page.sentences()
    assert "Near-copies" not in page.text


def test_the_map_of_spread_leads_from_each_pick_to_the_nearest(tmp_path: Path) -> None:
    batch = mm.select(X[::5], y[::5], X, 12, strategy="spread", **SETTINGS)
    assert batch.origin is not None
    survey = survey_pool(batch, batch.origin, columns=(), progress=silent)
    chart = make_chart(survey, batch.origin, len(batch), (0, 3), linked=True)
    assert chart is not None
    nearest = (cdist(X[batch.rows], X[batch.rows]) + np.diag([np.inf] * 12)).argmin(axis=1)
    np.testing.assert_array_equal(chart.links[:, 0], X[batch.rows][:, [0, 3]])
    np.testing.assert_array_equal(chart.links[:, 1], X[batch.rows[nearest]][:, [0, 3]])
    said = "Each thin line leads from a pick to the pick nearest to it by all features."
    assert said in ParsedPage(batch.report(tmp_path / "spread.html")).sentences()
    other = mm.select(X[::5], y[::5], X, 12, **SETTINGS)
    assert said not in ParsedPage(other.report(tmp_path / "other.html")).sentences()
