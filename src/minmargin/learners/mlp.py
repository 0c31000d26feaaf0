"""`learner="mlp"`: fully connected ReLU networks, all trained in one stack. torch is imported only to train."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from minmargin.checks import check_count, set_without_numpy
from minmargin.data.intake import Intake
from minmargin.device import require_torch, resolve_device
from minmargin.errors import InputError
from minmargin.execution import Progress
from minmargin.labeled import Bootstrap, LabeledSet
from minmargin.learners.logistic import check_class_weight, row_weights
from minmargin.learners.networks.jobs import Job
from minmargin.learners.networks.scorer import NetworkScorer
from minmargin.learners.networks.stopping import check_stopping, hold_out


@dataclass(frozen=True)
class MLPLearner:
    """A ReLU network with softmax output, trained with Adam on mini-batches.

    Every member has its own draw, initial weights and shuffles, as if it were trained alone. Weights start
    Glorot-uniform and biases at zero; Adam has the betas 0.9 and 0.999 and eps 1e-7.

    Args:
        hidden: the units of each hidden layer; () for none.
        epochs: how often each row of a draw is visited.
        batch_size: how many rows a step looks at; the last step of an epoch may have fewer.
        lr: Adam's step size.
        weight_decay: this times a parameter is added to its gradient.
        class_weight: None; a weight for each class, 1 where none is given; or "balanced", weights that make all
            classes of a member's draw count the same.
        patience: a network stops after so many epochs without a lower loss on its validation rows, and keeps the
            weights of its best epoch. None makes all epochs, and needs no validation rows.
        validation_fraction: which part of the different rows of a draw is set aside for validation, class by class:
            at least one row of a class, but never its last. Used with `patience` only.
        standardize: whether to give each column mean 0 and variance 1, as measured on the labeled set.
    """

    hidden: Sequence[int] = (128,)
    epochs: int = 100
    batch_size: int = 32
    lr: float = 1e-3
    weight_decay: float = 0.0
    class_weight: Literal["balanced"] | Mapping[Any, float] | None = None
    patience: int | None = None
    validation_fraction: float = 0.1
    standardize: bool = True

    probabilistic = True
    takes_sparse = False
    scores_empty_classes = True

    def __post_init__(self) -> None:
        """Raise an error if a setting cannot be used."""
        set_without_numpy(self)
        self._set("hidden", _check_hidden(self.hidden))
        self._set("epochs", check_count("epochs", self.epochs, least=1, usual=100))
        self._set("batch_size", check_count("batch_size", self.batch_size, least=1, usual=32))
        if not (_is_number(self.lr) and 0 < self.lr < math.inf):
            raise InputError(f"lr={self.lr!r} must be a positive number. 0.001 is usual.")
        if not (_is_number(self.weight_decay) and 0 <= self.weight_decay < math.inf):
            raise InputError(f"weight_decay={self.weight_decay!r} must be a number >= 0. 0.0 is usual.")
        check_class_weight(self.class_weight)
        self._set("patience", check_stopping(self.patience, self.validation_fraction))
        if not isinstance(self.standardize, (bool, np.bool_)):
            raise InputError(f"standardize={self.standardize!r} must be True or False.")

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)  # the plain type, so that the name shows it plainly

    @property
    def name(self) -> str:
        """The name, with the settings that are not the usual ones."""
        given = [(each.name, getattr(self, each.name), each.default) for each in fields(self)]
        settings = [f"{name}={value!r}" for name, value, usual in given if value != usual]
        return f"mlp({', '.join(settings)})" if settings else "mlp"

    def check(self, n_classes: int) -> None:
        """Raise an error if torch is missing; any number of classes can be scored."""
        require_torch("learner='mlp'")

    def intake(self, labeled: LabeledSet) -> Intake:
        """Return the form in which this learner takes these rows."""
        return labeled.numeric_intake(takes_sparse=False, missing=False)

    def fit(
        self,
        X: NDArray[Any],
        labeled: LabeledSet,
        bootstrap: Bootstrap,
        n_members: int,
        *,
        n_jobs: int,
        device: str,
        progress: Progress,
    ) -> NetworkScorer:
        """Return the base, trained on all rows X, and `n_members` members, each on its own draw."""
        from minmargin.learners.networks.steps import AdamSettings  # noqa: PLC0415 - imports torch
        from minmargin.learners.networks.training import train_dense  # noqa: PLC0415 - imports torch

        resolved = resolve_device(device)
        total = n_members + 1
        progress("training", 0, total)
        center, scale = _standardization(X) if self.standardize else _none(X)
        networks = train_dense(
            standardized(X, center, scale),
            labeled.codes,
            len(labeled.classes),
            self._jobs(labeled, bootstrap, n_members),
            hidden=self.hidden,
            epochs=self.epochs,
            batch_size=self.batch_size,
            adam=AdamSettings(lr=float(self.lr), weight_decay=float(self.weight_decay)),
            patience=self.patience,
            device=resolved,
            n_jobs=n_jobs,
            # Networks of a stack are done at the same time: so many models' worth of epochs are.
            progress=lambda done, of: progress("training", done * total // of, total),
        )
        base, members = networks.take(slice(0, 1)), networks.take(slice(1, None))
        return NetworkScorer(base, members, center, scale, trained=f"together on {resolved}")

    def _jobs(self, labeled: LabeledSet, bootstrap: Bootstrap, n_members: int) -> list[Job]:
        """Return what the base and the members are trained on."""
        seeds = bootstrap.seeds
        base = self._job(labeled, np.arange(len(labeled.codes)), seeds.learner(None), "The base model")
        return [base] + [
            self._job(labeled, bootstrap.indices(k), seeds.learner(k), f"Member {k} of {n_members}")
            for k in range(n_members)
        ]

    def _job(
        self, labeled: LabeledSet, rows: NDArray[np.intp], seed: np.random.SeedSequence, name: str
    ) -> Job:
        validation = rows[:0]
        if self.patience is not None:
            validation = hold_out(rows, labeled.codes, float(self.validation_fraction), seed)
            rows = rows[~np.isin(rows, validation)]
        if self.class_weight is None:
            return Job(rows, seed, validation=validation, name=name)
        by_class = self._class_weights(labeled, rows)
        weights, held = by_class[labeled.codes[rows]], by_class[labeled.codes[validation]]
        return Job(rows, seed, weights, validation, held, name)

    def _class_weights(self, labeled: LabeledSet, rows: NDArray[np.intp]) -> NDArray[np.float32]:
        """Return (C,) how much a row of each class counts in a draw."""
        counts = np.bincount(rows, minlength=len(labeled.codes))
        by_class = np.empty(len(labeled.classes), dtype=np.float32)
        by_class[labeled.codes[rows]] = row_weights(labeled, counts, self.class_weight)[rows] / counts[rows]
        return by_class


def standardized(
    X: NDArray[Any], center: NDArray[np.float32], scale: NDArray[np.float64]
) -> NDArray[np.float32]:
    """Return (n, D) the rows as networks are trained on them."""
    with np.errstate(over="ignore"):  # what float32 cannot hold is found in the weights
        return np.asarray((X.astype(np.float64) - center) / scale, dtype=np.float32)


def _standardization(X: NDArray[Any]) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """Return (D,) each column's mean and standard deviation, which is 1 for a column of one value."""
    scale = X.std(axis=0, dtype=np.float64)
    scale[X.min(axis=0) == X.max(axis=0)] = 1.0
    return X.mean(axis=0, dtype=np.float64).astype(np.float32), scale


def _none(X: NDArray[Any]) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """Return the center and scale that change nothing."""
    return np.zeros(X.shape[1], dtype=np.float32), np.ones(X.shape[1])


def _check_hidden(hidden: Any) -> tuple[int, ...]:
    """Return the hidden layers' sizes as a tuple of plain numbers."""
    try:
        if isinstance(hidden, (Sequence, np.ndarray)):
            return tuple(check_count("hidden", units, least=1) for units in hidden)
    except InputError:
        pass
    raise InputError(
        f"hidden={hidden!r} must be whole numbers >= 1, one for each hidden layer, such as (128,) or (512, 512)."
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
