"""Playing a plan: draws that are not on disk yet are played, by several processes if that is worth it."""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import pyarrow as pa
from joblib import Parallel, delayed, effective_n_jobs

from minmargin.checks import check_n_jobs
from minmargin.compare.comparison import Comparison
from minmargin.compare.plan import Plan
from minmargin.compare.played import schema_for
from minmargin.compare.store import Store
from minmargin.errors import InputError, warn
from minmargin.execution import Progress, out_of_reach
from minmargin.fields import Fields, parse_json
from minmargin.files import make_folder, write_json
from minmargin.manifest import describe_software
from minmargin.skew import ACCURACY

STAGE = "playing"
_DRAWS, _SETTINGS = "draws", "settings.json"
_WORTH_PROCESSES = 8.0  # seconds of work left; a process takes two or three to start

#: Where a warning comes from, and of which kind it is.
_Origin: TypeAlias = tuple[str, int, type[Warning]]


class _Draw(NamedTuple):
    """A draw that was played."""

    number: int
    table: pa.Table
    warned: dict[_Origin, str]


def run(plan: Plan, folder: Path | None, *, n_jobs: int | None, progress: Progress) -> Comparison:
    """Return the comparison that a plan gives.

    A draw gives the same numbers whenever and by whichever process it is played, so what is in the folder already is
    taken as it is.
    """
    workers = effective_n_jobs(check_n_jobs(n_jobs))
    store = None if folder is None else _store(plan, folder)
    tables: dict[int, pa.Table] = {}
    to_do = [draw for draw in range(plan.n_draws) if store is None or not store.has(draw)]
    done = plan.n_draws - len(to_do)
    progress(STAGE, done, plan.n_draws)
    warned: Counter[_Origin] = Counter()
    messages: dict[_Origin, str] = {}
    for draw in _play_all(plan, to_do, workers):
        if store is None:
            tables[draw.number] = draw.table
        else:
            store.write(draw.number, draw.table)
        warned.update(draw.warned.keys())
        messages = draw.warned | messages
        done += 1
        progress(STAGE, done, plan.n_draws)
    for origin, n_times in warned.items():
        often = f"In {n_times:,} of {plan.n_draws:,} draws: "
        warn(often + messages[origin], origin[2])
    if store is None:
        results = pa.concat_tables(tables[draw] for draw in sorted(tables))
    else:
        results = store.read(range(plan.n_draws), schema_for(plan.scorings))
    results = results.unify_dictionaries().combine_chunks()
    return Comparison(results, {**plan.settings, "versions": dict(describe_software())})


def seed_of(folder: Path | None) -> int | None:
    """Return the seed of the draws that are in a folder; None if there are none yet."""
    found = _settings_of(folder)
    return None if found.optional("seed", int) is None else found.size("seed")


def scoring_of(folder: Path | None) -> str | None:
    """Return "accuracy" if the draws that are in a folder have no other score, so that they can be taken up.

    Otherwise None, which stands for what is played by default.
    """
    return ACCURACY if _settings_of(folder).value("scoring") == ACCURACY else None


def _settings_of(folder: Path | None) -> Fields:
    """Return the settings of the draws that are in a folder; none if there are no draws yet."""
    path = Path() if folder is None else folder / _DRAWS / _SETTINGS

    def wrong(reason: str) -> InputError:
        return InputError(
            f"{str(path)!r} does not tell the settings of the draws beside it ({reason}). Put it back, or use another "
            "folder."
        )

    if folder is None or not path.exists():
        return Fields({}, wrong)
    try:
        return Fields(parse_json(path.read_bytes()), wrong)
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise wrong(str(error)) from error


def _store(plan: Plan, folder: Path) -> Store:
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{str(folder)!r} is a file. Name a folder for the draws.")
    store = Store(folder / _DRAWS, "", plan.rules)
    if not (folder / _DRAWS / _SETTINGS).exists():
        make_folder(folder / _DRAWS)
        write_json(folder / _DRAWS / _SETTINGS, dict(plan.settings))
    return store


def _play_all(plan: Plan, draws: Sequence[int], workers: int) -> Iterator[_Draw]:
    """Return draws as they are done.

    The first is played here: what cannot work fails at once, and the time it takes tells whether other processes are
    worth starting. A GPU is not shared with others.
    """
    if not draws:
        return
    start = time.perf_counter()
    yield _play(plan, draws[0])
    rest = draws[1:]
    seconds = len(rest) * (time.perf_counter() - start)
    if plan.device == "cuda" or workers == 1 or seconds < _WORTH_PROCESSES:
        yield from (_play(plan, draw) for draw in rest)
        return
    side_by_side = Parallel(
        n_jobs=min(workers, len(rest)), return_as="generator_unordered", pre_dispatch="2*n_jobs"
    )
    play: Callable[..., Any] = delayed(_play)
    with out_of_reach():
        played = side_by_side(play(plan, draw) for draw in rest)
    yield from played


def _play(plan: Plan, draw: int) -> _Draw:
    """Return a draw, and what it warned of: many draws would warn of the same."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        table = plan.play(draw)
    warned = {(each.filename, each.lineno, each.category): str(each.message) for each in caught}
    return _Draw(draw, table, warned)
