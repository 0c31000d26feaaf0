"""Real clusters on this machine. Each is started once; an engine that is not installed skips its tests."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.datasets import load_digits

N_FILES, ROWS_PER_GROUP, N_GROUPS = 3, 1500, 4


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    """Three Parquet files of four row groups, with ids and a column that is only carried along."""
    folder = tmp_path_factory.mktemp("pool")
    digits = load_digits().data[200:]
    rng = np.random.default_rng(0)
    for number in range(N_FILES):
        n = ROWS_PER_GROUP * N_GROUPS - 100 * number
        rows = (digits[rng.integers(len(digits), size=n)] + rng.normal(size=(n, 64))).astype(np.float32)
        table = pa.table({f"p{place}": rows[:, place] for place in range(64)})
        table = table.append_column("id", pa.array([f"{number}-{row:05d}" for row in range(n)]))
        table = table.append_column("big", pa.array(2**60 + np.arange(n)))
        pq.write_table(table, folder / f"part-{number}.parquet", row_group_size=ROWS_PER_GROUP)
    return str(folder / "*.parquet")


@pytest.fixture(scope="session")
def labeled():
    digits, numbers = load_digits(return_X_y=True)
    names = [f"p{place}" for place in range(64)]
    return pa.table({name: digits[:200, place] for place, name in enumerate(names)}), numbers[:200]


class Cluster:
    """An engine to hand to `select`, and a way to kill one of its workers."""

    def __init__(self, engine, kill):
        self.engine, self.kill = engine, kill


@pytest.fixture(scope="session")
def dask_cluster():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):

        def kill():
            os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)

        yield Cluster(client, kill)


@pytest.fixture(scope="session")
def ray_cluster():
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    ray = pytest.importorskip("ray")
    from ray.cluster_utils import Cluster as RayCluster  # noqa: PLC0415

    cluster = RayCluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    nodes = [cluster.add_node(num_cpus=1)]
    ray.init(address=cluster.address, log_to_driver=False)

    def kill():
        cluster.remove_node(nodes.pop(), allow_graceful=False)

    yield Cluster("ray", kill)
    ray.shutdown()
    cluster.shutdown()


@pytest.fixture(scope="session")
def spark_cluster():
    pytest.importorskip("pyspark")
    import psutil  # noqa: PLC0415
    from pyspark.sql import SparkSession  # noqa: PLC0415

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    builder = SparkSession.builder.master("local-cluster[2,1,1024]").config("spark.ui.enabled", "false")
    session = builder.config("spark.driver.host", "127.0.0.1").getOrCreate()

    def kill():
        for process in psutil.process_iter(["cmdline"]):
            if "org.apache.spark.executor.CoarseGrainedExecutorBackend" in (process.info["cmdline"] or ()):
                process.kill()
                return
        raise AssertionError("there is no executor to kill")

    yield Cluster(session, kill)
    session.stop()


@pytest.fixture(params=["dask", "ray", "spark"])
def cluster(request):
    return request.getfixturevalue(f"{request.param}_cluster")


@pytest.fixture
def killed_soon(cluster):
    """Kills a worker a moment after it is called, and says afterwards that it did."""
    killed = []

    def later():
        time.sleep(1.5)
        cluster.kill()
        killed.append(True)

    thread = threading.Thread(target=later)
    yield thread.start
    thread.join()
    assert killed
