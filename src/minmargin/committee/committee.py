"""Committee: the base and K members, trained on a labeled set, ready to score any pool."""

from __future__ import annotations

import html
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minmargin.batch import Batch
from minmargin.checks import check_count, check_n_jobs
from minmargin.committee.provenance import Preprocess, Provenance
from minmargin.committee.training import Training
from minmargin.data.fingerprint import fingerprint_models
from minmargin.data.rows import Matrix
from minmargin.device import Device, check_device, check_precision, resolve_device
from minmargin.errors import DataWarning, InputError
from minmargin.labeled.labeled_set import LabeledSet
from minmargin.learners import Preprocessor, Scorer
from minmargin.manifest import Stopwatch, make_manifest
from minmargin.margins import ScoreName
from minmargin.pools.files import stamps_of
from minmargin.pools.source import Source, bind_pool, check_batch_size, too_large
from minmargin.progress import Progress, silent
from minmargin.scan.again import Origin
from minmargin.scan.checkpoint import Checkpoint
from minmargin.scan.engines import Engine, resolve_engine
from minmargin.scan.fragments import keep_in_fragments
from minmargin.scan.scan import ModelChoice, Scan
from minmargin.strategies import Context, RowScore, Strategy, check_strategy, resolve_strategy

CHUNK_SIZE = 131_072

# Multiplications for which starting a GPU, some seconds, is worth while.
_WORTH_A_GPU = 1 << 36


