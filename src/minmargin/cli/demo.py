"""`minmargin demo`: the main job on data that is already here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from minmargin.batch import Batch
from minmargin.cli.app import app
from minmargin.cli.progress import progress_bars
from minmargin.cli.show import make_console, show_batch
from minmargin.cli.tables import show_table
from minmargin.errors import MissingExtraError
from minmargin.files import make_folder, write_json

if TYPE_CHECKING:
    from minmargin.experiments.digits import Gain

_BARS = "(bars start at 70%)"
_LONGEST_BAR = 40  # characters, for 100%; fewer where the numbers leave no room for them
_NUMBERS = 40  # characters that they take


@app.command("demo", epilog="Example:\n\n  minmargin demo --out demo")
def demo_command(
    out: Annotated[Path, typer.Option(help="The folder to write to.")] = Path("demo"),
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the accuracies as JSON, for machines.")
    ] = False,
) -> None:
    """Pick digits to label, and show what their labels bought next to plain margin and random."""
    from minmargin.experiments import digits  # noqa: PLC0415 - loads the data sets of scikit-learn

    with progress_bars() as progress:
        batch, gain = digits.play(progress)
    make_folder(out)
    batch.to_parquet(out / "batch.parquet")
    batch.to_csv(out / "batch.csv")
    report = write_report(batch, out)
    result = {"draws": digits.N_DRAWS, "batch_size": digits.BATCH_SIZE, "accuracy": gain.summary()}
    write_json(out / "result.json", {**result, "manifest": batch.manifest})
    if as_json:
        typer.echo(json.dumps(result, indent=2))
    else:
        show_demo(batch, gain, out, make_console(), report)


def write_report(batch: Batch, out: Path) -> Path | None:
    """Write the report of the demo's batch and return its path; None without the libraries for it, which are extras."""
    from minmargin.experiments.digits import IMAGE_SHAPE  # noqa: PLC0415 - as above

    try:
        return batch.report(out / "report.html", image_shape=IMAGE_SHAPE, command="minmargin demo")
    except MissingExtraError as error:
        typer.echo(f"minmargin: there is no report. {error}", err=True)
        return None


def show_demo(batch: Batch, gain: Gain, out: Path, console: Console, report: Path | None = None) -> None:
    """Print what was picked, why, and what its labels bought."""
    n_labeled, n_pool = batch.manifest["labeled"]["rows"], batch.manifest["pool"]["rows"]
    console.print(
        f"Handwritten digits: {n_labeled} labeled, {n_pool:,} in the pool; {len(batch)} to be labeled next.\n"
    )
    show_batch(batch, out / "batch.csv", console, report)
    n_draws = len(gain.before)
    console.print(f"\nWhat {len(batch)} labels buy: test accuracy, mean of {n_draws} draws ± standard error")
    full = min(_LONGEST_BAR, console.width - _NUMBERS)
    rows = [
        (
            f"the first {n_labeled} only" if name == "before" else f"+ {len(batch)} by {name}",
            f"{values['mean']:.1%} ± {values['standard_error']:.1%}",
            "█" * round(full * (values["mean"] - 0.7) / 0.3),
        )
        for name, values in gain.summary().items()
    ]
    show_table(console, ("labels", "accuracy", _BARS), rows, right=("accuracy",), styles={_BARS: "green"})
