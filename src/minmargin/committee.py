"""Committee: the base and K members, trained on a labeled set, ready to score any pool."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from minmargin.batch import Batch
from minmargin.bootstrap import Bootstrap, draw_sizes
from minmargin.checks import check_count, check_n_jobs
from minmargin.device import Device, check_device, check_precision, resolve_device
from minmargin.errors import DataWarning, InputError
from minmargin.intake import Intake
from minmargin.labeled import LabeledSet
from minmargin.learners import (
    Learner,
    Preprocessor,
    Progress,
    Scorer,
    resolve_learner,
)
from minmargin.manifest import Stopwatch, make_manifest
from minmargin.margins import ScoreName
from minmargin.rows import Matrix
from minmargin.scan import Scan, Source, bind_pool, check_batch_size, too_large
from minmargin.seeds import SeedTree
from minmargin.strategies import Context, RowScore, Strategy, resolve_strategy

Preprocess: TypeAlias = Literal["none", "auto"]

CHUNK_SIZE = 131_072

# Multiplications for which starting a GPU, some seconds, is worth while.
_WORTH_A_GPU = 1 << 36


def silent(stage: str, done: int, total: int | None) -> None:
    """Report no progress."""


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
        if preprocess == "auto":
            from minmargin.learners.preprocess import preprocessing_intake  # noqa: PLC0415 - slow to import

            intake = preprocessing_intake(labeled)
        else:
            intake = resolved.intake(labeled)
        sizes = draw_sizes(labeled.counts, bootstrap_fraction, labeled.classes.tolist())
        bootstrap = Bootstrap(labeled.codes, sizes, SeedTree.plant(random_state))
        return cls(labeled, resolved, intake, preprocess, bootstrap, float(bootstrap_fraction))

    def fit(self, n_models: int, *, n_jobs: int, device: str, progress: Progress) -> Committee:
        """Return the trained committee."""
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
        return Committee(labeled.classes, self, preprocessor, scorer, X, stopwatch)


@dataclass(frozen=True, repr=False)
class Committee:
    """The base and the members. Make one with `fit_committee`.

    Attributes:
        classes_: (C,) the classes, sorted.
        training: the labeled set, the learner and the draws that it was trained with.
        scorer: the trained models.
    """

    classes_: NDArray[Any]
    training: Training
    _preprocessor: Preprocessor | None
    scorer: Scorer
    _fitted_on: Any
    _stopwatch: Stopwatch = field(default_factory=Stopwatch)

    @property
    def n_models(self) -> int:
        """K: how many members there are besides the base."""
        return self.scorer.n_members

    def __repr__(self) -> str:
        classes = ", ".join(map(repr, self.classes_.tolist()[:5])) + (", …" if len(self.classes_) > 5 else "")
        return (
            f"<Committee: {self.n_models} members, learner {self.training.learner.name}, classes {classes}>"
        )

    def score(
        self,
        pool: Any,
        *,
        strategy: Any = "min-margin",
        features: str | Sequence[str] | None = None,
        fast: bool = False,
        n_jobs: int = -1,
        chunk_size: int = CHUNK_SIZE,
        device: str = "auto",
        precision: str = "float32",
        progress: Progress = silent,
    ) -> NDArray[np.float64]:
        """Return one float per pool row, in pool order; lower is picked first.

        Exact scores are the same to the bit on every machine. With `fast`, a committee of linear models or of "mlp"
        networks computes them in float32, many times faster and to about six digits; `device` and `precision` are
        for that only. For any other, or for a strategy of your own, there is no faster way, and they are exact.
        The other arguments are those of `select`.
        """
        by = self._check_strategy(resolve_strategy(strategy))
        if not isinstance(by, RowScore):
            raise InputError(
                f"Strategy {by.name!r} has no score of a row by itself: each pick depends on the others. "
                "Use select, or a strategy that is a row score."
            )
        check_device(device)
        source = self.bind(pool, features=features)
        scan = self._scan(
            source,
            n_jobs=n_jobs,
            chunk_size=chunk_size,
            device=device if fast else "cpu",
            precision=precision,
            progress=progress,
        )
        score: ScoreName | None = getattr(by, "screen", None)
        screen = scan.screen(score) if fast and score is not None else None
        return scan.scores(by) if screen is None else scan.rough_scores(screen)

    def select(
        self,
        pool: Any,
        batch_size: int,
        *,
        strategy: Any = "min-margin",
        features: str | Sequence[str] | None = None,
        id_column: str | None = None,
        keep: Sequence[str] = (),
        n_jobs: int = -1,
        chunk_size: int = CHUNK_SIZE,
        device: str = "auto",
        precision: str = "float32",
        progress: Progress = silent,
    ) -> Batch:
        """Return the batch of pool rows to label next. The arguments are those of `minmargin.select`."""
        chosen = self._check_strategy(resolve_strategy(strategy))
        source = self.bind(pool, features=features, id_column=id_column, keep=keep)
        batch_size = check_batch_size(batch_size, source)
        return self.pick(
            source,
            batch_size,
            chosen,
            id_column=id_column,
            n_jobs=n_jobs,
            chunk_size=chunk_size,
            device=device,
            precision=precision,
            progress=progress,
        )

    def bind(
        self,
        pool: Any,
        *,
        features: str | Sequence[str] | None = None,
        id_column: str | None = None,
        keep: Sequence[str] = (),
    ) -> Source:
        """Return the pool, opened, with its columns matched to the labeled set's."""
        return bind_pool(pool, self.training.intake, features=features, id_column=id_column, keep=keep)

    def pick(
        self,
        source: Source,
        batch_size: int,
        strategy: Strategy,
        *,
        id_column: str | None,
        n_jobs: int,
        chunk_size: int,
        device: str,
        precision: str,
        progress: Progress,
    ) -> Batch:
        """Return the batch from a pool that was bound and checked."""
        stopwatch = Stopwatch(dict(self._stopwatch.seconds))
        scan = self._scan(
            source,
            n_jobs=n_jobs,
            chunk_size=chunk_size,
            device=device,
            precision=precision,
            progress=progress,
        )
        with stopwatch.stage("scanning"):
            kept = scan.keep(strategy.shortlists(batch_size))
        if kept.n_rows < batch_size:
            raise too_large(batch_size, kept.n_rows, source)
        with stopwatch.stage("finishing"):
            context = Context(batch_size, self.training.bootstrap.seeds, self._labeled_vectors, device)
            picks = strategy.finish(kept.shortlists, context)
        manifest = make_manifest(
            settings=self._settings(strategy, batch_size, scan),
            labeled=self.training.labeled.describe(),
            pool={"rows": kept.n_rows, **source.pool.describe()},
            n_rows_decided=kept.n_decided,
            stopwatch=stopwatch,
        )
        return Batch.of(
            picks,
            self.classes_,
            id_column=id_column,
            manifest=manifest,
            integers=[
                column.name for column in source.pool.schema.columns or () if column.type_name == "Int64"
            ],
        )

    def _settings(self, strategy: Strategy, batch_size: int, scan: Scan) -> dict[str, Any]:
        return {
            "strategy": strategy.name,
            "strategy_options": getattr(strategy, "options", {}),
            "batch_size": batch_size,
            "learner": self.training.learner.name,
            "n_models": self.n_models,
            "bootstrap_fraction": self.training.bootstrap_fraction,
            "seed": self.training.bootstrap.seeds.root,
            "preprocess": self.training.preprocess,
            "scoring_path": self.scorer.path,
            "device": scan.device,
            "precision": scan.precision,
            "n_jobs": scan.n_jobs,
            "chunk_size": scan.chunk_size,
        }

    def _scan(
        self, source: Source, *, n_jobs: int, chunk_size: int, device: str, precision: str, progress: Progress
    ) -> Scan:
        return Scan(
            source,
            self.training.intake,
            self._preprocessor,
            self.scorer,
            self.training.bootstrap.seeds,
            len(self.classes_),
            check_n_jobs(n_jobs),
            check_count("chunk_size", chunk_size, least=1),
            self._device(source, device),
            check_precision(precision),
            progress,
        )

    def _device(self, source: Source, device: str) -> Device:
        """Return where rows are looked at before the closest are scored exactly."""
        n_rows, of_row = source.pool.n_rows, self.scorer.multiplications
        possible = of_row > 0 and not sparse.issparse(self._fitted_on)
        small = n_rows is not None and n_rows * of_row < _WORTH_A_GPU
        if device == "auto" and (small or not possible):
            return "cpu"
        on = resolve_device(device)
        if on == "cuda" and of_row and not possible:
            warnings.warn(
                "device='cuda' does not speed up this scan: sparse rows are looked at on the CPU.",
                DataWarning,
                stacklevel=5,
            )
        return on if possible else "cpu"

    def _labeled_vectors(self) -> Matrix:
        return self.scorer.vectors(self._fitted_on)

    def _check_strategy(self, strategy: Strategy) -> Strategy:
        check_strategy(
            strategy, self.n_models, self.training.learner, probabilistic=self.scorer.probabilistic
        )
        return strategy


