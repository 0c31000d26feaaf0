"""The documentation says what the program does."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from minmargin.cli import app

ROOT = Path(__file__).parents[1]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]


def test_the_page_of_commands_shows_the_current_help():
    spec = importlib.util.spec_from_file_location("write_help", ROOT / "docs" / "write_help.py")
    write_help = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(write_help)
    page = write_help.PAGE.read_text()
    assert write_help.with_current_help(page) == page, "run make docs"


def test_every_command_is_on_the_page_of_commands():
    page = (ROOT / "docs" / "command-line.md").read_text()
    for command in app.registered_commands:
        assert f"$ minmargin {command.name} --help" in page


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"
