"""Training of modules: many of one kind at once, their parameters stacked, or one by a plain loop.

A stack is trained as each module would be alone: the sum of the modules' losses has the same derivatives, and an
optimizer that works element by element does not notice that its tensors are stacked. What cannot be stacked is
trained alone.
"""

from __future__ import annotations

import copy
import inspect
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from minmargin.errors import listing
from minmargin.learners.networks.jobs import NOISE, Job, Schedule
from minmargin.learners.networks.modules import (
    Examples,
    Recipe,
    call,
    finish,
    make_optimizer,
    make_schedule,
    seeded,
    take,
    trainable,
)
from minmargin.learners.networks.stopping import Reached, State, Watch

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
# So many batches of held-out rows are looked at together: without gradients they take less memory.
_VALIDATION_BATCHES = 4


def why_alone(modules: Sequence[Any], few: Examples, recipe: Recipe) -> str | None:
    """Return why modules like these, which one factory made, cannot be stacked; None if they can."""
    module = modules[0]
    if any(type(other) is not type(module) for other in modules):
        return (
            "the factory makes modules of several classes. Define the class outside of the factory, to train them "
            "together"
        )
    optimizer = make_optimizer(recipe, trainable(module.parameters()))
    if type(optimizer) not in {getattr(torch.optim, name) for name in _ELEMENTWISE}:
        return (
            f"{type(optimizer).__name__} is not known to work element by element. Use an optimizer that does, such "
            "as torch.optim.Adam or SGD, to train them together"
        )
    with seeded(np.random.SeedSequence(0), NOISE, few.device.type):
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
                twice = Examples(_twice(few.X), torch.stack([few.codes, few.codes]))
                weights = torch.ones_like(twice.codes, dtype=torch.float32)
                _Stack.of([module, module], recipe).losses(twice.X, twice.codes, weights).backward()
        except (RuntimeError, ValueError, UserWarning) as error:
            return f"torch cannot stack a layer of the module ({str(error).splitlines()[0].split('. ')[0]})"
    return None


def _changed_buffers(module: Any, X: Any) -> list[str]:
    tried = copy.deepcopy(module).train()
    with torch.no_grad():
        call(tried, X)
    after = dict(tried.named_buffers())
    return [name for name, was in module.named_buffers() if not torch.equal(was, after[name])]


def _twice(X: Any) -> Any:
    if isinstance(X, dict):
        return {name: _twice(each) for name, each in X.items()}
    return torch.stack([X, X])


def train_alone(module: Any, examples: Examples, job: Job, recipe: Recipe) -> Reached | None:
    """Train one module, by a plain loop, and return what it reached, if it could be stopped."""
    module.train()
    optimizer = make_optimizer(recipe, trainable(module.parameters()))
    # Some optimizers look at the loss several times a step, and take a function for that.
    asks_again = "closure" in inspect.signature(optimizer.step).parameters
    schedule = make_schedule(recipe, optimizer, _count_steps(job, recipe))
    watch = Watch([job], recipe.patience)
    with seeded(job.seed, NOISE, examples.device.type):
        for steps in _epochs([job], recipe, examples.device):
            for index, weights in steps:

                def loss(rows: Any = index[0], weights: Any = weights[0]) -> Any:
                    optimizer.zero_grad()
                    of_rows = recipe.loss(call(module, take(examples.X, rows)), examples.codes[rows])
                    mean = (of_rows * weights).sum()
                    mean.backward()
                    return mean

                if asks_again:
                    optimizer.step(loss)
                else:
                    loss()
                    optimizer.step()
                if schedule is not None:
                    schedule.step()
            for place in watch.running:
                now = _validation_loss(partial(call, module.eval()), examples, job, recipe)
                watch.see(place, now, lambda: copy.deepcopy(module.state_dict()))
                module.train()
            if watch.done:
                break
    best = watch.best(0)
    if best is not None:
        module.load_state_dict(best)
    finish(module)
    return watch.reached.get(0)


def train_stacked(
    modules: Sequence[Any],
    examples: Examples,
    jobs: Sequence[Job],
    recipe: Recipe,
    *,
    on_trained: Callable[[int], None],
) -> list[Reached | None]:
    """Train modules of one kind together, each by its own job, and return what each reached, if it could be stopped.

    All jobs have equally many rows. A module that has stopped stays in the stack until all have: what is made of it
    there is not looked at. `on_trained` is told how many modules' worth of training is done.
    """
    start = 0
    reached: list[Reached | None] = []
    n_steps = _count_steps(jobs[0], recipe)
    for size in group_sizes(modules):
        chosen, theirs = modules[start : start + size], jobs[start : start + size]
        done, step = start, 0
        stack = _Stack.of(chosen, recipe)
        schedule = make_schedule(recipe, stack.optimizer, n_steps)
        watch = Watch(theirs, recipe.patience)
        with seeded(theirs[0].seed, NOISE, examples.device.type):
            for steps in _epochs(theirs, recipe, examples.device):
                for index, weights in steps:
                    stack.optimizer.zero_grad()
                    stack.losses(take(examples.X, index), examples.codes[index], weights).backward()
                    stack.optimizer.step()
                    if schedule is not None:
                        schedule.step()
                    step += 1
                    if start + size * step // n_steps > done:
                        done = start + size * step // n_steps
                        on_trained(done)
                for place in watch.running:
                    now = _validation_loss(partial(stack.ask, place), examples, theirs[place], recipe)
                    watch.see(place, now, partial(stack.state, place))
                if watch.done:
                    break
        stack.write_back(chosen, watch)
        start += size
        if done < start:  # they stopped early
            on_trained(start)
        reached += [watch.reached.get(place) for place in range(size)]
    return reached


