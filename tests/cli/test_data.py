"""`minmargin data`: what is listed, fetched and verified, and the exit codes."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from minmargin import cli
from minmargin.cli import data  # noqa: F401 - importing a command registers it
from minmargin.experiments.datasets import DATASETS, DataFile, Dataset, Table
from minmargin.experiments.datasets.places import find_file

CONTENT = b"1,0\n2,1\n"
CHECKSUM = hashlib.sha256(CONTENT).hexdigest()

Run = Callable[..., tuple[int, str, str]]


def load_nothing(files: object) -> Table:
    """Return a table of nothing: commands do not load."""
    return Table(np.empty((0, 1)), np.empty(0, np.intp), ("a", "b"), None, None, ("number",))


TOY = Dataset(
    name="toy",
    title="Numbers",
    origin="the school",
    license="MIT [sic]",
    files=tuple(DataFile(name, len(CONTENT), CHECKSUM) for name in ("a.csv", "b.csv")),
    n_rows=20_000,
    n_features=1,
    n_classes=2,
    load=load_nothing,
    note="Sorted.",
)


@pytest.fixture(autouse=True)
def _only_the_toy_and_no_folders(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in list(DATASETS):
        monkeypatch.delitem(DATASETS, name)
    monkeypatch.setitem(DATASETS, "toy", TOY)
    monkeypatch.setenv("MINMARGIN_DATA", str(tmp_path))
    monkeypatch.setattr("platformdirs.user_cache_dir", lambda _: str(tmp_path / "cache"))


@pytest.fixture
def run(run_command: Run) -> Run:
    """Return a function that runs a command and returns its exit code, output and errors."""
    return partial(run_command, "data")


def put(folder: Path, **contents: bytes) -> None:
    """Write files of the toy, named without their suffix."""
    (folder / "toy").mkdir(parents=True, exist_ok=True)
    for name, content in contents.items():
        (folder / "toy" / f"{name}.csv.gz").write_bytes(gzip.compress(content))


def words(text: str) -> list[list[str]]:
    """Return the words of each line that has some."""
    return [line.split() for line in text.splitlines() if line.strip()]


# Help


@pytest.mark.parametrize("command", ["list", "fetch", "verify"])
@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_the_help_of_every_command_has_an_example(command: str, flag: str) -> None:
    result = CliRunner().invoke(cli.app, ["data", command, flag])
    assert result.exit_code == 0
    assert f"minmargin data {command} " in result.stdout.partition("Example:")[2]
    assert "--data-dir" in result.stdout
    assert "--json" in result.stdout


def test_without_a_command_the_help_is_shown(run: Run) -> None:
    code, out, _ = run()
    assert code == 0
    assert all(command in out for command in ("list", "fetch", "verify"))


# List


def test_list_shows_size_classes_license_and_place(run: Run, tmp_path: Path) -> None:
    row = ["toy", "20,000", "x", "1", "2", "MIT", "[sic]"]
    assert words(run("list")[1])[1:] == [[*row, "-"]]
    put(tmp_path, a=CONTENT)
    assert words(run("list")[1])[1:] == [[*row, "-"]]
    put(tmp_path, b=CONTENT)
    assert words(run("list")[1])[1:] == [[*row, str(tmp_path / "toy")]]
    assert words(run("list", "--data-dir", str(tmp_path / "other"))[1])[1:] == [[*row, "-"]]


def test_list_prints_json(run: Run, tmp_path: Path) -> None:
    put(tmp_path, a=CONTENT, b=CONTENT)
    code, out, _ = run("list", "--json")
    (entry,) = json.loads(out)
    assert code == 0
    assert (entry["name"], entry["rows"], entry["features"], entry["classes"]) == ("toy", 20_000, 1, 2)
    assert entry["files"][0] == {"name": "a.csv", "bytes": len(CONTENT), "sha256": CHECKSUM, "urls": []}
    assert entry["found_in"] == str(tmp_path / "toy")


# Verify


def test_verify_leaves_with_0_when_all_is_well(run: Run, tmp_path: Path) -> None:
    put(tmp_path, a=CONTENT, b=CONTENT)
    code, out, err = run("verify")
    assert (code, err) == (0, "")
    assert words(out)[1:] == [
        ["toy", f"{name}.csv", "ok", str(tmp_path / "toy" / f"{name}.csv.gz")] for name in ("a", "b")
    ]


def test_verify_names_what_is_missing_and_altered_and_leaves_with_1(run: Run, tmp_path: Path) -> None:
    put(tmp_path, a=b"other")
    code, out, err = run("verify", "toy")
    assert (code, err) == (1, "")
    path, other = tmp_path / "toy" / "a.csv.gz", hashlib.sha256(b"other").hexdigest()
    assert words(out)[1:3] == [["toy", "a.csv", "altered", str(path)], ["toy", "b.csv", "missing", "-"]]
    assert out.splitlines()[-1] == f"{path}: its content has sha256 {other}, not {CHECKSUM}."


def test_verify_says_when_a_file_cannot_be_unpacked(run: Run, tmp_path: Path) -> None:
    put(tmp_path, a=CONTENT, b=CONTENT)
    path = tmp_path / "toy" / "b.csv.gz"
    path.write_bytes(path.read_bytes()[:-4])
    code, out, _ = run("verify")
    assert code == 1
    assert out.splitlines()[-1] == f"{path}: its content cannot be unpacked, not {CHECKSUM}."


def test_verify_prints_json(run: Run, tmp_path: Path) -> None:
    put(tmp_path, a=CONTENT)
    code, out, _ = run("verify", "--json", "--data-dir", str(tmp_path))
    assert code == 1
    assert json.loads(out) == [
        {
            "name": "toy",
            "file": "a.csv",
            "state": "ok",
            "path": str(tmp_path / "toy" / "a.csv.gz"),
            "sha256": CHECKSUM,
            "expected_sha256": CHECKSUM,
        },
        {
            "name": "toy",
            "file": "b.csv",
            "state": "missing",
            "path": None,
            "sha256": None,
            "expected_sha256": CHECKSUM,
        },
    ]


def test_verify_of_nothing_says_where_it_looked(run: Run, tmp_path: Path) -> None:
    code, out, err = run("verify")
    assert (code, out) == (1, "")
    places = f"'{tmp_path}' or '{tmp_path / 'cache' / 'data'}'"
    assert err == f"minmargin: There is no data set in {places}. Use minmargin data fetch NAME.\n"


# Fetch


def test_fetch_says_where_the_set_is(run: Run, tmp_path: Path) -> None:
    put(tmp_path, a=CONTENT, b=CONTENT)
    assert run("fetch", "toy") == (0, f"toy is in {tmp_path / 'toy'}.\n", "")
    paths = [str(find_file(TOY, file)) for file in TOY.files]
    code, out, err = run("fetch", "toy", "--json")
    assert (code, json.loads(out), err) == (0, {"toy": paths}, "")


def test_fetch_shows_bars_on_a_terminal_only(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fetch(name: str, data_dir: Path | None, *, progress: Callable[..., None]) -> list[Path]:
        progress("toy/a.csv", 1000, 2000)
        progress("toy/a.csv", 2000, 2000)
        return [tmp_path / name / "a.csv"]

    monkeypatch.setattr("minmargin.cli.data.fetch_dataset", fetch)
    said = f"toy is in {tmp_path / 'toy'}.\n"
    assert run("fetch", "toy") == (0, said, "")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.delenv("NO_COLOR", raising=False)
    code, _, shown = run("fetch", "toy")
    assert code == 0
    assert "toy/a.csv" in shown
    assert "2.0/2.0 kB" in shown


def test_fetch_that_fails_leaves_with_1(run: Run, tmp_path: Path) -> None:
    code, out, err = run("fetch", "toy", "--data-dir", str(tmp_path / "other"))
    assert (code, out) == (1, "")
    assert err.startswith("minmargin: File 'a.csv' of data set 'toy' was not fetched: no address is known")
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize("command", ["fetch", "verify"])
def test_an_unknown_name_leaves_with_1(run: Run, command: str) -> None:
    error = "minmargin: There is no data set 'toys' (names: 'toy'). Did you mean 'toy'?\n"
    assert run(command, "toy", "toys") == (1, "", error)
