"""`classes=`: classes that may occur although nobody has labeled a row of them yet."""

from __future__ import annotations

import io
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.svm import LinearSVC

import minmargin as mm
from minmargin import cli
from minmargin.cli.show import show_batch
from minmargin.labeled import Bootstrap, LabeledSet, draw_sizes
from minmargin.seeds import SeedTree
from parsed_page import ParsedPage

X, y = load_iris(return_X_y=True)
SPECIES = np.array(["setosa", "versicolor", "virginica"])[y]
EVERY = ["aster", "setosa", "tulip", "versicolor", "virginica"]
SETTINGS: dict[str, Any] = {"n_models": 4, "random_state": 0, "n_jobs": 1}


def pick(**settings: Any) -> mm.Batch:
    return mm.select(X[::5], SPECIES[::5], X, 12, **{**SETTINGS, **settings})


def train(**settings: Any) -> mm.Committee:
    return mm.fit_committee(X[::5], SPECIES[::5], **{**SETTINGS, "classes": EVERY, **settings})


def complaint(**settings: Any) -> str:
    with pytest.raises(mm.InputError) as error:
        pick(**settings)
    return str(error.value)


# What is refused


def test_every_label_must_be_among_them_and_the_nearest_is_named() -> None:
    assert complaint(classes=["setosa", "versicolour", "virginica"]) == (
        "The labeled set has label 'versicolor', which is not among the classes given ('setosa', 'versicolour', "
        "'virginica'). Did you mean 'versicolour'? Mend it, or add it to classes=[...]."
    )


def test_one_text_is_no_list() -> None:
    assert (
        complaint(classes="setosa") == "classes='setosa' is one class. Use a list: classes=['setosa', ...]."
    )


def test_what_cannot_be_gone_through_is_no_list() -> None:
    assert complaint(classes=3) == "classes is a int. Pass the classes that may occur."


@pytest.mark.parametrize("wrong", [7, None, b"setosa"])
def test_they_are_of_the_type_of_the_labels(wrong: Any) -> None:
    assert complaint(classes=[*EVERY, wrong]) == (
        f"classes has {wrong!r}, and the labels are of type str. Give classes of that type."
    )


def test_a_single_class_with_labels_is_refused_all_the_same() -> None:
    with pytest.raises(mm.InputError) as error:
        mm.select(X[:5], SPECIES[:5], X, 3, classes=EVERY)
    assert str(error.value) == (
        "All 5 labeled rows are of class 'setosa'. Label at least one row of another class."
    )


# Labels of any type


@pytest.mark.parametrize(
    ("labels", "given", "every"),
    [
        (y, [0, 1, 2, 7], [0, 1, 2, 7]),
        (y.astype(np.int8), ["2", "1", "0", "300"], [0, 1, 2, 300]),
        (y, [0.0, 1.0, 2.0, 3.0], [0, 1, 2, 3]),
        (y.astype(float), [0, 1, 2, 3], [0.0, 1.0, 2.0, 3.0]),
        (y > 0, ["true", "False"], [False, True]),
        (SPECIES, np.array(EVERY), EVERY),
    ],
)
def test_they_may_come_as_texts_or_numbers(labels: Any, given: Any, every: list[Any]) -> None:
    committee = mm.fit_committee(X[::5], labels[::5], classes=given, **SETTINGS)
    assert committee.classes_.tolist() == every
    assert [type(name) for name in committee.classes_.tolist()] == [type(name) for name in every]


# Draws


def test_draws_are_made_of_classes_with_rows_and_are_the_same_as_without_the_others() -> None:
    plain = LabeledSet.of(X[::5], SPECIES[::5])
    wide = LabeledSet.of(X[::5], SPECIES[::5], classes=EVERY)
    assert wide.counts.tolist() == [0, 10, 0, 10, 10]
    assert draw_sizes(wide.counts, 0.5).tolist() == [0, 5, 0, 5, 5]
    seeds = SeedTree(3)
    one, other = (
        Bootstrap(each.codes, draw_sizes(each.counts, 0.5), seeds).indices(2) for each in (plain, wide)
    )
    np.testing.assert_array_equal(one, other)


