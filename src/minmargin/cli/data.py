"""`minmargin data`: the public data sets that can be asked for by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import DownloadColumn, TransferSpeedColumn

from minmargin.cli.app import app
from minmargin.cli.completion import complete_dataset
from minmargin.cli.options import AsJson
from minmargin.cli.progress import progress_bars
from minmargin.cli.show import make_console
from minmargin.cli.tables import show_table
from minmargin.errors import InputError
from minmargin.experiments.datasets import (
    DATASETS,
    Dataset,
    FileStatus,
    data_folders,
    fetch_dataset,
    find_dataset,
    find_file,
    verify_dataset,
)

data_app = typer.Typer(name="data", help="List, fetch and verify public data sets.")
app.add_typer(data_app)

_DataDir = Annotated[
    Path | None,
    typer.Option(help="The folder of data sets; default: $MINMARGIN_DATA, then the user's cache."),
]


@data_app.callback(invoke_without_command=True)
def _help(context: typer.Context) -> None:
    """List, fetch and verify public data sets."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@data_app.command("list", epilog="Example:\n\n  minmargin data list --json")
def list_command(data_dir: _DataDir = None, as_json: AsJson = False) -> None:
    """List the data sets: what they are, their license, and where they were found."""
    if as_json:
        typer.echo(json.dumps([_record(dataset, data_dir) for dataset in DATASETS.values()], indent=2))
        return
    rows = [
        (
            dataset.name,
            f"{dataset.n_rows:,} x {dataset.n_features}",
            str(dataset.n_classes),
            dataset.license,
            str(_found_in(dataset, data_dir) or "-"),
        )
        for dataset in DATASETS.values()
    ]
    show_table(
        make_console(quiet=False),
        ("data set", "rows x features", "classes", "license", "found in"),
        rows,
        prose=("license", "found in"),
        right=("rows x features", "classes"),
    )


@data_app.command("fetch", epilog="Example:\n\n  minmargin data fetch mnist covtype")
def fetch_command(
    names: Annotated[
        list[str],
        typer.Argument(metavar="NAME", help="Data sets, by name.", autocompletion=complete_dataset),
    ],
    data_dir: _DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Fetch data sets from their origin, and verify them. A broken download is resumed."""
    for name in names:
        find_dataset(name)  # a wrong name is found out before anything is fetched
    with progress_bars(DownloadColumn(), TransferSpeedColumn()) as progress:
        paths = {name: fetch_dataset(name, data_dir, progress=progress) for name in names}
    if as_json:
        typer.echo(json.dumps({name: [str(path) for path in paths[name]] for name in paths}, indent=2))
        return
    console = make_console()
    for name in names:
        console.print(f"{name} is in {escape(str(paths[name][0].parent))}.")


@data_app.command("verify", epilog="Example:\n\n  minmargin data verify mnist covtype")
def verify_command(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME",
            help="Data sets, by name; default: all that are here.",
            autocompletion=complete_dataset,
        ),
    ] = None,
    data_dir: _DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Check the files of data sets against their checksums. Leaves with 1 if one is missing or altered."""
    found = {name: verify_dataset(name, data_dir) for name in names or _names_here(data_dir)}
    statuses = [(name, status) for name in found for status in found[name]]
    if as_json:
        typer.echo(json.dumps([_status_record(name, status) for name, status in statuses], indent=2))
    else:
        _show_statuses(statuses, make_console(quiet=False))
    if any(status.state != "ok" for _, status in statuses):
        raise typer.Exit(1)


def _show_statuses(statuses: list[tuple[str, FileStatus]], console: Console) -> None:
    rows = [(name, status.file.name, status.state, str(status.path or "-")) for name, status in statuses]
    show_table(console, ("data set", "file", "state", "found at"), rows, prose=("found at",))
    for _, status in statuses:
        if status.state == "altered":
            content = "cannot be unpacked" if status.sha256 is None else f"has sha256 {status.sha256}"
            console.print(f"{escape(str(status.path))}: its content {content}, not {status.file.sha256}.")


def _names_here(data_dir: Path | None) -> list[str]:
    """Return the data sets of which at least one file is here."""
    here = [
        name
        for name, dataset in DATASETS.items()
        if any(find_file(dataset, file, data_dir) is not None for file in dataset.files)
    ]
    if not here:
        folders = " or ".join(repr(str(folder)) for folder in data_folders(data_dir))
        raise InputError(f"There is no data set in {folders}. Use minmargin data fetch NAME.")
    return here


def _found_in(dataset: Dataset, data_dir: Path | None) -> Path | None:
    """Return the folder that a data set is in; None if a file is missing."""
    paths = [find_file(dataset, file, data_dir) for file in dataset.files]
    return None if None in paths or paths[0] is None else paths[0].parent


def _record(dataset: Dataset, data_dir: Path | None) -> dict[str, Any]:
    folder = _found_in(dataset, data_dir)
    return {
        "name": dataset.name,
        "title": dataset.title,
        "rows": dataset.n_rows,
        "features": dataset.n_features,
        "classes": dataset.n_classes,
        "license": dataset.license,
        "origin": dataset.origin,
        "note": dataset.note,
        "files": [
            {
                "name": file.name,
                "bytes": file.n_bytes,
                "sha256": file.sha256,
                "urls": [source.url for source in file.sources],
            }
            for file in dataset.files
        ],
        "found_in": None if folder is None else str(folder),
    }


def _status_record(name: str, status: FileStatus) -> dict[str, Any]:
    return {
        "name": name,
        "file": status.file.name,
        "state": status.state,
        "path": None if status.path is None else str(status.path),
        "sha256": status.sha256,
        "expected_sha256": status.file.sha256,
    }
