"""Engines: where the work on the pool runs. Each is one function over independent pieces of work."""

from minmargin.scan.engines.base import Engine
from minmargin.scan.engines.dask import DaskEngine
from minmargin.scan.engines.local import LocalEngine, run_locally
from minmargin.scan.engines.ray import RayEngine
from minmargin.scan.engines.spark import SparkEngine

__all__ = ["ENGINES", "DaskEngine", "Engine", "LocalEngine", "RayEngine", "SparkEngine", "run_locally"]

ENGINES = ("local", "dask", "ray", "spark")
