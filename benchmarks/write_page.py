"""Writes docs/benchmarks.md and its pictures from the results that are kept: the end of `make bench`.

python benchmarks/write_page.py
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from draw_peers import draw_peers
from draw_scaling import draw_scaling
from measuring import Ceilings, Table

PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"
PICTURES = PAGE.parent / "pictures"
RESULTS = Path(__file__).with_name("results")  # a folder for each machine
SHOWN = "epyc"  # the machine whose results are shown in full
ON_A_GPU = "gpu"  # a machine that has this result is shown as one with a GPU
ORDER = (
    *("score", "strategies", "fit", "solver", "choose_c", "networks", "parquet", "topb", "scaling"),
    *("memory", "bounds", "billion", "spread", "peers", "peer_picks", "import_time", "audit", ON_A_GPU),
)
ONE_RUN = timedelta(days=1)  # results of one machine that are no further apart belong together
MNIST = PAGE.parents[1] / "paper" / "results" / "mnist.json"  # how long the paper's experiment took on a GPU

INTRODUCTION = """\
# Benchmarks

`make bench` measures most of this page and writes it anew; `make bench-quick` runs the same scripts on small sizes and
writes nothing. `make bench-billion`, `make bench-peers` and, on a machine with a GPU, benchmarks/gpu.py measure the
rest. The scripts are in [benchmarks/](../benchmarks/), and so are
[the results](../benchmarks/README.md#where-results-are-kept) of every run.

Every comparison is a ratio measured in one run. The ways take turns, round after round, so that whatever else the
machine does befalls all of them alike; a ratio is taken within each round, and the median over the rounds is shown.
The absolute figures beside the ratios are medians too, and belong to the machine below."""

SHOWN_BY = {
    "scaling": """\
![Time of a selection against the rows of the pool, the batch size, the members and the features, on logarithmic
axes](pictures/scaling.svg)""",
    "peer_picks": """\
![Accuracy above random's against the seconds that picking takes, a point for each strategy of each
library](pictures/peers.svg)""",
}


LIMITS = """\
What is missed, and what binds:

- *The loop, with ten classes.* Forty times the loop would be more arithmetic than a machine has. With 784 features a
  row takes 392,000 operations for 25 models, and forty times what the loop does of them is several times what a matrix
  product does at its best size. A screen that gets by with less arithmetic would be needed, and
  [none pays](decisions/0011-no-rougher-screen.md). With 64 features it is just about what two cores have.
- *The loop and one model, with two classes.* The product alone takes all that the first machine has without AVX-512.
  The rest of the time goes into reading rows from memory and turning them, and the machine's cores are shared with
  others: runs within an hour differed by a quarter. The one in the middle is shown.
- *scikit-learn's default fits* stop at gradients a thousand times larger than asked for here. Where features are
  independent of each other, which real ones are not, that takes them a handful of iterations.
- *The exponent.* A selection has work that does not grow with the pool, and about B ln(|Z| / B) rows come near the cut
  on the way and are looked at twice. Both weigh on small pools: rows get cheaper, not dearer, as a pool grows. Runs
  differ by a tenth; the last is shown."""


# What binds where a benchmark's own goals are missed, in the section of that benchmark.
BINDS = {
    "strategies": """\
What binds on small pools: the loop takes half a second for 20,000 rows of 784 features, so a tenth of it is some 46 ms.
The bare product for 250 outputs is 7.8 GFLOP, 40 ms at this machine's ceiling, and nothing
[rougher](decisions/0025-no-halves-without-matrix-units.md) would be done sooner. Then at least 1,000 rows are scored
exactly, in float64. In a large pool that is nothing; here it is every twentieth row.""",
    "parquet": """\
What binds from Parquet: all ways have all cores busy, and three quarters of minmargin's processor time is decoding,
which is pyarrow's. Larger and smaller batches, buffers and reading ahead were tried, and none was faster. Memory maps
would spare a fifth of the decoding, but a file that is cut short while it is read would kill the process. From CSV,
pyarrow's reader of streams has one thread; `read_csv`, the fastest, holds a whole file.""",
}


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


BY_ITSELF = """\
This was measured by itself, at another time than the first of the page, and the machine may have had other work, too:
ratios are what counts."""
PEERS_BY_ITSELF = """\
This was measured by itself: accuracies beside other work, which they do not depend on, and seconds on 2026-11-17, on
another machine of this kind, while other work was held back. Some of it was not: eight cells, four of them ours, and
one that an unfair rule had chosen from two jobs, were measured again. The three jobs of PowerBALD for 1,000 rows
still took 0.4, 1.9 and 4.4 s.

Whatever asks models about margins or gradients is above random, in every library. `cluster-margin` is ahead of all,
by 0.72 points of min-margin. `badge`, `spread`, scikit-activeml's BADGE and Falcun, its margin and that of
small-text, and modAL's ranked batch are above min-margin, too, which itself is 0.34 above random: where 100 rows are
picked with 200 labels, the paper's method is not the best one. Our margin is ahead of it by 0.19, which the
correction leaves open. Problem by problem little can be told: `cluster-margin` is above min-margin on two of six,
modAL's ranked batch on three and below it on one. TypiClust and MaxHerding ask no model and are above random;
core-set, k-means, contrastive, committee, ActiveLab and BALD are not told from it.

Seconds are not done: a batch that is timed had one minute instead of ten, and a cell without seconds has not been
measured yet. The first draws were looked at before the last were played, but they did not decide how many there are.
`make bench-peers` goes on from the cells that are on disk, also with batches of 500."""


