"""Adding labels: from anything that holds ids and labels, all or none, as often as one likes."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import minmargin as mm
from campaign.flowers import TRUTH, answers


@pytest.fixture
def played(begin):
    """A campaign with one round, and the true labels of its batch."""
    campaign = begin()
    return campaign, answers(campaign.next(n_jobs=1))


def complaint(campaign: mm.Campaign, labels: object, **more: object) -> str:
    before = campaign._journal.labels()
    with pytest.raises(mm.InputError) as caught:
        campaign.add_labels(labels, n_jobs=1, **more)
    assert campaign._journal.labels() == before, "all or nothing"
    return str(caught.value)


def write(kind: str, labels: dict[str, str]) -> object:
    frame = pd.DataFrame({"id": list(labels), "label": list(labels.values())})
    if kind == "csv":
        frame.to_csv("labels.csv", index=False)
    elif kind == "parquet":
        frame.to_parquet("labels.parquet")
    elif kind == "feather":
        frame.to_feather("labels.feather")
    elif kind == "jsonl":
        lines = [json.dumps({"id": each, "label": label}) for each, label in labels.items()]
        Path("labels.jsonl").write_text("\n".join(lines) + "\n\n")
    else:
        made = {"pandas": lambda: frame, "polars": lambda: pl.from_pandas(frame), "mapping": lambda: labels}
        return {**made, "arrow": lambda: pa.table(frame.to_dict("list"))}[kind]()
    return f"labels.{kind}"


@pytest.mark.parametrize(
    "kind", ["csv", "parquet", "feather", "jsonl", "pandas", "polars", "arrow", "mapping"]
)
def test_labels_come_from_anything_that_holds_ids_and_labels_and_twice_does_no_harm(played, kind):
    campaign, labels = played
    source = write(kind, labels)
    assert campaign.add_labels(source, n_jobs=1) == (7, 0, 0, 0)
    assert campaign.add_labels(source, n_jobs=1) == (0, 7, 0, 0)
    assert {each: label.label for each, label in campaign._journal.labels().items()} == labels
    assert campaign._journal.last_addition() == 1


def test_rows_without_a_label_are_counted_and_wait(played):
    campaign, labels = played
    first, second, *_ = labels
    assert campaign.add_labels({**labels, first: None, second: " "}, n_jobs=1) == (5, 0, 0, 2)
    assert campaign.status().unlabeled == 2


def test_ids_that_were_never_picked_are_refused_by_name(played):
    campaign, labels = played
    assert complaint(campaign, {**labels, "r000": "setosa", "who": "setosa"}) == (
        "The mapping: 2 ids were never picked in this campaign ('r000', 'who'). "
        "Leave them out; no label was added."
    )


def test_a_class_that_is_not_known_needs_leave(played):
    campaign, labels = played
    first = next(iter(labels))
    assert complaint(campaign, {**labels, first: "virginca"}) == (
        "The mapping: 'virginca' is no class of this campaign ('setosa', 'versicolor', 'virginica'). "
        "Did you mean 'virginica'? Mend it, or use new_classes=True; no label was added."
    )
    assert campaign.add_labels({first: "lily"}, new_classes=True, n_jobs=1).new == 1
    assert campaign._journal.classes() == ["setosa", "versicolor", "virginica", "lily"]


def test_another_label_for_a_labeled_row_needs_leave_and_the_old_one_is_kept_beside_it(played):
    campaign, labels = played
    campaign.add_labels(labels, n_jobs=1)
    first = next(iter(labels))
    other = next(name for name in ("setosa", "virginica") if name != labels[first])
    assert complaint(campaign, {first: other}) == (
        f"The mapping: 1 row has another label already (row {first!r} has {labels[first]!r}, and {other!r} was "
        "given). Mend it, or use replace=True; no label was added."
    )
    assert campaign.add_labels({first: other}, replace=True, n_jobs=1) == (0, 0, 1, 0)
    assert campaign._journal.labels()[first].label == other
    assert campaign._journal.labels(upto=1)[first].label == labels[first]


def test_a_row_with_two_labels_and_a_label_without_a_row_are_refused(played):
    campaign, labels = played
    first = next(iter(labels))
    two = pa.table({"id": [first, first], "label": ["setosa", "virginica"]})
    assert complaint(campaign, two) == (
        f"The frame: row {first!r} has two labels, 'setosa' and 'virginica'. Leave one of them; no label was added."
    )
    assert complaint(campaign, pa.table({"id": [None], "label": ["setosa"]})) == (
        "The frame: label 'setosa' has no id. Name its row; no label was added."
    )


def test_columns_of_other_names_can_be_named(played):
    campaign, labels = played
    frame = pd.DataFrame({"key": list(labels), "answer": list(labels.values())})
    assert complaint(campaign, frame) == (
        "Column 'row_id' is not in the frame of labels (columns: 'key', 'answer')."
    )
    assert campaign.add_labels(frame, id_column="key", label_column="answer", n_jobs=1).new == 7


def test_a_broken_line_of_json_is_named(played):
    campaign, _ = played
    Path("labels.jsonl").write_text('{"id": "r001", "label": "setosa"}\n[1]\n')
    assert complaint(campaign, "labels.jsonl") == "Line 2 of 'labels.jsonl' is not a JSON object. Mend it."


@pytest.mark.parametrize("as_text", [False, True])
def test_whole_number_ids_and_labels_come_back_from_texts_and_floats(here, begin, as_text):
    for path in ("pool/0.parquet", "pool/1.parquet"):
        frame = pd.read_parquet(path)
        frame.assign(row_id=2**53 + 1 + frame.row_id.str[1:].astype(int)).to_parquet(path)
    classes = ["setosa", "versicolor", "virginica"]
    labeled = pd.read_csv("labeled.csv").drop(columns="row_id")
    campaign = begin(labeled=labeled.assign(y=labeled.y.map(classes.index)))
    batch = campaign.next(n_jobs=1)
    truth = [classes.index(TRUTH[f"r{each - 2**53 - 1:03d}"]) for each in batch.ids.tolist()]
    if as_text:
        pd.DataFrame({"id": batch.ids, "y": [float(each) for each in truth]}).to_csv(
            "labels.csv", index=False
        )
        source = "labels.csv"
    else:
        source = pd.DataFrame({"id": batch.ids, "y": [float(each) for each in truth]})
    assert campaign.add_labels(source, n_jobs=1).new == 7
    assert campaign.labeled()["y"].to_pylist()[-7:] == truth
    assert not set(batch.ids.tolist()) & set(campaign.next(n_jobs=1).ids.tolist())


def test_ids_of_csv_files_stay_texts_and_an_apostrophe_of_ours_is_no_part_of_them(here, begin):
    for place in (0, 1):
        frame = pd.read_parquet(f"pool/{place}.parquet")
        frame.assign(row_id="-" + frame.row_id).to_csv(f"pool/{place}.csv", index=False)
    campaign = begin(pool="pool/*.csv", labeled=pd.read_csv("labeled.csv").drop(columns="row_id"))
    batch = campaign.next(csv=True, n_jobs=1)
    returned = pd.read_csv(campaign.batch_path().with_suffix(".csv"))
    assert returned["id"].str.startswith("'-r").all()
    returned.assign(label=[TRUTH[each[1:]] for each in batch.ids.tolist()]).to_csv("back.csv", index=False)
    assert campaign.add_labels("back.csv", n_jobs=1).new == 7


def test_ids_that_a_spreadsheet_has_spelled_anew_are_recognized_and_refused(begin):
    campaign = begin()
    picked = campaign.next(n_jobs=1).ids[0]
    respelled = f" {picked} "
    assert complaint(campaign, {respelled: "setosa"}) == (
        f"The mapping: 1 id was never picked in this campaign ('{respelled}'). Row '{picked}' was, so zeros, blanks, "
        "points or commas of ids were lost or added, as spreadsheets do it. Put the ids back as they stood in the "
        "batch; no label was added."
    )


def numbered(begin, of_csv):
    """Begin a campaign whose ids are whole numbers from 7,000 on: numbers, or the texts of a CSV file."""
    pool = pd.concat([pd.read_parquet(path) for path in sorted(Path("pool").iterdir())])
    pool = pool.assign(row_id=7000 + pool.row_id.str[1:].astype(int))
    pool.to_csv("pool.csv", index=False)
    pool.to_parquet("pool.parquet")
    labeled = pd.read_csv("labeled.csv").drop(columns="row_id")
    return begin(pool="pool.csv" if of_csv else "pool.parquet", labeled=labeled)


@pytest.mark.parametrize("of_csv", [True, False])
def test_ids_with_point_zero_are_those_without_as_at_the_beginning(begin, of_csv):
    campaign = numbered(begin, of_csv)
    batch = campaign.next(n_jobs=1)
    ids = [int(each) for each in batch.ids.tolist()]
    # pandas has read a column with a gap
    labels = [TRUTH[f"r{each - 7000:03d}"] for each in ids]
    pd.DataFrame({"row_id": [*map(float, ids), None], "y": [*labels, None]}).to_csv("back.csv", index=False)
    assert f"{ids[0]}.0" in Path("back.csv").read_text()
    assert campaign.add_labels("back.csv", n_jobs=1).new == 7
    assert campaign.labeled()["y"].to_pylist()[-7:] == labels
    assert campaign.add_labels(
        {f"{each}.0": label for each, label in zip(ids, labels, strict=True)}, n_jobs=1
    ) == (0, 7, 0, 0)
    other = "virginica" if labels[0] == "setosa" else "setosa"
    assert complaint(campaign, {str(ids[0]): labels[0], f"{ids[0]}.0": other}) == (
        f"The mapping: row '{ids[0]}.0' has two labels, '{labels[0]}' and '{other}'. Leave one of them; no label was "
        "added."
    )


def test_ids_that_differ_by_point_zero_alone_stay_apart(begin):
    pool = pd.concat([pd.read_parquet(path) for path in sorted(Path("pool").iterdir())])
    pool.assign(row_id=[*(f"{n}.0" for n in range(75)), *map(str, range(75))]).to_parquet("pool.parquet")
    labeled = pd.read_csv("labeled.csv").drop(columns="row_id")
    campaign = begin(pool="pool.parquet", labeled=labeled, batch_size=150, distinct=False)
    ids = campaign.next(n_jobs=1).ids.tolist()
    assert campaign.add_labels({"5.0": "setosa", "5": "virginica"}, n_jobs=1).new == 2
    rows = campaign.labeled().to_pandas().set_index("row_id")["y"]
    assert (rows["5.0"], rows["5"], len(ids)) == ("setosa", "virginica", 150)
    assert complaint(campaign, {"5.00": "setosa"}) == (
        "The mapping: 1 id was never picked in this campaign ('5.00'). Row '5' was, so zeros, blanks, points or commas "
        "of ids were lost or added, as spreadsheets do it. Put the ids back as they stood in the batch; no label was "
        "added."
    )


@pytest.mark.parametrize("of_csv", [True, False])
@pytest.mark.parametrize("spelled", ["{},0", "{},00", "{:,}", "{:_}", "000{}", "{}.", "x{}"])
def test_respelled_numbers_are_hinted_at_before_anybody_leaves_them_out(begin, of_csv, spelled):
    campaign = numbered(begin, of_csv)
    picked = int(campaign.next(n_jobs=1).ids[0])
    given = spelled.format(picked).replace("_", ".")
    if not of_csv and spelled in {"000{}", "{}."}:  # numbers are known by their value
        assert campaign.add_labels({given: "setosa"}, n_jobs=1).new == 1
        return
    said = (
        "Leave them out"
        if spelled == "x{}"
        else f"Row '{picked}' was, so zeros, blanks, points or commas of ids were lost or added, as spreadsheets do "
        "it. Put the ids back as they stood in the batch"
    )
    assert complaint(campaign, {"never": "setosa", given: "setosa"}) == (
        f"The mapping: 2 ids were never picked in this campaign ('never', '{given}'). {said}; no label was added."
    )


def test_a_table_with_two_columns_of_labels_is_asked_about(begin):
    campaign = begin()
    ids = campaign.next(n_jobs=1).ids
    table = pd.DataFrame({"row_id": ids, "y": "setosa", "label": "virginica"})
    assert complaint(campaign, table) == (
        "Labels may be in column 'y' or 'label' of the frame of labels. Say which with label_column='y'."
    )
    assert campaign.add_labels(table, label_column="label", n_jobs=1).new == len(ids)


def test_marks_that_were_declared_missing_are_no_labels(begin):
    campaign = begin(reading=mm.Reading(missing=["k.A."]))
    ids = campaign.next(n_jobs=1).ids.tolist()
    added = campaign.add_labels({ids[0]: "setosa", ids[1]: " k.A. "}, n_jobs=1)
    assert (added.new, added.empty) == (1, 1)
    # What was declared makes texts of the numbers in a CSV file, and the pool's are numbers.
    assert campaign.labeled()["a"].type == pa.float64()
    assert campaign.labeled()["a"].null_count == 0
    assert len(campaign.next(unlabeled_ok=True, n_jobs=1)) == 7


def test_codes_in_a_file_of_texts_and_in_a_pool_of_numbers_are_one_category(here, begin):
    for path in sorted(Path("pool").iterdir()):
        rows = pd.read_parquet(path)
        rows.assign(code=[7 + row % 2 for row in range(len(rows))]).to_parquet(path)
    labeled = pd.read_csv("labeled.csv")
    labeled.assign(code=[f"{7 + row % 2}" for row in range(len(labeled))]).to_csv("labeled.csv", index=False)
    campaign = begin(reading=mm.Reading(category=["code"]), preprocess="auto")
    campaign.add_labels(answers(campaign.next(n_jobs=1)), n_jobs=1)
    assert campaign.labeled()["code"].type == pa.string()
    assert len(campaign.next(n_jobs=1)) == 7


def test_an_id_of_thousands_of_digits_was_never_picked(begin):
    table = pd.read_csv("labeled.csv")
    del table["row_id"]
    campaign = begin(id_column=None, labeled=table)
    campaign.next(n_jobs=1)
    assert "was never picked" in complaint(campaign, {"9" * 5000: "setosa"})
