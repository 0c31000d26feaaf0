"""Writes docs/benchmarks.md and its picture from the results of the benchmarks: the end of `make bench`.

Without a folder, only the end of the page is written anew, from the results that are kept in benchmarks/results. What
`make bench` has measured stays as it is.

python benchmarks/write_page.py [build/bench]
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from draw_scaling import draw_scaling
from measuring import Ceilings, Table

DOCS = Path(__file__).parents[1] / "docs"
OTHERS = Path(__file__).with_name("results")  # what other machines gave, a folder each
ORDER = (
    *("score", "fit", "solver", "choose_c", "networks", "parquet", "topb", "scaling"),
    *("memory", "bounds", "spread", "peers", "import_time", "audit"),
)
# May be measured without the others: their kept results are shown until `make bench` has them.
BY_ITSELF = ("solver", "choose_c", "spread", "audit")
ON_A_GPU = ("gpu",)  # needs a machine with one, so only its kept results are shown
MNIST = (
    Path(__file__).parents[1] / "paper" / "results" / "mnist.json"
)  # how long the paper's experiment took on it

INTRODUCTION = """\
# Benchmarks

`make bench` measures everything on this page and writes it anew; `make bench-quick` runs the same scripts on small
sizes in about two minutes and writes nothing. The scripts are in [benchmarks/](../benchmarks/).

Every comparison is a ratio measured in one run. The ways take turns, round after round, so that whatever else the
machine does befalls all of them alike; a ratio is taken within each round, and the median over the rounds is shown.
The absolute figures beside the ratios are medians too, and belong to the machine below."""

PICTURE = """\
![Time of a selection against the rows of the pool, the batch size, the members and the features, on logarithmic
axes](pictures/scaling.svg)"""


LIMITS = """\
What is missed, and what binds:

- *The loop, with ten classes.* Forty times the loop would be more arithmetic than a machine has. With 784 features a
  row takes 392,000 operations for 25 models; the loop reaches 12 to 20 GFLOP/s of them, so forty times that is several
  times what a matrix product does at its best size. A screen that gets by with less arithmetic would be needed, and
  [none pays](decisions/0011-no-rougher-screen.md). With 64 features it is just about what two cores have.
- *The loop and one model, with two classes.* The product alone runs at 92 GFLOP/s a core on the first machine, which is
  all that it has without AVX-512. The rest of the time goes into reading rows from memory and turning them, and the
  machine's cores are shared with others: three runs within an hour gave 100, 79 and 83 times the loop, a fourth on
  another day 103. The one in the middle is shown.
- *scikit-learn's default fits* stop at gradients a thousand times larger than asked for here. Where features are
  independent of each other, which real ones are not, that takes them a handful of iterations.
- *The exponent.* A selection has work that does not grow with the pool, and about B ln(|Z| / B) rows come near the cut
  on the way and are looked at twice. Both weigh on small pools: rows get cheaper, not dearer, as a pool grows. Three
  runs gave 0.950, 1.071 and 1.025; the last is shown."""


GPU_LIMITS = """\
From host memory, rows pass through page-locked pieces of 4 MB: a GPU reads those at 55 GB/s, and an array is not
page-locked. Ten threads fill two pieces each, in turn. Every copy has its price, and what is larger leaves the
processor's cache: in one run, 2 classes and 32 features went at 85% of the copy rate with two pieces of 4 MB, at 80%
with four of 2 MB, and at 66% with four of 8 MB. Making the array itself page-locked, block by block, gave 16 to 20
GB/s.

Rows of 784 features are looked at by float64 products: the proven error of a gap after so long a sum on matrix units is
0.17, thousands of times what is seen, and would leave most rows in doubt. That takes 2 ms for a block of 205 MB, whose
copy takes 3.7.

