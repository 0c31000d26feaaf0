"""Keeps what the benchmarks measured beside what they measured before, and shows how it went.

A result becomes `results/MACHINE/NAME.json`, in place of the one before. Its date, machine, tables and goals also
become a line of `results/MACHINE/history/NAME.jsonl`, where nothing is ever removed.

    python benchmarks/history.py keep build/bench [--machine epyc]
    python benchmarks/history.py show score
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any

from measuring import Table

RESULTS = Path(__file__).with_name("results")
REMEMBERED = (
    "name",
    "date",
    "machine",
    "ceilings",
    "tables",
    "goals",
)  # what a script says of itself is in git
NO_NAMES = {"amd", "intel", "r", "tm", "cpu", "processor"}  # words that tell no processor from another


def keep(paths: list[Path], machine: str | None) -> list[Path]:
    """Write results among those that are kept, and a line of each into its history; return where they are now."""
    results = [json.loads(path.read_text()) for path in paths]
    small = [result["name"] for result in results if result["quick"]]
    if small or not results:
        sys.exit(f"There are {f'results of --quick: {small}' if small else 'no results'}. Run make bench.")
    written = []
    for result in results:
        folder = RESULTS / (machine or name_machine(result["machine"]["processor"]))
        (folder / "history").mkdir(parents=True, exist_ok=True)
        path = folder / f"{result['name']}.json"
        path.write_text(json.dumps(result, indent=1) + "\n")
        with (folder / "history" / f"{result['name']}.jsonl").open("a") as history:
            history.write(remembered(result))
        written.append(path)
    return written


def remembered(result: dict[str, Any]) -> str:
    """Return the line of a result in its history."""
    return json.dumps({name: result[name] for name in REMEMBERED}, separators=(",", ":")) + "\n"


def name_machine(processor: str) -> str:
    """Return the folder of a machine, such as "epyc" for "AMD EPYC"."""
    words = re.findall(r"[a-z0-9]+", processor.lower())
    return "-".join(word for word in words if word not in NO_NAMES) or "unnamed"


def tables_of(name: str) -> list[Table]:
    """Return how the goals of a benchmark went, a table for each machine."""
    tables = []
    for path in sorted(RESULTS.glob(f"*/history/{name}.jsonl")):
        runs = [json.loads(line) for line in path.read_text().splitlines()]
        asked = dict.fromkeys(goal["asked"] for run in runs for goal in run["goals"])
        measured = [{goal["asked"]: goal["measured"] for goal in run["goals"]} for run in runs]
        header = ["asked", *(run["date"][:10] for run in runs)]
        rows = [[goal, *(found.get(goal, "") for found in measured)] for goal in asked]
        tables.append(Table(f"{name}, {path.parts[-3]}", header, rows))
    return tables


def main() -> None:
    """Keep results, or show how they went."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    keeping = commands.add_parser("keep", help="put results beside the earlier ones")
    keeping.add_argument("paths", nargs="+", type=Path, help="results, or folders of them")
    keeping.add_argument("--machine", help="the folder in results/; by default the processor's name")
    commands.add_parser("show", help="print how goals went").add_argument("name")
    arguments = parser.parse_args()
    if arguments.command == "show":
        print("\n\n".join(table.text() for table in tables_of(arguments.name)))
        return
    paths = [
        file
        for path in arguments.paths
        for file in (sorted(path.glob("*.json")) if path.is_dir() else [path])
    ]
    for path in keep(paths, arguments.machine):
        print(f"Kept {path.relative_to(RESULTS.parent)}.")


if __name__ == "__main__":
    main()
