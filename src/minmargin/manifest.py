"""The manifest: what is needed to understand a batch later, and to repeat it."""

from __future__ import annotations

import platform
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from minmargin.version import __version__

_PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "pyarrow")


@dataclass
class Stopwatch:
    """Seconds per stage of a run."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Count the time inside the block to stage `name`."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = round(self.seconds.get(name, 0.0) + time.perf_counter() - start, 4)


@cache
def describe_software() -> dict[str, str]:
    """Return the versions of this package, Python and the libraries that scores depend on."""
    versions = {"minmargin": __version__, "python": platform.python_version()}
    for package in _PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = "unknown"
    return versions


def make_manifest(
    *,
    settings: dict[str, Any],
    labeled: dict[str, Any],
    pool: dict[str, Any],
    excluded: dict[str, int] | None,
    n_rows_decided: int,
    stopwatch: Stopwatch,
) -> dict[str, Any]:
    """Return the manifest, ready for JSON.

    `excluded` says how many ids or row numbers were to be left out, and how many rows of the pool that were.
    `n_rows_decided` counts the rows that no screen could dismiss, so that they were scored exactly.
    """
    return {
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "settings": settings,
        "labeled": labeled,
        "pool": pool,
        **({} if excluded is None else {"excluded": excluded}),
        "rows_scored_exactly": n_rows_decided,
        "seconds": stopwatch.seconds,
        "versions": dict(describe_software()),
        "machine": {"system": platform.system(), "processor": platform.machine()},
    }
