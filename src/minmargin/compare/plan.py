"""A plan: the games, the table they are played on, and all that must hold before the first model is trained."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
from scipy import sparse

from minmargin.committee.training import Training
from minmargin.compare.constant import rate_guess
from minmargin.compare.game import Game, split_evenly
from minmargin.compare.leading import default_scorings, leading
from minmargin.compare.network_trainer import NetworkTrainer
from minmargin.compare.played import make_table
from minmargin.compare.scoring import (
    AVERAGE_PRECISION,
    Accuracy,
    Kind,
    SklearnScoring,
    positive_class,
    resolve_scoring,
)
from minmargin.compare.split import Split, as_list, check_rounds
from minmargin.compare.trainers import AnyTrainer, LogisticTrainer, Trainer
from minmargin.data.reading import Reading
from minmargin.data.schema import missing_column
from minmargin.device import Device, DeviceChoice, resolve_device
from minmargin.errors import InputError, listing, warn
from minmargin.inspection import Inspection, Table, look_at
from minmargin.labeled import LabeledSet
from minmargin.learners import LogisticLearner, MLPLearner
from minmargin.learners.module import ModuleLearner
from minmargin.partly_labeled import PartlyLabeled
from minmargin.strategies import (
    Strategy,
    StrategyName,
    check_has_name,
    check_strategy,
    resolve_strategy,
)

#: What is compared if nothing is named.
DEFAULT_STRATEGIES: tuple[StrategyName, ...] = ("spread", "min-margin", "margin", "random")

# What the results of a draw do not depend on.
_BY_THE_WAY = {"n_draws", "n_pool", "class_counts", "leading", "positive"}


@dataclass(frozen=True)
class Wanted:
    """What `compare` was asked to play, checked as far as no table is needed for that.

    Attributes:
        strategies: None for those that are usual with the learner.
        scorings: None for those that fit the table's classes.
        batch_sizes: numbers or shares; None for sizes that fit the table.
        rounds: one number or several.
        n_labeled: how many rows are labeled from the start.
        test_size: how many rows are for testing: a fraction of all, or a whole number.
        n_draws: how often the table is dealt.
        n_models: K.
        foreseen: whether all classes are known from the start, by name.
        reading: how columns are read.
        device: where networks are trained.
    """

    strategies: tuple[Strategy, ...] | None
    scorings: tuple[Accuracy | SklearnScoring, ...] | None
    batch_sizes: Any
    rounds: Any
    n_labeled: Any
    test_size: Any
    n_draws: int
    n_models: int
    foreseen: bool
    reading: Reading | None
    device: DeviceChoice


@dataclass(frozen=True)
class Plan:
    """What `compare` is going to play, checked.

    Attributes:
        split: deals the table.
        games: one for each number of rounds.
        n_draws: how often the table is dealt.
        kind: what models' class scores are, as scorers see them.
        device: where networks are trained.
        settings: all of this in plain values, for people and files.
        inspection: what was read of the table, and what looks wrong with it.
    """

    split: Split
    games: tuple[Game, ...]
    n_draws: int
    kind: Kind
    device: Device
    settings: Mapping[str, Any]
    inspection: Inspection

    @classmethod
    def of(cls, wanted: Wanted, table: LabeledSet, training: Training) -> Plan:
        """Return the plan for what is wanted, on this table and with this learner, or say why it cannot work."""
        scorings = wanted.scorings or check_scorings(default_scorings(table))
        chosen = wanted.strategies or _by_default(training)
        n_draws, n_models = wanted.n_draws, wanted.n_models
        for strategy in chosen:
            probabilistic = training.learner.probabilistic
            check_strategy(strategy, n_models, training.learner.name, probabilistic=probabilistic)
        inspection = look_at(Table.of(table, training.intake), None, wanted.reading)
        converted = _convert(training)
        split = Split.of(
            converted,
            n_labeled=wanted.n_labeled,
            test_size=wanted.test_size,
            bootstrap_fraction=training.bootstrap_fraction,
            seed=training.bootstrap.seeds.root,
            n_draws=n_draws,
            foreseen=wanted.foreseen,
        )
        sizes = split.check_batch_sizes(wanted.batch_sizes)
        in_rounds = check_rounds(wanted.rounds, sizes)
        for strategy in chosen:  # its own settings may not fit a batch
            for size in {part for each in sizes for n in in_rounds for part in split_evenly(each, n)}:
                strategy.shortlists(size)
        kind: Kind = "probabilities" if training.learner.probabilistic else "values"
        for each in scorings:
            if isinstance(each, SklearnScoring):
                each.rehearse(table, kind)
        game = partial(
            Game,
            _trainer(training, converted),
            batch_sizes=sizes,
            n_models=n_models,
            bootstrap_fraction=training.bootstrap_fraction,
            scorings=scorings,
            distinct=None,
        )
        settings = {
            "strategies": [_described(strategy) for strategy in chosen],
            "batch_sizes": list(sizes),
            "rounds": list(in_rounds),
            "n_labeled": split.n_labeled,
            "n_test": split.n_test,
            "n_pool": split.n_pool,
            "n_draws": n_draws,
            "learner": training.learner.name,
            "n_models": n_models,
            "distinct": True,  # but for chance alone, as in `select`
            "bootstrap_fraction": training.bootstrap_fraction,
            "preprocess": training.preprocess,
            "reading": {} if wanted.reading is None else wanted.reading.describe(),
            **_describe_scorings([each.name for each in scorings], table),
            **({"classes": [str(name) for name in table.classes.tolist()]} if wanted.foreseen else {}),
            "seed": split.seed,
            **table.describe(),
        }
        games = _games(chosen, in_rounds, game)
        return cls(split, games, n_draws, kind, _device(training, wanted.device), settings, inspection)

    @property
    def rules(self) -> str:
        """Everything that the results of a draw depend on."""
        return "; ".join(
            f"{name}={value}" for name, value in self.settings.items() if name not in _BY_THE_WAY
        )

    def check_names(self, keeper: str) -> None:
        """Raise an error if results could not be told from those of another strategy or scoring."""
        strategies = [strategy.name for game in self.games for strategy in game.strategies]
        for name in (*strategies, *self.scorings):
            check_has_name(name, keeper)

    def play(self, draw: int) -> pa.Table:
        """Return the results of a draw, in the columns of `played.schema_for`."""
        deal = self.split.deal(draw)
        tables = []
        for number, game in enumerate(self.games):
            (outcomes,) = game.play([deal], device=self.device)
            before, *after = outcomes
            if number == 0:  # without a batch, models are the same in every game
                after = [before, rate_guess(deal, game.scorings, self.kind), *after]
            tables.append(make_table(draw, game.rounds, after, self.scorings))
        return pa.concat_tables(tables)

    @property
    def scorings(self) -> list[str]:
        """The names of the scorings."""
        return [scoring.name for scoring in self.games[0].scorings]


def read_table(
    X: Any,
    y: Any,
    *,
    classes: Any,
    features: str | Sequence[str] | None,
    id_column: str | None,
    reading: Reading | None,
) -> LabeledSet:
    """Return the rows that have a label, with a warning if others have none."""
    not_features = [] if id_column is None else [id_column]
    how = {"classes": classes, "features": features, "not_features": not_features, "reading": reading}
    partly = PartlyLabeled.if_so(X, y, **how)
    table = LabeledSet.of(X, y, **how) if partly is None else partly.labeled
    if partly is not None:
        column = f" in column {y!r}" if isinstance(y, str) else ""
        first = int(np.setdiff1d(np.arange(partly.n_rows), partly.places)[0])
        warn(
            f"{partly.n_unlabeled:,} of {partly.n_rows:,} rows have no label{column}, such as row {first:,}, so they "
            "are left out: picks are judged by labels."
        )
    if id_column is not None:
        _check_id_column(id_column, table)
    return table


def check_strategies(strategies: Any) -> tuple[Strategy, ...]:
    """Return the strategies that were asked for, each once."""
    chosen = tuple(map(resolve_strategy, as_list(strategies)))
    if not chosen:
        raise InputError("strategies is empty. Name at least one; mm.strategies() lists them.")
    _refuse_repeated("strategies", [strategy.name for strategy in chosen])
    return chosen


def check_scorings(scoring: Any) -> tuple[Accuracy | SklearnScoring, ...]:
    """Return the scorings that were asked for, each once."""
    chosen = tuple(map(resolve_scoring, as_list(scoring)))
    if not chosen:
        raise InputError("scoring is empty. Name at least one scorer, or leave it out.")
    _refuse_repeated("scoring", [each.name for each in chosen])
    return chosen


def _by_default(training: Training) -> tuple[Strategy, ...]:
    """Return the strategies that are played if none are named: those that the learner's class scores allow."""
    return tuple(
        strategy
        for strategy in map(resolve_strategy, DEFAULT_STRATEGIES)
        if training.learner.probabilistic or not strategy.probabilistic
    )


