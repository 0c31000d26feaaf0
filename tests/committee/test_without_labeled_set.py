"""Committees that no labeled set is known of, with and without a base: everything that is made of them copes."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from rich.console import Console
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier

import minmargin as mm
from minmargin.cli.show import show_batch
from minmargin.integrations.items import Showing
from parsed_page import ParsedPage

X, y = load_iris(return_X_y=True)
SPECIES = np.array(["setosa", "versicolor", "virginica"])[y]
SETTINGS: dict[str, Any] = {"n_models": 5, "random_state": 0, "n_jobs": 1}


def nothing() -> None:
    """Return no labeled set."""


def trained_committee(**settings: Any) -> mm.Committee:
    return mm.fit_committee(X[::5], SPECIES[::5], **{**SETTINGS, **settings})


def committee_without_labels(*, has_base: bool = True, identity: str = "", **settings: Any) -> mm.Committee:
    trained = trained_committee(**settings)
    provenance = replace(
        trained.provenance,
        bootstrap_fraction=None,
        labeled=nothing,
        vectors=nothing,
        has_base=has_base,
        identity=lambda: identity,
    )
    return replace(trained, provenance=provenance, training=None)


@pytest.fixture(scope="module")
def committee() -> mm.Committee:
    return committee_without_labels()


@pytest.fixture(scope="module")
def without_base() -> mm.Committee:
    return committee_without_labels(has_base=False)


def test_the_manifest_says_that_there_is_none_and_names_the_classes(committee: mm.Committee) -> None:
    manifest = committee.select(X, 3).manifest
    assert manifest["labeled"] is None
    assert manifest["classes"] == ["setosa", "versicolor", "virginica"]
    assert manifest["settings"]["bootstrap_fraction"] is None


@pytest.mark.parametrize("strategy", ["min-margin", "margin", "spread", "badge"])
def test_the_batch_is_that_of_the_same_models_with_a_labeled_set(
    committee: mm.Committee, strategy: Any
) -> None:
    assert committee.select(X, 5, strategy=strategy) == trained_committee().select(X, 5, strategy=strategy)


def test_k_centers_begins_with_no_center(committee: mm.Committee) -> None:
    from_none = trained_committee().select(X, 5, strategy=mm.KCenters(include_labeled=False))
    assert committee.select(X, 5, strategy="k-centers") == from_none


def test_a_committee_is_shown_with_its_classes_alone(committee: mm.Committee) -> None:
    shown = committee._repr_html_()
    assert "no labeled set, seed 0" in shown
    assert "<tr><td>setosa</td><td></td></tr>" in shown


def test_the_summary_says_so(committee: mm.Committee) -> None:
    console = Console(file=io.StringIO(), width=200, highlight=False)
    show_batch(committee.select(X, 3), Path("batch.csv"), console)
    printed = console.file.getvalue()
    assert printed.startswith("Picked 3 of 150 rows by min-margin (5 members, no labeled set, seed 0) in ")


def test_annotators_choose_from_the_classes_of_the_models(committee: mm.Committee) -> None:
    pool = pd.DataFrame(X, columns=list("abcd")).assign(text="a flower")
    batch = committee.select(pool, 3, features=list("abcd"), keep=["text"])
    assert Showing.of(batch).classes == ("setosa", "versicolor", "virginica")


@pytest.mark.parametrize("columns", [None, (0, 2)])
def test_a_report_has_a_map_without_labeled_rows(
    committee: mm.Committee, columns: Any, tmp_path: Path
) -> None:
    page = ParsedPage(committee.select(X, 20).report(tmp_path / "report.html", columns=columns))
    said = page.sentences()
    assert (
        "Of 150 rows in the pool, these 20 were picked by min-margin: the smallest margin under any of 5 members."
        in said
    )
    assert "Where the picks lie" in said
    assert "Share of each class: predictions for the pool and the batch." in said
    assert 'committee.select( pool, batch_size=20, strategy="min-margin", distinct=True, )' in said
    assert "labeled rows" not in said


def test_a_report_of_texts_has_a_map_of_their_words(tmp_path: Path) -> None:
    texts = [f"{'petal ' * int(5 * a)} {'sepal ' * int(5 * b)} leaf" for a, b in X[:, 2:]]
    trained = mm.fit_committee(texts[::5], SPECIES[::5], learner="text", **SETTINGS)
    provenance = replace(trained.provenance, labeled=nothing, vectors=nothing)
    batch = replace(trained, provenance=provenance, training=None).select(texts, 5)
    assert "Where the picks lie" in ParsedPage(batch.report(tmp_path / "report.html")).sentences()


def test_a_report_of_one_row_is_written(committee: mm.Committee, tmp_path: Path) -> None:
    said = ParsedPage(committee.select(X[:1], 1).report(tmp_path / "report.html")).sentences()
    assert "The first two principal components, which show 100% of the variance." in said


# Without a base


def test_predictions_are_those_of_the_mean(without_base: mm.Committee) -> None:
    batch = without_base.select(X, 10)
    assert batch == replace(trained_committee().select(X, 10), predicted=batch.predicted)
    mean = without_base.class_scores(X, of="members")
    np.testing.assert_array_equal(batch.predicted, without_base.classes_[mean[batch.rows].argmax(axis=1)])


def test_the_base_is_not_asked_for(without_base: mm.Committee) -> None:
    with pytest.raises(mm.InputError) as error:
        without_base.class_scores(X)
    assert str(error.value) == "of='base', and this committee has no base. Use of='members', their mean."


@pytest.mark.parametrize("strategy", [each.name for each in mm.strategies() if each.name != "true-margin"])
def test_every_strategy_picks_and_the_mean_stands_for_the_base(
    without_base: mm.Committee, strategy: Any
) -> None:
    assert len(without_base.select(X, 5, strategy=strategy)) == 5


def test_the_margin_is_that_of_the_mean(without_base: mm.Committee) -> None:
    of_mean = without_base.select(X, 20, strategy="margin-of-mean")
    batch = without_base.select(X, 20, strategy="margin")
    assert batch.rows.tolist() == of_mean.rows.tolist()
    assert batch.scores.tolist() == of_mean.scores.tolist()


def test_a_report_says_what_stands_for_the_base(without_base: mm.Committee, tmp_path: Path) -> None:
    said = ParsedPage(without_base.select(X, 20).report(tmp_path / "report.html")).sentences()
    assert (
        "The committee has no base. Where this page speaks of the base or plain margin, it means the members' mean."
    ) in said
    by_mean = without_base.select(X, 20, strategy="margin-of-mean").rows
    shared = len(set(without_base.select(X, 20).rows) & set(by_mean))
    assert f"Plain margin would have picked {shared} of them." in said


def test_screened_pools_compare_with_the_mean_too(without_base: mm.Committee, tmp_path: Path) -> None:
    many = np.random.default_rng(0).normal(X.mean(axis=0), X.std(axis=0), size=(60_000, 4))
    batch = without_base.select(many, 20)
    said = ParsedPage(batch.report(tmp_path / "report.html")).sentences()
    by_mean = without_base.select(many, 20, strategy="margin-of-mean").rows
    assert f"Plain margin would have picked {len(set(batch.rows) & set(by_mean))} of them." in said


# On disk


@pytest.mark.parametrize("has_base", [True, False])
def test_what_is_saved_comes_back(has_base: bool, tmp_path: Path) -> None:
    committee = committee_without_labels(has_base=has_base, identity="these models")
    loaded = mm.load_committee(committee.save(tmp_path / "saved"))
    assert loaded.provenance.labeled() is None
    assert loaded.provenance.vectors() is None
    assert loaded.provenance.bootstrap_fraction is None
    assert loaded.provenance.has_base is has_base
    assert loaded.provenance.identity() == "these models"
    assert loaded.select(X, 10) == committee.select(X, 10)


def test_a_checkpoint_of_other_models_is_refused(tmp_path: Path) -> None:
    learner = RandomForestClassifier(5)
    first, same, other = (
        committee_without_labels(learner=learner, identity=name) for name in ("one", "one", "other")
    )
    batch = first.select(X, 5, checkpoint=tmp_path)
    assert same.select(X, 5, checkpoint=tmp_path) == batch
    with pytest.raises(mm.InputError) as error:
        other.select(X, 5, checkpoint=tmp_path)
    assert "committee" in str(error.value)
