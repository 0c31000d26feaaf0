"""Greedy picking on a device: float64 cosines there find the next pick, and exact ones decide where that leaves doubt.

Each pick takes one product of all rows with the row picked last, which a GPU's memory gives a thousand times a second.
A cosine from the device is off by rounding only. Rows whose scores lie within that of the lowest are compared by exact
cosines, as the CPU's kernel makes them; nearly always there is one such row.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from minmargin.bounds import SMALL_UNIT
from minmargin.kernels import norms, raise_to_cosines

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
    doubt = 2.0 * factor * (4 * vectors.shape[1] + 40) * SMALL_UNIT
    picked = np.empty(batch_size, dtype=np.intp)
    n_first = exact.n_centers
    for place in range(batch_size):
        known = likeness if exact.n_centers else torch.full_like(likeness, nothing_yet)
        scores = torch.add(at, known, alpha=factor)
        # One wait for the device: the two lowest tell whether any other row comes near the first.
        lowest = torch.topk(scores, min(2, len(scores)), largest=False)
        first, *second, row = torch.cat([lowest.values, lowest.indices[:1].double()]).tolist()
        pick = int(row)
        near = first + doubt + 8.0 * SMALL_UNIT * (1.0 + abs(first))
        if second and second[0] <= near:
            pick = exact.lowest((scores <= near).nonzero()[:, 0].cpu().numpy(), precedes)
        picked[place] = pick
        exact.add_center(pick)
        at[pick] = np.inf
        likeness = torch.maximum(likeness, torch.mv(unit_vectors, unit_vectors[pick]))
    return picked, exact.scores(picked, n_first)


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

    def scores(self, picked: NDArray[np.intp], n_first: int) -> NDArray[np.float64]:
        """Return the score that each pick had when it was picked, with `n_first` centers and the picks before it."""
        scores = np.empty(len(picked))
        for place, row in enumerate(picked):
            n_centers = n_first + place
            if self._n_seen[row] <= n_centers:
                self._bring_up_to_date(row, n_centers)
            scores[place] = self._score(picked[place : place + 1], self._likeness[row : row + 1], n_centers)[
                0
            ]
        return scores

    def _score(
        self, rows: NDArray[np.intp], likeness: NDArray[np.float64], n_centers: int
    ) -> NDArray[np.float64]:
        known = likeness if n_centers else np.full(len(rows), self._nothing_yet)
        return self._offsets[rows] + self._factor * known

    def _bring_up_to_date(self, row: int, n_centers: int) -> None:
        seen = int(self._n_seen[row])
        cosines = np.full(n_centers - seen, -np.inf)
        if not len(cosines):
            return
        vector = np.asarray(self._vectors[row], dtype=np.float64)
        centers, lengths = self._centers[seen:n_centers], self.center_lengths[seen:n_centers]
        raise_to_cosines(centers, lengths, vector, float(self.lengths[row]), cosines)
        self._likeness[row] = max(self._likeness[row], cosines.max())
        self._n_seen[row] = n_centers


def _units(vectors: NDArray[np.floating], lengths: NDArray[np.float64], device: str) -> Tensor:
    """Return float64 vectors of length 1 on the device; those of length 0 stay as they are."""
    divisors = torch.from_numpy(np.where(lengths > 0.0, lengths, 1.0)).to(device)
    return torch.from_numpy(np.ascontiguousarray(vectors)).to(device).double() / divisors[:, None]
