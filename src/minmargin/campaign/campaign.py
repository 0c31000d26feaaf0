"""Campaign: pick a batch, add its labels, look at the curve, and again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Unpack

import pyarrow as pa

from minmargin.batch import Batch
from minmargin.campaign.beginning import (
    LabeledRows,
    checked_beginning,
    checked_given_beginning,
    folder_of_learner,
    labeled_part,
    nothing_to_train_on,
    refuse_training,
    refuse_used,
    strategy_name,
    whether_distinct,
    without_unlabeled,
)
from minmargin.campaign.changes import make_changes, take_in_edits
from minmargin.campaign.folder import CampaignFolder
from minmargin.campaign.given import Told, pick_by_told
from minmargin.campaign.hints import next_flags
from minmargin.campaign.journal import Journal
from minmargin.campaign.labels import Added, Known, check_labels, read_for
from minmargin.campaign.learner import find_learner, learner_of, need_learner
from minmargin.campaign.measuring import measure_missing, not_measured
from minmargin.campaign.rounds import Picker, next_round, train_and_pick
from minmargin.campaign.settings import GIVEN, Settings, as_names, pool_paths
from minmargin.campaign.shown import show_html, show_text, status_in
from minmargin.campaign.sizes import size_by_now, size_of_rounds
from minmargin.campaign.status import Status
from minmargin.campaign.values import from_text
from minmargin.checks import check_count, check_names, without_numpy
from minmargin.data.reading import Reading, as_reading
from minmargin.errors import InputError, MinMarginError, warn
from minmargin.execution import Execution, ExecutionOptions
from minmargin.files import LockError
from minmargin.inspection import Inspection
from minmargin.learners.given import Values
from minmargin.learners.reference import is_reference
from minmargin.scan.engines import resolve_execution
from minmargin.seeds import SeedTree
from minmargin.selection.scored_rows import ColumnNames
from minmargin.typing import DeviceLike, LearnerLike, Preprocess, Seed, StrategyName


@dataclass(frozen=True, repr=False)
class Campaign:
    """Labeling in rounds. Begin one with `Campaign.init`, or take one up with `Campaign.open`.

    Attributes:
        folder: where everything is kept.
    """

    folder: Path
    _learner: Any = None

    @classmethod
    def init(
        cls,
        folder: str | Path,
        *,
        pool: Any,
        batch_size: int | str,
        labeled: Any = None,
        label_column: str | None = None,
        id_column: str | None = None,
        features: str | Sequence[str] | None = None,
        keep: Sequence[str] = (),
        classes: Sequence[Any] = (),
        strategy: StrategyName = "min-margin",
        strategy_options: dict[str, Any] | None = None,
        distinct: bool | None = None,
        learner: LearnerLike | str = "logistic",
        learner_options: dict[str, Any] | None = None,
        n_models: int = 25,
        bootstrap_fraction: float = 1.0,
        preprocess: Preprocess = "none",
        reading: Reading | None = None,
        held_out: Any = None,
        folds: int = 5,
        audit: int = 0,
        stop_hints: bool = False,
        random_state: Seed = None,
        inspected: Callable[[Inspection], None] | None = None,
    ) -> Campaign:
        """Return a new campaign, in a folder of its own.

        Args:
            folder: a new or empty folder.
            pool: a path, glob or list of files, read in every round. None: the labeled files' rows without a label.
            batch_size: how many rows a round picks; or a share of the pool as it is now, such as "5%".
            labeled: the rows that are labeled already: a frame or a path to files. They are copied into the folder.
                With learner="given" there need not be any.
            label_column: their column of labels; without any, what it will be called, "label" if nothing is said.
            id_column: the pool's column that identifies a row; without one, rows are known by their number, and the
                pool's files must stay as they are. Labeled and held-out rows with an id of the pool are never picked.
            features: the feature columns, as for `minmargin.select`.
            keep: further pool columns to carry into the batch files.
            classes: those that may come up besides the known ones; with learner="given" all, in the models' order.
            strategy: a name from `minmargin.strategies()`.
            strategy_options: its own settings, such as {"prefilter": 10_000}.
            distinct: whether copies of rows that a round picks are passed over, as for `minmargin.select`.
            learner: as for `minmargin.select`, or "package.module:factory", whose folder is kept too, or "given", where
                rounds take probabilities of models elsewhere. An object cannot be kept: give it again to `open`.
            learner_options: settings of a learner that has a name, such as {"class_weight": "balanced"}.
            n_models: K, how many members are trained in every round.
            bootstrap_fraction: beta, the size of a draw.
            preprocess: "auto" imputes and standardizes numbers, and one-hot encodes texts.
            reading: how columns are read, as for `minmargin.select`.
            held_out: labeled rows to measure accuracy on, a frame or a path; they are copied.
            folds: without held-out rows, accuracy is cross-validated with so many folds; 0: it is not measured.
            audit: how many rows each round draws by chance besides its picks, to measure its model on the pool by.
            stop_hints: whether the status says when more labels hardly pay.
            random_state: the seed from which every round has its own.
            inspected: called with what was read of both tables; not with learner="given", which reads none.
        """
        folder = Path(folder)
        refuse_used(folder)
        named = learner if isinstance(learner, str) else None
        reading = as_reading(reading)
        first = LabeledRows.read(labeled, "The labeled set", reading, label_column)
        rows = None if first is None else first.rows
        if pool is None:
            pool, first = labeled, labeled_part(rows, labeled, label_column, id_column, classes)
        elif first is not None and label_column is not None:
            first = without_unlabeled(first, label_column, id_column, classes)
        if named == GIVEN:
            refuse_training(
                features=(features, None),
                n_models=(n_models, 25),
                learner_options=(learner_options or None, None),
                bootstrap_fraction=(bootstrap_fraction, 1.0),
                preprocess=(preprocess, "none"),
                held_out=(held_out, None),
                folds=(folds, 5),
            )
            features, label_column = (), "label" if label_column is None else label_column
        elif rows is None or label_column is None:
            raise nothing_to_train_on()
        elif features is None:
            others = {label_column, id_column, *reading.drop}
            features = [name for name in rows.column_names if name not in others]
        trained = None if named == GIVEN else learner_of(learner, learner_options)
        settings = Settings(
            pool=pool_paths(pool, folder),
            label_column=label_column,
            label_kind="text",
            id_column=id_column,
            id_kind="text",
            features=features if isinstance(features, str) else tuple(features or ()),
            keep=tuple(check_names("keep", keep)),
            batch_size=size_of_rounds(batch_size, pool, first),
            strategy=strategy_name(strategy),
            strategy_options={name: without_numpy(value) for name, value in (strategy_options or {}).items()},
            learner=named,
            learner_options=learner_options or None,
            n_models=check_count("n_models", n_models, least=0, usual=25),
            bootstrap_fraction=without_numpy(bootstrap_fraction),
            preprocess=preprocess,
            seed=SeedTree.plant(random_state).root,
            held_out=False,
            folds=check_count("folds", folds, least=0, usual=5),
            learner_folder=folder_of_learner(named, folder),
            audit=check_count("audit", audit, least=0),
            stop_hints=stop_hints,
            distinct=distinct if named == GIVEN else whether_distinct(distinct, strategy, strategy_options),
            reading=reading.only(as_names(features or ())).describe() or None,
        )
        if id_column is not None and id_column in settings.feature_names:
            raise InputError(f"features names the id column {id_column!r}. Leave it out.")
        if first is None or named == GIVEN:
            beginning = checked_given_beginning(settings, folder, first, classes)
        else:
            beginning = checked_beginning(
                settings,
                folder,
                first,
                held_out=LabeledRows.read(held_out, "The held-out set", reading, label_column),
                classes=classes,
                learner=trained,
                inspected=inspected,
            )
        beginning.settings.check()
        beginning.write(folder)
        return cls(folder, learner if named is None or is_reference(named) else None)

    @classmethod
    def open(cls, folder: str | Path, *, learner: LearnerLike | str | None = None) -> Campaign:
        """Return the campaign in a folder; `learner` is the object or package.module:factory that it began with."""
        campaign = cls(Path(folder), learner)
        if learner is not None and campaign.settings.given:
            raise InputError(
                f"Campaign {str(folder)!r} trains no models, and has no use for learner. Leave it out."
            )
        take_in_edits(campaign._files, campaign._files.locked)
        return campaign

    def next(
        self,
        batch_size: int | str | None = None,
        *,
        probabilities: Any = None,
        columns: ColumnNames | None = None,
        values: Values = "probabilities",
        base: Any = None,
        features: Any = None,
        labeled_features: Any = None,
        classes: Sequence[Any] | None = None,
        unlabeled_ok: bool = False,
        requeue: bool = False,
        csv: bool = False,
        on_batch: Callable[[Batch], object] | None = None,
        **execution: Unpack[ExecutionOptions],
    ) -> Batch:
        """Return the batch of the next round, which is also written to the folder `batches`.

        The committee is trained on all labels so far. A row that was labeled or picked before is not picked.

        Args:
            batch_size: how many rows to pick, or what share of the pool, if it is not the campaign's usual number.
            probabilities: with learner="given", what your models say by now: a frame or files with the pool's id
                column, where rows that are labeled or being labeled may be left out, or arrays in the pool's order.
            columns: where they are; this and what follows as for `minmargin.select_from_probabilities`.
            values: what the numbers are.
            base: those of the model that was trained on all labels.
            features: embeddings of the rows.
            labeled_features: those of the labeled rows.
            classes: in the order of the columns, where neither their names nor the campaign tells it.
            unlabeled_ok: go on although rows of the last round have no label; they are not offered again.
            requeue: put all rows that were picked and not labeled back into the pool first.
            csv: write the batch as a CSV file too.
            on_batch: called with the batch before its round counts, such as to write a report; an error ends the round.
            execution: `n_jobs`, `chunk_size`, `device`, `precision`, `engine`, `address`, `checkpoint` and `progress`,
                as for `minmargin.select`.
        """
        if batch_size is not None:
            batch_size = size_by_now(batch_size, self._files)
        told = Told(probabilities, columns, values, base, features, labeled_features, classes)
        told.check(self.settings, self.folder)
        with self._locked():
            size = self.settings.batch_size if batch_size is None else batch_size
            if self.settings.given:
                pick: Picker = partial(pick_by_told, self._files, told=told, batch_size=size, **execution)
            else:
                learner = need_learner(self.settings, self.folder, self._learner)
                pick = partial(train_and_pick, self._files, learner=learner, batch_size=size, **execution)
            return next_round(
                self._files, pick, unlabeled_ok=unlabeled_ok, requeue=requeue, csv=csv, on_batch=on_batch
            )

    def add_labels(
        self,
        labels: Any,
        *,
        id_column: str | None = None,
        label_column: str | None = None,
        replace: bool = False,
        new_classes: bool = False,
        source: str | None = None,
        n_jobs: int | None = -1,
        device: DeviceLike = "auto",
    ) -> Added:
        """Add labels of picked rows, all of them or none, and return how many were new, known, changed and empty.

        The same labels may be added again. Afterwards the base's accuracy is measured, where models are trained.

        Args:
            labels: a Parquet, CSV, JSONL or Feather file, a frame, or a mapping of ids to labels.
            id_column: the column of ids; by default the campaign's, or "id", or "row" if rows have no ids.
            label_column: the column of labels; by default the campaign's, or "label".
            replace: change labels that differ from those added before.
            new_classes: let classes come up that the campaign does not know.
            source: what errors and the journal call the labels; by default the name of the file.
            n_jobs: threads.
            device: where models are trained.
        """
        columns = {"id_column": id_column, "label_column": label_column}
        returned = read_for(self.settings, labels, **columns, name=source)
        with self._locked():
            known = Known.of(self._journal, self.settings)
            checked = check_labels(returned, known, replace=replace, new_classes=new_classes)
            if checked.labels:
                self._journal.add_labels(checked.labels, source=returned.source, classes=checked.classes)
            self._files.write_labeled()
            self._measure(resolve_execution(n_jobs=n_jobs, device=device))
        return checked.added

    def set(self, **changes: Any) -> tuple[str, ...]:
        """Change settings from the next round on, all of them or none, and return what each change means.

        Those that may be changed are `batch_size`, `strategy`, `strategy_options`, `distinct`, `keep`, `n_models`,
        `bootstrap_fraction`, `folds`, `audit` and `stop_hints`. They are checked as by `init`.
        """
        with self._files.locked():
            return make_changes(self.folder, changes, self._learner)

    def status(self, *, n_jobs: int | None = -1, device: DeviceLike = "auto") -> Status:
        """Return how far the campaign has come, round by round, and its learning curve.

        Accuracy that was not measured yet is measured now, unless another process is at work in the campaign.
        """
        with suppress(LockError), self._locked():
            self._measure(resolve_execution(n_jobs=n_jobs, device=device))
        return status_in(self._files)

    def report(self, path: str | Path) -> Path:
        """Write an HTML page on the campaign: the learning curve, the rounds, the classes, and how to go on."""
        from minmargin.campaign.page import write_page  # noqa: PLC0415 - draws with extras

        return write_page(path, self.status(), self.settings, self._journal.changes())

    def batch(self, number: int | None = None) -> pa.Table:
        """Return the batch of a round, by default the last, as an Arrow table; its file is at `batch_path`."""
        return self._files.batch(number)

    def batch_path(self, number: int | None = None) -> Path:
        """Return where the batch of a round is, by default of the last."""
        return self._files.batch_path(self._files.round(number).number)

    def labeled(self) -> pa.Table:
        """Return all labeled rows, those of the beginning and those that rounds picked, as an Arrow table."""
        return self._files.labeled()

    @property
    def settings(self) -> Settings:
        """What it was set up with, as it is by now: another process may have changed it between rounds."""
        return Settings.read(self.folder)

    @property
    def n_rounds(self) -> int:
        """How many rounds there were."""
        return len(self._journal.rounds())

    @property
    def classes(self) -> list[Any]:
        """The classes that are known so far."""
        return [from_text(name, self.settings.label_kind) for name in self._journal.classes()]

    @property
    def has_project(self) -> bool:
        """Whether a round was pushed to a labeling tool before."""
        return self._files.has_project

    @property
    def next_flags(self) -> tuple[str, ...]:
        """What `minmargin campaign next` takes besides the folder; with learner="given" as the last round took it."""
        return next_flags(self.settings, self._journal)

    @property
    def empty_classes(self) -> list[Any]:
        """The classes that no labeled row has yet: only held-out rows have them, or they were named."""
        given = set(self.labeled()[self.settings.label_column].to_pylist())
        return [each for each in self.classes if each not in given]

    @property
    def waiting(self) -> list[Any]:
        """The ids of the last round's rows that have no label yet."""
        picks, labels = self._journal.picks(self.n_rounds), self._journal.labels()
        return [from_text(each, self.settings.id_kind) for each in picks if each not in labels]

    def __repr__(self) -> str:
        return show_text(self._files)

    def _repr_html_(self) -> str:
        return show_html(self._files)

    @property
    def _files(self) -> CampaignFolder:
        return CampaignFolder(self.folder, self.settings)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Keep other processes out; no round goes by settings that were not written down."""
        with self._files.locked():
            take_in_edits(self._files, nullcontext)
            yield

    @property
    def _journal(self) -> Journal:
        return self._files.journal

    def _measure(self, execution: Execution) -> None:
        """Measure what the model could do after each round, as far as that was not done; a failure only warns."""
        try:
            if not_measured(self._files):
                learner = find_learner(self.settings, self.folder, self._learner)
                if learner is not None:  # else only the one who began the campaign has it
                    measure_missing(self._files, learner, execution)
        except MinMarginError as error:  # all else is safe, and the next call tries again
            warn(f"Accuracy was not measured: {error}")
