"""`minmargin campaign`: labeling in rounds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, cast

import typer
from rich.markup import escape

from minmargin.campaign import Campaign
from minmargin.cli.app import app
from minmargin.cli.campaign_steps import (
    ADDED_OR_NOT,
    begun,
    command_for,
    next_for,
    picked,
    poor_score,
    say_next,
    show_status,
)
from minmargin.cli.given import (
    BaseColumns,
    CampaignLearner,
    GivenValues,
    ProbabilityColumns,
    RoundClasses,
    RoundFeatures,
    RoundProbabilities,
    columns_of_models,
)
from minmargin.cli.interruption import interruption
from minmargin.cli.options import (
    Address,
    AsJson,
    BootstrapFraction,
    CheckpointFolder,
    ClassWeight,
    DeviceOption,
    Distinct,
    EngineOption,
    Features,
    LearnerOptions,
    MaybeLabelColumn,
    MaybeLabeledFiles,
    MaybePoolFiles,
    NewClasses,
    NJobs,
    NModels,
    OwnLearner,
    Prefilter,
    PreprocessOption,
    Replace,
    ReportImages,
    ReportOption,
    StrategyOption,
    StrategyOptions,
    batch_size_of,
    check_report,
    learner_options,
    one_or_all,
    preprocess_for,
    split,
    strategy_options,
)
from minmargin.cli.progress import progress_bars
from minmargin.cli.reading import with_reading
from minmargin.cli.reporting import write_page
from minmargin.cli.show import make_console, show_batch, tell_what_is_read
from minmargin.data.reading import Reading
from minmargin.data.rows import count_rows
from minmargin.device import check_device
from minmargin.errors import listing
from minmargin.execution import CHUNK_SIZE
from minmargin.integrations.label_studio.destination import Destination
from minmargin.learners.given import Values
from minmargin.pools import open_pool
from minmargin.typing import EngineName, StrategyName

campaign_app = typer.Typer(
    name="campaign", help="Label in rounds: pick, label, look at the curve, and again."
)
app.add_typer(campaign_app)

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The campaign's folder.")]
# The leading \\b keeps the lines as they are, so that the example can be copied.
_INIT_EXAMPLE = """\b
Example:
  minmargin campaign init cards --labeled labeled.csv --label-column y \\
                          --pool 'pool/*.parquet' --id-column row_id --batch-size 200
  minmargin campaign init cards --learner given --classes cat,dog,owl \\
                          --pool 'pool/*.parquet' --id-column row_id --batch-size 200
"""
_NEXT_EXAMPLE = """\b
Example:
  minmargin campaign next cards --report round.html
  minmargin campaign next cards --probabilities predicted.parquet --columns 'p_*'
"""


@campaign_app.callback(invoke_without_command=True)
def _help(context: typer.Context) -> None:
    """Label in rounds: pick, label, look at the curve, and again."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@campaign_app.command("init", epilog=_INIT_EXAMPLE)
