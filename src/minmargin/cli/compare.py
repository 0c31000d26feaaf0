"""`minmargin compare`: would picking have paid on data that is labeled already?"""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape

from minmargin.cli.app import app
from minmargin.cli.interruption import in_folder, interruption
from minmargin.cli.options import (
    BootstrapFraction,
    ClassWeight,
    Features,
    LabelColumn,
    LabeledFiles,
    LearnerOption,
    LearnerOptions,
    NetworkDevice,
    NModels,
    PreprocessOption,
    batch_size_of,
    learner_for,
    one_or_all,
    one_or_none,
    preprocess_for,
    split,
)
from minmargin.cli.progress import progress_bars
from minmargin.cli.reading import with_reading
from minmargin.cli.show import make_console, tell_what_is_read
from minmargin.cli.tables import show_table
from minmargin.compare import compare
from minmargin.data.reading import Reading
from minmargin.device import check_device
from minmargin.errors import InputError, missing_extra
from minmargin.skew import most_common
from minmargin.strategies import resolve_strategy

if TYPE_CHECKING:
    from minmargin.compare.comparison import Comparison
    from minmargin.compare.tables import ScoreTable

# The leading \\b keeps the lines as they are, so that the example can be copied.
_EXAMPLE = """\b
Example:
  minmargin compare --labeled labeled.csv --label-column y \\
                    --strategies spread,min-margin,random --out curves
"""


@app.command("compare", epilog=_EXAMPLE)
@with_reading
def compare_command(
    *,
    reading: Reading,
    labeled: LabeledFiles,
    label_column: LabelColumn,
    out: Annotated[
        Path,
        typer.Option(
            help="The folder for draws, results, pictures and a page; an interrupted run goes on from it."
        ),
    ],
    strategies: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES",
            help="What to compare, comma-separated or repeated; default: spread,min-margin,margin,random.",
        ),
    ] = None,
    batch_sizes: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NUMBERS",
            help="How many labels are added: numbers, or shares of the rows that can be picked, such as 5%; default: "
            "fitting the table.",
        ),
    ] = None,
    rounds: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NUMBERS", help="In how many rounds a batch is picked; 1,5 shows what one round costs."
        ),
    ] = None,
    n_labeled: Annotated[int, typer.Option(help="How many rows are labeled from the start.")] = 100,
    test_size: Annotated[
        str, typer.Option(metavar="NUMBER", help="Rows for testing: a fraction of all, or a whole number.")
    ] = "0.5",
    n_draws: Annotated[int, typer.Option(help="How often everything is dealt anew.")] = 50,
    classes: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES",
            help="All classes that may occur, comma-separated or repeated: networks have an output for each.",
        ),
    ] = None,
    scoring: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES",
            help="accuracy, or any scorers of scikit-learn, such as roc_auc, comma-separated or repeated; default: "
            "accuracy, and where one class has more than 80% of rows, what fits such classes beside it.",
        ),
    ] = None,
    learner: LearnerOption = "logistic",
    learner_option: LearnerOptions = None,
    class_weight: ClassWeight = None,
    n_models: NModels = 25,
    bootstrap_fraction: BootstrapFraction = 1.0,
    features: Features = None,
    id_column: Annotated[
        str | None, typer.Option(help="The column that identifies a row, which is no feature.")
    ] = None,
    preprocess: PreprocessOption = None,
    seed: Annotated[int | None, typer.Option(help="Repeats a comparison; its settings record it.")] = None,
    n_jobs: Annotated[int, typer.Option(help="Draws that are played at a time; -1 uses all cores.")] = -1,
    device: NetworkDevice = "auto",
    as_json: Annotated[
        bool,
        typer.Option("--json", help="Print advice, settings, curves and differences as JSON, for machines."),
    ] = False,
) -> None:
    """Show whether picking would have paid on data that is labeled already, with which strategy and batch size."""
    for library in ("matplotlib", "jinja2"):
        if find_spec(library) is None:
            raise missing_extra(f"Pictures and the page need {library}", "report")
    interruption.keep(lambda: in_folder(out))
    with progress_bars() as progress:
        comparison = compare(
            one_or_all(labeled),
            label_column,
            classes=split(classes),
            strategies=[resolve_strategy(name) for name in split(strategies) or ()] or None,
            batch_sizes=None if batch_sizes is None else _batch_sizes(batch_sizes),
            n_labeled=n_labeled,
            test_size=_test_size(test_size),
            n_draws=n_draws,
            learner=learner_for(learner, learner_option, class_weight),
            n_models=n_models,
            bootstrap_fraction=bootstrap_fraction,
            scoring=one_or_none(split(scoring)),
            rounds=1 if rounds is None else _numbers("--rounds", rounds),
            features=split(features),
            id_column=id_column,
            preprocess=preprocess_for(preprocess, learner),
            reading=reading,
            random_state=seed,
            n_jobs=n_jobs,
            device=check_device(device),
            out=out,
            progress=progress,
            inspected=None if as_json else tell_what_is_read,
        )
        comparison.write(out)
    if as_json:
        typer.echo(json.dumps({"out": str(out), **comparison.to_dict()}, indent=2))
    else:
        show_comparison(comparison, out, make_console())


def show_comparison(comparison: Comparison, out: Path, console: Console) -> None:
    """Print the advice, the scores behind it, and where the rest is."""
    console.print(f"[bold]{escape(comparison.advice)}[/bold]")
    if most_common(comparison.settings["class_counts"]) is not None:
        console.print(
            "What helps where a class is rare was measured: howto/rare-classes.md of the docs.", style="dim"
        )
    for each in comparison.by_scoring:
        console.print()
        _show_scores(each.table, console)
    console.print(
        f"\nWritten to {escape(str(out))}: report.html, curves.png, curves.svg, results.parquet, comparison.json."
    )


def _show_scores(shown: ScoreTable, console: Console) -> None:
    console.print(escape(shown.title))
    show_table(console, shown.headings, shown.rows, right=shown.headings)
    console.print(escape(shown.note), style="dim")


def _batch_sizes(values: list[str]) -> list[int | str]:
    try:
        return [batch_size_of(value) for value in split(values) or []]
    except InputError:  # of one of them; all that was given tells more
        raise InputError(
            f"--batch-sizes {','.join(values)} must be whole numbers, such as 50,100,200, or shares of the pool, "
            "such as 5%."
        ) from None


def _numbers(flag: str, values: list[str]) -> list[int]:
    try:
        return [int(value) for value in split(values) or []]
    except ValueError:
        raise InputError(f"{flag} {','.join(values)} must be whole numbers, such as 50,100,200.") from None


def _test_size(value: str) -> float:
    try:
        return int(value) if value.isdigit() else float(value)
    except ValueError:
        raise InputError(
            f"--test-size {value} must be a fraction or a whole number, such as 0.5 or 2000."
        ) from None
