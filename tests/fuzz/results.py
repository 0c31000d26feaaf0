"""Folders of draws and parts of a study that are taken up again."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import minmargin as mm
from fuzz.changes import change_bytes, change_json, change_table, written
from fuzz.target import Change, Target
from minmargin.compare.sealed import write_sealed
from minmargin.experiments.study.cells import SCHEMA, Task
from minmargin.experiments.study.facts import read_facts
from minmargin.experiments.study.metrics import METRICS
from minmargin.experiments.study.parts import join_parts, read_results, strategies_played, write_part
from minmargin.experiments.study.problems import Problem, load_problem
from minmargin.files import write_json

_RNG = np.random.default_rng(0)
_X, _Y = _RNG.normal(size=(60, 3)), np.arange(60) % 2
_PROBLEM = "phoneme"


def _compare(folder: Path) -> mm.Comparison:
    return mm.compare(
        *(_X, _Y),
        strategies=["margin", "random"],
        batch_sizes=[5],
        n_draws=2,
        n_labeled=10,
        n_models=2,
        random_state=0,
        n_jobs=1,
        out=folder,
    )


def _write_draws(folder: Path) -> None:
    _compare(folder)


def _use_draws(folder: Path) -> Any:
    """Return what a comparison says; the figures of seconds are those on disk."""
    found = _compare(folder)
    return found.results.drop_columns(["seconds"]).to_pylist(), found.advice, str(found.curves)


def _check_draws(answer: Any) -> None:
    results, *_ = answer
    assert {each["draw"] for each in results} == {0, 1}, "draws that nobody played"


def _write_study(folder: Path) -> None:
    names = ["way", "problem", "n_labeled", "draw", "strategy", "batch_size"]
    for draw in range(2):
        rows = [
            {
                **dict(zip(names, ("logistic", _PROBLEM, 10, draw, strategy, size), strict=True)),
                **{metric.name: 0.5 + draw / 10 for metric in METRICS},
                "seconds": 1.0,
                "rules": "some rules",
            }
            for strategy, size in (("none", 0), ("margin", 5), ("random", 5))
        ]
        task = Task("logistic", _PROBLEM, 10, (draw,), ("margin", "random"))
        write_part(folder, task, pa.Table.from_pylist(rows, schema=SCHEMA))
    write_json(folder / "problems.json", {_PROBLEM: {"rows": 60, "rules": "some rules"}})
    np.savez_compressed(
        folder / f"{_PROBLEM}.npz", X=_X.astype(np.float16), y=_Y.astype(np.int16), names=np.array(["a", "b"])
    )


def _use_study(folder: Path) -> Any:
    """Return the results of a study's folder, joined, what is known of its problem, and the problem itself."""
    load_problem.cache_clear()
    problem = load_problem(folder, _PROBLEM)
    table = read_results(folder)
    strategies_played(table)
    join_parts(folder)
    return table.to_pylist(), read_facts(folder), _told(problem), read_results(folder).num_rows


def _told(problem: Problem) -> Any:
    return problem.fingerprint, problem.X.shape, problem.copies, problem.names.tolist()


def _check_study(answer: Any) -> None:
    results, *_ = answer
    assert all(isinstance(each["draw"], int) for each in results), "draws that have no number"


def _change(folder: Path, rng: random.Random) -> Change:
    path = rng.choice(sorted(each for each in folder.rglob("*") if each.is_file()))
    way = rng.random()
    if way < 0.4 or path.suffix not in {".json", ".parquet"}:
        words = change_bytes(path, rng)
        # What is missing is played or written anew.
        return Change(words, signed=path.suffix == ".json" or not path.exists())
    if path.suffix == ".json":
        content, words = change_json(json.loads(path.read_text()), rng)
        path.write_text(written(json.dumps(content)))
        return Change(words, signed=True)
    table, words = change_table(pq.read_table(path), rng)
    if way < 0.6:
        pq.write_table(table, path)
        return Change(
            words, signed="metadata" in words
        )  # without its checksum, a table is one of an earlier version
    try:
        write_sealed(path, table)
    except (pa.ArrowException, KeyError):  # what Parquet cannot hold, or we cannot sign
        path.write_bytes(b"")
    return Change(words, signed=True)


TARGETS = {
    "draws": Target("draws of `compare`", _write_draws, _change, _use_draws, _check_draws, share=0.5),
    "study": Target("parts and problems of the study", _write_study, _change, _use_study, _check_study),
}