def _validation_loss(ask: Callable[[Any], Any], examples: Examples, job: Job, recipe: Recipe) -> float:
    """Return the mean loss of a job's held-out rows under a model in evaluation mode."""
    rows = torch.as_tensor(job.validation, device=examples.device)
    given = np.ones(len(rows)) if job.validation_weights is None else job.validation_weights
    weights = torch.as_tensor(given, dtype=torch.float32, device=examples.device)
    size = _VALIDATION_BATCHES * recipe.batch_size
    total = 0.0
    with torch.no_grad():
        for start in range(0, len(rows), size):
            part = rows[start : start + size]
            losses = recipe.loss(ask(take(examples.X, part)), examples.codes[part])
            total += float((losses * weights[start : start + size]).sum())
    return total / len(rows)


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
        optimizer = make_optimizer(recipe, trainable(parameters.values()))
        # A copy: one whose layers are used twice would be left with parameters that are not its own.
        return cls(copy.deepcopy(modules[0]).train(), parameters, buffers, optimizer, recipe.loss)

    def losses(self, X: Any, codes: Any, weights: Any) -> Any:
        """Return the weighted sum of all modules' losses; X: (G, b, ...), or such tensors by name."""
        # Different randomness: a dropout layer draws for every module by itself.
        each = torch.vmap(self._loss_of_one, randomness="different")
        # The faster kernels of attention cannot be stacked.
        with sdpa_kernel(SDPBackend.MATH):
            return each(self.parameters, self.buffers, X, codes, weights).sum()

    def _loss_of_one(self, parameters: Any, buffers: Any, X: Any, codes: Any, weights: Any) -> Any:
        outputs = self._call(parameters, buffers, X)
        return (self.loss(outputs, codes) * weights).sum()

    def _call(self, parameters: State, buffers: State, X: Any) -> Any:
        args, named = ((), X) if isinstance(X, dict) else ((X,), {})
        return torch.func.functional_call(self.template, (parameters, buffers), args, named)

    def ask(self, place: int, X: Any) -> Any:
        """Return the outputs of one module in evaluation mode."""
        buffers = {name: each[place] for name, each in self.buffers.items()}
        self.template.eval()
        with sdpa_kernel(SDPBackend.MATH):
            outputs = self._call(self._parameters_of(place), buffers, X)
        self.template.train()
        return outputs

    def state(self, place: int) -> State:
        """Return a copy of the parameters of one module."""
        return {name: each.detach().clone() for name, each in self._parameters_of(place).items()}

    def write_back(self, modules: Sequence[Any], watch: Watch) -> None:
        """Give each module its best parameters, or its last where none are best."""
        for place, module in enumerate(modules):
            trained = watch.best(place) or self._parameters_of(place)
            with torch.no_grad():
                for name, parameter in module.named_parameters():
                    parameter.copy_(trained[name])
            finish(module)

    def _parameters_of(self, place: int) -> State:
        return {name: each[place] for name, each in self.parameters.items()}


def _count_steps(job: Job, recipe: Recipe) -> int:
    """Return how many steps a job takes that is not stopped."""
    return recipe.epochs * -(-len(job.rows) // recipe.batch_size)


def _epochs(jobs: Sequence[Job], recipe: Recipe, device: Any) -> Iterator[Iterator[tuple[Any, Any]]]:
    """Return for every epoch its steps: the rows (G, b) that each job looks at, and their share of its loss."""
    generators = [np.random.default_rng(job.seed) for job in jobs]
    schedule = Schedule(jobs, generators, epochs=recipe.epochs, batch_size=recipe.batch_size)
    everyone = np.arange(len(jobs))
    for _ in range(recipe.epochs):
        epoch = schedule.take(everyone, int(schedule.steps_per_epoch[0]))
        # One transfer an epoch. No batch is padded, since all jobs have equally many rows.
        rows, weights = (torch.as_tensor(part).to(device) for part in (epoch.rows, epoch.weights))
        sizes = epoch.sizes[:, 0].tolist()
        yield ((rows[step, :, :size], weights[step, :, :size]) for step, size in enumerate(sizes))
