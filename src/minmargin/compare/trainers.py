"""Trainers: what retrains many models at a time, each on its own rows, and counts how often they are right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from minmargin.compare.game import Deal, Rows
from minmargin.device import Device, require_torch, resolve_device
from minmargin.learners.logistic import LogisticLearner
from minmargin.learners.mlp import MLPLearner
from minmargin.learners.newton import fit_together
from minmargin.threads import one_thread_each

if TYPE_CHECKING:
    from torch import Tensor

    from minmargin.networks.dense import DenseNetworks

_LOGITS = 1 << 26  # that may be in memory at a time when networks are tried: 256 MB


@dataclass(frozen=True)
class LogisticTrainer:
    """Logistic regression at its optimum. Models that know the same classes are trained together."""

    learner: LogisticLearner = field(default_factory=LogisticLearner)

    def accuracies(
        self, deals: Sequence[Deal], row_sets: Sequence[Sequence[Rows]], *, device: str
    ) -> list[NDArray[np.float64]]:
        """Return for each deal the test accuracies of models that are trained on each of its sets of rows."""
        del device  # a CPU is fast enough
        with one_thread_each():
            return [self._of_deal(deal, sets) for deal, sets in zip(deals, row_sets, strict=True)]

    def _of_deal(self, deal: Deal, row_sets: Sequence[Rows]) -> NDArray[np.float64]:
        used = np.unique(np.concatenate(row_sets))
        X, test = deal.X[used].astype(np.float64), deal.X[deal.test].astype(np.float64)
        weights = np.zeros((len(row_sets), len(used)))
        for weight, rows in zip(weights, row_sets, strict=True):
            weight[np.searchsorted(used, rows)] = 1.0
        by_classes: dict[tuple[int, ...], list[int]] = {}
        for place, rows in enumerate(row_sets):
            by_classes.setdefault(tuple(np.unique(deal.y[rows]).tolist()), []).append(place)
        accuracies = np.empty(len(row_sets))
        for known, places in by_classes.items():
            classes = np.array(known)
            some = np.flatnonzero(weights[places].any(axis=0))
            optimum = fit_together(
                X[some],
                np.searchsorted(classes, deal.y[used[some]]),
                len(classes),
                weights[places][:, some],
                C=self.learner.C,
                fit_intercept=self.learner.fit_intercept,
            )
            for k, place in enumerate(places):
                logits = test @ optimum.coefficients[:, k] + optimum.intercepts[k]
                predicted = (logits[:, 0] > 0).astype(np.intp) if len(classes) == 2 else logits.argmax(axis=1)
                accuracies[place] = (classes[predicted] == deal.y[deal.test]).mean()
        return accuracies


@dataclass(frozen=True)
class EstimatorTrainer:
    """Any scikit-learn classifier, trained one by one."""

    learner: Any

    def accuracies(
        self, deals: Sequence[Deal], row_sets: Sequence[Sequence[Rows]], *, device: str
    ) -> list[NDArray[np.float64]]:
        """Return for each deal the test accuracies of models that are trained on each of its sets of rows."""
        from sklearn.base import clone  # noqa: PLC0415 - slow to import

        del device  # a classifier knows nothing of it
        with one_thread_each():
            return [
                np.array(
                    [
                        clone(self.learner)
                        .fit(deal.X[rows], deal.y[rows])
                        .score(deal.X[deal.test], deal.y[deal.test])
                        for rows in sets
                    ]
                )
                for deal, sets in zip(deals, row_sets, strict=True)
            ]


@dataclass(frozen=True)
class NetworkTrainer:
    """Fully connected networks. Those of all deals from one table are trained in one stack.

    All networks of a deal begin with the same weights, so that what differs between strategies is their rows.
    """

    learner: MLPLearner
    n_classes: int

    def __post_init__(self) -> None:
        """Raise an error if the learner has settings that only committees have."""
        assert not self.learner.standardize, "tables are standardized before they are dealt"
        assert self.learner.patience is None

    def accuracies(
        self, deals: Sequence[Deal], row_sets: Sequence[Sequence[Rows]], *, device: str
    ) -> list[NDArray[np.float64]]:
        """Return for each deal the test accuracies of models that are trained on each of its sets of rows."""
        torch = require_torch("A game of networks")
        from minmargin.networks.jobs import Job  # noqa: PLC0415
        from minmargin.networks.steps import AdamSettings  # noqa: PLC0415 - imports torch
        from minmargin.networks.training import train_dense  # noqa: PLC0415 - imports torch

        on = resolve_device(device)
        assert all(deal.X is deals[0].X for deal in deals), "deals are from one table"
        X = torch.from_numpy(np.asarray(deals[0].X, dtype=np.float32)).to(on)
        jobs = [
            Job(rows, np.random.SeedSequence(deal.seed))
            for deal, sets in zip(deals, row_sets, strict=True)
            for rows in sets
        ]
        networks = train_dense(
            X,
            deals[0].y,
            self.n_classes,
            jobs,
            hidden=self.learner.hidden,
            epochs=self.learner.epochs,
            batch_size=self.learner.batch_size,
            adam=AdamSettings(lr=float(self.learner.lr), weight_decay=float(self.learner.weight_decay)),
            device=on,
        )
        ends = np.cumsum([len(sets) for sets in row_sets])
        return [
            _right(networks.take(slice(end - len(sets), end)), X, deal, on)
            for deal, sets, end in zip(deals, row_sets, ends.tolist(), strict=True)
        ]


def _right(networks: DenseNetworks, X: Tensor, deal: Deal, device: Device) -> NDArray[np.float64]:
    """Return the part of the test rows whose class each network gives the highest score."""
    import torch  # noqa: PLC0415 - an extra

    from minmargin.gpu.plain import network_logits  # noqa: PLC0415 - imports torch

    layers = [
        [torch.from_numpy(each).to(device) for each in part] for part in (networks.weights, networks.biases)
    ]
    answers = torch.from_numpy(np.asarray(deal.y, dtype=np.int64)).to(device)
    test = torch.from_numpy(np.asarray(deal.test, dtype=np.int64)).to(device)
    step = max(_LOGITS // (networks.n_networks * max(networks.widths[1:])), 1)
    n_right = torch.zeros(networks.n_networks, dtype=torch.int64, device=device)
    with torch.inference_mode():
        for start in range(0, len(test), step):
            some = test[start : start + step]
            predicted = network_logits(X[some], *layers)[0].argmax(2)
            n_right += (predicted == answers[some]).sum(1)
    return np.asarray(n_right.cpu().numpy() / len(test))