@with_reading
def init_command(
    *,
    reading: Reading,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new folder for the campaign.")],
    batch_size: Annotated[
        str,
        typer.Option(
            metavar="NUMBER",
            help="How many rows a round picks: a number, or a share of the pool as it is now, such as 5%.",
        ),
    ],
    labeled: MaybeLabeledFiles = None,
    label_column: MaybeLabelColumn = None,
    pool: MaybePoolFiles = None,
    id_column: Annotated[
        str | None, typer.Option(help="The pool's column that identifies a row; default: the row's number.")
    ] = None,
    features: Features = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES", help="Pool columns to carry into the batches, comma-separated or repeated."
        ),
    ] = None,
    classes: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES",
            help="Classes that no labeled or held-out row has yet, comma-separated or repeated; with --learner given, "
            "all classes, in the order of the probabilities.",
        ),
    ] = None,
    held_out: Annotated[
        list[str] | None,
        typer.Option(metavar="PATH", help="Labeled rows to measure accuracy on; repeat for more."),
    ] = None,
    folds: Annotated[
        int, typer.Option(help="Without held-out rows, accuracy is cross-validated so; 0: not measured.")
    ] = 5,
    audit: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="Rows that each round draws by chance besides, to measure the model on the pool by.",
        ),
    ] = 0,
    stop_hints: Annotated[
        bool, typer.Option("--stop-hints", help="Let status say when more labels hardly pay.")
    ] = False,
    strategy: StrategyOption = "min-margin",
    strategy_option: StrategyOptions = None,
    prefilter: Prefilter = None,
    distinct: Distinct = None,
    learner: CampaignLearner = "logistic",
    learner_option: LearnerOptions = None,
    class_weight: ClassWeight = None,
    n_models: NModels = 25,
    bootstrap_fraction: BootstrapFraction = 1.0,
    preprocess: PreprocessOption = None,
    seed: Annotated[int | None, typer.Option(help="Repeats a campaign; settings.json records it.")] = None,
    as_json: AsJson = False,
) -> None:
    """Begin a campaign in a new folder."""
    interruption.keep(lambda: begun(folder))
    made = Campaign.init(
        folder,
        labeled=one_or_all(labeled) if labeled else None,
        label_column=label_column,
        pool=one_or_all(pool) if pool else None,
        batch_size=batch_size_of(batch_size),
        id_column=id_column,
        features=split(features),
        keep=split(keep) or [],
        classes=split(classes) or [],
        held_out=one_or_all(held_out) if held_out else None,
        folds=folds,
        audit=audit,
        stop_hints=stop_hints,
        strategy=cast("StrategyName", strategy),  # which is checked there
        strategy_options=strategy_options(strategy, strategy_option, prefilter),
        distinct=distinct,
        learner=learner,
        learner_options=learner_options(learner, learner_option, class_weight),
        n_models=n_models,
        bootstrap_fraction=bootstrap_fraction,
        preprocess=preprocess_for(preprocess, learner),
        reading=reading,
        random_state=seed,
        inspected=None if as_json else tell_what_is_read,
    )
    classes, empty = made.classes, made.empty_classes
    if as_json:
        known = {"classes": classes, "empty_classes": empty}
        typer.echo(json.dumps({"folder": str(folder), "seed": made.settings.seed, **known}, indent=2))
        return
    console = make_console()
    console.print(
        f"A campaign begins in {escape(str(folder))} (seed {made.settings.seed}), with {len(classes):,} classes."
    )
    if pool is None:
        chunks = open_pool(one_or_all(labeled or [])).chunks({str(id_column): None}, CHUNK_SIZE)
        n_rows, n_labeled = sum(map(count_rows, chunks)), len(made.labeled())
        console.print(f"The pool is the {n_rows - n_labeled:,} of {n_rows:,} rows without a label.")
    if not batch_size.isdigit():
        console.print(f"A round picks {made.settings.batch_size:,} rows, {escape(batch_size)} of the pool.")
    if empty and not made.settings.given:
        console.print(
            f"No labeled row has {escape(listing(empty))} yet, which annotators can give all the same."
        )
    say_next(console, {next_for(made): ""})


@campaign_app.command("next", epilog=_NEXT_EXAMPLE)
def next_command(
    folder: Folder,
    batch_size: Annotated[
        str | None,
        typer.Option(
            help="How many rows to pick, or a share such as 5%; default: as the campaign was begun."
        ),
    ] = None,
    probabilities: RoundProbabilities = None,
    columns: ProbabilityColumns = None,
    values: GivenValues = "probabilities",
    base: BaseColumns = None,
    features: RoundFeatures = None,
    classes: RoundClasses = None,
    even_so: Annotated[
        bool, typer.Option("--even-so", help="Go on although rows of the last round have no label.")
    ] = False,
    requeue: Annotated[
        bool, typer.Option("--requeue", help="Put picked rows without a label back into the pool first.")
    ] = False,
    csv: Annotated[bool, typer.Option("--csv", help="Write the batch as a CSV file too.")] = False,
    report: ReportOption = None,
    image_column: ReportImages = None,
    learner: OwnLearner = None,
    n_jobs: NJobs = -1,
    device: DeviceOption = "auto",
    engine: EngineOption = "local",
    address: Address = None,
    checkpoint: CheckpointFolder = None,
    as_json: AsJson = False,
) -> None:
    """Pick the next batch, with a model trained on all labels so far, or by what your own models say."""
    campaign, last = Campaign.open(folder, learner=learner), Destination.read(folder)
    check_report(report, image_column, lambda: campaign.settings.kept, "the batches of this campaign")
    n_before = campaign.n_rounds
    interruption.keep(lambda: picked(campaign, n_before, checkpoint))
    # Before the round is made: the same command, after one that was killed in the middle of it, would make another.
    guesses = last is None or last.predictions
    poor = poor_score(campaign, n_jobs=n_jobs, device=device) if guesses and not as_json else None
    with progress_bars() as progress:
        batch = campaign.next(
            None if batch_size is None else batch_size_of(batch_size),
            probabilities=one_or_all(probabilities) if probabilities else None,
            columns=columns_of_models(columns),
            values=cast("Values", values),  # which is checked there
            base=split(base),
            features=split(features),
            classes=split(classes),
            unlabeled_ok=even_so,
            requeue=requeue,
            csv=csv,
            n_jobs=n_jobs,
            device=check_device(device),
            engine=cast("EngineName", engine),  # which is checked there
            address=address,
            checkpoint=checkpoint,
            progress=progress,
            on_batch=None
            if report is None
            else lambda made: write_page(made, report, image_column=image_column, progress=progress),
        )
    number = campaign.n_rounds
    path = campaign.batch_path(number)
    out = path.with_suffix(".csv") if csv else path
    if as_json:
        typer.echo(json.dumps({"round": number, "out": str(out), **batch.manifest}, indent=2))
        return
    console = make_console()
    console.print(f"[bold]Round {number}[/bold]")
    show_batch(batch, out, console, report)
    steps = {command_for("push", folder): "to label in Label Studio"}
    if poor is not None:
        steps[command_for("push", folder, "--no-predictions")] = (
            f"without the model's guesses, as its {poor} so far"
        )
    if not campaign.has_project:
        steps[command_for("add-labels", folder, "labels.csv")] = "with labels from elsewhere"
    say_next(console, steps)


