"""Jobs: which rows each network is trained on, and in which order, for many networks in one loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

#: Branches of a module's seed, whose trunk are the shuffles: never renumber them.
INITIAL, NOISE, HELD_OUT, REFILLED = range(4)


def branch_of(seed: np.random.SeedSequence, branch: int) -> np.random.SeedSequence:
    """Return a seed that grows from another one."""
    return np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, branch))


def _no_rows() -> NDArray[np.intp]:
    return np.empty(0, dtype=np.intp)


@dataclass(frozen=True)
class Job:
    """One network to train. All its chance comes from `seed`: first the initial weights, then the shuffles.

    Attributes:
        rows: (n,) the rows of X to train on; a row may stand there several times.
        seed: what the network's own generator starts from.
        weights: (n,) how much each row's loss counts; None if all count 1.
        validation: (m,) the rows of X that tell when to stop.
        validation_weights: (m,) how much each of those counts; None if all count 1.
        name: what a message calls this network; empty for its number among the jobs.
    """

    rows: NDArray[np.intp]
    seed: np.random.SeedSequence
    weights: NDArray[np.float32] | None = None
    validation: NDArray[np.intp] = field(default_factory=_no_rows)
    validation_weights: NDArray[np.float32] | None = None
    name: str = ""


class Batches(NamedTuple):
    """The batches of T steps for A jobs, all padded to b rows.

    Attributes:
        rows: (T, A, b) rows of X; anything where a batch is padded.
        weights: (T, A, b) a row's loss weight divided by the number of rows in its batch; 0 where padded. The sum of
            weighted losses is a batch's mean loss.
        sizes: (T, A) how many rows a batch has before it is padded.
    """

    rows: NDArray[np.int64]
    weights: NDArray[np.float32]
    sizes: NDArray[np.int64]


class Schedule:
    """The shuffled batches of several jobs, made for many steps at a time.

    An epoch of a job visits each of its n rows once, in ceil(n / batch_size) steps, the last of which may be smaller.
    Epochs follow each other without a pause, whatever other jobs are doing.

    Attributes:
        steps_per_epoch: (G,) for each job.
        n_steps: (G,) for each job, in all epochs.
    """

    def __init__(
        self,
        jobs: Sequence[Job],
        generators: Sequence[np.random.Generator],
        *,
        epochs: int,
        batch_size: int,
    ) -> None:
        self._streams = [_Stream(*each, batch_size) for each in zip(jobs, generators, strict=True)]
        self.steps_per_epoch = np.array([stream.n_batches for stream in self._streams])
        self.n_steps = self.steps_per_epoch * epochs
        self._batch_size = batch_size

    def take(self, jobs: NDArray[np.intp], n_steps: int) -> Batches:
        """Return the next `n_steps` batches of some jobs: of those that took part in all steps so far."""
        shape = (n_steps, len(jobs), self._batch_size)
        rows, weights = np.empty(shape, dtype=np.int64), np.empty(shape, dtype=np.float32)
        sizes = np.empty(shape[:2], dtype=np.int64)
        for place, job in enumerate(jobs):
            self._streams[job].fill(rows[:, place], weights[:, place], sizes[:, place])
        return Batches(rows, weights, sizes)


class _Stream:
    """One job's batches, one after the other."""

    def __init__(self, job: Job, rng: np.random.Generator, batch_size: int) -> None:
        n_rows = len(job.rows)
        self.n_batches = -(-n_rows // batch_size)
        self._job, self._rng = job, rng
        self._n_taken = 0
        self._ready = np.empty((0, batch_size), dtype=np.intp)
        self._sizes = np.minimum(batch_size, n_rows - batch_size * np.arange(self.n_batches))
        real = np.arange(batch_size) < self._sizes[:, np.newaxis]
        self._shares = np.where(real, 1 / self._sizes[:, np.newaxis], 0).astype(np.float32)

    def fill(self, rows: NDArray[np.int64], weights: NDArray[np.float32], sizes: NDArray[np.int64]) -> None:
        """Write the next batches into (T, b), (T, b) and (T,) arrays."""
        n_steps = len(rows)
        self._shuffle_until(n_steps)
        places, self._ready = self._ready[:n_steps], self._ready[n_steps:]
        of_epoch = (self._n_taken + np.arange(n_steps)) % self.n_batches
        rows[...] = self._job.rows[places]
        sizes[...] = self._sizes[of_epoch]
        weights[...] = self._shares[of_epoch]
        if self._job.weights is not None:
            weights *= self._job.weights[places]
        self._n_taken += n_steps

    def _shuffle_until(self, n_ready: int) -> None:
        """Shuffle for so many more epochs that `n_ready` batches are ready."""
        n_epochs = -(-(n_ready - len(self._ready)) // self.n_batches)
        if n_epochs <= 0:
            return
        n_rows, batch_size = len(self._job.rows), self._ready.shape[1]
        orders = np.tile(np.arange(n_rows), (n_epochs, 1))
        # As permutation(n_rows) for one epoch after the other, which takes many times as long for short ones.
        self._rng.permuted(orders, axis=1, out=orders)
        places = np.zeros((n_epochs, self.n_batches * batch_size), dtype=np.intp)
        places[:, :n_rows] = orders
        self._ready = np.concatenate([self._ready, places.reshape(-1, batch_size)])
