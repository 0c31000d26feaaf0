"""What is not looked at for doctests: modules that import an extra, where it is not installed.

pytest can be told to pass over modules that cannot be imported, but it would then pass over broken tests too.
"""

from __future__ import annotations

from importlib.util import find_spec

_NEED_TORCH = [
    "src/minmargin/compute/gpu/*.py",
    "src/minmargin/learners/networks/fused*.py",
    "src/minmargin/learners/networks/modules.py",
    "src/minmargin/learners/networks/steps.py",
    "src/minmargin/learners/networks/training.py",
    "tests/small_modules.py",
]
collect_ignore_glob = [] if find_spec("torch") else _NEED_TORCH
