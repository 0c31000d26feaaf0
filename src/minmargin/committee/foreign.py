"""Committees of foreign models, trained elsewhere: what they know is read off them, and nothing is trained."""

from __future__ import annotations

import hashlib
import io
import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import IO, Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from minmargin.committee.committee import Committee
from minmargin.committee.provenance import Provenance
from minmargin.data.foreign import ForeignIntake
from minmargin.data.intake import Intake
from minmargin.data.schema import Column
from minmargin.errors import InputError, listing
from minmargin.labels import as_classes, as_labels
from minmargin.learners.base import Scorer
from minmargin.learners.recognition import compile_fitted, last_step, lets_missing_through, recognize
from minmargin.learners.sklearn import EstimatorScorer, no_scores
from minmargin.typing import Seed


@dataclass(frozen=True)
class WithClasses:
    """A model that does not tell which classes its probabilities are of.

    Attributes:
        model: the model.
        classes_: (C,) the classes, in the order of its probabilities.
    """

    model: Any
    classes_: NDArray[Any]

    def predict_proba(self, X: Any) -> Any:
        """Return (n, C) the model's probabilities."""
        return self.model.predict_proba(X)


@dataclass(frozen=True)
class _Model:
    """A model, and what errors call it."""

    model: Any
    who: str

    @property
    def kind(self) -> str:
        model = self.model.model if isinstance(self.model, WithClasses) else self.model
        return type(last_step(model)).__name__

    def checked(self, classes: Sequence[Any] | None) -> _Model:
        """Return the model with its classes known, or say what it lacks."""
        model = self.model.estimator if isinstance(self.model, FrozenEstimator) else self.model
        if isinstance(model, BaseEstimator):
            try:
                check_is_fitted(model)
            except NotFittedError:
                raise InputError(
                    f"{self.who.capitalize()}, a {type(model).__name__}, is not trained. Train it, or use "
                    "fit_committee."
                ) from None
        if not (hasattr(model, "predict_proba") or hasattr(model, "decision_function")):
            raise no_scores(last_step(model))
        if not hasattr(model, "classes_"):
            if classes is None or not hasattr(model, "predict_proba"):
                raise InputError(
                    f"{self.who.capitalize()}, a {type(model).__name__}, has no classes_. Name its classes with "
                    "classes=[...], in the order of its probabilities."
                )
            model = WithClasses(model, np.asarray(classes))
        return _Model(model, self.who)


def committee_of(
    models: Sequence[Any], *, base: Any, classes: Sequence[Any] | None, random_state: Seed
) -> Committee:
    """Return the committee of trained models; `Committee.from_models` explains the arguments."""
    members, checked_base = _checked(models, base, classes)
    checked = [*members, *([] if checked_base is None else [checked_base])]
    known = _known_classes(checked, complete=classes is not None)
    every = known if classes is None else as_classes(classes, known, "The models know class")
    of_members = [each.model for each in members]
    has_base = checked_base is not None or len(members) == 1
    # Something must stand where a base would. Nobody asks it for scores, but it shows what a last step sees.
    first = of_members[0] if checked_base is None else checked_base.model
    scorer, intake = _scorer(first, of_members, known)
    kinds = listing(dict.fromkeys(each.kind for each in checked)).replace("'", "")
    provenance = Provenance.elsewhere(
        f"trained elsewhere ({kinds})",
        intake,
        random_state,
        has_base=has_base,
        identity=partial(_identity, [first, *of_members]),
    )
    scored = None if len(every) == len(known) else np.searchsorted(every, known)
    return Committee(every, provenance, None, scorer, scored=scored)


def _checked(
    models: Sequence[Any], base: Any, classes: Sequence[Any] | None
) -> tuple[list[_Model], _Model | None]:
    if isinstance(models, (str, BaseEstimator)) or not isinstance(models, Sequence):
        raise InputError(f"models is a {type(models).__name__}. Give a list of trained models.")
    if not models:
        raise InputError("models is empty. Give at least one trained model.")
    members = [_Model(model, f"model {k}").checked(classes) for k, model in enumerate(models)]
    checked_base = None if base is None else _Model(base, "the base").checked(classes)
    with_base = members if checked_base is None else [*members, checked_base]
    probabilistic = [hasattr(each.model, "predict_proba") for each in with_base]
    if len(set(probabilistic)) > 1:
        one, other = (with_base[probabilistic.index(has)] for has in (True, False))
        raise InputError(
            f"{one.who.capitalize()} has predict_proba and {other.who} has only decision_function, and their scores "
            "cannot be compared. Give models of one kind."
        )
    return members, checked_base


