"""Scoring: what a model is worth, told from what it says of the test rows. Higher is better."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy import special
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import get_scorer, get_scorer_names
from sklearn.utils.metaestimators import available_if

from minmargin.compare.deals import Deal, RowNumbers
from minmargin.data.rows import take_rows
from minmargin.errors import InputError, listing, nearest
from minmargin.labeled import LabeledSet

#: What class scores are: probabilities, the logits of such, or values of a decision function.
Kind: TypeAlias = Literal["probabilities", "logits", "values"]

#: Scores that are shown in percent, and their differences in points.
_SHARES = {"accuracy", "balanced_accuracy"}
AVERAGE_PRECISION = "average_precision"


class Answers(NamedTuple):
    """What a model says of test rows.

    Attributes:
        known: (c,) the classes that it was trained on, as codes.
        scores: (t, c) a score for each of them; the class with the highest is its prediction.
        kind: what the scores are.
    """

    known: NDArray[np.intp]
    scores: NDArray[Any]
    kind: Kind

    def of_all(self, n_classes: int) -> NDArray[np.float64]:
        """Return (t, C): probabilities or values for all classes of a table; the lowest there is for unknown ones."""
        full = np.full((len(self.scores), n_classes), -np.inf if self.kind == "values" else 0.0)
        full[:, self.known] = special.softmax(self.scores, axis=1) if self.kind == "logits" else self.scores
        return full


class Scoring(Protocol):
    """What turns answers into a number."""

    @property
    def name(self) -> str:
        """What results call it."""
        ...

    def __call__(self, deal: Deal, answers: Answers) -> float:
        """Return what a model is worth that answers so for the test rows of a deal."""
        ...


def rate(deal: Deal, answers: Answers, scorings: Sequence[Scoring]) -> list[float]:
    """Return what a model is worth by each scoring: it is trained and asked once, however many there are."""
    return [scoring(deal, answers) for scoring in scorings]


@dataclass(frozen=True)
class Accuracy:
    """The part of the test rows whose class is predicted. A class that a model does not know is always missed."""

    name: str = "accuracy"

    def __call__(self, deal: Deal, answers: Answers) -> float:
        """Return what a model is worth that answers so for the test rows of a deal."""
        predicted = answers.known[answers.scores.argmax(axis=1)]
        return float((predicted == deal.y[deal.test]).mean())


@dataclass(frozen=True)
class SklearnScoring:
    """A scorer as scikit-learn has them: a function of a fitted model, rows and labels.

    Attributes:
        name: what results call it.
        scorer: the function.
        names_positive: whether the classes are handed over as 0 and 1, the positive one, if there are two. The scorer
            would take the class 1 for it, and refuse others.
    """

    name: str
    scorer: Callable[[Any, Any, Any], Any]
    names_positive: bool = False

    def __call__(self, deal: Deal, answers: Answers) -> float:
        """Return what a model is worth that answers so for the test rows of a deal."""
        value = self._score(deal.table, deal.test, answers)
        if not np.isfinite(value):
            raise self._failure(f"gave {value}", deal.table, deal.test)
        return value

    def rehearse(self, table: LabeledSet, kind: Kind) -> None:
        """Raise an error if the scorer cannot even rate a model that is always right."""
        n_classes = len(table.classes)
        answers = Answers(np.arange(n_classes), np.eye(n_classes)[table.codes], kind)
        self._score(table, np.arange(len(table.codes)), answers)

    def _score(self, table: LabeledSet, rows: RowNumbers, answers: Answers) -> float:
        X = take_rows(table.rows, rows)
        native = X.to_native() if isinstance(X, nw.DataFrame) else X
        classes, scores, y = table.classes, answers.of_all(len(table.classes)), table.y[rows]
        positive = positive_class(table) if self.names_positive else None
        if positive is not None:
            classes, scores = np.arange(2), scores[:, [1 - positive, positive]]
            y = (table.codes[rows] == positive).astype(np.intp)
        model = _Answered(classes, native, scores, answers.kind)
        try:
            with warnings.catch_warnings():
                # A score that is no number is refused, and a class without test rows counts for nothing.
                warnings.simplefilter("ignore", UndefinedMetricWarning)
                warnings.filterwarnings("ignore", "y_pred contains classes not in y_true", UserWarning)
                return float(self.scorer(model, native, y))
        except Exception as error:
            reason = " ".join(str(error).split()).rstrip(".")
            raise self._failure(f"failed ({type(error).__name__}: {reason})", table, rows) from error

    def _failure(self, what: str, table: LabeledSet, rows: RowNumbers) -> InputError:
        absent = np.setdiff1d(np.arange(len(table.classes)), table.codes[rows])
        if len(absent):
            lacking = f", in which class {listing(table.classes[absent].tolist(), most=3)} is missing"
            fix = "Drop the rare classes, use a larger test_size, or use another scorer"
        else:
            lacking, fix = "", "Use another scorer, or sklearn.metrics.make_scorer with the settings it needs"
        return InputError(f"scoring={self.name!r} {what} on {len(rows):,} test rows{lacking}. {fix}.")


def resolve_scoring(scoring: Any) -> Accuracy | SklearnScoring:
    """Return the scoring that "accuracy", the name of a scikit-learn scorer, or a scorer stands for."""
    if isinstance(scoring, str):
        if scoring == "accuracy":
            return Accuracy()
        names = get_scorer_names()
        if scoring not in names:
            raise InputError(
                f"scoring={scoring!r} is not a scorer of scikit-learn.{nearest(scoring, names)} "
                "sklearn.metrics.get_scorer_names() lists them."
            )
        return SklearnScoring(scoring, get_scorer(scoring), names_positive=scoring == AVERAGE_PRECISION)
    if not callable(scoring):
        raise InputError(
            f"scoring={scoring!r} is neither the name of a scikit-learn scorer nor a function of a fitted model, rows "
            "and labels."
        )
    return SklearnScoring(_name_of(scoring), scoring)


def positive_class(table: LabeledSet) -> int | None:
    """Return the code of the class that average precision looks for: of two, the one named 1, or else the rarer."""
    names = table.classes.tolist()
    if len(names) != 2:
        return None
    return names.index(1) if 1 in names else int(table.counts[1] <= table.counts[0])


def is_share(scoring: str) -> bool:
    """Return whether scores of this name are shares of rows, shown in percent."""
    return scoring in _SHARES


def _name_of(scorer: Any) -> str:
    """Return a name that is the same in every run."""
    return getattr(scorer, "__name__", None) or re.sub(r" at 0x[0-9a-fA-F]+", "", str(scorer))


class _Answered(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A model that has answered already, as scorers want one: fitted, with predictions and class scores."""

    def __init__(self, classes: NDArray[Any], X: Any, scores: NDArray[np.float64], kind: Kind) -> None:
        self.classes = classes
        self.X = X
        self.scores = scores
        self.kind = kind

    @property
    def classes_(self) -> NDArray[Any]:
        """(C,) the classes of the whole table, sorted."""
        return self.classes

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict(self, X: Any) -> NDArray[Any]:
        """Return (t,) the predicted classes."""
        return np.asarray(self.classes[self._for(X).argmax(axis=1)])

    @available_if(lambda self: self.kind != "values")  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return (t, C) probabilities; 0 for a class that the model does not know."""
        return self._for(X)

    @available_if(lambda self: self.kind == "values")  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return (t, C) values, or (t,) those of the second of two classes."""
        scores = self._for(X)
        return scores[:, 1] if scores.shape[1] == 2 else scores

    def _for(self, X: Any) -> NDArray[np.float64]:
        if X is not self.X:
            raise InputError("A scorer may ask a model about the rows that it was given, all at once.")
        return self.scores