def test_a_draw_that_loses_a_class_names_one_with_rows() -> None:
    assert complaint(classes=EVERY, bootstrap_fraction=0.05) == (
        "bootstrap_fraction=0.05 draws no row of class 'setosa', which has 10 labeled rows. Use "
        "bootstrap_fraction>=0.1."
    )


# Learners that know only what they have seen


@pytest.mark.parametrize("learner", ["logistic", RandomForestClassifier(5), LinearSVC()])
def test_the_batch_is_the_same_and_never_names_a_class_without_labels(learner: Any) -> None:
    batch = pick(classes=EVERY, learner=learner)
    assert batch == pick(learner=learner)
    assert not set(batch.top_classes.ravel()) & {"aster", "tulip"}


def test_their_probabilities_of_other_classes_are_zero() -> None:
    scores = train().predict_proba(X)
    plain = mm.fit_committee(X[::5], SPECIES[::5], **SETTINGS).predict_proba(X)
    np.testing.assert_array_equal(scores[:, [1, 3, 4]], plain)
    np.testing.assert_array_equal(scores[:, [0, 2]], 0.0)


def test_their_decision_values_of_other_classes_lie_below_all() -> None:
    committee = train(learner=LinearSVC())
    scores = committee.class_scores(X)
    lowest = scores[:, [1, 3, 4]].min(axis=1)
    np.testing.assert_array_equal(scores[:, [0, 2]], np.stack([lowest - 1.0] * 2, axis=1))
    assert set(committee.predict(X)) == {"setosa", "versicolor", "virginica"}


@pytest.mark.parametrize("class_weight", ["balanced", {"setosa": 2.0, "tulip": 3.0}])
def test_class_weights_may_name_a_class_without_labels(class_weight: Any) -> None:
    weights = {"setosa": 2.0} if isinstance(class_weight, dict) else class_weight
    learner, plain = (mm.LogisticLearner(class_weight=each) for each in (class_weight, weights))
    assert pick(learner=learner, classes=EVERY) == pick(learner=plain)


# What is said of them


def test_the_manifest_counts_them_as_zero() -> None:
    manifest = pick(classes=EVERY).manifest
    assert manifest["classes"] == EVERY
    assert manifest["labeled"]["class_counts"] == dict(zip(EVERY, [0, 10, 0, 10, 10], strict=True))


def test_the_committee_shows_them() -> None:
    committee = train()
    assert committee.classes_.tolist() == EVERY
    assert "<tr><td>tulip</td><td>0</td></tr>" in committee._repr_html_()


def test_the_report_shows_them(tmp_path: Path) -> None:
    said = ParsedPage(pick(classes=EVERY).report(tmp_path / "report.html")).sentences()
    assert "classes without labelsaster, tulip" in said


def test_the_summary_names_them() -> None:
    console = Console(file=io.StringIO(), width=200, highlight=False)
    show_batch(pick(classes=EVERY), Path("batch.csv"), console)
    assert "No labeled row has 'aster', 'tulip' yet.\n" in console.file.getvalue()


@pytest.mark.parametrize("learner", ["logistic", LinearSVC()])
def test_a_saved_committee_keeps_them(learner: Any, tmp_path: Path) -> None:
    committee = train(learner=learner)
    loaded = mm.load_committee(committee.save(tmp_path / "saved"))
    assert loaded.classes_.tolist() == EVERY
    np.testing.assert_array_equal(loaded.class_scores(X), committee.class_scores(X))
    assert loaded.select(X, 12) == committee.select(X, 12)


def test_the_command_line_takes_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    pairs = zip(X[::5, 2], y[::5], strict=True)
    Path("labeled.csv").write_text("a,y\n" + "".join(f"{value},{label}\n" for value, label in pairs))
    command = shlex.split(
        "minmargin select --labeled labeled.csv --label-column y --pool labeled.csv --batch-size 3 --n-models 3 "
        "--seed 0 --out batch.parquet --classes"
    )
    monkeypatch.setattr("sys.argv", [*command, "0,1,2", "--classes", "3"])
    assert cli.run() == 0
    assert "No labeled row has '3' yet.\n" in capsys.readouterr().out
    monkeypatch.setattr("sys.argv", [*command, "0,1"])
    assert cli.run() == 1
    assert capsys.readouterr().err == (
        "minmargin: The labeled set has label 2, which is not among the classes given (0, 1). Mend it, or add it to "
        "--classes NAMES.\n"
    )
