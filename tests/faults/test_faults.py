"""Every fault is tried a few times; `make faults` tries them often, and writes what happened."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from faults.run import FAULTS, main


@pytest.mark.parametrize("fault", FAULTS)
def test_only_what_is_allowed_happens(fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "page.md"
    monkeypatch.setattr(sys, "argv", ["run.py", "--quick", "--only", fault, "--out", str(out)])
    main()
    assert "| what was tried | times |" in out.read_text()
