"""What a campaign refuses, in whole sentences, and the kinds of labels it takes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import minmargin as mm
from campaign.flowers import TRUTH, answers
from minmargin.campaign.values import from_text, to_text


def complaint(call, *args, **more):
    with pytest.raises(mm.InputError) as caught:
        call(*args, **more)
    return str(caught.value)


def change_pool(change):
    for place in (0, 1):
        frame = pd.read_parquet(f"pool/{place}.parquet")
        change(frame).to_parquet(f"pool/{place}.parquet")


@pytest.mark.filterwarnings("ignore::minmargin.DataWarning")
def test_ids_that_do_not_tell_rows_apart_are_refused_before_anything_is_written(begin):
    change_pool(lambda frame: frame.assign(row_id="same"))
    assert complaint(begin().next, n_jobs=1) == (
        "Several of the picked rows have id 'same' in column 'row_id'. "
        "Use a column whose values are unique; nothing was written."
    )
    assert list(Path("flowers/batches").iterdir()) == []


def test_rows_without_an_id_are_refused(begin):
    change_pool(lambda frame: frame.assign(row_id=pd.array([None] * len(frame), dtype="string")))
    assert complaint(begin().next, n_jobs=1) == (
        "7 of the picked rows have no id in column 'row_id'. Give every row of the pool one; nothing was written."
    )


def test_a_round_that_is_not_there(begin):
    campaign = begin()
    assert complaint(campaign.batch) == "Campaign 'flowers' has no round yet. Begin one with next."
    campaign.next(n_jobs=1)
    assert complaint(campaign.batch, 2) == "Campaign 'flowers' has no round 2. Its rounds are 1 to 1."


def test_more_rows_than_are_left(begin):
    assert complaint(begin().next, 136, n_jobs=1) == (
        "batch_size=136 is larger than what is left of the pool (150 rows in the pool's files, 15 of them excluded). "
        "Use batch_size<=135."
    )


def test_texts_as_ids_of_labeled_rows_where_the_pool_has_numbers(begin):
    change_pool(lambda frame: frame.assign(row_id=frame.row_id.str[1:].astype(int)))
    assert complaint(begin) == (
        "A labeled row has id 'r000' in column 'row_id', and the pool's ids are whole numbers. Give both the same ids."
    )


def test_held_out_labels_of_another_kind(begin):
    labeled = pd.read_csv("labeled.csv")
    numbered = labeled.assign(y=labeled.y.map({name: place for place, name in enumerate(labeled.y.unique())}))
    assert complaint(begin, labeled=numbered, held_out="held-out.csv") == (
        "The held-out set has label 'setosa', and the labels of the labeled set are of kind integer. Make them alike."
    )


def test_held_out_rows_that_are_none(begin):
    assert complaint(begin, held_out=pd.read_csv("held-out.csv")[:0]) == (
        "The held-out set has no rows. Give labeled rows to measure on, or leave it out."
    )


def test_labels_that_are_no_rows(begin):
    campaign = begin()
    campaign.next(n_jobs=1)
    assert complaint(campaign.add_labels, np.zeros((2, 2))) == (
        "The labels are a ndarray. Give a file, a frame with an id and a label column, or a mapping of ids to labels."
    )
    assert (
        complaint(campaign.add_labels, "none.jsonl")
        == "'none.jsonl' cannot be read: No such file or directory."
    )
    Path("broken.jsonl").write_text("{\n")
    assert complaint(campaign.add_labels, "broken.jsonl").startswith("Line 1 of 'broken.jsonl' is not JSON (")


@pytest.mark.parametrize("kind", ["boolean", "number", "integer"])
def test_labels_keep_their_type(begin, kind):
    made = {
        "boolean": lambda name: name == "setosa",
        "number": lambda name: float(name == "setosa"),
        "integer": len,
    }
    labeled = pd.read_csv("labeled.csv")
    campaign = begin(labeled=labeled.assign(y=labeled.y.map(made[kind])), folds=2)
    truth = {each: made[kind](name) for each, name in answers(campaign.next(n_jobs=1)).items()}
    campaign.add_labels({each: str(label) for each, label in truth.items()}, n_jobs=1)
    assert campaign.labeled()["y"].to_pylist()[-7:] == list(truth.values())
    assert len(campaign.next(n_jobs=1)) == 7
    assert campaign.status().accuracy is not None


@pytest.mark.parametrize(
    ("value", "kind"),
    [("maybe", "boolean"), ("x", "number"), (None, "number"), (True, "integer"), (1.5, "integer")],
)
def test_what_cannot_be_a_value_of_a_kind_has_no_text(value, kind):
    assert to_text(value, kind) is None


@pytest.mark.parametrize(
    ("value", "kind"), [(0.1, "number"), (2**70, "integer"), ("'x", "text"), (False, "boolean")]
)
def test_a_value_comes_back_from_its_text(value, kind):
    assert from_text(to_text(value, kind), kind) == value


def test_a_factory_is_named_in_the_settings_and_called_if_it_is_named_again(begin):
    Path("our_learners.py").write_text(
        "from sklearn.linear_model import LogisticRegression\ndef make(): return LogisticRegression(C=0.5)\n"
    )
    begin(learner="our_learners:make")
    batch = mm.Campaign.open("flowers", learner="our_learners:make").next(n_jobs=1)
    assert batch.manifest["settings"]["learner"] == "LogisticRegression(C=0.5)"


def test_many_classes_have_a_table_but_no_bars(begin):
    campaign = begin()
    batch = campaign.next(100, n_jobs=1)
    campaign.add_labels(
        {each: f"{TRUTH[each]} {each}" for each in batch.ids.tolist()}, new_classes=True, n_jobs=1
    )
    page = campaign.report("campaign.html").read_text()
    assert "<svg" not in page
    assert "<summary>The other 3 of 103 classes</summary>" in page
    assert page.index("setosa r") < page.index("<summary>") < page.index("<td><bdi>setosa</bdi>"), (
        "rarest first"
    )
