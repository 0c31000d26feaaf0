"""`learner="logistic"`: L2-regularized logistic regression, all members trained together to the optimum."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from minmargin.checks import is_number, set_without_numpy
from minmargin.data.intake import Intake
from minmargin.data.rows import Matrix
from minmargin.errors import InputError, listing, warn
from minmargin.execution import Progress, one_thread_each
from minmargin.labeled import Bootstrap, LabeledSet
from minmargin.learners.linear import LinearScorer
from minmargin.learners.newton.training import CONVERGED, TOLERANCE, fit_together
from minmargin.learners.penalty import Choice, choose_penalty

_USUAL_C = 1.0
_LARGE = 1e75  # numbers whose squares, and sums of them, may leave the range of float64
_UNEVEN = 1e3  # times as large as another, a column makes training slow


@dataclass(frozen=True)
class LogisticLearner:
    """Logistic regression with scikit-learn's objective.

    A member's draw enters as row weights, so no rows are copied.

    Args:
        C: the inverse strength of the L2 penalty; or "auto", the one of thirteen between 0.001 and 1000 whose
            models are best at labeled rows that they were not trained on. All members use it.
        fit_intercept: whether logits have a free constant.
        class_weight: None; a weight for each class, 1 where none is given; or "balanced", weights that make all
            classes of a member's draw count the same.
        tol: the length of the gradient to stop at, relative to the gradient at zero. Coefficients, all together, are
            then off by a hundred times as much or so, and by more on badly scaled rows. More than the usual trains
            faster, and leaves members that differ by where they stopped, too.
    """

    C: float | Literal["auto"] = _USUAL_C
    fit_intercept: bool = True
    class_weight: Literal["balanced"] | Mapping[Any, float] | None = None
    tol: float = TOLERANCE

    probabilistic = True
    takes_sparse = True

    def __post_init__(self) -> None:
        """Raise an error if a setting cannot be used."""
        set_without_numpy(self)
        given: Any = self.C
        if given != "auto" and not (isinstance(given, Real) and 0.0 < float(given) < math.inf):
            raise InputError(
                f"C={self.C!r} must be a positive number, or 'auto'. 1.0 is usual; more fits the labels closer."
            )
        given = self.tol
        if not (isinstance(given, Real) and 0.0 < float(given) < 1.0):
            raise InputError(
                f"tol={self.tol!r} must be a number between 0 and 1. {TOLERANCE:g} is usual; more trains faster."
            )
        check_class_weight(self.class_weight)

    @property
    def name(self) -> str:
        """The name, with the settings that are not the usual ones."""
        settings = [name_penalty(self.C)] if self.C != _USUAL_C else []
        settings += ["fit_intercept=False"] if not self.fit_intercept else []
        settings += [f"class_weight={self.class_weight!r}"] if self.class_weight is not None else []
        settings += [f"tol={self.tol:g}"] if self.tol != TOLERANCE else []
        return f"logistic({', '.join(settings)})" if settings else "logistic"

    def check(self, n_classes: int) -> None:
        """Raise no error: any number of classes can be scored."""

    def intake(self, labeled: LabeledSet) -> Intake:
        """Return the form in which this learner takes these rows."""
        return labeled.numeric_intake(takes_sparse=True, missing=False)

    def fit(
        self,
        X: Matrix,
        labeled: LabeledSet,
        bootstrap: Bootstrap,
        n_members: int,
        *,
        n_jobs: int,
        device: str,
        progress: Progress,
    ) -> LinearScorer:
        """Return the base, trained on all rows X, and `n_members` members, each on its own draw."""
        if isinstance(self.C, str):
            progress("training", 0, n_members + 1)
            choice = self.choose(X, labeled, bootstrap, usual=_USUAL_C, n_jobs=n_jobs)
            scorer = replace(self, C=choice.C).fit(
                X, labeled, bootstrap, n_members, n_jobs=n_jobs, device=device, progress=progress
            )
            return replace(scorer, choice=choice)
        train = partial(
            fit_together,
            X.astype(np.float64),
            labeled.codes,
            len(labeled.classes),
            C=self.C,
            fit_intercept=self.fit_intercept,
            tolerance=self.tol,
        )
        draws = map(bootstrap.multiplicities, range(n_members))
        progress("training", 0, n_members + 1)
        with one_thread_each():
            once = np.ones(len(labeled.codes), dtype=np.int64)
            base = train(row_weights(labeled, once, self.class_weight)[np.newaxis])
            progress("training", 1, n_members + 1)
            members = train(
                np.array([row_weights(labeled, counts, self.class_weight) for counts in draws]),
                start=base,
                n_jobs=n_jobs,
                on_member=lambda n_trained: progress("training", n_trained + 1, n_members + 1),
            )
        warn_if_unconverged(np.concatenate([base.gradient, members.gradient]), X, C=self.C, tol=self.tol)
        return LinearScorer(base.coefficients, base.intercepts, members.coefficients, members.intercepts)

    def choose(
        self, X: Matrix, labeled: LabeledSet, bootstrap: Bootstrap, *, usual: float, n_jobs: int
    ) -> Choice:
        """Return what C="auto" chooses on a labeled set whose rows are X, and `usual` where nothing can be told."""
        with one_thread_each():
            return choose_penalty(
                X.astype(np.float64),
                labeled.codes,
                len(labeled.classes),
                seeds=bootstrap.seeds,
                usual=usual,
                weigh=lambda counts: row_weights(labeled, counts, self.class_weight),
                fit_intercept=self.fit_intercept,
                n_jobs=n_jobs,
            )


def name_penalty(C: float | Literal["auto"]) -> str:
    """Return C as a learner's name shows it."""
    return f"C={C!r}" if C == "auto" else f"C={C:g}"


