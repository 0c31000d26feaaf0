"""Progress for people to see: bars on a terminal, a line in a notebook, nothing in a pipe."""

from __future__ import annotations

import html
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from minmargin.execution import Progress, silent

_UNITS = {"training": "models", "scanning": "rows", "comparing": "steps", "playing": "draws"}
_NOTHING = {"text/html": "", "text/plain": ""}
_SECONDS_BETWEEN = 0.1  # a notebook is sent no more than ten pictures a second


@contextmanager
def show_progress() -> Iterator[Progress]:
    """Give what `progress=` takes, and show it until the block is left: one bar for each stage.

    >>> import minmargin as mm
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> with mm.show_progress() as progress:
    ...     batch = mm.select(X[::10], y[::10], X, batch_size=3, random_state=0, progress=progress)

    Jupyter shows the bars below the cell, and needs no widgets for it. There they vanish when the block is left; after
    an error they stay, and tell how far it came. Where nobody looks, in a pipe or a log file, nothing is written.
    """
    from rich.console import Console  # noqa: PLC0415 - only those who look at progress need it

    console = Console(stderr=True)
    if console.is_jupyter:
        with _in_notebook() as report:
            yield report
    else:
        with terminal_bars(console) as report:
            yield report


@contextmanager
def terminal_bars(console: Any, *columns: Any) -> Iterator[Progress]:
    """Give a function that reports progress to bars on a console, if that is a terminal.

    `columns` are what stands after each bar; without them it is how much is done, of how much, and how fast.
    """
    if not console.is_terminal:  # for which rich before 15 writes an empty line, even if it is disabled
        yield silent
        return
    from rich.progress import (  # noqa: PLC0415 - as above
        BarColumn,
        TaskID,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.progress import Progress as Bars  # noqa: PLC0415 - as above

    bars = Bars(
        TextColumn("{task.description:>10}"),
        BarColumn(),
        *(columns or [TextColumn("{task.fields[amount]}")]),
        TimeRemainingColumn(),
        console=console,
    )
    stages: dict[str, tuple[TaskID, Stage]] = {}

    def report(stage: str, done: int, total: int | None) -> None:
        if stage not in stages:
            stages[stage] = bars.add_task(stage, total=total, amount=""), Stage(stage)
        task, reached = stages[stage]
        reached.move(done, total)
        bars.update(task, completed=done, total=total, amount=reached.amount())

    with bars:
        yield report


@contextmanager
def _in_notebook() -> Iterator[Progress]:
    """Give a function that reports progress to a display of the notebook that this runs in."""
    from IPython.display import display  # noqa: PLC0415 - a notebook has it

    stages: dict[str, Stage] = {}
    # Raw, since IPython's HTML object leaves its own name in the notebook, where everything else has vanished.
    shown = display(_NOTHING, raw=True, display_id=True)
    last = 0.0

    def draw() -> None:
        nonlocal last
        last = time.monotonic()
        bars = "".join(stage.as_html() for stage in stages.values())
        lines = "\n".join(f"{stage.name}: {stage.amount()}" for stage in stages.values())
        shown.update({"text/html": bars, "text/plain": lines}, raw=True)

    def report(stage: str, done: int, total: int | None) -> None:
        stages.setdefault(stage, Stage(stage)).move(done, total)
        if time.monotonic() - last >= _SECONDS_BETWEEN:
            draw()

    try:
        yield report
    except BaseException:  # an interrupt, too
        draw()
        raise
    shown.update(_NOTHING, raw=True)


@dataclass
class Stage:
    """How far one stage has come, and how long it took."""

    name: str
    done: int = 0
    total: int | None = None
    _start: float = field(default_factory=time.monotonic)
    _seconds: float = 0.0

    def move(self, done: int, total: int | None) -> None:
        """Note what is done by now."""
        self.done, self.total = done, total
        self._seconds = time.monotonic() - self._start

    def amount(self) -> str:
        """Return how much is done, of how much, and how fast."""
        total = "" if self.total is None else f" of {self.total:,}"
        speed = f", {self.done / self._seconds:,.0f}/s" if self.done > self._seconds > 1 else ""
        return f"{self.done:,}{total} {_UNITS.get(self.name, '')}".rstrip() + speed

    def as_html(self) -> str:
        """Return a bar that every browser can draw, and the amount beside it."""
        extent = "" if self.total is None else f' max="{self.total}" value="{self.done}"'
        name = html.escape(self.name)
        return f"<div><progress{extent}></progress> {name}: {self.amount()}</div>"
