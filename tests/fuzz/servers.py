"""A fuzzer of servers: push and pull against a Label Studio whose answers are bent, by bytes and by meaning.

Every behaviour is a kind of request and one way to bend the answers to it. Rows are pushed, labels pulled, and more
rows pushed, each time with bent answers first. What may come of it:

- right: everything is as if nothing had been bent;
- refused: an error of ours in one line that names the server and shows no part of a token. Then the server mends its
  ways, and the same call must be right: nothing is lost, and no row is there twice.

Anything else is a fault: another exception, a wrong result that nobody is told of, a call that ends too late, or too
much memory (the behaviours run in a process of its own, which may have half a gigabyte beyond what it began with).

Run as `python tests/fuzz/servers.py [--seed N] [--most N] [--seconds S] [--json PATH]`.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from fuzz.server_behaviours import Behaviour, bend_all, text_of
from made_up_batch import made_up_batch
from minmargin.errors import MinMarginError
from minmargin.integrations.items import Showing
from minmargin.integrations.label_studio import connection, pull, push, server
from played_answers import UNKNOWN
from played_label_studio import ACCESS, PlayedLabelStudio, Sent

#: A call makes a few requests, and a list is asked for anew in smaller pages where one is too large.
MOST_SECONDS = 15.0
MORE_BYTES = 512 << 20


@dataclass
class Figures:
    """What came of the behaviours that were tried."""

    target: str = "Label Studio"
    behaviours: int = 0
    right: int = 0
    refused: int = 0
    raw: int = 0
    hangs: int = 0


_N_FIRST, _N_MORE = 12, 3


def _choose(data: dict[str, Any]) -> str | None:
    return [None, "card", "cash"][data["rank"] % 3]


def _push(played: PlayedLabelStudio, n: int) -> bool:
    batch = made_up_batch(n)
    pushed = push(Showing.of(batch), url=played.url, project="mine", token=UNKNOWN)
    there = played.rows() == batch.ids.tolist() and len(played.projects) == 1
    return there and (pushed.project, pushed.title, pushed.n_added + pushed.n_present) == (1, "mine", n)


def _pull(played: PlayedLabelStudio) -> bool:
    played.annotate(_choose)
    pulled = pull(url=played.url, project="mine", token=UNKNOWN)
    wanted = {task["data"]["row_id"]: _choose(task["data"]) for task in played.tasks.values()}
    labels = dict(zip(pulled.labels["id"].to_pylist(), pulled.labels["label"].to_pylist(), strict=True))
    waiting = dict.fromkeys(pulled.waiting)
    return {**labels, **waiting} == wanted and pulled.n_rows == len(wanted)


_STAGES: tuple[Callable[[PlayedLabelStudio], bool], ...] = (
    lambda played: _push(played, _N_FIRST),
    _pull,
    lambda played: _push(played, _N_FIRST + _N_MORE),
)


def behaviours() -> list[Behaviour]:
    """Return all behaviours, in a fixed order."""
    found: dict[str, Any] = {}

    def keep(kind: str, _: int, sent: Sent) -> None:
        if kind not in found or len(text_of(sent.content)) > len(text_of(found[kind])):
            found[kind] = sent.content

    with PlayedLabelStudio(keep).listening() as played:
        for stage in _STAGES:
            stage(played)
    return bend_all(found)


def play(behaviour: Behaviour) -> tuple[str, str]:
    """Return what comes of a behaviour, right, refused, raw or hangs, and in the last two cases how."""

    def bend(kind: str, _: int, sent: Sent) -> None:
        if kind == behaviour.kind:
            behaviour.change(sent)

    outcome = "right"
    with PlayedLabelStudio().listening() as played:
        for place, stage in enumerate(_STAGES, start=1):
            played.bend, began = bend, time.monotonic()
            _set_limits(silent=0.2, call=0.6)
            fate, how = _try(stage, played)
            if fate == "raw":
                return "raw", f"call {place}: {how}"
            seconds = time.monotonic() - began
            if seconds > MOST_SECONDS:
                return "hangs", f"call {place} took {seconds:.0f} seconds"
            outcome = "refused" if fate == "refused" else outcome
            played.bend = None
            _set_limits(silent=60.0, call=60.0)
            fate, how = _try(stage, played)
            if fate != "right":
                return "raw", f"call {place}, after the server had mended its ways: {how}"
    return outcome, ""


def _try(stage: Callable[[PlayedLabelStudio], bool], played: PlayedLabelStudio) -> tuple[str, str]:
    """Return what comes of a call, right, refused or raw, and what was said."""
    try:
        return ("right", "") if stage(played) else ("raw", "wrong, and nobody is told")
    except MinMarginError as error:
        wrong = _wrong_with(str(error), played.url)
        return ("raw", f"{wrong}: {error}") if wrong else ("refused", str(error))
    except Exception as error:  # noqa: BLE001 - what this is after
        return "raw", f"{type(error).__name__}: {str(error)[:200]}"


def _set_limits(*, silent: float, call: float) -> None:
    connection.SILENT_SECONDS, connection.CALL_SECONDS = silent, call


def _wrong_with(message: str, url: str) -> str:
    """Return what an error lacks, or shows; empty if it is as it should be."""
    if url not in message:
        return "the server is not named"
    if len(message.splitlines()) != 1 or len(message) > 1000:
        return "more than a line"
    for token in (UNKNOWN, ACCESS):
        parts = {token[start : start + 6].lower() for start in range(len(token) - 5)}
        if any(part in message.lower() for part in parts):
            return "a part of a token is shown"
    return ""


def fuzz(*, seed: int, most: int | None = None, seconds: float | None = None) -> tuple[Figures, list[str]]:
    """Return the figures of some behaviours in an order by chance, and what was wrong, one line each."""
    found = behaviours()
    random.Random(seed).shuffle(found)  # noqa: S311 - a fixed order
    figures, faults = Figures(), []
    began = time.monotonic()
    for behaviour in found[:most]:
        if seconds is not None and time.monotonic() - began > seconds:
            break
        outcome, how = play(behaviour)
        figures.behaviours += 1
        setattr(figures, outcome, getattr(figures, outcome) + 1)
        if how:
            faults.append(f"{behaviour.kind}, {behaviour.name}: {how}")
    return figures, faults


def fuzz_apart(
    *, seed: int, most: int | None = None, seconds: float | None = None
) -> tuple[Figures, list[str]]:
    """Return what `fuzz` does, from a process with bounded memory, which is ended if it hangs."""
    options = {"--seed": seed, "--most": most, "--seconds": seconds}
    line = [str(part) for name, value in options.items() if value is not None for part in (name, value)]
    limit = 60 + 4 * (seconds or 120)
    try:
        run = subprocess.run(
            [sys.executable, __file__, "--here", *line],
            capture_output=True,
            text=True,
            timeout=limit,
            check=False,
            env={
                **os.environ,
                "MALLOC_ARENA_MAX": "2",
            },  # or each thread takes addresses for a heap of its own
        )
    except subprocess.TimeoutExpired:
        return Figures(hangs=1), [f"not done after {limit:.0f} seconds"]
    if run.returncode not in {0, 1}:
        return Figures(raw=1), [f"the process ended with {run.returncode}: {run.stderr[-500:]}"]
    said = json.loads(run.stdout.splitlines()[-1])
    return Figures(**said), run.stderr.splitlines()


def _bound_memory() -> None:
    """Let this process have half a gigabyte more than it has, and no more."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MORE_BYTES,) * 2)


def _shrink() -> None:
    """Make pages and answers small, so that a conversation has several of each."""
    server._PAGE_SIZES = (5, 2, 1)
    connection.MOST_BYTES = 4 << 20


def main() -> int:
    """Try behaviours, print the figures in JSON and, on stderr, what was wrong; return 1 if something was."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--most", type=int, help="try so many behaviours; default: all")
    parser.add_argument("--seconds", type=float, help="begin none after so many seconds")
    parser.add_argument("--json", type=Path, help="write the figures here, too")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    budget = {"seed": asked.seed, "most": asked.most, "seconds": asked.seconds}
    if asked.here:
        _shrink()
        _bound_memory()
        figures, faults = fuzz(**budget)
    else:
        figures, faults = fuzz_apart(**budget)
    sys.stderr.writelines(f"{fault}\n" for fault in faults)
    sys.stdout.write(json.dumps(asdict(figures)) + "\n")
    if asked.json is not None:
        asked.json.parent.mkdir(parents=True, exist_ok=True)
        asked.json.write_text(json.dumps(asdict(figures)) + "\n")
    return 1 if faults else 0


if __name__ == "__main__":
    raise SystemExit(main())
