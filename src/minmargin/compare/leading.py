"""Which score leads: the advice goes by it, and the first picture shows it.

A single score always leads. Of several it is the one that fits the classes: accuracy, unless the most common class has
more than 80% of rows. Who always names that class is then right nearly always, and has learned nothing. So average
precision leads where there are two classes and it looks for the rarer one, or else balanced accuracy. If none that fits
was asked for, the first leads.
"""

from __future__ import annotations

from collections.abc import Sequence

from minmargin.compare.scoring import AVERAGE_PRECISION, positive_class
from minmargin.labeled import LabeledSet
from minmargin.skew import ACCURACY, BALANCED, most_common


def default_scorings(table: LabeledSet) -> list[str]:
    """Return what is played if nothing is named: accuracy, and beside it what fits better, if anything does."""
    return list(dict.fromkeys([ACCURACY, _fitting(table)[0]]))


def leading(scorings: Sequence[str], table: LabeledSet) -> str:
    """Return the one of several scorings that leads."""
    return next((name for name in _fitting(table) if name in scorings), scorings[0])


def _fitting(table: LabeledSet) -> list[str]:
    """Return the scorings that fit the classes of a table, the best first."""
    counts = table.counts.tolist()
    if most_common({str(code): count for code, count in enumerate(counts)}) is None:
        return [ACCURACY]
    positive = positive_class(table)
    looks_for_rarer = positive is not None and counts[positive] == min(counts)
    return [AVERAGE_PRECISION, BALANCED] if looks_for_rarer else [BALANCED]
