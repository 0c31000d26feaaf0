"""Examples in the pages run in an empty folder, so that they may write files as a reader would."""

from __future__ import annotations

from pathlib import Path

import pytest

# These need the tools of the site, or a browser, and have no examples.
collect_ignore = ["site_hooks.py", "fence_doctests.py", "take_screenshots.py"]


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
