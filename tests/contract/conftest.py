"""Settings of the contract suites."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """Let libraries use one thread: for models this small, several only wait for each other on a busy machine."""
    with threadpool_limits(1):
        yield
