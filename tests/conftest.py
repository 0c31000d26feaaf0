"""Settings and fixtures that all suites share."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Kernels compile and pools are written to disk inside examples: time limits would only measure the machine.
settings.register_profile(
    "minmargin",
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("minmargin")

_SHARED = Path(__file__).parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Return the folder of real data sets that stands beside the developers' checkouts."""
    if not _SHARED.is_dir():
        pytest.skip("the folder shared/data is not beside this checkout")
    return _SHARED


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make blocks so small that a pool of a few hundred rows fills many of them."""
    monkeypatch.setattr("minmargin.scan._SMALLEST_BLOCK", 16)
    monkeypatch.setattr("minmargin.scan._LARGEST_BLOCK", 64)
    monkeypatch.setattr("minmargin.scan._FIRST_BLOCK", 16)
    monkeypatch.setattr("minmargin.scan._LARGEST_SCREENED_BLOCK", 64)
