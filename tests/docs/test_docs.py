"""The documentation says what the program does. (tests/docs runs its examples.)"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scripts import load_script

ROOT = Path(__file__).parents[2]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]


@pytest.fixture(scope="module")
def write_help():
    """The script that writes the page of commands."""
    return load_script(ROOT / "docs" / "write_help.py")


def test_the_page_of_commands_shows_all_commands_and_their_current_help(write_help):
    page = write_help.PAGE.read_text()
    assert write_help.with_current_help(page) == page, "run make docs"
    commands = list(write_help.commands())
    assert "select" in commands
    assert "data fetch" in commands


def test_a_command_that_the_page_lacks_gets_a_place_on_it(write_help):
    page = write_help.PAGE.read_text()
    blocks = [f"```console\n$ minmargin {name} --help\n" for name in ("doctor", "data verify")]
    without = page
    for block in blocks:
        start = page.index(block)
        without = without.replace(page[start : page.index("```\n\n", start) + len("```\n\n")], "")
    whole = write_help.with_current_help(without)
    assert all(block in whole for block in blocks)
    assert whole.index(blocks[1]) < whole.index("\n## ", whole.index("## minmargin data"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_pages_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"
