"""Engines: where the work on the pool runs. Each is one function over independent pieces of work."""

from __future__ import annotations

from typing import Any

from minmargin.errors import InputError
from minmargin.scan.engines.base import Engine
from minmargin.scan.engines.dask import DaskEngine
from minmargin.scan.engines.local import LocalEngine, run_locally
from minmargin.scan.engines.ray import RayEngine
from minmargin.scan.engines.spark import SparkEngine

__all__ = ["ENGINES", "Engine", "LocalEngine", "resolve_engine", "run_locally"]

ENGINES = ("local", "dask", "ray", "spark")


def resolve_engine(engine: Any, address: str | None, *, n_jobs: int, needs_gpu: bool) -> Engine:
    """Return the engine of a name, of a live client or session, or the engine that is given.

    Args:
        engine: a name, a `distributed.Client`, a `SparkSession`, or an engine.
        address: where a cluster is, for a name.
        n_jobs: how many threads work at a time, for "local".
        needs_gpu: whether each piece of work needs a GPU.
    """
    if not isinstance(engine, str):
        return _of_object(engine, needs_gpu=needs_gpu)
    if engine not in ENGINES:
        raise InputError(
            f"engine={engine!r} must be one of {', '.join(ENGINES)}, a distributed.Client or a SparkSession."
        )
    if engine == "local":
        if address is not None:
            raise InputError(f"address={address!r} is for a cluster, and engine='local' is this process.")
        return LocalEngine(n_jobs)
    if engine == "dask":
        return DaskEngine(address=address, needs_gpu=needs_gpu)
    return RayEngine(address, needs_gpu=needs_gpu) if engine == "ray" else SparkEngine(address=address)


def _of_object(engine: Any, *, needs_gpu: bool) -> Engine:
    if isinstance(engine, Engine):
        return engine
    kind = type(engine)
    if kind.__module__.startswith("distributed") and hasattr(engine, "scatter"):
        return DaskEngine(engine, needs_gpu=needs_gpu)
    if kind.__module__.startswith("pyspark") and hasattr(engine, "createDataFrame"):
        return SparkEngine(engine)
    raise InputError(
        f"engine={kind.__name__} object is not one that can be used. Use one of {', '.join(ENGINES)}, "
        "a distributed.Client or a SparkSession."
    )
