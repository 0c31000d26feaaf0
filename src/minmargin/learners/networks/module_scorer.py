"""Committees of modules: each is asked for the class scores of rows, one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minmargin.data.rows import ColumnBlock, Matrix
from minmargin.device import Device, Precision, require_torch
from minmargin.learners.networks.factories import FactoryName
from minmargin.learners.networks.module_rows import ModuleRows
from minmargin.learners.networks.stopping import Reached
from minmargin.margins import ScoreName, softmax

_BLOCK_FLOATS = 1 << 19  # inputs that a module is given at once: its inner layers may hold many times as many
_LARGEST_BLOCK = 4096

# torch spreads one call over all cores by itself, and a module may keep something from one call to the next.
_ONE_AT_A_TIME = Lock()


@dataclass(frozen=True)
class ModuleScorer:
    """Trained modules, asked one after the other.

    Attributes:
        base: the base, in evaluation mode.
        members: the K members.
        rows: what makes their input of rows.
        device: where they are.
        path: how they were trained.
        reached: what the base and each member reached that could be stopped, None for one that could not; None if
            none could.
        made_by: the name of the factory that made them; None if it has none that can be found again.
    """

    base: Any
    members: list[Any]
    rows: ModuleRows
    device: Device
    path: str
    reached: tuple[Reached | None, ...] | None = None
    made_by: FactoryName | None = None

    rowwise = False
    probabilistic = True
    multiplications = 0  # no screen

    @property
    def n_members(self) -> int:
        """K: how many members there are besides the base."""
        return len(self.members)

    @property
    def stopping(self) -> dict[str, Any] | None:
        """The epochs that models ran, and the best of each, for the manifest; None if none could be stopped."""
        if self.reached is None:
            return None
        base, *members = [None if each is None else each._asdict() for each in self.reached]
        return {"base": base, "members": members}

    def base_scores(self, X: NDArray[Any], *, device: Device = "cpu") -> NDArray[np.float64]:
        """Return (n, C): the class scores under the base."""
        rows = np.asarray(X)
        return self._class_scores(self.base, self.rows.make(rows), len(rows))

    def each_member(self, X: NDArray[Any], *, device: Device = "cpu") -> Iterator[NDArray[np.float64]]:
        """Return (n, C): the class scores under each member, one after the other."""
        rows = np.asarray(X)
        made = self.rows.make(rows)
        return (self._class_scores(member, made, len(rows)) for member in self.members)

    def screen(self, score: ScoreName, *, device: Device = "cpu", precision: Precision = "float32") -> None:
        """Return None: nothing faster than the modules themselves is known."""

    def vectors(self, X: NDArray[Any] | ColumnBlock) -> Matrix:
        """Return (n, D): the rows, flat, and standardized if that was asked for."""
        return self.rows.vectors(np.asarray(X))

    def _class_scores(self, module: Any, made: Any, n_rows: int) -> NDArray[np.float64]:
        torch = require_torch("A committee of modules")
        from minmargin.learners.networks.modules import as_tensors, call, take  # noqa: PLC0415 - imports torch

        size = min(_LARGEST_BLOCK, max(_BLOCK_FLOATS // self.rows.size, 1))
        logits = []
        with torch.no_grad():
            for start in range(0, n_rows, size):
                # A copy: a module may write into what it is given, and the rows may be the caller's own.
                block = as_tensors(take(made, slice(start, start + size)), self.device)
                with _ONE_AT_A_TIME:
                    outputs = call(module, block)
                logits.append(outputs.cpu().numpy())
        return softmax(np.concatenate(logits).astype(np.float64))
