"""Small tables as spreadsheets, databases and survey tools export them, each with what should be said of it.

A table is CSV text, of the labeled set and of the pool. Each has 40 labeled rows and 60 of the pool; the label is in
column y and follows column x, so that there is something to learn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

N_LABELED, N_POOL = 40, 60
RNG = np.random.default_rng(0)
X = RNG.normal(size=N_LABELED + N_POOL).round(3)
Y = np.where(X > 0, "yes", "no")


_NOTHING_BUT_TEXTS = (
    "Text columns 'x', 'c' have a different value in nearly each of the 40 labeled rows, and there is no other "
    "feature, so there is nothing to learn from categories. These look like numbers, such as '-0,129': use decimal=','."
)


@dataclass(frozen=True)
class Messy:
    """A table with something wrong in it.

    Attributes:
        name: what.
        values: what column c holds in row i of the labeled set, and of the pool.
        warned: what is to be warned of.
        settings: that mend it, so that nothing is warned of.
        header: the column's name.
        delimiter: between cells.
        decimal: how column x is written, too. With a comma, no number is left, and so the table is refused.
        label: the label of row i, where it is none of yes and no.
    """

    name: str
    values: Callable[[int], Any]
    in_pool: Callable[[int], Any]
    warned: str = ""
    settings: dict[str, Any] = field(default_factory=dict)
    header: str = "c"
    delimiter: str = ","
    decimal: str = "."
    label: Callable[[int], Any] = lambda i: Y[i]

    @property
    def messages(self) -> list[str]:
        """All that is to be warned of."""
        of_x = [like_numbers("-0,129", "decimal=','", column="x")] if self.decimal == "," else []
        return [*of_x, self.warned] if self.warned else of_x

    @property
    def refusal(self) -> list[str]:
        """The error, if nothing can be learned from the table as it is."""
        return [_NOTHING_BUT_TEXTS] if self.decimal == "," else []

    @property
    def messages_of_labeled(self) -> list[str]:
        """All that is to be warned of where nobody has seen the pool."""
        return [each for each in self.messages if "the pool" not in each]

    def labeled(self) -> str:
        """Return the labeled set as CSV."""
        rows = [(self._x(i), self.values(i), self.label(i)) for i in range(N_LABELED)]
        return _csv(("x", self.header, "y"), rows, self.delimiter)

    def pool(self) -> str:
        """Return the pool as CSV."""
        rows = [(self._x(N_LABELED + i), self.in_pool(i)) for i in range(N_POOL)]
        return _csv(("x", self.header), rows, self.delimiter)

    def _x(self, i: int) -> str:
        return str(X[i]).replace(".", self.decimal)


def _csv(header: tuple[str, ...], rows: list[tuple[Any, ...]], delimiter: str) -> str:
    lines = [header, *rows]
    return "".join(
        delimiter.join("" if cell is None else f'"{cell}"' for cell in line) + "\n" for line in lines
    )


def both(name: str, values: Callable[[int], Any], warned: str = "", **more: Any) -> Messy:
    return Messy(name, values, values, warned, **more)


def like_numbers(example: str, use: str, column: str = "c") -> str:
    return (
        f"Column {column!r} of the labeled set is read as a category, and its 40 values look like numbers, such as "
        f"{example!r}. If they are, use {use}."
    )


def like_dates(example: str) -> str:
    return (
        f"Column 'c' of the labeled set is read as a category, and its values look like dates, such as {example!r}. If "
        "they are, use date=['c']."
    )


def some_are_none(n: int, of: int, marks: str, where: str = "the labeled set") -> str:
    return (
        f"Column 'c' of {where} is read as a category, since {n} of its {of} values are no numbers, such as "
        f"{marks.partition(',')[0]}. If they stand for missing values, use missing=[{marks}]."
    )


def _different_texts() -> str:
    return (
        "Text column 'c' has a different value in nearly every labeled row, so as a category it tells nothing of other "
        "rows. If it identifies rows, name it as id_column. If it is free text, leave it out with features=[...], or "
        "let learner='text' read it alone."
    )


def _cents(i: int) -> float:
    return 1000.0 + 37.25 * i + i * i % 7


PLAIN = (
    both("plain numbers", lambda i: i % 7 + 0.5),
    both("plain categories", lambda i: ["red", "green", "blue"][i % 3]),
    both("days as databases write them", lambda i: f"2026-01-{i % 28 + 1:02}"),
    both("moments", lambda i: f"2026-01-{i % 28 + 1:02} 12:{i % 60:02}:00"),
    both("truth values", lambda i: ["true", "false"][i % 2]),
    both("some missing", lambda i: None if i % 5 == 0 else i % 7),
    both("missing as NA", lambda i: "NA" if i % 5 == 0 else i % 7),
    both("codes that begin with a zero", lambda i: f"0{i % 9:03}"),
    both("nothing at all", lambda _: None),
    both("one value", lambda _: 1),
    both("a semicolon file", lambda i: i % 7, delimiter=";"),
    both("a file with tabs", lambda i: i % 7, delimiter="\t"),
    both("hexadecimal codes, which are no numbers in either file", lambda i: f"0x{i % 7:02X}"),
)

MESSY = (
    both(
        "decimal commas",
        lambda i: f"{_cents(i):.2f}".replace(".", ","),
        like_numbers("1000,00", "decimal=','"),
        settings={"decimal": ","},
        delimiter=";",
        decimal=",",
    ),
    both(
        "decimal commas, and points in another column",
        lambda i: f"{_cents(i):.2f}".replace(".", ","),
        like_numbers("1000,00", "decimal=','"),
        settings={"decimal": ","},
        delimiter=";",
    ),
    both(
        "decimal commas and points between thousands",
        lambda i: f"{_cents(i):,.2f}".translate(str.maketrans(",.", ".,")),
        like_numbers("1.000,00", "decimal=',' and thousands='.'"),
        settings={"decimal": ",", "thousands": "."},
        delimiter=";",
        decimal=",",
    ),
    both(
        "commas between thousands",
        lambda i: f"{1000 * _cents(i):,.1f}",
        like_numbers("1,000,000.0", "thousands=','"),
        settings={"thousands": ","},
    ),
    both(
        "what may be decimals or thousands",
        lambda i: f"{int(_cents(i)):,}",
        like_numbers("1,000", "decimal=',' or thousands=','"),
        settings={"thousands": ","},
    ),
    both(
        "blanks between thousands",
        lambda i: f"{_cents(i):,.2f}".translate(str.maketrans(",.", "\u00a0,")),
        like_numbers("1\u00a0000,00", "decimal=',' and thousands=' '"),
        settings={"decimal": ",", "thousands": " "},
        delimiter=";",
        decimal=",",
    ),
    both(
        "Swiss thousands",
        lambda i: f"{_cents(i):,.2f}".replace(",", "'"),
        like_numbers("1'000.00", 'thousands="\'"'),
        settings={"thousands": "'"},
    ),
    both(
        "percents",
        lambda i: f"{i % 30}%",
        "Column 'c' of the labeled set is read as a category, and its values look like numbers with a unit, such as "
        "'0%'. Remove the unit, or use drop=['c'].",
        settings={"drop": "c"},
    ),
    both(
        "money",
        lambda i: f"${_cents(i):.2f}",
        "Column 'c' of the labeled set is read as a category, and its values look like numbers with a unit, such as "
        "'$1000.00'. Remove the unit, or use drop=['c'].",
        settings={"drop": "c"},
    ),
    both(
        "a question mark for missing values",
        lambda i: "?" if i % 20 == 0 else i,
        some_are_none(2, 40, "'?'"),
        settings={"missing": "?"},
    ),
    both(
        "several marks for missing values",
        lambda i: {0: "unknown", 20: "-"}.get(i, i),
        some_are_none(2, 40, "'-', 'unknown'"),
        settings={"missing": ["-", "unknown"]},
    ),
    Messy(
        "a mark for missing values that only the pool has, in a column of codes",
        lambda i: f"{i % 20:02}",
        lambda i: "?" if i % 20 == 7 else f"{i % 20:02}",
        "Column 'c' of the pool is read as a category, and 3 of its 60 values are '?'. If this stands for a missing "
        "value, use missing=['?']; if it is a category, category=['c'].",
        {"missing": "?", "category": "c"},
    ),
    both(
        "days as Germans write them",
        lambda i: f"{i % 28 + 1:02}.01.2026",
        like_dates("01.01.2026"),
        settings={"date": "c"},
    ),
    both(
        "days as Americans write them",
        lambda i: f"01/{i % 28 + 1:02}/2026",
        like_dates("01/01/2026"),
        settings={"date": "c"},
    ),
    both(
        "moments with slashes",
        lambda i: f"2026/01/{i % 28 + 1:02} 12:30",
        like_dates("2026/01/01 12:30"),
        settings={"date": "c"},
    ),
    both(
        "numbers of rows",
        lambda i: i,
        "Column 'c' is a feature, and has a different whole number in each of the 40 labeled rows. If it identifies "
        "rows, name it as id_column, or use drop=['c'].",
        settings={"drop": "c"},
    ),
    both(
        "numbers of customers",
        lambda i: 100_000 + 7 * i * i,
        "Column 'customer_id' is a feature, and has a different whole number in each of the 40 labeled rows. If it "
        "identifies rows, name it as id_column, or use drop=['customer_id'].",
        settings={"drop": "customer_id"},
        header="customer_id",
    ),
    both(
        "numbers of rows in steps",
        lambda i: 1_000_000 + 7 * i,
        "Column 'kunde' is a feature, and has a different whole number in each of the 40 labeled rows. If it "
        "identifies rows, name it as id_column, or use drop=['kunde'].",
        settings={"drop": "kunde"},
        header="kunde",
    ),
    both(
        "the index that pandas writes",
        lambda i: 3 * i,
        "Column 'Unnamed: 0' is a feature, and has a different whole number in each of the 40 labeled rows. If it "
        "identifies rows, name it as id_column, or use drop=['Unnamed: 0'].",
        settings={"drop": "Unnamed: 0"},
        header="Unnamed: 0",
    ),
    both("ids that are texts", lambda i: f"r{i:03}", _different_texts(), settings={"drop": "c"}),
    both(
        "free text",
        lambda i: f"The customer called {i} times, and was {'not ' * (i % 2)}happy.",
        _different_texts(),
        settings={"text": "c"},
    ),
    both(
        "-999 for missing values",
        lambda i: -999 if i % 10 == 0 else i % 23,
        "Column 'c' of the labeled set has -999 in 4 of 40 rows, far from all other values. If it stands for a missing "
        "value, use missing=['-999'].",
        settings={"missing": "-999"},
    ),
    Messy(
        "99999 for missing values, in the pool",
        lambda i: i % 23 + 0.5,
        lambda i: 99999 if i % 10 == 0 else i % 23 + 0.5,
        "Column 'c' of the pool has 99999 in 6 of 60 rows, far from all other values. If it stands for a missing "
        "value, use missing=['99999'].",
        {"missing": "99999"},
    ),
    Messy(
        "categories in capitals",
        lambda i: ["Yes", "No"][i % 2],
        lambda i: ["YES", "NO"][i % 2],
        "Column 'c': 60 of 60 values in the pool are categories that the labeled set does not have, such as 'NO' where "
        "that has 'No', so they tell nothing. Spell them alike in both, or use drop=['c'].",
        {"drop": "c"},
    ),
    Messy(
        "categories with blanks behind",
        lambda i: ["red", "green", "blue"][i % 3],
        lambda i: ["red ", "green ", "blue"][i % 3],
        "Column 'c': 40 of 60 values in the pool are categories that the labeled set does not have, such as 'green ' "
        "where that has 'green', so they tell nothing. Spell them alike in both, or use drop=['c'].",
        {"drop": "c"},
    ),
    Messy(
        "other categories",
        lambda i: ["red", "green", "blue"][i % 3],
        lambda i: ["cat", "dog", "red"][i % 3],
        "Column 'c': 40 of 60 values in the pool are categories that the labeled set does not have, such as 'cat', so "
        "they tell nothing. Look whether both have the same columns, or use drop=['c'].",
        {"drop": "c"},
    ),
    Messy(
        "a number that was not written to the pool",
        lambda i: i % 7,
        lambda _: None,
        "Column 'c' has no value in any row of the pool, and 40 in the labeled set. Look whether it was written, or "
        "use drop=['c'].",
        {"drop": "c"},
    ),
    Messy(
        "a category that was not written to the pool",
        lambda i: ["red", "green"][i % 2],
        lambda _: None,
        "Column 'c' has no value in any row of the pool, and 40 in the labeled set. Look whether it was written, or "
        "use drop=['c'].",
        {"drop": "c"},
    ),
    Messy(
        "a number that is the same throughout the pool",
        lambda i: i % 7,
        lambda _: 3,
        "Column 'c' is 3.0 in each row of the pool, and has 7 values in the labeled set. Look whether both were made "
        "alike, or use drop=['c'].",
        {"drop": "c"},
    ),
    Messy(
        "a category that is the same throughout the pool",
        lambda i: ["red", "green"][i % 2],
        lambda _: "red",
        "Column 'c' is 'red' in each row of the pool, and has 2 values in the labeled set. Look whether both were made "
        "alike, or use drop=['c'].",
        {"drop": "c"},
    ),
)
