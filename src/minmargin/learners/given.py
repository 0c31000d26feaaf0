"""Class scores that somebody else has computed: a row brings them along, and no model is asked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from minmargin import margins
from minmargin.compute import GivenScreen, Screen, looks_wrong
from minmargin.data.rows import Matrix
from minmargin.device import Device, Precision
from minmargin.errors import InputError, NotNumbersError
from minmargin.margins import ScoreName

#: What the numbers are that were given.
Values: TypeAlias = Literal["probabilities", "log-probabilities", "logits"]

#: How far from 1 the probabilities of a row may sum up to: what they were rounded to is theirs to know.
SUM_TOLERANCE = 0.01

_LOGITS = "If they are logits, pass values='logits'; if logarithms, values='log-probabilities'."


@dataclass(frozen=True)
class GivenScorer:
    """Class scores that stand in the rows: those of each member, then of the base, if it is given, then features.

    Attributes:
        n_members: K.
        n_classes: C.
        has_base: whether the base's class scores are given too; one model alone is base and member.
        n_features: D: what strategies that compare rows see of them.
        values: what the class scores are.
    """

    n_members: int
    n_classes: int
    has_base: bool
    n_features: int
    values: Values = "probabilities"

    rowwise = True
    probabilistic = True
    multiplications = 0

    @property
    def path(self) -> str:
        """How the class scores are made, for the manifest."""
        return f"{self.values}, as given"

    @property
    def width(self) -> int:
        """How many numbers a row has."""
        return self._first_feature + self.n_features

    def base_scores(self, X: NDArray[Any], *, device: Device = "cpu") -> NDArray[np.float64]:
        """Return (n, C): the class scores under the base."""
        return self._class_scores(X, self._n_models - 1)

    def each_member(self, X: NDArray[Any], *, device: Device = "cpu") -> Iterator[NDArray[np.float64]]:
        """Return (n, C): the class scores under each member, one after the other."""
        return (self._class_scores(X, member) for member in range(self.n_members))

    def screen(
        self, score: ScoreName, *, device: Device = "cpu", precision: Precision = "float32"
    ) -> Screen | None:
        """Return a compiled look at the class scores; None for logits, but for their margins."""
        if self.values == "log-probabilities":
            return None
        logits = self.values == "logits"
        return GivenScreen.of(score, self.n_members, self.n_classes, has_base=self.has_base, logits=logits)

    def vectors(self, X: NDArray[Any]) -> Matrix:
        """Return (n, D): the features that were given, for cosine distances."""
        if not self.n_features:
            raise NotNumbersError(
                "This strategy compares rows by their features, and only probabilities are given. Give the features "
                "too, with features=, or use a strategy that needs none."
            )
        return X[:, self._first_feature :]

    def check_rows(self, X: NDArray[Any], rows: NDArray[np.int64] | range) -> None:
        """Raise an error that names the first row with class scores, or features, which cannot be meant."""
        if looks_wrong(
            X,
            self._n_models,
            self.n_classes,
            logarithms=self.values != "probabilities",
            normalized=self.values != "logits",
            tolerance=SUM_TOLERANCE,
        ):
            for model in range(self._n_models):
                self._check_scores(self._given(X, model), model, rows)
        wrong = ~np.isfinite(X[:, self._first_feature :])
        if wrong.any():
            row, feature = map(int, np.argwhere(wrong)[0])
            value = X[row, self._first_feature + feature]
            raise InputError(
                f"Pool row {rows[row]:,}: feature {feature:,} is {value}. Replace it, or leave the row out."
            )

    def _check_scores(self, given: NDArray[Any], model: int, rows: NDArray[np.int64] | range) -> None:
        never = ~(given < np.inf)  # NaN too
        if self.values == "probabilities":
            never |= given < 0
        if never.any():
            row, column = map(int, np.argwhere(never)[0])
            fix = _LOGITS if given[row, column] < 0 else "Give a finite number, or leave the row out."
            raise InputError(
                f"Pool row {rows[row]:,}: {self._whose(model)} have {given[row, column]} for class number {column}. "
                f"{fix}"
            )
        if self.values == "logits":
            lost = np.flatnonzero(given.max(axis=1) == -np.inf)
            if len(lost):
                raise InputError(
                    f"Pool row {rows[lost[0]]:,}: {self._whose(model)} are all -inf. Give finite numbers."
                )
            return
        sums = np.zeros(len(given))
        for scores in self._class_scores_of(given).T:
            sums += scores
        off = np.flatnonzero(np.abs(sums - 1.0) > SUM_TOLERANCE)
        if len(off):
            raise InputError(
                f"Pool row {rows[off[0]]:,}: {self._whose(model)} sum up to {sums[off[0]]:.6g}, not to 1. Divide "
                f"each row by its sum. {_LOGITS}"
            )

    def _whose(self, model: int) -> str:
        if self._n_models == 1:
            return f"the {self.values}"
        return f"the {self.values} of " + ("the base" if model == self.n_members else f"model {model}")

    @property
    def _n_models(self) -> int:
        return self.n_members + self.has_base

    @property
    def _first_feature(self) -> int:
        return self._n_models * self.n_classes

    def _given(self, X: NDArray[Any], model: int) -> NDArray[Any]:
        return X[:, model * self.n_classes : (model + 1) * self.n_classes]

    def _class_scores(self, X: NDArray[Any], model: int) -> NDArray[np.float64]:
        return self._class_scores_of(self._given(X, model))

    def _class_scores_of(self, given: NDArray[Any]) -> NDArray[np.float64]:
        scores = given.astype(np.float64)
        if self.values == "logits":
            return margins.softmax(scores)
        if self.values == "log-probabilities":
            return margins.exp_nonpositive(np.minimum(scores, 0.0))
        return scores
