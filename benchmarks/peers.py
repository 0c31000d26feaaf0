"""The same job by other libraries: train 25 logistic members on 1,000 labels, pick 1,000 rows of a pool.

Real data: covtype, class 2 against the rest, 54 standardized features, float32. Every way runs in a process of its
own, in turn, first on a few rows to load and compile everything, then once for the clock, from training to the rows;
`peer_ways.py` has the code. Only minmargin, the hand-written loop over scikit-learn and modAL with a strategy of
one's own do the same job; the others do the nearest thing they offer. The libraries live in `.bench-venv`, which is
made on the first run. The largest pool is covtype five times over, to see which ways still manage.

    python benchmarks/peers.py [--quick] [--repeats 3] [--limit 120] [--json FILE]
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import venv
from pathlib import Path

import numpy as np
import pyarrow.csv

from measuring import Report, Table, arguments_of, figure, in_own_process, times
from peer_ways import MEMORY_LIMIT, SAME_JOB, WAYS
from pool_files import folder_for_pools

ROOT = Path(__file__).parents[1]
DATA = ROOT.parent / "shared" / "data" / "covtype" / "covtype.data.gz"
VENV = ROOT / ".bench-venv"
REQUIREMENTS = Path(__file__).with_name("peers-requirements.txt")
LIBACT = "libact==0.1.6"
N_LABELED = 1_000

OTHERS = [
    ["scikit-activeml 1.0.1", "`simple_batch` fills a B x |Z| array of floats and finds each pick by a pass over all"],
    ["modAL 0.4.2.1", "holds all (|Z|, K, C) probabilities; vote entropy counts every row's votes in Python"],
    ["small-text 2.0.0.dev4", "no committees of bootstrap draws; a Python call and a sort for every row"],
    ["cleanlab 2.9.0", "ActiveLab scores predictions that you bring; it trains no committee"],
    ["ALiPy 1.2.5", "needs a removed name put back on Python 3.10 and later; always 10 members"],
    ["libact 0.1.6", "no wheel, built with its C extensions off; one row a call, trained anew after each"],
    ["baal 2.1.0", "brings PyTorch; scores (|Z|, C, K) predictions that you bring: only in peer_picks.py"],
    ["pyrelational 1.0.2", "not measured: wants scikit-learn < 1.4.3 and PyTorch < 2.3"],
]  # fmt: skip


def main() -> None:
    """Measure all ways, on pools that grow until a way stops."""
    arguments = arguments_of(
        __doc__,
        repeats=(3, "rounds"),
        limit=(120.0, "seconds after which a process is stopped"),
        rows=(3e6, "no pool is larger than this"),
        folder=(None, "where to write the data; by default where temporary files go"),
    )
    if not DATA.exists():
        print(f"peers: skipped, there is no {DATA}.")
        return
    python = ready_python(install=not arguments.quick)
    ways = list(SAME_JOB if arguments.quick else WAYS) if python else list(SAME_JOB[:2])
    report = Report(__file__, __doc__, arguments)
    with folder_for_pools(arguments.folder) as folder:
        n_pool = write_covtype(folder)
        sizes = [5_000] if arguments.quick else [10_000, 100_000, n_pool, 5 * n_pool]
        sizes = [n for n in sizes if n <= arguments.rows]
        # B is a tenth of the quick pool, so that nothing is picked whole.
        size = 500 if arguments.quick else 1_000
        found: dict[tuple[str, int], Found] = {}
        for n in sizes:
            running = [
                way for way in ways if all(found[way, m].stopped is None for m in sizes[: sizes.index(n)])
            ]
            found |= measure(running, folder, n, size, python or sys.executable, arguments)
    report.add(as_table(found, ways, sizes, size))
    report.add(Table("The libraries", ["library", "what holds it back"], OTHERS))
    report.write()


class Found:
    """What the rounds of one way on one pool gave."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.peak = 0
        self.stopped: str | None = None

    def text(self, fastest: Found) -> str:
        """Return the cell: seconds, ratio to minmargin within a round, peak memory."""
        if self.stopped is not None:
            return self.stopped
        assert fastest.seconds, f"minmargin itself was stopped: {fastest.stopped}"
        ratio = statistics.median(a / b for a, b in zip(self.seconds, fastest.seconds, strict=True))
        return f"{figure(statistics.median(self.seconds))} s, {times(ratio)}, {self.peak / 1e6:,.0f} MB"


