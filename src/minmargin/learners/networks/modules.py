"""Any torch module, many of one kind trained at once: their parameters stacked, one loop, own rows for each.

A stack is trained as each module would be alone: the sum of the modules' losses has the same derivatives, and an
optimizer that works element by element does not notice that its tensors are stacked. What cannot be stacked is
trained alone, by a plain loop.
"""

from __future__ import annotations

import copy
import inspect
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from minmargin.device import Device
from minmargin.errors import InputError, MemberFitError, listing
from minmargin.learners.networks.jobs import Job, Schedule

#: What makes one module, with new initial weights each time.
Factory: TypeAlias = Callable[[], Any]

# The optimizers of torch that treat every element of a tensor by itself.
_ELEMENTWISE = {
    "ASGD",
    "Adadelta",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "NAdam",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SGD",
}
# Of the weights, their gradients and two averages of these: what Adam holds of a stack.
_STACK_BYTES = 1 << 30
_COPIES_OF_STATE = 4
_INITIAL, _NOISE = range(2)  # branches of a job's seed: never renumber them


class Recipe(NamedTuple):
    """How modules are trained.

    Attributes:
        epochs: how often every row is seen.
        batch_size: how many rows make a step.
        optimizer: makes a torch optimizer of a list of parameters.
        loss: takes outputs (b, C) and class codes (b,), and returns (b,) losses.
    """

    epochs: int
    batch_size: int
    optimizer: Callable[[list[Any]], Any]
    loss: Callable[[Any, Any], Any]


class Examples(NamedTuple):
    """Rows (n, ...) and their class codes (n,), as tensors on the device that trains."""

    X: Any
    codes: Any

    def few(self) -> Examples:
        """Return copies of some rows, to try things on: a module may write into what it is given."""
        return Examples(self.X[:4].clone(), self.codes[:4].clone())


def make_module(factory: Factory, seed: np.random.SeedSequence, few: Any, device: Device) -> Any:
    """Return a module with initial weights from the seed. It is a copy: what the factory holds stays as it is.

    It is called once on a few rows, so that layers which find their size then have it.
    """
    with seeded(seed, _INITIAL, device):
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
    n_rows = len(few.X)
    outputs = _call(module, few.X)
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
    losses = recipe.loss(outputs, few.codes)
    shape = tuple(getattr(losses, "shape", ()))
    if not isinstance(losses, torch.Tensor) or shape != (n_rows,):
        raise InputError(
            f"loss gave a {type(losses).__name__} of shape {shape} for {n_rows} rows. Give one loss a row; in torch "
            "that is reduction='none'."
        )


def _call(module: Any, X: Any) -> Any:
    try:
        with torch.no_grad():
            return module(X)
    except Exception as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else "no reason given"
        raise InputError(
            f"{_name(module)} fails on rows of shape {tuple(X.shape[1:])} and type {str(X.dtype).split('.')[-1]}: "
            f"{type(error).__name__}: {reason.rstrip('.')}. Give the rows in the shape that it takes, or "
            "ModuleLearner(..., input_shape=..., dtype=...)."
        ) from error


def _name(module: Any) -> str:
    return f"The module {type(module).__name__}"


def why_alone(module: Any, few: Examples, recipe: Recipe) -> str | None:
    """Return why modules like this one cannot be stacked; None if they can."""
    optimizer = _optimizer(recipe, _trainable(module.parameters()))
    if type(optimizer) not in {getattr(torch.optim, name) for name in _ELEMENTWISE}:
        return (
            f"{type(optimizer).__name__} is not known to work element by element. Use an optimizer that does, such "
            "as torch.optim.Adam or SGD, to train them together"
        )
    with seeded(np.random.SeedSequence(0), _NOISE, few.X.device.type):
        changed = _changed_buffers(module, few.X)
        if changed:
            return (
                f"training changes buffers of the module ({listing(changed, most=3)}), as batch norm does. Use a "
                "norm without running averages, such as GroupNorm or LayerNorm, to train them together"
            )
        try:
            with warnings.catch_warnings():
                # A layer that torch can only loop over is better looped over as a whole.
                warnings.filterwarnings("error", message=".*performance drop.*")
                twice = Examples(torch.stack([few.X, few.X]), torch.stack([few.codes, few.codes]))
                weights = torch.ones_like(twice.codes, dtype=torch.float32)
                _Stack.of([module, module], recipe).losses(twice.X, twice.codes, weights).backward()
        except (RuntimeError, ValueError, UserWarning) as error:
            return f"torch cannot stack a layer of the module ({str(error).splitlines()[0].split('. ')[0]})"
    return None


def _changed_buffers(module: Any, X: Any) -> list[str]:
    tried = copy.deepcopy(module).train()
    with torch.no_grad():
        tried(X)
    after = dict(tried.named_buffers())
    return [name for name, was in module.named_buffers() if not torch.equal(was, after[name])]


def train_alone(module: Any, examples: Examples, job: Job, recipe: Recipe) -> None:
    """Train one module, by a plain loop."""
    module.train()
    optimizer = _optimizer(recipe, _trainable(module.parameters()))
    # Some optimizers look at the loss several times a step, and take a function for that.
    asks_again = "closure" in inspect.signature(optimizer.step).parameters
    with seeded(job.seed, _NOISE, examples.X.device.type):
        for index, weights in _batches([job], recipe, examples.X.device):

            def loss(rows: Any = index[0], weights: Any = weights[0]) -> Any:
                optimizer.zero_grad()
                of_rows = recipe.loss(module(examples.X[rows]), examples.codes[rows])
                mean = (of_rows * weights).sum()
                mean.backward()
                return mean

            if asks_again:
                optimizer.step(loss)
            else:
                loss()
                optimizer.step()
    _finish(module)


