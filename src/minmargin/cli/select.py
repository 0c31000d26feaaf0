"""`minmargin select`: pick the rows to label next from files."""

from __future__ import annotations

import fnmatch
import json
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from minmargin.batch import writer_for
from minmargin.batch.excluded import read_excluded
from minmargin.cli.app import app
from minmargin.cli.given import (
    BaseColumns,
    GivenValues,
    Probabilities,
    ProbabilityColumns,
    check_inputs,
    columns_of_models,
)
from minmargin.cli.interruption import in_checkpoint, interruption
from minmargin.cli.options import (
    Address,
    BatchSize,
    BootstrapFraction,
    CheckpointFolder,
    ClassWeight,
    DeviceOption,
    Distinct,
    EngineOption,
    EveryClass,
    Features,
    LearnerOption,
    LearnerOptions,
    MaybeLabelColumn,
    MaybeLabeledFiles,
    MaybePoolFiles,
    NJobs,
    NModels,
    Prefilter,
    PreprocessOption,
    ReportImages,
    ReportOption,
    StrategyOption,
    StrategyOptions,
    batch_size_of,
    check_report,
    learner_for,
    one_or_all,
    one_or_none,
    preprocess_for,
    split,
    strategy_options,
)
from minmargin.cli.progress import progress_bars
from minmargin.cli.reading import with_reading
from minmargin.cli.reporting import write_page
from minmargin.cli.show import make_console, show_batch, tell_what_is_read
from minmargin.data.reading import Reading
from minmargin.device import check_device, check_precision
from minmargin.errors import InputError
from minmargin.execution import ExecutionOptions
from minmargin.files import check_writable, write_json
from minmargin.learners.given import Values
from minmargin.pools import find_files, open_pool
from minmargin.pools.uris import shown
from minmargin.selection import select, select_from_probabilities
from minmargin.strategies import Strategy, resolve_strategy
from minmargin.typing import EngineName

# The leading \\b keeps the lines as they are, so that the example can be copied.
_EXAMPLE = """\b
Example:
  minmargin select --labeled labeled.csv --label-column y \\
                   --pool 'pool/*.parquet' --batch-size 1000 --out batch.csv
  minmargin select --labeled partly.csv --label-column y \\
                   --batch-size 1000 --out batch.csv
  minmargin select --probabilities predicted.parquet --columns 'p_*' \\
                   --id-column id --batch-size 1000 --out batch.csv
"""


