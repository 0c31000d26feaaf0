"""What holds for all tests, and for the examples in pages and docstrings."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

import pytest

# Modules that import an extra are not looked at for doctests where it is not installed. pytest can be told to pass over
# modules that cannot be imported, but it would then pass over broken tests too.
_NEED_TORCH = [
    "src/minmargin/compute/gpu/*.py",
    "src/minmargin/learners/networks/fused*.py",
    "src/minmargin/learners/networks/module_training.py",
    "src/minmargin/learners/networks/modules.py",
    "src/minmargin/learners/networks/steps.py",
    "src/minmargin/learners/networks/training.py",
    "tests/small_modules.py",
]
collect_ignore_glob = [] if find_spec("torch") else _NEED_TORCH


@pytest.fixture(autouse=True)
def _strategies_stay_where_they_are_registered() -> Iterator[None]:
    """Forget what a test or an example registers: the next one may use its name, or count all strategies."""
    from minmargin.strategies import registry  # noqa: PLC0415 - coverage begins after this file is imported

    before = dict(registry._ENTRIES)  # noqa: SLF001 - nobody else should have a use for this
    yield
    registry._ENTRIES.clear()  # noqa: SLF001
    registry._ENTRIES.update(before)  # noqa: SLF001


def pytest_collection() -> None:
    """Import the package as users do, before pytest imports its modules one by one for their examples."""
    import minmargin  # noqa: F401, PLC0415 - else mm.strategies is the module, and not the function
