"""What others report."""

from __future__ import annotations

from typing import NamedTuple

from minmargin.experiments.published.rebenchmark import EUCLIDEAN


class Reported(NamedTuple):
    """A figure of a published table.

    Attributes:
        called: what they call the strategy.
        mean: of the areas of their draws.
        deviation: the standard deviation of those.
        different: what a difference could come from, besides chance; empty where both do the same.
    """

    called: str
    mean: float
    deviation: float
    different: str = ""


#: How many draws their figures are means of: sets with 2,000 rows or more have ten.
REBENCHMARK_DRAWS = 10
_FOUR_KINDS = "theirs asks four kinds of models, ours 25 machines on bootstrap draws"
#: By set and strategy: the table of results in their repository, which is that of the paper with four digits.
REBENCHMARK = {
    ("spambase", "random"): Reported("Uniform", 0.9103, 0.0057),
    ("spambase", "margin"): Reported("US-C", 0.9205, 0.0043),
    ("spambase", EUCLIDEAN): Reported("Core-Set", 0.9052, 0.0073),
    ("spambase", "committee"): Reported("QBC", 0.9190, 0.0042, _FOUR_KINDS),
    ("phoneme", "random"): Reported("Uniform", 0.8254, 0.0101),
    ("phoneme", "margin"): Reported("US-C", 0.8355, 0.0063),
    ("phoneme", EUCLIDEAN): Reported("Core-Set", 0.8240, 0.0059),
    ("phoneme", "committee"): Reported("QBC", 0.8318, 0.0063, _FOUR_KINDS),
}
