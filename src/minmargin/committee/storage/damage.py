"""Errors of saved files."""

from __future__ import annotations

from pathlib import Path

from minmargin.errors import InputError


def damaged(file: Path, reason: str) -> InputError:
    """Return the error for a file that is not, or no longer, what was saved."""
    return InputError(
        f"{str(file)!r} cannot be loaded: {reason}. Restore the folder as it was saved, or save the committee again."
    )
