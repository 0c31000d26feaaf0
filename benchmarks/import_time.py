"""What `import minmargin` costs beyond scikit-learn and pyarrow, which it cannot do without.

Each import runs in a fresh process, in turn.

    python benchmarks/import_time.py [--quick] [--repeats 7] [--json FILE]
"""

from __future__ import annotations

import statistics
import subprocess
import sys

from measuring import Report, Table, arguments_of, figure, times

STATEMENTS = ("import sklearn, pyarrow", "import minmargin")
TIMED = "import time; start = time.perf_counter(); {}; print(time.perf_counter() - start)"


def seconds(statement: str) -> float:
    """Return the seconds of a statement in a fresh process."""
    command = [sys.executable, "-c", TIMED.format(statement)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def main() -> None:
    """Measure both imports."""
    arguments = arguments_of(__doc__, repeats=(7, "rounds"))
    report = Report(__file__, __doc__, arguments)
    rounds = [
        [seconds(statement) for statement in STATEMENTS]
        for _ in range(2 if arguments.quick else arguments.repeats)
    ]
    libraries, package = map(statistics.median, zip(*rounds, strict=True))
    ratio = statistics.median(after / before for before, after in rounds)
    cells = [figure(libraries), figure(package), figure(package - libraries), times(ratio)]
    header = ["", "scikit-learn and pyarrow, s", "minmargin, s", "difference, s", "ratio"]
    report.add(Table("Importing", header, [["fresh process", *cells]]))
    report.write()


if __name__ == "__main__":
    main()
