"""Several scores in one comparison: which leads, one training for all, and folders of before."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from sklearn.datasets import load_breast_cancer

import minmargin as mm
from minmargin.compare.leading import default_scorings, leading
from minmargin.compare.trainers import LogisticTrainer
from minmargin.errors import InputError
from minmargin.labeled import LabeledSet

X, Y = load_breast_cancer(return_X_y=True)
X = (X - X.mean(axis=0)) / X.std(axis=0)
#: One row in ten is of the class 0: "rare".
SKEWED = np.r_[np.flatnonzero(Y == 0)[:40], np.flatnonzero(Y == 1)]
NAMES = np.where(Y[SKEWED] == 0, "rare", "usual")
SCORES = ["accuracy", "balanced_accuracy", "average_precision", "roc_auc", "neg_log_loss"]
QUICK = {
    "n_labeled": 30,
    "batch_sizes": [10, 20],
    "n_draws": 3,
    "n_models": 3,
    "random_state": 7,
    "n_jobs": 1,
}


def compare(rows=X[SKEWED], labels=NAMES, **settings):
    return mm.compare(rows, labels, **{**QUICK, "strategies": ["margin", "random"], **settings})


def scores(comparison):
    return comparison.results["score"].to_pylist()


@pytest.fixture(scope="module")
def several():
    return compare(scoring=SCORES, rounds=(1, 2))


# Which leads


def table_of(counts, names):
    labels = np.repeat(names, counts)
    return LabeledSet.of(np.zeros((len(labels), 1)), labels, classes=names)


@pytest.mark.parametrize(
    ("counts", "names", "by_default", "leads"),
    [
        ([50, 50], ["a", "b"], ["accuracy"], "accuracy"),
        ([80, 20], ["a", "b"], ["accuracy"], "accuracy"),
        ([81, 19], ["a", "b"], ["accuracy", "average_precision"], "average_precision"),
        ([19, 81], ["a", "b"], ["accuracy", "average_precision"], "average_precision"),
        ([81, 19], [0, 1], ["accuracy", "average_precision"], "average_precision"),
        ([19, 81], [0, 1], ["accuracy", "balanced_accuracy"], "balanced_accuracy"),  # 1 is not the rarer
        ([90, 5, 5], ["a", "b", "c"], ["accuracy", "balanced_accuracy"], "balanced_accuracy"),
        ([40, 30, 30], ["a", "b", "c"], ["accuracy"], "accuracy"),
        ([90, 10, 0], ["a", "b", "c"], ["accuracy", "balanced_accuracy"], "balanced_accuracy"),
    ],
)
def test_the_score_that_fits_the_classes_leads(counts, names, by_default, leads):
    table = table_of(counts, names)
    assert default_scorings(table) == by_default
    assert leading(SCORES, table) == leads


def test_if_none_fits_the_next_best_or_the_first_leads():
    skewed = table_of([90, 10], ["a", "b"])
    assert leading(["accuracy", "balanced_accuracy"], skewed) == "balanced_accuracy"
    assert leading(["roc_auc", "accuracy"], skewed) == "roc_auc"
    assert leading(["roc_auc", "f1_macro"], table_of([50, 50], ["a", "b"])) == "roc_auc"


def test_the_default_is_accuracy_alone_unless_classes_are_skewed():
    level = compare(X, Y)
    assert level.settings["scoring"] == "accuracy"
    assert "leading" not in level.settings
    assert scores(level) == scores(compare(X, Y, scoring="accuracy"))
    skewed = compare()
    assert skewed.settings["scoring"] == ["accuracy", "average_precision"]
    assert skewed.advice.startswith(
        "This goes by average precision of 'rare', since 90% of rows are 'usual'. "
    )
    alone = compare(scoring="accuracy")
    assert alone.settings["scoring"] == "accuracy"
    assert not alone.advice.startswith("This goes by")


# What is found


def test_each_score_is_what_it_is_alone(several):
    assert several.results.column_names == [
        "draw", "strategy", "rounds", "batch_size", "scoring", "score", "seconds"
    ]  # fmt: skip
    for name in SCORES:
        alone = compare(scoring=name, rounds=(1, 2))
        part = several.scored_by(name)
        assert part.results.column_names == alone.results.column_names
        assert scores(part) == scores(alone)
        assert part.advice == alone.advice
        assert repr(part) == repr(alone)


def test_models_are_trained_once_for_all_scores(monkeypatch):
    asked = []
    train = LogisticTrainer._answers

    def count(self, deal, row_sets):
        asked.append(len(row_sets))
        return train(self, deal, row_sets)

    monkeypatch.setattr(LogisticTrainer, "_answers", count)
    compare(scoring=SCORES)
    assert asked == [1 + 2 * 2] * 3


def test_tables_have_all_scores_and_that_which_leads_is_first(several):
    order = ["average_precision", "accuracy", "balanced_accuracy", "roc_auc", "neg_log_loss"]
    told = several.to_dict()
    for table in (told["curves"], told["differences"], told["gains_of_rounds"]):
        assert list(dict.fromkeys(row["scoring"] for row in table)) == order
    for name in order:
        of_one = several.scored_by(name)
        for all_rows, rows in (
            (several.curves, of_one.curves),
            (several.differences(), of_one.differences()),
            (several.gains_of_rounds(), of_one.gains_of_rounds()),
        ):
            assert [row for row in all_rows.to_pylist() if row["scoring"] == name] == [
                {"scoring": name, **row} for row in rows.to_pylist()
            ]
    assert several.differences().shown.headings[0] == "score"
    assert repr(several).count("Mean test ") == 5
    assert several._repr_html_().count("<table>") == 5
    assert several.table == several.scored_by("average_precision").table


def test_the_advice_says_by_which_other_scores_nothing_beats_a_constant_guess():
    rng = np.random.default_rng(0)
    noise = compare(rng.normal(size=(400, 3)), np.arange(400) % 10 == 0, scoring=["accuracy", "roc_auc"])
    assert noise.advice.startswith("This goes by accuracy. Nothing beats a constant guess: the same answer ")
    assert noise.advice.endswith("before the strategy. Nothing beats a constant guess by roc auc.")


def test_a_score_that_was_not_played(several):
    with pytest.raises(InputError) as error:
        several.scored_by("roc_au")
    assert str(error.value) == (
        "scoring='roc_au' was not played (those are 'average_precision', 'accuracy', 'balanced_accuracy', 'roc_auc', "
        "'neg_log_loss'). Did you mean 'roc_auc'?"
    )


# Folders


def without_constant(path):
    table = pq.read_table(path)
    kept = table.filter(pc.not_equal(table["strategy"].cast("string"), "constant"))
    # Those of before have no checksum either.
    metadata = {name: value for name, value in table.schema.metadata.items() if b"sha256" not in name}
    pq.write_table(kept.replace_schema_metadata(metadata), path)


def test_a_folder_from_before_is_taken_up_with_accuracy_alone(tmp_path):
    compare(scoring="accuracy", n_draws=2, out=tmp_path)
    for draw in (0, 1):
        without_constant(tmp_path / "draws" / f"0000{draw}.parquet")
    before = compare(n_draws=2, out=tmp_path)
    assert before.settings["scoring"] == "accuracy"
    assert before.played.constant is None
    assert "constant" not in repr(before)
    more = compare(n_draws=4, out=tmp_path)
    assert np.isnan(more.played.constant).tolist() == [True, True, False, False]
    counted = {row["strategy"]: row["draws"] for row in more.curves.to_pylist()}
    assert (counted["none"], counted["constant"]) == (4, 2)


def test_several_scores_are_taken_up_too(tmp_path):
    first = compare(scoring=SCORES, n_draws=2, out=tmp_path)
    assert scores(compare(scoring=SCORES, n_draws=2, out=tmp_path)) == scores(first)
    with pytest.raises(
        InputError, match=r"other rules \(scoring=\['accuracy', 'balanced_accuracy', .*; now: scoring=a"
    ):
        compare(scoring="accuracy", n_draws=2, out=tmp_path)


# Errors, and ids


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"scoring": []}, "scoring is empty. Name at least one scorer, or leave it out."),
        (
            {"scoring": ["accuracy", "roc_auc", "accuracy"]},
            "scoring has 'accuracy' twice. Results could not tell them apart.",
        ),
        (
            {"scoring": ["accuracy", "rocauc"]},
            (
                "scoring='rocauc' is not a scorer of scikit-learn. Did you mean 'roc_auc'? "
                "sklearn.metrics.get_scorer_names() lists them."
            ),
        ),
        (
            {"id_column": "id"},
            "id_column='id' names a column, but the labeled set is an array without column names. Leave it out.",
        ),
    ],
)
def test_errors(settings, message):
    with pytest.raises(InputError) as error:
        compare(**settings)
    assert str(error.value) == message


def test_ids_are_no_feature():
    frame = pd.DataFrame(X[SKEWED], columns=[f"x{place}" for place in range(30)])
    with_ids = compare(frame.assign(id=np.arange(len(frame))), id_column="id")
    assert scores(with_ids) == scores(compare(frame))
    with pytest.raises(InputError) as error:
        compare(frame[["x0", "x1"]], id_column="idd")
    assert str(error.value) == "Column 'idd' is not in the labeled set (columns: 'x0', 'x1')."
