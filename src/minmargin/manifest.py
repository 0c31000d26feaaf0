"""The manifest: what is needed to understand a batch later, and to repeat it.

Fingerprints are short hashes that tell whether data is the data of an earlier run. They look at the shape, the types
and an even sample of the rows (of files: the size and both ends, or the time and tag that object storage keeps), so
that a billion rows cost as little as a thousand. They notice a changed file or a re-sorted table; they are no proof
that every cell is equal.
"""

from __future__ import annotations

import hashlib
import math
import platform
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from minmargin.data.rows import Rows, count_rows, take_rows
from minmargin.version import __version__

_PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "pyarrow")
_SAMPLED_ROWS, _SAMPLED_CELLS = 4096, 1 << 18


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
    classes: NDArray[Any],
    labeled: dict[str, Any] | None,
    pool: dict[str, Any],
    excluded: dict[str, Any] | None,
    n_copies: int | None,
    n_rows_decided: int,
    stopwatch: Stopwatch,
) -> dict[str, Any]:
    """Return the manifest, ready for JSON.

    `labeled` is None where models came without a labeled set.
    `excluded` says how many ids or row numbers were to be left out, and how many rows of the pool that were.
    `n_copies` counts the rows that were passed over as copies; None where rows need not be distinct.
    `n_rows_decided` counts the rows that no screen could dismiss, so that they were scored exactly.
    """
    return {
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "settings": settings,
        "classes": [str(name) for name in classes.tolist()],
        "labeled": labeled,
        "pool": pool,
        **({} if excluded is None else {"excluded": excluded}),
        **({} if n_copies is None else {"copies_passed_over": n_copies}),
        "rows_scored_exactly": n_rows_decided,
        "seconds": stopwatch.seconds,
        "versions": dict(describe_software()),
        "machine": {"system": platform.system(), "processor": platform.machine()},
    }


def labeled_part(manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what a manifest records of the labeled set; nothing where there was none."""
    return manifest.get("labeled") or {}


def classes_of(manifest: Mapping[str, Any]) -> list[str]:
    """Return the classes that a manifest records, as texts; the first manifests have them as counts alone."""
    return list(manifest.get("classes") or labeled_part(manifest).get("class_counts", ()))


def empty_classes(manifest: Mapping[str, Any]) -> list[str]:
    """Return the classes that nobody has labeled yet, as texts."""
    return [name for name, n in labeled_part(manifest).get("class_counts", {}).items() if n == 0]


def fingerprint_rows(rows: Rows) -> str:
    """Return a hash of the shape, types and sampled rows of rows in memory."""
    n = count_rows(rows)
    n_cells = rows.nnz if sparse.issparse(rows) else math.prod(rows.shape)
    n_sampled = min(n, _SAMPLED_ROWS, max(_SAMPLED_CELLS * n // max(n_cells, 1), 64))  # of wide rows, fewer
    picked = np.unique(np.linspace(0, max(n - 1, 0), n_sampled).astype(np.intp))
    sample = take_rows(rows, picked)
    if isinstance(sample, nw.DataFrame):
        types = [(name, str(dtype)) for name, dtype in sample.schema.items()]
        values = list(sample.to_dict(as_series=False).values())
        return _digest([repr((n, types)), repr(values)])
    if isinstance(sample, sparse.csr_array):
        arrays = (sample.indptr, sample.indices, sample.data)
        return _digest([repr((rows.shape, str(sample.dtype))), *(a.tobytes() for a in arrays)])
    content = repr(sample.tolist()) if sample.dtype.hasobject else sample.tobytes()
    return _digest([repr((rows.shape, str(sample.dtype))), content])


def fingerprint_files(identities: Iterable[Iterable[str | bytes]]) -> str:
    """Return a hash of what files tell of themselves: names, sizes, and both ends or the times and tags in a store."""
    return _digest(part for identity in identities for part in identity)


def fingerprint_values(values: Any) -> str:
    """Return a hash of every value of an Arrow array."""
    runs = (values[start : start + _SAMPLED_ROWS] for start in range(0, len(values), _SAMPLED_ROWS))
    return _digest(repr(run.to_pylist()) for run in runs)


def _digest(parts: Iterable[str | bytes]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        content = part.encode() if isinstance(part, str) else part
        digest.update(len(content).to_bytes(8, "little"))
        digest.update(content)
    return "sha256:" + digest.hexdigest()[:32]


def fingerprint_models(models: Any) -> str:
    """Return a hash of trained models that are arrays; nothing for others, which their training has to tell apart."""
    arrays = _arrays_of(models) if is_dataclass(models) else []
    shapes = [repr((array.shape, str(array.dtype))) for array in arrays]
    return _digest([*shapes, *(np.ascontiguousarray(array).tobytes() for array in arrays)]) if arrays else ""


def _arrays_of(models: Any) -> list[NDArray[Any]]:
    """Return the arrays in the fields of a dataclass, and of those in it."""
    found: list[NDArray[Any]] = []
    for each in fields(models):
        value = getattr(models, each.name)
        for item in value if isinstance(value, tuple) else (value,):
            if isinstance(item, np.ndarray):
                found.append(item)
            elif is_dataclass(item):
                found += _arrays_of(item)
    return found