def page_of(results: dict[str, list[dict[str, Any]]]) -> str:
    """Return the page from the results of all machines: one in full, the goals of others, and what GPUs did."""
    shown = results[SHOWN]
    first = shown[0]
    parts = [
        INTRODUCTION,
        f"## The machine\n\n{machine_lines(first)}",
        "## Goals",
        goals([result for result in shown if beside(result, first)]),
    ]
    others = [found for name, found in results.items() if name != SHOWN]
    for found in others:
        if not has_gpu(found):
            lines = machine_lines(found[0])
            parts += ["The same on another machine:", lines, goals(found), *tables_of(found, "score")]
    parts += [LIMITS, *(section(result, since(result, first)) for result in shown)]
    for found in filter(has_gpu, others):
        on_gpu, *more = sorted(found, key=lambda result: result["name"] != ON_A_GPU)
        asked = goals([on_gpu, *more, whole_experiment()])
        parts += ["## On a GPU", machine_lines(on_gpu), asked, GPU_LIMITS, section(on_gpu)]
        parts += [section(result, [machine_lines(result)]) for result in more]
    return "\n\n".join(parts) + "\n"


def has_gpu(results: list[dict[str, Any]]) -> bool:
    """Return whether a machine's results are those of a GPU."""
    return any(result["name"] == ON_A_GPU for result in results)


def beside(result: dict[str, Any], first: dict[str, Any]) -> bool:
    """Return whether a result is from the run of the first one."""
    apart = datetime.fromisoformat(result["date"]) - datetime.fromisoformat(first["date"])
    return result["machine"] == first["machine"] and abs(apart) < ONE_RUN


def since(result: dict[str, Any], first: dict[str, Any]) -> list[str]:
    """Return what must be said of a result that is not from the run of the first one."""
    if beside(result, first):
        return []
    said = PEERS_BY_ITSELF if result["name"] == "peer_picks" else BY_ITSELF
    return [said, machine_lines(result), *([goals([result])] if result["goals"] else [])]


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


def machine_lines(result: dict[str, Any]) -> str:
    """Return the machine, its ceilings, and when it measured."""
    ceilings = Ceilings(**result["ceilings"]).text()
    about = {**result["machine"], "ceilings": ceilings, "measured": result["date"][:10]}
    lines = [f"| {name} | {value} |" for name, value in about.items()]
    return "\n".join(["| | |", "|---|---|", *lines])


def tables_of(results: list[dict[str, Any]], name: str) -> list[str]:
    """Return the first table of one benchmark."""
    return [Table(**result["tables"][0]).markdown() for result in results if result["name"] == name]


def script_of(result: dict[str, Any]) -> str:
    """Return a link to the script of a benchmark."""
    return f"[benchmarks/{result['name']}.py](../benchmarks/{result['name']}.py)"


def section(result: dict[str, Any], more: Sequence[str] = ()) -> str:
    """Return what one benchmark does, in its own words, then what else there is to say of it, and its tables."""
    title, *paragraphs = result["about"].strip().split("\n\n")
    prose = [paragraph for paragraph in paragraphs if not paragraph.startswith("    ")]
    picture = [SHOWN_BY[result["name"]]] if result["name"] in SHOWN_BY else []
    tables = [Table(**table).markdown() for table in result["tables"]]
    binds = [BINDS[result["name"]]] if result["name"] in BINDS else []
    heading = title.replace("\n", " ").rstrip(".")
    return "\n\n".join([f"## {heading}", *prose, script_of(result), *more, *picture, *tables, *binds])


def read_results(folder: Path) -> list[dict[str, Any]]:
    """Return what is kept of a machine, in the order of the page."""
    paths = [folder / f"{name}.json" for name in ORDER]
    return [json.loads(path.read_text()) for path in paths if path.exists()]


def read_all() -> dict[str, list[dict[str, Any]]]:
    """Return what is kept of every machine."""
    found = {folder.name: read_results(folder) for folder in sorted(RESULTS.iterdir())}
    return {name: results for name, results in found.items() if results}


def main() -> None:
    """Read the results, write the page and the pictures."""
    results = read_all()
    PAGE.write_text(page_of(results))
    for result in results[SHOWN]:
        if (
            result["name"] == "scaling" and result["curves"]
        ):  # those of before results were kept are not there
            draw_scaling(result["curves"], PICTURES / "scaling.svg")
        if result["name"] == "peer_picks":
            draw_peers(result["curves"], PICTURES / "peers.svg")


if __name__ == "__main__":
    main()
