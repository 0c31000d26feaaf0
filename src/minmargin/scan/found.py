"""What one reading of a pool gives: the shortlists, and how many rows it took."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from minmargin.topb import Ranked, TopB


class Counts(NamedTuple):
    """How many rows of a pool were seen, were excluded, were scored canonically, and were passed over as copies."""

    rows: int = 0
    excluded: int = 0
    decided: int = 0
    copies: int = 0

    def plus(self, more: Counts) -> Counts:
        """Return the sums."""
        return Counts(*map(sum, zip(self, more, strict=True)))


class Shortlisted(NamedTuple):
    """The shortlists, and how many rows they took."""

    shortlists: list[Ranked]
    counts: Counts

    @classmethod
    def of(cls, tops: Sequence[TopB], counts: Counts) -> Shortlisted:
        """Return what is in the end kept by each TopB."""
        n_copies = sum(int(top.passed_over().counts.sum()) for top in tops)
        return cls([top.finish() for top in tops], counts._replace(copies=n_copies))
