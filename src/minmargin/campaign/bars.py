"""A learning curve as a line of bars, and what its axis shows at least."""

from __future__ import annotations

from collections.abc import Sequence

_BARS = "▁▂▃▄▅▆▇█"
SPAN = 0.05  # of a share that a curve shows at least, so that noise does not look like a rise


def sparkline(values: Sequence[float], least: float = SPAN) -> str:
    """Return numbers as a line of bars, from the lowest to the highest, or where these are close, around the middle.

    >>> sparkline([0.5, 0.75, 1.0], least=0.05), sparkline([0.887, 0.885, 0.886], least=0.05)
    ('▁▅█', '▅▄▅')
    """
    low, high = widened(min(values), max(values), least)
    return "".join(_BARS[round((value - low) / (high - low) * (len(_BARS) - 1))] for value in values)


def widened(low: float, high: float, least: float) -> tuple[float, float]:
    """Return the two ends of an axis, moved apart alike if there is less than `least` between them."""
    more = max(0.0, least - (high - low)) / 2
    return low - more, high + more


def bars_of(points: Sequence[tuple[int, float]]) -> str:
    """Return shares by numbers of labels: the first, bars, and the last.

    >>> bars_of([(50, 0.8)]), bars_of([(50, 0.8), (100, 0.85), (150, 0.9)])
    ('80.0% with 50 labels', '80.0% with 50 labels  ▁▄█  90.0% with 150')
    """
    (first, low), (last, high) = points[0], points[-1]
    begin = f"{low:.1%} with {first:,} labels"
    if len(points) == 1:
        return begin
    return f"{begin}  {sparkline([share for _, share in points])}  {high:.1%} with {last:,}"
