"""Other units in the pool are pointed out, and nothing else: no chance, no labeled set unlike the pool."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from minmargin.data.schema import Column
from minmargin.inspection.profiles import Seen, profile_of
from minmargin.inspection.units import other_units

Values = NDArray[np.float64]
RNG = np.random.default_rng(0)
BEGIN = RNG.bit_generator.state
COLUMN = Column("c", "number", "Float64")

#: Laws of numbers as tables have them.
LAWS: dict[str, Callable[[int], Values]] = {
    "normal": lambda n: RNG.normal(size=n),
    "far from zero": lambda n: RNG.normal(50, 10, n),
    "uniform": RNG.random,
    "exponential": lambda n: RNG.exponential(size=n),
    "wages": lambda n: np.exp(RNG.normal(10, 0.6, n)),
    "log-normal": lambda n: np.exp(RNG.normal(3, 1, n)),
    "over many sizes": lambda n: np.exp(RNG.normal(3, 2, n)),
    "heavy tails": lambda n: RNG.standard_t(2, n),
    "no mean": RNG.standard_cauchy,
    "counts": lambda n: RNG.poisson(3, n).astype(float),
    "small counts": lambda n: RNG.poisson(0.5, n).astype(float),
    "mostly zero": lambda n: np.where(RNG.random(n) < 0.9, 0, np.exp(RNG.normal(8, 1, n))),
    "half zero": lambda n: np.where(RNG.random(n) < 0.5, 0, RNG.random(n)),
    "two heaps": lambda n: RNG.normal(np.where(RNG.random(n) < 0.5, 0, 100), 1),
    "mostly one": lambda n: RNG.choice([1.0, 2, 3, 50], n, p=[0.94, 0.02, 0.02, 0.02]),
    "shares": lambda n: RNG.beta(2, 5, n),
}
#: How labeled rows may come to be: by chance, or picked, by where a row stands in the order of the pool.
PICKED: dict[str, Callable[[Values], Values]] = {
    "by chance": np.ones_like,
    "rather large ones": lambda place: np.exp(3 * place),
    "those on a boundary": lambda place: np.exp(-(((place - 0.7) / 0.15) ** 2) / 2),
    "those of the upper third": lambda place: (place > 2 / 3).astype(float),
}


@pytest.fixture(autouse=True)
def _same_numbers_whatever_was_tested_before() -> None:
    RNG.bit_generator.state = BEGIN


def said_of(labeled: Values, pool: Values) -> str:
    of_both = [profile_of(COLUMN, pa.chunked_array([pa.array(each)])) for each in (labeled, pool)]
    return next(other_units(Seen(COLUMN, *of_both)), "")


@pytest.mark.parametrize("picked", PICKED.values(), ids=PICKED)
@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_clean_tables_are_hardly_ever_warned_of(
    law: Callable[[int], Values], picked: Callable[[Values], Values]
) -> None:
    """At most one column of fifty, also where all labeled rows are from one end of the pool."""
    n_said = 0
    for _ in range(50):
        pool = law(1000)
        weights = picked(pool.argsort().argsort() / len(pool))
        labeled = RNG.choice(pool, int(RNG.integers(20, 61)), replace=False, p=weights / weights.sum())
        n_said += bool(said_of(labeled, pool))
    assert n_said <= 1


@pytest.mark.parametrize("n_labeled", [20, 60, 400])
@pytest.mark.parametrize(
    ("law", "factor"),
    [
        ("wages", 100),  # euros and cents
        ("log-normal", 100),
        ("exponential", 100),
        ("far from zero", 12),  # years and months
        ("shares", 100),  # and percents
        ("normal", 1000),  # kilo
        ("heavy tails", 1000),
        ("over many sizes", 1000),
        ("wages", 12),
    ],
)
def test_units_that_differ_by_a_factor_are_pointed_out(law: str, factor: int, n_labeled: int) -> None:
    """Nearly always, and with 20 labeled rows in three draws of four, whichever file has the larger unit."""
    least = 15 if n_labeled == 20 else 19
    draws = [(LAWS[law](n_labeled), LAWS[law](3000)) for _ in range(20)]
    assert sum(bool(said_of(labeled, factor * pool)) for labeled, pool in draws) >= least
    assert sum(bool(said_of(factor * labeled, pool)) for labeled, pool in draws) >= least


@pytest.mark.parametrize("n_labeled", [20, 60, 400])
@pytest.mark.parametrize(("mean", "deviation"), [(15, 8), (20, 5), (37, 0.7)])
def test_celsius_and_fahrenheit_are_told_apart(mean: float, deviation: float, n_labeled: int) -> None:
    labeled, pool = RNG.normal(mean, deviation, n_labeled), RNG.normal(mean, deviation, 3000)
    assert "in Fahrenheit there and in Celsius here. Look" in said_of(labeled, 1.8 * pool + 32)
    assert "in Celsius there and in Fahrenheit here. Look" in said_of(1.8 * labeled + 32, pool)


def test_the_factor_is_told() -> None:
    labeled, pool = LAWS["wages"](100), LAWS["wages"](3000)
    assert "as if it were 100 times as large there. Look" in said_of(labeled, 100 * pool)
    assert "as if it were 1,000 times as small there. Look" in said_of(labeled, pool / 1000)
    assert "as if" not in said_of(labeled, 333 * pool)
    assert said_of(LAWS["normal"](100), 5000 + 1000 * LAWS["normal"](3000))


def test_few_rows_and_flags_tell_nothing_of_units() -> None:
    assert not said_of(LAWS["wages"](19), 100 * LAWS["wages"](3000))
    assert not said_of(np.array([0.0, 1.0] * 30), np.array([0.0, 100.0] * 30))
    assert not said_of(np.full(60, 1.0), np.full(60, 100.0))


def test_numbers_as_large_as_any_are_compared() -> None:
    largest = np.finfo(float).max
    values = np.linspace(-1, 1, 500) * largest
    assert not said_of(values[::10], values)
    assert "mostly 1.7" in said_of(LAWS["normal"](40), np.linspace(0.99, 1, 500) * largest)
