"""How good the base is by now: its accuracy on held-out rows, or by cross-validation of the labeled ones."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from minmargin.campaign.audit import Audit, known_audits, wilson
from minmargin.campaign.folder import CampaignFolder
from minmargin.campaign.journal import ClassTally, Measurement
from minmargin.campaign.settings import Settings
from minmargin.campaign.values import from_text, to_text
from minmargin.committee.training import Training
from minmargin.data.rows import take_rows
from minmargin.errors import DataWarning
from minmargin.execution import Execution
from minmargin.labeled import LabeledSet
from minmargin.strategies import resolve_strategy


class Tally(NamedTuple):
    """How many rows were right, how many were tried, the way it was found out, and the same for each class."""

    correct: int
    tested: int
    way: str
    classes: tuple[ClassTally, ...] = ()

    @classmethod
    def of(cls, guesses: Sequence[tuple[str, str]], way: str) -> Tally:
        """Return the tally of rows, each given as its label and the class that it was taken for.

        >>> Tally.of([("no", "no"), ("no", "no"), ("yes", "no")], "held-out")[:2]
        (2, 3)
        """
        tested = Counter(label for label, _ in guesses)
        correct = Counter(label for label, guess in guesses if label == guess)
        classes = tuple(ClassTally(name, correct[name], tested[name]) for name in sorted(tested))
        return cls(correct.total(), len(guesses), way, classes)


@dataclass(frozen=True)
class Examiner:
    """Trains the base on labeled rows and counts how often it is right.

    Attributes:
        settings: of the campaign.
        learner: what is trained.
        held_out: returns the held-out rows, where the settings say that there are any.
        execution: how the models are trained.
        classes: all that may occur; None: those of the rows.
    """

    settings: Settings
    learner: Any
    held_out: Callable[[], pa.Table]
    execution: Execution
    classes: Sequence[Any] | None = None

    def examine(self, table: pa.Table) -> Tally | None:
        """Return how often a base trained on these rows is right; None if nobody asked for it.

        Classes that are not among the rows count as errors. What the data has to be warned of is said when a round is
        picked, and not again for every fold.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)
            return self._examine(labeled_set(table, self.settings, self.classes))

    def _examine(self, labeled: LabeledSet) -> Tally | None:
        if self.settings.held_out:
            rows = self.held_out()
            labels = rows[self.settings.label_column].to_pylist()
            return Tally.of(self._guesses(labeled, rows, labels), "held-out")
        if self.settings.folds == 0:
            return None
        # Of the two largest classes each fold must leave rows to train on.
        n_folds = min(self.settings.folds, int(np.sort(labeled.counts)[-2]))
        if n_folds < 2:
            return Tally(0, 0, "too few labels")
        guesses: list[tuple[str, str]] = []
        for fold in _folds(labeled.codes, n_folds, self.settings.seed):
            rest = np.setdiff1d(np.arange(len(labeled.codes)), fold)
            rows = take_rows(labeled.rows, fold)
            guesses += self._guesses(_part(labeled, rest), rows, labeled.y[fold].tolist())
        return Tally.of(guesses, f"{n_folds}-fold")

    def _guesses(self, labeled: LabeledSet, rows: Any, labels: list[Any]) -> list[tuple[str, str]]:
        """Return for each row its label and what a base trained on a labeled set takes it for, as texts."""
        training = Training.of(
            labeled,
            learner=self.learner,
            bootstrap_fraction=1.0,  # the base is trained on all rows, however large a draw would be
            random_state=self.settings.seed,
            preprocess=self.settings.preprocess,
        )
        committee = training.fit(0, self.execution)
        # A batch of all rows has the base's prediction for each.
        matched = committee.match(rows)
        margin = resolve_strategy("margin")
        batch = committee.pick(matched, len(labels), margin, self.execution, distinct=False)
        kind = self.settings.label_kind
        pairs = zip(batch.predicted.tolist(), (labels[row] for row in batch.rows), strict=True)
        return [(str(to_text(label, kind)), str(to_text(guess, kind))) for guess, label in pairs]


def not_measured(files: CampaignFolder) -> list[int]:
    """Return after which additions of labels the model has still to be measured; none if nobody asked for it."""
    settings, journal = files.settings, files.journal
    if settings.given or not (settings.held_out or settings.folds):
        return []
    states = {made.addition for made in journal.rounds()} | {journal.last_addition()}
    return sorted(states - journal.measurements().keys())


