"""Training of many networks in few loops: each as if it were alone, all in one stack of tensors. Imports torch."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import torch
from joblib import effective_n_jobs
from numpy.typing import NDArray
from torch import Tensor

from minmargin.compute import DenseNetworks, glorot, join
from minmargin.device import Device
from minmargin.errors import MemberFitError
from minmargin.learners.networks.jobs import Job, Schedule
from minmargin.learners.networks.steps import AdamSettings, DenseState, mean_losses, plain_step

#: Called with the epochs that are done, summed over all jobs, and their total.
EpochProgress: TypeAlias = Callable[[int, int], None]
Step: TypeAlias = Callable[[DenseState, Tensor, Tensor, Tensor, AdamSettings], None]

# Rows of batches that are laid out at a time: 24 MB.
_BATCH_ROWS = 2**21
# Inputs that validation copies at a time, as numbers: 64 MB.
_VALIDATION_INPUTS = 2**24
# On a CPU a stack is fastest when what a step passes over, four times its parameters, stays in a core's share of the
# cache. Very small networks are limited by number instead, so that a committee of 25 has work for two threads.
_CPU_PARAMETERS = 2**20
_CPU_NETWORKS = 24
# Parameters of a network from which on a GPU gains by not writing gradients down.
_FUSED_PARAMETERS = 2**12
# The part of a GPU's memory that a stack may take.
_GPU_SHARE = 0.25


def train_dense(
    X: NDArray[np.float32] | Tensor,
    codes: NDArray[np.integer[Any]],
    n_classes: int,
    jobs: Sequence[Job],
    *,
    hidden: Sequence[int],
    epochs: int,
    batch_size: int,
    adam: AdamSettings,
    patience: int | None = None,
    device: Device = "cpu",
    n_jobs: int = 1,
    progress: EpochProgress | None = None,
    max_networks: int | None = None,
) -> DenseNetworks:
    """Return the trained networks, in the order of their jobs.

    Jobs are stacked in waves of networks that take equally long, and leave the stack when they are done. Which jobs
    form a wave depends on the jobs alone, and a wave runs on one thread, so `n_jobs` never changes a bit.

    Args:
        X: (N, D) the rows that jobs refer to; a tensor has to be on the device already.
        codes: (N,) their classes, as 0..C-1.
        n_classes: C.
        jobs: what each network is trained on.
        hidden: the units of each hidden layer.
        epochs: how often each row is visited.
        batch_size: how many rows a step looks at.
        adam: how to step.
        patience: a job with validation rows stops after so many epochs without a lower validation loss, and gets the
            weights of its best epoch. None: all epochs are made.
        device: where to train.
        n_jobs: how many waves run at a time on a CPU.
        progress: told of epochs as they end.
        max_networks: the most networks in a wave; None chooses for speed and memory.
    """
    rows = _as_tensor(X).to(device)
    widths = (int(rows.shape[1]), *hidden, n_classes)
    longest = max(len(job.rows) for job in jobs)
    setting = _Setting(
        rows,
        torch.as_tensor(np.asarray(codes, dtype=np.int64), device=device),
        widths,
        epochs,
        min(batch_size, longest),
        adam,
        patience,
        device,
    )
    tally = _Tally(progress, epochs * len(jobs))
    waves = _waves(jobs, setting, max_networks)

    def train(wave: NDArray[np.intp]) -> DenseNetworks:
        return _Wave(setting, [jobs[number] for number in wave], tally).train()

    n_threads = 1 if device == "cuda" else min(effective_n_jobs(n_jobs), len(waves))
    trained = _run(train, waves, n_threads, tally)
    networks = join(trained).take(np.argsort(np.concatenate(waves)))
    _check_finite(networks, jobs, epochs, adam)
    return networks


@dataclass(frozen=True)
class _Setting:
    """What all jobs of a call share."""

    X: Tensor
    codes: Tensor
    widths: tuple[int, ...]
    epochs: int
    batch_size: int
    adam: AdamSettings
    patience: int | None
    device: Device

    @property
    def n_parameters(self) -> int:
        """How many numbers a network has."""
        return sum((n_in + 1) * n_out for n_in, n_out in pairwise(self.widths))


class _Tally:
    """The epochs that are done in all threads. Stopping it ends the others after their current epoch."""

    def __init__(self, progress: EpochProgress | None, total: int) -> None:
        self._progress, self._total = progress, total
        self._done = 0
        self._lock = threading.Lock()
        self._stopped = False

    def add(self, n_epochs: int) -> None:
        with self._lock:
            if self._stopped:
                raise InterruptedError
            self._done += n_epochs
            if self._progress is not None:
                self._progress(self._done, self._total)

    def stop(self) -> None:
        self._stopped = True


class _Wave:
    """Jobs that are trained in one stack. `active` are those still in it, as places in `jobs`."""

    def __init__(self, setting: _Setting, jobs: Sequence[Job], tally: _Tally) -> None:
        generators = [np.random.default_rng(job.seed) for job in jobs]
        networks = join([glorot(setting.widths, generator) for generator in generators])
        self._setting, self._jobs, self._tally = setting, jobs, tally
        self._state = DenseState.of(networks, setting.device)
        self._schedule = Schedule(jobs, generators, epochs=setting.epochs, batch_size=setting.batch_size)
        self._active = np.arange(len(jobs))
        self._watched = np.array([setting.patience is not None and len(job.validation) > 0 for job in jobs])
        self._lowest = np.full(len(jobs), np.inf)
        self._best_epoch = np.zeros(len(jobs), dtype=np.int64)
        # Not a number until a job has something to show: a job whose loss never was one is found by that.
        self._trained = DenseNetworks(
            tuple(np.full_like(layer, np.nan) for layer in networks.weights),
            tuple(np.full_like(layer, np.nan) for layer in networks.biases),
        )

    def train(self) -> DenseNetworks:
        """Return the trained networks, in the order of the wave's jobs."""
        with torch.inference_mode():
            while len(self._active):
                self._run_layout()
        return self._trained

    def _run_layout(self) -> None:
        """Lay out the batches of many steps, and make these steps."""
        setting, step = self._setting, _step_for(self._setting)
        first, laid_out = self._state.n_steps, self._active
        most = max(1, _BATCH_ROWS // (len(laid_out) * setting.batch_size))
        n_steps = min(most, int(self._schedule.n_steps[laid_out].max()) - first)
        batches = self._schedule.take(laid_out, n_steps)
        sizes = batches.sizes
        if setting.device == "cuda":  # kernels are made for one shape; a CPU gains from a short last batch
            sizes = np.full_like(sizes, setting.batch_size)
        rows = torch.as_tensor(batches.rows, device=setting.device)
        weights = torch.as_tensor(batches.weights, device=setting.device)
        codes = setting.codes[rows]
        while len(self._active) and self._state.n_steps < first + n_steps:
            if len(self._active) < rows.shape[1]:
                stay = np.isin(laid_out, self._active)
                sizes, laid_out = sizes[:, stay], self._active
                chosen = torch.as_tensor(np.flatnonzero(stay), device=setting.device)
                rows, weights, codes = (each.index_select(1, chosen) for each in (rows, weights, codes))
            for at in range(self._state.n_steps - first, self._next_end(first + n_steps) - first):
                size = int(sizes[at].max())
                inputs = self._inputs(rows[at, :, :size])
                step(self._state, inputs, codes[at, :, :size], weights[at, :, :size], setting.adam)
            self._end_epochs()

    def _inputs(self, rows: Tensor) -> Tensor:
        """Return (A, b, D) the rows of X with these numbers."""
        return self._setting.X.index_select(0, rows.reshape(-1)).view(*rows.shape, -1)

    def _next_end(self, limit: int) -> int:
        """Return the next step after which an epoch of an active job ends, or the limit if that comes first."""
        per_epoch = self._schedule.steps_per_epoch[self._active]
        to_go = per_epoch - self._state.n_steps % per_epoch
        return min(limit, self._state.n_steps + int(to_go.min()))

    def _end_epochs(self) -> None:
        """Do what is due for the jobs whose epoch ends with the last step, and let go of those that are done."""
        n_steps = self._state.n_steps
        ends = n_steps % self._schedule.steps_per_epoch[self._active] == 0
        ending = self._active[ends]
        if not len(ending):
            return
        epoch = n_steps // self._schedule.steps_per_epoch
        done = np.equal(n_steps, self._schedule.n_steps)
        self._keep(np.flatnonzero(ends & done[self._active] & ~self._watched[self._active]))
        watched = ending[self._watched[ending]]
        if len(watched):
            self._keep_better(watched, epoch)
            done[watched] |= epoch[watched] - self._best_epoch[watched] >= (self._setting.patience or 0)
        skipped = self._setting.epochs - epoch[ending[done[ending]]]
        self._tally.add(len(ending) + int(skipped.sum()))
        stay = np.flatnonzero(~(ends & done[self._active]))
        if len(stay) < len(self._active):
            self._active = self._active[stay]
            self._state = self._state.take(stay)

    def _keep(self, places: NDArray[np.intp]) -> None:
        """Take the networks at some places of the stack as they are now for trained."""
        if not len(places):
            return
        now, jobs = self._state.networks(places), self._active[places]
        for layer, values in zip(
            (*self._trained.weights, *self._trained.biases), (*now.weights, *now.biases), strict=True
        ):
            layer[jobs] = values

    def _keep_better(self, jobs: NDArray[np.intp], epoch: NDArray[np.int64]) -> None:
        """Keep those networks whose validation loss is the lowest so far."""
        places = np.flatnonzero(np.isin(self._active, jobs))
        losses = self._validation_losses(jobs, self._state.take(places))
        better = losses < self._lowest[jobs]
        self._lowest[jobs[better]] = losses[better]
        self._best_epoch[jobs[better]] = epoch[jobs[better]]
        self._keep(places[better])

    def _validation_losses(self, jobs: NDArray[np.intp], state: DenseState) -> NDArray[np.float64]:
        """Return the mean loss of each job's validation rows under its network in `state`."""
        setting = self._setting
        rows, weights = _padded_validation([self._jobs[job] for job in jobs])
        width = max(1, _VALIDATION_INPUTS // (len(jobs) * setting.widths[0]))
        losses = np.zeros(len(jobs))
        for start in range(0, rows.shape[1], width):
            part = slice(start, start + width)
            chosen = torch.as_tensor(rows[:, part], device=setting.device)
            counts = torch.as_tensor(weights[:, part], device=setting.device)
            sums = mean_losses(state, self._inputs(chosen), setting.codes[chosen], counts)
            losses += sums.cpu().numpy()
        return losses


def _padded_validation(jobs: Sequence[Job]) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return (A, m) the validation rows and what each loss is multiplied by: 0 where padded."""
    shape = (len(jobs), max(len(job.validation) for job in jobs))
    rows, weights = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.float32)
    for place, job in enumerate(jobs):
        size = len(job.validation)
        rows[place, :size] = job.validation
        weights[place, :size] = (1 if job.validation_weights is None else job.validation_weights) / size
    return rows, weights


def _waves(jobs: Sequence[Job], setting: _Setting, max_networks: int | None) -> list[NDArray[np.intp]]:
    """Return the jobs' numbers, longest first, cut into waves of about the same size."""
    if max_networks is None:
        max_networks = _most_networks(setting)
    order = np.argsort([-len(job.rows) for job in jobs], kind="stable")
    n_waves = -(-len(jobs) // max_networks)
    if setting.device == "cpu" and n_waves > 2:  # an even number of them, as of cores
        n_waves = min(-(-n_waves // 4) * 4, len(jobs))
    return np.array_split(order, n_waves)


def _most_networks(setting: _Setting) -> int:
    """Return how many networks to stack at most."""
    if setting.device == "cpu":
        return min(max(_CPU_PARAMETERS // setting.n_parameters, 1), _CPU_NETWORKS)
    # Parameters, two moments and gradients; what layers are given, and the slopes there; batches that are laid out.
    numbers = 4 * setting.n_parameters + 3 * setting.batch_size * sum(setting.widths)
    memory: int = torch.cuda.get_device_properties(0).total_memory
    return max(int(_GPU_SHARE * memory) // (4 * numbers), 1)


def _step_for(setting: _Setting) -> Step:
    """Return the fastest step there is: on a GPU the fused one, but for networks that are all overhead."""
    if setting.device == "cuda" and setting.n_parameters >= _FUSED_PARAMETERS:
        try:
            from minmargin.learners.networks.fused import fused_step  # noqa: PLC0415 - imports Triton
        except ImportError:
            return plain_step
        return fused_step
    return plain_step


def _run(
    train: Callable[[NDArray[np.intp]], DenseNetworks],
    waves: Sequence[NDArray[np.intp]],
    n_threads: int,
    tally: _Tally,
) -> list[DenseNetworks]:
    """Return train(wave) of each wave, in order; each is trained by one thread."""

    def on_one_thread(wave: NDArray[np.intp]) -> DenseNetworks:
        torch.set_num_threads(1)  # each thread has to be told
        return train(wave)

    with _restored_threads():
        if n_threads == 1:
            return [on_one_thread(wave) for wave in waves]
        with ThreadPoolExecutor(n_threads) as workers:
            futures = [workers.submit(on_one_thread, wave) for wave in waves]
            try:
                for future in as_completed(futures):
                    future.result()
            except BaseException:
                tally.stop()
                workers.shutdown(wait=False, cancel_futures=True)
                raise
        return [future.result() for future in futures]


@contextmanager
def _restored_threads() -> Iterator[None]:
    """Give torch its number of threads back in the end.

    Inside, products run on one thread each: with more, their last bits might depend on the number of threads.
    """
    before = torch.get_num_threads()
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _as_tensor(X: NDArray[np.float32] | Tensor) -> Tensor:
    # torch warns of arrays that must not be written to, although nothing is written.
    return X if isinstance(X, Tensor) else torch.from_numpy(np.require(X, np.float32, ["C", "W"]))


def _check_finite(networks: DenseNetworks, jobs: Sequence[Job], epochs: int, adam: AdamSettings) -> None:
    """Raise an error that names the first network whose weights are not all finite."""
    layers = (*networks.weights, *networks.biases)
    finite = np.all([np.isfinite(layer).reshape(len(jobs), -1).all(axis=1) for layer in layers], axis=0)
    if finite.all():
        return
    number = int(np.flatnonzero(~finite)[0])
    name = jobs[number].name or f"Network {number} of {len(jobs)}"
    raise MemberFitError(
        f"{name} diverged: after {epochs} epochs its weights are not finite numbers. "
        f"Use a lower lr than {adam.lr:g}, or standardize=True."
    )
