"""One selection in a process of its own, for other benchmarks; prints its peak memory and time as JSON.

python benchmarks/one_selection.py FILE... or generated:ROWS --features D [--batch-size B] [--n-jobs N] [--keep COLUMNS]
    [--strategy NAME] [--classes C]
"""

from __future__ import annotations

import argparse
import json
import time

import generated
import minmargin as mm
from measuring import peak_address_space, peak_memory


def main() -> None:
    """Select once."""
    parser = argparse.ArgumentParser()
    parser.add_argument("pool", nargs="+")
    parser.add_argument("--features", type=int, required=True)
    parser.add_argument("--batch-size", type=int, default=1000)
    parser.add_argument("--n-jobs", type=int, default=-1)
    parser.add_argument("--keep", type=int, default=0, help="how many columns after the features are kept")
    parser.add_argument("--strategy", default="min-margin")
    parser.add_argument("--classes", type=int, default=2)
    arguments = parser.parse_args()
    pool = arguments.pool
    if pool[0].startswith("generated:"):
        pool = generated.chunks(int(pool[0].removeprefix("generated:")), arguments.features)
    names = [f"f{place}" for place in range(arguments.features + arguments.keep)]
    columns = {"features": names[: arguments.features], "keep": names[arguments.features :]}
    X, y = generated.labeled_set(arguments.features, arguments.classes)
    start = time.perf_counter()
    batch = mm.select(
        X,
        y,
        pool,
        arguments.batch_size,
        strategy=arguments.strategy,
        random_state=0,
        n_jobs=arguments.n_jobs,
        **(columns if arguments.keep else {}),
    )
    found = {
        "seconds": time.perf_counter() - start,
        "peak": peak_memory(),
        "address_space": peak_address_space(),
        "rows": batch.manifest["pool"]["rows"],
        "scored_exactly": batch.manifest["rows_scored_exactly"],
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
