"""Training: from a labeled set and settings to trained models, everything checked before anything is trained."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Unpack

import numpy as np
from scipy import sparse

from minmargin.checks import check_count, without_numpy
from minmargin.committee.committee import Committee
from minmargin.committee.provenance import Provenance
from minmargin.data.intake import Intake
from minmargin.data.reading import Reading
from minmargin.errors import InputError, listing
from minmargin.execution import Execution, TrainingOptions
from minmargin.inspection import Table, look_at
from minmargin.labeled import Bootstrap, LabeledSet, draw_sizes
from minmargin.learners import ForeseeingLearner, Learner, Preprocessor, TextLearner, resolve_learner
from minmargin.learners.module import ModuleLearner
from minmargin.manifest import Stopwatch
from minmargin.scan.engines import resolve_execution
from minmargin.seeds import SeedTree
from minmargin.typing import LabelsLike, LearnerLike, Preprocess, RowsLike, Seed


@dataclass(frozen=True)
class Training:
    """Everything that decides how a committee is trained, checked before anything is trained."""

    labeled: LabeledSet
    learner: Learner
    intake: Intake
    preprocess: Preprocess
    bootstrap: Bootstrap
    bootstrap_fraction: float

    @classmethod
    def of(
        cls,
        labeled: LabeledSet,
        *,
        learner: LearnerLike,
        bootstrap_fraction: float,
        random_state: Seed,
        preprocess: Preprocess,
    ) -> Training:
        """Return the plan for training on this labeled set, or say why it cannot work."""
        bootstrap_fraction = without_numpy(bootstrap_fraction)
        resolved = resolve_learner(learner)
        if not (isinstance(resolved, ForeseeingLearner) and resolved.scores_empty_classes):
            labeled = labeled.setting_empty_aside()
        resolved.check(len(labeled.classes))
        _check_preprocess(preprocess, resolved)
        if preprocess == "auto":
            from minmargin.learners.preprocess import preprocessing_intake  # noqa: PLC0415 - slow to import

            intake = preprocessing_intake(labeled)
        else:
            intake = resolved.intake(labeled)
        sizes = draw_sizes(labeled.counts, bootstrap_fraction, labeled.classes.tolist())
        bootstrap = Bootstrap(labeled.codes, sizes, SeedTree.plant(random_state))
        return cls(labeled, resolved, intake, preprocess, bootstrap, float(bootstrap_fraction))

    def fit(self, n_models: int, execution: Execution) -> Committee:
        """Return the base and `n_models` members, trained."""
        stopwatch = Stopwatch()
        with stopwatch.stage("training"):
            labeled = self.labeled
            columns = self.intake.columns
            names = None if columns is None else [column.name for column in columns]
            X = self.intake.convert(labeled.rows, names, first_row=0, what="labeled").X
            preprocessor: Preprocessor | None = None
            if self.preprocess == "auto":
                from minmargin.learners.preprocess import TablePreprocessor  # noqa: PLC0415 - slow to import

                preprocessor = TablePreprocessor.of(X, columns, sparse_output=self.learner.takes_sparse)
                X = preprocessor.transform(X)
            scorer = self.learner.fit(
                X,
                labeled,
                self.bootstrap,
                n_models,
                n_jobs=execution.n_jobs,
                device=execution.device,
                progress=execution.progress,
            )
        provenance = Provenance(
            self.learner.name,
            self.intake,
            self.preprocess,
            self.bootstrap_fraction,
            self.bootstrap.seeds,
            sparse.issparse(X),
            labeled.describe,
            partial(scorer.vectors, X),
        )
        every = labeled.every_class
        scored = None if labeled.set_aside is None else np.searchsorted(every, labeled.classes)
        return Committee(every, provenance, preprocessor, scorer, self, stopwatch, scored)


def _check_preprocess(preprocess: Preprocess, learner: Learner) -> None:
    """Raise an error for what is not known, and for a learner that reads columns itself."""
    if preprocess not in {"none", "auto"}:
        raise InputError(f"preprocess={preprocess!r} must be 'none' or 'auto'.")
    if preprocess == "auto" and isinstance(learner, TextLearner):
        raise InputError(
            "preprocess='auto' makes numbers of columns, and learner='text' reads the texts themselves. Leave "
            "preprocess out."
        )
    if preprocess == "auto" and isinstance(learner, ModuleLearner) and learner.inputs is not None:
        raise InputError(
            f"preprocess='auto' makes one row of numbers of all columns, and inputs names those that the module takes "
            f"({listing(learner.inputs)}). Leave preprocess out."
        )


def fit_committee(
    X: RowsLike,
    y: LabelsLike,
    *,
    classes: Iterable[object] | None = None,
    learner: LearnerLike = "logistic",
    n_models: int = 25,
    bootstrap_fraction: float = 1.0,
    random_state: Seed = None,
    features: str | Sequence[str] | None = None,
    id_column: str | None = None,
    preprocess: Preprocess = "none",
    reading: Reading | None = None,
    **execution: Unpack[TrainingOptions],
) -> Committee:
    """Return a committee trained on a labeled set, to score or select from several pools.

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> committee = fit_committee(X[::10], y[::10], n_models=5, random_state=0)
    >>> committee
    <Committee: 5 members, learner logistic, classes 0, 1, 2>
    >>> committee.score(X).shape
    (150,)

    The arguments, `n_jobs`, `device` and `progress` among them, are those of `minmargin.select`.
    """
    n_models = check_count("n_models", n_models, least=0, usual=25)
    how = resolve_execution(**execution)
    not_features = [] if id_column is None else [id_column]
    labeled = LabeledSet.of(
        X, y, classes=classes, features=features, not_features=not_features, reading=reading
    )
    training = Training.of(
        labeled,
        learner=learner,
        bootstrap_fraction=bootstrap_fraction,
        random_state=random_state,
        preprocess=preprocess,
    )
    if preprocess == "auto":  # who makes numbers of columns without it has looked at them
        look_at(Table.of(labeled, training.intake), None, reading).warn()
    return training.fit(n_models, how)
