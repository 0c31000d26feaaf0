"""examine: what minmargin finds on this machine, and what is wrong with it."""

from __future__ import annotations

import importlib.util
import os
import platform
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from minmargin.compute import compiled_code_folder
from minmargin.device import nvidia_driver_loads
from minmargin.experiments.datasets import DATASETS, data_folders, find_file
from minmargin.experiments.datasets.places import VARIABLE
from minmargin.manifest import describe_software

#: The extras: what each is for, and the packages that it brings, as they are imported and as they are installed.
EXTRAS: dict[str, tuple[str, dict[str, str]]] = {
    "torch": ("neural committees, GPUs", {"torch": "torch", "safetensors": "safetensors"}),
    "report": ("reports and figures", {"matplotlib": "matplotlib", "jinja2": "jinja2"}),
    "data": ("public data sets", {"pooch": "pooch"}),
    "activeml": ("the adapter for scikit-activeml", {"skactiveml": "scikit-activeml"}),
    "skops": ("saving scikit-learn models", {"skops": "skops"}),
    "fsspec": ("pools behind http and others", {"fsspec": "fsspec"}),
    "dask": ("pools on a Dask cluster", {"distributed": "distributed"}),
    "ray": ("pools on a Ray cluster", {"ray": "ray"}),
    "spark": ("pools on a Spark cluster", {"pyspark": "pyspark"}),
}

_INSTRUCTION_SETS = ("avx512f", "avx2", "fma", "neon", "sve")


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at."""

    topic: str
    name: str
    found: str
    #: What is wrong with it and how to mend it, in a sentence; None if it is as it should be.
    wrong: str | None = None


def examine() -> Iterator[Finding]:
    """Return what is found on this machine, one thing at a time; the last is a small selection, made for real."""
    for name, number in describe_software().items():
        wrong = (
            f"{name} is not installed properly. Use pip install minmargin." if number == "unknown" else None
        )
        yield Finding("versions", name, number, wrong)
    yield from _machine()
    yield _gpu()
    yield from map(_extra, EXTRAS)
    yield from _folders()
    yield _trial()


def _machine() -> Iterator[Finding]:
    import joblib  # noqa: PLC0415 - comes with scikit-learn, which takes long to import
    import llvmlite.binding  # noqa: PLC0415 - comes with numba, likewise
    import scipy.linalg  # noqa: F401, PLC0415 - numpy and scipy bring a matrix library each
    from threadpoolctl import threadpool_info  # noqa: PLC0415 - only we ask

    yield Finding("machine", "system", f"{platform.system()} {platform.release()}, {platform.machine()}")
    yield Finding("machine", "cores", f"{joblib.cpu_count()} usable of {os.cpu_count()}")
    features = llvmlite.binding.get_host_cpu_features()
    sets = [name for name in _INSTRUCTION_SETS if features.get(name)]
    found = f"{', '.join(sets) or 'none of note'} ({llvmlite.binding.get_host_cpu_name()})"
    yield Finding("machine", "vector instructions", found)
    for library in threadpool_info():
        if library["user_api"] == "blas":
            kernel = f", {library['architecture']} kernels" if library.get("architecture") else ""
            found = (
                f"{library['internal_api']} {library['version']}, {library['num_threads']} threads{kernel}"
            )
            yield Finding("machine", "matrix library", found)


def _gpu() -> Finding:
    """Return which GPU can be used. torch is imported only where it and a driver are there."""
    if importlib.util.find_spec("torch") is None:
        return Finding("machine", "GPU", "not used: torch is not installed")
    if not nvidia_driver_loads():
        return Finding("machine", "GPU", "none with a CUDA driver")
    try:
        import torch  # noqa: PLC0415 - takes seconds to import, and is an extra
    except Exception as error:  # noqa: BLE001 - whatever a broken installation raises is what we want to tell
        return Finding("machine", "GPU", "not known", f"torch cannot be imported ({error}). Install it anew.")
    if not torch.cuda.is_available():
        wrong = "There is a CUDA driver, but this build of torch cannot use it. Install one for CUDA."
        return Finding("machine", "GPU", f"not usable by torch {torch.__version__}", wrong)
    count = torch.cuda.device_count()
    return Finding("machine", "GPU", ", ".join(torch.cuda.get_device_name(each) for each in range(count)))


def _extra(name: str) -> Finding:
    purpose, packages = EXTRAS[name]
    if all(importlib.util.find_spec(module) for module in packages):
        found = ", ".join(f"{package} {_version(package)}" for package in packages.values())
    else:
        found = f"not installed: pip install 'minmargin[{name}]'"
    return Finding("extras", f"{name}: {purpose}", found)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "of unknown version"


def _folders() -> Iterator[Finding]:
    for place, folder in enumerate(data_folders()):
        here = sum(all(find_file(each, file, folder) for file in each.files) for each in DATASETS.values())
        named = place == 0 and VARIABLE in os.environ
        wrong = f"{VARIABLE} names a folder that does not exist. Make it, or name another."
        yield Finding(
            "folders",
            "data sets",
            f"{folder} ({here} of {len(DATASETS)} data sets)",
            wrong if named and not folder.is_dir() else None,
        )
    compiled = compiled_code_folder()
    wrong = (
        "Compiled code cannot be kept, so every process compiles it anew. Set NUMBA_CACHE_DIR to a folder that can be "
        "written."
    )
    yield Finding("folders", "compiled code", compiled or "nowhere", None if compiled else wrong)


def _trial() -> Finding:
    """Return whether a selection picks the rows with the lowest exact scores. The first one compiles the canonical."""
    import numpy as np  # noqa: PLC0415 - kept with the rest of the trial, which needs a working installation

    start = time.perf_counter()
    try:
        from minmargin.committee.training import fit_committee  # noqa: PLC0415 - as above

        X = np.random.default_rng(0).normal(size=(2_000, 8))
        committee = fit_committee(X[:100], X[:100].sum(axis=1) > 0, n_models=5, random_state=0)
        agree = np.array_equal(
            np.sort(committee.score(X))[:50], committee.select(X, 50, distinct=False).scores
        )
    except Exception as error:  # noqa: BLE001 - whatever it is, the person wants to know
        wrong = f"A small selection failed ({type(error).__name__}: {error})."
        return Finding("trial", "a small selection", "failed", wrong)
    seconds = f"{time.perf_counter() - start:.1f} s"
    if not agree:
        wrong = "A small selection did not pick the rows with the lowest scores. Please report this machine."
        return Finding("trial", "a small selection", f"wrong rows after {seconds}", wrong)
    return Finding("trial", "a small selection", f"picks the right rows ({seconds}, compiling included)")
