"""`minmargin campaign push` and `pull`: the rounds of a campaign through Label Studio."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from minmargin.campaign import Campaign
from minmargin.cli.campaign import Folder, campaign_app
from minmargin.cli.campaign_steps import ADDED_OR_NOT, command_for, next_for, poor_score, say_next
from minmargin.cli.interruption import interruption
from minmargin.cli.label_studio import (
    DEFAULT_URL,
    URL_VARIABLE,
    Insecure,
    as_project,
    ask_for_token,
    describe_pulled,
    show_pulled,
    show_pushed,
)
from minmargin.cli.options import AsJson, NewClasses, OwnLearner, Replace, split
from minmargin.cli.progress import progress_bars
from minmargin.cli.show import make_console
from minmargin.cli.shown import Columns, ImageColumn, Question, TextColumn
from minmargin.errors import InputError
from minmargin.integrations.batch_files import as_batch
from minmargin.integrations.label_studio import Pulled, Showing, pull, push
from minmargin.integrations.label_studio.destination import Destination

_Url = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help=f"The server's address; default: the last one, then ${URL_VARIABLE}, then {DEFAULT_URL} on this machine.",
    ),
]
_Predictions = Annotated[
    bool | None,
    typer.Option(
        "--predictions/--no-predictions",
        help="Whether annotators see the model's guess; default: as in the last round, at first yes.",
    ),
]


@campaign_app.command("push", epilog="Example:\n\n  minmargin campaign push cards --text-column text")
def push_command(
    folder: Folder,
    project: Annotated[
        str | None,
        typer.Option(help="A project's number or title; default: the last one, then the folder's name."),
    ] = None,
    url: _Url = None,
    insecure: Insecure = False,
    number: Annotated[int | None, typer.Option("--round", help="The round; default: the last.")] = None,
    text_column: TextColumn = None,
    image_column: ImageColumn = None,
    columns: Columns = None,
    question: Question = None,
    predictions: _Predictions = None,
    as_json: AsJson = False,
) -> None:
    """Push a round to Label Studio. Where it goes and what is shown is remembered for the next round."""
    campaign = Campaign.open(folder)
    batch = as_batch(campaign.batch(number), f"Round {number or campaign.n_rounds}")
    asked = _asked(
        folder,
        url,
        project,
        text_column,
        image_column,
        split(columns),
        question=question,
        predictions=predictions,
        insecure=insecure or None,  # once said of a server, it is remembered
    )
    showing = Showing.of(
        batch,
        text_column=asked.text_column,
        image_column=asked.image_column,
        columns=asked.columns,
        classes=campaign.classes,
        question=campaign.settings.label_column if asked.question is None else asked.question,
    )
    console = make_console(quiet=True if as_json else None)
    poor = poor_score(campaign) if asked.predictions else None
    if poor is not None:
        console.print(
            f"The model's {poor} so far, and annotators see its guesses beforehand. "
            "--no-predictions leaves them out."
        )
    with progress_bars() as progress:
        pushed = push(
            showing,
            url=asked.url,
            project=asked.project,
            predictions=asked.predictions,
            token=ask_for_token(asked.url, insecure=asked.insecure),
            insecure=asked.insecure,
            progress=progress,
        )
    dataclasses.replace(asked, project=pushed.project).write(folder)
    if as_json:
        typer.echo(json.dumps(dataclasses.asdict(pushed), indent=2))
        return
    show_pushed(pushed, console, predictions=asked.predictions)
    say_next(console, {command_for("pull", folder): "when rows are labeled"})


@campaign_app.command("pull", epilog="Example:\n\n  minmargin campaign pull cards")
def pull_command(
    folder: Folder,
    replace: Replace = False,
    new_classes: NewClasses = False,
    learner: OwnLearner = None,
    insecure: Insecure = False,
    as_json: AsJson = False,
) -> None:
    """Add the labels that annotators gave so far. Twice does no harm."""
    campaign = Campaign.open(folder, learner=learner)
    destination = Destination.read(folder)
    if destination is None:
        raise InputError(
            f"Campaign {str(folder)!r} has no project in Label Studio yet. Use minmargin campaign push first."
        )
    insecure = insecure or destination.insecure
    token = ask_for_token(destination.url, insecure=insecure)
    pulled = pull(url=destination.url, project=destination.project, token=token, insecure=insecure)
    interruption.keep(lambda: ADDED_OR_NOT)
    added = campaign.add_labels(
        pulled.labels,
        id_column="id",
        label_column="label",
        replace=replace,
        new_classes=new_classes,
        source=f"Label Studio project {destination.project}",
    )
    status = campaign.status()
    if as_json:
        counts = {"pulled": describe_pulled(pulled), **added._asdict(), "status": status.to_dict()}
        typer.echo(json.dumps(counts, indent=2))
        return
    console = make_console()
    show_pulled(pulled, console)
    changed = f", {added.changed:,} changed" if added.changed else ""
    console.print(f"Labels: {added.new:,} new, {added.same:,} known already{changed}.")
    console.print(escape(status.sentence))
    say_next(console, _steps_after(pulled, campaign))


def _steps_after(pulled: Pulled, campaign: Campaign) -> dict[str, str]:
    """Return how to go on after a pull, by what the rows of the last round lack."""
    folder, waiting = campaign.folder, set(map(str, campaign.waiting))
    undecided = set(map(str, [*pulled.skipped, *(tie.id for tie in pulled.ties)]))
    if not waiting:
        return {next_for(campaign): ""}
    if waiting <= undecided:
        return {
            next_for(campaign, "--even-so"): "without the rows that nobody decided",
            next_for(campaign, "--requeue"): "which puts them back into the pool",
        }
    if not waiting - undecided <= set(map(str, pulled.waiting)):
        return {command_for("push", folder): "not all rows of the last round are in the project"}
    return {command_for("pull", folder): "when more rows are labeled"}


def _asked(
    folder: Path,
    url: str | None,
    project: str | None,
    text_column: str | None,
    image_column: str | None,
    columns: list[str] | None,
    **more: Any,
) -> Destination:
    """Return where a round goes: as it is asked for, and else as the last one did."""
    first = Destination(os.environ.get(URL_VARIABLE, DEFAULT_URL), folder.resolve().name)
    last = Destination.read(folder) or first
    if url not in {None, last.url}:  # another server, which has other numbers for its projects
        last = dataclasses.replace(last, url=url, project=first.project, insecure=False)
    if project is not None:
        last = dataclasses.replace(last, project=as_project(project))
    last = dataclasses.replace(last, **{name: value for name, value in more.items() if value is not None})
    if (text_column, image_column, columns) == (None, None, None):
        return last
    return dataclasses.replace(last, text_column=text_column, image_column=image_column, columns=columns)
