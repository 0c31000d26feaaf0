"""Learners by reference: package.module:factory, for command lines and settings files."""

from __future__ import annotations

import importlib
import importlib.machinery
import sys
from pathlib import Path
from typing import Any, TypeGuard

from minmargin.errors import InputError, listing
from minmargin.learners import is_module


def is_reference(learner: Any) -> TypeGuard[str]:
    """Return whether a learner is named by a factory that makes it."""
    return isinstance(learner, str) and ":" in learner


def is_in_current_folder(reference: str) -> bool:
    """Return whether the module of a reference is a file or a package in the current folder, not an installed one."""
    package = reference.partition(":")[0].partition(".")[0]
    return importlib.machinery.PathFinder.find_spec(package, [str(Path.cwd())]) is not None


def learner_named(name: str) -> Any:
    """Return what a reference names, for `minmargin.select` to take; any other name as it is."""
    return make_learner(name) if is_reference(name) else name


def make_learner(reference: str, folder: str | None = None) -> Any:
    """Return what a factory named package.module:factory makes, or the factory itself if it makes torch modules.

    A folder that is given is searched first, then the current one.
    """
    module_name, _, name = reference.partition(":")
    searched = list(dict.fromkeys([*([] if folder is None else [folder]), str(Path.cwd())]))
    before = sys.path[:]
    sys.path[:0] = searched
    try:
        factory = getattr(importlib.import_module(module_name), name)
        made = factory()
    except Exception as error:
        missing = isinstance(error, ModuleNotFoundError) and f"{module_name}.".startswith(f"{error.name}.")
        where = f" It was looked for in {listing(searched)} and among installed packages." if missing else ""
        raise InputError(f"learner={reference} failed: {type(error).__name__}: {error}.{where}") from error
    finally:
        sys.path[:] = before
    return factory if is_module(made) else made
