"""Selections by one engine with so many workers, for `engines.py`; prints seconds and a hash of the batch as JSON.

The process and all that it starts have as many cores as there are workers, so one worker is one core, whatever else
an engine runs beside it. Each pool, a folder of Parquet files, is selected from several times, after a first time that
loads the libraries and compiled kernels everywhere.

    python benchmarks/one_engine.py ENGINE WORKERS FOLDER... --features D [--repeats N] [--first-core C]
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import generated
import minmargin as mm


@contextmanager
def started(engine: str, n_workers: int) -> Iterator[dict[str, Any]]:
    """Start an engine with so many workers of one core; return the arguments of `select` that use it."""
    if engine == "local":
        yield {"n_jobs": n_workers}
    elif engine == "dask":
        from distributed import Client, LocalCluster  # noqa: PLC0415 - an extra

        settings = {"n_workers": n_workers, "threads_per_worker": 1, "dashboard_address": None}
        with LocalCluster(**settings) as cluster, Client(cluster) as client:
            yield {"engine": client}
    elif engine == "ray":
        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
        import ray  # noqa: PLC0415 - an extra

        ray.init(num_cpus=n_workers, include_dashboard=False, log_to_driver=False)
        try:
            yield {"engine": "ray"}
        finally:
            ray.shutdown()
    else:
        os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
        from pyspark.sql import SparkSession  # noqa: PLC0415 - an extra

        builder = SparkSession.builder.master(f"local[{n_workers}]").config("spark.ui.enabled", "false")
        session = builder.config("spark.driver.host", "127.0.0.1").getOrCreate()
        try:
            yield {"engine": session}
        finally:
            session.stop()


def main() -> None:
    """Time every pool."""
    parser = argparse.ArgumentParser()
    parser.add_argument("engine")
    parser.add_argument("workers", type=int)
    parser.add_argument("pools", nargs="+")
    parser.add_argument("--features", type=int, required=True)
    parser.add_argument("--batch-size", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--first-core", type=int, default=0, help="of those that this process may use")
    arguments = parser.parse_args()
    cores = sorted(os.sched_getaffinity(0))[arguments.first_core :]
    os.sched_setaffinity(0, cores[: arguments.workers])
    committee = mm.fit_committee(*generated.labeled_set(arguments.features), random_state=0)
    found = []
    with started(arguments.engine, arguments.workers) as how:
        committee.select(arguments.pools[0], arguments.batch_size, **how)
        for pool in arguments.pools:
            taken = []
            for _ in range(arguments.repeats):
                start = time.perf_counter()
                batch = committee.select(pool, arguments.batch_size, **how)
                taken.append(time.perf_counter() - start)
            picked = hashlib.sha256(batch.rows.tobytes() + batch.scores.tobytes()).hexdigest()
            found.append({"rows": batch.manifest["pool"]["rows"], "seconds": taken, "batch": picked})
    print(json.dumps(found))


if __name__ == "__main__":
    main()