def _known_classes(models: Sequence[_Model], *, complete: bool) -> NDArray[Any]:
    """Return the classes that models know, sorted. Unless all classes were named, each model must know all of them."""
    first, *others = models
    for other in others:
        one, two = ([*np.asarray(each.model.classes_).tolist()] for each in (first, other))
        lacking = [(first, name) for name in two if name not in one] + [
            (other, name) for name in one if name not in two
        ]
        if lacking and not complete:
            who, name = lacking[0]
            has = other if who is first else first
            raise InputError(
                f"{has.who.capitalize()} knows class {name!r} and {who.who} does not. If some models have never seen a "
                "class, name all of them with classes=[...]."
            )
    every = np.unique(
        as_labels([name for each in models for name in np.asarray(each.model.classes_).tolist()])
    )
    if len(every) < 2:
        raise InputError(
            f"The models know one class, {every.tolist()[0]!r}. Give models of two or more classes."
        )
    return every


def _scorer(base: Any, members: list[Any], classes: NDArray[Any]) -> tuple[Scorer, Intake]:
    """Return what scores rows by these models, and the form in which they take them."""
    models = [base, *members]
    widths = {getattr(model, "n_features_in_", None) for model in models}
    if len(widths) > 1:
        raise InputError(
            f"The models take rows of {listing(sorted(map(str, widths)))} features. Give models of the same."
        )
    width = widths.pop()
    names = getattr(base, "feature_names_in_", None)
    columns = None if names is None else tuple(Column(str(name), "number", "Float64") for name in names)
    if width is not None and all(_is_linear(model, columns, classes) for model in models):
        kinds = {type(last_step(model)) for model in models}
        n_outputs = {np.shape(last_step(model).coef_) for model in models}
        if len(kinds) == len(n_outputs) == 1:
            linear = compile_fitted(
                base, members, n_columns=width, n_classes=len(classes), trained="elsewhere"
            )
            if linear is not None:
                missing = all(map(lets_missing_through, models))
                return linear, ForeignIntake("matrix", columns, width, missing=missing)
    return EstimatorScorer(base, members, classes), _intake(base, width, names)


def _is_linear(model: Any, columns: Sequence[Column] | None, classes: NDArray[Any]) -> bool:
    """Return whether a fitted model can be compiled: one that is recognized, and finds its columns by their places."""
    if isinstance(model, WithClasses) or not np.array_equal(model.classes_, classes):
        return False
    if not isinstance(model, BaseEstimator) or recognize(model, columns, len(classes)) is None:
        return False
    parts = model.get_params(deep=True).values()
    return not any(isinstance(part, ColumnTransformer) for part in parts)


def _intake(model: Any, width: int | None, names: Any) -> Intake:
    """Return the form in which models take rows, as far as they tell."""
    if names is not None:
        known = tuple(str(name) for name in names)
        return ForeignIntake("frame", None, len(known), backend=_backend(), names=known)
    first = model.steps[0][1] if isinstance(model, Pipeline) else model
    if isinstance(first, BaseEstimator):
        tags = get_tags(first).input_tags
        if tags.string and not tags.two_d_array:
            return ForeignIntake("text", None, 1)
    return ForeignIntake("any", None, width or 1, backend=_backend(), sized=width is not None)


def _backend() -> nw.Implementation | None:
    """Return the kind of frame that columns of files are handed over as: that of pandas, if it is installed."""
    try:
        import pandas  # noqa: F401, ICN001, PLC0415 - only to see that it is there
    except ImportError:
        return None
    return nw.Implementation.PANDAS


def _identity(models: list[Any]) -> str:
    """Return what tells these models from others, for a checkpoint that is taken up."""
    content = io.BytesIO()
    try:
        _ByValue(content).dump(models)
    except Exception as error:
        raise InputError(
            f"checkpoint= needs models that can be pickled, to tell them from others ({error}). Leave it out."
        ) from error
    return hashlib.sha256(content.getvalue()).hexdigest()


class _ByValue(pickle.Pickler):
    """Writes models such that the same ones, trained or loaded, give the same bytes; nobody reads these."""

    def __init__(self, file: IO[bytes]) -> None:
        super().__init__(file, protocol=5)
        self.fast = True  # equal parts are written out, whether or not they are one and the same

    def reducer_override(self, value: Any) -> Any:
        """Return the fields of a record array alone: what lies between them is left to chance."""
        if not (isinstance(value, np.ndarray) and value.dtype.names):
            return NotImplemented
        return bytes, (b"".join(np.ascontiguousarray(value[name]).tobytes() for name in value.dtype.names),)
