"""Any torch module: made by a factory, and checked before it is trained."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import torch

from minmargin.device import Device
from minmargin.errors import InputError, MemberFitError
from minmargin.learners.networks.jobs import INITIAL, branch_of

#: What makes one module, with new initial weights each time.
Factory: TypeAlias = Callable[[], Any]


class Recipe(NamedTuple):
    """How modules are trained.

    Attributes:
        epochs: how often every row is seen.
        batch_size: how many rows make a step.
        optimizer: makes a torch optimizer of a list of parameters.
        loss: takes outputs (b, C) and class codes (b,), and returns (b,) losses.
        schedule: makes a torch scheduler of an optimizer and the number of steps; None leaves the learning rate.
        patience: a job with validation rows stops after so many epochs without a lower loss there, and goes back to
            its best epoch; None makes all epochs.
    """

    epochs: int
    batch_size: int
    optimizer: Callable[[list[Any]], Any]
    loss: Callable[[Any, Any], Any]
    schedule: Callable[[Any, int], Any] | None = None
    patience: int | None = None


class Examples(NamedTuple):
    """Rows and their class codes (n,), as tensors on the device that trains.

    Attributes:
        X: (n, ...) what a module is given; or such a tensor for each name by which it takes one.
        codes: (n,) the classes.
    """

    X: Any
    codes: Any

    @property
    def device(self) -> Any:
        """Where they are."""
        return self.codes.device

    def few(self) -> Examples:
        """Return copies of some rows, to try things on: a module may write into what it is given."""
        few = torch.arange(min(4, len(self.codes)), device=self.device)
        return Examples(take(self.X, few), self.codes[few])


def take(X: Any, index: Any) -> Any:
    """Return some rows of what modules are given."""
    return {name: each[index] for name, each in X.items()} if isinstance(X, dict) else X[index]


def as_tensors(X: Any, device: Any) -> Any:
    """Return rows that a maker of rows made, copied to a device."""
    if isinstance(X, dict):
        return {name: torch.tensor(each, device=device) for name, each in X.items()}
    return torch.tensor(X, device=device)


def call(module: Any, X: Any) -> Any:
    """Return a module's outputs: inputs that have names are its keyword arguments."""
    return module(**X) if isinstance(X, dict) else module(X)


def make_module(factory: Factory, seed: np.random.SeedSequence, few: Any, device: Device) -> Any:
    """Return a module with initial weights from the seed. It is a copy: what the factory holds stays as it is.

    It is called once on a few rows, so that layers which find their size then have it.
    """
    with seeded(seed, INITIAL, device):
        made = copy.deepcopy(made_by(factory)).to(device)
        _call(made.eval(), few)
    return made


def made_by(factory: Factory) -> Any:
    """Return what a factory makes, which must be a module."""
    try:
        made = factory()
    except Exception as error:
        raise InputError(
            f"learner's factory failed: {type(error).__name__}: {error}. Give a function without arguments that "
            "returns a torch.nn.Module."
        ) from error
    if not isinstance(made, torch.nn.Module):
        raise InputError(
            f"learner's factory made a {type(made).__name__}, which is not a torch.nn.Module. Give a function that "
            "returns a module; pass a classifier as it is."
        )
    return made


def check_module(module: Any, few: Examples, n_classes: int, recipe: Recipe) -> None:
    """Raise an error unless the module gives a number for each class, and the loss one for each row."""
    n_rows = len(few.codes)
    outputs = check_outputs(module, few.X, n_rows, n_classes)
    losses = recipe.loss(outputs, few.codes)
    shape = tuple(getattr(losses, "shape", ()))
    if not isinstance(losses, torch.Tensor) or shape != (n_rows,):
        raise InputError(
            f"loss gave a {type(losses).__name__} of shape {shape} for {n_rows} rows. Give one loss a row; in torch "
            "that is reduction='none'."
        )


