from __future__ import annotations

import sys

import pytest

from minmargin.cli import run


@pytest.fixture
def minmargin(monkeypatch, capsys):
    """Return a function that calls a command, and gives its exit code and what it wrote on stdout and stderr."""

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["minmargin", *map(str, arguments)])
        code = run()
        return code, *capsys.readouterr()

    return call