def measure_missing(files: CampaignFolder, learner: Any, execution: Execution) -> None:
    """Measure what the model could do after each round, as far as that was not done; the folder must be locked."""
    journal, kind = files.journal, files.settings.label_kind
    classes = [from_text(name, kind) for name in journal.classes()]
    examiner = Examiner(files.settings, learner, files.held_out, execution, classes)
    for addition in not_measured(files):
        table = files.labeled(addition)
        tally = examiner.examine(table)
        if tally is not None:
            journal.add_measurement(Measurement(addition, len(table), *tally))


def interval(measured: Measurement) -> tuple[float, float]:
    """Return between which bounds the accuracy lies, at 95%, as far as so many rows can tell it (Wilson's interval)."""
    return wilson(measured.correct, measured.tested)


def how_measured(settings: Settings, *, n_rounds: int, audits: Sequence[Audit]) -> str:
    """Return how accuracy is measured, in words; without a learner, what is counted in its place.

    Cross-validation may err in either direction. Picked rows are hard ones, which lowers accuracy. But a rare class is
    more common among them, so that models name it more often, which raises its recall, and balanced accuracy with it.
    """
    if settings.given:
        return (
            "Agreement is the part of a round's labels that the models had predicted. Picked rows are the hard ones, "
            "so it is no accuracy, and tells nothing of ordinary rows."
        )
    if settings.held_out:
        return "Accuracy of the base on the held-out rows."
    audited = bool(known_audits(audits))
    if settings.folds == 0:
        alone = "measured by audits alone" if audited or settings.audit else "not measured"
        return f"Accuracy is {alone}: the campaign has neither held-out rows nor folds."
    # Rows of the beginning, and those that were picked by chance, may be such a sample. Nobody knows.
    sampled = settings.strategy == "random" or not n_rounds
    on_the_pool = (
        "If these are no sample of the pool, it may be higher or lower there"
        if sampled
        else "These are no sample of the pool, and it may be higher or lower there"
    )
    return (
        f"Accuracy of the base by {settings.folds}-fold cross-validation of the labeled rows. {on_the_pool}: "
        f"{_what_counts(settings, audited=audited)}."
    )


def _what_counts(settings: Settings, *, audited: bool) -> str:
    """Return what tells how good the model is on the pool itself."""
    if audited:
        return "what counts are the audits, by rows drawn by chance"
    if settings.audit:
        return "what counts are audits, once rows drawn by chance have labels"
    return "to know, hold rows out, or use --audit (for this campaign: minmargin campaign set DIR audit=50)"


def training_of(
    table: pa.Table, settings: Settings, learner: Any, classes: Sequence[Any] | None = None
) -> Training:
    """Return what a campaign's models are trained with on the labeled rows of a table, or say what is wrong with it."""
    return Training.of(
        labeled_set(table, settings, classes),
        learner=learner,
        bootstrap_fraction=settings.bootstrap_fraction,
        random_state=settings.seed,
        preprocess=settings.preprocess,
    )


def labeled_set(table: pa.Table, settings: Settings, classes: Sequence[Any] | None = None) -> LabeledSet:
    """Return the labeled set of a table, treated as if it had come from a file."""
    features = settings.features if isinstance(settings.features, str) else list(settings.features)
    labeled = LabeledSet.of(
        table, settings.label_column, classes=classes, features=features, reading=settings.read_as
    )
    return replace(labeled, from_files=True)


def _part(labeled: LabeledSet, index: NDArray[np.intp]) -> LabeledSet:
    """Return the labeled set of some rows; classes that none of them has are empty."""
    rows = take_rows(labeled.rows, index)
    return replace(labeled, rows=rows, y=labeled.y[index], codes=labeled.codes[index])


def _folds(codes: NDArray[np.intp], n_folds: int, seed: int) -> list[NDArray[np.intp]]:
    from sklearn.model_selection import StratifiedKFold  # noqa: PLC0415 - slow to import

    splitter = StratifiedKFold(n_folds, shuffle=True, random_state=seed % 2**32)
    with warnings.catch_warnings():  # of a class with fewer rows than folds: it is in some of them only
        warnings.simplefilter("ignore", UserWarning)
        return [fold for _, fold in splitter.split(codes[:, None], codes)]
