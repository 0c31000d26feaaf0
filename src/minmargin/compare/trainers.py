"""Trainers: what retrains models, many at a time where it can, each on its own rows, and scores them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from minmargin.committee.training import Training
from minmargin.compare.deals import Deal, RowNumbers
from minmargin.compare.scoring import Accuracy, Answers, Kind, Scoring, rate
from minmargin.data.rows import Rows, take_rows
from minmargin.device import DeviceChoice
from minmargin.execution import Execution, one_thread_each
from minmargin.learners import Preprocess
from minmargin.learners.logistic import LogisticLearner
from minmargin.learners.newton.training import fit_together


class Trainer(Protocol):
    """What turns rows into models, alone for a committee, and many at a time for retraining."""

    @property
    def learner(self) -> Any:
        """What a committee is trained with."""
        ...

    @property
    def preprocess(self) -> Preprocess:
        """What is done to rows before a committee sees them."""
        ...

    def scores(
        self,
        deals: Sequence[Deal],
        row_sets: Sequence[Sequence[RowNumbers]],
        scorings: Sequence[Scoring],
        *,
        device: DeviceChoice,
    ) -> list[NDArray[np.float64]]:
        """Return for each deal (sets, scorings) the test scores of models trained on each of its sets of rows."""
        ...


@dataclass(frozen=True)
class AnyTrainer:
    """Any learner, trained one by one, as `select` trains its base."""

    learner: Any
    preprocess: Preprocess = "none"

    def scores(
        self,
        deals: Sequence[Deal],
        row_sets: Sequence[Sequence[RowNumbers]],
        scorings: Sequence[Scoring],
        *,
        device: DeviceChoice,
    ) -> list[NDArray[np.float64]]:
        """Return for each deal (sets, scorings) the test scores of models trained on each of its sets of rows."""
        return [
            np.array([rate(deal, answers, scorings) for answers in self._answers(deal, sets, device)])
            for deal, sets in zip(deals, row_sets, strict=True)
        ]

    def _answers(self, deal: Deal, row_sets: Sequence[RowNumbers], device: DeviceChoice) -> Iterator[Answers]:
        """Return what the model of each set of rows says."""
        test = None
        for rows in row_sets:
            training = Training.of(
                deal.part(rows),
                learner=self.learner,
                bootstrap_fraction=1.0,
                random_state=deal.seed,
                preprocess=self.preprocess,
            )
            trained = training.fit(0, Execution(n_jobs=1, device=device))
            if test is None:  # all models of a learner take rows in the same form
                test = _converted(training, take_rows(deal.X, deal.test))
            X = test if trained.preprocessor is None else trained.preprocessor.transform(test)
            kind: Kind = "probabilities" if trained.scorer.probabilistic else "values"
            known = np.searchsorted(deal.table.classes, trained.scored_classes)
            yield Answers(known, trained.scorer.base_scores(X), kind)


def _converted(training: Training, rows: Rows) -> Any:
    """Return rows in the form in which a learner takes them."""
    columns = training.intake.columns
    names = None if columns is None else [column.name for column in columns]
    return training.intake.convert(rows, names, first_row=0, what="test").X


@dataclass(frozen=True)
class LogisticTrainer:
    """Logistic regression at its optimum, on numbers. Models that know the same classes are trained together."""

    learner: LogisticLearner = field(default_factory=LogisticLearner)

    preprocess: ClassVar[Preprocess] = "none"

    def __post_init__(self) -> None:
        assert self.learner.class_weight is None, "all rows count alike"

    def scores(
        self,
        deals: Sequence[Deal],
        row_sets: Sequence[Sequence[RowNumbers]],
        scorings: Sequence[Scoring],
        *,
        device: DeviceChoice,
    ) -> list[NDArray[np.float64]]:
        """Return for each deal (sets, scorings) the test scores of models trained on each of its sets of rows."""
        del device  # a CPU is fast enough
        found = []
        with one_thread_each():
            for deal, sets in zip(deals, row_sets, strict=True):
                scores = np.empty((len(sets), len(scorings)))
                for place, answers in self._answers(deal, sets):
                    scores[place] = rate(deal, answers, scorings)
                found.append(scores)
        return found

    def _answers(self, deal: Deal, row_sets: Sequence[RowNumbers]) -> Iterator[tuple[int, Answers]]:
        """Return what the model of each set of rows says, with the set's place, in any order."""
        C = self.learner.C
        assert not isinstance(C, str), "all models have one penalty"
        used = np.unique(np.concatenate(row_sets))
        X, test = (deal.X[rows].astype(np.float64) for rows in (used, deal.test))
        weights = np.zeros((len(row_sets), len(used)))
        for weight, rows in zip(weights, row_sets, strict=True):
            weight[np.searchsorted(used, rows)] = 1.0
        by_classes: dict[tuple[int, ...], list[int]] = {}
        for place, rows in enumerate(row_sets):
            by_classes.setdefault(tuple(np.unique(deal.y[rows]).tolist()), []).append(place)
        for known, places in by_classes.items():
            classes = np.array(known)
            some = np.flatnonzero(weights[places].any(axis=0))
            optimum = fit_together(
                X[some],
                np.searchsorted(classes, deal.y[used[some]]),
                len(classes),
                weights[places][:, some],
                C=C,
                fit_intercept=self.learner.fit_intercept,
                tolerance=self.learner.tol,
            )
            for k, place in enumerate(places):
                logits = test @ optimum.coefficients[:, k] + optimum.intercepts[k]
                if len(classes) == 2:  # one output, that of the second class
                    logits = np.column_stack([np.zeros(len(logits)), logits])
                yield place, Answers(classes, logits, "logits")


@dataclass(frozen=True)
class EstimatorTrainer:
    """Any scikit-learn classifier, trained one by one, as it is: nothing is seeded or preprocessed."""

    learner: Any

    preprocess: ClassVar[Preprocess] = "none"

    def scores(
        self,
        deals: Sequence[Deal],
        row_sets: Sequence[Sequence[RowNumbers]],
        scorings: Sequence[Scoring],
        *,
        device: DeviceChoice,
    ) -> list[NDArray[np.float64]]:
        """Return for each deal (sets, 1) the test accuracies of models trained on each of its sets of rows."""
        from sklearn.base import clone  # noqa: PLC0415 - slow to import

        assert [type(scoring) for scoring in scorings] == [Accuracy], "other scores need class scores"
        del device  # a classifier knows nothing of it
        with one_thread_each():
            return [
                np.array(
                    [
                        clone(self.learner)
                        .fit(deal.X[rows], deal.y[rows])
                        .score(deal.X[deal.test], deal.y[deal.test])
                        for rows in sets
                    ]
                )[:, np.newaxis]
                for deal, sets in zip(deals, row_sets, strict=True)
            ]
