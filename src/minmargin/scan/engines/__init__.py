"""Engines: where the work on the pool runs. Each is one function over independent pieces of work."""

from typing import get_args

from minmargin.scan.engines.base import Engine, EngineLike, EngineName
from minmargin.scan.engines.dask import DaskEngine
from minmargin.scan.engines.local import LocalEngine, run_locally
from minmargin.scan.engines.ray import RayEngine
from minmargin.scan.engines.spark import SparkEngine

__all__ = [
    "ENGINES",
    "DaskEngine",
    "Engine",
    "EngineLike",
    "EngineName",
    "LocalEngine",
    "RayEngine",
    "SparkEngine",
    "run_locally",
]

ENGINES: tuple[EngineName, ...] = get_args(EngineName)
