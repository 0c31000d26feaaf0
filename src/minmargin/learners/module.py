"""Any `torch.nn.Module` as a learner: a factory makes one for each member, and all are trained together."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, fields
from functools import partial
from numbers import Real
from threading import Lock
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from minmargin.checks import check_count
from minmargin.data.intake import Converted, Intake
from minmargin.data.rows import ColumnBlock, Matrix, Rows
from minmargin.data.schema import Schema
from minmargin.device import Device, Precision, require_torch, resolve_device
from minmargin.errors import InputError, warn
from minmargin.execution import Progress
from minmargin.labeled import Bootstrap, LabeledSet
from minmargin.learners.fitting import fit_all
from minmargin.learners.logistic import row_weights
from minmargin.learners.networks.jobs import Job
from minmargin.margins import ScoreName, softmax

_BLOCK_FLOATS = 1 << 19  # inputs that a module is given at once: its inner layers may hold many times as many
_LARGEST_BLOCK = 4096
_LARGEST_WHOLE = 2.0**53  # rows pass through float64, which holds every whole number up to here

# torch spreads one call over all cores by itself, and a module may keep something from one call to the next.
_ONE_AT_A_TIME = Lock()


@dataclass(frozen=True)
class ModuleLearner:
    """Committees of any torch module that gives a number, a logit, for each class.

    Args:
        factory: makes one module, with new initial weights, each time it is called without arguments: a function,
            or a class. What it returns is copied, never changed.
        epochs: how often a member sees each row of its draw.
        batch_size: how many rows make a step.
        lr: the learning rate of the default optimizer.
        optimizer: makes a torch optimizer of a list of parameters; None is Adam with `lr` and eps=1e-7.
        loss: takes outputs (b, C) and class codes (b,), and returns (b,) losses; None is the cross-entropy.
        standardize: whether to scale each feature to mean 0 and variance 1, as the labeled set has them.
        dtype: "float32", or "int64" for rows of whole numbers, such as tokens.
        input_shape: the shape in which the module takes a row; None is the shape that the labeled rows have.
        class_weight: None; a weight for each class, 1 where none is given; or "balanced", weights that make all
            classes of a member's draw count the same.
    """

    factory: Callable[[], Any]
    _: KW_ONLY
    epochs: int = 100
    batch_size: int = 32
    lr: float = 1e-3
    optimizer: Callable[[list[Any]], Any] | None = None
    loss: Callable[[Any, Any], Any] | None = None
    standardize: bool = False
    dtype: Literal["float32", "int64"] = "float32"
    input_shape: Sequence[int] | None = None
    class_weight: Literal["balanced"] | Mapping[Any, float] | None = None

    probabilistic = True
    takes_sparse = False
    scores_empty_classes = True

    def __post_init__(self) -> None:
        """Raise an error for a setting that cannot be used."""
        for name in ("epochs", "batch_size"):
            check_count(name, getattr(self, name), least=1, usual={"epochs": 100, "batch_size": 32}[name])
        given: Any = self.lr
        if not (isinstance(given, Real) and 0.0 < float(given) < math.inf):
            raise InputError(f"lr={self.lr!r} must be a positive number. 0.001 is usual.")
        for name in ("factory", "optimizer", "loss"):
            value = getattr(self, name)
            if not callable(value) and (value is not None or name == "factory"):
                raise InputError(f"{name} is a {type(value).__name__}. Give a function.")
        if self.dtype not in {"float32", "int64"}:
            raise InputError(f"dtype={self.dtype!r} must be 'float32' or 'int64'.")
        if self.dtype == "int64" and self.standardize:
            raise InputError(
                "standardize=True makes fractions of whole numbers. Leave it out for dtype='int64'."
            )
        for size in self.input_shape or ():
            check_count("input_shape", size, least=1)

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

    def intake(self, labeled: LabeledSet) -> ShapedIntake:
        """Return the form in which this learner takes these rows: flat, with their shape known."""
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
        from minmargin.learners.networks import modules  # noqa: PLC0415 - imports torch

        on = resolve_device(device)
        rows = RowMaker.of(X, self._shape(X.shape[1], labeled.row_shape), self.dtype, self.standardize)
        examples = modules.Examples(
            torch.tensor(rows.make(X), device=on), torch.tensor(labeled.codes, device=on)
        )
        recipe = modules.Recipe(
            self.epochs, self.batch_size, self.optimizer or self._adam, self.loss or _loss()
        )
        job = partial(self._job, labeled, bootstrap)

        def make(member: int | None) -> Any:
            module = modules.make_module(self.factory, bootstrap.seeds.learner(member), examples.few().X, on)
            modules.check_module(module, examples.few(), len(labeled.classes), recipe)
            return module

        def fit_one(member: int | None) -> Any:
            module = make(member)
            modules.train_alone(module, examples, job(member), recipe)
            return module

        def report(stage: str, done: int, total: int | None) -> None:
            progress(stage, done, n_members + 1)

        alone = modules.why_alone(make(None), examples.few(), recipe) if n_members else None
        if alone is not None:
            _warn(alone)
        n_alone = n_members if alone is not None else 0
        # The base is always trained alone: it must not depend on how many members there are.
        base, members = fit_all(fit_one, labeled, bootstrap, n_alone, n_jobs=1, progress=report)
        if n_members and alone is None:
            members = [make(member) for member in range(n_members)]
            jobs = [job(member) for member in range(n_members)]
            modules.train_stacked(
                members,
                examples,
                jobs,
                recipe,
                on_trained=lambda n: progress("training", n + 1, n_members + 1),
            )
        trained = "together" if alone is None else "one after the other"
        return ModuleScorer(base, members, rows, on, f"torch modules, trained {trained} on {on}")

    def _job(self, labeled: LabeledSet, bootstrap: Bootstrap, member: int | None) -> Job:
        n_rows = len(labeled.codes)
        drawn = np.arange(n_rows) if member is None else bootstrap.indices(member)
        counts = np.bincount(drawn, minlength=n_rows)
        per_row = row_weights(labeled, counts, self.class_weight) / np.maximum(counts, 1)
        return Job(drawn, bootstrap.seeds.learner(member), per_row[drawn].astype(np.float32))

    def _adam(self, parameters: list[Any]) -> Any:
        return require_torch("Training").optim.Adam(parameters, lr=self.lr, betas=(0.9, 0.999), eps=1e-7)


@dataclass(frozen=True)
class ShapedIntake(Intake):
    """How rows become flat numbers for a learner that knows their shape.

    Attributes:
        row_shape: the shape of a labeled row. An array as pool must have rows of the same.
        whole: whether all numbers must be whole.
    """

    row_shape: tuple[int, ...] = ()
    whole: bool = False

    def match(
        self, pool: Schema, *, features: Sequence[str] | None = None, reserved: Sequence[str] = ()
    ) -> tuple[str, ...] | None:
        """Return the pool's feature columns in the learner's order; None where the pool has no names."""
        theirs = pool.row_shape
        tables = theirs is not None and len(theirs) <= 1 and len(self.row_shape) == 1
        if theirs is None or self.columns is not None or tables:
            return super().match(pool, features=features, reserved=reserved)
        if theirs != self.row_shape:
            fix = f" Use pool.reshape{(-1, *self.row_shape)}." if math.prod(theirs) == self.width else ""
            raise InputError(
                f"The pool has rows of shape {theirs} and the labeled set has rows of shape {self.row_shape}."
                f"{fix or ' Give both the same.'}"
            )
        return None

    def convert_unchecked(
        self, rows: Rows, names: Sequence[str] | None, *, first_row: int, what: str
    ) -> Converted:
        """Return rows as (n, D) numbers, and what checks their values."""
        flat = rows.reshape(len(rows), -1) if isinstance(rows, np.ndarray) and rows.ndim > 2 else rows
        X, check = super().convert_unchecked(flat, names, first_row=first_row, what=what)
        if not self.whole:
            return Converted(X, check)

        def check_whole() -> None:
            check()
            numbers = np.asarray(X)
            wrong = np.argwhere((numbers != np.floor(numbers)) | (np.abs(numbers) > _LARGEST_WHOLE))
            if len(wrong):
                row, column = (int(place) for place in wrong[0])
                raise InputError(
                    f"{what.capitalize()} row {first_row + row:,}, column {column:,} is {numbers[row, column]}, and "
                    "dtype='int64' takes whole numbers up to 2^53. Use dtype='float32', or mend it."
                )

        return Converted(X, check_whole)


@dataclass(frozen=True)
class RowMaker:
    """What makes a module's input of rows: (n, D) numbers become (n, *shape) of the module's type.

    Attributes:
        shape: the shape of one row.
        dtype: "float32" or "int64".
        standard: (D,) what is subtracted, and (D,) what is divided by then; None to leave the rows as they are.
    """

    shape: tuple[int, ...]
    dtype: str
    standard: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None

    @classmethod
    def of(cls, X: NDArray[Any], shape: tuple[int, ...], dtype: str, standardize: bool) -> RowMaker:
        """Return what makes input of rows like the labeled ones."""
        if not standardize:
            return cls(shape, dtype)
        scale = X.std(axis=0, dtype=np.float64)
        return cls(shape, dtype, (X.mean(axis=0, dtype=np.float64), np.where(scale > 0.0, scale, 1.0)))

    def vectors(self, X: NDArray[Any]) -> NDArray[Any]:
        """Return (n, D) the rows, standardized if that was asked for."""
        if self.standard is None:
            return X
        mean, scale = self.standard
        return np.asarray((X - mean) / scale)

    def make(self, X: NDArray[Any]) -> NDArray[Any]:
        """Return (n, *shape) the rows as a module takes them."""
        return np.ascontiguousarray(self.vectors(X), dtype=self.dtype).reshape(-1, *self.shape)


@dataclass(frozen=True)
class ModuleScorer:
    """Trained modules, asked one after the other.

    Attributes:
        base: the base, in evaluation mode.
        members: the K members.
        rows: what makes their input of rows.
        device: where they are.
        path: how they were trained.
    """

    base: Any
    members: list[Any]
    rows: RowMaker
    device: Device
    path: str

    rowwise = False
    probabilistic = True
    multiplications = 0  # no screen

    @property
    def n_members(self) -> int:
        """K: how many members there are besides the base."""
        return len(self.members)

    def base_scores(self, X: NDArray[Any], *, device: Device = "cpu") -> NDArray[np.float64]:
        """Return (n, C): the class scores under the base."""
        return self._class_scores(self.base, self.rows.make(np.asarray(X)))

    def each_member(self, X: NDArray[Any], *, device: Device = "cpu") -> Iterator[NDArray[np.float64]]:
        """Return (n, C): the class scores under each member, one after the other."""
        made = self.rows.make(np.asarray(X))
        return (self._class_scores(member, made) for member in self.members)

    def screen(self, score: ScoreName, *, device: Device = "cpu", precision: Precision = "float32") -> None:
        """Return None: nothing faster than the modules themselves is known."""

    def vectors(self, X: NDArray[Any] | ColumnBlock) -> Matrix:
        """Return (n, D): the rows, flat, and standardized if that was asked for."""
        return self.rows.vectors(np.asarray(X))

    def _class_scores(self, module: Any, made: NDArray[Any]) -> NDArray[np.float64]:
        torch = require_torch("A committee of modules")
        size = min(_LARGEST_BLOCK, max(_BLOCK_FLOATS // math.prod(self.rows.shape), 1))
        logits = []
        with torch.no_grad():
            for start in range(0, len(made), size):
                # A copy: a module may write into what it is given, and the rows may be the caller's own.
                block = torch.tensor(made[start : start + size], device=self.device)
                with _ONE_AT_A_TIME:
                    outputs = module(block)
                logits.append(outputs.cpu().numpy())
        return softmax(np.concatenate(logits).astype(np.float64))


def _loss() -> Callable[[Any, Any], Any]:
    functional = require_torch("Training").nn.functional
    return partial(functional.cross_entropy, reduction="none")


def _described(value: Any) -> str:
    named = isinstance(value, type) or callable(value)
    return str(getattr(value, "__name__", type(value).__name__)) if named else repr(value)


def _warn(why: str) -> None:
    warn(f"The members are trained one after the other, which is slower: {why}.")
