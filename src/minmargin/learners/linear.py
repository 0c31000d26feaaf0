"""Committees of linear models: all weights in one array, screened in float32 and scored by the canonical kernel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from minmargin.compute import Models, Screen, linear_models
from minmargin.data.rows import ColumnBlock, Matrix
from minmargin.device import Device, Precision
from minmargin.learners.penalty import Choice
from minmargin.margins import ScoreName
from minmargin.properties import cached_property
from minmargin.topb import Cut, Near

#: How class scores come from a model's linear outputs: as probabilities, or as they are.
Link: TypeAlias = Literal["softmax", "identity"]
#: What makes features of rows in the learner's form.
Expansion: TypeAlias = Callable[[Matrix], Matrix]


@dataclass(frozen=True)
class LinearScorer:
    """A base and K members whose outputs are linear in the features.

    Attributes:
        base_weights: (D, 1, O) with O outputs: one per class, or a single one for two classes.
        base_intercepts: (1, O).
        member_weights: (D, K, O).
        member_intercepts: (K, O).
        link: how class scores come from outputs.
        expansion: what makes the D features of rows in the learner's form; None if they are these already.
        trained: how the members were trained, for the manifest.
        choice: what C="auto" chose; None if C was given.
        compiled: whether kernels make the class scores of few rows too; see `compute`.
    """

    base_weights: NDArray[np.float64]
    base_intercepts: NDArray[np.float64]
    member_weights: NDArray[np.float64]
    member_intercepts: NDArray[np.float64]
    link: Link = "softmax"
    expansion: Expansion | None = None
    trained: str = "together"
    choice: Choice | None = None
    compiled: bool = False

    rowwise = True

    def __getstate__(self) -> dict[str, Any]:
        """Return what another process needs: what is made of it can be made there."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @property
    def path(self) -> str:
        """How the members were trained and the class scores are made."""
        return f"linear models, trained {self.trained}; float32 screen, canonical float64 decision"

    @property
    def probabilistic(self) -> bool:
        """Whether class scores are probabilities."""
        return self.link == "softmax"

    @property
    def n_members(self) -> int:
        """K: how many members there are besides the base."""
        return int(self.member_weights.shape[1])

    @property
    def multiplications(self) -> int:
        """How many a row costs under all members."""
        return int(self.member_weights.size)

    def base_scores(self, X: Matrix, *, device: Device = "cpu") -> NDArray[np.float64]:
        """Return (n, C): the class scores under the base."""
        only: NDArray[np.float64] = self._base.class_scores(self._features(X))[0]
        return only

    def each_member(self, X: Matrix, *, device: Device = "cpu") -> NDArray[np.float64]:
        """Return (K, n, C): the class scores under each member."""
        return self._members.class_scores(self._features(X), device=device)

    def screen(
        self, score: ScoreName, *, device: Device = "cpu", precision: Precision = "float32"
    ) -> Screen | None:
        """Return the screen of a score; None if float32 cannot hold the weights."""
        models = self._base if score == "margin" else self._members
        screen = models.screen(score, device=device, precision=precision)
        return screen if screen is None or self.expansion is None else _Expanded(screen, self.expansion)

    @cached_property
    def by_kernels(self) -> LinearScorer:
        """The same models, whose class scores compiled kernels make, however few rows there are."""
        return replace(self, compiled=True)

    def vectors(self, X: Matrix) -> Matrix:
        """Return the rows themselves."""
        return X

    def _features(self, X: Matrix) -> Matrix:
        return X if self.expansion is None else self.expansion(X)

    @cached_property
    def _base(self) -> Models:
        return self._models(self.base_weights, self.base_intercepts)

    @cached_property
    def _members(self) -> Models:
        return self._models(self.member_weights, self.member_intercepts)

    def _models(self, weights: NDArray[np.float64], intercepts: NDArray[np.float64]) -> Models:
        return linear_models(weights, intercepts, softmax=self.probabilistic, compiled=self.compiled)


class _Expanded(NamedTuple):
    """A screen of features that are made of rows first."""

    screen: Screen
    expansion: Expansion

    def near(self, X: Any, *, cut: Cut, size: int | None) -> Near:
        return self.screen.near(self._features(X), cut=cut, size=size)

    def scores(self, X: Any) -> NDArray[np.float64]:
        return self.screen.scores(self._features(X))

    def _features(self, X: Any) -> Matrix:
        return self.expansion(np.asarray(X) if isinstance(X, ColumnBlock) else X)
