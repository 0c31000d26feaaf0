"""`minmargin reproduce`: the experiments of the paper."""

from __future__ import annotations

import json
from collections import Counter
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from minmargin.cli.app import app
from minmargin.cli.completion import complete_dataset, complete_experiment
from minmargin.cli.interruption import in_folder, interruption
from minmargin.cli.options import NetworkDevice
from minmargin.cli.progress import progress_bars
from minmargin.cli.show import make_console
from minmargin.device import check_device
from minmargin.errors import missing_extra

_ALL = "all"
_QUICK = "**This is a quick run**, of few draws and other data: it shows that everything works, and decides nothing."


@app.command("reproduce", epilog="Example:\n\n  minmargin reproduce --quick all")
def reproduce_command(
    name: Annotated[
        str,
        typer.Argument(
            help="gaussian, theorem, benchmark, tuning, mnist, fashion, large, or all.",
            autocompletion=complete_experiment,
        ),
    ],
    out: Annotated[
        Path, typer.Option(help="The folder for results, figures and a page that shows them.")
    ] = Path("reproduced"),
    draws: Annotated[
        int | None, typer.Option(min=1, help="How many draws; as many as the paper has if not given.")
    ] = None,
    datasets: Annotated[
        list[str] | None,
        typer.Option(help="Only this dataset; may be given several times.", autocompletion=complete_dataset),
    ] = None,
    data_dir: Annotated[Path | None, typer.Option(help="The folder that has the data.")] = None,
    device: NetworkDevice = "auto",
    workers: Annotated[int, typer.Option(min=1, help="How many draws are played at a time on CPUs.")] = 1,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="A few draws of data that needs no file: minutes instead of hours."),
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print where the results are as JSON, for machines.")
    ] = False,
) -> None:
    """Rerun an experiment of the paper; a run that was interrupted is taken up where it stopped."""
    if find_spec("matplotlib") is None:
        raise missing_extra("The figures need matplotlib", "report")
    from minmargin.experiments.paper.claims import Measured, judge  # noqa: PLC0415 - slow to import
    from minmargin.experiments.paper.page import write_page  # noqa: PLC0415 - slow to import
    from minmargin.experiments.paper.reproduce import NAMES, can_run, reproduce  # noqa: PLC0415 - slow to import

    interruption.keep(lambda: in_folder(out))
    console = make_console()
    names = [each for each in NAMES if can_run(each)] if name == _ALL else [name]
    left_out = [each for each in NAMES if each not in names] if name == _ALL else []
    for each in names:
        with progress_bars() as progress:
            reproduce(
                each,
                out,
                quick=quick,
                draws=draws,
                datasets=datasets,
                data_dir=data_dir,
                device=check_device(device),
                workers=workers,
                progress=progress,
            )
        if not as_json:
            console.print(f"{each}: {out / each}.parquet")
    page = write_page(out, out / "paper.md", out / "figures", note=_QUICK if quick else "")
    verdicts = Counter(str(verdict.outcome) for verdict in judge(Measured.read(out)).values())
    if as_json:
        results = {each: str(out / f"{each}.parquet") for each in names}
        shown = {"results": results, "left_out": left_out, "page": str(page), "verdicts": verdicts}
        typer.echo(json.dumps(shown, indent=2))
        return
    console.print(f"What they show: {page}")
    if not quick:
        console.print(
            "Claims: " + ", ".join(f"{count} {outcome}" for outcome, count in verdicts.most_common())
        )
    if left_out:
        console.print(
            f"Left out, since they train networks: {', '.join(left_out)}. Use pip install 'minmargin[torch]'."
        )
