"""What a learner promises: it turns a labeled set and its bootstrap draws into a scorer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from minmargin.compute import Screen
from minmargin.data.intake import Intake
from minmargin.data.rows import Matrix
from minmargin.device import Device, Precision
from minmargin.execution import Progress
from minmargin.labeled import Bootstrap, LabeledSet
from minmargin.margins import ScoreName

#: The learners that have a name. A test holds them to `LEARNERS`.
LearnerName: TypeAlias = Literal["logistic", "text", "mlp", "random-forest", "gradient-boosting"]

#: What is done to rows before any learner sees them.
Preprocess: TypeAlias = Literal["none", "auto"]


class Scorer(Protocol):
    """Trained models: the base and K members, asked for class scores of rows in the learner's form."""

    @property
    def path(self) -> str:
        """How the class scores are made, for the manifest."""
        ...

    @property
    def n_members(self) -> int:
        """K: how many members there are besides the base."""
        ...

    @property
    def probabilistic(self) -> bool:
        """Whether class scores are probabilities, and not values of a decision function."""
        ...

    @property
    def rowwise(self) -> bool:
        """Whether a row's scores are the same to the bit whichever rows it is handed over with."""
        ...

    @property
    def multiplications(self) -> int:
        """How many a row costs under all members, if a screen may run on a GPU; 0 if none may."""
        ...

    def base_scores(self, X: Any, *, device: Device = "cpu") -> NDArray[np.float64]:
        """Return (n, C): the class scores under the base, the same to the bit on any device."""
        ...

    def each_member(self, X: Any, *, device: Device = "cpu") -> Iterable[NDArray[np.float64]]:
        """Return (n, C): the class scores under each member, one after the other."""
        ...

    def screen(
        self, score: ScoreName, *, device: Device = "cpu", precision: Precision = "float32"
    ) -> Screen | None:
        """Return a rough and fast way to look at a score; None if there is none faster than to compute it."""
        ...

    def vectors(self, X: Any) -> Matrix:
        """Return (n, D): the rows as the learner's last step sees them, for cosine distances."""
        ...


@runtime_checkable
class Embedder(Protocol):
    """A scorer whose base ends in a linear layer that sees something else than `vectors`."""

    def embedding(self, X: Any) -> Matrix:
        """Return (n, D): what the base's last linear layer sees."""
        ...


@runtime_checkable
class RowChecker(Protocol):
    """A scorer that not every row of numbers is good for."""

    def check_rows(self, X: Any, rows: NDArray[np.int64] | range) -> None:
        """Raise an error that names the first row, by its number in the pool, that cannot be scored."""
        ...


class Preprocessor(Protocol):
    """What makes numbers of rows before the learner sees them; fitted once and shared by all models."""

    def transform(self, rows: Any) -> Matrix:
        """Return (n, D) floats."""
        ...


class Learner(Protocol):
    """What turns a labeled set into models."""

    @property
    def name(self) -> str:
        """What messages and the manifest call this learner."""
        ...

    @property
    def probabilistic(self) -> bool:
        """Whether its class scores will be probabilities."""
        ...

    @property
    def takes_sparse(self) -> bool:
        """Whether it can be given a CSR array."""
        ...

    def check(self, n_classes: int) -> None:
        """Raise an error if it is certain before training that it cannot score this many classes."""
        ...

    def intake(self, labeled: LabeledSet) -> Intake:
        """Return the form in which this learner takes these rows, or say why it cannot."""
        ...

    def fit(
        self,
        X: Any,
        labeled: LabeledSet,
        bootstrap: Bootstrap,
        n_members: int,
        *,
        n_jobs: int,
        device: str,
        progress: Progress,
    ) -> Scorer:
        """Return the base, trained on all rows X, and `n_members` members, each on its own draw.

        `device` is "auto", "cpu" or "cuda", as the caller gave it; a learner that can use a GPU resolves it.
        """
        ...


@runtime_checkable
class ForeseeingLearner(Protocol):
    """A learner whose models can have outputs for classes that no labeled row has yet."""

    @property
    def scores_empty_classes(self) -> bool:
        """Whether `fit` may be given a labeled set with empty classes. Others are given the classes that have rows."""
        ...


class Classifier(Protocol):
    """A classifier or a pipeline of scikit-learn."""

    def fit(self, X: Any, y: Any, /) -> Any:
        """Train it."""
        ...

    def get_params(self, deep: bool = ...) -> Any:
        """Return its settings."""
        ...


#: What `learner` may be: a name, a classifier of scikit-learn, a learner, or a function that makes torch modules.
LearnerLike: TypeAlias = LearnerName | Classifier | Learner | Callable[[], Any]