What a selection takes besides its copy is some 40 ms, before the first rows arrive and after the last: the larger the
pool, the closer it comes. Machines of this kind differ by several points, and so do runs on one of them: on another
one, the same code gave 81.7% and, two minutes later, 75.8%."""


KEPT = "<!-- From here on written from benchmarks/results, by benchmarks/write_page.py. -->"

BY_ITSELF_SINCE = """\
This was measured by itself, later than the rest of the page, and the machine may have had other work, too: ratios are
what counts."""
OF_SPREAD = " Where rows have few features, the formula for memory says too much."


def measured_part(results: list[dict[str, Any]], elsewhere: list[list[dict[str, Any]]]) -> str:
    """Return the page up to `KEPT`: results in full, and what was asked for as other machines had it."""
    parts = [INTRODUCTION, machine(results[0]), "## Goals", goals(results)]
    for others in elsewhere:
        if not {result["name"] for result in others} & {*ON_A_GPU, *BY_ITSELF}:
            parts += [
                "The same on another machine:",
                machine_lines(others[0]),
                goals(others),
                *tables_of(others, "score"),
            ]
    parts += [LIMITS, *(section(result) for result in results)]
    return "\n\n".join(parts) + "\n\n"


def kept_part(elsewhere: list[list[dict[str, Any]]], measured: str) -> str:
    """Return the end of the page: what was measured by itself, and not before, and what a GPU did."""
    parts = [KEPT]
    with_gpu = [others for others in elsewhere if any(result["name"] in ON_A_GPU for result in others)]
    for others in elsewhere:
        for result in others:
            if others not in with_gpu and result["name"] in BY_ITSELF and script_of(result) not in measured:
                more = OF_SPREAD if result["name"] == "spread" else ""
                since = [BY_ITSELF_SINCE + more, machine_lines(result), goals([result])]
                parts.append(section(result, since))
    for others in with_gpu:
        first, *more = sorted(others, key=lambda result: result["name"] not in ON_A_GPU)
        asked = goals([first, *more, whole_experiment()])
        parts += ["## On a GPU", machine_lines(first), asked, GPU_LIMITS, section(first)]
        parts += [section(result, [machine_lines(result)]) for result in more]
    return "\n\n".join(parts) + "\n"


def whole_experiment() -> dict[str, Any]:
    """Return how long the paper's MNIST experiment took, as a goal."""
    run = json.loads(MNIST.read_text())
    goal = {
        "asked": "the paper's MNIST experiment, 100 draws of ten strategies and eight batch sizes: ten minutes",
        "measured": f"{run['seconds']:.0f} s (`minmargin reproduce mnist`, {run['draws']} draws)",
        "met": run["seconds"] <= 600 and run["draws"] >= 100,
    }
    return {"goals": [goal]}


def goals(results: list[dict[str, Any]]) -> str:
    """Return the table of what was asked for."""
    rows = [
        [goal["asked"], goal["measured"], "yes" if goal["met"] else "**no**"]
        for result in results
        for goal in result["goals"]
    ]
    table = Table("What was asked for, and what was measured", ["asked", "measured", "met"], rows)
    return table.markdown()


def machine(result: dict[str, Any]) -> str:
    """Return the machine and its ceilings, under a heading."""
    return f"## The machine\n\n{machine_lines(result)}"


def machine_lines(result: dict[str, Any]) -> str:
    """Return the machine and its ceilings."""
    about = {**result["machine"], "ceilings": Ceilings(**result["ceilings"]).text()}
    lines = [f"| {name} | {value} |" for name, value in about.items()]
    return "\n".join(["| | |", "|---|---|", *lines])


def tables_of(results: list[dict[str, Any]], name: str) -> list[str]:
    """Return the first table of one benchmark."""
    return [Table(**result["tables"][0]).markdown() for result in results if result["name"] == name]


def script_of(result: dict[str, Any]) -> str:
    """Return a link to the script of a benchmark."""
    return f"[benchmarks/{result['name']}.py](../benchmarks/{result['name']}.py)"


def section(result: dict[str, Any], since: Sequence[str] = ()) -> str:
    """Return what one benchmark does, in its own words, then what else there is to say of it, and its tables."""
    title, *paragraphs = result["about"].strip().split("\n\n")
    prose = [paragraph for paragraph in paragraphs if not paragraph.startswith("    ")]
    picture = [PICTURE] if result["name"] == "scaling" else []
    tables = [Table(**table).markdown() for table in result["tables"]]
    heading = title.replace("\n", " ").rstrip(".")
    return "\n\n".join([f"## {heading}", *prose, script_of(result), *since, *picture, *tables])


def read_results(folder: Path) -> list[dict[str, Any]]:
    """Return what the benchmarks wrote into a folder, in the order of the page."""
    paths = [folder / f"{name}.json" for name in (*ORDER, *ON_A_GPU)]
    return [json.loads(path.read_text()) for path in paths if path.exists()]


def measured_now(folder: Path, elsewhere: list[list[dict[str, Any]]]) -> str:
    """Return the page up to `KEPT` from the results in a folder, and draw its picture."""
    results = read_results(folder)
    small = [result["name"] for result in results if result["quick"]]
    if small or not results:
        sys.exit(f"{folder} holds {'results of --quick' if small else 'no results'}. Run make bench.")
    for result in results:
        if result["name"] == "scaling":
            draw_scaling(result["curves"], DOCS / "pictures" / "scaling.svg")
    return measured_part(results, elsewhere)


def main() -> None:
    """Read the results, write the page and the picture."""
    page = DOCS / "benchmarks.md"
    elsewhere = list(filter(None, map(read_results, sorted(OTHERS.iterdir()))))
    measured = page.read_text().partition(KEPT)[0]
    if len(sys.argv) > 1:
        measured = measured_now(Path(sys.argv[1]), elsewhere)
    page.write_text(measured + kept_part(elsewhere, measured))


if __name__ == "__main__":
    main()
