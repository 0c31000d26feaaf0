"""Learners: what turns a labeled set into the base and the members of a committee."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from minmargin.errors import InputError, listing, nearest
from minmargin.learners.base import (
    Embedder,
    ForeseeingLearner,
    Learner,
    LearnerLike,
    LearnerName,
    Preprocess,
    Preprocessor,
    RowChecker,
    Scorer,
)
from minmargin.learners.logistic import LogisticLearner
from minmargin.learners.mlp import MLPLearner
from minmargin.learners.text import TextLearner

__all__ = [
    "LEARNERS",
    "Embedder",
    "ForeseeingLearner",
    "Learner",
    "LearnerLike",
    "LearnerName",
    "LogisticLearner",
    "MLPLearner",
    "Preprocess",
    "Preprocessor",
    "RowChecker",
    "Scorer",
    "TextLearner",
    "is_module",
    "resolve_learner",
]


# scikit-learn is imported where it is used: it takes longer to import than the rest of the package.


def _wrap(classifier: Any) -> Learner:
    from minmargin.learners.sklearn import SklearnLearner  # noqa: PLC0415 - see above

    return SklearnLearner(classifier)


def _module_learner(factory: Any) -> Learner:
    from minmargin.learners.module import ModuleLearner  # noqa: PLC0415 - few selections need it

    return ModuleLearner(factory)


def is_module(thing: Any) -> bool:
    """Return whether something is a torch module or a class of them; torch is not imported to find out."""
    torch = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "nn"):
        return False
    return issubclass(thing if isinstance(thing, type) else type(thing), torch.nn.Module)


def _random_forest() -> Learner:
    from sklearn.ensemble import RandomForestClassifier  # noqa: PLC0415 - see above

    return _wrap(RandomForestClassifier())


def _gradient_boosting() -> Learner:
    from sklearn.ensemble import HistGradientBoostingClassifier  # noqa: PLC0415 - see above

    return _wrap(HistGradientBoostingClassifier())


#: The learners that have a name, for the command line and for strings.
LEARNERS: dict[LearnerName, Callable[[], Learner]] = {
    "logistic": LogisticLearner,
    "text": TextLearner,
    "mlp": MLPLearner,
    "random-forest": _random_forest,
    "gradient-boosting": _gradient_boosting,
}


def resolve_learner(learner: Any) -> Learner:
    """Return the learner that a name, a scikit-learn classifier, a factory of modules or a learner stands for."""
    if isinstance(learner, str):
        if ":" in learner:
            module, _, name = learner.partition(":")
            raise InputError(
                f"learner={learner!r} names a factory, which the command line and Campaign.init take. Here, pass what "
                f"it makes: from {module} import {name}, then learner={name}(), or learner={name} for torch modules."
            )
        if learner not in LEARNERS:
            raise InputError(
                f"There is no learner {learner!r} (names: {listing(LEARNERS)}).{nearest(learner, LEARNERS)} "
                "Any scikit-learn classifier can be passed as an object."
            )
        return LEARNERS[learner]()
    if isinstance(learner, type) and is_module(learner):
        return _module_learner(learner)
    if isinstance(learner, type):
        raise InputError(f"learner is the class {learner.__name__}. Pass an instance: {learner.__name__}().")
    if hasattr(learner, "intake") and hasattr(learner, "fit"):
        resolved: Learner = learner
        return resolved
    if is_module(learner):
        kind = type(learner).__name__
        raise InputError(
            f"learner is a {kind} that is already made, and every member needs one of its own. Pass a function that "
            f"makes it, such as lambda: {kind}(...)."
        )
    if callable(learner) and not hasattr(learner, "fit"):
        return _module_learner(learner)
    if not (hasattr(learner, "fit") and hasattr(learner, "get_params")):
        raise InputError(
            f"learner is a {type(learner).__name__}, which is not a scikit-learn classifier. "
            f"Use one, or one of the names {listing(LEARNERS)}."
        )
    from sklearn.base import is_classifier  # noqa: PLC0415 - see above

    if not is_classifier(learner):
        raise InputError(
            f"learner={type(learner).__name__}() is not a classifier. Margins need class scores: use a classifier."
        )
    return _wrap(learner)
