"""Checks of plain numbers at the public edge; each returns the number as a plain int."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import fields
from fractions import Fraction
from typing import Any

import numpy as np

from minmargin.errors import InputError


def check_count(name: str, value: Any, *, least: int, usual: int | None = None) -> int:
    """Return an argument that must be a whole number of at least `least`."""
    if not _is_whole(value) or value < least:
        hint = "" if usual is None else f"; {usual} is usual"
        raise InputError(f"{name}={value!r} must be a whole number >= {least}{hint}.")
    return int(value)


def check_choice(name: str, value: Any) -> bool | None:
    """Return an argument that must be true, false or None: a text, such as "no", would count as true."""
    if value is not None and not isinstance(value, (bool, np.bool_)):
        raise InputError(f"{name}={value!r} must be True, False or None.")
    return None if value is None else bool(value)


def check_names(name: str, value: Any) -> list[str]:
    """Return an argument that must be a name or several; None stands for none."""
    if value is None or isinstance(value, str):
        return [] if value is None else [value]
    names: list[Any] = list(value) if isinstance(value, Iterable) else [None]
    if not all(isinstance(each, str) for each in names):
        raise InputError(f"{name}={value!r} must be names of columns, as texts. Use {name}=[...].")
    return names


def check_n_jobs(n_jobs: Any) -> int:
    """Return a number of workers: positive, or negative to count down from all cores; None is 1, as in scikit-learn."""
    if n_jobs is None:
        return 1
    if not _is_whole(n_jobs) or n_jobs == 0:
        raise InputError(f"n_jobs={n_jobs!r} must be a whole number >= 1, or -1 for all cores.")
    return int(n_jobs)


def rows_in_share(name: str, share: str, n_rows: int) -> int:
    """Return how many of so many rows a share such as "5%" is, rounded down.

    >>> rows_in_share("batch_size", "2.5%", 1_000)
    25
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*%\s*", share)
    if found is None:
        raise InputError(
            f"{name}={share!r} must be a whole number >= 1, or a share of the pool such as '5%'."
        )
    part = Fraction(found[1]) / 100  # exactly: 0.07 * 100 is not 7 in floating point
    if not 0 < part <= 1:
        raise InputError(f"{name}={share!r} must be more than 0% and at most 100% of the pool.")
    rows = int(part * n_rows)
    if rows == 0:
        raise InputError(
            f"{name}={share!r} of {n_rows:,} rows is less than one row. Use a larger share, or {name}=1."
        )
    return rows


def is_number(value: Any) -> bool:
    """Return whether a value is a plain number; true and false are none."""
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def _is_whole(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def without_numpy(value: Any) -> Any:
    """Return a setting with Python's numbers in place of numpy's: so it has the same name, and goes into JSON.

    A float32 becomes the number that it is written as.

    >>> without_numpy({np.int64(1): np.float32(0.1)}), without_numpy((np.bool_(True), "auto"))
    ({1: 0.1}, (True, 'auto'))
    """
    if isinstance(value, np.floating):
        return float(str(value))
    if isinstance(value, (np.integer, np.bool_)):
        return value.item()
    if isinstance(value, tuple):
        return tuple(map(without_numpy, value))
    if isinstance(value, Mapping) and value:
        return {without_numpy(name): without_numpy(each) for name, each in value.items()}
    return value


def set_without_numpy(settings: Any) -> None:
    """Put Python's numbers in place of numpy's into the fields of a frozen dataclass."""
    for each in fields(settings):
        object.__setattr__(settings, each.name, without_numpy(getattr(settings, each.name)))
