"""Directions: what it means that a row lies further to the right on a map, or further up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minmargin.report.features import Feature
from minmargin.report.words import short

N_NAMED = 3  # features of a direction
_LEAST = 0.3  # correlation of a feature that is named


class _Trait(NamedTuple):
    """Numbers of the pool's rows, and what it is called to have more of them, or fewer."""

    values: NDArray[np.float64]
    more: str
    less: str


def describe_directions(
    points: NDArray[np.float64], features: Sequence[Feature], *, n_named: int = N_NAMED
) -> str:
    """Return in a sentence or two which features go along with the directions of a map.

    Args:
        points: (n, 2) where rows of the pool lie.
        features: of the same rows.
        n_named: how many features of a direction are named at most.
    """
    named = [_named(points[:, axis], features)[:n_named] for axis in (0, 1)]
    if not any(named):
        return "Neither direction goes along with a single feature: both mix many."
    right, up = (", ".join(names) or "a mixture of many features" for names in named)
    return f"To the right: {right}. Upwards: {up}."


def _named(along: NDArray[np.float64], features: Sequence[Feature]) -> list[str]:
    """Return the features that go along with a direction, the closest first."""
    found = []
    for place, feature in enumerate(features):
        correlated = [(_correlation(along, trait.values), trait) for trait in _traits(feature)]
        strength, trait = max(correlated, key=lambda pair: (abs(pair[0]), pair[0]))
        if abs(strength) >= _LEAST:
            found.append((-abs(strength), place, trait.more if strength > 0 else trait.less))
    return [said for _, _, said in sorted(found)]


def _traits(feature: Feature) -> Iterator[_Trait]:
    name = short(feature.name)
    if feature.kind == "category":
        for value in sorted(set(feature.pool), key=str):
            said = "missing" if value is None else short(value)
            yield _Trait(
                (feature.pool == value).astype(np.float64), f"{name} is {said}", f"{name} is not {said}"
            )
    elif feature.kind == "presence":
        yield _Trait(feature.pool.astype(np.float64), name, f"not {name}")
    else:
        more, less = ("later", "earlier") if feature.kind == "date" else ("more", "less")
        yield _Trait(feature.pool, f"{more} {name}", f"{less} {name}")


def _correlation(along: NDArray[np.float64], values: NDArray[np.float64]) -> float:
    """Return the correlation over rows that have a value; 0 where one of the two never changes.

    >>> _correlation(np.array([1.0, 2.0, 3.0]), np.array([2.0, np.nan, 1.0]))
    -1.0
    """
    known = np.isfinite(values) & np.isfinite(along)
    first, second = along[known], values[known]
    if len(first) < 2 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return 0.0
    first, second = first - first.mean(), second - second.mean()
    lengths = float(np.sqrt((first @ first) * (second @ second)))
    return round(float(first @ second) / lengths, 9) if lengths > 0 else 0.0
