"""Any `torch.nn.Module` as a learner: a factory makes one for each member, and all are trained together."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, fields
from functools import partial
from numbers import Real
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from minmargin.checks import check_count, is_number, set_without_numpy
from minmargin.device import require_torch, resolve_device
from minmargin.errors import InputError, listing, warn
from minmargin.execution import Progress
from minmargin.labeled import Bootstrap, LabeledSet
from minmargin.learners import is_module
from minmargin.learners.fitting import fit_all
from minmargin.learners.logistic import check_class_weight, row_weights
from minmargin.learners.networks.factories import find_name
from minmargin.learners.networks.jobs import HELD_OUT, REFILLED, Job
from minmargin.learners.networks.module_rows import ModuleRows, NamedIntake, NamedRows, RowMaker, ShapedIntake
from minmargin.learners.networks.module_scorer import ModuleScorer
from minmargin.learners.networks.recipes import OptimizerName, ScheduleName, name_optimizer, name_schedule
from minmargin.learners.networks.stopping import Reached, check_stopping, hold_out, refill


@dataclass(frozen=True)
class ModuleLearner:
    """Committees of any torch module that gives a number, a logit, for each class.

    Args:
        factory: makes one module, with new initial weights, each time it is called without arguments: a function,
            or a class. What it returns is copied, never changed.
        epochs: how often a member sees each row of its draw.
        batch_size: how many rows make a step.
        lr: the learning rate of an optimizer that has a name.
        optimizer: "adam", with eps=1e-7, "adamw" or "sgd", with momentum 0.9; or what makes a torch optimizer of a
            list of parameters. None is "adam".
        schedule: how the learning rate changes from step to step: "cosine" or "linear", on which it falls to zero;
            or what makes a torch scheduler of an optimizer and the number of its steps. None leaves it as it is.
        warmup: over which part of all steps the learning rate rises before it falls, by a schedule that has a name.
        loss: takes outputs (b, C) and class codes (b,), and returns (b,) losses; None is the cross-entropy.
        standardize: whether to scale each feature to mean 0 and variance 1, as the labeled set has them.
        dtype: "float32", or "int64" for rows of whole numbers, such as tokens.
        input_shape: the shape in which the module takes a row; None is the shape that the labeled rows have.
        inputs: the columns that the module takes as keyword arguments, such as ["input_ids", "attention_mask"]: whole
            numbers as int64, others as float32; lists as (b, length), plain numbers as (b,). None gives it all
            features in one tensor.
        class_weight: None; a weight for each class, 1 where none is given; or "balanced", weights that make all
            classes of a member's draw count the same.
        patience: a model stops after so many epochs without a lower loss on its held-out rows, and goes back to the
            weights of its best epoch. None makes all epochs, and holds out no rows.
        validation_fraction: which part of the different rows of a draw is held out, class by class: at least one row
            of a class, but never its last. In a member's draw, other rows of the class take their places. Used with
            `patience` only.
    """

    factory: Callable[[], Any]
    _: KW_ONLY
    epochs: int = 100
    batch_size: int = 32
    lr: float = 1e-3
    optimizer: OptimizerName | Callable[[list[Any]], Any] | None = None
    schedule: ScheduleName | Callable[[Any, int], Any] | None = None
    warmup: float = 0.0
    loss: Callable[[Any, Any], Any] | None = None
    standardize: bool = False
    dtype: Literal["float32", "int64"] = "float32"
    input_shape: Sequence[int] | None = None
    inputs: Sequence[str] | None = None
    class_weight: Literal["balanced"] | Mapping[Any, float] | None = None
    patience: int | None = None
    validation_fraction: float = 0.1

    probabilistic = True
    takes_sparse = False
    scores_empty_classes = True

    def __post_init__(self) -> None:
        """Raise an error for a setting that cannot be used."""
        set_without_numpy(self)
        for name in ("epochs", "batch_size"):
            check_count(name, getattr(self, name), least=1, usual={"epochs": 100, "batch_size": 32}[name])
        given: Any = self.lr
        if not (isinstance(given, Real) and 0.0 < float(given) < math.inf):
            raise InputError(f"lr={self.lr!r} must be a positive number. 0.001 is usual.")
        if is_module(self.factory) and not isinstance(self.factory, type):
            kind = type(self.factory).__name__
            raise InputError(
                f"factory is a {kind} that is already made, and every member needs one of its own. Pass the class, "
                f"ModuleLearner({kind}), or a function that makes it, such as ModuleLearner(lambda: {kind}(...))."
            )
        if not callable(self.factory):
            raise InputError(f"factory is a {type(self.factory).__name__}. Give a function.")
        if not (self.loss is None or callable(self.loss)):
            raise InputError(f"loss is a {type(self.loss).__name__}. Give a function.")
        self._check_names()
        check_class_weight(self.class_weight)
        check_stopping(self.patience, self.validation_fraction)
        if self.dtype not in {"float32", "int64"}:
            raise InputError(f"dtype={self.dtype!r} must be 'float32' or 'int64'.")
        if self.dtype == "int64" and self.standardize:
            raise InputError(
                "standardize=True makes fractions of whole numbers. Leave it out for dtype='int64'."
            )
        for size in self.input_shape or ():
            check_count("input_shape", size, least=1)
        if self.inputs is not None:
            self._check_inputs(self.inputs)

    def _check_names(self) -> None:
        """Raise an error for an optimizer or a schedule that is neither known by name nor a function."""
        for name, known, function in (
            ("optimizer", get_args(OptimizerName), "a list of parameters to a torch optimizer"),
            (
                "schedule",
                get_args(ScheduleName),
                "an optimizer and the number of its steps to a torch scheduler",
            ),
        ):
            value = getattr(self, name)
            if not (value is None or callable(value) or (isinstance(value, str) and value in known)):
                raise InputError(
                    f"{name}={value!r} must be one of {listing(known)}, or a function from {function}."
                )
        warmup: Any = self.warmup
        if not (is_number(warmup) and 0 <= warmup < 1):
            raise InputError(f"warmup={warmup!r} must be a number from 0 to below 1. 0.1 is usual.")
        if warmup and not isinstance(self.schedule, str):
            raise InputError(
                f"warmup={warmup!r} is for schedule='cosine' or 'linear'. Use one of them, or let a schedule of your "
                "own warm up."
            )

    def _check_inputs(self, inputs: Any) -> None:
        """Raise an error for names that cannot be arguments, and for what is said of one tensor only."""
        if isinstance(inputs, str) or not isinstance(inputs, Sequence) or not inputs:
            raise InputError(f"inputs={inputs!r} must be a list of column names, such as ['input_ids'].")
        odd = [name for name in inputs if not (isinstance(name, str) and name.isidentifier())]
        if odd:
            raise InputError(
                f"inputs has {listing(odd)}, which cannot be the name of an argument. Rename the column as the "
                "module's forward calls it."
            )
        if len(set(inputs)) < len(inputs):
            raise InputError(f"inputs={list(inputs)!r} names a column twice. Name each once.")
        for name, usual in (("standardize", False), ("dtype", "float32"), ("input_shape", None)):
            value = getattr(self, name)
            if value != usual:
                raise InputError(
                    f"{name}={value!r} is for rows that are one tensor, and inputs gives the module several. Leave it "
                    "out: each column keeps its own kind of numbers."
                )

    @property
    def name(self) -> str:
        """The factory's name, with the settings that are not the usual ones."""
        others = [field for field in fields(self) if field.name != "factory"]
        settings = [
            f"{field.name}={_described(getattr(self, field.name))}"
            for field in others
            if getattr(self, field.name) != field.default
        ]
        return f"module({', '.join([_described(self.factory), *settings])})"

    def check(self, n_classes: int) -> None:
        """Raise an error if the factory does not make modules; how many outputs they have, only rows can tell."""
        require_torch("A committee of modules")
        from minmargin.learners.networks.modules import made_by, seeded  # noqa: PLC0415 - imports torch

        with seeded(np.random.SeedSequence(0), 0, "cpu"):
            made_by(self.factory)

    def intake(self, labeled: LabeledSet) -> ShapedIntake | NamedIntake:
        """Return the form in which this learner takes these rows: flat, with their shape or names known."""
        if self.inputs is not None:
            return NamedIntake.of(labeled, self.inputs)
        whole = self.dtype == "int64"
        row_shape = labeled.row_shape
        if row_shape is not None and len(row_shape) > 1:
            intake = ShapedIntake("matrix", None, math.prod(row_shape), row_shape=row_shape, whole=whole)
        else:
            plain = labeled.numeric_intake(takes_sparse=False, missing=False)
            intake = ShapedIntake("matrix", plain.columns, plain.width, row_shape=(plain.width,), whole=whole)
        self._shape(intake.width, row_shape)
        return intake

    def _shape(self, width: int, row_shape: tuple[int, ...] | None) -> tuple[int, ...]:
        """Return the shape in which a module takes a row of `width` numbers."""
        if self.input_shape is not None:
            shape = tuple(int(size) for size in self.input_shape)
            if math.prod(shape) != width:
                raise InputError(
                    f"input_shape={shape} holds {math.prod(shape):,} numbers and a row has {width:,}. Use a shape of "
                    "as many."
                )
            return shape
        # Preprocessing makes other columns of a table, but never of an array with a shape of its own.
        return row_shape if row_shape is not None and math.prod(row_shape) == width else (width,)

    def fit(
        self,
        X: NDArray[Any],
        labeled: LabeledSet,
        bootstrap: Bootstrap,
        n_members: int,
        *,
        n_jobs: int,
        device: str,
        progress: Progress,
    ) -> ModuleScorer:
        """Return the base, trained on all rows X, and `n_members` members, each on its own draw.

        `n_jobs` is of no use here: torch takes the cores by itself, and always as many, for the sake of equal results.
        """
        torch = require_torch("A committee of modules")
        from minmargin.learners.networks import module_training, modules  # noqa: PLC0415 - imports torch

        on = resolve_device(device)
        rows = self._rows(X, labeled)
        examples = modules.Examples(
            modules.as_tensors(rows.make(X), on), torch.tensor(labeled.codes, device=on)
        )
        recipe = modules.Recipe(
            self.epochs,
            self.batch_size,
            self._optimizer(),
            self.loss or _loss(),
            self._schedule(),
            self.patience,
        )
        job = partial(self._job, labeled, bootstrap)
        if self.patience is not None and not len(job(None).validation):
            raise InputError(
                f"patience={self.patience} needs rows to hold out, and no class has more than one labeled row. Label "
                "more, or leave patience out."
            )

        def make(member: int | None) -> Any:
            module = modules.make_module(self.factory, bootstrap.seeds.learner(member), examples.few().X, on)
            modules.check_module(module, examples.few(), len(labeled.classes), recipe)
            return module

        def fit_one(member: int | None) -> tuple[Any, Reached | None]:
            module = make(member)
            return module, module_training.train_alone(module, examples, job(member), recipe)

        def report(stage: str, done: int, total: int | None) -> None:
            progress(stage, done, n_members + 1)

        alone = (
            module_training.why_alone([make(None), make(0)], examples.few(), recipe) if n_members else None
        )
        if alone is not None:
            _warn(alone)
        n_alone = n_members if alone is not None else 0
        # The base is always trained alone: it must not depend on how many members there are.
        base, fitted = fit_all(fit_one, labeled, bootstrap, n_alone, n_jobs=1, progress=report)
        members, reached = [module for module, _ in fitted], [each for _, each in fitted]
        if n_members and alone is None:
            members = [make(member) for member in range(n_members)]
            reached = module_training.train_stacked(
                members,
                examples,
                [job(member) for member in range(n_members)],
                recipe,
                on_trained=lambda n: progress("training", n + 1, n_members + 1),
            )
        trained = "together" if alone is None else "one after the other"
        return ModuleScorer(
            base[0],
            members,
            rows,
            on,
            f"torch modules, trained {trained} on {on}",
            None if self.patience is None else (base[1], *reached),
            find_name(self.factory),
        )

    def _rows(self, X: NDArray[Any], labeled: LabeledSet) -> ModuleRows:
        """Return what makes the module's input of rows like the labeled ones, X."""
        if self.inputs is not None:
            return NamedRows.of(NamedIntake.of(labeled, self.inputs))
        return RowMaker.of(X, self._shape(X.shape[1], labeled.row_shape), self.dtype, self.standardize)

    def _job(self, labeled: LabeledSet, bootstrap: Bootstrap, member: int | None) -> Job:
        """Return what the base (None) or a member is trained on."""
        codes, seed = labeled.codes, bootstrap.seeds.learner(member)
        drawn = np.arange(len(codes)) if member is None else bootstrap.indices(member)
        held = drawn[:0]
        if self.patience is not None:
            held = hold_out(drawn, codes, float(self.validation_fraction), seed, branch=HELD_OUT)
            # The base has each row once, and is trained alone: it needs no others in their places.
            if member is None:
                drawn = drawn[~np.isin(drawn, held)]
            else:
                drawn = refill(drawn, held, codes, seed, branch=REFILLED)
        counts = np.bincount(drawn, minlength=len(codes))
        per_row = row_weights(labeled, counts, self.class_weight) / np.maximum(counts, 1)
        weights = per_row[drawn].astype(np.float32)
        by_class = np.ones(len(labeled.classes), dtype=np.float32)
        by_class[codes[drawn]] = weights
        return Job(drawn, seed, weights, held, by_class[codes[held]])

    def _optimizer(self) -> Callable[[list[Any]], Any]:
        given = self.optimizer or "adam"
        return name_optimizer(given, float(self.lr)) if isinstance(given, str) else given

    def _schedule(self) -> Callable[[Any, int], Any] | None:
        given = self.schedule
        return name_schedule(given, float(self.warmup)) if isinstance(given, str) else given


def _loss() -> Callable[[Any, Any], Any]:
    functional = require_torch("Training").nn.functional
    return partial(functional.cross_entropy, reduction="none")


def _described(value: Any) -> str:
    named = isinstance(value, type) or callable(value)
    return str(getattr(value, "__name__", type(value).__name__)) if named else repr(value)


def _warn(why: str) -> None:
    warn(f"The members are trained one after the other, which is slower: {why}.")
