"""`minmargin reproduce`: any experiment of the paper, or all of them, into a folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path

from minmargin.device import DeviceChoice, require_torch
from minmargin.errors import InputError
from minmargin.execution import Progress
from minmargin.experiments.paper import benchmark, gaussian, images, large, tuning
from minmargin.experiments.paper.experiment import Experiment
from minmargin.experiments.paper.run import run
from minmargin.experiments.paper.theorem import run_theorem
from minmargin.files import make_folder

#: What is played as a game, by name.
GAMES: dict[str, Callable[..., Experiment]] = {
    "gaussian": gaussian.experiment,
    "benchmark": benchmark.experiment,
    "tuning": tuning.experiment,
    "mnist": images.mnist,
    "fashion": images.fashion,
    "large": large.experiment,
}
THEOREM = "theorem"
NAMES = ("gaussian", THEOREM, *list(GAMES)[1:])


def reproduce(
    name: str,
    out: Path,
    *,
    quick: bool = False,
    draws: int | None = None,
    datasets: Sequence[str] | None = None,
    data_dir: Path | None = None,
    device: DeviceChoice = "auto",
    workers: int = 1,
    progress: Progress,
) -> None:
    """Run one experiment; its results are then in `out`. The arguments are those of `run`.

    With `quick`, it takes a few draws of data that needs no file: seconds instead of hours.
    """
    make_folder(out)
    if name == THEOREM:
        run_theorem(out, draws=draws, quick=quick, workers=workers, progress=progress)
        return
    if name not in GAMES:
        raise InputError(f"There is no experiment {name!r}. Use one of {', '.join(NAMES)}, or all.")
    experiment = GAMES[name](quick=quick)
    if experiment.needs_torch:
        require_torch(f"Experiment {name!r}")
    run(
        experiment,
        out,
        draws=draws,
        datasets=datasets,
        data_dir=data_dir,
        device=device,
        workers=workers,
        progress=progress,
    )


def can_run(name: str) -> bool:
    """Return whether everything that an experiment needs is installed."""
    return name == THEOREM or not GAMES[name]().needs_torch or find_spec("torch") is not None
