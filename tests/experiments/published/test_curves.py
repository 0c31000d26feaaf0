"""Curves, their areas, and comparisons of areas."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from minmargin.errors import InputError
from minmargin.experiments.published.areas import Areas, Cell, compare_with_reported, welch_p_value
from minmargin.experiments.published.curves import Curve, Task, join_curves, read_curves, write_curve

TASK = Task("rebenchmark", "phoneme", "svc", 20, 10, 0, "margin")
CURVE = Curve(TASK, 45, 100, np.array([50, 60, 80, 90]), 1.5, "made up")  # the last round has five rows


def test_the_area_is_the_mean_height_of_the_curve():
    assert CURVE.labels.tolist() == [20, 30, 40, 45]
    assert CURVE.area == pytest.approx((10 * 0.55 + 10 * 0.7 + 5 * 0.85) / 25)


def test_their_area_leaves_out_the_first_model_and_divides_by_all_labels_bought():
    assert CURVE.their_area == pytest.approx((10 * 0.7 + 5 * 0.85) / 25)
    level = Curve(TASK._replace(batch_size=1), 120, 100, np.full(101, 90), 1.5, "made up")
    assert level.area == pytest.approx(0.9)
    assert level.their_area == pytest.approx(0.9 * 99 / 100)


def test_curves_come_back_as_they_were(tmp_path):
    other = CURVE._replace(task=TASK._replace(table="alpbench", draw=1), right=np.array([7, 8]))
    for curve in (CURVE, other):
        write_curve(tmp_path, curve)
    write_curve(tmp_path, CURVE)  # twice is once
    for _ in range(2):
        back = read_curves(tmp_path)
        assert [curve.task for curve in back] == [other.task, TASK]
        assert [curve.right.tolist() for curve in back] == [[7, 8], [50, 60, 80, 90]]
        assert back[1][1:3] == (45, 100)
        assert [path.name for path in join_curves(tmp_path)] == ["alpbench.parquet", "rebenchmark.parquet"]
        for path in (tmp_path / "parts").iterdir():
            path.unlink()


def test_a_file_of_something_else_is_named(tmp_path):
    (tmp_path / "else.parquet").write_bytes(b"PAR1")
    with pytest.raises(InputError) as caught:
        read_curves(tmp_path)
    assert str(caught.value).startswith(
        f"{str(tmp_path / 'else.parquet')!r} is no part of a published table ("
    )
    assert str(caught.value).endswith("Take it out of the folder.")


def curves_of(strategy, areas):
    return [
        Curve(TASK._replace(draw=draw, strategy=strategy), 40, 1000, np.full(3, area), 0.0, "made up")
        for draw, area in areas.items()
    ]


def test_draws_that_both_have_played_are_compared_in_pairs():
    curves = [*curves_of("margin", {0: 800, 1: 850, 2: 900}), *curves_of("random", {1: 840, 2: 870, 3: 100})]
    areas = Areas(curves, "rebenchmark")
    cell = Cell("phoneme", "svc", 10)
    assert areas.cells == [cell]
    assert areas.strategies(cell) == ["margin", "random"]
    assert areas.of(cell, "margin").tolist() == [0.8, 0.85, 0.9]
    assert len(areas.of(cell, "spread")) == 0
    difference = areas.difference((cell, "margin"), (cell, "random"))
    assert (difference.n_draws, difference.mean) == (2, pytest.approx(0.02))


def test_what_is_not_paired_is_compared_as_welch_does():
    rng = np.random.default_rng(0)
    first, second = rng.normal(0.9, 0.01, 10), rng.normal(0.91, 0.02, 7)
    expected = stats.ttest_ind(first, second, equal_var=False)
    assert welch_p_value(first, second) == pytest.approx(expected.pvalue)
    away = compare_with_reported(first, second.mean(), second.std(ddof=1), 7)
    low, high = expected.confidence_interval()
    assert away == pytest.approx((first.mean() - second.mean(), low, high))
    assert welch_p_value(first, first[:1]) == 1
    assert welch_p_value(np.ones(3), np.ones(3)) == 1
