"""Scores, differences and intervals as texts."""

from __future__ import annotations

from typing import Any, NamedTuple

from minmargin.compare.statistics import Difference


class Words(NamedTuple):
    """How scores of one kind are written.

    Attributes:
        share: whether they are shares of rows: then they are shown in percent, and differences in points.
    """

    share: bool

    @property
    def unit(self) -> str:
        """What differences are counted in; empty for that of the score itself."""
        return "points" if self.share else ""

    def score(self, value: Any) -> str:
        """Return a score.

        >>> Words(True).score(0.9314), Words(False).score(0.9314)
        ('93.1%', '0.931')
        """
        return f"{100 * float(value):.1f}%" if self.share else _plain(float(value))

    def number(self, value: Any, *, signed: bool = False) -> str:
        """Return a difference without its unit.

        >>> Words(True).number(0.0123, signed=True), Words(True).number(-0.0001)
        ('+1.2', '0.0')
        """
        if not self.share:
            return _plain(float(value), signed=signed)
        return f"{round(100 * float(value), 1) + 0.0:{'+' if signed else ''}.1f}"  # + 0.0: no minus before a zero

    def amount(self, value: Any) -> str:
        """Return a difference with its unit."""
        return f"{self.number(value)} {self.unit}".rstrip()

    def interval(self, cell: Difference, *, sign: int = 1) -> str:
        """Return the interval of one difference, or of its opposite."""
        low, high = sorted([sign * float(cell.low), sign * float(cell.high)])
        return f"95% interval {self.number(low)} to {self.number(high)}, {int(cell.n_draws):,} draws"


def _plain(value: float, *, signed: bool = False) -> str:
    """Return a number with as many digits as scores have a use for.

    >>> _plain(-0.34567), _plain(0.00449, signed=True), _plain(12345.678)
    ('-0.346', '+0.004', '12,346')
    """
    digits = 3 if abs(value) < 100 else 0
    return f"{round(value, digits) + 0.0:{'+' if signed else ''},.{digits}f}"
