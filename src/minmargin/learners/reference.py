"""Learners by reference: package.module:factory, for command lines and settings files."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

from minmargin.errors import InputError
from minmargin.learners import is_module


def is_reference(learner: Any) -> bool:
    """Return whether a learner is named by a factory that makes it."""
    return isinstance(learner, str) and ":" in learner


def make_learner(reference: str) -> Any:
    """Return what a factory named package.module:factory makes, or the factory itself if it makes torch modules.

    The current folder is searched too.
    """
    module_name, _, name = reference.partition(":")
    sys.path.insert(0, str(Path.cwd()))
    try:
        factory = getattr(importlib.import_module(module_name), name)
        made = factory()
    except Exception as error:
        raise InputError(f"learner={reference} failed: {type(error).__name__}: {error}.") from error
    finally:
        sys.path.pop(0)
    return factory if is_module(made) else made
