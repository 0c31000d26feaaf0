"""Types of columns that came as texts."""

from __future__ import annotations

import pyarrow as pa
import pytest

from minmargin.data.guessing import guess_types


def guessed(*texts: str | None) -> tuple[str, list[object]]:
    column = guess_types(pa.table({"x": pa.array(texts, pa.string())}))["x"]
    return str(column.type), column.to_pylist()


@pytest.mark.parametrize(
    ("texts", "kind", "values"),
    [
        (["1", "-2", "+3", ""], "int64", [1, -2, 3, None]),
        (["1", "2.5", "1e3", ".5", "5."], "double", [1.0, 2.5, 1000.0, 0.5, 5.0]),
        ([" 1 ", "NA", None], "int64", [1, None, None]),
        (["9" * 19, "1"], "double", [float("9" * 19), 1.0]),
        (["True", "false", ""], "bool", [True, False, None]),
        (["", "NA", None], "null", [None, None, None]),
        (["007", "12"], "string", ["007", "12"]),
        (["0x1A", "12"], "string", ["0x1A", "12"]),
        (["1,5", "2"], "string", ["1,5", "2"]),
        (["0", "0.5", "-0"], "double", [0.0, 0.5, -0.0]),
        (["a", "", "NA"], "string", ["a", "", "NA"]),
        (["12:30", "13:00"], "string", ["12:30", "13:00"]),
    ],
)
def test_a_column_is_what_all_its_values_are(
    texts: list[str | None], kind: str, values: list[object]
) -> None:
    assert guessed(*texts) == (kind, values)


def test_days_and_moments_are_dates() -> None:
    kind, values = guessed("2024-03-01", "2024-03-01T10:30:00", "")
    assert kind == "timestamp[us]"
    assert [str(value) for value in values] == ["2024-03-01 00:00:00", "2024-03-01 10:30:00", "None"]


def test_columns_that_are_to_be_left_stay_texts() -> None:
    table = pa.table({"zip": ["1", "2"], "age": ["1", "2"]})
    found = guess_types(table, leave={"zip"})
    assert [str(kind) for kind in found.schema.types] == ["string", "int64"]
