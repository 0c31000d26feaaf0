"""What a person sees: whole numbers in the table, warnings in one line, no batch among the inputs."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from rich.console import Console

import minmargin as mm
from minmargin import cli
from minmargin.cli.progress import progress_bars
from minmargin.cli.show import show_batch

RNG = np.random.default_rng(0)
POOL = pd.DataFrame(RNG.normal(size=(60, 2)), columns=["a", "b"]).assign(
    id=[f"row-{i:05}" for i in range(60)], text="one\ntwo " * 30, count=np.arange(60) // 2
)
LABELED = pd.DataFrame(RNG.normal(size=(40, 2)), columns=["a", "b"]).assign(
    count=np.arange(40) // 2, y=["u", "v"] * 20
)


def shown(width, **settings):
    batch = mm.select(LABELED, "y", POOL, 7, n_models=3, random_state=0, id_column="id", **settings)
    console = Console(width=width, file=io.StringIO(), highlight=False)
    show_batch(batch, Path("batch.csv"), console)
    return batch, console.file.getvalue()


@pytest.mark.parametrize("width", [60, 80, 200])
def test_numbers_and_ids_are_never_cut(width):
    batch, text = shown(width, keep=["text"])
    for row, score in zip(batch.rows[:5], batch.scores[:5], strict=True):
        line = next(line for line in text.splitlines() if f"row-{row:05}" in line)
        assert f"{score:.4g}" in line.split()


def test_a_kept_text_is_shown_as_far_as_it_fits():
    for width, beginning in ((110, "one two one two"), (1000, "one two " * 8)):
        text = shown(width, keep=["text"])[1]
        assert beginning in text
        assert "more kept column" not in text
        assert max(map(len, text.splitlines()[1:7])) <= min(width, 160)


def test_kept_columns_that_do_not_fit_are_counted():
    assert "(and 1 more kept column in the file)" in shown(80, keep=["text"])[1]
    assert "(and 2 more kept columns in the file)" in shown(60, keep=["text", "count"])[1]


def test_pictures_are_not_shown_as_bytes():
    pictures = POOL.assign(picture=[b"\x89PNG"] * 60)
    batch = mm.select(LABELED, "y", pictures, 7, n_models=3, random_state=0, id_column="id", keep=["picture"])
    console = Console(width=1000, file=io.StringIO(), highlight=False)
    show_batch(batch, Path("batch.parquet"), console)
    assert "PNG" not in console.file.getvalue()
    assert "(and 1 more kept column in the file)" in console.file.getvalue()


def test_equal_scores_are_told_of():
    _, text = shown(100, strategy="committee")
    assert "have the same score as the last: among equals the seed decides." in text


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("pool").mkdir()
    LABELED.to_csv("labeled.csv", index=False)
    POOL.drop(columns="text").to_csv("pool/part.csv", index=False)

    def run(*more, out="batch.csv", labeled="labeled.csv"):
        inputs = ["--labeled", labeled, "--label-column", "y", "--pool", "pool/*.csv"]
        command = [
            "minmargin",
            "select",
            *inputs,
            "--batch-size",
            "5",
            "--n-models",
            "2",
            "--out",
            out,
            *more,
        ]
        monkeypatch.setattr("sys.argv", command)
        return cli.run()

    return run


def test_a_feature_of_a_csv_is_kept_with_its_whole_numbers(files):
    assert files("--keep", "count", out="batch.parquet") == 0
    assert str(pd.read_parquet("batch.parquet")["count"].dtype) == "int64"


@pytest.mark.parametrize("out", ["labeled.csv", "pool/part.csv", "pool/new.csv"])
def test_a_batch_is_never_written_among_its_inputs(files, capsys, out):
    before = Path("labeled.csv").read_text()
    assert files(out=out) == 1
    assert "lies among the files of" in capsys.readouterr().err
    assert Path("labeled.csv").read_text() == before


@pytest.mark.filterwarnings("default")
def test_a_warning_is_one_line_in_the_words_of_the_command_line(files, capsys):
    LABELED.assign(id=[f"x{i}" for i in range(40)]).to_csv("labeled.csv", index=False)
    assert files() == 0
    assert capsys.readouterr().err == (
        "minmargin: warning: Text column 'id' has a different value in nearly every labeled row, so as a category it "
        "tells nothing of other rows. If it identifies rows, name it as --id-column. If it is free text, leave it out "
        "with --features NAMES, or let --learner text read it alone.\n"
    )


@pytest.fixture(params=[1, 2])
def arrow_threads(request):
    n_threads = pa.cpu_count()
    pa.set_cpu_count(request.param)
    yield
    pa.set_cpu_count(n_threads)


@pytest.mark.usefixtures("arrow_threads")
def test_a_wrong_cell_of_a_csv_is_named_by_its_column(files, capsys):
    path = Path("pool/part.csv")
    # Past the first block of the file, from which the types are guessed.
    rows = "0.5,0.25,r,1\n-0.5,-0.25,s,2\n" * 200_000
    path.write_text("a,b,id,count\n" + rows + "0.5,n.a.,r,1\n")
    assert files() == 1
    assert capsys.readouterr().err == (
        "minmargin: 'pool/part.csv' cannot be read as CSV (column 'b' holds 'n.a.' where a double was expected; a "
        "missing one is left empty, or declared with --missing TEXTS). Mend or remove the file; nothing was written.\n"
    )


def test_a_missing_folder_is_called_missing(files, capsys):
    assert files("--pool", "nowhere") == 1
    assert capsys.readouterr().err == "minmargin: There is no file or folder 'nowhere'.\n"


def test_progress_is_shown_on_a_terminal_only(monkeypatch):
    screen = io.StringIO()
    monkeypatch.setattr(
        "minmargin.cli.progress.Console",
        lambda **_: Console(file=screen, force_terminal=True, width=100, legacy_windows=False),
    )
    with progress_bars() as report:
        report("training", 1, 26)
        report("scanning", 1000, None)
        report("scanning", 2000, 5000)
    assert "1 of 26 models" in screen.getvalue()
    assert "2,000 of 5,000 rows" in screen.getvalue()
