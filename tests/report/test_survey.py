"""The survey: what one more reading of the pool finds, for any pool, however it is read."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

import minmargin as mm
from minmargin.execution import silent
from minmargin.report import survey as surveying
from minmargin.report.survey import Survey, evenly, survey_pool

X, y = load_iris(return_X_y=True)
NAMES = ["a", "b", "c", "d"]
SPECIES = np.array(["setosa", "versicolor", "virginica"])[y]
LABELED = slice(0, None, 5)
SETTINGS = {"n_models": 5, "random_state": 0, "n_jobs": 1}


def pick(pool=X, batch_size=20, **settings) -> mm.Batch:
    return mm.select(X[LABELED], SPECIES[LABELED], pool, batch_size, **{**SETTINGS, **settings})


def survey_of(batch: mm.Batch, *columns: str) -> Survey:
    assert batch.origin is not None
    return survey_pool(batch, batch.origin, columns=columns, progress=silent)


@pytest.mark.parametrize("strategy", [entry.name for entry in mm.strategies() if entry.name != "true-margin"])
def test_the_picks_are_found_in_the_order_of_the_batch(strategy: str) -> None:
    batch = pick(strategy=strategy)
    survey = survey_of(batch)
    np.testing.assert_array_equal(survey.picks.rows, batch.rows)
    np.testing.assert_array_equal(survey.picks.vectors, X[batch.rows])
    if survey.row_score:
        np.testing.assert_array_equal(survey.picks.notes["strategy_score"], batch.scores)


def test_plain_margin_has_the_batch_that_it_would_pick() -> None:
    survey = survey_of(pick())
    np.testing.assert_array_equal(survey.by_margin.rows, pick(strategy="margin").rows)


def test_the_sample_has_no_row_twice_and_the_scores_of_its_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(surveying, "N_SAMPLED", 60)
    survey = survey_of(pick())
    committee = mm.fit_committee(X[LABELED], SPECIES[LABELED], n_models=5, random_state=0)
    assert len(set(survey.sample.rows.tolist())) == 60
    np.testing.assert_array_equal(
        survey.sample.notes["strategy_score"], committee.score(X)[survey.sample.rows]
    )
    np.testing.assert_array_equal(survey.sample.vectors, X[survey.sample.rows])


def test_every_row_is_as_likely_to_be_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(surveying, "N_SAMPLED", 4000)
    rows = survey_of(pick(np.tile(X, (100, 1)), strategy="margin")).sample.rows
    counts, _ = np.histogram(rows, bins=10, range=(0, 15_000))
    assert abs(counts - 400).max() < 5 * 400**0.5


@pytest.mark.parametrize("chunk_size", [7, 64, 1000])
def test_neither_chunks_nor_files_nor_the_seed_change_the_sample(chunk_size: int, tmp_path: Path) -> None:
    for number, part in enumerate(np.array_split(X, 3)):
        table = pa.table({name: part[:, place] for place, name in enumerate(NAMES)})
        pq.write_table(table, tmp_path / f"{number}.parquet")
    in_files = mm.select(
        pd.DataFrame(X[LABELED], columns=NAMES),
        SPECIES[LABELED],
        str(tmp_path / "*.parquet"),
        20,
        chunk_size=chunk_size,
        **{**SETTINGS, "random_state": 7},
    )
    np.testing.assert_array_equal(survey_of(in_files).sample.rows, survey_of(pick()).sample.rows)


def test_excluded_rows_stay_out() -> None:
    out = np.arange(0, 150, 2)
    survey = survey_of(pick(exclude=out))
    assert not np.isin(survey.sample.rows, out).any()
    assert not np.isin(survey.by_margin.rows, out).any()
    assert len(survey.sample) == 75


def test_a_member_that_decided_gives_its_scores_of_both_classes() -> None:
    batch = pick()
    survey = survey_of(batch)
    apart = survey.picks.notes["first_score"] - survey.picks.notes["second_score"]
    np.testing.assert_allclose(apart, batch.scores, atol=1e-12)


@pytest.mark.parametrize(("strategy", "whole"), [("committee", True), ("margin-of-mean", False)])
def test_a_committee_gives_its_votes_or_its_mean(strategy: str, whole: bool) -> None:
    batch = pick(strategy=strategy)
    notes = survey_of(batch).picks.notes
    apart = notes["first_score"] - notes["second_score"]
    np.testing.assert_allclose(apart / (5 if whole else 1), batch.scores, atol=1e-12)
    assert (notes["first_score"] % 1 == 0).all() == whole


class SecondClosest:
    """A strategy of one's own that goes by the second-closest member."""

    name = "second-closest"
    needs = "members"

    def score(self, candidates: mm.Candidates) -> np.ndarray:
        return np.sort(candidates.member_margins.margins, axis=0)[1]

    def explain(self, candidates: mm.Candidates) -> mm.Reasons:
        member = np.argsort(candidates.member_margins.margins, axis=0, kind="stable")[1]
        order = np.argsort(candidates.member_scores[member, np.arange(len(candidates))], axis=1)
        return mm.Reasons(member, order[:, -1], order[:, -2])


def test_another_member_than_the_closest_gives_its_own_scores() -> None:
    batch = pick(strategy=SecondClosest())
    notes = survey_of(batch).picks.notes
    np.testing.assert_allclose(notes["first_score"] - notes["second_score"], batch.scores, atol=1e-12)


@pytest.mark.parametrize("learner", [RandomForestClassifier(3, random_state=0), LinearSVC()])
def test_any_learner_can_be_looked_at(learner: object) -> None:
    batch = pick(learner=learner)
    np.testing.assert_array_equal(survey_of(batch).picks.rows, batch.rows)


