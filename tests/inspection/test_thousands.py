"""Points that may stand between thousands: 1.250 is asked about where something speaks for 1250, and only there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

import minmargin as mm
from minmargin.cli.flags import with_flags

MENDED = mm.Reading(decimal=",", thousands=".")


def write(
    path: Path, values: Callable[[int], str], delimiter: str, other: str = "{}", *, labeled: bool
) -> None:
    """Write a table of 40 rows with a column c, and a column n of other numbers."""
    names = ["c", "n", *(["y"] if labeled else [])]
    rows = [
        [values(i), other.format(i % 9), *(["no", "yes"][i % 2 :][:1] if labeled else [])] for i in range(40)
    ]
    path.write_text("".join(delimiter.join(f'"{cell}"' for cell in row) + "\n" for row in [names, *rows]))


def findings(
    folder: Path,
    labeled: Callable[[int], str],
    pool: Callable[[int], str],
    *,
    delimiter: str = ";",
    other: str = "{}",
    reading: mm.Reading | None = None,
) -> list[str]:
    write(folder / "labeled.csv", labeled, delimiter, other, labeled=True)
    write(folder / "pool.csv", pool, delimiter, other, labeled=False)
    found = mm.inspect(folder / "labeled.csv", "y", folder / "pool.csv", reading=reading)
    return [each.message for each in found.findings]


def asked(where: str, n: int, example: str) -> list[str]:
    message = (
        f"Column 'c' of {where} is read as numbers, and all {n} values that have a point have three digits behind it, "
        f"such as {example!r}. If it stands between thousands, use decimal=',' and thousands='.'; if not, number=['c']."
    )
    return [message]


def grouped(i: int) -> str:
    return f"{i % 9 + 1}.{250 + 10 * i}"


def some_grouped(i: int) -> str:
    return grouped(i) if i % 4 else f"{640 + i}"


def below(i: int) -> str:
    return f"{640 + i % 9}"


CASES = {
    "a file with semicolons": (grouped, grouped, ";", "the labeled set", 40, "1.250"),
    "beside numbers without a point": (some_grouped, some_grouped, ",", "the labeled set", 30, "2.260"),
    "in the pool": (below, some_grouped, ",", "the pool", 30, "2.260"),
    "in the pool, where the labeled set has only small ones": (below, grouped, ",", "the pool", 40, "1.250"),
    "in the labeled set, where the pool has only small ones": (
        grouped,
        below,
        ",",
        "the labeled set",
        40,
        "1.250",
    ),
}


@pytest.mark.parametrize(("labeled", "pool", "delimiter", "where", "n", "example"), CASES.values(), ids=CASES)
def test_points_that_may_stand_between_thousands_are_asked_about(
    tmp_path: Path,
    labeled: Callable[[int], str],
    pool: Callable[[int], str],
    delimiter: str,
    where: str,
    n: int,
    example: str,
) -> None:
    found = findings(tmp_path, labeled, pool, delimiter=delimiter)
    assert found == asked(where, n, example)
    assert with_flags(found[0]).endswith(
        "If it stands between thousands, use --decimal ',' and --thousands '.'; if not, --number c."
    )
    for reading in (MENDED, mm.Reading(number="c"))[: 2 if labeled is pool else 1]:
        left = findings(tmp_path, labeled, pool, delimiter=delimiter, reading=reading)
        # Small ones and thousands may differ by their unit as well.
        assert left == [] if labeled is pool or pool is some_grouped else "same unit" in left[0]
    read = mm.inspect(tmp_path / "labeled.csv", "y", tmp_path / "pool.csv", reading=MENDED)
    (column,) = [each for each in read.columns if each.column.name == "c"]
    assert column.column.kind == "number"
    assert column.pool is not None
    assert column.pool.numbers is not None
    assert column.pool.numbers.lowest > 600


@pytest.mark.parametrize(
    ("values", "delimiter", "other"),
    [
        (grouped, ",", "{}"),  # three decimals, as many programs write them
        (grouped, ";", "{}.5"),  # the file has decimal points
        (lambda i: f"0.{250 + i}" if i == 7 else grouped(i), ";", "{}"),
        (lambda i: f"{i}.5" if i == 7 else some_grouped(i), ",", "{}"),
        (lambda i: "1250" if i == 7 else some_grouped(i), ";", "{}"),
        (lambda i: "0" if i % 4 == 0 else grouped(i), ",", "{}"),  # nothing beside three decimals
        (lambda i: grouped(i) if i < 4 else below(i), ",", "{}"),  # too few to tell
        (lambda i: f"{i / 8:g}", ";", "{}"),
        (lambda i: f"{i / 7:.3f}", ";", "{}"),
        (lambda i: f"{1250 + i}.5", ";", "{}"),
    ],
)
def test_decimals_are_not_asked_about(
    tmp_path: Path, values: Callable[[int], str], delimiter: str, other: str
) -> None:
    assert findings(tmp_path, values, values, delimiter=delimiter, other=other) == []


def test_declared_marks_for_missing_values_do_not_hide_it(tmp_path: Path) -> None:
    def values(i: int) -> str:
        return "?" if i % 10 == 0 else some_grouped(i)

    found = findings(tmp_path, values, values, delimiter=",", reading=mm.Reading(missing="?"))
    assert found == asked("the labeled set", 30 - 2, "2.260")


def test_a_campaign_asks_about_it_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    findings(tmp_path, some_grouped, some_grouped, delimiter=",")
    settings = {
        "labeled": "labeled.csv",
        "label_column": "y",
        "pool": "pool.csv",
        "n_models": 2,
        "random_state": 0,
    }
    with pytest.warns(mm.DataWarning) as said:
        mm.Campaign.init("campaign", batch_size=3, preprocess="auto", **settings)
    assert [str(each.message) for each in said] == asked("the labeled set", 30, "2.260")


def test_texts_of_a_frame_are_asked_about() -> None:
    table = pd.DataFrame({"c": [some_grouped(i) for i in range(40)], "n": range(40), "y": ["no", "yes"] * 20})
    (finding,) = mm.inspect(table, "y", id_column="n").findings
    assert finding.message == (
        "Column 'c' of the labeled set is read as a category, and its 40 values look like numbers, such as '1.340'. If "
        "they are, use decimal=',' and thousands='.', or number=['c'] if the point is a decimal one."
    )
    for reading in (MENDED, mm.Reading(number="c")):
        assert mm.inspect(table, "y", id_column="n", reading=reading).findings == ()