def _refuse_repeated(argument: str, names: Sequence[str]) -> None:
    repeated = [name for place, name in enumerate(names) if name in names[:place]]
    if repeated:
        raise InputError(f"{argument} has {listing(repeated)} twice. Results could not tell them apart.")


def _describe_scorings(names: Sequence[str], table: LabeledSet) -> dict[str, Any]:
    """Return the settings of scorings: a single name by itself; which one leads; the class that one looks for."""
    settings: dict[str, Any] = {"scoring": names[0]}
    if len(names) > 1:
        settings = {"scoring": list(names), "leading": leading(names, table)}
    positive = positive_class(table) if AVERAGE_PRECISION in names else None
    return settings if positive is None else {**settings, "positive": str(table.classes.tolist()[positive])}


def _check_id_column(name: str, table: LabeledSet) -> None:
    if not isinstance(table.rows, nw.DataFrame):
        raise InputError(
            f"id_column={name!r} names a column, but the labeled set is an array without column names. Leave it out."
        )
    if name not in table.rows.columns:
        raise missing_column(name, table.rows.columns, "the labeled set")


def _convert(training: Training) -> LabeledSet:
    """Return the table, its values checked; as a matrix if the learner is one of ours, which sees nothing else."""
    table, intake = training.labeled, training.intake
    names = None if intake.columns is None else [column.name for column in intake.columns]
    X = intake.convert(table.rows, names, first_row=0, what="labeled").X
    if training.preprocess == "none" and isinstance(training.learner, (LogisticLearner, MLPLearner)):
        return replace(table, rows=X, columns=None)
    return table


