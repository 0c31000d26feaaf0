"""Training: from a labeled set and settings to trained models, everything checked before anything is trained."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from scipy import sparse

from minmargin.committee.provenance import Preprocess, Provenance
from minmargin.data.intake import Intake
from minmargin.errors import InputError
from minmargin.labeled.bootstrap import Bootstrap, draw_sizes
from minmargin.labeled.labeled_set import LabeledSet
from minmargin.learners import Learner, Preprocessor, Scorer, TextLearner, resolve_learner
from minmargin.manifest import Stopwatch
from minmargin.progress import Progress
from minmargin.seeds import SeedTree


class Trained(NamedTuple):
    """What training gives."""

    provenance: Provenance
    preprocessor: Preprocessor | None
    scorer: Scorer
    stopwatch: Stopwatch


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
        learner: Any,
        bootstrap_fraction: float,
        random_state: Any,
        preprocess: Preprocess,
    ) -> Training:
        """Return the plan for training on this labeled set, or say why it cannot work."""
        resolved = resolve_learner(learner)
        resolved.check(len(labeled.classes))
        if preprocess not in {"none", "auto"}:
            raise InputError(f"preprocess={preprocess!r} must be 'none' or 'auto'.")
        if preprocess == "auto" and isinstance(resolved, TextLearner):
            raise InputError(
                "preprocess='auto' makes numbers of columns, and learner='text' reads the texts themselves. Leave "
                "preprocess out."
            )
        if preprocess == "auto":
            from minmargin.learners.preprocess import preprocessing_intake  # noqa: PLC0415 - slow to import

            intake = preprocessing_intake(labeled)
        else:
            intake = resolved.intake(labeled)
        sizes = draw_sizes(labeled.counts, bootstrap_fraction, labeled.classes.tolist())
        bootstrap = Bootstrap(labeled.codes, sizes, SeedTree.plant(random_state))
        return cls(labeled, resolved, intake, preprocess, bootstrap, float(bootstrap_fraction))

    def fit(self, n_models: int, *, n_jobs: int, device: str, progress: Progress) -> Trained:
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
                X, labeled, self.bootstrap, n_models, n_jobs=n_jobs, device=device, progress=progress
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
        return Trained(provenance, preprocessor, scorer, stopwatch)
