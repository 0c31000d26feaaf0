"""What `import minmargin` costs beyond scikit-learn and pyarrow, which it cannot do without, and the first selections.

Each runs in a fresh process, in turn. *The first of the README* is its first example, 20 of 509 rows. *A large one* is
1,000 of 200,000 rows of 32 features, from 1,000 labels: first with an empty folder of compiled kernels, then with what
is in it now.

    python benchmarks/import_time.py [--quick] [--repeats 7] [--json FILE]
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile

from measuring import Report, Table, arguments_of, figure, times

STATEMENTS = ("import sklearn, pyarrow", "import minmargin")
TIMED = "import time; start = time.perf_counter()\n{}\nprint(time.perf_counter() - start)"
FIRST = """
import minmargin as mm
from sklearn.datasets import load_breast_cancer
X, y = load_breast_cancer(return_X_y=True)
mm.select(X[:60], y[:60], X[60:], batch_size=20, preprocess="auto", random_state=0)
"""
LARGE = """
import numpy as np
import minmargin as mm
X = np.random.default_rng(0).standard_normal((201_000, 32), dtype=np.float32)
mm.select(X[:1000], X[:1000, 0] > 0, X[1000:], batch_size=1000, random_state=0)
"""


def seconds(statement: str, **environment: str) -> float:
    """Return the seconds of a statement in a fresh process."""
    command = [sys.executable, "-c", TIMED.format(statement)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env={**os.environ, **environment}
    )
    return float(done.stdout)


def first_selections() -> list[float]:
    """Return the seconds of the README's first selection, of a large one, and of a large one again."""
    with tempfile.TemporaryDirectory() as folder:
        return [seconds(FIRST), *(seconds(LARGE, NUMBA_CACHE_DIR=folder) for _ in range(2))]


def main() -> None:
    """Measure both imports, and the first selections."""
    arguments = arguments_of(__doc__, repeats=(7, "rounds"))
    n_rounds = 2 if arguments.quick else arguments.repeats
    report = Report(__file__, __doc__, arguments)
    rounds = [[seconds(statement) for statement in STATEMENTS] for _ in range(n_rounds)]
    libraries, package = map(statistics.median, zip(*rounds, strict=True))
    ratio = statistics.median(after / before for before, after in rounds)
    cells = [figure(libraries), figure(package), figure(package - libraries), times(ratio)]
    header = ["", "scikit-learn and pyarrow, s", "minmargin, s", "difference, s", "ratio"]
    report.add(Table("Importing", header, [["fresh process", *cells]]))
    taken = zip(*(first_selections() for _ in range((n_rounds + 1) // 2)), strict=True)
    first, large, again = map(statistics.median, taken)
    rows = [
        ["the first of the README", figure(first), ""],
        ["a large one, nothing compiled yet", figure(large), figure(large - again)],
        ["a large one again", figure(again), ""],
    ]
    report.add(
        Table("The first selections, each in a fresh process", ["selection", "s", "to compile, s"], rows)
    )
    report.write()


if __name__ == "__main__":
    main()