def train_stacked(
    modules: Sequence[Any],
    examples: Examples,
    jobs: Sequence[Job],
    recipe: Recipe,
    *,
    on_trained: Callable[[int], None],
) -> None:
    """Train modules of one kind together, each by its own job; all jobs have equally many rows.

    `on_trained` is told how many modules' worth of training is done.
    """
    start = 0
    for size in group_sizes(modules):
        chosen, theirs = modules[start : start + size], jobs[start : start + size]
        done = start
        stack = _Stack.of(chosen, recipe)
        n_steps = recipe.epochs * -(-len(theirs[0].rows) // recipe.batch_size)
        with seeded(theirs[0].seed, _NOISE, examples.X.device.type):
            for step, (index, weights) in enumerate(_batches(theirs, recipe, examples.X.device), start=1):
                stack.optimizer.zero_grad()
                stack.losses(examples.X[index], examples.codes[index], weights).backward()
                stack.optimizer.step()
                if start + size * step // n_steps > done:
                    done = start + size * step // n_steps
                    on_trained(done)
        stack.write_back(chosen)
        start += size


def group_sizes(modules: Sequence[Any]) -> Iterator[int]:
    """Return how many modules to stack at a time, so that a stack and its optimizer fit into memory."""
    tensors = [*modules[0].parameters(), *modules[0].buffers()]
    per_module = _COPIES_OF_STATE * sum(tensor.numel() * tensor.element_size() for tensor in tensors)
    most = max(_STACK_BYTES // max(per_module, 1), 1)
    for start in range(0, len(modules), most):
        yield min(most, len(modules) - start)


class _Stack(NamedTuple):
    """Modules of one kind with each parameter and buffer of all of them in one tensor (G, ...)."""

    template: Any
    parameters: dict[str, Any]
    buffers: dict[str, Any]
    optimizer: Any
    loss: Callable[[Any, Any], Any]

    @classmethod
    def of(cls, modules: Sequence[Any], recipe: Recipe) -> _Stack:
        """Return the modules, stacked, in training mode."""
        parameters, buffers = torch.func.stack_module_state(list(modules))
        optimizer = _optimizer(recipe, _trainable(parameters.values()))
        # A copy: one whose layers are used twice would be left with parameters that are not its own.
        return cls(copy.deepcopy(modules[0]).train(), parameters, buffers, optimizer, recipe.loss)

    def losses(self, X: Any, codes: Any, weights: Any) -> Any:
        """Return the weighted sum of all modules' losses; X: (G, b, ...), codes and weights: (G, b)."""
        # Different randomness: a dropout layer draws for every module by itself.
        each = torch.vmap(self._loss_of_one, randomness="different")
        # The faster kernels of attention cannot be stacked.
        with sdpa_kernel(SDPBackend.MATH):
            return each(self.parameters, self.buffers, X, codes, weights).sum()

    def _loss_of_one(self, parameters: Any, buffers: Any, X: Any, codes: Any, weights: Any) -> Any:
        outputs = torch.func.functional_call(self.template, (parameters, buffers), (X,))
        return (self.loss(outputs, codes) * weights).sum()

    def write_back(self, modules: Sequence[Any]) -> None:
        """Give each module its trained parameters."""
        for place, module in enumerate(modules):
            with torch.no_grad():
                for name, parameter in module.named_parameters():
                    parameter.copy_(self.parameters[name][place])
            _finish(module)


def _batches(jobs: Sequence[Job], recipe: Recipe, device: Any) -> Iterator[tuple[Any, Any]]:
    """Return for every step the rows (G, b) that each job looks at, and their share of its loss; none is padded."""
    generators = [np.random.default_rng(job.seed) for job in jobs]
    schedule = Schedule(jobs, generators, epochs=recipe.epochs, batch_size=recipe.batch_size)
    everyone = np.arange(len(jobs))
    for _ in range(recipe.epochs):
        epoch = schedule.take(everyone, int(schedule.steps_per_epoch[0]))
        # One transfer an epoch.
        rows, weights = (torch.as_tensor(part).to(device) for part in (epoch.rows, epoch.weights))
        for step, size in enumerate(epoch.sizes[:, 0].tolist()):
            yield rows[step, :, :size], weights[step, :, :size]


def _trainable(parameters: Any) -> list[Any]:
    return [parameter for parameter in parameters if parameter.requires_grad]


def _optimizer(recipe: Recipe, parameters: list[Any]) -> Any:
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


def _finish(module: Any) -> None:
    module.eval().requires_grad_(requires_grad=False)
    if not all(torch.isfinite(parameter).all() for parameter in module.parameters()):
        raise MemberFitError(
            "A module's weights became infinite in training. Use a lower lr, or standardize=True."
        )


@contextmanager
def seeded(seed: np.random.SeedSequence, branch: int, device: str) -> Iterator[None]:
    """Let torch's own chance come from a branch of a job's seed, and give the caller's back at the end."""
    child = np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, branch))
    with torch.random.fork_rng(devices=[torch.cuda.current_device()] if device == "cuda" else []):
        torch.manual_seed(int(child.generate_state(1, np.uint64)[0] >> np.uint64(1)))
        yield
