"""More small tables, as those of messy_tables: the pool is not like the labeled set."""

from __future__ import annotations

from messy_tables import Messy, X


def other_units(ranges: str, change: str = "") -> str:
    as_if = f", as if it were {change}" if change else ""
    return f"Column 'c' is mostly {ranges}{as_if}. Look whether both are in the same unit, or use drop=['c']."


MESSY_PAIRS = (
    Messy(
        "meters in one file and millimeters in the other",
        lambda i: 1.5 + i % 7 / 10,
        lambda i: 1500.5 + i % 7 * 100,
        other_units(
            "1500.5 to 2100.5 in the pool and 1.5 to 2.1 in the labeled set", "1,000 times as large there"
        ),
        {"drop": "c"},
    ),
    Messy(
        "ages in years and in months",
        lambda i: 18 + 37 * i % 61,
        lambda i: 12 * (18 + 37 * i % 61),
        other_units("240 to 900 in the pool and 19 to 74 in the labeled set", "12 times as large there"),
        {"drop": "c"},
    ),
    Messy(
        "percents and shares",
        lambda i: 37 * i % 101,
        lambda i: 37 * i % 101 / 100,
        other_units("0.03 to 0.94 in the pool and 3 to 94 in the labeled set", "100 times as small there"),
        {"drop": "c"},
    ),
    Messy(
        "wages in euros and in cents",
        lambda i: round(20_000 * 1.7 ** X[i], 2),
        lambda i: round(2_000_000 * 1.7 ** X[i]),
        other_units(
            "1.02214e+06 to 4.41662e+06 in the pool and 10221.4 to 39951.7 in the labeled set",
            "100 times as large there",
        ),
        {"drop": "c"},
    ),
    Messy(
        "degrees of Celsius and of Fahrenheit",
        lambda i: round(10 + 9 * X[i], 1),
        lambda i: round(50 + 16.2 * X[i], 1),
        other_units(
            "29.5 to 74.2 in the pool and -1.4 to 21.7 in the labeled set",
            "in Fahrenheit there and in Celsius here",
        ),
        {"drop": "c"},
    ),
    Messy(
        "numbers about zero that were multiplied and moved",
        lambda i: X[-1 - i],
        lambda i: 5000 + 1000 * X[i],
        other_units("3735 to 6493 in the pool and -1.402 to 1.739 in the labeled set"),
        {"drop": "c"},
    ),
    Messy(
        "a number that is hardly ever there in the pool",
        lambda i: i % 7,
        lambda i: i % 7 if i % 20 == 0 else None,
        "Column 'c' is missing in 57 of 60 rows of the pool and in 0 of 40 labeled rows. Look whether it was "
        "written, or use drop=['c'].",
        {"drop": "c"},
    ),
    Messy(
        "a category that is hardly ever there in the labeled set",
        lambda i: ["red", "green"][i % 2] if i % 20 < 2 else None,
        lambda i: ["red", "green"][i % 2],
        "Column 'c' is missing in 0 of 60 rows of the pool and in 36 of 40 labeled rows. Look whether it was "
        "written, or use drop=['c'].",
        {"drop": "c"},
    ),
    Messy(
        "a number that was not written to the labeled set",
        lambda _: None,
        lambda i: i % 7,
        "Column 'c' has no value in any labeled row, and one in 60 of 60 rows of the pool, so nothing is learned from "
        "it. Look whether it was written, or use drop=['c'].",
        {"drop": "c"},
    ),
    Messy(
        "a number that is the same in the pool wherever it is there",
        lambda i: i % 7,
        lambda i: None if i % 10 == 0 else 3,
        "Column 'c' is 3.0 in each row of the pool that has a value, and has 7 values in the labeled set. Look whether "
        "both were made alike, or use drop=['c'].",
        {"drop": "c"},
    ),
    Messy(
        "days of other years",
        lambda i: f"2020-01-{i % 28 + 1:02}",
        lambda i: f"2024-01-{i % 28 + 1:02}",
        "Column 'c' is 2024-01-01 to 2024-01-28 in the pool and 2020-01-01 to 2020-01-28 in the labeled set, so all "
        "rows of the pool are far later. Look whether both are dates of the same kind, or use drop=['c'].",
        {"drop": "c"},
    ),
)

PLAIN_PAIRS = (
    Messy("days that follow", lambda i: f"2020-01-{i % 28 + 1:02}", lambda i: f"2020-02-{i % 28 + 1:02}"),
    Messy("a rare value that the pool may lack by chance", lambda i: int(i == 0), lambda _: 0),
    Messy("a rare category that the pool may lack by chance", lambda i: "ab"[i == 0], lambda _: "a"),
    Messy("gaps in half of one", lambda i: i % 7 if i % 2 else None, lambda i: i % 7),
    Messy(
        "a few categories that no labeled row has",
        lambda i: ["red", "green"][i % 2],
        lambda i: ["red", "green", "blue"][i % 3],
    ),
)
