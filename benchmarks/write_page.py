"""Writes docs/benchmarks.md and its picture from the results of the benchmarks: the end of `make bench`.

python benchmarks/write_page.py build/bench
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from draw_scaling import draw_scaling
from measuring import Ceilings, Table

DOCS = Path(__file__).parents[1] / "docs"
ORDER = ("score", "fit", "parquet", "topb", "scaling", "memory", "peers", "import_time")

INTRODUCTION = """\
# Benchmarks

`make bench` measures everything on this page and writes it anew; `make bench-quick` runs the same scripts on small
sizes in under two minutes and writes nothing. The scripts are in [benchmarks/](../benchmarks/).

Every comparison is a ratio measured in one run. The ways take turns, round after round, so that whatever else the
machine does befalls all of them alike; a ratio is taken within each round, and the median over the rounds is shown.
The absolute figures beside the ratios are medians too, and belong to the machine below."""

PICTURE = """\
![Time of a selection against the rows of the pool, the batch size, the members and the features, on logarithmic
axes](pictures/scaling.svg)"""


def page(results: list[dict[str, Any]]) -> str:
    """Return the whole page."""
    parts = [INTRODUCTION, *goals(results), machine(results[0])]
    parts += [section(result) for result in results]
    return "\n\n".join(parts) + "\n"


def goals(results: list[dict[str, Any]]) -> list[str]:
    """Return the table of what was asked for."""
    rows = [
        [goal["asked"], goal["measured"], "yes" if goal["met"] else "**no**"]
        for result in results
        for goal in result["goals"]
    ]
    table = Table("What was asked for, and what was measured", ["asked", "measured", "met"], rows)
    return ["## Goals", table.markdown()] if rows else []


def machine(result: dict[str, Any]) -> str:
    """Return the machine and its ceilings."""
    about = {**result["machine"], "ceilings": Ceilings(**result["ceilings"]).text()}
    lines = [f"| {name} | {value} |" for name, value in about.items()]
    return "\n".join(["## The machine", "", "| | |", "|---|---|", *lines])


def section(result: dict[str, Any]) -> str:
    """Return what one benchmark does, in its own words, and its tables."""
    title, *paragraphs = result["about"].strip().split("\n\n")
    prose = [paragraph for paragraph in paragraphs if not paragraph.startswith("    ")]
    picture = [PICTURE] if result["name"] == "scaling" else []
    tables = [Table(**table).markdown() for table in result["tables"]]
    heading = title.replace("\n", " ").rstrip(".")
    script = f"[benchmarks/{result['name']}.py](../benchmarks/{result['name']}.py)"
    return "\n\n".join([f"## {heading}", *prose, script, *picture, *tables])


def main() -> None:
    """Read the results, write the page and the picture."""
    folder = Path(sys.argv[1])
    paths = [folder / f"{name}.json" for name in ORDER]
    results = [json.loads(path.read_text()) for path in paths if path.exists()]
    small = [result["name"] for result in results if result["quick"]]
    if small or not results:
        sys.exit(f"{folder} holds {'results of --quick' if small else 'no results'}. Run make bench.")
    for result in results:
        if result["name"] == "scaling":
            draw_scaling(result["curves"], DOCS / "pictures" / "scaling.svg")
    (DOCS / "benchmarks.md").write_text(page(results))
    print(f"wrote {DOCS / 'benchmarks.md'} from {', '.join(result['name'] for result in results)}")


if __name__ == "__main__":
    main()