@campaign_app.command("add-labels", epilog="Example:\n\n  minmargin campaign add-labels cards labels.csv")
def add_labels_command(
    folder: Folder,
    labels: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="Parquet, CSV, JSONL or Feather, with an id and a label column."),
    ],
    id_column: Annotated[
        str | None,
        typer.Option(
            help="The file's column of ids; default: the campaign's, or id (row, if rows have no id)."
        ),
    ] = None,
    label_column: Annotated[
        str | None, typer.Option(help="The file's column of labels; default: the campaign's, or label.")
    ] = None,
    replace: Replace = False,
    new_classes: NewClasses = False,
    learner: OwnLearner = None,
    n_jobs: NJobs = -1,
    device: DeviceOption = "auto",
    as_json: AsJson = False,
) -> None:
    """Add labels of picked rows, all or none, and measure what the model has learned. Twice does no harm."""
    campaign = Campaign.open(folder, learner=learner)
    interruption.keep(lambda: ADDED_OR_NOT)
    added = campaign.add_labels(
        labels,
        id_column=id_column,
        label_column=label_column,
        replace=replace,
        new_classes=new_classes,
        n_jobs=n_jobs,
        device=check_device(device),
    )
    status = campaign.status(n_jobs=n_jobs, device=check_device(device))
    if as_json:
        typer.echo(json.dumps({**added._asdict(), "status": status.to_dict()}, indent=2))
        return
    console = make_console()
    parts = {
        "new": added.new,
        "known already": added.same,
        "changed": added.changed,
        "without a label": added.empty,
    }
    said = ", ".join(f"{n:,} {what}" for what, n in parts.items() if n or what == "new")
    console.print(f"Labels: {said}.")
    console.print(escape(status.sentence))
    if status.rounds[-1].unlabeled:
        say_next(
            console,
            {
                command_for("add-labels", folder, "labels.csv"): "with the labels that are missing",
                next_for(campaign, "--even-so"): "without them",
            },
        )
    else:
        say_next(console, {next_for(campaign): ""})


@campaign_app.command("status", epilog="Example:\n\n  minmargin campaign status cards")
def status_command(
    folder: Folder,
    learner: OwnLearner = None,
    n_jobs: NJobs = -1,
    device: DeviceOption = "auto",
    as_json: AsJson = False,
) -> None:
    """Show the rounds and the learning curve."""
    status = Campaign.open(folder, learner=learner).status(n_jobs=n_jobs, device=check_device(device))
    if as_json:
        typer.echo(json.dumps(status.to_dict(), indent=2))
    else:
        show_status(status, make_console(quiet=False))


@campaign_app.command("report", epilog="Example:\n\n  minmargin campaign report cards --out cards.html")
def report_command(
    folder: Folder,
    out: Annotated[
        Path | None, typer.Option(help="Where the page goes; default: report.html in the campaign's folder.")
    ] = None,
    learner: OwnLearner = None,
    as_json: AsJson = False,
) -> None:
    """Write an HTML page on the campaign."""
    path = Campaign.open(folder, learner=learner).report(folder / "report.html" if out is None else out)
    if as_json:
        typer.echo(json.dumps({"out": str(path)}, indent=2))
    else:
        make_console().print(f"Written to {escape(str(path))}.")
