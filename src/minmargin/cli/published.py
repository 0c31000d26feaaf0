"""`minmargin published`: tables that others have published, played again by their rules."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from minmargin.checks import check_n_jobs
from minmargin.cli.app import app
from minmargin.cli.interruption import in_folder, interruption
from minmargin.cli.options import split
from minmargin.cli.playing import DataDir, PlayedAsJson, TimeLimit, parse_draws, parse_seconds, show_packed
from minmargin.cli.progress import progress_bars
from minmargin.cli.show import make_console
from minmargin.errors import InputError
from minmargin.execution import silent

# The leading \\b keeps the lines as they are, so that the example can be copied.
_EXAMPLE = """\b
Example:
  minmargin published rebenchmark --pack
  minmargin published rebenchmark --problems spambase --batch-sizes 50 --draws 2
"""


@app.command("published", epilog=_EXAMPLE)
def published_command(
    table: Annotated[
        str, typer.Argument(help="rebenchmark (Lu et al. 2023) or alpbench (Margraf et al. 2024).")
    ],
    out: Annotated[
        Path, typer.Option(help="The folder for results and a page; an interrupted run goes on from it.")
    ] = Path("published"),
    problems: Annotated[
        list[str] | None, typer.Option(metavar="NAMES", help="Only these sets, comma-separated or repeated.")
    ] = None,
    learners: Annotated[
        list[str] | None,
        typer.Option(metavar="NAMES", help="Only these, of alpbench: logistic, forest, boosting."),
    ] = None,
    batch_sizes: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NUMBERS", help="Only these: 1, 10, 50 of rebenchmark; 10, 50, 200 of alpbench."
        ),
    ] = None,
    strategies: Annotated[list[str] | None, typer.Option(metavar="NAMES", help="Only these.")] = None,
    draws: Annotated[
        str | None,
        typer.Option(metavar="FIRST:END", help="Which draws: 0:5 are five, and so is 5. Default: 10."),
    ] = None,
    time_limit: TimeLimit = None,
    n_jobs: Annotated[int, typer.Option(help="How many processes play; -1 uses all cores.")] = -1,
    packed: Annotated[Path, typer.Option(help="The folder of the packed sets.")] = Path(".published-data"),
    pack: Annotated[bool, typer.Option("--pack", help="Pack the sets from their files, and leave.")] = False,
    data_dir: DataDir = None,
    as_json: PlayedAsJson = False,
) -> None:
    """Play a published table again by its own rules, and write a page with theirs beside ours."""
    from joblib import effective_n_jobs  # noqa: PLC0415 - slow to import

    from minmargin.experiments.published.page import write_page  # noqa: PLC0415 - slow to import
    from minmargin.experiments.published.rows import pack_rows  # noqa: PLC0415 - slow to import
    from minmargin.experiments.published.running import Wanted, check_name, run_table  # noqa: PLC0415 - slow to import
    from minmargin.experiments.published.tables import TABLES  # noqa: PLC0415 - slow to import

    console = make_console()
    known = TABLES[check_name("table", table, tuple(TABLES))]
    named = split(problems)
    if pack:
        names = [check_name("set", each, known.sets) for each in named or known.sets]
        show_packed("sets", pack_rows(packed, names, data_dir), packed, as_json=as_json)
        return
    wanted = Wanted(
        table,
        named,
        split(learners),
        _numbers(split(batch_sizes)),
        split(strategies),
        None if draws is None else parse_draws(draws),
    )
    interruption.keep(lambda: in_folder(out))
    with progress_bars() as progress:
        ran = run_table(
            wanted,
            packed,
            out,
            n_jobs=effective_n_jobs(check_n_jobs(n_jobs)),
            time_limit=parse_seconds(time_limit),
            progress=silent if as_json else progress,
        )
    page = write_page(out, out / "published.md")
    if as_json:
        told = {
            "asked": ran.n_asked,
            "played": ran.n_played,
            "refused": ran.refused,
            "results": [str(path) for path in ran.results],
            "page": str(page),
        }
        typer.echo(json.dumps(told, indent=2))
        return
    console.print(f"Played {ran.n_played:,} of {ran.n_asked:,} games that were left: {out}")
    for line in ran.refused:
        console.print(f"Not played: {line}", markup=False)
    console.print(f"What they show: {page}")


def _numbers(texts: list[str] | None) -> list[int] | None:
    if texts is None:
        return None
    for text in texts:
        if not text.isdecimal():
            raise InputError(f"--batch-sizes {text} must be whole numbers, such as 10 or 10,50.")
    return [int(text) for text in texts]
