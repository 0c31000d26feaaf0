"""`minmargin select`: pick the rows to label next from files."""

from __future__ import annotations

import fnmatch
import importlib
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from minmargin.atomic import write_json
from minmargin.batch import writer_for
from minmargin.cli.app import app
from minmargin.cli.progress import progress_bars
from minmargin.cli.show import make_console, show_batch
from minmargin.errors import InputError
from minmargin.learners import LEARNERS, is_module
from minmargin.pools import find_files
from minmargin.selection import select
from minmargin.strategies import resolve_strategy

# The leading \\b keeps the lines as they are, so that the example can be copied.
_EXAMPLE = """\b
Example:
  minmargin select --labeled labeled.csv --label-column y \\
                   --pool 'pool/*.parquet' --batch-size 1000 --out batch.csv
"""


class PreprocessChoice(StrEnum):
    """What `--preprocess` takes."""

    AUTO = "auto"
    NONE = "none"


@app.command("select", epilog=_EXAMPLE)
def select_command(
    labeled: Annotated[
        list[str],
        typer.Option(metavar="PATH", help="Labeled rows: Parquet, CSV or Feather; repeat for more."),
    ],
    label_column: Annotated[str, typer.Option(help="The labeled files' column that holds the class.")],
    pool: Annotated[
        list[str],
        typer.Option(metavar="PATH", help="Candidates: files, a folder or a quoted glob; repeat for more."),
    ],
    batch_size: Annotated[int, typer.Option(help="How many rows to pick.")],
    out: Annotated[Path, typer.Option(help="Where the batch goes: .parquet, .csv, .jsonl or .feather.")],
    strategy: Annotated[str, typer.Option(help="How to pick; see 'minmargin strategies'.")] = "min-margin",
    learner: Annotated[
        str,
        typer.Option(
            help=f"{', '.join(LEARNERS)}, or package.module:factory of a scikit-learn classifier or of "
            "torch modules."
        ),
    ] = "logistic",
    n_models: Annotated[int, typer.Option(help="K: members trained on bootstrap draws.")] = 25,
    bootstrap_fraction: Annotated[float, typer.Option(help="beta: size of a draw, per class.")] = 1.0,
    features: Annotated[
        list[str] | None,
        typer.Option(metavar="NAMES", help="Feature columns, comma-separated or repeated; default: all."),
    ] = None,
    id_column: Annotated[str | None, typer.Option(help="The pool's column that identifies a row.")] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES", help="Pool columns to carry into the batch, comma-separated or repeated."
        ),
    ] = None,
    preprocess: Annotated[
        PreprocessChoice | None,
        typer.Option(
            help="auto: impute and standardize numbers, one-hot encode texts. "
            "Default: auto, but none for a package.module:factory.",
        ),
    ] = None,
    prefilter: Annotated[
        int | None, typer.Option(help="For greedy strategies: keep only this many rows, by lowest margin.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Repeats a run; the manifest records it.")] = None,
    n_jobs: Annotated[int, typer.Option(help="Threads; -1 uses all cores.")] = -1,
    device: Annotated[
        str,
        typer.Option(help="auto, cpu or cuda: auto is a GPU where there is one and the work is worth it."),
    ] = "auto",
    precision: Annotated[
        str, typer.Option(help="float32 or fast: how closely a GPU looks before rows are scored exactly.")
    ] = "float32",
    engine: Annotated[
        str,
        typer.Option(help="Where the pool is read: local, dask, ray or spark. It never changes the batch."),
    ] = "local",
    address: Annotated[
        str | None, typer.Option(help="Where the engine's cluster is; default: processes on this machine.")
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            help="A folder for what was found so far: if the command is interrupted, the same one goes on."
        ),
    ] = None,
    manifest: Annotated[Path | None, typer.Option(help="Where the run's manifest goes, as JSON.")] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the manifest as JSON, for machines.")
    ] = False,
) -> None:
    """Pick the rows to label next."""
    for path in (out, manifest):
        if path is not None and not path.parent.is_dir():
            raise InputError(f"Folder {str(path.parent)!r} does not exist. Make it, or write elsewhere.")
        if path is not None and path.is_dir():
            raise InputError(f"{str(path)!r} is a folder. Name a file in it.")
    write = writer_for(out)
    _refuse_to_overwrite(out, [*labeled, *pool])
    factory = ":" in learner
    options = {} if prefilter is None else {"prefilter": prefilter}
    with progress_bars() as progress, _told_how_to_go_on(checkpoint):
        batch = select(
            _one_or_all(labeled),
            label_column,
            _one_or_all(pool),
            batch_size,
            strategy=resolve_strategy(strategy, **options),
            learner=_make(learner) if factory else learner,
            n_models=n_models,
            bootstrap_fraction=bootstrap_fraction,
            random_state=seed,
            features=_names(features),
            id_column=id_column,
            keep=_names(keep) or [],
            preprocess=_preprocess(preprocess, factory=factory),
            n_jobs=n_jobs,
            device=device,
            precision=precision,
            engine=engine,
            address=address,
            checkpoint=checkpoint,
            progress=progress,
        )
        write(batch, out)
    if manifest is not None:
        write_json(manifest, batch.manifest)
    if as_json:
        typer.echo(json.dumps({"out": str(out), **batch.manifest}, indent=2))
    else:
        show_batch(batch, out, make_console())


@contextmanager
def _told_how_to_go_on(checkpoint: Path | None) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        if checkpoint is not None:
            found = f"What was found so far is in {checkpoint}; the same command goes on from there."
            typer.echo(f"minmargin: interrupted. {found}", err=True)
        raise


def _refuse_to_overwrite(out: Path, sources: list[str]) -> None:
    """Raise an error if the batch would replace an input, or be taken for one by the next run."""
    target = out.resolve()
    for source in sources:
        absolute = Path(source).absolute()
        within = absolute.is_dir() and target.is_relative_to(absolute.resolve())
        if (
            within
            or fnmatch.fnmatch(str(target), str(absolute))
            or target in map(Path.resolve, find_files(source))
        ):
            raise InputError(f"--out {out} lies among the files of {source!r}. Write the batch elsewhere.")


def _one_or_all(values: list[str]) -> str | list[str]:
    return values[0] if len(values) == 1 else values


def _names(values: list[str] | None) -> list[str] | None:
    if not values:
        return None
    return [name.strip() for value in values for name in value.split(",") if name.strip()]


def _preprocess(choice: PreprocessChoice | None, *, factory: bool) -> Any:
    if choice is not None:
        return choice.value
    return "none" if factory else "auto"


def _make(reference: str) -> Any:
    """Return what a factory named package.module:factory makes, or the factory itself if it makes torch modules.

    The current folder is searched too.
    """
    module_name, _, name = reference.partition(":")
    sys.path.insert(0, str(Path.cwd()))
    try:
        factory = getattr(importlib.import_module(module_name), name)
        made = factory()
    except Exception as error:
        raise InputError(f"--learner {reference} failed: {type(error).__name__}: {error}.") from error
    finally:
        sys.path.pop(0)
    return factory if is_module(made) else made
