"""What a campaign whose models live elsewhere refuses, in whole sentences."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.dataset as ds
import pytest

import minmargin as mm
from campaign.flowers import IDS
from campaign.told import CLASSES, ROUNDS, VECTORS, predicted


def complaint(call: Any, *args: Any, **more: Any) -> str:
    with pytest.raises(mm.InputError) as caught:
        call(*args, **more)
    return str(caught.value)


def test_a_round_needs_probabilities(begin_given):
    assert complaint(begin_given().next) == (
        "Campaign 'told' trains no models: it picks by what yours say. Give their probabilities with probabilities=."
    )


def test_a_learner_is_of_no_use_where_nothing_is_trained(begin_given):
    begin_given()
    assert complaint(mm.Campaign.open, "told", learner="logistic") == (
        "Campaign 'told' trains no models, and has no use for learner. Leave it out."
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [("probabilities", ROUNDS[0]), ("columns", "p_*"), ("features", VECTORS), ("values", "logits")],
)
def test_a_campaign_that_trains_has_no_use_for_probabilities(begin, name, value):
    assert complaint(begin().next, **{name: value}) == (
        f"Campaign 'flowers' trains its own models, and has no use for {name}. Leave it out, or begin a campaign with "
        "learner='given'."
    )


def test_a_campaign_that_trains_needs_labeled_rows(begin):
    message = (
        "A campaign that trains models begins with labeled rows. Give labeled= and label_column=, or use "
        "learner='given' to pick by probabilities of models elsewhere."
    )
    assert complaint(begin, labeled=None) == message
    assert complaint(begin, label_column=None) == message


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("features", ["a"]),
        ("n_models", 3),
        ("learner_options", {"C": 2.0}),
        ("bootstrap_fraction", 0.5),
        ("preprocess", "auto"),
        ("held_out", pd.DataFrame({"y": ["setosa"]})),
        ("folds", 0),
    ],
)
def test_what_only_training_uses_is_refused(begin_given, name, value):
    assert complaint(begin_given, **{name: value}) == (
        f"{name} is of no use with learner='given', which trains nothing. Leave it out."
    )
    assert not Path("told").exists()


def test_a_beginning_that_does_not_fit(begin_given):
    assert complaint(begin_given, id_column=None) == (
        "With learner='given' the pool's rows are known by an id. Name the column that holds it with id_column."
    )
    assert complaint(begin_given, id_column="row") == (
        "Column 'row' is not in the pool (columns: 'a', 'b', 'c', 'd', 'row_id'). Did you mean 'row_id'?"
    )
    assert complaint(begin_given, keep="text") == (
        "Column 'text' is not in the pool (columns: 'a', 'b', 'c', 'd', 'row_id')."
    )
    assert complaint(begin_given, batch_size=151) == (
        "batch_size=151 is larger than the pool (150 rows in the pool's files). Use batch_size<=150."
    )
    assert complaint(begin_given, classes=()) == (
        "classes has no class, and with learner='given' it names all that may be given. Name at least two, each once, "
        "in the order of the probabilities."
    )
    assert complaint(begin_given, classes=["cat", "cat"]) == (
        "classes has 'cat', 'cat', and with learner='given' it names all that may be given. Name at least two, each "
        "once, in the order of the probabilities."
    )
    assert complaint(begin_given, classes=["cat", 1]) == (
        "classes are 'cat', 1. Make them all texts, all numbers or all booleans."
    )
    assert complaint(begin_given, labeled="labeled.csv", label_column="y", classes=CLASSES[:2]) == (
        "The labeled set has label 'virginica', which is not among classes ('setosa', 'versicolor'). Add it there."
    )
    assert complaint(begin_given, labeled="labeled.csv") == (
        "Column 'label' is not in the labeled set (columns: 'a', 'b', 'c', 'd', 'row_id', 'y')."
    )


def test_rows_that_are_missing_are_named(begin_given):
    frame = predicted(ROUNDS[0])
    few = frame[~frame["row_id"].isin(["r004", "r077"])]
    campaign = begin_given()
    assert complaint(campaign.next, probabilities=few, columns="m0_*") == (
        "The probabilities lack 2 rows of the pool that may be picked (the first has id 'r004'). Give those of every "
        "row that has no label yet."
    )
    assert complaint(campaign.next, probabilities=frame[1:], columns="m0_*") == (
        "The probabilities lack 1 row of the pool that may be picked (the first has id 'r000'). Give those of every "
        "row that has no label yet."
    )
    assert complaint(campaign.next, probabilities=frame[:0], columns="m0_*") == (
        "The probabilities have no rows. Give those of every row that has no label yet."
    )
    assert complaint(campaign.next, probabilities=ROUNDS[0][:, :149]) == (
        "The probabilities are arrays of 149 rows, which are taken in the order of the pool, and it has 150. Give one "
        "for each row, or a frame with the column 'row_id'."
    )
    assert list(Path("told/batches").iterdir()) == []


def test_ids_that_do_not_tell_rows_apart(begin_given):
    frame, campaign = predicted(ROUNDS[0]), begin_given()
    assert complaint(campaign.next, probabilities=frame.drop(columns="row_id"), columns="m0_*") == (
        "The probabilities have no column 'row_id', which tells the pool's rows apart (columns: 'note', 'vector', "
        "'m0_virginica', 'm0_setosa', 'm0_versicolor', 'm1_virginica', 'm1_setosa', 'm1_versicolor'). Add it, or give "
        "arrays with a row for each row of the pool."
    )
    twice = pd.concat([frame, frame[3:4]])
    assert complaint(campaign.next, probabilities=twice, columns="m0_*") == (
        "Id 'r003' is in column 'row_id' of the probabilities 2 times. Give every row an id of its own; nothing was "
        "written."
    )
    empty = frame.assign(row_id=[None, None, *IDS[2:]])
    assert complaint(campaign.next, probabilities=empty, columns="m0_*") == (
        "Column 'row_id' of the probabilities is empty in 2 rows. Give every row an id; nothing was written."
    )
    pool = pd.read_parquet("pool/1.parquet")
    pool.assign(row_id=["r000", *pool["row_id"][1:]]).to_parquet("pool/1.parquet")
    assert complaint(campaign.next, probabilities=frame, columns="m0_*") == (
        "Id 'r000' is in column 'row_id' of the pool 2 times. Give every row an id of its own; nothing was written."
    )


def test_classes_that_the_campaign_does_not_know(begin_given):
    campaign, frame = begin_given(), predicted(ROUNDS[0])
    assert complaint(campaign.next, probabilities=ROUNDS[0][:, :, :2], values="logits") == (
        "The probabilities are of 2 classes, and the campaign has 3 ('setosa', 'versicolor', 'virginica'). Give a "
        "column for each, or name those there are with classes=[...]."
    )
    renamed = frame.rename(columns={"m0_setosa": "m0_setos"})
    assert complaint(campaign.next, probabilities=renamed, columns="m0_*") == (
        "The probabilities are of 'setos', which is no class of this campaign ('setosa', 'versicolor', 'virginica'). "
        "Did you mean 'setosa'? Name the classes, in the order of their columns, with classes=[...]."
    )


def test_what_has_no_fingerprint(begin_given):
    campaign = begin_given()
    predicted(ROUNDS[0]).to_parquet("given.parquet")
    for given in (iter(ROUNDS[0]), ds.dataset("given.parquet"), {}):
        assert complaint(campaign.next, probabilities=given) == (
            f"The probabilities are a {type(given).__name__}, of which the journal cannot keep a fingerprint. Give "
            "arrays, a data frame, or a path to files."
        )


def test_features_may_be_left_out_of_the_settings_only_where_probabilities_are_given(begin):
    campaign = begin()
    path = campaign.folder / "settings.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "features": []}))
    assert complaint(mm.Campaign.open, campaign.folder) == (
        "'flowers/settings.json' has features=[], and features must be a list of columns, or one."
    )
