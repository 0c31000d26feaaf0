"""Messages of the library name flags on the command line, whatever their values are."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from minmargin.cli.flags import with_flags

VALUES = ["0.1%", "row id", "a.b", "a,b", "x;y", "it's", "True", ""]
NAMES = [
    "batch_size",
    "batch_sizes",
    "id_column",
    "keep",
    "features",
    "label_column",
    "device",
    "scoring",
    "learner",
]


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("name", NAMES)
def test_a_value_in_quotes_stands_after_its_flag_as_it_is_typed(name: str, value: str) -> None:
    said = with_flags(f"{name}={value!r} of 300 rows.")
    flag = "--" + name.replace("_", "-")
    assert shlex.split(said) == [flag, value, "of", "300", "rows."]


@pytest.mark.parametrize("name", NAMES)
def test_a_value_that_is_left_open_stands_apart_from_its_flag(name: str) -> None:
    assert with_flags(f"Open it with {name}=....") == f"Open it with --{name.replace('_', '-')} ...."


def test_a_share_that_is_less_than_a_row(
    run_command: Callable[..., tuple[int, str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = pd.DataFrame({"a": range(300), "b": [k % 7 for k in range(300)]})
    rows.to_csv("pool.csv", index=False)
    rows.assign(y=["u", "v"] * 150)[::9].to_csv("labeled.csv", index=False)
    files = ("--labeled", "labeled.csv", "--label-column", "y", "--pool", "pool.csv")
    for command in (("select", "--out", "b.csv"), ("campaign", "init", "rounds")):
        code, _, err = run_command(*command, *files, "--batch-size", "0.1%")
        assert code == 1
        assert err == (
            "minmargin: --batch-size 0.1% of 300 rows is less than one row. Use a larger share, or --batch-size 1.\n"
        )
