"""Optimizers and schedules of the learning rate that have a name. torch is imported only to make them."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, Literal, TypeAlias

from minmargin.device import require_torch

#: The optimizers that have a name.
OptimizerName: TypeAlias = Literal["adam", "adamw", "sgd"]

#: The schedules that have a name: the learning rate falls to zero along half a cosine, or a line.
ScheduleName: TypeAlias = Literal["cosine", "linear"]

_SGD_MOMENTUM = 0.9


def name_optimizer(name: OptimizerName, lr: float) -> Callable[[list[Any]], Any]:
    """Return what makes the optimizer of this name of a list of parameters."""
    torch = require_torch("Training")
    if name == "adamw":
        return partial(torch.optim.AdamW, lr=lr)
    if name == "sgd":
        return partial(torch.optim.SGD, lr=lr, momentum=_SGD_MOMENTUM)
    return partial(torch.optim.Adam, lr=lr, betas=(0.9, 0.999), eps=1e-7)


def name_schedule(name: ScheduleName, warmup: float) -> Callable[[Any, int], Any]:
    """Return what makes the schedule of this name of an optimizer and the number of its steps."""
    torch = require_torch("Training")

    def make(optimizer: Any, n_steps: int) -> Any:
        share = partial(lr_share, name=name, n_steps=n_steps, warmup=warmup)
        return torch.optim.lr_scheduler.LambdaLR(optimizer, share)

    return make


def lr_share(step: int, *, name: ScheduleName, n_steps: int, warmup: float) -> float:
    """Return which part of the learning rate a step has; steps are counted from 0.

    It rises in equal parts over the first `warmup` of all steps, and falls over the others.

    >>> [lr_share(step, name="linear", n_steps=6, warmup=1 / 3) for step in range(6)]
    [0.5, 1.0, 1.0, 0.75, 0.5, 0.25]
    """
    n_warm = round(warmup * n_steps)
    if step < n_warm:
        return (step + 1) / n_warm
    gone = (step - n_warm) / max(n_steps - n_warm, 1)
    return 1.0 - gone if name == "linear" else (1.0 + math.cos(math.pi * gone)) / 2.0