def test_columns_that_are_asked_for_come_with_the_rows() -> None:
    pool = pd.DataFrame(X, columns=NAMES).assign(name=[f"row {row}" for row in range(150)])
    batch = mm.select(pool.loc[LABELED, NAMES], SPECIES[LABELED], pool, 20, keep=["b"], **SETTINGS)
    survey = survey_of(batch, "name", "a")
    for seen in (survey.sample, survey.picks, survey.by_margin):
        assert seen.columns is not None
        assert seen.columns["name"].to_list() == [f"row {row}" for row in seen.rows]
        np.testing.assert_array_equal(seen.columns["a"].to_numpy(), X[seen.rows, 0])


def test_a_column_that_the_pool_does_not_have_is_named() -> None:
    pool = pd.DataFrame(X, columns=NAMES)
    batch = mm.select(pool[LABELED], SPECIES[LABELED], pool, 20, **SETTINGS)
    with pytest.raises(mm.InputError, match=r"^Column 'e' is not in the pool"):
        survey_of(batch, "e")


def test_texts_come_with_the_rows_and_sparse_vectors_too() -> None:
    texts = [f"word{row % 7} and {'odd' if row % 2 else 'even'}" for row in range(100)]
    learner = make_pipeline(TfidfVectorizer(), LogisticRegression())
    batch = mm.select(texts[:10], ["x", "y"] * 5, texts, 12, learner=learner, **SETTINGS)
    survey = survey_of(batch)
    assert survey.picks.notes["text"].tolist() == [texts[row] for row in batch.rows]
    assert survey.picks.vectors is not None
    assert survey.picks.vectors.shape[0] == 12


def test_of_a_large_batch_the_first_and_evenly_many_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(surveying, "N_LISTED", 5)
    monkeypatch.setattr(surveying, "N_COMPARED", 4)
    batch = pick(batch_size=100)
    survey = survey_of(batch)
    assert survey.places.tolist() == [0, 1, 2, 3, 4, 33, 66, 99]
    np.testing.assert_array_equal(survey.picks.rows, batch.rows[survey.places])


def test_rows_too_large_for_memory_are_left_out_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(surveying, "N_SAMPLED", 30)
    batch = pick()
    monkeypatch.setattr(surveying, "_MOST_BYTES", 32 * 60)
    survey = survey_of(batch)
    assert survey.by_margin.vectors is None
    assert survey.sample.vectors is not None
    assert survey.missing == (
        "Plain margin's batch is too large to measure distances in it, and to draw it.",
    )
    monkeypatch.setattr(surveying, "_MOST_BYTES", 1000)
    survey = survey_of(batch)
    assert survey.sample.vectors is None
    assert survey.missing == ("Rows have 4 numbers each: too many for a map, and for distances.",)


def test_a_pool_that_has_changed_is_an_error() -> None:
    pool = X.copy()
    batch = pick(pool)
    pool[batch.rows[3]] += 1.0
    with pytest.raises(mm.InputError) as error:
        survey_of(batch)
    assert str(error.value) == (
        "The pool is not as it was when the batch was picked: its rows have other scores now. "
        "Select again, and report before the pool changes."
    )


def test_a_pool_that_has_shrunk_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "pool.parquet"
    table = pa.table({name: X[:, place] for place, name in enumerate(NAMES)})
    pq.write_table(table, path)
    labeled = pd.DataFrame(X[LABELED], columns=NAMES)
    batch = mm.select(labeled, SPECIES[LABELED], path, 20, **SETTINGS)
    pq.write_table(table.slice(0, 60), path)
    with pytest.raises(mm.MinMarginError):
        survey_of(batch)


class Elsewhere:
    """An engine that sends everything there and back as bytes, as a cluster does."""

    name = "elsewhere"
    elsewhere = True

    def run(self, fn, items):
        sent = pickle.dumps(fn)
        for item in items:
            yield pickle.loads(pickle.dumps(pickle.loads(sent)(pickle.loads(pickle.dumps(item)))))  # noqa: S301


def test_an_engine_that_reads_the_pool_elsewhere_finds_the_same(tmp_path: Path) -> None:
    texts = [f"word{row % 7}" for row in range(150)]
    table = pa.table({**{name: X[:, place] for place, name in enumerate(NAMES)}, "text": texts})
    pq.write_table(table, tmp_path / "pool.parquet", row_group_size=40)
    labeled = pd.DataFrame(X[LABELED], columns=NAMES)
    batch = mm.select(labeled, SPECIES[LABELED], tmp_path / "pool.parquet", 20, **SETTINGS)
    here = survey_of(batch, "text")
    assert batch.origin is not None
    execution = replace(batch.origin.scan.execution, engine=Elsewhere())
    origin = replace(batch.origin, scan=replace(batch.origin.scan, execution=execution))
    there = survey_pool(batch, origin, columns=["text"], progress=silent)
    for mine, other in (
        (here.sample, there.sample),
        (here.picks, there.picks),
        (here.by_margin, there.by_margin),
    ):
        np.testing.assert_array_equal(mine.rows, other.rows)
        np.testing.assert_array_equal(mine.vectors, other.vectors)
        np.testing.assert_array_equal(mine.notes["strategy_score"], other.notes["strategy_score"])
        assert mine.columns["text"].to_list() == other.columns["text"].to_list()


def test_a_batch_that_is_sent_elsewhere_leaves_its_pool_behind() -> None:
    batch = pickle.loads(pickle.dumps(pick()))  # noqa: S301
    assert batch.origin is None
    np.testing.assert_array_equal(batch.rows, pick().rows)


def test_evenly_gives_all_or_as_many_as_asked_for_with_both_ends() -> None:
    assert evenly(1, 2).tolist() == [0]
    assert evenly(1000, 2).tolist() == [0, 999]
