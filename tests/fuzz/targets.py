"""Every kind of file that is read back, by the name of its target."""

from __future__ import annotations

from fuzz import batches, campaigns, checkpoints, committees, results
from fuzz.target import Target

_FILES = (committees, checkpoints, campaigns, batches, results)
TARGETS: dict[str, Target] = {name: target for each in _FILES for name, target in each.TARGETS.items()}
