"""`minmargin label-studio`: batches into a Label Studio project, and labels out of it."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from minmargin.cli.app import app
from minmargin.cli.options import AsJson, split
from minmargin.cli.progress import progress_bars
from minmargin.cli.show import make_console
from minmargin.cli.shown import BatchFile, Classes, Columns, ImageColumn, Predictions, Question, TextColumn
from minmargin.integrations.batch_files import read_batch
from minmargin.integrations.label_studio import TOKEN_VARIABLE, Pulled, Pushed, Showing, pull, push
from minmargin.integrations.label_studio.address import Address
from minmargin.integrations.label_studio.labels import check_labels_path, write_labels

label_studio_app = typer.Typer(
    name="label-studio",
    help=f"Push batches to Label Studio and pull labels from it. The token comes from ${TOKEN_VARIABLE} or a prompt.",
)
app.add_typer(label_studio_app)

DEFAULT_URL = "http://localhost:8080"
URL_VARIABLE = "LABEL_STUDIO_URL"
Url = Annotated[str, typer.Option(metavar="URL", envvar=URL_VARIABLE, help="The server's address.")]
Insecure = Annotated[
    bool,
    typer.Option("--insecure", help="Speak plain http to another machine, readable for everyone on the way."),
]

_PUSH_EXAMPLE = """\b
Example:
  minmargin label-studio push batch.parquet \\
                              --project intents --text-column text
"""
_PULL_EXAMPLE = """\b
Example:
  minmargin label-studio pull --project intents --out labels.csv
"""


@label_studio_app.callback(invoke_without_command=True)
def _help(context: typer.Context) -> None:
    """Push batches to Label Studio and pull labels from it."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@label_studio_app.command("push", epilog=_PUSH_EXAMPLE)
def push_command(
    batch: BatchFile,
    project: Annotated[
        str, typer.Option(help="A project's number, or its title; a title that is new makes a project.")
    ],
    url: Url = DEFAULT_URL,
    insecure: Insecure = False,
    text_column: TextColumn = None,
    image_column: ImageColumn = None,
    columns: Columns = None,
    classes: Classes = None,
    question: Question = None,
    predictions: Predictions = True,
    as_json: AsJson = False,
) -> None:
    """Make tasks of a batch's rows, in its order, with the model's guess. Rows that are there are left alone."""
    showing = Showing.of(
        read_batch(batch),
        text_column=text_column,
        image_column=image_column,
        columns=split(columns),
        classes=split(classes),
        question=question,
    )
    with progress_bars() as progress:
        pushed = push(
            showing,
            url=url,
            project=as_project(project),
            predictions=predictions,
            token=ask_for_token(url, insecure=insecure),
            insecure=insecure,
            progress=progress,
        )
    if as_json:
        typer.echo(json.dumps(dataclasses.asdict(pushed), indent=2))
    else:
        show_pushed(pushed, make_console(), predictions=predictions)


@label_studio_app.command("pull", epilog=_PULL_EXAMPLE)
def pull_command(
    project: Annotated[str, typer.Option(help="The project's number or title.")],
    out: Annotated[Path, typer.Option(help="Where the labels go: .csv, .parquet or .jsonl, by id.")],
    url: Url = DEFAULT_URL,
    insecure: Insecure = False,
    as_json: AsJson = False,
) -> None:
    """Write the labels that annotators gave, by row id; of several annotators the majority decides."""
    check_labels_path(out)
    token = ask_for_token(url, insecure=insecure)
    pulled = pull(url=url, project=as_project(project), token=token, insecure=insecure)
    write_labels(pulled.labels, out)
    if as_json:
        typer.echo(json.dumps({"out": str(out), **describe_pulled(pulled)}, indent=2))
    else:
        show_pulled(pulled, make_console())
        make_console().print(f"Written to {escape(str(out))}.")


def as_project(text: str) -> int | str:
    """Return a number as a project's number, and any other text as its title."""
    return int(text) if text.isascii() and text.isdecimal() else text


def ask_for_token(url: str, *, insecure: bool) -> str | None:
    """Return None if the environment has a token; else what is typed, unseen, at a terminal."""
    address = Address.of(url, insecure=insecure)  # before a token is typed for it, and before it is shown
    if os.environ.get(TOKEN_VARIABLE, "").strip() or not sys.stdin.isatty():
        return None  # the library reads the environment, or says what is missing
    return str(typer.prompt(f"Token for Label Studio at {address}", hide_input=True, err=True))


def show_pushed(pushed: Pushed, console: Console, *, predictions: bool) -> None:
    """Print what a push did, with or without predictions, and which rows differ in that from an earlier push."""
    made = "made" if pushed.created else "used"
    present = f"; {pushed.n_present:,} were there already" if pushed.n_present else ""
    rows = "1 row" if pushed.n_added == 1 else f"{pushed.n_added:,} rows"
    console.print(f"Project {escape(repr(pushed.title))} ({made}): {rows} added{present}.")
    n_without = pushed.n_present - pushed.n_guessed
    if predictions and n_without:
        console.print(f"Pushed before without the model's guess, and left so: {n_without:,}.")
    elif not predictions and pushed.n_guessed:
        console.print(f"Pushed before with the model's guess, and left so: {pushed.n_guessed:,}.")
    console.print(f"Label here: {escape(pushed.address)}")


def show_pulled(pulled: Pulled, console: Console) -> None:
    """Print what annotators have said so far."""
    left = {
        "not annotated yet": pulled.n_waiting,
        "skipped": pulled.n_skipped,
        "tied": len(pulled.ties),
    }
    rest = ", ".join(f"{n:,} {what}" for what, n in left.items() if n)
    console.print(
        f"{len(pulled.labels):,} of {pulled.n_rows:,} rows have a label" + (f" ({rest})." if rest else ".")
    )
    for tie in pulled.ties:
        votes = ", ".join(f"{label} {n}" for label, n in tie.votes.items())
        console.print(f"Tied and left out: {escape(repr(tie.id))} ({escape(votes)}).")
    if pulled.n_other:
        console.print(f"{pulled.n_other:,} tasks were not pushed by minmargin and are left out.")


def describe_pulled(pulled: Pulled) -> dict[str, Any]:
    """Return the counts and ties of a pull, for JSON."""
    return {
        "labels": len(pulled.labels),
        "rows": pulled.n_rows,
        "skipped": pulled.n_skipped,
        "waiting": pulled.n_waiting,
        "other": pulled.n_other,
        "ties": [
            {"id": tie.id, "votes": {str(label): n for label, n in tie.votes.items()}} for tie in pulled.ties
        ],
    }
