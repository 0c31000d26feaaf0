"""One selection in a process of its own, for `memory.py` and `parquet.py`; prints its peak memory and time as JSON.

python benchmarks/one_selection.py FILE... or generated:ROWS --features D [--batch-size B]
"""

from __future__ import annotations

import argparse
import json
import time

import generated
import minmargin as mm
from measuring import peak_memory


def main() -> None:
    """Select once."""
    parser = argparse.ArgumentParser()
    parser.add_argument("pool", nargs="+")
    parser.add_argument("--features", type=int, required=True)
    parser.add_argument("--batch-size", type=int, default=1000)
    arguments = parser.parse_args()
    pool = arguments.pool
    if pool[0].startswith("generated:"):
        pool = generated.chunks(int(pool[0].removeprefix("generated:")), arguments.features)
    X, y = generated.labeled_set(arguments.features)
    start = time.perf_counter()
    batch = mm.select(X, y, pool, arguments.batch_size, random_state=0)
    seconds = time.perf_counter() - start
    print(json.dumps({"peak": peak_memory(), "seconds": seconds, "rows": batch.manifest["pool"]["rows"]}))


if __name__ == "__main__":
    main()