@app.command("select", epilog=_EXAMPLE)
@with_reading
def select_command(
    context: typer.Context,
    *,
    reading: Reading,
    labeled: MaybeLabeledFiles = None,
    label_column: MaybeLabelColumn = None,
    pool: MaybePoolFiles = None,
    probabilities: Probabilities = None,
    columns: ProbabilityColumns = None,
    values: GivenValues = "probabilities",
    base: BaseColumns = None,
    batch_size: BatchSize,
    out: Annotated[Path, typer.Option(help="Where the batch goes: .parquet, .csv, .jsonl or .feather.")],
    classes: EveryClass = None,
    strategy: StrategyOption = "min-margin",
    strategy_option: StrategyOptions = None,
    learner: LearnerOption = "logistic",
    learner_option: LearnerOptions = None,
    class_weight: ClassWeight = None,
    n_models: NModels = 25,
    bootstrap_fraction: BootstrapFraction = 1.0,
    features: Features = None,
    id_column: Annotated[str | None, typer.Option(help="The pool's column that identifies a row.")] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES", help="Pool columns to carry into the batch, comma-separated or repeated."
        ),
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATH",
            help="Rows that must not be picked: an earlier batch, or any file with the id column; repeat for more.",
        ),
    ] = None,
    keep_labeled: Annotated[
        bool,
        typer.Option("--keep-labeled", help="Let rows be picked whose id is in the labeled files, too."),
    ] = False,
    distinct: Distinct = None,
    preprocess: PreprocessOption = None,
    prefilter: Prefilter = None,
    seed: Annotated[int | None, typer.Option(help="Repeats a run; the manifest records it.")] = None,
    n_jobs: NJobs = -1,
    device: DeviceOption = "auto",
    precision: Annotated[
        str, typer.Option(help="float32 or fast: how closely a GPU looks before rows are scored exactly.")
    ] = "float32",
    engine: EngineOption = "local",
    address: Address = None,
    checkpoint: CheckpointFolder = None,
    manifest: Annotated[Path | None, typer.Option(help="Where the run's manifest goes, as JSON.")] = None,
    report: ReportOption = None,
    image_column: ReportImages = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the manifest as JSON, for machines.")
    ] = False,
) -> None:
    """Pick the rows to label next."""
    files = check_inputs(context, labeled, label_column, pool, probabilities)
    size = batch_size_of(batch_size)
    for path in (out, manifest):
        if path is not None:
            check_writable(path)
    check_report(report, image_column, lambda: open_pool(one_or_all(files.rows)).schema.names, "the pool")
    write = writer_for(out)
    _refuse_to_overwrite(out, [*files.labeled, *files.pool, *files.probabilities])
    _refuse_to_replace(out, exclude or [])
    options = strategy_options(strategy, strategy_option, prefilter)
    interruption.keep(lambda: in_checkpoint(checkpoint))
    with progress_bars() as progress:
        of_pool = _OfPool(
            classes=split(classes),
            strategy=resolve_strategy(strategy, **options),
            random_state=seed,
            id_column=id_column,
            keep=split(keep) or [],
            exclude=read_excluded(exclude or [], id_column),
            distinct=distinct,
            n_jobs=n_jobs,
            device=check_device(device),
            precision=check_precision(precision),
            engine=cast("EngineName", engine),  # which is checked there
            address=address,
            checkpoint=checkpoint,
            progress=progress,
        )
        beside = one_or_all(files.pool) if files.pool else None
        if files.probabilities:
            batch = select_from_probabilities(
                one_or_all(files.probabilities),
                size,
                columns=columns_of_models(columns),
                values=cast("Values", values),  # likewise
                base=one_or_none(split(base)),
                features=one_or_none(split(features)),
                pool=beside,
                **of_pool,
            )
        else:
            batch = select(
                one_or_all(files.labeled),
                files.label_column,
                beside,
                size,
                features=split(features),
                learner=learner_for(learner, learner_option, class_weight),
                n_models=n_models,
                bootstrap_fraction=bootstrap_fraction,
                preprocess=preprocess_for(preprocess, learner),
                reading=reading,
                keep_labeled=keep_labeled,
                inspected=None if as_json else tell_what_is_read,
                **of_pool,
            )
        write(batch, out)
        interruption.keep(lambda: f"The batch is in {out}, and what comes after it may be missing.")
        if report is not None:
            taken = batch.manifest["settings"]["seed"]
            write_page(batch, report, image_column=image_column, command=_command(taken), progress=progress)
    if manifest is not None:
        write_json(manifest, batch.manifest)
    if as_json:
        typer.echo(json.dumps({"out": str(out), **batch.manifest}, indent=2))
    else:
        show_batch(batch, out, make_console(), report, share=size if isinstance(size, str) else "")


class _OfPool(ExecutionOptions):
    """What both ways of selecting take."""

    classes: list[str] | None
    strategy: Strategy
    random_state: int | None
    id_column: str | None
    keep: list[str]
    exclude: Any
    distinct: bool | None


def _command(seed: int) -> str:
    """Return the command that repeats this one: as it was given, without secrets, and with the seed that it took."""
    given = ["minmargin", *map(_without_secrets, sys.argv[1:])]
    has_seed = any(part == "--seed" or part.startswith("--seed=") for part in given)
    return shlex.join(given if has_seed else [*given, "--seed", str(seed)])


def _without_secrets(part: str) -> str:
    option, equals, value = part.partition("=")
    return f"{option}={shown(value)}" if equals and option.startswith("--") else shown(part)


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


def _refuse_to_replace(out: Path, paths: Sequence[str]) -> None:
    """Raise an error if the batch would replace a file of --exclude; a new file beside them is as it should be."""
    target = out.resolve()
    for path in paths:
        given = Path(path).resolve()
        if out.exists() and (fnmatch.fnmatch(str(target), str(given)) or target.is_relative_to(given)):
            raise InputError(
                f"--out {out} would replace a file of --exclude {path}. Write the batch elsewhere."
            )
