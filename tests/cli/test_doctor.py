"""`minmargin doctor`: what it finds, what it complains of, and how it leaves."""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from numba import njit
from typer.testing import CliRunner

import minmargin as mm
from minmargin.cli import app, findings
from minmargin.cli.findings import EXTRAS, Finding


def found() -> dict[str, Finding]:
    return {finding.name: finding for finding in findings.examine()}


def test_a_machine_that_runs_the_tests_is_well() -> None:
    result = CliRunner().invoke(app, ["doctor"], catch_exceptions=False)
    assert result.exit_code == 0
    assert result.stdout.endswith("✓ Nothing is wrong.\n")
    for topic in ("versions", "machine", "extras", "folders", "trial"):
        assert f"{topic}\n" in result.stdout
    assert f"{mm.__version__}\n" in result.stdout
    assert "picks the right rows" in result.stdout


def test_machines_are_told_the_same_as_json(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [
        Finding("folders", "data sets", "nowhere", "It is gone. Bring it back."),
        Finding("trial", "a", "b"),
    ]
    monkeypatch.setattr(findings, "examine", lambda: iter(found))
    result = CliRunner().invoke(app, ["doctor", "--json"])
    assert result.exit_code == 1
    assert json.loads(result.stdout) == {
        "ok": False,
        "findings": [
            {
                "topic": "folders",
                "name": "data sets",
                "found": "nowhere",
                "wrong": "It is gone. Bring it back.",
            },
            {"topic": "trial", "name": "a", "found": "b", "wrong": None},
        ],
    }


def test_what_is_wrong_is_said_last_and_decides_the_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(findings, "examine", lambda: iter([Finding("a", "b [c]", "d", "Mend [d].")]))
    result = CliRunner().invoke(app, ["doctor"])
    assert result.exit_code == 1
    assert [line.split() for line in result.stdout.splitlines()] == [
        ["a"],
        ["b", "[c]", "✗", "d"],
        ["✗", "Mend", "[d]."],
    ]


def test_every_extra_of_the_package_is_looked_for() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    assert set(EXTRAS) == set(extras) - {"all", "dev", "docs", "libraries"}
    for name, (_, packages) in EXTRAS.items():
        assert [each.split(">")[0] for each in extras[name]] == list(packages.values())


def test_a_missing_extra_is_no_complaint_and_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pooch", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "pooch" else object())
    assert found()["data: public data sets"] == Finding(
        "extras", "data: public data sets", "not installed: pip install 'minmargin[data]'"
    )


def test_a_data_folder_that_does_not_exist_is_wrong(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MINMARGIN_DATA", str(tmp_path / "gone"))
    first = next(each for each in findings._folders() if each.name == "data sets")
    assert first.wrong == "MINMARGIN_DATA names a folder that does not exist. Make it, or name another."


def test_no_place_for_compiled_code_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("minmargin.compute.kernels.to_class_scores", njit(lambda: None))  # which is not kept
    assert list(findings._folders())[-1].wrong == (
        "Compiled code cannot be kept, so every process compiles it anew. Set NUMBA_CACHE_DIR to a folder that can be "
        "written."
    )


@pytest.mark.parametrize(
    ("spoil", "complaint"),
    [
        (lambda *_, **__: 1 / 0, "A small selection failed (ZeroDivisionError: division by zero)."),
        (
            lambda *_, **__: SimpleNamespace(
                score=lambda X: X[:, 0], select=lambda X, n, **_: SimpleNamespace(scores=X[:n, 0])
            ),
            "A small selection did not pick the rows with the lowest scores. Please report this machine.",
        ),
    ],
    ids=["fails", "picks wrong rows"],
)
def test_a_trial_that_goes_wrong_is_told(
    monkeypatch: pytest.MonkeyPatch, spoil: Callable[..., Any], complaint: str
) -> None:
    monkeypatch.setattr("minmargin.committee.training.fit_committee", spoil)
    assert findings._trial().wrong == complaint


# GPUs, with a torch that is made up


def pretend(monkeypatch: pytest.MonkeyPatch, *, torch: Any, driver: bool) -> Finding:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: torch)
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setattr(findings, "nvidia_driver_loads", lambda: driver)
    return findings._gpu()


def made_up_torch(names: list[str]) -> Any:
    cuda = SimpleNamespace(
        is_available=lambda: bool(names), device_count=lambda: len(names), get_device_name=names.__getitem__
    )
    return SimpleNamespace(__version__="2.9", cuda=cuda)


def test_gpus_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    finding = pretend(monkeypatch, torch=made_up_torch(["H200", "H200"]), driver=True)
    assert finding == Finding("machine", "GPU", "H200, H200")


def test_a_driver_that_torch_cannot_use_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    finding = pretend(monkeypatch, torch=made_up_torch([]), driver=True)
    assert finding.found == "not usable by torch 2.9"
    assert finding.wrong == (
        "There is a CUDA driver, but this build of torch cannot use it. Install one for CUDA."
    )


def test_no_gpu_is_no_complaint(monkeypatch: pytest.MonkeyPatch) -> None:
    assert pretend(monkeypatch, torch=made_up_torch([]), driver=False).found == "none with a CUDA driver"
    assert pretend(monkeypatch, torch=None, driver=False).found == "not used: torch is not installed"