def check_class_weight(class_weight: Any) -> None:
    """Raise an error for weights of classes that cannot be used; whether the classes exist, only labels can tell."""
    if class_weight is None or (isinstance(class_weight, str) and class_weight == "balanced"):
        return
    if not isinstance(class_weight, Mapping):
        raise InputError(
            f"class_weight={reprlib.repr(class_weight)} must be None, 'balanced', or a weight for each class, such as "
            "{0: 2.0}."
        )
    for label, weight in class_weight.items():
        if not (is_number(weight) and 0 <= weight < math.inf):
            raise InputError(f"class_weight gives class {label!r} the weight {weight!r}. Use a number >= 0.")


def row_weights(
    labeled: LabeledSet, counts: NDArray[np.integer[Any]], class_weight: Any
) -> NDArray[np.float64]:
    """Return (n,) how much each labeled row counts in a draw that holds it so many times.

    `class_weight` is as in `LogisticLearner`; "balanced" weights are those of the draw.
    """
    weights = counts.astype(np.float64)
    if class_weight is None:
        return weights
    from sklearn.utils.class_weight import compute_class_weight  # noqa: PLC0415 - a selection may need none of it

    if isinstance(class_weight, Mapping):
        unknown = [label for label in class_weight if label not in labeled.every_class]
        if unknown:
            raise InputError(
                f"class_weight has {listing(unknown)}, but the classes are "
                f"{listing(labeled.every_class.tolist())}. Use the labels as they are in y."
            )
    # scikit-learn refuses to weigh a class that no row has.
    seen, places = np.unique(labeled.codes, return_inverse=True)
    classes = labeled.classes[seen]
    if isinstance(class_weight, Mapping):
        class_weight = {label: weight for label, weight in class_weight.items() if label in classes}
    by_class = compute_class_weight(class_weight, classes=classes, y=labeled.y, sample_weight=weights)
    return np.asarray(weights * by_class[places])


def warn_if_unconverged(
    gradients: NDArray[np.float64], X: Matrix, *, C: float, tol: float = TOLERANCE
) -> None:
    """Warn if a model's gradient, relative to the one at zero, is not that of an optimum; an error if it is no number.

    Args:
        gradients: (K,) those that were reached.
        X: the rows as the models saw them.
        C: the inverse strength of their penalty.
        tol: the gradient that was asked for.
    """
    n_lost = int(np.isnan(gradients).sum())
    if n_lost:
        raise InputError(
            f"{n_lost} of {len(gradients)} logistic models could not be trained: numbers grew beyond all bounds. "
            f"{advise(X, C=C)}"
        )
    n_far = int((gradients > max(tol, CONVERGED)).sum())
    if n_far:
        warn(
            f"{n_far} of {len(gradients)} logistic models stopped short of the optimum, at gradients of up to "
            f"{gradients.max():.1g} of the gradient at zero, where {tol:g} was asked for. {advise(X, C=C)}"
        )


def advise(X: Matrix, *, C: float) -> str:
    """Return what would help to train models on rows X that stopped short of their optimum."""
    sizes = np.ravel(abs(X).max(axis=0).toarray() if sparse.issparse(X) else np.abs(X).max(axis=0))
    largest, smallest = float(sizes.max()), float(sizes[sizes > 0.0].min(initial=np.inf))
    if largest > _LARGE:
        return f"Features are as large as {largest:.0e}. Divide them."
    if largest > _UNEVEN * smallest:
        return (
            f"Some columns are {largest / smallest:.0e} times as large as others. Standardize the features."
        )
    return f"The features are of one size, so use a smaller C than {C:g}, or a larger tol."
