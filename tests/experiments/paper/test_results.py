"""Results are read back as they were written, and pivoted by strategy, batch size and draw."""

from __future__ import annotations

import numpy as np
import pyarrow.parquet as pq

from minmargin.compare.outcome import NONE
from minmargin.experiments.paper.results import Results


def row(strategy, batch_size, draw, accuracy, dataset="toy", variant="main"):
    return {
        "experiment": "e", "dataset": dataset, "variant": variant, "draw": draw, "strategy": strategy,
        "batch_size": batch_size, "accuracy": accuracy, "seconds": 0.5,
    }  # fmt: skip


ROWS = [
    row(NONE, 0, 1, 0.5),
    row("margin", 20, 1, 0.7),
    row("margin", 10, 1, 0.6),
    row("random", 10, 1, 0.55),
    row(NONE, 0, 0, 0.4),
    row("margin", 10, 0, 0.45),
    row("margin", 10, 0, 0.1, variant="other"),
    row("margin", 10, 0, 0.2, dataset="second"),
]


def test_curves_are_in_order_and_missing_results_are_not_numbers():
    results = Results.of(ROWS)
    assert results.datasets() == ["toy", "second"]
    assert results.variants("toy") == ["main", "other"]
    curves = results.curves("toy", "main")
    assert (curves.strategies, curves.sizes, curves.draws) == (["margin", "random"], [10, 20], [0, 1])
    expected = [[[0.45, 0.6], [np.nan, 0.7]], [[np.nan, 0.55], [np.nan, np.nan]]]
    np.testing.assert_array_equal(curves.accuracies, expected)
    np.testing.assert_array_equal(results.before("toy", "main"), [0.4, 0.5])


def test_a_file_gives_back_what_was_written(tmp_path):
    joined = Results.join([Results.of(ROWS[:3]), Results.of(ROWS[3:])])
    pq.write_table(joined.table, tmp_path / "results.parquet")
    assert Results.read(tmp_path / "results.parquet").table.to_pylist() == Results.of(ROWS).table.to_pylist()


def test_no_parts_make_no_results():
    assert len(Results.join([])) == 0