def check_outputs(module: Any, X: Any, n_rows: int, n_classes: int) -> Any:
    """Return a module's outputs for some rows, which must be a number for each row and class."""
    outputs = _call(module, X)
    if not isinstance(outputs, torch.Tensor):
        raise InputError(
            f"{_name(module)} gives a {type(outputs).__name__}. Return a tensor of one number a row and class."
        )
    if outputs.shape != (n_rows, n_classes):
        more = outputs.ndim == 2 and outputs.shape[0] == n_rows and outputs.shape[1] > n_classes
        unseen = f" If it is to tell {outputs.shape[1]} classes apart, name them all with classes=[...]."
        raise InputError(
            f"{_name(module)} gives outputs of shape {tuple(outputs.shape)} for {n_rows} rows and {n_classes} "
            f"classes. Its last layer needs {n_classes} outputs, one for each class.{unseen if more else ''}"
        )
    return outputs


def _call(module: Any, X: Any) -> Any:
    try:
        with torch.no_grad():
            return call(module, X)
    except Exception as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else "no reason given"
        if isinstance(X, dict):
            given = ", ".join(f"{name} ({_described(each)})" for name, each in X.items())
            fix = "Name the arguments that its forward takes, with ModuleLearner(..., inputs=[...])."
        else:
            given = f"rows of {_described(X)}"
            fix = (
                "Give the rows in the shape that it takes, or ModuleLearner(..., input_shape=..., dtype=...)."
            )
        raise InputError(
            f"{_name(module)} fails on {given}: {type(error).__name__}: {reason.rstrip('.')}. {fix}"
        ) from error


def _described(X: Any) -> str:
    return f"shape {tuple(X.shape[1:])} and type {str(X.dtype).split('.')[-1]}"


def _name(module: Any) -> str:
    return f"The module {type(module).__name__}"


def trainable(parameters: Any) -> list[Any]:
    """Return the parameters that are trained."""
    return [parameter for parameter in parameters if parameter.requires_grad]


def make_optimizer(recipe: Recipe, parameters: list[Any]) -> Any:
    """Return the recipe's optimizer of some parameters, which must be one of torch."""
    if not parameters:
        raise InputError(
            "The module has no parameter that can be trained. Set requires_grad of those that shall."
        )
    optimizer = recipe.optimizer(parameters)
    if not isinstance(optimizer, torch.optim.Optimizer):
        raise InputError(
            f"optimizer made a {type(optimizer).__name__}. Give a function from parameters to a torch optimizer, "
            "such as lambda parameters: torch.optim.SGD(parameters, lr=0.1)."
        )
    return optimizer


def make_schedule(recipe: Recipe, optimizer: Any, n_steps: int) -> Any:
    """Return the recipe's schedule for so many steps, which must be one of torch; None if it has none."""
    if recipe.schedule is None:
        return None
    fix = (
        "Give a function from an optimizer and the number of its steps to a torch scheduler, such as lambda optimizer, "
        "n_steps: torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, n_steps)."
    )
    try:
        schedule = recipe.schedule(optimizer, n_steps)
    except Exception as error:
        raise InputError(f"schedule failed: {type(error).__name__}: {error}. {fix}") from error
    schedulers = torch.optim.lr_scheduler
    if not isinstance(schedule, schedulers.LRScheduler) or isinstance(schedule, schedulers.ReduceLROnPlateau):
        raise InputError(f"schedule made a {type(schedule).__name__}, which does not go by steps. {fix}")
    return schedule


def finish(module: Any) -> None:
    """Make a trained module ready to be asked, or raise an error if its weights are not finite."""
    module.eval().requires_grad_(requires_grad=False)
    if not all(torch.isfinite(parameter).all() for parameter in module.parameters()):
        raise MemberFitError(
            "A module's weights became infinite in training. Use a lower lr, or standardize=True."
        )


@contextmanager
def seeded(seed: np.random.SeedSequence, branch: int, device: str) -> Iterator[None]:
    """Let torch's own chance come from a branch of a job's seed, and give the caller's back at the end."""
    child = branch_of(seed, branch)
    with torch.random.fork_rng(devices=[torch.cuda.current_device()] if device == "cuda" else []):
        torch.manual_seed(int(child.generate_state(1, np.uint64)[0] >> np.uint64(1)))
        yield
