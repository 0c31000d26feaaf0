"""`minmargin demo`: the main job on data that is already here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from minmargin.atomic import write_json
from minmargin.cli.app import app
from minmargin.cli.progress import progress_bars
from minmargin.cli.select import show


@app.command("demo", epilog="Example:\n\n  minmargin demo --out demo")
def demo_command(
    out: Annotated[Path, typer.Option(help="The folder to write to.")] = Path("demo"),
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the accuracies as JSON, for machines.")
    ] = False,
) -> None:
    """Pick digits to label, and show what their labels bought next to plain margin and random."""
    from minmargin import demo  # noqa: PLC0415 - loads the data sets of scikit-learn

    with progress_bars() as progress:
        batch, gain = demo.play(progress)
    out.mkdir(parents=True, exist_ok=True)
    batch.to_parquet(out / "batch.parquet")
    batch.to_csv(out / "batch.csv")
    summary = {
        "before": demo.summarise(gain.before),
        **{strategy: demo.summarise(values) for strategy, values in gain.after.items()},
    }
    result = {
        "draws": demo.N_DRAWS,
        "batch_size": demo.BATCH_SIZE,
        "accuracy": summary,
        "manifest": batch.manifest,
    }
    write_json(out / "result.json", result)
    if as_json:
        typer.echo(json.dumps({name: result[name] for name in ("draws", "batch_size", "accuracy")}, indent=2))
        return
    console = Console(highlight=False)
    console.print(
        f"Handwritten digits: {demo.N_LABELED} labeled, {batch.manifest['pool']['rows']:,} in the pool, "
        f"{demo.N_TEST} to test on; {demo.BATCH_SIZE} to be labeled next.\n"
    )
    show(batch, out / "batch.csv")
    table = Table(
        title=f"\nWhat {demo.BATCH_SIZE} labels buy: test accuracy, mean of {demo.N_DRAWS} draws ± standard error",
        title_justify="left",
        box=None,
        padding=(0, 2, 0, 0),
    )
    table.add_column("labels")
    table.add_column("accuracy", justify="right")
    table.add_column("")
    for name, values in summary.items():
        label = f"the first {demo.N_LABELED} only" if name == "before" else f"+ {demo.BATCH_SIZE} by {name}"
        bar = "█" * round(40 * (values["mean"] - 0.7) / 0.3)
        table.add_row(label, f"{values['mean']:.1%} ± {values['standard_error']:.1%}", bar)
    console.print(table)
    console.print("(bars start at 70%)", style="dim")
