"""A comparison: its tables against scipy, its texts, its picture and its page."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import minmargin as mm
from minmargin.compare.played import SCHEMA
from minmargin.errors import InputError

N_DRAWS = 12
SIZES = (10, 20)


def rows_of(gains):
    rng = np.random.default_rng(1)
    rows = [
        {"draw": draw, "strategy": "none", "rounds": 1, "batch_size": 0, "score": 0.5, "seconds": 0.0}
        for draw in range(N_DRAWS)
    ]
    hard = rng.normal(0, 0.05, N_DRAWS)
    for (strategy, n_rounds), gain in gains.items():
        for size in SIZES:
            rows += [
                {
                    "draw": draw,
                    "strategy": strategy,
                    "rounds": n_rounds,
                    "batch_size": size,
                    "score": 0.7 + size / 1000 + gain + hard[draw] + rng.normal(0, 0.01),
                    "seconds": 0.1,
                }
                for draw in range(N_DRAWS)
            ]
    return rows


GAINS = {("min-margin", 1): 0.03, ("random", 1): 0.0, ("margin", 1): -0.02, ("min-margin", 3): 0.05}
SETTINGS = {
    "scoring": "accuracy",
    "strategies": ["min-margin", "random", "margin"],
    "batch_sizes": list(SIZES),
    "rounds": [1, 3],
    "n_labeled": 100,
    "n_test": 500,
    "n_pool": 400,
    "n_draws": N_DRAWS,
    "learner": "logistic",
    "n_models": 25,
    "bootstrap_fraction": 1.0,
    "preprocess": "none",
    "seed": 3,
    "rows": 1000,
    "class_counts": {"a": 500, "<b>bold</b>": 500},
}


def comparison(gains=GAINS, constant=None, **settings):
    rows = rows_of(gains)
    if constant is not None:
        rows += [{**row, "strategy": "constant", "score": constant} for row in rows[:N_DRAWS]]
    table = pa.Table.from_pylist(rows, schema=SCHEMA)
    return mm.Comparison(table, {**SETTINGS, **settings})


def scores(found, strategy, n_rounds, size):
    frame = found.to_pandas()
    mask = (frame["strategy"] == strategy) & (frame["rounds"] == n_rounds) & (frame["batch_size"] == size)
    return frame[mask].sort_values("draw")["score"].to_numpy()


def test_curves_are_means_with_their_intervals():
    found = comparison()
    table = found.curves.to_pylist()
    assert [(row["strategy"], row["rounds"], row["batch_size"]) for row in table] == [
        ("none", 1, 0),
        *((strategy, n_rounds, size) for strategy, n_rounds in GAINS for size in SIZES),
    ]
    row = table[1]
    sample = scores(found, "min-margin", 1, 10)
    low, high = stats.t.interval(0.95, N_DRAWS - 1, loc=sample.mean(), scale=stats.sem(sample))
    assert (row["mean"], row["low"], row["high"], row["draws"]) == pytest.approx(
        (sample.mean(), low, high, N_DRAWS)
    )


@pytest.mark.parametrize(
    ("to", "pairs"),
    [
        ("random", {("min-margin", 1): 1, ("margin", 1): 1, ("min-margin", 3): 1}),
        ("min-margin", {("random", 1): 1, ("margin", 1): 1}),
    ],
)
def test_differences_are_paired_and_adjusted_as_one_family(to, pairs):
    found = comparison()
    table = found.differences(to).to_pylist()
    assert [(row["strategy"], row["rounds"]) for row in table] == [pair for pair in pairs for _ in SIZES]
    p_values = []
    for row in table:
        test = stats.ttest_rel(
            scores(found, row["strategy"], row["rounds"], row["batch_size"]),
            scores(found, to, pairs[row["strategy"], row["rounds"]], row["batch_size"]),
        )
        interval = test.confidence_interval(0.95)
        assert (row["low"], row["high"], row["p_value"]) == pytest.approx(
            (interval.low, interval.high, test.pvalue)
        )
        p_values.append(test.pvalue)
    order = np.argsort(p_values)
    steps = np.maximum.accumulate(np.array(p_values)[order] * np.arange(len(order), 0, -1))
    np.testing.assert_allclose([table[place]["adjusted"] for place in order], np.minimum(steps, 1))


def test_verdicts():
    verdicts = {
        (row["strategy"], row["rounds"]): row["verdict"] for row in comparison().differences().to_pylist()
    }
    assert verdicts == {("min-margin", 1): "better", ("margin", 1): "worse", ("min-margin", 3): "better"}
    level = comparison({("margin", 1): 0.0, ("random", 1): 0.0}).differences().to_pylist()
    assert {row["verdict"] for row in level} == {"no clear difference"}


def test_more_rounds_are_compared_with_fewer():
    table = comparison().gains_of_rounds().to_pylist()
    assert [(row["strategy"], row["rounds"], row["to"]) for row in table] == [
        ("min-margin", 3, "min-margin")
    ] * 2
    assert comparison({("margin", 1): 0.0, ("random", 1): 0.0}).gains_of_rounds().to_pylist() == []


def test_a_strategy_that_was_not_played_cannot_be_compared_with():
    with pytest.raises(InputError) as error:
        comparison().differences(to="margn")
    assert str(error.value) == (
        "Strategy 'margn' was not played (those are 'min-margin', 'random', 'margin'). Did you mean 'margin'?"
    )


def test_the_text_has_the_advice_and_all_scores():
    lines = repr(comparison()).splitlines()
    assert lines[0].startswith("<Comparison: Min-margin in 3 rounds pays: with ")
    assert lines[1] == "Mean test accuracy over 12 draws, by the number of labels added"
    assert lines[2].split("  ")[0] == "labels"
    assert [line.split()[0] for line in lines[3:6]] == ["0", "10", "20"]
    assert len({line.index("%") for line in lines[3:6]}) == 1
    found = comparison()
    mean, to = scores(found, "margin", 1, 10), scores(found, "random", 1, 10)
    assert f"{100 * mean.mean():.1f}% ({100 * (mean - to).mean():+.1f} ± " in lines[4]
    assert "*" in lines[4]


def test_the_constant_guess_is_in_every_table_and_on_the_page(tmp_path):
    found = comparison(constant=0.6)
    assert repr(found).splitlines()[3].split() == ["constant", "guess", "60.0%"]
    none, constant, *_ = found.curves.to_pylist()
    assert none["strategy"] == "none"
    assert (constant["strategy"], constant["batch_size"], constant["draws"]) == ("constant", 0, 12)
    assert [constant[name] for name in ("mean", "low", "high")] == pytest.approx([0.6] * 3)
    assert {row["strategy"] for row in found.differences().to_pylist()} == {"min-margin", "margin"}
    page = found.report(tmp_path / "report.html").read_text()
    assert '<bdi>constant guess</bdi></td><td class="n"><bdi>60.0%</bdi>' in page


@pytest.mark.parametrize(
    ("constant", "name"),
    [(0.75, "constant 75.0%"), (0.95, "constant 95.0%"), (0.1, "constant 10.0%, below")],
)
def test_the_picture_names_the_constant_guess_wherever_it_lies(tmp_path, constant, name):
    assert f">{name}<" in comparison(constant=constant).plot(tmp_path / "curves.svg").read_text()


def test_html_is_escaped():
    hostile = comparison({("<script>alert(1)</script>", 1): 0.1, ("random", 1): 0.0})
    assert "<script>alert" not in hostile._repr_html_()
    assert "&lt;script&gt;alert(1)" in hostile._repr_html_()


@pytest.mark.parametrize("name", ["curves.png", "curves.svg", "curves.pdf"])
def test_pictures_are_written_and_the_same_each_time(tmp_path, name):
    first = comparison().plot(tmp_path / name).read_bytes()
    assert comparison().plot(tmp_path / name).read_bytes() == first


def test_a_picture_needs_a_known_format(tmp_path):
    with pytest.raises(InputError) as error:
        comparison().plot("curves.gif")
    assert str(error.value) == "'curves.gif' is no picture. Use one of .png, .svg, .pdf."


@pytest.mark.parametrize(
    "gains", [GAINS, {("random", 1): 0.0}, {("a", 2): 0.1, ("b", 2): 0.0, ("random", 1): 0.0}]
)
@pytest.mark.parametrize("scoring", ["accuracy", "neg_log_loss"])
def test_a_page_says_it_all(tmp_path, gains, scoring):
    found = comparison(gains, scoring=scoring)
    page = found.report(tmp_path / "report.html").read_text()
    for text in (
        found.advice,
        "random_state=3",
        "labeled from the start",
        f"Mean test {scoring.replace('_', ' ')}",
    ):
        assert text.replace("'", "&#39;") in page
    assert "<b>bold" not in page
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert "https://" not in page
    assert len(page) < 400_000


def test_everything_is_written_into_a_folder(tmp_path):
    found = comparison()
    found.write(tmp_path / "curves")
    assert sorted(path.name for path in (tmp_path / "curves").iterdir()) == [
        "comparison.json", "curves.png", "curves.svg", "report.html", "results.parquet"
    ]  # fmt: skip
    told = json.loads((tmp_path / "curves" / "comparison.json").read_text())
    assert told["advice"] == found.advice
    assert told["settings"]["seed"] == 3
    assert told["differences"] == found.differences().to_pylist()
