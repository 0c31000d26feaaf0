"""Class scores that somebody else has computed: a row brings them along, and no model is asked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from minmargin import margins
from minmargin.compute import GivenScreen, Screen, may_be_wrong
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
        names: (K,) of the members, for errors; None if they have none.
    """

    n_members: int
    n_classes: int
    has_base: bool
    n_features: int
    values: Values = "probabilities"
    names: tuple[str, ...] | None = None

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
        wrong = ~np.isfinite(X[:, self._first_feature :]).all(axis=1)
        if may_be_wrong(
            X,
            self._n_models,
            self.n_classes,
            logarithms=self.values != "probabilities",
            normalized=self.values != "logits",
            tolerance=SUM_TOLERANCE,
        ):
            for model in range(self._n_models):
                wrong |= self._are_wrong(self._given(X, model))
        if wrong.any():
            place = int(wrong.argmax())
            raise InputError(f"Pool row {rows[place]:,}: {self._fault(X[place])}")

    def _are_wrong(self, given: NDArray[Any]) -> NDArray[np.bool_]:
        """Return (n,) which rows have class scores of a model that cannot be meant."""
        wrong = np.asarray(self._never(given).any(axis=1))
        fine = np.flatnonzero(~wrong)
        if self.values == "logits":
            wrong[fine] = given[fine].max(axis=1) == -np.inf
        else:
            wrong[fine] = ~self._sum_up_to_1(given[fine])
        return wrong

    def _never(self, given: NDArray[Any]) -> NDArray[np.bool_]:
        """Return which numbers are none that a model gives."""
        never: NDArray[np.bool_] = ~(given < np.inf)  # NaN too
        return never | (given < 0) if self.values == "probabilities" else never

    def _sum_up_to_1(self, given: NDArray[Any]) -> NDArray[np.bool_]:
        return np.abs(self._sums(given) - 1.0) <= SUM_TOLERANCE

    def _sums(self, given: NDArray[Any]) -> NDArray[np.float64]:
        sums = np.zeros(len(given))
        for scores in self._class_scores_of(given).T:
            sums += scores
        return sums

    def _fault(self, row: NDArray[Any]) -> str:
        """Return what is wrong with a row, and how to mend it."""
        X = row[np.newaxis]
        for model in range(self._n_models):
            given = self._given(X, model)
            if self._are_wrong(given)[0]:
                return f"{self._whose(model)} {self._fault_of_model(given)}"
        feature = int(np.isfinite(row[self._first_feature :]).argmin())
        value = row[self._first_feature + feature]
        return f"feature {feature:,} is {value}. Replace it, or leave the row out."

    def _fault_of_model(self, given: NDArray[Any]) -> str:
        """Return what is wrong with a model's class scores of one row, (1, C)."""
        never = np.flatnonzero(self._never(given[0]))
        if len(never):
            value = given[0, never[0]]
            fix = _LOGITS if value < 0 else "Give a finite number, or leave the row out."
            return f"have {value} for class number {never[0]}. {fix}"
        if self.values == "logits":
            return "are all -inf. Give finite numbers."
        total = float(self._sums(given)[0])
        return f"sum up to {total:.6g}, not to 1. {self._fix_of_sum(given, total)}"

    def _fix_of_sum(self, given: NDArray[Any], total: float) -> str:
        """Return how to mend a row that sums up to another number than 1: to K, if K models stand side by side."""
        n_models = round(total)
        side_by_side = (
            n_models > 1
            and self.n_classes % n_models == 0
            and self.n_classes > n_models
            and abs(total - n_models) <= n_models * SUM_TOLERANCE
            and self._class_scores_of(given).max() <= 1.0 + SUM_TOLERANCE
        )
        if side_by_side:
            return (
                f"Are they of {n_models} models? Then give one array for each model, or one list of columns for each "
                "with columns=[...]. If not, divide each row by its sum."
            )
        return f"Divide each row by its sum. {_LOGITS}"

    def _whose(self, model: int) -> str:
        if self._n_models == 1:
            return f"the {self.values}"
        if model == self.n_members:
            return f"the {self.values} of the base"
        return f"the {self.values} of model {model if self.names is None else repr(self.names[model])}"

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
