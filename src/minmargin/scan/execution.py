"""How work is carried out: on how many threads, where, in which portions. It changes time and memory, never a batch."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypedDict, Unpack

from minmargin.checks import check_count, check_n_jobs
from minmargin.device import DeviceChoice, Precision, check_device, check_precision
from minmargin.errors import InputError
from minmargin.progress import Progress, silent
from minmargin.scan.engines import (
    ENGINES,
    DaskEngine,
    Engine,
    EngineLike,
    LocalEngine,
    RayEngine,
    SparkEngine,
)

CHUNK_SIZE = 131_072


class TrainingOptions(TypedDict, total=False):
    """What a caller may say of how models are trained; `minmargin.select` describes each."""

    n_jobs: int
    device: DeviceChoice
    progress: Progress


class ScanOptions(TrainingOptions, total=False):
    """What a caller may say of how a pool is read and scored, too."""

    chunk_size: int
    precision: Precision


class ExecutionOptions(ScanOptions, total=False):
    """What a caller may say of where a pool is read, too."""

    engine: EngineLike
    address: str | None
    checkpoint: str | Path | None


@dataclass(frozen=True)
class Execution:
    """How work is carried out, checked.

    Attributes:
        n_jobs: how many members are trained, and blocks scored, at a time; -1 for all cores.
        chunk_size: how many rows are read at a time.
        device: "auto", "cpu" or "cuda", as the caller gave it.
        precision: how closely a GPU looks at rows before the closest are scored exactly.
        engine: where the pool is read.
        checkpoint: a folder for what was found so far, or None.
        progress: called with a stage, the units done and their total.
    """

    n_jobs: int = -1
    chunk_size: int = CHUNK_SIZE
    device: DeviceChoice = "auto"
    precision: Precision = "float32"
    engine: Engine = field(default_factory=LocalEngine)
    checkpoint: Path | None = None
    progress: Progress = silent

    @classmethod
    def of(cls, **options: Unpack[ExecutionOptions]) -> Execution:
        """Return what a caller asked for, or say what cannot be done; what was not asked for is as usual."""
        n_jobs = check_n_jobs(options.get("n_jobs", -1))
        device, checkpoint = options.get("device", "auto"), options.get("checkpoint")
        check_device(device)
        return cls(
            n_jobs=n_jobs,
            chunk_size=check_count("chunk_size", options.get("chunk_size", CHUNK_SIZE), least=1),
            device=device,
            precision=check_precision(options.get("precision", "float32")),
            engine=resolve_engine(
                options.get("engine", "local"),
                options.get("address"),
                n_jobs=n_jobs,
                needs_gpu=device == "cuda",
            ),
            checkpoint=None if checkpoint is None else Path(checkpoint),
            progress=options.get("progress", silent),
        )

    def of_fragment(self) -> Execution:
        """Return how one fragment is scanned, wherever that is: in the thread that is given it, in silence."""
        return replace(self, engine=LocalEngine(1), checkpoint=None, progress=silent)


def resolve_engine(engine: EngineLike, address: str | None, *, n_jobs: int, needs_gpu: bool) -> Engine:
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
