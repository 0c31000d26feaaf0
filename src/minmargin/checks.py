"""Checks of plain numbers at the public edge; each returns the number as a plain int."""

from __future__ import annotations

from typing import Any

import numpy as np

from minmargin.errors import InputError


def check_count(name: str, value: Any, *, least: int, usual: int | None = None) -> int:
    """Return an argument that must be a whole number of at least `least`."""
    if not _is_whole(value) or value < least:
        hint = "" if usual is None else f"; {usual} is usual"
        raise InputError(f"{name}={value!r} must be a whole number >= {least}{hint}.")
    return int(value)


def check_n_jobs(n_jobs: Any) -> int:
    """Return a number of workers: positive, or negative to count down from all cores; None is 1, as in scikit-learn."""
    if n_jobs is None:
        return 1
    if not _is_whole(n_jobs) or n_jobs == 0:
        raise InputError(f"n_jobs={n_jobs!r} must be a whole number >= 1, or -1 for all cores.")
    return int(n_jobs)


def is_number(value: Any) -> bool:
    """Return whether a value is a plain number; true and false are none."""
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def _is_whole(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)
