"""Engines: where the work on the pool runs. Each is one function over independent pieces of work."""

from minmargin.engines.local import run_locally

__all__ = ["run_locally"]
