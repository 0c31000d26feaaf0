"""Reports from the command line: `select --report` and the demo's."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pytest
from sklearn.datasets import load_iris

from minmargin import cli
from minmargin.cli import demo as demo_command
from parsed_page import ParsedPage

X, y = load_iris(return_X_y=True)
NAMES = ["a", "b", "c", "d"]
COMMAND = (
    "select --labeled labeled.csv --label-column y --pool pool.csv --batch-size 7 --out batch.csv "
    "--id-column row_id --n-models 3 --n-jobs 1"
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a labeled set and a pool."""
    monkeypatch.chdir(tmp_path)
    pool = pa.table({name: X[:, place] for place, name in enumerate(NAMES)})
    labeled = pool.take(np.arange(0, 150, 5)).append_column("y", pa.array(y[::5]))
    pyarrow.csv.write_csv(labeled, "labeled.csv")
    pyarrow.csv.write_csv(
        pool.append_column("row_id", pa.array([f"r{row}" for row in range(150)])), "pool.csv"
    )
    return tmp_path


def run(line: str, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(sys, "argv", ["minmargin", *shlex.split(line)])
    return cli.run()


def repeated(page: ParsedPage) -> str:
    """Return the command that a page says repeats it."""
    return page.text.partition("To repeat it")[2].partition("The whole manifest")[0].strip()


@pytest.fixture
def survey(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with tables as a spreadsheet exports them: decimal commas, days first, marks for nothing."""
    monkeypatch.chdir(tmp_path)
    rows = pd.DataFrame(
        {
            "row_id": [f"r{row}" for row in range(150)],
            "paid": [f"{1000 * value - 4000:.2f}".replace(".", ",") for value in X[:, 2]],
            "day": [f"{row % 28 + 1:02d}.{row % 12 + 1:02d}.2025" for row in range(150)],
            "width": [
                "?" if row % 5 == 1 else f"{value:.1f}".replace(".", ",") for row, value in enumerate(X[:, 3])
            ],
            "plan": ["yes", "no", "no"] * 50,
        }
    )
    rows.assign(y=y).drop(columns="row_id").iloc[::5].to_csv("labeled.csv", index=False, sep=";")
    rows.assign(plan=rows["plan"].str.upper()).to_csv("pool.csv", index=False, sep=";")
    return tmp_path


DECLARED = "--decimal , --date day=%d.%m.%Y --missing ?"


@pytest.mark.filterwarnings("default")
def test_a_page_says_how_the_table_was_read_in_the_sentences_of_the_terminal(
    survey: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(f"{COMMAND} {DECLARED} --report report.html --batch-size 60", monkeypatch) == 0
    out, err = capsys.readouterr()
    page = ParsedPage(survey / "report.html")
    section = page.text.partition("How the table was read")[2].partition("How it was made")[0]
    assert out.splitlines()[0] in section
    (warned,) = err.splitlines()
    assert warned == (
        "minmargin: warning: Column 'plan': 150 of 150 values in the pool are categories that the labeled set does "
        "not have, such as 'NO' where that has 'no', so they tell nothing. Spell them alike in both, or use --drop "
        "plan."
    )
    assert warned.removeprefix("minmargin: warning: ") in section
    for name, said in (
        ("dates", "'day' (%d.%m.%Y)"),
        ("before decimals", "','"),
        ("for missing values", "'?'"),
    ):
        assert f"{name}{said}" in section.replace("\n", "")
    assert "Column by column" in section


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_columns_of_a_pool_of_texts_are_sorted_by_what_they_were_read_as(
    survey: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(f"{COMMAND} {DECLARED} --report report.html --batch-size 60 --keep width", monkeypatch) == 0
    page = (survey / "report.html").read_text()
    keys = dict(re.findall(r'<td class="n" data-key="([^"]*)">(-?\d+,\d\d)</td>', page))
    assert len(keys) > 20
    assert all(float(key) == float(text.replace(",", ".")) for key, text in keys.items())
    days = dict(re.findall(r'<td class="date" data-key="([^"]*)">([\d.]+)</td>', page))
    assert len(days) > 20
    assert all(key == "-".join(reversed(text.split("."))) for key, text in days.items())
    assert '<td class="n" data-key="">?</td>' in page


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_columns_that_are_no_features_are_sorted_by_the_marks_that_were_declared(
    survey: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = "--keep paid,day --drop paid,day --decimal , --missing ? --report report.html --batch-size 60 --no-distinct"
    assert run(f"{COMMAND} {kept}", monkeypatch) == 0
    page = (survey / "report.html").read_text()
    keys = dict(re.findall(r'<td class="n" data-key="([^"]*)">(-?\d+,\d\d)</td>', page))
    assert len(keys) > 20
    assert all(float(key) == float(text.replace(",", ".")) for key, text in keys.items())
    assert '<td dir="auto">01.01.2025</td>' in page


def test_a_report_goes_with_the_batch_and_says_how_to_repeat_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(f"{COMMAND} --report report.html", monkeypatch) == 0
    assert "Written to batch.csv, with a report in report.html.\n" in capsys.readouterr().out
    page = ParsedPage(folder / "report.html")
    first = Path("batch.csv").read_bytes()
    assert page.column("id") == pyarrow.csv.read_csv("batch.csv")["id"].to_pylist()
    command = repeated(page)
    assert command.startswith(f"minmargin {COMMAND} --report report.html --seed ")
    assert run(command.removeprefix("minmargin "), monkeypatch) == 0
    assert Path("batch.csv").read_bytes() == first
    assert repeated(ParsedPage(folder / "report.html")) == command


def test_a_secret_in_the_command_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    from minmargin.cli.select import _command  # noqa: PLC0415 - the package has a function of this name

    pool = "s3://key:sec're t@bucket/pool.parquet?session=hidden"
    monkeypatch.setattr(sys, "argv", ["minmargin", "select", "--pool", pool, f"--pool={pool}", "--seed=7"])
    shown = "s3://bucket/pool.parquet"
    assert _command(7) == f"minmargin select --pool {shown} --pool={shown} --seed=7"


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("--report no/report.html", "Folder 'no' does not exist. Make it, or write elsewhere."),
        ("--report labeled.csv", "'labeled.csv' is no name for a page. Let it end in .html."),
        ("--image-column a", "--image-column is for a report. Say where it goes with --report."),
    ],
)
def test_a_report_that_cannot_be_written_is_noticed_before_anything_is_read(
    folder: Path, more: str, message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "pool.csv").unlink()
    assert run(f"{COMMAND} {more}", monkeypatch) == 1
    assert capsys.readouterr().err == f"minmargin: {message}\n"


def test_a_misspelled_image_column_is_noticed_before_anything_is_picked(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(f"{COMMAND} --report report.html --image-column row_di", monkeypatch) == 1
    assert capsys.readouterr().err == (
        "minmargin: Column 'row_di' is not in the pool (columns: 'a', 'b', 'c', 'd', 'row_id'). "
        "Did you mean 'row_id'?\n"
    )
    assert not (folder / "batch.csv").exists()


def test_missing_libraries_are_noticed_before_anything_is_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "pool.csv").unlink()
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert run(f"{COMMAND} --report report.html", monkeypatch) == 1
    assert capsys.readouterr().err == (
        "minmargin: Reports need matplotlib, which is not installed. Use pip install 'minmargin[report]'.\n"
    )


def test_the_demo_goes_without_a_report_where_its_libraries_are_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from minmargin.execution import silent  # noqa: PLC0415
    from minmargin.experiments.digits import Draw  # noqa: PLC0415 - loads the data sets of scikit-learn

    batch = Draw.of(0).select("min-margin", 0, silent)
    report = demo_command.write_report(batch, tmp_path)
    assert report == tmp_path / "report.html"
    assert sum(name == "img" for name, _ in ParsedPage(report).elements) == 200
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert demo_command.write_report(batch, tmp_path) is None
    assert capsys.readouterr().err == (
        "minmargin: there is no report. Reports need matplotlib, which is not installed. "
        "Use pip install 'minmargin[report]'.\n"
    )
