"""Peak memory of selecting from Parquet, as the pool grows.

Each selection runs in a process of its own; the table shows that process's peak resident memory. What matters
is that it does not follow the pool: the last column is the peak over the peak of the smallest pool.

    python benchmarks/memory.py [--rows 1e6 1e7] [--features 16] [--row-group 1048576]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

_CHILD = """
import sys, time
from pathlib import Path
import numpy as np
import minmargin as mm

pool, n_features = sys.argv[1], int(sys.argv[2])
rng = np.random.default_rng(0)
X = rng.normal(size=(500, n_features)).astype(np.float32)
y = (X[:, 0] + rng.normal(scale=0.5, size=500) > 0).astype(int)
start = time.perf_counter()
batch = mm.select(X, y, pool, batch_size=1000, random_state=0)
seconds = time.perf_counter() - start
# VmHWM, not getrusage: that one would also count the memory of the process this one was started from.
status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
peak = int(status["VmHWM"].split()[0]) * 1024
print(peak, seconds, batch.manifest["pool"]["rows"])
"""


def write_pool(path: Path, n_rows: int, n_features: int, row_group: int) -> None:
    """Write a Parquet file of normal float32 numbers, a row group at a time."""
    rng = np.random.default_rng(1)
    schema = pa.schema([(f"f{i}", pa.float32()) for i in range(n_features)])
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, n_rows, row_group):
            n = min(row_group, n_rows - start)
            columns = [rng.standard_normal(n, dtype=np.float32) for _ in range(n_features)]
            writer.write_table(pa.table(columns, schema=schema), row_group_size=row_group)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=float, nargs="+", default=[1e6, 1e7])
    parser.add_argument("--features", type=int, default=16)
    parser.add_argument("--row-group", type=int, default=1 << 20)
    arguments = parser.parse_args()
    first_peak = None
    print(f"{'rows':>12} {'file MB':>9} {'peak MB':>9} {'seconds':>9} {'peak ratio':>11}")
    for n_rows in map(int, arguments.rows):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "pool.parquet"
            write_pool(path, n_rows, arguments.features, arguments.row_group)
            size = path.stat().st_size
            child = subprocess.run(
                [sys.executable, "-c", _CHILD, str(path), str(arguments.features)],
                capture_output=True,
                text=True,
                check=True,
            )
        peak, seconds, seen = child.stdout.split()
        assert int(seen) == n_rows
        first_peak = first_peak or float(peak)
        print(
            f"{n_rows:>12,} {size / 1e6:>9,.0f} {float(peak) / 1e6:>9,.0f} {float(seconds):>9.1f} "
            f"{float(peak) / first_peak:>11.2f}"
        )


if __name__ == "__main__":
    main()