def _trainer(training: Training, table: LabeledSet) -> Trainer:
    """Return what trains many models at a time, if it can train these; else what trains any."""
    learner = training.learner
    numbers = table.columns is None and (sparse.issparse(table.rows) or isinstance(table.rows, np.ndarray))
    if training.preprocess == "none" and numbers:
        if isinstance(learner, LogisticLearner) and learner.class_weight is None and learner.C != "auto":
            return LogisticTrainer(learner)
        if isinstance(learner, MLPLearner) and learner.patience is None and learner.class_weight is None:
            return NetworkTrainer(learner, len(table.classes))
    return AnyTrainer(learner, training.preprocess)


def _games(
    strategies: Sequence[Strategy], rounds: Sequence[int], game: Callable[..., Game]
) -> tuple[Game, ...]:
    """Return a game for each number of rounds. Strategies that look at no model are played in one round only."""
    by_chance = {strategy.name for strategy in strategies if strategy.needs == "nothing"}
    games = []
    for n_rounds in sorted({*rounds, 1}):
        some = [
            strategy
            for strategy in strategies
            if (n_rounds == 1 if strategy.name in by_chance else n_rounds in rounds)
        ]
        if some:
            games.append(game(strategies=tuple(some), rounds=n_rounds))
    return tuple(games)


def _described(strategy: Strategy) -> str:
    """Return a strategy's name, with the options that were given."""
    options = {name: value for name, value in strategy.options.items() if value is not None}
    given = ", ".join(f"{name}={value!r}" for name, value in options.items())
    return f"{strategy.name}({given})" if given else strategy.name


def _device(training: Training, device: DeviceChoice) -> Device:
    """Return where networks are trained. Other learners need a GPU for large pools only, so it has to be asked for."""
    networks = isinstance(training.learner, (MLPLearner, ModuleLearner))
    return resolve_device(device) if networks or device == "cuda" else "cpu"
