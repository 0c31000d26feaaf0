"""Every kind of file that is read back, by the name of its target."""

from __future__ import annotations

from fuzz import batches, campaigns, checkpoints, committees
from fuzz.target import Target

TARGETS: dict[str, Target] = {
    **committees.TARGETS,
    **checkpoints.TARGETS,
    **campaigns.TARGETS,
    **batches.TARGETS,
}
