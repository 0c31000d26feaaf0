"""Committee: the base and K members, trained on a labeled set, ready to score any pool."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from numpy.typing import NDArray

from minmargin.batch import Batch
from minmargin.batch.excluded import resolve_excluded
from minmargin.committee.provenance import Provenance
from minmargin.committee.shown import show, show_as_html
from minmargin.committee.ties import warn_of_ties
from minmargin.device import Device, resolve_device
from minmargin.errors import InputError, warn
from minmargin.execution import CHUNK_SIZE, Execution, ExecutionOptions, ScanOptions
from minmargin.learners import Preprocessor, Scorer
from minmargin.learners.linear import LinearScorer
from minmargin.learners.networks.module_scorer import ModuleScorer
from minmargin.learners.penalty import Choice
from minmargin.manifest import Stopwatch, fingerprint_models, make_manifest
from minmargin.margins import among_all
from minmargin.pools import MatchedPool, check_batch_size, match_pool, too_few_distinct, too_large
from minmargin.pools.files import stamps_of
from minmargin.scan.checkpoint import Checkpoint
from minmargin.scan.engines import resolve_execution
from minmargin.scan.found import Shortlisted
from minmargin.scan.models import Models
from minmargin.scan.rereading import Origin
from minmargin.scan.scan import ModelChoice, Scan
from minmargin.strategies import (
    Context,
    RowScore,
    Shortlist,
    Strategy,
    check_has_name,
    check_strategy,
    distinct_rows,
    resolve_strategy,
)
from minmargin.typing import PoolLike, Seed, StrategyLike

if TYPE_CHECKING:
    from minmargin.committee.training import Training

# Multiplications for which starting a GPU, some seconds, is worth while.
_WORTH_A_GPU = 1 << 36


@dataclass(frozen=True, repr=False)
class Committee:
    """The base and the members. Make one with `fit_committee` or `from_models`; `load_committee` gets one back.

    Attributes:
        classes_: (C,) the classes, sorted; also those that nobody has labeled yet.
        provenance: what is kept of the training.
        preprocessor: what makes numbers of rows before the models see them; None if nothing does.
        scorer: the trained models.
        training: the labeled set, the learner and the draws that it was trained with; None if it was loaded.
        scored: the places in `classes_` of those that the models score; None: all of them.
    """

    classes_: NDArray[Any]
    provenance: Provenance
    preprocessor: Preprocessor | None
    scorer: Scorer
    training: Training | None = None
    _stopwatch: Stopwatch = field(default_factory=Stopwatch)
    scored: NDArray[np.intp] | None = None

    @classmethod
    def from_models(
        cls,
        models: Sequence[Any],
        *,
        base: Any = None,
        classes: Sequence[Any] | None = None,
        random_state: Seed = None,
    ) -> Committee:
        """Return a committee of models that are trained already; nothing is trained.

        Args:
            models: the members: anything with `predict_proba` or `decision_function`, as in scikit-learn.
            base: the model that was trained on the whole labeled set. Without one, the members' mean stands for it; one
                model alone is base and member.
            classes: all classes that may occur. By default those of the models, which must agree. Models without
                `classes_` give their probabilities in this order.
            random_state: the seed by which ties are broken.
        """
        from minmargin.committee.foreign import committee_of  # noqa: PLC0415 - imports scikit-learn

        return committee_of(models, base=base, classes=classes, random_state=random_state)

    @property
    def n_models(self) -> int:
        """K: how many members there are besides the base."""
        return self.scorer.n_members

    @property
    def choice(self) -> Choice | None:
        """The inverse strength C of the penalty that C="auto" chose, and from what; None if it chose nothing."""
        return self.scorer.choice if isinstance(self.scorer, LinearScorer) else None

    @property
    def stopping(self) -> dict[str, Any] | None:
        """The epochs that modules with `patience` ran, and the best of each; None without it."""
        return self.scorer.stopping if isinstance(self.scorer, ModuleScorer) else None

    @property
    def scored_classes(self) -> NDArray[Any]:
        """The classes that the models score, sorted."""
        return self.classes_ if self.scored is None else self.classes_[self.scored]

    def __repr__(self) -> str:
        return show(self.n_models, self.classes_, self.provenance, self.choice)

    def _repr_html_(self) -> str:
        return show_as_html(self.n_models, self.classes_, self.provenance, self.choice)

    def save(self, folder: str | Path) -> Path:
        """Write this committee into a folder, whole or not at all, and return the folder.

        Whatever committee is there is replaced. It holds the labeled rows as numbers, which some strategies need.
        """
        from minmargin.committee.storage.saving import save_committee  # noqa: PLC0415 - few committees are saved

        return save_committee(
            folder, self.classes_, self.scored, self.provenance, self.preprocessor, self.scorer
        )

    def score(
        self,
        pool: PoolLike,
        *,
        strategy: StrategyLike = "min-margin",
        features: str | Sequence[str] | None = None,
        fast: bool = False,
        **execution: Unpack[ScanOptions],
    ) -> NDArray[np.float64]:
        """Return one float per pool row, in pool order; lower is picked first.

        Exact scores are the same to the bit on every machine. With `fast`, a committee of linear models or of "mlp"
        networks computes them in float32, many times faster and to about six digits, but for rows for which that is
        too rough; `device` and `precision` are for that only. For any other, or for a strategy of your own, they are
        exact. The other arguments, `n_jobs`, `chunk_size` and `progress` among them, are those of `select`.
        """
        by = self._check_strategy(resolve_strategy(strategy))
        if not isinstance(by, RowScore):
            raise InputError(
                f"Strategy {by.name!r} has no score of a row by itself: each pick depends on the others. "
                "Use select, or a strategy that is a row score."
            )
        how = resolve_execution(**execution)
        scan = self._scan(self.match(pool, features=features), how, device=None if fast else "cpu")
        screen = scan.screen(by.screen) if fast and by.screen is not None else None
        return scan.scores(by) if screen is None else scan.rough_scores(by, screen)

    def class_scores(
        self,
        pool: PoolLike,
        *,
        of: ModelChoice = "base",
        features: str | Sequence[str] | None = None,
        n_jobs: int | None = -1,
        chunk_size: int = CHUNK_SIZE,
    ) -> NDArray[np.float64]:
        """Return (n, C): the class scores of every pool row under the base, or their mean over the members.

        A class that the models do not score has 0, or 1 less than the row's lowest where there are no probabilities.
        They are probabilities, unless the learner has none. `of` is "base" or "members". The other arguments are those
        of `minmargin.select`.
        """
        if of not in {"base", "members"}:
            raise InputError(f"of={of!r} must be 'base' or 'members'.")
        if of == "members" and self.n_models == 0:
            raise InputError("of='members', and this committee has no members. Use of='base'.")
        if of == "base" and not self.provenance.has_base:
            raise InputError("of='base', and this committee has no base. Use of='members', their mean.")
        how = resolve_execution(n_jobs=n_jobs, chunk_size=chunk_size)
        scores = self._scan(self.match(pool, features=features), how, device="cpu").class_scores(of)
        if self.scored is None:
            return scores
        return among_all(scores, self.scored, len(self.classes_), probabilistic=self.scorer.probabilistic)

    def predict(
        self,
        pool: PoolLike,
        *,
        of: ModelChoice = "base",
        features: str | Sequence[str] | None = None,
        n_jobs: int | None = -1,
        chunk_size: int = CHUNK_SIZE,
    ) -> NDArray[Any]:
        """Return (n,) the class with the highest score of every pool row; the arguments are those of `class_scores`.

        >>> import minmargin as mm
        >>> committee = mm.fit_committee([[0.0], [1.0]], ["low", "high"], random_state=0)
        >>> committee.predict([[0.1], [0.9]]).tolist()
        ['low', 'high']
        """
        scores = self.class_scores(pool, of=of, features=features, n_jobs=n_jobs, chunk_size=chunk_size)
        return np.asarray(self.classes_[scores.argmax(axis=1)])

    def predict_proba(
        self,
        pool: PoolLike,
        *,
        of: ModelChoice = "base",
        features: str | Sequence[str] | None = None,
        n_jobs: int | None = -1,
        chunk_size: int = CHUNK_SIZE,
    ) -> NDArray[np.float64]:
        """Return (n, C) the probabilities of every pool row, in the order of `classes_`.

        It is `class_scores`, but that a learner without probabilities is refused.
        """
        if not self.scorer.probabilistic:
            raise InputError(
                f"{self.provenance.learner} has only decision_function, and no probabilities. Use class_scores for its "
                "values, or wrap it in CalibratedClassifierCV(..., ensemble=False)."
            )
        return self.class_scores(pool, of=of, features=features, n_jobs=n_jobs, chunk_size=chunk_size)

    def select(
        self,
        pool: PoolLike,
        batch_size: int | str,
        *,
        strategy: StrategyLike = "min-margin",
        features: str | Sequence[str] | None = None,
        id_column: str | None = None,
        keep: Sequence[str] = (),
        exclude: Any = None,
        distinct: bool | None = None,
        **execution: Unpack[ExecutionOptions],
    ) -> Batch:
        """Return the batch of pool rows to label next.

        The arguments, `n_jobs`, `chunk_size`, `device`, `precision`, `engine`, `address`, `checkpoint` and `progress`
        among them, are those of `minmargin.select`.
        """
        chosen = self._check_strategy(resolve_strategy(strategy))
        how = resolve_execution(**execution)
        matched = self.match(pool, features=features, id_column=id_column, keep=keep, exclude=exclude)
        size = check_batch_size(batch_size, matched)
        distinct = distinct_rows(distinct, chosen)
        return self.pick(matched, size, chosen, how, distinct=distinct, id_column=id_column)

    def match(
        self,
        pool: PoolLike,
        *,
        features: str | Sequence[str] | None = None,
        id_column: str | None = None,
        keep: Sequence[str] = (),
        exclude: Any = None,
    ) -> MatchedPool:
        """Return the pool, opened, with its columns matched to the labeled set's."""
        intake, out = self.provenance.intake, resolve_excluded(exclude, id_column)
        return match_pool(pool, intake, features=features, id_column=id_column, keep=keep, exclude=out)

    def pick(
        self,
        matched: MatchedPool,
        batch_size: int,
        strategy: Strategy,
        execution: Execution,
        *,
        distinct: bool,
        id_column: str | None = None,
    ) -> Batch:
        """Return the batch from a pool that was matched and checked."""
        stopwatch = Stopwatch(dict(self._stopwatch.seconds))
        scan = self._scan(matched, execution)
        asked = strategy.shortlists(batch_size)
        shortlists = [each.for_batch(distinct=distinct) for each in asked]
        settings = self._settings(strategy, batch_size, scan, distinct=distinct)
        with stopwatch.stage("scanning"):
            found = self._shortlist(scan, shortlists, settings)
        counts = found.counts
        matched.warn_of_absent(counts.excluded, read_here=execution.reads_here)
        if counts.rows - counts.excluded < batch_size:
            raise too_large(batch_size, counts.rows, counts.excluded, matched)
        for each, kept in zip(asked, found.shortlists, strict=True):
            n_kept, always = len(kept.rows), each.distinct
            # A list of distinct rows that is not full has all that there are.
            full = each.size is not None and n_kept >= each.size
            if (distinct or always) and not each.copies and n_kept < batch_size and not full:
                raise too_few_distinct(
                    batch_size, n_kept, counts.rows, counts.excluded, matched, always=always
                )
        with stopwatch.stage("finishing"):
            context = Context(
                batch_size, self.provenance.seeds, self.provenance.vectors, execution.device, execution.n_jobs
            )
            picks = strategy.finish(found.shortlists, context)
        warn_of_ties(picks.scores[:batch_size], strategy.name, self.provenance.learner)
        columns = matched.pool.schema.columns or ()
        labeled = None if self.training is None else self.training.labeled
        return Batch.of(
            picks,
            self.scored_classes,
            id_column=id_column,
            manifest=make_manifest(
                settings=settings,
                classes=self.classes_,
                labeled=self.provenance.labeled(),
                pool={"rows": counts.rows, **matched.pool.describe()},
                excluded=matched.describe_exclusion(counts.excluded),
                n_copies=counts.copies if any(each.distinct for each in shortlists) else None,
                n_rows_decided=counts.decided,
                stopwatch=stopwatch,
            ),
            integers=[column.name for column in columns if column.type_name == "Int64"],
            origin=Origin(scan, strategy, self.scored_classes, labeled, self.provenance.vectors),
        )

    def _shortlist(self, scan: Scan, lists: Sequence[Shortlist], settings: dict[str, Any]) -> Shortlisted:
        if (folder := scan.execution.checkpoint) is None:
            return scan.shortlist(lists)
        check_has_name(settings["strategy"], "checkpoint=")
        with Checkpoint(folder, self._asked(scan, settings)).locked() as checkpoint:
            return scan.shortlist(lists, checkpoint=checkpoint)

    def _settings(self, strategy: Strategy, batch_size: int, scan: Scan, *, distinct: bool) -> dict[str, Any]:
        execution, names = scan.execution, self.provenance.member_names
        return {
            "strategy": strategy.name,
            "strategy_options": dict(strategy.options),
            "batch_size": batch_size,
            "distinct": distinct,
            "learner": self.provenance.learner,
            **({} if self.choice is None else {"choice": self.choice.describe()}),
            **({} if self.stopping is None else {"stopping": self.stopping}),
            "n_models": self.n_models,
            **({} if names is None else {"member_names": list(names)}),
            "bootstrap_fraction": self.provenance.bootstrap_fraction,
            "seed": self.provenance.seeds.root,
            "preprocess": self.provenance.preprocess,
            "scoring_path": self.scorer.path,
            "device": scan.device,
            "precision": execution.precision,
            "n_jobs": execution.n_jobs,
            "chunk_size": execution.chunk_size,
            "engine": "local" if execution.engine is None else execution.engine.name,
        }

    def _asked(self, scan: Scan, settings: dict[str, Any]) -> dict[str, Any]:
        """Return everything that a batch depends on, for a checkpoint to compare."""
        matched = scan.matched
        by_the_way = {"n_jobs", "chunk_size", "device", "precision", "scoring_path", "engine"}
        return {
            **{name: value for name, value in settings.items() if name not in by_the_way},
            "labels": self.provenance.labeled(),
            "committee": fingerprint_models(self.scorer) or self.provenance.identity(),
            "columns": [list(matched.features or ()), list(matched.carried)],
            "pool files": stamps_of(matched.pool),
            "pool": matched.pool.describe(),
            "pool rows": matched.pool.n_rows,
            **({} if matched.exclusion is None else {"excluded": matched.exclusion.fingerprint()}),
        }

    def _scan(self, matched: MatchedPool, execution: Execution, *, device: Device | None = None) -> Scan:
        """Return how these models read a pool, on a device, or on the one that is best for it."""
        provenance = self.provenance
        models = Models(
            self.scorer,
            provenance.intake,
            self.preprocessor,
            len(self.scored_classes),
            provenance.seeds,
            provenance.has_base,
        )
        return Scan(matched, models, execution, device or self._device(matched, execution))

    def _device(self, matched: MatchedPool, execution: Execution) -> Device:
        """Return where rows are looked at before the closest are scored exactly.

        Of a GPU elsewhere nothing is known here: it is used if it was asked for.
        """
        device, elsewhere = execution.device, execution.elsewhere
        n_rows, of_row = matched.pool.n_rows, self.scorer.multiplications
        possible = of_row > 0 and not self.provenance.sparse
        small = n_rows is not None and n_rows * of_row < _WORTH_A_GPU
        if device == "auto" and (small or elsewhere or not possible):
            return "cpu"
        on: Device = "cuda" if elsewhere and device == "cuda" else resolve_device(device)
        if on == "cuda" and of_row and not possible:
            warn("device='cuda' does not speed up this scan: sparse rows are looked at on the CPU.")
        return on if possible else "cpu"

    def _check_strategy(self, strategy: Strategy) -> Strategy:
        check_strategy(
            strategy, self.n_models, self.provenance.learner, probabilistic=self.scorer.probabilistic
        )
        return strategy
