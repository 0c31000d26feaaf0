"""Settings and fixtures that all suites share."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
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


@pytest.hookimpl(tryfirst=True)  # before pytest picks those that `-m` asks for
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that need the folder of real data, and skip those that need torch or a GPU where there is none."""
    from minmargin.device import resolve_device  # noqa: PLC0415 - coverage begins after this file is imported

    has_torch = importlib.util.find_spec("torch") is not None
    for item in items:
        if isinstance(item, pytest.Function) and "shared_data" in item.fixturenames:
            item.add_marker(pytest.mark.shared)
        if item.path.name in {"networks.md", "transformers.md"} and not has_torch:
            item.add_marker(pytest.mark.skip(reason="torch is not installed"))
        if item.get_closest_marker("gpu") and resolve_device("auto") == "cpu":
            item.add_marker(pytest.mark.skip(reason="there is no CUDA GPU"))


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Return the folder of real data sets that stands beside the developers' checkouts."""
    if not _SHARED.is_dir():
        pytest.skip("the folder shared/data is not beside this checkout")
    return _SHARED


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make blocks so small that a pool of a few hundred rows fills many of them."""
    monkeypatch.setattr("minmargin.scan.sizes.SMALLEST", 16)
    monkeypatch.setattr("minmargin.scan.sizes._LARGEST", 64)
    monkeypatch.setattr("minmargin.scan.sizes.FIRST", 16)
    monkeypatch.setattr("minmargin.scan.sizes._LARGEST_SCREENED", 64)


@pytest.fixture
def large_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take all work for large: screens look at every row first, and compiled kernels make all scores."""
    monkeypatch.setattr("minmargin.compute.models.SMALL_WORK", 0)


@pytest.fixture
def run_command(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Runs a command line, and returns its exit code, what it printed, and its errors."""
    from minmargin import cli  # noqa: PLC0415 - coverage begins after this file is imported

    def run(*line: object) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["minmargin", *map(str, line)])
        code = cli.run()
        printed = capfd.readouterr()
        return code, printed.out, printed.err

    return run


@pytest.fixture(params=["small work", "large work"])
def either_way(request: pytest.FixtureRequest) -> None:
    """Do small work in plain numpy, and then again as large work is done."""
    if request.param == "large work":
        request.getfixturevalue("large_work")


@pytest.fixture(scope="module")
def one_torch_thread() -> Iterator[None]:
    """Let torch use one thread: for networks this small, several only wait for each other on a busy machine."""
    torch = pytest.importorskip("torch")
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(n_threads)