def fit_committee(
    X: Any,
    y: Any,
    *,
    learner: Any = "logistic",
    n_models: int = 25,
    bootstrap_fraction: float = 1.0,
    random_state: Any = None,
    features: str | Sequence[str] | None = None,
    id_column: str | None = None,
    preprocess: Preprocess = "none",
    n_jobs: int = -1,
    device: str = "auto",
    progress: Progress = silent,
) -> Committee:
    """Return a committee trained on a labeled set, to score or select from several pools.

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> committee = fit_committee(X[::10], y[::10], n_models=5, random_state=0)
    >>> committee
    <Committee: 5 members, learner logistic, classes 0, 1, 2>
    >>> committee.score(X).shape
    (150,)

    The arguments are those of `minmargin.select`.
    """
    n_models = check_count("n_models", n_models, least=0, usual=25)
    n_jobs = check_n_jobs(n_jobs)
    check_device(device)
    labeled = LabeledSet.of(X, y, features=features, not_features=[] if id_column is None else [id_column])
    training = Training.of(
        labeled,
        learner=learner,
        bootstrap_fraction=bootstrap_fraction,
        random_state=random_state,
        preprocess=preprocess,
    )
    return training.fit(n_models, n_jobs=n_jobs, device=device, progress=progress)


def check_strategy(strategy: Strategy, n_models: int, learner: Learner, *, probabilistic: bool) -> None:
    """Raise an error if a strategy needs what a committee does not have."""
    if strategy.needs == "members" and n_models == 0:
        raise InputError(
            f"Strategy {strategy.name!r} needs members, and n_models=0. Use n_models>=1; 25 is usual."
        )
    if strategy.probabilistic and not probabilistic:
        raise InputError(
            f"Strategy {strategy.name!r} needs class probabilities, and {learner.name} has only "
            "decision_function. Wrap it in CalibratedClassifierCV(..., ensemble=False)."
        )
