"""Servers on this machine that answer as a test says."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from played_answers import Answer, answering_servers


@pytest.fixture
def answering() -> Iterator[Callable[[Answer], str]]:
    """Starts a server that answers every request in one way, and gives its address."""
    with answering_servers() as start:
        yield start
