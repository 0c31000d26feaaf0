"""Spread: how far apart the rows of a batch lie, and how two batches differ."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from minmargin.data.rows import Matrix
from minmargin.report.neighbors import nearest_of
from minmargin.report.survey import N_COMPARED, Survey, evenly


class Spread(NamedTuple):
    """Distances within a batch: from its center (root mean square), and to the nearest other pick (median)."""

    from_center: float
    to_nearest: float


class Compared(NamedTuple):
    """A batch next to plain margin's, and to as many random rows.

    Attributes:
        n_shared: how many rows plain margin would have picked too.
        n_measured: how many rows of each the distances were measured on: they depend on it.
        spreads: by name, "this batch" first; empty where there are no vectors.
    """

    n_shared: int
    n_measured: int
    spreads: dict[str, Spread]


def compare_batches(survey: Survey, rows: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Compared:
    """Return how a batch, whose rows are given, differs from plain margin's and from a random one."""
    n_shared = int(np.isin(rows, survey.by_margin.rows).sum())
    n = min(len(rows), len(survey.sample), N_COMPARED)
    picks = survey.picks.take(np.searchsorted(survey.places, evenly(len(rows), N_COMPARED)))
    sides = {"this batch": picks, "plain margin's": survey.by_margin, "random rows": survey.sample}
    spreads = {
        name: spread_of(side.take(evenly(len(side), n)).vectors)
        for name, side in sides.items()
        if side.vectors is not None and n > 1
    }
    return Compared(n_shared, n, spreads)


def spread_of(vectors: Matrix | None) -> Spread:
    """Return the distances within (n, D) rows."""
    assert vectors is not None
    mean = np.asarray(vectors.mean(axis=0)).ravel()
    squares = vectors.multiply(vectors).sum() if hasattr(vectors, "multiply") else np.square(vectors).sum()
    from_center = float(np.sqrt(max(float(squares) / vectors.shape[0] - float(mean @ mean), 0.0)))
    return Spread(from_center, float(np.median(nearest_of(vectors).distances)))
