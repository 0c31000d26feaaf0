"""Campaigns whose models live elsewhere: rounds are select_from_probabilities, whatever order the rows come in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import minmargin as mm
from campaign.flowers import IDS, TRUTH, answers
from campaign.told import CLASSES, ROUNDS, VECTORS, predicted


def shuffled(members: Any, _: set[str]) -> dict[str, Any]:
    frame = predicted(members).sample(frac=1, random_state=5)
    return {"probabilities": frame, "columns": ["m0_*", "m1_*"]}


def ordered_file(members: Any, _: set[str]) -> dict[str, Any]:
    predicted(members).to_parquet("ordered.parquet")
    return {"probabilities": "ordered.parquet", "columns": ["m0_*", "m1_*"]}


def shuffled_files(members: Any, _: set[str]) -> dict[str, Any]:
    frame = predicted(members).drop(columns="vector").sample(frac=1, random_state=6)
    frame[:40].to_csv("given-0.csv", index=False)
    frame[40:].to_csv("given-1.csv", index=False)
    return {"probabilities": "given-*.csv", "columns": ["m0_*", "m1_*"]}


def only_what_may_be_picked(members: Any, seen: set[str]) -> dict[str, Any]:
    frame = predicted(members)
    frame = frame[~frame["row_id"].isin(seen)][::-1]
    return {"probabilities": frame.drop(columns=["note", "vector"]), "columns": ["m0_*", "m1_*"]}


def arrays(members: Any, _: set[str]) -> dict[str, Any]:
    return {"probabilities": list(members)}


def npy_files(members: Any, _: set[str]) -> dict[str, Any]:
    for k, member in enumerate(members):
        np.save(f"m{k}.npy", member)
    return {"probabilities": ["m0.npy", "m1.npy"]}


def list_columns(members: Any, _: set[str]) -> dict[str, Any]:
    frame = pd.DataFrame({"row_id": IDS, "m0": list(members[0]), "m1": list(members[1])})[::-1]
    return {"probabilities": pa.Table.from_pandas(frame), "columns": ["m0", "m1"]}


WAYS = [
    shuffled,
    ordered_file,
    shuffled_files,
    only_what_may_be_picked,
    arrays,
    npy_files,
    list_columns,
]


@pytest.mark.parametrize("way", WAYS)
def test_rounds_are_the_batches_of_select_from_probabilities_without_what_was_picked_before(begin_given, way):
    campaign, excluded = begin_given(), []
    for number, members in enumerate(ROUNDS, start=1):
        batch = campaign.next(**way(members, {IDS[row] for row in excluded}), n_jobs=1)
        direct = mm.select_from_probabilities(
            members,
            7,
            classes=CLASSES,
            exclude=excluded or None,
            random_state=campaign.settings.seed_of(number),
            n_jobs=1,
        )
        assert batch.rows.tolist() == direct.rows.tolist()
        assert batch.ids.tolist() == [IDS[row] for row in direct.rows]
        assert batch.scores.tolist() == direct.scores.tolist()
        assert batch.top_classes.tolist() == direct.top_classes.tolist()
        assert batch.predicted.tolist() == direct.predicted.tolist()
        excluded += batch.rows.tolist()
        campaign.add_labels(answers(batch))
    assert len(set(excluded)) == 21


@pytest.mark.parametrize("strategy", ["spread", "k-centers", "margin"])
def test_base_and_embeddings_come_with_the_rows(begin_given, strategy):
    campaign = begin_given(strategy=strategy)
    frame = predicted(ROUNDS[0]).sample(frac=1, random_state=7)
    batch = campaign.next(probabilities=frame, columns="m0_*", base="m1_*", features="vector", n_jobs=1)
    in_order = [2, 0, 1]  # columns are taken in the order of the frame
    direct = mm.select_from_probabilities(
        ROUNDS[0][0][:, in_order],
        7,
        base=ROUNDS[0][1][:, in_order],
        features=VECTORS,
        strategy=strategy,
        random_state=campaign.settings.seed_of(1),
    )
    assert batch.rows.tolist() == direct.rows.tolist()
    assert batch.scores.tolist() == direct.scores.tolist()


def test_rows_labeled_before_are_not_picked_and_count(begin_given):
    campaign = begin_given(labeled="labeled.csv", label_column="y", keep=["a"])
    batch = campaign.next(135, probabilities=ROUNDS[0])
    assert sorted(batch.ids.tolist()) == sorted(set(IDS) - set(IDS[::10]))
    campaign.add_labels({each: TRUTH[each] for each in batch.ids[:2].tolist()})
    labeled = campaign.labeled()
    assert labeled.column_names == ["a", "y", "row_id"]
    assert labeled.num_rows == 17
    assert labeled["row_id"].to_pylist() == [*IDS[::10], *batch.ids[:2].tolist()]
    assert labeled["y"].to_pylist() == [TRUTH[each] for each in labeled["row_id"].to_pylist()]
    assert labeled["a"].null_count == 0


def test_the_batch_has_the_pool_s_columns_and_the_labeled_rows_too(begin_given):
    campaign = begin_given(keep=["d", "a"])
    assert campaign.labeled().num_rows == 0
    batch = campaign.next(**shuffled(ROUNDS[0], set()), csv=True)
    pool = pd.concat([pd.read_parquet("pool/0.parquet"), pd.read_parquet("pool/1.parquet")])
    expected = pool.set_index("row_id").loc[batch.ids.tolist()]
    table = campaign.batch()
    assert table.column_names[-3:] == ["predicted", "d", "a"]
    assert table["d"].to_pylist() == expected["d"].tolist()
    assert campaign.batch_path().with_suffix(".csv").exists()
    campaign.add_labels(answers(batch))
    assert campaign.labeled().column_names == ["d", "a", "label", "row_id"]
    assert campaign.labeled()["a"].to_pylist() == expected["a"].tolist()
    assert batch.manifest["pool"]["rows"] == 150
    assert batch.manifest["pool"]["files"] == 2
    assert "fingerprint" in batch.manifest["probabilities"]


def test_models_with_names_are_called_by_them(begin_given):
    batch = begin_given().next(probabilities={"forest": ROUNDS[0][0], "api": ROUNDS[0][1]})
    assert batch == begin_given("another").next(probabilities=ROUNDS[0])
    assert set(batch.to_arrow()["member_name"].to_pylist()) == {"forest", "api"}


def test_the_journal_knows_what_each_round_was_picked_by(begin_given):
    campaign = begin_given()
    for members in ROUNDS[:2]:
        batch = campaign.next(**shuffled(members, set()))
        campaign.add_labels(answers(batch))
    first, second = campaign._journal.evidence().values()
    assert first.fingerprint != second.fingerprint
    assert json.loads(second.settings) == {
        "columns": [f"m{k}_{name}" for k in (0, 1) for name in ("virginica", "setosa", "versicolor")],
        "values": "probabilities",
        "members": 2,
        "base": False,
        "features": 0,
        "classes": ["virginica", "setosa", "versicolor"],
        "batch_size": 7,
        "told": {"columns": ["m0_*", "m1_*"]},
        "strategy": "min-margin",
        "strategy_options": {},
        "distinct": None,
    }


def test_a_round_that_was_cut_off_is_picked_again_as_it_would_have_been(begin_given, monkeypatch):
    whole, cut = begin_given("whole"), begin_given("cut")
    expected = whole.next(probabilities=ROUNDS[0])

    def fail(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("minmargin.campaign.journal.Journal.add_round", fail)
        with pytest.raises(KeyboardInterrupt):
            cut.next(probabilities=ROUNDS[0])
    assert list(Path("cut/batches").iterdir()) == []
    assert (cut.n_rounds, cut._journal.evidence()) == (0, {})
    assert cut.next(probabilities=ROUNDS[0]) == expected
    assert cut._journal.evidence() == whole._journal.evidence()


def test_the_same_probabilities_after_new_labels_are_pointed_out(begin_given):
    campaign = begin_given()
    batch = campaign.next(probabilities=ROUNDS[0])
    campaign.next(probabilities=ROUNDS[0], unlabeled_ok=True)  # nothing is known that was not before
    campaign.add_labels(answers(batch))
    with pytest.warns(mm.DataWarning) as warned:
        campaign.next(probabilities=ROUNDS[0], unlabeled_ok=True)
    assert [str(each.message) for each in warned] == [
        (
            "The probabilities are those of round 2, and labels came back since. Let your models learn from them, and "
            "compute the probabilities anew."
        )
    ]


def test_rows_that_the_pool_does_not_have_are_counted_and_not_looked_at(begin_given):
    frame = predicted(ROUNDS[0])
    more = pd.concat([frame[:2].assign(row_id=["x1", "x2"]), frame])
    campaign = begin_given()
    with pytest.warns(mm.DataWarning) as warned:
        batch = campaign.next(probabilities=more, columns=["m0_*", "m1_*"])
    assert [str(each.message) for each in warned] == [
        "2 rows of the probabilities are not in the pool (the first has id 'x1'), and not looked at."
    ]
    assert batch == begin_given("other").next(probabilities=frame, columns=["m0_*", "m1_*"])


def test_ids_are_matched_whatever_type_they_have(begin_given):
    for place in (0, 1):
        frame = pd.read_parquet(f"pool/{place}.parquet")
        frame.assign(row_id=frame["row_id"].str[1:].astype(int)).to_parquet(f"pool/{place}.parquet")
    frame = predicted(ROUNDS[0], range(150))
    batches = [
        begin_given(str(number)).next(probabilities=frame.assign(row_id=ids)[::-1], columns=["m0_*", "m1_*"])
        for number, ids in enumerate(
            [range(150), list(map(str, range(150))), np.arange(150.0), pd.Categorical(range(150))]
        )
    ]
    assert all(batch == batches[0] for batch in batches)
    assert batches[0].ids.dtype == np.int64


def test_classes_that_are_numbers(begin_given):
    campaign = begin_given(classes=[0, 1, 2])
    batch = campaign.next(probabilities=ROUNDS[0][0])
    assert set(batch.predicted.tolist()) <= {0, 1, 2}
    campaign.add_labels({each: CLASSES.index(TRUTH[each]) for each in batch.ids.tolist()})
    frame = pd.DataFrame(ROUNDS[1][0], columns=["p_0", "p_1", "p_2"]).assign(row_id=IDS)
    assert set(campaign.next(probabilities=frame, columns="p_*").predicted.tolist()) <= {0, 1, 2}
    assert campaign.status().rounds[1].agreed == sum(
        guess == CLASSES.index(TRUTH[each]) for guess, each in zip(batch.predicted, batch.ids, strict=True)
    )


def test_a_class_that_came_up_later(begin_given):
    campaign = begin_given(classes=["setosa", "versicolor"])
    batch = campaign.next(probabilities=ROUNDS[0][0][:, :2] + 0.0, values="logits")
    campaign.add_labels(dict.fromkeys(batch.ids.tolist(), "virginica"), new_classes=True)
    second = campaign.next(probabilities=ROUNDS[1][0])
    assert set(second.predicted.tolist()) <= set(CLASSES)
    known = campaign.next(
        probabilities=ROUNDS[2][0][:, :2],
        values="logits",
        classes=["versicolor", "setosa"],
        unlabeled_ok=True,
    )
    first = ROUNDS[2][0][known.rows[0], :2]
    assert known.predicted[0] == ["versicolor", "setosa"][int(first.argmax())]


# Status


def test_agreement_is_the_part_of_a_round_s_labels_that_was_predicted(begin_given):
    campaign = begin_given()
    first = campaign.next(probabilities=ROUNDS[0])
    labels = dict(zip(first.ids.tolist(), first.predicted.tolist(), strict=True))
    for each in list(labels)[:3]:
        labels[each] = CLASSES[CLASSES.index(labels[each]) - 1]
    campaign.add_labels(labels)
    campaign.next(probabilities=ROUNDS[1])
    status = campaign.status()
    assert [(each.agreed, each.agreement) for each in status.rounds] == [(None, None), (4, 4 / 7), (0, None)]
    assert str(status).splitlines() == [
        "Campaign told: 2 rounds, 7 labels, 7 picked rows wait for a label.",
        "round  picked  labeled  waiting  labels  agreement",
        "begin       0        0        0       0",
        "    1       7        7        0       7      57.1%",
        "    2       7        0        7       7",
        (
            "Agreement is the part of a round's labels that the models had predicted. Picked rows are the hard ones, "
            "so it is no accuracy, and tells nothing of ordinary rows."
        ),
    ]
    assert (status.accuracy, status.curve) == (None, ())
    assert status.to_dict()["rounds"][1]["agreement"] == 4 / 7


def test_the_page_shows_agreement_and_no_accuracy(begin_given):
    campaign = begin_given()
    batch = campaign.next(probabilities=ROUNDS[0])
    campaign.add_labels(dict(zip(batch.ids.tolist(), batch.predicted.tolist(), strict=True)))
    page = campaign.report("told.html").read_text()
    assert "Agreement is the part of a round" in page
    assert "100.0%" in page
    assert "ccuracy is that of the model" not in page
    assert "Learning curve" not in page
    assert "none: probabilities are given in every round" in page
    assert "minmargin campaign next told --probabilities probabilities.parquet" in page
