"""Any scikit-learn classifier as a learner: cloned, seeded and fitted once per member."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import get_tags

from minmargin import margins
from minmargin.data.intake import Intake
from minmargin.data.rows import Matrix
from minmargin.data.schema import as_rows
from minmargin.device import Device, Precision
from minmargin.errors import InputError, MissingExtraError, NotNumbersError, listing
from minmargin.execution import Progress
from minmargin.labeled import Bootstrap, LabeledSet
from minmargin.learners.base import Scorer
from minmargin.learners.boosters import copied, wants_codes
from minmargin.learners.fitting import fit_all
from minmargin.learners.recognition import compile_fitted, lets_missing_through, recognize, takes
from minmargin.learners.together import can_train_together, train_together
from minmargin.margins import ScoreName
from minmargin.seeds import SeedTree


@dataclass(frozen=True)
class SklearnLearner:
    """A scikit-learn classifier, alone or at the end of a pipeline. The caller's object is never changed."""

    estimator: Any

    @property
    def name(self) -> str:
        """The estimator as scikit-learn prints it."""
        return " ".join(repr(self.estimator).split())

    @property
    def probabilistic(self) -> bool:
        """Whether it has predict_proba, as far as can be told before it is fitted."""
        return hasattr(self.estimator, "predict_proba")

    @property
    def takes_sparse(self) -> bool:
        """Whether it can be given a CSR array.

        scikit-learn's own estimators say so themselves. Others often leave the tag at its default, so they
        are trusted to take what the caller gave.
        """
        ours = all(type(step).__module__.startswith("sklearn.") for step in _steps(self.estimator))
        return bool(get_tags(self.estimator).input_tags.sparse) or not ours

    def check(self, n_classes: int) -> None:
        """Raise an error if it is certain before training that there will be no score for each class."""
        last = _steps(self.estimator)[-1]
        if isinstance(last, FrozenEstimator):
            raise InputError(
                "learner has a FrozenEstimator, which is never trained, and each member is trained on its own draw. "
                f"Use its {type(last.estimator).__name__} to train it anew, or Committee.from_models([...]) with "
                "models that are trained."
            )
        if self.probabilistic:
            return
        parameters = last.get_params()
        if n_classes > 2 and parameters.get("decision_function_shape") == "ovo":
            raise InputError(
                f"{type(last).__name__}(decision_function_shape='ovo') scores pairs of classes, and a margin needs "
                "a score for each class. Use decision_function_shape='ovr'."
            )
        # What wraps another estimator may have its methods only once it is fitted.
        wraps = {"estimator", "final_estimator", "estimators"} & set(parameters)
        if not hasattr(self.estimator, "decision_function") and not wraps:
            raise no_scores(last)

    def intake(self, labeled: LabeledSet) -> Intake:
        """Return the labeled set's own form, or a form near it that the estimator can take."""
        labeled.require_table()
        rows, columns = labeled.rows, labeled.columns
        linear = self._recognized(labeled)
        missing = not _rejects_missing(_steps(self.estimator)[0])
        if linear is not None:
            missing = lets_missing_through(linear)
        if columns is None:
            if isinstance(rows, np.ndarray) and rows.ndim == 1:
                return Intake("text", None, 1)
            if isinstance(rows, np.ndarray) and rows.dtype.kind not in "fiub":
                return Intake("objects", None, rows.shape[1])
            keep_sparse = sparse.issparse(rows) and self.takes_sparse
            return Intake("sparse" if keep_sparse else "matrix", None, rows.shape[1], missing=missing)
        one_text = labeled.one_column and columns[0].kind == "text"
        if one_text or self._reads_text():
            if len(columns) != 1 or columns[0].kind != "text":
                raise InputError(
                    f"{_steps(self.estimator)[0]!r} reads one text column, but the features are "
                    f"{listing(column.name for column in columns)}. Name the text column with features='...'."
                )
            return Intake("text", columns, 1)
        width = sum(column.width or 1 for column in columns)
        kinds = {column.kind for column in columns}
        numeric = kinds <= {"number", "embedding"}
        no_names_needed = linear is not None or (
            labeled.from_files and not isinstance(self.estimator, Pipeline)
        )
        if numeric and ("embedding" in kinds or no_names_needed):
            return Intake("matrix", columns, width, missing=missing)
        return Intake("frame", columns, width, backend=_backend(labeled), missing=missing)

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
        """Return the base, trained on all rows X, and `n_members` members, each on its own draw."""
        linear = self._recognized(labeled)
        if linear is not None and not takes(linear, X):
            linear = None
        if linear is not None and can_train_together(linear):
            together = train_together(
                linear, X, labeled, bootstrap, n_members, n_jobs=n_jobs, progress=progress
            )
            if together is not None:
                return together

        y = labeled.codes if wants_codes(self.estimator) else labeled.y

        def fit_one(member: int | None) -> Any:
            model = _copying(copied(self.estimator if linear is None else linear))
            _set_random_states(model, bootstrap.seeds, member)
            if member is None:
                return model.fit(X, y)
            drawn = bootstrap.indices(member)
            return model.fit(_take(X, drawn), y[drawn])

        base, members = fit_all(fit_one, labeled, bootstrap, n_members, n_jobs=n_jobs, progress=progress)
        compiled: Scorer | None = None
        if linear is not None:
            compiled = compile_fitted(base, members, n_columns=X.shape[1], n_classes=len(labeled.classes))
        return compiled or EstimatorScorer(base, members, labeled.classes)

    def _recognized(self, labeled: LabeledSet) -> Any | None:
        """Return a copy of the estimator that is linear in the columns of a matrix, if it is known to be."""
        return recognize(_copying(copied(self.estimator)), labeled.columns, len(labeled.classes))

    def _reads_text(self) -> bool:
        tags = get_tags(_steps(self.estimator)[0]).input_tags
        return bool(tags.string and not tags.two_d_array)


