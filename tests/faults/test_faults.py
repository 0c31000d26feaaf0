"""Every fault is tried a few times; `make faults` tries them often, and writes what happened."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("run.py")


@pytest.mark.parametrize("fault", ["killed", "interrupted", "obstacles", "arrays", "mutations", "hostile"])
def test_only_what_is_allowed_happens(fault: str, tmp_path: Path) -> None:
    out = tmp_path / "page.md"
    command = [sys.executable, str(SCRIPT), "--quick", "--only", fault, "--out", str(out)]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert run.returncode == 0, run.stderr
    assert "| what was tried | times |" in out.read_text()
