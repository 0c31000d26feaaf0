"""Strategies compared on labeled data: a game, played over many draws, and what its results say."""

from __future__ import annotations

from minmargin.compare.comparing import compare

__all__ = ["compare"]