class EstimatorScorer:
    """Fitted scikit-learn classifiers, asked one after the other."""

    rowwise = False
    multiplications = 0

    def __init__(self, base: Any, members: list[Any], classes: NDArray[Any]) -> None:
        self._base = base
        self._members = members
        self._classes = classes
        self.probabilistic: bool = hasattr(base, "predict_proba")
        if not (self.probabilistic or hasattr(base, "decision_function")):
            raise no_scores(_steps(base)[-1])
        method = "predict_proba" if self.probabilistic else "decision_function"
        self.path = f"estimators, {method}"

    @property
    def n_members(self) -> int:
        """K: how many members there are besides the base."""
        return len(self._members)

    def base_scores(self, X: Any, *, device: Device = "cpu") -> NDArray[np.float64]:
        """Return (n, C): the class scores under the base."""
        return self._class_scores(self._base, X)

    def each_member(self, X: Any, *, device: Device = "cpu") -> Iterator[NDArray[np.float64]]:
        """Return (n, C): the class scores under each member, one after the other."""
        return (self._class_scores(member, X) for member in self._members)

    def screen(self, score: ScoreName, *, device: Device = "cpu", precision: Precision = "float32") -> None:
        """Return None: nothing faster than the models themselves is known."""

    def vectors(self, X: Any) -> Matrix:
        """Return what the base's last step sees: X itself, or what a pipeline's transformers make of it."""
        if isinstance(self._base, Pipeline) and len(self._base) > 1:
            X = self._base[:-1].transform(X)
        if sparse.issparse(X):
            return cast("Matrix", as_rows(X, "The pipeline's output"))
        vectors = np.asarray(X)
        if vectors.ndim != 2 or vectors.dtype.kind not in "fiub":
            raise NotNumbersError(
                "Greedy strategies compare rows by the angle between them, and these rows are not numbers. Use "
                "a pipeline whose transformers make numbers of them, or preprocess='auto'."
            )
        return (
            vectors
            if vectors.dtype in {np.dtype(np.float32), np.dtype(np.float64)}
            else vectors.astype(np.float64)
        )

    def _class_scores(self, model: Any, X: Any) -> NDArray[np.float64]:
        if self.probabilistic:
            scores = np.asarray(model.predict_proba(X), dtype=np.float64)
        else:
            scores = np.asarray(model.decision_function(X), dtype=np.float64)
            if scores.ndim == 1:  # two classes, one value: then the margin is 2|f|
                scores = np.stack([-scores, scores], axis=1)
        order = np.asarray(getattr(model, "classes_", self._classes))
        if scores.shape[1] != len(order):
            raise InputError(
                f"{type(_steps(model)[-1]).__name__} gives {scores.shape[1]} scores a row for {len(order)} classes. "
                "Use a classifier that gives a score for each class."
            )
        if np.array_equal(order, self._classes):
            return scores
        n_classes = len(self._classes)
        if len(order) == n_classes:
            return scores[:, np.argsort(order, kind="stable")]
        places = np.searchsorted(self._classes, order)
        return margins.among_all(scores, places, n_classes, probabilistic=self.probabilistic)


