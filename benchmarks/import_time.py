"""What `import minmargin` costs beyond scikit-learn and pyarrow, which it cannot do without.

Each import runs in a fresh process; the median of several is shown.

    python benchmarks/import_time.py
"""

from __future__ import annotations

import statistics
import subprocess
import sys

_TIMED = "import time; start = time.perf_counter(); {}; print(time.perf_counter() - start)"


def seconds(statement: str, repeats: int = 7) -> float:
    """Return the median seconds of a statement in a fresh process."""
    command = [sys.executable, "-c", _TIMED.format(statement)]
    runs = [
        subprocess.run(command, capture_output=True, text=True, check=True).stdout for _ in range(repeats)
    ]
    return statistics.median(map(float, runs))


if __name__ == "__main__":
    libraries, package = seconds("import sklearn, pyarrow"), seconds("import minmargin")
    print(
        f"scikit-learn and pyarrow {libraries:.2f} s, minmargin {package:.2f} s: {package - libraries:+.2f} s"
    )
