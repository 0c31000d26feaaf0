"""Servers on this machine that answer as a test says, and commands that speak to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from played_answers import Answer, answering_servers


@pytest.fixture
def answering() -> Iterator[Callable[[Answer], str]]:
    """Starts a server that answers every request in one way, and gives its address."""
    with answering_servers() as start:
        yield start


@pytest.fixture
def run_command(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Runs a command and returns its exit code and what it printed."""
    from minmargin import cli  # noqa: PLC0415 - coverage begins after this file is imported

    def run(*line: object) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["minmargin", *map(str, line)])
        code = cli.run()
        printed = capfd.readouterr()
        return code, printed.out, printed.err

    return run
