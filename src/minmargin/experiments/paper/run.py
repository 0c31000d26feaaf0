"""Running an experiment: draws that are not on disk yet are played, and written as soon as they are done."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from minmargin.compare.outcome import Outcome
from minmargin.compare.store import Store
from minmargin.device import DeviceChoice, resolve_device
from minmargin.errors import InputError
from minmargin.execution import Progress, out_of_reach
from minmargin.experiments.paper.experiment import Experiment, Setting
from minmargin.experiments.paper.results import SCHEMA, Results
from minmargin.files import write_json
from minmargin.manifest import describe_software

_GPU_THREADS = 4  # draws that are picked for at a time on a GPU


class _Task(NamedTuple):
    """Some draws of a setting, that are played together."""

    setting: Setting
    draws: list[int]


def run(
    experiment: Experiment,
    out: Path,
    *,
    draws: int | None = None,
    datasets: Sequence[str] | None = None,
    data_dir: Path | None = None,
    device: DeviceChoice = "auto",
    workers: int = 1,
    progress: Progress,
) -> Results:
    """Play an experiment and return its results, which are then in `out`.

    A draw gives the same numbers whenever and by whichever worker it is played, so a run that was interrupted is
    taken up where it stopped.

    Args:
        experiment: what to play.
        out: the folder for results: NAME.parquet, and how they were made in NAME.json.
        draws: how many of each setting; as many as the paper has if not given.
        datasets: only these.
        data_dir: where data is looked for first.
        device: where networks are trained: "auto", "cpu" or "cuda".
        workers: how many draws are played at a time, where no GPU is used.
        progress: told of draws as they are done.
    """
    start = time.perf_counter()
    n_draws = experiment.n_draws if draws is None else draws
    settings = _settings(experiment, datasets)
    stores = {id(setting): _store(experiment, setting, out) for setting in settings}
    on_gpu = experiment.needs_torch and resolve_device(device) == "cuda"
    at_a_time = experiment.at_a_time if on_gpu else 1
    tasks = []
    for setting in settings:
        to_do = [draw for draw in range(n_draws) if not stores[id(setting)].has(draw)]
        tasks += [_Task(setting, to_do[at : at + at_a_time]) for at in range(0, len(to_do), at_a_time)]
    total = n_draws * len(settings)
    done = total - sum(len(task.draws) for task in tasks)
    progress(experiment.name, done, total)
    for number, outcomes in _play_all(tasks, data_dir, on_gpu=on_gpu, workers=workers):
        task = tasks[number]
        for draw, of_draw in zip(task.draws, outcomes, strict=True):
            stores[id(task.setting)].write(draw, _results(experiment, task.setting, draw, of_draw).table)
        done += len(task.draws)
        progress(experiment.name, done, total)
    results = Results.join(Results(stores[id(setting)].read(range(n_draws), SCHEMA)) for setting in settings)
    results.write(out / f"{experiment.name}.parquet")
    _describe(experiment, out, n_draws, time.perf_counter() - start if tasks else 0.0, on_gpu=on_gpu)
    return results


def _settings(experiment: Experiment, datasets: Sequence[str] | None) -> list[Setting]:
    known = list(dict.fromkeys(setting.dataset for setting in experiment.settings))
    unknown = [name for name in datasets or () if name not in known]
    if unknown:
        raise InputError(
            f"Experiment {experiment.name!r} has no dataset {unknown[0]!r}. It has {', '.join(known)}."
        )
    return [setting for setting in experiment.settings if datasets is None or setting.dataset in datasets]


def _store(experiment: Experiment, setting: Setting, out: Path) -> Store:
    return Store(out / experiment.name, f"{setting.dataset}.{setting.variant}", setting.rules)


def _results(experiment: Experiment, setting: Setting, draw: int, outcomes: Sequence[Outcome]) -> Results:
    return Results.of_draw(
        outcomes, experiment=experiment.name, dataset=setting.dataset, variant=setting.variant, draw=draw
    )


def _play_all(
    tasks: Sequence[_Task], data_dir: Path | None, *, on_gpu: bool, workers: int
) -> Iterator[tuple[int, list[list[Outcome]]]]:
    """Return the number of each task and its outcomes, as they are done."""
    if on_gpu or workers == 1:
        device = "cuda" if on_gpu else "cpu"
        threads = {"n_threads": _GPU_THREADS, "n_jobs": 4} if on_gpu else {}
        for number, task in enumerate(tasks):
            yield _play(number, task, data_dir, device=device, **threads)
        return
    from joblib import Parallel, delayed  # noqa: PLC0415 - only here

    side_by_side = Parallel(n_jobs=workers, return_as="generator_unordered", pre_dispatch="2*n_jobs")
    play: Callable[..., Any] = delayed(_play)
    with out_of_reach():
        played = side_by_side(play(number, task, data_dir, device="cpu") for number, task in enumerate(tasks))
    yield from played


def _play(number: int, task: _Task, data_dir: Path | None, **how: Any) -> tuple[int, list[list[Outcome]]]:
    setting = task.setting
    deals = [setting.deal(draw, data_dir) for draw in task.draws]
    return number, setting.game.play(deals, **how)


def _describe(experiment: Experiment, out: Path, n_draws: int, seconds: float, *, on_gpu: bool) -> None:
    """Write how the results were made; the seconds of a run that was taken up again add up."""
    path = out / f"{experiment.name}.json"
    before = json.loads(path.read_text())["seconds"] if path.exists() else 0.0
    write_json(
        path,
        {
            "experiment": experiment.name,
            "draws": n_draws,
            "seconds": round(before + seconds, 1),
            "date": datetime.now(UTC).date().isoformat(),
            "machine": _machine(on_gpu=on_gpu),
            "versions": describe_software(),
        },
    )


def _machine(*, on_gpu: bool) -> str:
    model = next(
        (line.split(":", 1)[1].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")),
        platform.machine(),
    )
    described = f"{os.cpu_count()} cores, {model}"
    if on_gpu:
        import torch  # noqa: PLC0415 - an extra

        described += f", {torch.cuda.get_device_name()}"
    return described


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text().splitlines()
    except OSError:
        return []