def measure(
    ways: list[str], folder: Path, n: int, size: int, python: str, arguments
) -> dict[tuple[str, int], Found]:
    """Run every way once a round; what is stopped once is not tried again."""
    found = {way: Found() for way in ways}
    repeats = 1 if arguments.quick or n > 200_000 else arguments.repeats
    for _ in range(repeats):
        for way, of_way in found.items():
            if of_way.stopped is not None:
                continue
            try:
                result = in_own_process(
                    "peer_ways.py", way, folder, n, size, python=python, timeout=arguments.limit
                )
            except subprocess.TimeoutExpired:
                of_way.stopped = f"over {arguments.limit:.0f} s"
            except subprocess.CalledProcessError as error:
                reason = error.stderr.strip().splitlines()[-1][:60]
                full = f"over {MEMORY_LIMIT / 2**30:.0f} GiB"
                of_way.stopped = full if "Memory" in reason or "allocate" in reason else reason
            else:
                of_way.seconds.append(result["seconds"])
                of_way.peak = max(of_way.peak, result["peak"])
    return {(way, n): of_way for way, of_way in found.items()}


def as_table(found: dict[tuple[str, int], Found], ways: list[str], sizes: list[int], size: int) -> Table:
    """Return seconds, ratio to minmargin and peak memory, for every way and pool."""
    table = Table(
        f"Train on {N_LABELED:,} labels and pick {size:,}: seconds, times minmargin's, peak memory",
        ["way", "picks by", *(f"pool of {n:,}" for n in sizes)],
        note="The first three do the same job. A cell without figures says why the way was stopped; larger pools are "
        "then not tried.",
    )
    for way in ways:
        meaning = WAYS[way].__doc__.strip().rstrip(".")
        cells = [found[way, n].text(found["minmargin", n]) if (way, n) in found else "" for n in sizes]
        table.rows.append([way, meaning, *cells])
    return table


def write_covtype(folder: Path) -> int:
    """Write X, y and the pool as arrays, in random order; return how many rows the pool has."""
    options = pyarrow.csv.ReadOptions(autogenerate_column_names=True)
    columns = pyarrow.csv.read_csv(DATA, read_options=options).columns
    order = np.random.default_rng(0).permutation(len(columns[0]))
    features = np.stack([column.to_numpy() for column in columns[:-1]], axis=1)[order].astype(np.float64)
    X = ((features - features.mean(axis=0)) / features.std(axis=0)).astype(np.float32)
    np.save(folder / "X.npy", X[:N_LABELED])
    np.save(folder / "y.npy", (columns[-1].to_numpy()[order] == 2).astype(np.int64)[:N_LABELED])
    np.save(folder / "pool.npy", X[N_LABELED:])
    return len(X) - N_LABELED


def ready_python(*, install: bool) -> str | None:
    """Return the interpreter of .bench-venv, made if need be; None if it is missing and must not be made."""
    python, stamp = VENV / "bin" / "python", VENV / "installed.txt"
    wanted = REQUIREMENTS.read_text() + LIBACT
    if stamp.exists() and stamp.read_text() == wanted:
        return str(python)
    if not install:
        print("peers: without .bench-venv only scikit-learn is compared; benchmarks/peers.py makes it.")
        return None
    print("peers: installing the libraries into .bench-venv", flush=True)
    venv.create(VENV, clear=True, with_pip=True)
    (VENV / ".gitignore").write_text("*\n")
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "--requirement", str(REQUIREMENTS), "--editable", str(ROOT)], check=True)
    # Its C extensions want LAPACK's headers and are not needed here; a machine without a compiler goes without it.
    without_extensions = {"LIBACT_BUILD_HINTSVM": "0", "LIBACT_BUILD_VARIANCE_REDUCTION": "0"}
    libact = [*pip, "--no-deps", "--no-build-isolation", LIBACT]
    subprocess.run(libact, check=False, env={**os.environ, **without_extensions})
    stamp.write_text(wanted)
    return str(python)


if __name__ == "__main__":
    main()
