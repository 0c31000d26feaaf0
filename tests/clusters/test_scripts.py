"""Engines where people use them: in a script as it comes to mind, and inside tasks of a cluster."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from picking import pick, write_pool

# No `if __name__ == "__main__"`: a process that imports it again would start processes of its own, and so on.
SCRIPT = """
from picking import pick
print("begun")
print(pick({pool!r}, engine={engine!r}))
"""
MODULES = {"dask": "distributed", "ray": "ray", "spark": "pyspark"}


@pytest.fixture(scope="module")
def pool(tmp_path_factory):
    return write_pool(tmp_path_factory.mktemp("pool") / "pool.parquet")


@pytest.mark.parametrize("engine", MODULES)
def test_a_script_without_a_guard(engine, pool, tmp_path):
    pytest.importorskip(MODULES[engine])
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(pool=pool, engine=engine))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "SPARK_LOCAL_IP": "127.0.0.1"}
    run = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        timeout=300,
        env=environment,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines() == ["begun", str(pick(pool))]
    assert "Traceback" not in run.stderr


@pytest.mark.parametrize("engine", ["local", "dask"])
def test_inside_a_task_of_dask(engine, pool, dask_cluster):
    client = dask_cluster.engine
    found = client.submit(pick, pool, engine=engine, pure=False).result(timeout=120)
    assert found == pick(pool)


@pytest.mark.parametrize("engine", ["local", "ray"])
def test_inside_a_task_of_ray(engine, pool, ray_cluster):
    import ray  # noqa: PLC0415 - where it is installed

    path = sys.path

    def task():
        sys.path[:] = path
        from picking import pick  # noqa: PLC0415 - of this path

        return pick(pool, engine=engine)

    assert ray_cluster.engine == "ray"
    assert ray.get(ray.remote(task).remote(), timeout=120) == pick(pool)
