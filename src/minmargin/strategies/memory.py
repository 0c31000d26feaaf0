"""Memory: how much of it strategies may take that keep many rows."""

from __future__ import annotations

import os
from typing import Any

from minmargin.checks import is_number
from minmargin.errors import InputError


def check_memory_limit(memory_limit: Any) -> None:
    """Raise an error unless this is a number of bytes, or None."""
    if memory_limit is not None and not (is_number(memory_limit) and memory_limit > 0):
        raise InputError(f"memory_limit={memory_limit!r} must be a number of bytes > 0, or None.")


def half_of_memory() -> int:
    """Return half the bytes of this machine's memory; 4 GB where the system does not tell."""
    if "SC_PHYS_PAGES" not in getattr(os, "sysconf_names", {}):
        return 4 << 30
    return int(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")) // 2


def gigabytes(n_bytes: float) -> str:
    """Return a number of bytes for people.

    >>> gigabytes(2.5e9), gigabytes(3e6)
    ('2.5 GB', '3.0 MB')
    """
    return f"{n_bytes / 1e9:,.1f} GB" if n_bytes >= 1e8 else f"{n_bytes / 1e6:,.1f} MB"
