"""What inspect tells of tables, whatever they are kept in."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import minmargin as mm

RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(
    {
        "id": [f"r{i}" for i in range(60)],
        "age": np.where(np.arange(60) % 6 == 0, np.nan, np.arange(60) % 7),
        "plan": np.tile(["basic", "plus", "family"], 20),
        "day": pd.date_range("2026-01-01", periods=60),
        "vector": list(RNG.normal(size=(60, 3))),
        "same": 1,
        "nothing": None,
        "y": np.tile(["no", "yes"], 30),
    }
)


def test_columns_are_told_with_what_they_are_and_hold() -> None:
    found = mm.inspect(TABLE, "y", TABLE.drop(columns="y"), id_column="id")
    assert found.rows() == [
        ("age", "number", "16.7%", "0 to 6", "0 to 6; 16.7% missing", "yes"),
        ("plan", "category", "", "basic, family, plus", "basic, family, plus", "yes"),
        ("day", "date", "", "2026-01-01 to 2026-03-01", "2026-01-01 to 2026-03-01", "yes"),
        ("vector", "embedding", "", "", "", "yes"),
        ("same", "constant", "", "1 to 1", "1 to 1", "yes"),
        ("nothing", "empty", "100.0%", "", "100.0% missing", "no: it has no value"),
        ("id", "id", "", "60: r0, r1, r10, r11, …", "", "no: it identifies rows"),
        ("y", "category", "", "no, yes", "", "no: it is the label"),
    ]
    assert found.class_counts == {"no": 30, "yes": 30}
    assert found.summary == (
        "Read 60 labeled rows (no 30, yes 30) and 60 pool rows. 60 rows of the pool have the id of a labeled row, and "
        "are not picked again. Numbers: 'age'. Categories: 'plan'. Dates: 'day'. Embeddings: 'vector'. Constant: "
        "'same'. No features: 'nothing', 'id', 'y'."
    )
    assert found.findings == ()


def test_what_sets_the_pool_apart_is_told_with_each_column() -> None:
    """Without a warning: it may well be so."""
    rows = np.arange(100)
    pool = pd.DataFrame(
        {
            "age": np.where(rows % 4 == 0, np.nan, rows % 7),
            "plan": np.where(rows % 10 == 0, "none", "basic"),
            "day": pd.date_range("2026-03-02", periods=100),
        }
    )
    found = mm.inspect(TABLE[["age", "plan", "day", "y"]], "y", pool)
    assert found.findings == ()
    assert [row[4] for row in found.rows()] == [
        "0 to 6; 25.0% missing",
        "basic, none; 10.0% unknown",
        "2026-03-02 to 2026-06-09; all later",
        "",
    ]
    assert found.summary == (
        "Read 60 labeled rows (no 30, yes 30) and 100 pool rows. Numbers: 'age'. Categories: 'plan'. Dates: 'day'. "
        "No features: 'y'. With values that no labeled row has: 'plan' (10.0% of the pool)."
    )
    age, plan, day, _ = found.to_dict()["columns"]
    assert (age["missing"], age["missing_in_pool"], age["pool_values"]) == ("16.7%", "25.0%", "0 to 6")
    assert (plan["unknown_in_pool"], day["unknown_in_pool"]) == ("10.0%", "")
    early = mm.inspect(
        TABLE[["age", "day", "y"]], "y", pool.assign(day=pd.date_range("2025-01-01", periods=100))
    )
    assert early.rows()[1][4] == "2025-01-01 to 2025-04-10; all earlier"


def test_a_table_without_labels_can_be_inspected() -> None:
    found = mm.inspect(TABLE[["plan", "age"]])
    assert found.summary == "Read 60 rows. Categories: 'plan'. Numbers: 'age'."


def test_a_notebook_shows_a_table_and_escapes_what_it_holds() -> None:
    page = mm.inspect(TABLE[["plan", "y"]].replace("plus", "<b>"), "y")._repr_html_()
    assert "<td>&lt;b&gt;, basic, family</td>" in page.replace(
        "basic, family, &lt;b&gt;", "&lt;b&gt;, basic, family"
    )
    assert "<b>" not in page


def test_rows_come_from_everywhere_in_a_large_pool(tmp_path: Path) -> None:
    n_rows = 200_000
    wide = pa.table({"age": np.arange(n_rows) % 7.0, "plan": np.repeat(["basic", "plus"], n_rows // 2)})
    pq.write_table(wide, tmp_path / "pool.parquet", row_group_size=10_000)
    found = mm.inspect(TABLE[["age", "plan", "y"]], "y", tmp_path / "pool.parquet")
    (plan,) = [seen for seen in found.columns if seen.column.name == "plan"]
    assert plan.pool is not None
    assert {text for text, _ in plan.pool.levels} == {"basic", "plus"}
    assert (found.n_pool, found.n_looked_at) == (200_000, 20_000)


def test_a_stream_is_not_read_before_it_is_scanned() -> None:
    chunks = iter([TABLE.drop(columns=["y", "vector"])])
    labeled = TABLE.drop(columns="vector")
    batch = mm.select(
        labeled, "y", chunks, 3, preprocess="auto", features=["age", "plan"], n_models=2, random_state=0
    )
    assert batch.manifest["inspection"]["pool_rows_looked_at"] == 0


def test_an_array_has_nothing_to_read_back() -> None:
    X = RNG.normal(size=(40, 2))
    batch = mm.select(X, np.arange(40) % 2, X, 3, n_models=2, random_state=0)
    assert batch.manifest["inspection"]["columns"] == []


def test_what_was_read_is_told_before_anything_is_trained() -> None:
    told: list[str] = []
    mm.select(
        TABLE,
        "y",
        TABLE,
        3,
        features=["age", "plan"],
        preprocess="auto",
        n_models=2,
        random_state=0,
        progress=lambda stage, *_: told.append(stage),
        inspected=lambda found: told.append(f"read {found.n_labeled}"),
    )
    assert told[0] == "read 60"
    assert "training" in told


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (
            ["no"] * 30 + ["yes"] * 29 + ["yess"],
            "Class 'yess' has one labeled row, where others have many. Did you mean 'yes'? If not, label a few more.",
        ),
        (
            ["no"] * 29 + ["yes"] * 29 + ["maybe", "other"],
            "Classes 'maybe', 'other' each have one labeled row, where others have many. Label a few more.",
        ),
        (
            ["no", "yes", *map(str, range(58))],
            "",  # there is little of everything
        ),
    ],
)
def test_a_class_with_one_row_is_pointed_out(labels: list[str], message: str) -> None:
    found = mm.inspect(TABLE.assign(y=labels)[["age", "y"]], "y")
    assert [finding.message for finding in found.findings] == ([message] if message else [])


@pytest.mark.parametrize("mark", ["?", "n/a", "NA", "NULL", "#N/A", "(blank)", "-"])
def test_labels_that_may_stand_for_none_are_asked_about(mark: str) -> None:
    labels = ["no", "yes", mark] * 20
    table = TABLE.assign(y=labels)
    found = mm.inspect(table, "y")
    assert found.findings[0].message == (
        f"Labeled row 2 and 19 others have the label {mark!r}. If this stands for no label, use missing=[{mark!r}]; if "
        "it is a class, name all classes with classes=[...]."
    )
    assert found.refused
    assert not mm.inspect(table, "y", classes=["no", "yes", mark]).refused
    assert mm.inspect(table, "y", reading=mm.Reading(missing=mark)).title == (
        "40 labeled rows (no 20, yes 20) and 20 pool rows."
    )


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (
            ["yes", "Yes", "no", "no ", "no", "so"],
            (
                "Classes 'Yes', 'yes' differ by capitals or blanks alone, and count as 2 classes. So do 'no', 'no '. "
                "Spell them alike."
            ),
        ),
        (
            ["yes", "YES", " yes", "no", "no", "no"],
            (
                "Classes ' yes', 'YES', 'yes' differ by capitals or blanks alone, and count as 3 classes. Spell them "
                "alike."
            ),
        ),
        (
            ["yes", "no", "None", "no", "yes", "no"],
            "10 labeled rows are of class 'None'. If this stands for no label, use missing=['None'].",
        ),
        (
            ["Y", "y", "N"],
            "Classes 'Y', 'y' differ by capitals or blanks alone, and count as 2 classes. Spell them alike.",
        ),
        (
            ["none", "unknown", "yes"],
            "20 labeled rows are of class 'none'. If this stands for no label, use missing=['none'].",
        ),
        (["unknown", "maybe", "yes"], ""),
        (["A", "a", "B", "b", "C", "c", "D", "d", "E", "e"], ""),  # letters, as they are written by hand
    ],
)
def test_classes_that_may_be_one_or_none_are_pointed_out(labels: list[str], message: str) -> None:
    table = TABLE.assign(y=labels * (60 // len(labels)))[["age", "y"]]
    assert [each.message for each in mm.inspect(table, "y").findings] == ([message] if message else [])


def test_a_class_that_was_respelled_once_is_pointed_out_once() -> None:
    table = TABLE.assign(y=["yes", "no"] * 29 + ["Yes", "no"])[["age", "y"]]
    assert [each.message for each in mm.inspect(table, "y").findings] == [
        "Classes 'Yes', 'yes' differ by capitals or blanks alone, and count as 2 classes. Spell them alike."
    ]


def test_ids_that_several_rows_of_the_pool_have_are_pointed_out() -> None:
    pool = TABLE[["id", "age"]].replace({"r7": "r8", "r9": "r8", "r11": "r10"})
    found = mm.inspect(TABLE[["age", "y"]], "y", pool, id_column="id")
    (finding,) = found.findings
    assert finding.message == (
        "Column 'id' identifies rows, and in the pool 2 ids are there more than once, such as 'r8', 3 times. Who "
        "labels by id cannot tell these rows apart: number them."
    )


def test_a_point_that_may_stand_between_thousands_is_asked_about() -> None:
    table = pd.DataFrame({"wage": [f"{i % 9 + 1}.{i:03}" for i in range(40)], "y": ["no", "yes"] * 20})
    found = mm.inspect(table, "y", reading=mm.Reading(decimal=","))
    assert [finding.message for finding in found.findings] == [
        (
            "Column 'wage' of the labeled set is read as a category, and its 40 values look like numbers, such as "
            "'1.000'. If they are, use decimal=',' and thousands='.'."
        )
    ]
    assert mm.inspect(table, "y", reading=mm.Reading(decimal=",", thousands=".")).findings == ()


def test_decimal_points_where_points_stand_between_thousands_are_pointed_out() -> None:
    table = pd.DataFrame(
        {
            "wage": [f"{1000 + i}".replace("1", "1.", 1) + ",5" for i in range(40)],
            "share": [f"0.{i + 10}" for i in range(40)],
            "y": ["no", "yes"] * 20,
        }
    )
    found = mm.inspect(table, "y", reading=mm.Reading(decimal=",", thousands="."))
    assert [finding.message for finding in found.findings] == [
        (
            "Column 'share' of the labeled set is read as a category, and its values look like numbers with a decimal "
            "point, such as '0.10', where others have a comma. Write all in one way, or use drop=['share']."
        )
    ]


def test_what_is_said_of_one_column_does_not_hide_another() -> None:
    table = pd.DataFrame(
        {
            "day": [f"{i % 28 + 1:02}.01.2026" for i in range(40)],
            "age": [str(i) if i else "?" for i in range(40)],
            "y": ["no", "yes"] * 20,
        }
    )
    found = mm.inspect(table, "y", reading=mm.Reading(missing="?"))
    assert [finding.message for finding in found.findings] == [
        (
            "Column 'day' of the labeled set is read as a category, and its values look like dates, such as "
            "'01.01.2026'. If they are, use date=['day']."
        )
    ]
    assert mm.inspect(table, "y", reading=mm.Reading(missing="?", category="day")).findings == ()


# Other columns, and many at once


def test_columns_that_are_not_used_are_told_as_they_would_be_read(tmp_path: Path) -> None:
    lines = ["n;code;price;y", *(f"{i};{i % 7};{i},5;{'ab'[i % 2]}" for i in range(40))]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    reading = mm.Reading(decimal=",", drop=["code"])
    found = mm.inspect(tmp_path / "t.csv", "y", id_column="n", reading=reading)
    assert [(row[0], row[1], row[3]) for row in found.rows()] == [
        ("price", "number", "0.5 to 39.5"),
        ("n", "id", "0 to 39"),
        ("code", "number", "0 to 6"),
        ("y", "category", "a, b"),
    ]
    pd.DataFrame({"a": range(40), "b": range(40), "y": ["a", "b"] * 20}).to_csv(
        tmp_path / "u.csv", index=False
    )
    found = mm.inspect(tmp_path / "u.csv", "y", reading=mm.Reading(drop=["b"]))
    assert [row[:2] for row in found.rows()] == [("a", "number"), ("b", "number"), ("y", "category")]


def with_commas(n_columns: int) -> pd.DataFrame:
    """A table whose numbers have decimal commas, all of them different, and one of thousands."""
    columns = {f"c{k}": [f"{i},{k}" for i in range(40)] for k in range(n_columns)}
    return pd.DataFrame({**columns, "name": [f"n. {i}" for i in range(40)], "y": ["no", "yes"] * 20})


def test_the_same_fault_of_many_columns_is_told_once() -> None:
    said = "Column 'c0' of the labeled set is read as a category, and its 40 values look like numbers, such as '0,0'. "
    mend = "If they are, use decimal=','."
    others = "The same holds of 'c1', 'c2', 'c3', 'c4', 'c5', 'c6' and 5 more."
    found = mm.inspect(with_commas(12), "y", id_column="name").findings
    assert [each.message for each in found] == [f"{said}{mend} {others}"]
    assert (found[0].column, found[0].others) == ("c0", tuple(f"c{k}" for k in range(1, 12)))
    dated = with_commas(1).assign(day=[f"{1 + i % 28}.11.2026" for i in range(40)])
    assert [each.column for each in mm.inspect(dated, "y", id_column="name").findings] == ["c0", "day"]
    two = mm.inspect(with_commas(2), "y", id_column="name").findings
    assert [(each.column, each.others) for each in two] == [("c0", ()), ("c1", ())]


def test_a_learner_of_numbers_asks_for_the_decimal_mark() -> None:
    """It sends nobody to preprocess, which would make categories of them."""
    table = with_commas(1)[["c0", "y"]]
    with pytest.raises(mm.InputError) as error:
        mm.select(table, "y", table, 2)
    assert str(error.value) == (
        "Column 'c0' holds texts that look like numbers, such as '0,0'. If they are, use decimal=','."
    )


def test_apostrophes_of_our_csv_files_are_pointed_out(tmp_path: Path) -> None:
    """A batch that was labeled in its CSV file has other texts than the pool that it came from."""
    pool = pd.DataFrame({"note": ["=1+1", "-a", "plain"] * 20, "x": RNG.normal(size=60)})
    first = pool[:30].assign(y=["no", "yes"] * 15)
    batch = mm.select(first, "y", pool, 30, keep=["x", "note"], features=["x"], random_state=0, n_models=2)
    batch.to_csv(tmp_path / "batch.csv")
    labeled = pd.read_csv(tmp_path / "batch.csv")[["note", "x"]].assign(y=["no", "yes"] * 15)
    assert sorted(labeled["note"].unique()) == ["'-a", "'=1+1", "plain"]
    said = [each.message for each in mm.inspect(labeled, "y", pool).findings]
    assert len(said) == 1
    assert said[0].startswith("Column 'note' of the labeled set has \"'")
    assert said[0].endswith(
        ": a CSV file of minmargin has an apostrophe before what a spreadsheet would run. Use a Parquet file of the "
        "batch, or remove the apostrophes."
    )
    assert mm.inspect(first, "y", pool).findings == ()
    quoted = pool.assign(note=pool["note"].replace({"=1+1": "'=1+1", "-a": "'-a"}))
    assert mm.inspect(labeled, "y", quoted).findings == ()


def test_what_comes_before_decimals_in_one_column_tells_it_of_others() -> None:
    table = pd.DataFrame(
        {
            "rate": [f"{i % 9},{i % 7}1{i % 5}" for i in range(40)],  # decimals or thousands
            "balance": [f"{i},5" for i in range(40)],
            "y": ["no", "yes"] * 20,
        }
    )
    assert [each.message.rpartition(". ")[2] for each in mm.inspect(table, "y").findings] == [
        "If they are, use decimal=','."
    ] * 2
    alone = mm.inspect(table[["rate", "y"]].replace({"rate": "0,"}, "1,", regex=True), "y")
    assert alone.findings[0].message.endswith("If they are, use decimal=',' or thousands=','.")
    americans = table.assign(balance=[f"{i + 1},000.5" for i in range(40)])
    americans["rate"] = [f"{i % 9 + 1},{i % 7}1{i % 5}" for i in range(40)]
    assert [each.message.rpartition(". ")[2] for each in mm.inspect(americans, "y").findings] == [
        "If they are, use thousands=','."
    ] * 2


def test_dates_that_are_numbers_are_read_from_frames_as_from_files() -> None:
    days = pd.date_range("2024-01-20", periods=60)
    table = pd.DataFrame(
        {
            "day": days.strftime("%Y%m%d").astype(int),
            "at": (days - pd.Timestamp("1970-01-01")).total_seconds(),
            "serial": (days - pd.Timestamp("1899-12-30")).days + 0.5,
            "y": ["no", "yes"] * 30,
        }
    )
    reading = mm.Reading(date={"day": "%Y%m%d", "at": "unix", "serial": "excel"})
    found = mm.inspect(table, "y", table[["day", "at", "serial"]], reading=reading)
    assert [row[1:4] for row in found.rows()[:3]] == [
        ("date", "", "2024-01-20 to 2024-03-19"),
        ("date", "", "2024-01-20 to 2024-03-19"),
        ("date", "", "2024-01-20 12:00:00 to 2024-03-19 12:00:00"),
    ]


def test_dates_of_two_forms_are_told_with_both() -> None:
    table = pd.DataFrame({"day": pd.date_range("2024-01-20", periods=40), "y": ["no", "yes"] * 20})
    with pytest.raises(mm.InputError) as caught:
        mm.inspect(
            table.assign(day=table["day"].dt.strftime("%Y-%m-%d")),
            "y",
            table[["day"]].assign(day=table["day"].dt.strftime("%d.%m.%Y")),
            reading=mm.Reading(date="day"),
        )
    assert str(caught.value) == (
        "Pool row 0, column 'day', holds '20.01.2024', which is no date, but one of the form %d.%m.%Y. Write dates in "
        "one form, in the labeled set and in the pool."
    )