def no_scores(estimator: Any) -> InputError:
    """Return the error for a classifier that gives no class scores."""
    return InputError(
        f"{type(estimator).__name__} has neither predict_proba nor decision_function, so it has no margin. "
        "Wrap it in CalibratedClassifierCV, or use another classifier."
    )


def _steps(estimator: Any) -> list[Any]:
    """Return what a pipeline is made of, without steps that are switched off ("passthrough", None)."""
    if not isinstance(estimator, Pipeline):
        return [estimator]
    return [step for _, step in estimator.steps if not (step is None or isinstance(step, str))]


def _rejects_missing(first_step: Any) -> bool:
    """Return whether it is certain that this estimator fails on NaN."""
    if not type(first_step).__module__.startswith("sklearn."):
        return False
    # These hand columns on to others, whose tolerance their own tag does not tell.
    if isinstance(first_step, (ColumnTransformer, FeatureUnion, FunctionTransformer)):
        return False
    return not get_tags(first_step).input_tags.allow_nan


def _copying(model: Any) -> Any:
    """Return a model with every step told to leave alone what it is given: models and the caller share the rows."""
    flags = [name for name, value in model.get_params(deep=True).items() if value is False]
    return model.set_params(**{name: True for name in flags if name.split("__")[-1] == "copy"})


def _set_random_states(model: Any, seeds: SeedTree, member: int | None) -> None:
    """Seed every random_state parameter, nested or not, from the member's own branch."""
    names = sorted(
        name
        for name in model.get_params(deep=True)
        if name == "random_state" or name.endswith("__random_state")
    )
    # Children are numbered by the sorted names, so equal settings give equal seeds.
    states = seeds.learner(member).generate_state(max(len(names), 1))
    model.set_params(**{name: int(state >> 1) for name, state in zip(names, states, strict=False)})


def _take(X: Any, index: NDArray[np.intp]) -> Any:
    if isinstance(X, (np.ndarray, sparse.csr_array)):
        return X[index]
    return nw.maybe_reset_index(nw.from_native(X, eager_only=True)[index, :]).to_native()


def _backend(labeled: LabeledSet) -> nw.Implementation:
    """Return the kind of data frame to hand over: the caller's own; pandas for files."""
    assert isinstance(labeled.rows, nw.DataFrame)
    if not labeled.from_files:
        return labeled.rows.implementation
    try:
        import pandas  # noqa: F401, ICN001, PLC0415 - only to see that it is there
    except ImportError:
        raise MissingExtraError(
            "A scikit-learn learner is given the columns of files as a pandas frame, and pandas is not "
            "installed. Use pip install pandas, or pass a polars or pyarrow frame."
        ) from None
    return nw.Implementation.PANDAS
