"""Learners: what turns a labeled set into the base and the members of a committee."""

from __future__ import annotations

from typing import Any

from minmargin.errors import InputError, listing, nearest
from minmargin.learners.base import Learner, Preprocessor, Progress, Scorer, Screen
from minmargin.learners.logistic import LogisticLearner

__all__ = [
    "LEARNERS",
    "Learner",
    "LogisticLearner",
    "Preprocessor",
    "Progress",
    "Scorer",
    "Screen",
    "resolve_learner",
]


# scikit-learn is imported where it is used: it takes longer to import than the rest of the package.


def _wrap(classifier: Any) -> Learner:
    from minmargin.learners.sklearn import SklearnLearner  # noqa: PLC0415 - see above

    return SklearnLearner(classifier)


def _random_forest() -> Learner:
    from sklearn.ensemble import RandomForestClassifier  # noqa: PLC0415 - see above

    return _wrap(RandomForestClassifier())


def _gradient_boosting() -> Learner:
    from sklearn.ensemble import HistGradientBoostingClassifier  # noqa: PLC0415 - see above

    return _wrap(HistGradientBoostingClassifier())


#: The learners that have a name, for the command line and for strings.
LEARNERS = {
    "logistic": LogisticLearner,
    "random-forest": _random_forest,
    "gradient-boosting": _gradient_boosting,
}


def resolve_learner(learner: Any) -> Learner:
    """Return the learner that a name, a scikit-learn classifier or a learner object stands for."""
    if isinstance(learner, str):
        if learner not in LEARNERS:
            raise InputError(
                f"There is no learner {learner!r} (names: {listing(LEARNERS)}).{nearest(learner, LEARNERS)} "
                "Any scikit-learn classifier can be passed as an object."
            )
        return LEARNERS[learner]()
    if isinstance(learner, type):
        raise InputError(f"learner is the class {learner.__name__}. Pass an instance: {learner.__name__}().")
    if hasattr(learner, "intake") and hasattr(learner, "fit"):
        resolved: Learner = learner
        return resolved
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
