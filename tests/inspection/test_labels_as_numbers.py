"""Labels that pandas wrote as 0,0 and 1,0: numbers where decimal commas are declared, and asked about where not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import minmargin as mm

N = 60
TABLE = pd.DataFrame(
    {
        "score": np.arange(N) % 7 + 0.5,
        "bought": [(0.0, 1.0, None, 99.0)[i % 12 if i % 12 < 4 else i % 2] for i in range(N)],
    }
)
ASKED = (
    "Labeled row 3 and 4 others have the label {}, beside labels from {}. If this stands for no label, use {}, "
    "which holds for features, too; if it is a class, name all classes with classes=[...]{}."
)
LEFT_OUT = (
    "{} of 60 labeled rows have no label in column 'bought', such as row 2, so they are left out. Label such rows, or "
    "move them to the pool if they may be picked."
)


def written(folder: Path, table: pd.DataFrame = TABLE) -> Path:
    table.to_csv(folder / "labeled.csv", sep=";", decimal=",", index=False)
    return folder / "labeled.csv"


def test_labels_with_the_declared_decimal_comma_are_whole_numbers(tmp_path: Path) -> None:
    labeled = written(tmp_path)
    for missing in (99, "99", "99.0", "99,0"):
        reading = mm.Reading(decimal=",", missing=missing)
        found = mm.inspect(labeled, "bought", labeled, reading=reading)
        assert found.class_counts == {"0": 25, "1": 25}
        assert [each.message for each in found.findings] == [LEFT_OUT.format(10)]
        assert found.rows()[-1][:4] == ("bought", "number", "", "0 to 1")


def test_99_among_them_is_asked_about(tmp_path: Path) -> None:
    found = mm.inspect(labeled := written(tmp_path), "bought", labeled, reading=mm.Reading(decimal=","))
    assert found.findings[0].message == ASKED.format(
        "99", "0 to 1", "missing=['99']", ", or write labels as texts"
    )
    assert found.class_counts == {"0": 25, "1": 25, "99": 5}


def test_99_is_asked_about_with_the_decimal_mark_where_none_is_declared(tmp_path: Path) -> None:
    found = mm.inspect(labeled := written(tmp_path), "bought", labeled)
    assert found.findings[0].message == ASKED.format(
        "99,0", "0,0 to 1,0", "decimal=',' and missing=['99']", ""
    )


def test_fractions_are_refused_as_those_with_a_point_are(tmp_path: Path) -> None:
    halves = TABLE.assign(bought=[0.5, 1.0] * (N // 2))
    found = mm.inspect(written(tmp_path, halves), "bought", reading=mm.Reading(decimal=","))
    assert found.findings[0].message == (
        "The labels are numbers such as 0.5, not classes. Minimum-margin picks rows for classifiers: give class labels."
    )


@pytest.mark.parametrize("labels", [["1,5 l", "2,0 l"], ["a,b", "c"], ["007", "1,0"]])
def test_other_texts_with_commas_stay_texts(labels: list[str]) -> None:
    table = TABLE.assign(bought=labels * (N // 2))
    found = mm.inspect(table, "bought", reading=mm.Reading(decimal=","))
    assert found.class_counts == dict.fromkeys(labels, N // 2)


def test_a_declared_number_among_values_of_features_is_told() -> None:
    table = TABLE.assign(
        bought=[0, 1] * (N // 2), days=[*range(60, 118), 99, 99], age=[*range(20, 78), 99, 99]
    )
    found = mm.inspect(table, "bought", reading=mm.Reading(missing=99))
    (finding,) = found.findings
    assert finding.message == (
        "missing=['99'] holds for all columns, and so 99 is taken for a missing value in 3 labeled rows of column "
        "'days', where other values lie below and above it. If it is a value there, give cells that are empty in place "
        "of what stands for none elsewhere."
    )
    usual = table.assign(days=table["age"])  # as it should be
    assert mm.inspect(usual, "bought", reading=mm.Reading(missing=99)).findings == ()


def test_labels_with_a_comma_that_is_not_declared_are_told(tmp_path: Path) -> None:
    table = TABLE.assign(bought=[0.0, None, 1.0] * (N // 3), score=range(N))
    found = mm.inspect(labeled := written(tmp_path, table), "bought", labeled)
    assert "Labels '0,0', '1,0' are taken for texts. If they are numbers, use decimal=','." in [
        each.message for each in found.findings
    ]
    declared = mm.inspect(labeled, "bought", labeled, reading=mm.Reading(decimal=","))
    assert not [each for each in declared.findings if "taken for texts" in each.message]
