"""Differences: by which features some rows are set apart from the pool.

Numbers, dates and categories are measured alike. Of each feature, one yes-or-no question is asked: the one on which the
two kinds of rows differ most. "Is age at most 35?" 62% of the picks say yes, and 30% of the pool. The difference of
shares is that of Kolmogorov and Smirnov for numbers. It has no units, and one outlier does not move it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from minmargin.report.features import Feature, Features

_OFTEN = 0.05  # how often random rows may differ by more, in any of the features

#: Which rows are held against the pool.
Side: TypeAlias = Literal["picks", "labeled"]


class Difference(NamedTuple):
    """A question of which more of these rows say yes than of the pool, and the shares of both that do."""

    question: str
    share: float
    of_pool: float

    @property
    def more(self) -> float:
        """By how much the share is larger than the pool's."""
        return self.share - self.of_pool


class Differences(NamedTuple):
    """What sets rows apart from the pool, the largest difference first.

    Attributes:
        found: one question a feature, of those that differ by more than chance would have it.
        n_features: how many features were looked at.
    """

    found: list[Difference]
    n_features: int


def set_apart(features: Features, side: Side) -> Differences | None:
    """Return what sets the picks, or the labeled set, apart from the pool; None where no feature is known of them."""
    sides = [(each, each.picks if side == "picks" else each.labeled) for each in features.told]
    pairs = [(each, ours) for each, ours in sides if ours is not None]
    if not pairs:
        return None
    n_questions = features.n_passed_over + sum(_count_questions(each, ours) for each, ours in pairs)
    found = []
    for each, ours in pairs:
        asked = max(_questions(each, ours), key=lambda asked: asked.more)
        of_one_share = each.kind in {"category", "presence"}
        if asked.more > _most_by_chance(
            len(ours), len(each.pool), n_questions, shares=asked[1:] if of_one_share else None
        ):
            found.append(asked)
    found.sort(key=lambda asked: (-asked.more, asked.question))
    return Differences(found, len(pairs) + features.n_passed_over)


def _most_by_chance(n: int, n_pool: int, n_questions: int, *, shares: tuple[float, float] | None) -> float:
    """Return the difference of shares that n random rows and n_pool others rarely exceed in any of some questions.

    By the bound of Dvoretzky, Kiefer and Wolfowitz for all values of a number at once, which is Hoeffding's for one
    share. Of one share that is known to be close to 0 or 1, as that of a rare word, Bernstein's asks for less.

    >>> round(_most_by_chance(100, 2000, 10, shares=None), 3)
    0.177
    >>> round(_most_by_chance(100, 2000, 10, shares=(0.03, 0.01)), 3)
    0.062
    """
    unlikely = math.log(2 * n_questions / _OFTEN)
    of_any = math.sqrt(unlikely / 2 * (1 / n + 1 / n_pool))
    if shares is None:
        return of_any
    share = (shares[0] * n + shares[1] * n_pool) / (n + n_pool)
    variance = share * (1 - share) * (1 / n + 1 / n_pool)
    step = unlikely / 3 / min(n, n_pool)
    return min(of_any, step + math.sqrt(step * step + 2 * variance * unlikely))


def _count_questions(feature: Feature, ours: NDArray[Any]) -> int:
    """Return of how many questions the largest difference is taken; all values of a number count as one."""
    return len({*feature.pool, *ours}) if feature.kind == "category" else 1


def _questions(feature: Feature, ours: NDArray[Any]) -> Iterator[Difference]:
    """Yield questions on a feature, each with the shares of rows that say yes."""
    name, pool = feature.name, feature.pool
    if feature.kind == "presence":
        yield Difference(f"has {name}", float(ours.mean()), float(pool.mean()))
        yield Difference(f"has not {name}", float((~ours).mean()), float((~pool).mean()))
    elif feature.kind == "category":
        counts, of_pool = Counter(ours.tolist()), Counter(pool.tolist())
        for value in {**counts, **of_pool}:
            said = f"{name} is missing" if value is None else f"{name} is {value}"
            denied = f"{name} is not missing" if value is None else f"{name} is not {value}"
            share, pools = counts[value] / len(ours), of_pool[value] / len(pool)
            yield Difference(said, share, pools)
            yield Difference(denied, 1 - share, 1 - pools)
    else:
        yield from _questions_on_numbers(feature, ours)


def _questions_on_numbers(feature: Feature, ours: NDArray[np.float64]) -> Iterator[Difference]:
    """Yield whether a number is missing, and of all values the one that it is most telling to be at most, or above."""
    name, pool = feature.name, feature.pool
    missing, pools_missing = float(np.isnan(ours).mean()), float(np.isnan(pool).mean())
    yield Difference(f"{name} is missing", missing, pools_missing)
    yield Difference(f"{name} is not missing", 1 - missing, 1 - pools_missing)
    known, of_pool = np.sort(ours[~np.isnan(ours)]), np.sort(pool[~np.isnan(pool)])
    values = np.unique(np.concatenate([known, of_pool]))
    if len(values) < 2:
        return
    at_most = np.searchsorted(known, values, "right") / len(ours)
    pools_at_most = np.searchsorted(of_pool, values, "right") / len(pool)
    above, pools_above = (1 - missing) - at_most, (1 - pools_missing) - pools_at_most
    place = int(np.argmax((at_most - pools_at_most)[:-1]))
    said = f"= {_value(values[0], feature)}" if place == 0 else f"≤ {_value(values[place], feature)}"
    yield Difference(f"{name} {said}", float(at_most[place]), float(pools_at_most[place]))
    place = int(np.argmax((above - pools_above)[:-1]))
    only = place == len(values) - 2
    said = f"= {_value(values[-1], feature)}" if only else f"> {_value(values[place], feature)}"
    yield Difference(f"{name} {said}", float(above[place]), float(pools_above[place]))


def _value(value: float, feature: Feature) -> str:
    if feature.kind == "date":
        return (
            str(np.datetime64(int(value), "us").astype("datetime64[m]"))
            .replace("T", " ")
            .removesuffix(" 00:00")
        )
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else f"{value:.4g}"
