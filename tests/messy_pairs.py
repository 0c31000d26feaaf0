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
)
