"""The trainer of fully connected networks, which trains all of a deal, and of several deals, in one stack."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from minmargin.compare.deals import Deal, RowNumbers
from minmargin.compare.scoring import Accuracy, Answers, Scoring, rate
from minmargin.compute import DenseNetworks, network_logits
from minmargin.device import Device, DeviceChoice, require_torch, resolve_device
from minmargin.learners import Preprocess
from minmargin.learners.mlp import MLPLearner

if TYPE_CHECKING:
    from torch import Tensor


_LOGITS = 1 << 26  # that may be in memory at a time when networks are tried: 256 MB


@dataclass(frozen=True)
class NetworkTrainer:
    """Fully connected networks. Those of all deals from one table are trained in one stack.

    All networks of a deal begin with the same weights, so that what differs between strategies is their rows. If the
    learner standardizes columns, then as measured on the rows that are labeled from the start, for all of them alike.
    """

    learner: MLPLearner
    n_classes: int

    preprocess: ClassVar[Preprocess] = "none"

    def __post_init__(self) -> None:
        """Raise an error if the learner has settings that only committees have."""
        assert self.learner.patience is None
        assert self.learner.class_weight is None

    def scores(
        self,
        deals: Sequence[Deal],
        row_sets: Sequence[Sequence[RowNumbers]],
        scorings: Sequence[Scoring],
        *,
        device: DeviceChoice,
    ) -> list[NDArray[np.float64]]:
        """Return for each deal (sets, scorings) the test scores of models trained on each of its sets of rows."""
        if self.learner.standardize:  # then each deal has numbers of its own
            return [
                self._of_stack(_standardized(deal), [deal], [sets], scorings, device)[0]
                for deal, sets in zip(deals, row_sets, strict=True)
            ]
        assert all(deal.X is deals[0].X for deal in deals), "deals are from one table"
        return self._of_stack(np.asarray(deals[0].X, dtype=np.float32), deals, row_sets, scorings, device)

    def _of_stack(
        self,
        rows: NDArray[np.float32],
        deals: Sequence[Deal],
        row_sets: Sequence[Sequence[RowNumbers]],
        scorings: Sequence[Scoring],
        device: DeviceChoice,
    ) -> list[NDArray[np.float64]]:
        torch = require_torch("A game of networks")
        from minmargin.learners.networks.jobs import Job  # noqa: PLC0415
        from minmargin.learners.networks.steps import AdamSettings  # noqa: PLC0415 - imports torch
        from minmargin.learners.networks.training import train_dense  # noqa: PLC0415 - imports torch

        on = resolve_device(device)
        X = torch.from_numpy(rows).to(on)
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
            _tried(networks.take(slice(end - len(sets), end)), X, deal, scorings, on)
            for deal, sets, end in zip(deals, row_sets, ends.tolist(), strict=True)
        ]


def _standardized(deal: Deal) -> NDArray[np.float32]:
    """Return (n, D) all rows, with columns that have mean 0 and variance 1 among those labeled from the start."""
    from sklearn.preprocessing import StandardScaler  # noqa: PLC0415 - slow to import

    rows = np.asarray(deal.X, dtype=np.float64)
    return np.asarray(StandardScaler().fit(rows[deal.labeled]).transform(rows), dtype=np.float32)


def _tried(
    networks: DenseNetworks, X: Tensor, deal: Deal, scorings: Sequence[Scoring], device: Device
) -> NDArray[np.float64]:
    """Return (K, scorings) what each network is worth on the test rows."""
    if all(isinstance(scoring, Accuracy) for scoring in scorings):  # class scores need not leave the device
        return np.repeat(_right(networks, X, deal, device)[:, np.newaxis], len(scorings), axis=1)
    every = np.arange(networks.widths[-1])
    found = []
    for k in range(networks.n_networks):
        parts = [
            logits.cpu().numpy()[0] for _, logits in _logits(networks.take(slice(k, k + 1)), X, deal, device)
        ]
        answers = Answers(every, np.concatenate(parts).astype(np.float64), "logits")
        found.append(rate(deal, answers, scorings))
    return np.array(found)


def _right(networks: DenseNetworks, X: Tensor, deal: Deal, device: Device) -> NDArray[np.float64]:
    """Return the part of the test rows whose class each network gives the highest score."""
    import torch  # noqa: PLC0415 - an extra

    answers = torch.from_numpy(np.asarray(deal.y, dtype=np.int64)).to(device)
    n_right = torch.zeros(networks.n_networks, dtype=torch.int64, device=device)
    for rows, logits in _logits(networks, X, deal, device):
        n_right += (logits.argmax(2) == answers[rows]).sum(1)
    return np.asarray(n_right.cpu().numpy() / len(deal.test))


def _logits(
    networks: DenseNetworks, X: Tensor, deal: Deal, device: Device
) -> Iterator[tuple[Tensor, Tensor]]:
    """Return the test rows, some at a time, and (K, n, C) the class scores under each network."""
    import torch  # noqa: PLC0415 - an extra

    layers: list[list[Any]] = [
        [torch.from_numpy(each).to(device) for each in part] for part in (networks.weights, networks.biases)
    ]
    test = torch.from_numpy(np.asarray(deal.test, dtype=np.int64)).to(device)
    step = max(_LOGITS // (networks.n_networks * max(networks.widths[1:])), 1)
    for start in range(0, len(test), step):
        some = test[start : start + step]
        with torch.inference_mode():
            logits = network_logits(X[some], *layers)
        yield some, logits
