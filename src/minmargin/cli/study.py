"""`minmargin study`: every strategy on many real problems."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from minmargin.checks import check_n_jobs
from minmargin.cli.app import app
from minmargin.cli.interruption import in_folder, interruption
from minmargin.cli.options import NetworkDevice, split
from minmargin.cli.playing import DataDir, PlayedAsJson, TimeLimit, parse_draws, parse_seconds, show_packed
from minmargin.cli.progress import progress_bars
from minmargin.cli.show import make_console
from minmargin.device import check_device
from minmargin.execution import silent

# The leading \\b keeps the lines as they are, so that the example can be copied.
_EXAMPLE = """\b
Example:
  minmargin study --pack
  minmargin study --out studied --ways logistic --draws 0:5 --n-jobs 4
"""


@app.command("study", epilog=_EXAMPLE)
def study_command(
    out: Annotated[
        Path, typer.Option(help="The folder for results and a page; an interrupted study goes on from it.")
    ] = Path("studied"),
    problems: Annotated[
        list[str] | None,
        typer.Option(metavar="NAMES", help="Only these, comma-separated or repeated; large: the large ones."),
    ] = None,
    ways: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES", help="Ways of learning: logistic, networks (with torch), boosting; default: all."
        ),
    ] = None,
    strategies: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES",
            help="Only these; +distinct after a name passes over copies. Default: all; few for boosting.",
        ),
    ] = None,
    draws: Annotated[
        str, typer.Option(metavar="FIRST:END", help="Which draws: 0:50 are fifty, and so is 50.")
    ] = "0:50",
    time_limit: TimeLimit = None,
    n_jobs: Annotated[
        int, typer.Option(help="How many processes play, and share a GPU; -1 uses all cores.")
    ] = -1,
    device: NetworkDevice = "auto",
    packed: Annotated[Path, typer.Option(help="The folder of the packed problems.")] = Path(".study-data"),
    pack: Annotated[
        bool, typer.Option("--pack", help="Pack the problems from the files of their sets, and leave.")
    ] = False,
    data_dir: DataDir = None,
    page_only: Annotated[
        bool, typer.Option("--page", help="Play nothing: join the parts that are there, and write the page.")
    ] = False,
    as_json: PlayedAsJson = False,
) -> None:
    """Play every strategy on real problems, draw by draw, and write a page of what came out."""
    from joblib import effective_n_jobs  # noqa: PLC0415 - slow to import

    from minmargin.experiments.study.named import strategy_named  # noqa: PLC0415 - slow to import
    from minmargin.experiments.study.page import write_page  # noqa: PLC0415 - slow to import
    from minmargin.experiments.study.parts import join_parts  # noqa: PLC0415 - slow to import
    from minmargin.experiments.study.problems import (  # noqa: PLC0415 - slow to import
        LARGE_PROBLEMS,
        PROBLEMS,
        check_problems,
        pack_problems,
    )
    from minmargin.experiments.study.running import Study, run_study  # noqa: PLC0415 - slow to import
    from minmargin.experiments.study.ways import WAYS, check_ways  # noqa: PLC0415 - slow to import

    console = make_console()
    named = split(problems)
    if named == ["large"]:
        named = list(LARGE_PROBLEMS)
    if pack:
        names = check_problems(named or (*PROBLEMS, *LARGE_PROBLEMS))
        show_packed("problems", pack_problems(packed, names, data_dir), packed, as_json=as_json)
        return
    study = Study(
        check_problems(named or PROBLEMS),
        check_ways(split(ways) or [way for way in WAYS if way != "networks" or find_spec("torch")]),
        [strategy_named(name).name for name in split(strategies) or []] or None,
        parse_draws(draws),
    )
    if page_only:
        told: dict[str, object] = {"results": [str(path) for path in join_parts(out)]}
    else:
        interruption.keep(lambda: in_folder(out))
        with progress_bars() as progress:
            ran = run_study(
                study,
                packed,
                out,
                n_jobs=effective_n_jobs(check_n_jobs(n_jobs)),
                device=check_device(device),
                time_limit=parse_seconds(time_limit),
                progress=silent if as_json else progress,
            )
        told = {
            "asked": ran.n_asked,
            "played": ran.n_played,
            "refused": ran.refused,
            "seconds": {
                way: {stage: round(took, 1) for stage, took in each.items()}
                for way, each in ran.seconds.items()
            },
            "results": [str(path) for path in ran.results],
        }
        if not as_json:
            console.print(f"Played {ran.n_played:,} of {ran.n_asked:,} draws that were left: {out}")
            for way, by_stage in ran.seconds.items():
                parts = ", ".join(f"{stage} {took:,.1f} s" for stage, took in by_stage.items())
                console.print(f"Processes spent, on {way}: {parts}")
            for line in ran.refused:
                console.print(f"Not played: {line}", markup=False)
    page = write_page(out, out / "study.md", out / "pictures")
    if as_json:
        typer.echo(json.dumps({**told, "page": str(page)}, indent=2))
    else:
        console.print(f"What they show: {page}")
