"""Early stopping: which rows are held out, and when a model that is no longer better at them stops."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from minmargin.checks import check_count, is_number
from minmargin.errors import InputError, MemberFitError
from minmargin.learners.networks.jobs import Job, branch_of

#: A module's weights and buffers, by name.
State: TypeAlias = dict[str, Any]


def check_stopping(patience: Any, validation_fraction: Any) -> int | None:
    """Return the patience as a plain number, None if there is none; or say which of the two cannot be used."""
    fraction: Any = validation_fraction
    if not (is_number(fraction) and 0 < fraction < 1):
        raise InputError(f"validation_fraction={fraction!r} must be a number between 0 and 1. 0.1 is usual.")
    return None if patience is None else check_count("patience", patience, least=1, usual=10)


def hold_out(
    rows: NDArray[np.intp],
    codes: NDArray[np.intp],
    fraction: float,
    seed: np.random.SeedSequence,
    *,
    branch: int = 0,
) -> NDArray[np.intp]:
    """Return different rows of a draw to set aside: the fraction of each class, at least one, never its last."""
    # A branch of its own: the draw must not move the weights and shuffles that come from the seed itself.
    rng = np.random.default_rng(branch_of(seed, branch))
    different = np.unique(rows)
    held = []
    for code in np.unique(codes[different]):
        of_class = different[codes[different] == code]
        size = min(max(round(fraction * len(of_class)), 1), len(of_class) - 1)
        held.append(rng.choice(of_class, size, replace=False))
    return np.concatenate(held)


def refill(
    rows: NDArray[np.intp],
    held: NDArray[np.intp],
    codes: NDArray[np.intp],
    seed: np.random.SeedSequence,
    *,
    branch: int,
) -> NDArray[np.intp]:
    """Return a draw in which every held-out row has made way for another drawn row of its class.

    So draws keep their size, and members make equally many steps, which lets them be trained together.
    """
    rng = np.random.default_rng(branch_of(seed, branch))
    lost = np.isin(rows, held)
    filled = rows.copy()
    for code in np.unique(codes[held]):
        of_class = codes[rows] == code
        left = np.unique(rows[of_class & ~lost])
        places = np.flatnonzero(of_class & lost)
        filled[places] = rng.choice(left, len(places))
    return filled


class Reached(NamedTuple):
    """What a model reached that could be stopped.

    Attributes:
        epochs: how many it ran.
        best_epoch: the one after which its loss on the held-out rows was lowest, counted from 1.
        best_loss: the mean loss then.
    """

    epochs: int = 0
    best_epoch: int = 0
    best_loss: float = math.inf


class Watch:
    """Models that are trained side by side, each watched at its held-out rows.

    Attributes:
        reached: what each has reached so far, by its place. One that has no held-out rows is not among them, and
            runs to the end.
    """

    def __init__(self, jobs: Sequence[Job], patience: int | None) -> None:
        watched = [place for place, job in enumerate(jobs) if len(job.validation)]
        self.reached = {} if patience is None else dict.fromkeys(watched, Reached())
        self._patience = patience or 0
        self._n_jobs = len(jobs)
        self._best: dict[int, State] = {}

    @property
    def running(self) -> list[int]:
        """The places of those that are watched and have not stopped."""
        return [
            place
            for place, (epochs, best_epoch, _) in self.reached.items()
            if epochs - best_epoch < self._patience
        ]

    @property
    def done(self) -> bool:
        """Whether all have stopped."""
        return len(self.reached) == self._n_jobs and not self.running

    def see(self, place: int, loss: float, state: Callable[[], State]) -> None:
        """Take note of a loss after one more epoch. The state is asked for, and kept, if there was none as low."""
        before = self.reached[place]
        now = before._replace(epochs=before.epochs + 1)
        if loss < before.best_loss:
            now = Reached(now.epochs, now.epochs, loss)
            self._best[place] = state()
        self.reached[place] = now

    def best(self, place: int) -> State | None:
        """Return the state to go back to; None where the last one stands."""
        if place in self.reached and place not in self._best:
            raise MemberFitError(
                "A module's loss on its held-out rows never was a finite number. Use a lower lr, or standardize=True."
            )
        return self._best.get(place)
