"""A program whose children run the command line, each with a fate of its own.

It reads on standard input, in JSON, a line for each: the arguments, the folder to run in, and the fate. It says how
the child ended and which points it reached. Only the program itself pays for the start of Python and the imports.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

import minmargin as mm

sys.path.insert(0, str(Path(__file__).parents[1]))

from faults import sqlite_points
from faults.points import Fate, Points
from faults.program import make_small_steps
from faults.stored_server import StoredServer
from minmargin import cli
from minmargin.committee.storage import folders
from minmargin.integrations.label_studio.server import Server

_OUTPUT, _ERRORS, _REACHED = "output.txt", "errors.txt", "reached.json"
SERVER = "server.json"
SAVE = "save-committee"


def main() -> None:
    """Run the command lines that are asked for."""
    make_small_steps(pause=0.0)
    for line in sys.stdin:
        told = json.loads(line)
        notes = Path(told["notes"])
        if told["forked"]:
            (notes / _REACHED).write_text("[]")
            child = os.fork()
            if not child:
                _play(told, notes)
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        else:
            os.chdir(told["folder"])
            with (
                (notes / _OUTPUT).open("w") as sys.stdout,
                (notes / _ERRORS).open("w") as sys.stderr,
            ):
                status = _run(told["arguments"], notes / SERVER, None)
            sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__
        answer = {
            "status": status,
            "output": (notes / _OUTPUT).read_text(),
            "errors": (notes / _ERRORS).read_text(),
            "reached": json.loads((notes / _REACHED).read_text()) if told["forked"] else [],
        }
        print(json.dumps(answer), flush=True)  # noqa: T201 - for whoever started it


def _play(told: dict[str, Any], notes: Path) -> None:
    """Be the child: run, and leave."""
    for descriptor, name in ((1, _OUTPUT), (2, _ERRORS)):
        file = os.open(notes / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, descriptor)
        os.close(file)
    os.chdir(told["folder"])
    points = Points(Path(told["folder"]), Fate(*told["fate"]))
    points.install()
    sqlite_points.install(points)
    status = 3
    try:
        status = _run(told["arguments"], notes / SERVER, points)
    except BaseException:  # noqa: BLE001 - the parent's code must not go on here
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        (notes / _REACHED).write_text(json.dumps(points.names))
        os._exit(status)


def _run(arguments: list[str], server: Path, points: Points | None) -> int:
    """Return the exit status of a command."""
    Server.at = lambda *_, **__: nullcontext(StoredServer(server, points))  # type: ignore[method-assign]
    if arguments[0] == SAVE:
        return _save(*arguments[1:])
    sys.argv = ["minmargin", *arguments]
    return cli.run()


def _save(labeled: str, folder: str, seed: str, *how: str) -> int:
    """Save a committee, which no command does, and end as a command would; "in-steps" as on a simple file system."""
    if how:
        folders._exchange = lambda one, other: False
    rows = pq.read_table(labeled)
    committee = mm.fit_committee(
        rows.drop_columns(["y"]), rows["y"].to_numpy(), n_models=3, random_state=int(seed), n_jobs=1
    )
    try:
        committee.save(folder)
    except mm.InputError as error:
        print(f"minmargin: {error}", file=sys.stderr)  # noqa: T201 - where errors go
        return 1
    return 0


if __name__ == "__main__":
    main()
