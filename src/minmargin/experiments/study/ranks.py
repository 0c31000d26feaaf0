"""Ranks over sets, as Demsar (2006, "Statistical Comparisons of Classifiers over Multiple Data Sets") advises.

Each set ranks the strategies once, 1 being best. Friedman's test asks whether the mean ranks could all be the same;
Nemenyi's critical difference says how far two of them must be apart to be told from each other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from minmargin.compare.statistics import LEVEL


class Ranks(NamedTuple):
    """How strategies rank over sets.

    Attributes:
        mean: (S,) each strategy's mean rank; 1 is best.
        n_sets: how many sets ranked them.
        p_value: of Friedman's test that all are the same; NaN below three strategies or two sets.
        critical: mean ranks that are further apart differ, at the 5% level after Nemenyi.
    """

    mean: NDArray[np.float64]
    n_sets: int
    p_value: float
    critical: float


def rank(gains: ArrayLike, *, level: float = LEVEL) -> Ranks:
    """Return how strategies rank, from (S, sets) gains: higher is better, and equals share their ranks.

    >>> rank([[0.4, 0.3], [0.2, 0.3], [0.1, 0.0]]).mean.tolist()
    [1.25, 1.75, 3.0]
    """
    values = np.asarray(gains, dtype=np.float64)
    n_strategies, n_sets = values.shape
    if n_sets == 0:
        return Ranks(np.full(n_strategies, np.nan), 0, float("nan"), float("nan"))
    mean = stats.rankdata(-values, axis=0).mean(axis=1)
    can_be_tested = n_strategies >= 3 and n_sets >= 2
    p_value = float(stats.friedmanchisquare(*values).pvalue) if can_be_tested else float("nan")
    return Ranks(mean, n_sets, p_value, critical_difference(n_strategies, n_sets, level=level))


def critical_difference(n_strategies: int, n_sets: int, *, level: float = LEVEL) -> float:
    """Return Nemenyi's critical difference of mean ranks.

    >>> round(critical_difference(4, 14, level=0.1), 2)  # Demsar's example
    1.12
    """
    if n_strategies < 2:
        return float("nan")
    q = stats.studentized_range.ppf(1 - level, n_strategies, np.inf) / np.sqrt(2)
    return float(q * np.sqrt(n_strategies * (n_strategies + 1) / (6 * n_sets)))
