"""Dates with a time zone: they are moments, and the same ones whatever holds them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import minmargin as mm

N = 60
FRAME = pd.DataFrame(
    {
        "t": pd.date_range("2024-01-01", periods=N, freq="7h", tz="Europe/Berlin"),
        "a": np.random.default_rng(0).normal(size=N).round(3),
    }
)
LABELS = ["p" if row % 3 else "q" for row in range(N)]


def pick(labeled: Any, pool: Any, **settings: Any) -> list[int]:
    settings = {"n_models": 3, "random_state": 0, "preprocess": "auto", **settings}
    return mm.select(labeled, LABELS, pool, 4, **settings).rows.tolist()


def with_dates(dates: Any) -> pd.DataFrame:
    return FRAME.assign(t=dates)


def in_utc() -> pd.Series:
    return FRAME["t"].dt.tz_convert("UTC")


def as_parquet(folder: Path) -> Path:
    FRAME.to_parquet(folder / "rows.parquet")
    return folder / "rows.parquet"


def as_csv(folder: Path) -> Path:
    FRAME.to_csv(folder / "rows.csv", index=False)  # 2024-01-01 00:00:00+01:00
    return folder / "rows.csv"


def as_csv_in_utc(folder: Path) -> Path:
    texts = in_utc().dt.strftime("%Y-%m-%dT%H:%M:%SZ")
    with_dates(texts).to_csv(folder / "utc.csv", index=False)
    return folder / "utc.csv"


def as_files_of_several_zones(folder: Path) -> Path:
    """The same moments told in three ways, one of them with more digits than are counted."""
    several = folder / "several"
    several.mkdir()
    FRAME[:20].to_parquet(several / "1.parquet")
    with_dates(in_utc())[20:40].to_parquet(several / "2.parquet")
    plain = (in_utc().dt.tz_localize(None).dt.as_unit("ns")) + pd.Timedelta(1, "ns")
    with_dates(plain)[40:].to_parquet(several / "3.parquet")
    return several


def as_csv_files_of_several_zones(folder: Path) -> Path:
    several = folder / "several"
    several.mkdir()
    FRAME[:20].to_csv(several / "1.csv", index=False)
    with_dates(in_utc().dt.strftime("%Y-%m-%dT%H:%M:%SZ"))[20:40].to_csv(several / "2.csv", index=False)
    with_dates(in_utc().dt.tz_localize(None))[40:].to_csv(several / "3.csv", index=False)
    return several


FORMS: dict[str, Callable[[Path], Any]] = {
    "pandas": lambda _: FRAME,
    "pandas in UTC": lambda _: with_dates(in_utc()),
    "pandas with nanoseconds": lambda _: with_dates(FRAME["t"].dt.as_unit("ns") + pd.Timedelta(1, "ns")),
    "pandas of Arrow": lambda _: FRAME.convert_dtypes(dtype_backend="pyarrow"),
    "polars": lambda _: pl.from_pandas(FRAME),
    "pyarrow": lambda _: pa.Table.from_pandas(FRAME),
    "Parquet": as_parquet,
    "CSV": as_csv,
    "CSV in UTC": as_csv_in_utc,
    "Parquet files of several zones": as_files_of_several_zones,
    "CSV files of several zones": as_csv_files_of_several_zones,
}
EXPECTED = pick(with_dates(in_utc().dt.tz_localize(None)), with_dates(in_utc().dt.tz_localize(None)))


@pytest.mark.parametrize("pool_form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("labeled_form", ["pandas", "polars", "pyarrow", "CSV"])
def test_a_moment_is_the_same_in_any_zone_and_container(
    labeled_form: str, pool_form: Callable[[Path], Any], tmp_path: Path
) -> None:
    (tmp_path / "labeled").mkdir()
    labeled = FORMS[labeled_form](tmp_path / "labeled")
    assert pick(labeled, pool_form(tmp_path)) == EXPECTED


def test_another_zone_without_another_moment_is_another_moment_if_it_is_dropped() -> None:
    assert pick(FRAME, with_dates(FRAME["t"].dt.tz_localize(None) + pd.Timedelta("5D"))) != EXPECTED


def test_dates_that_are_declared_are_the_same_moments() -> None:
    exact = with_dates(FRAME["t"].dt.as_unit("ns") + pd.Timedelta(1, "ns"))
    assert pick(exact, exact, reading=mm.Reading(date="t")) == EXPECTED


def test_inspect_tells_when_dates_begin_and_end_in_utc() -> None:
    exact = with_dates(FRAME["t"].dt.as_unit("ns") + pd.Timedelta(1, "ns"))
    assert "2023-12-31 23:00:00 to 2024-01-18 04:00:00" in str(mm.inspect(exact))


def test_compare_and_a_committee_take_dates_with_a_zone() -> None:
    committee = mm.fit_committee(FRAME, LABELS, n_models=3, random_state=0, preprocess="auto")
    assert committee.select(FRAME, 4).rows.tolist() == EXPECTED
    wide = pd.concat([FRAME] * 3, ignore_index=True)
    settings = {"n_labeled": 40, "n_draws": 2, "strategies": ["margin"], "batch_sizes": 4, "n_models": 2}
    compared = mm.compare(wide, LABELS * 3, preprocess="auto", random_state=0, **settings)
    assert "margin" in str(compared)


# CSV files, whose types are guessed from their beginnings


def csv_pool(folder: Path, last: str, n_rows: int = N) -> Path:
    rows = [f"2024-02-01T{row % 24:02}:00:00{last and 'Z'},{row % N}" for row in range(n_rows)]
    path = folder / "pool.csv"
    path.write_text("\n".join(["t,a", *rows, *([f"{last},1"] if last else [])]) + "\n")
    return path


def test_a_csv_value_that_is_no_date_is_named_with_its_row(tmp_path: Path) -> None:
    path = csv_pool(tmp_path, "soon")
    with pytest.raises(mm.InputError) as caught:
        pick(FRAME, path)
    assert str(caught.value) == (
        f"'{path}' row 60, column 't', holds 'soon', which is no date. Mend it, or declare what it stands for with "
        "missing=[...]."
    )


@pytest.mark.parametrize("missing", ["", "NA"])
def test_a_missing_date_of_a_csv_file_stays_missing(tmp_path: Path, missing: str) -> None:
    path = tmp_path / "pool.csv"
    path.write_text(f"t,a\n{missing},1\n2024-02-01T00:00:00+02:00,2\n{missing},3\n2024-02-01T01:00:00Z,4\n")
    assert len(pick(FRAME, path)) == 4


def test_dates_without_a_zone_in_front_of_one_with_a_zone_are_told_how_to_be_declared(tmp_path: Path) -> None:
    path = tmp_path / "pool.csv"
    plain = "".join(
        f"2024-02-01T{row % 24:02}:00:00,{row % 7}\n" for row in range(250_000)
    )  # more than the part that types are guessed from
    path.write_text(f"t,a\n{plain}2024-02-01T00:00:00Z,1\n")
    with pytest.raises(mm.InputError) as caught:
        pick(FRAME, path)
    assert str(caught.value) == (
        f"'{path}' cannot be read as CSV (column 't' holds '2024-02-01T00:00:00Z' where the dates before it have "
        "another form; declare it with date=['t'], and what stands for a missing one with missing=[...]). Mend or "
        "remove the file; nothing was written."
    )
    assert len(pick(FRAME, path, reading=mm.Reading(date="t"))) == 4
