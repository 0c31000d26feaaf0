"""How commands behave towards people: how much they say, and whether faults are shown in full.

A process runs one command line, so this is the module's state. The options that stand before the command set it anew.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Manners:
    """What `--quiet` and `--debug` ask for."""

    quiet: bool = False
    debug: bool = False


manners = Manners()