@dataclass(frozen=True, repr=False)
class Committee:
    """The base and the members. Make one with `fit_committee`, or get one back with `load_committee`.

    Attributes:
        classes_: (C,) the classes, sorted.
        provenance: what is kept of the training.
        scorer: the trained models.
        training: the labeled set, the learner and the draws that it was trained with; None if it was loaded.
    """

    classes_: NDArray[Any]
    provenance: Provenance
    _preprocessor: Preprocessor | None
    scorer: Scorer
    training: Training | None = None
    _stopwatch: Stopwatch = field(default_factory=Stopwatch)

    @classmethod
    def of(
        cls, training: Training, n_models: int, *, n_jobs: int, device: str, progress: Progress
    ) -> Committee:
        """Return the committee that a training gives."""
        trained = training.fit(n_models, n_jobs=n_jobs, device=device, progress=progress)
        parts = trained.provenance, trained.preprocessor, trained.scorer
        return cls(training.labeled.classes, *parts, training, trained.stopwatch)

    @property
    def n_models(self) -> int:
        """K: how many members there are besides the base."""
        return self.scorer.n_members

    def __repr__(self) -> str:
        classes = ", ".join(map(repr, self.classes_.tolist()[:5])) + (", …" if len(self.classes_) > 5 else "")
        return f"<Committee: {self.n_models} members, learner {self.provenance.learner}, classes {classes}>"

    def _repr_html_(self) -> str:
        labeled = self.provenance.labeled()
        counts = [(html.escape(name), f"{n:,}") for name, n in labeled["class_counts"].items()]
        body = "".join(f"<tr><td>{name}</td><td>{n}</td></tr>" for name, n in counts[:10])
        more = f"<p>and {len(counts) - 10:,} more classes</p>" if len(counts) > 10 else ""
        return (
            f"<p><b>Committee</b>: {self.n_models} members, learner {html.escape(self.provenance.learner)}, "
            f"{labeled['rows']:,} labeled rows, seed {self.provenance.seeds.root}</p>"
            f"<table><thead><tr><th>class</th><th>labeled rows</th></tr></thead><tbody>{body}</tbody></table>{more}"
        )

    def save(self, folder: str | Path) -> Path:
        """Write this committee into a folder, whole or not at all, and return the folder.

        Whatever committee is there is replaced. It holds the labeled rows as numbers, which some strategies need.
        """
        from minmargin.committee.storage.saving import save_committee  # noqa: PLC0415 - few committees are saved

        return save_committee(folder, self.classes_, self.provenance, self._preprocessor, self.scorer)

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

    def class_scores(
        self, pool: Any, *, of: ModelChoice = "base", n_jobs: int = -1, chunk_size: int = CHUNK_SIZE
    ) -> NDArray[np.float64]:
        """Return (n, C): the class scores of every pool row under the base, or their mean over the members.

        They are probabilities, unless the learner has none. `of` is "base" or "members".
        """
        how: dict[str, Any] = {"n_jobs": n_jobs, "chunk_size": chunk_size, "device": "cpu"}
        return self._scan(self.bind(pool), precision="float32", progress=silent, **how).class_scores(of)

    def select(
        self,
        pool: Any,
        batch_size: int,
        *,
        strategy: Any = "min-margin",
        features: str | Sequence[str] | None = None,
        id_column: str | None = None,
        keep: Sequence[str] = (),
        exclude: Any = None,
        n_jobs: int = -1,
        chunk_size: int = CHUNK_SIZE,
        device: str = "auto",
        precision: str = "float32",
        engine: Any = "local",
        address: str | None = None,
        checkpoint: str | Path | None = None,
        progress: Progress = silent,
    ) -> Batch:
        """Return the batch of pool rows to label next. The arguments are those of `minmargin.select`."""
        chosen = self._check_strategy(resolve_strategy(strategy))
        source = self.bind(pool, features=features, id_column=id_column, keep=keep, exclude=exclude)
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
            engine=resolve_engine(engine, address, n_jobs=n_jobs, needs_gpu=device == "cuda"),
            checkpoint=checkpoint,
            progress=progress,
        )

    def bind(
        self,
        pool: Any,
        *,
        features: str | Sequence[str] | None = None,
        id_column: str | None = None,
        keep: Sequence[str] = (),
        exclude: Any = None,
    ) -> Source:
        """Return the pool, opened, with its columns matched to the labeled set's."""
        return bind_pool(
            pool, self.provenance.intake, features=features, id_column=id_column, keep=keep, exclude=exclude
        )

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
        engine: Engine,
        checkpoint: str | Path | None,
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
            elsewhere=engine.elsewhere,
            progress=progress,
        )
        shortlists = strategy.shortlists(batch_size)
        with stopwatch.stage("scanning"):
            if checkpoint is not None:
                asked = self._asked(strategy, batch_size, scan)
                with Checkpoint(Path(checkpoint), asked).locked() as held:
                    kept = keep_in_fragments(scan, shortlists, engine, held)
            elif engine.elsewhere:
                kept = keep_in_fragments(scan, shortlists, engine, None)
            else:
                kept = scan.keep(shortlists)
        counts = kept.counts
        if counts.rows - counts.excluded < batch_size:
            raise too_large(batch_size, counts.rows, counts.excluded, source)
        with stopwatch.stage("finishing"):
            context = Context(batch_size, self.provenance.seeds, self._labeled_vectors, device)
            picks = strategy.finish(kept.shortlists, context)
        manifest = make_manifest(
            settings={**self._settings(strategy, batch_size, scan), "engine": engine.name},
            labeled=self.provenance.labeled(),
            pool={"rows": counts.rows, **source.pool.describe()},
            excluded=source.describe_exclusion(counts.excluded),
            n_rows_decided=counts.decided,
            stopwatch=stopwatch,
        )
        labeled = None if self.training is None else self.training.labeled
        return Batch.of(
            picks,
            self.classes_,
            id_column=id_column,
            manifest=manifest,
            integers=[
                column.name for column in source.pool.schema.columns or () if column.type_name == "Int64"
            ],
            origin=Origin(scan, strategy, engine, labeled, self._labeled_vectors),
        )

    def _settings(self, strategy: Strategy, batch_size: int, scan: Scan) -> dict[str, Any]:
        return {
            "strategy": strategy.name,
            "strategy_options": getattr(strategy, "options", {}),
            "batch_size": batch_size,
            "learner": self.provenance.learner,
            "n_models": self.n_models,
            "bootstrap_fraction": self.provenance.bootstrap_fraction,
            "seed": self.provenance.seeds.root,
            "preprocess": self.provenance.preprocess,
            "scoring_path": self.scorer.path,
            "device": scan.device,
            "precision": scan.precision,
            "n_jobs": scan.n_jobs,
            "chunk_size": scan.chunk_size,
        }

    def _asked(self, strategy: Strategy, batch_size: int, scan: Scan) -> dict[str, Any]:
        """Return everything that a batch depends on, for a checkpoint to compare."""
        exclusion = scan.source.exclusion
        by_the_way = {"n_jobs", "chunk_size", "device", "precision", "scoring_path"}
        settings = self._settings(strategy, batch_size, scan)
        return {
            **{name: value for name, value in settings.items() if name not in by_the_way},
            "labels": self.provenance.labeled(),
            "committee": fingerprint_models(self.scorer),
            "columns": [list(scan.source.features or ()), list(scan.source.carried)],
            "pool files": stamps_of(scan.source.pool),
            "pool": scan.source.pool.describe(),
            "pool rows": scan.source.pool.n_rows,
            **({} if exclusion is None else {"excluded": exclusion.fingerprint()}),
        }

    def _scan(
        self,
        source: Source,
        *,
        n_jobs: int,
        chunk_size: int,
        device: str,
        precision: str,
        progress: Progress,
        elsewhere: bool = False,
    ) -> Scan:
        return Scan(
            source,
            self.provenance.intake,
            self._preprocessor,
            self.scorer,
            self.provenance.seeds,
            len(self.classes_),
            check_n_jobs(n_jobs),
            check_count("chunk_size", chunk_size, least=1),
            self._device(source, device, elsewhere=elsewhere),
            check_precision(precision),
            progress,
        )

    def _device(self, source: Source, device: str, *, elsewhere: bool = False) -> Device:
        """Return where rows are looked at before the closest are scored exactly.

        Of a GPU elsewhere nothing is known here: it is used if it was asked for.
        """
        n_rows, of_row = source.pool.n_rows, self.scorer.multiplications
        possible = of_row > 0 and not self.provenance.sparse
        small = n_rows is not None and n_rows * of_row < _WORTH_A_GPU
        if device == "auto" and (small or elsewhere or not possible):
            return "cpu"
        on: Device = "cuda" if elsewhere and device == "cuda" else resolve_device(device)
        if on == "cuda" and of_row and not possible:
            warnings.warn(
                "device='cuda' does not speed up this scan: sparse rows are looked at on the CPU.",
                DataWarning,
                stacklevel=5,
            )
        return on if possible else "cpu"

    def _labeled_vectors(self) -> Matrix:
        return self.provenance.vectors()

    def _check_strategy(self, strategy: Strategy) -> Strategy:
        check_strategy(
            strategy, self.n_models, self.provenance.learner, probabilistic=self.scorer.probabilistic
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
    return Committee.of(training, n_models, n_jobs=n_jobs, device=device, progress=progress)
