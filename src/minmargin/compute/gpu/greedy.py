"""Greedy picking on a device: float64 cosines there find the next pick, and exact ones decide where that leaves doubt.

Each pick takes one product of all rows with the row picked last: a GPU makes a thousand of them a second. A cosine
from the device is off by rounding only. Rows whose scores lie within that of the lowest are compared by exact cosines,
as the CPU's kernel makes them. Nearly always there is one such row.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from minmargin.compute.kernels import norms, raise_to_cosines
from minmargin.compute.rounding import SMALL_UNIT

_CENTERS = 256  # that are multiplied at a time


def fits(n_rows: int, n_features: int, device: str) -> bool:
    """Return whether so many rows, in float64, fit into the free memory of a device."""
    if device == "cpu":
        return True
    free, _ = torch.cuda.mem_get_info(device)
    return bool(1.25 * 8 * n_rows * n_features < free)


def pick_greedily(
    vectors: NDArray[np.floating],
    centers: NDArray[np.floating] | None,
    *,
    offsets: NDArray[np.float64],
    factor: float,
    nothing_yet: float,
    precedes: Callable[[NDArray[np.intp]], int],
    batch_size: int,
    device: str,
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return (B,) which rows are picked, in order, and their exact scores at that time.

    A row's score is offset + factor * likeness, where likeness is the row's highest cosine to a center, `nothing_yet`
    while there is none; each pick has the lowest score, and becomes a center.

    Args:
        vectors: (n, D) the candidates.
        centers: (m, D) the first centers, if there are any.
        offsets: (n,)
        factor: not negative.
        nothing_yet: the likeness of all rows before there is a center.
        precedes: given the places of rows with equal scores, the place of the one to pick.
        batch_size: B.
        device: where to multiply.
    """
    exact = _Exact(vectors, centers, offsets, factor, nothing_yet, batch_size)
    unit_vectors = _units(vectors, exact.lengths, device)
    likeness = torch.full((len(vectors),), -np.inf, dtype=torch.float64, device=device)
    if centers is not None:
        for some in np.array_split(np.arange(len(centers)), -(-len(centers) // _CENTERS)):
            others = _units(centers[some], exact.center_lengths[some], device)
            likeness = torch.maximum(likeness, (unit_vectors @ others.T).amax(1))
    at = torch.tensor(offsets, device=device)  # a copy: picked rows are taken out of it
    # Two cosines, each with lengths and sums of D products, all rounded; and a score, rounded twice.
    of_cosines = 2.0 * (4 * vectors.shape[1] + 40) * SMALL_UNIT
    largest = float(np.abs(offsets).max()) + factor * max(1.0, abs(nothing_yet))
    doubt = factor * of_cosines + 8.0 * SMALL_UNIT * (1.0 + largest)
    picked = np.empty(batch_size, dtype=np.intp)
    n_first = exact.n_centers
    for place in range(batch_size):
        known = likeness if exact.n_centers else torch.full_like(likeness, nothing_yet)
        scores = torch.add(at, known, alpha=factor)
        lowest, row = scores.min(0)
        near = scores <= lowest + doubt
        n_near, pick = torch.stack([near.sum(), row]).tolist()  # the one wait for the device
        if n_near > 1:
            pick = exact.lowest(near.nonzero()[:, 0].cpu().numpy(), precedes)
        picked[place] = pick
        exact.add_center(pick)
        at[pick] = np.inf
        likeness = torch.maximum(likeness, torch.mv(unit_vectors, unit_vectors[pick]))
    first_centers = None if centers is None else _units(centers, exact.center_lengths[:n_first], device)
    closest = _closest_centers(unit_vectors[torch.from_numpy(picked).to(device)], first_centers, of_cosines)
    return picked, exact.scores(picked, n_first, closest)


def _closest_centers(picks: Tensor, first_centers: Tensor | None, doubt: float) -> list[NDArray[np.intp]]:
    """Return for each pick the centers that may have been the closest when it was picked, by rounded cosines.

    The picks before it were centers too, behind the first ones.
    """
    n_first = 0 if first_centers is None else len(first_centers)
    all_centers = picks if first_centers is None else torch.cat([first_centers, picks])
    places = torch.arange(n_first + len(picks), device=picks.device)
    closest: list[NDArray[np.intp]] = []
    for start in range(0, len(picks), _CENTERS):
        cosines = picks[start : start + _CENTERS] @ all_centers.T
        n_earlier = n_first + start + torch.arange(len(cosines), device=picks.device)
        cosines[places >= n_earlier[:, None]] = -torch.inf
        near = (cosines >= cosines.amax(1, keepdim=True) - doubt) & (cosines > -torch.inf)
        which, center = near.nonzero().cpu().numpy().T
        closest += np.split(center, np.searchsorted(which, np.arange(1, len(cosines))))
    return closest


class _Exact:
    """Exact scores of the few rows that need them; a row's likeness is brought up to date when it is asked for."""

    def __init__(
        self,
        vectors: NDArray[np.floating],
        centers: NDArray[np.floating] | None,
        offsets: NDArray[np.float64],
        factor: float,
        nothing_yet: float,
        batch_size: int,
    ) -> None:
        self._vectors, self.lengths = vectors, norms(vectors)
        self._offsets, self._factor, self._nothing_yet = offsets, factor, nothing_yet
        self.n_centers = 0 if centers is None else len(centers)
        self._centers = np.empty((self.n_centers + batch_size, vectors.shape[1]))
        self.center_lengths = np.empty(len(self._centers))
        if centers is not None:
            self._centers[: self.n_centers] = centers
            self.center_lengths[: self.n_centers] = norms(centers)
        self._likeness = np.full(len(vectors), -np.inf)
        self._n_seen = np.zeros(len(vectors), dtype=np.intp)

    def add_center(self, row: int) -> None:
        self._centers[self.n_centers] = self._vectors[row]
        self.center_lengths[self.n_centers] = self.lengths[row]
        self.n_centers += 1

    def lowest(self, rows: NDArray[np.intp], precedes: Callable[[NDArray[np.intp]], int]) -> int:
        """Return the one of these rows with the lowest score."""
        for row in rows:
            self._bring_up_to_date(row, self.n_centers)
        scores = self._score(rows, self._likeness[rows], self.n_centers)
        return precedes(rows[scores == scores.min()])

    def scores(
        self, picked: NDArray[np.intp], n_first: int, closest: list[NDArray[np.intp]]
    ) -> NDArray[np.float64]:
        """Return the score that each pick had when it was picked, with `n_first` centers and the picks before it."""
        scores = np.empty(len(picked))
        for place, row in enumerate(picked):
            likeness = np.array([self._highest_cosine(row, closest[place])])
            scores[place] = self._score(picked[place : place + 1], likeness, n_first + place)[0]
        return scores

    def _score(
        self, rows: NDArray[np.intp], likeness: NDArray[np.float64], n_centers: int
    ) -> NDArray[np.float64]:
        known = likeness if n_centers else np.full(len(rows), self._nothing_yet)
        return self._offsets[rows] + self._factor * known

    def _bring_up_to_date(self, row: int, n_centers: int) -> None:
        unseen = np.arange(self._n_seen[row], n_centers)
        self._likeness[row] = max(self._likeness[row], self._highest_cosine(row, unseen))
        self._n_seen[row] = n_centers

    def _highest_cosine(self, row: int, centers: NDArray[np.intp]) -> float:
        cosines = np.full(len(centers), -np.inf)
        vector = np.asarray(self._vectors[row], dtype=np.float64)
        chosen, lengths = self._centers[centers], self.center_lengths[centers]
        raise_to_cosines(chosen, lengths, vector, float(self.lengths[row]), cosines)
        return float(cosines.max(initial=-np.inf))


def _units(vectors: NDArray[np.floating], lengths: NDArray[np.float64], device: str) -> Tensor:
    """Return float64 vectors of length 1 on the device; those of length 0 stay as they are."""
    divisors = torch.from_numpy(np.where(lengths > 0.0, lengths, 1.0)).to(device)
    return torch.from_numpy(np.ascontiguousarray(vectors)).to(device).double() / divisors[:, None]
