"""What the benchmarks share: timing in turn, the machine with its ceilings, tables, goals."""

from __future__ import annotations

import argparse
import gc
import importlib.metadata
import json
import os
import platform
import statistics
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_info

FLAGS_OF_NOTE = ("avx2", "fma", "avx512f", "avx512_vnni", "avx512_bf16", "avx_vnni", "amx_bf16", "amx_int8")
LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba", "pyarrow")


def arguments_of(about: str, **settings: tuple[Any, str]) -> argparse.Namespace:
    """Return what the command line says: --quick, --json, and a script's own settings (default, help)."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes: does it run, not how fast is it")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results there too")
    for name, (default, meaning) in settings.items():
        kind = Path if isinstance(default, Path) or default is None else type(default)
        parser.add_argument(f"--{name}", type=kind, default=default, help=meaning)
    return parser.parse_args()


# --- timing ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Times:
    """Seconds of several ways, taken in turn: `rounds[way][i]` was measured in round i."""

    rounds: dict[str, list[float]]

    def median(self, way: str) -> float:
        """Return the median seconds of a way."""
        return statistics.median(self.rounds[way])

    def ratio(self, way: str, to: str) -> float:
        """Return the median over the rounds of seconds of `way` by seconds of `to`."""
        return statistics.median(a / b for a, b in zip(self.rounds[way], self.rounds[to], strict=True))

    def fastest(self, ways: Iterable[str]) -> str:
        """Return the way with the lowest median."""
        return min(ways, key=self.median)


def seconds(work: Callable[[], object]) -> float:
    """Return how long one call takes."""
    gc.collect()
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def take_turns(ways: dict[str, Callable[[], object]], repeats: int, *, warm_up: bool = True) -> Times:
    """Time all ways once a round, so that what the machine does meanwhile befalls all of them alike."""
    if warm_up:
        for work in ways.values():
            work()
    rounds: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(repeats):
        for way, work in ways.items():
            rounds[way].append(seconds(work))
    return Times(rounds)


# --- memory ---------------------------------------------------------------------------------------------------


def peak_memory() -> int:
    """Return the most bytes that were resident in this process.

    VmHWM, not getrusage: that one would also count the memory of the process this one was started from.
    """
    return _of_status("VmHWM")


def resident_memory() -> int:
    """Return the bytes that are resident in this process now."""
    return _of_status("VmRSS")


def peak_address_space() -> int:
    """Return the most bytes of addresses that this process had: what RLIMIT_AS limits, touched or not."""
    return _of_status("VmPeak")


def _of_status(name: str) -> int:
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status[name].split()[0]) * 1024


def in_own_process(script: str, *arguments: object, python: str = sys.executable, **limits: Any) -> Any:
    """Run a script of this folder in a fresh process; return the JSON that it printed last."""
    command = [python, str(Path(__file__).with_name(script)), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, **limits)
    return json.loads(done.stdout.splitlines()[-1])


def select_once(
    pool: Iterable[str], *, features: int, limits: dict[str, Any] | None = None, **options: object
) -> dict[str, float]:
    """Return the peaks, seconds and rows of a selection in a process of its own, by `one_selection.py`."""
    named = {"features": features, **options}
    flat = [part for name, value in named.items() for part in (f"--{name.replace('_', '-')}", value)]
    return in_own_process("one_selection.py", *pool, *flat, **(limits or {}))


# --- the machine ----------------------------------------------------------------------------------------------


def describe_machine() -> dict[str, str]:
    """Return what one must know of the machine to read the figures."""
    cpu = dict(line.split(":", 1) for line in Path("/proc/cpuinfo").read_text().split("\n\n")[0].splitlines())
    cpu = {key.strip(): value.strip() for key, value in cpu.items()}
    flags = set(cpu.get("flags", "").split())
    memory = int(Path("/proc/meminfo").read_text().split()[1]) * 1024
    blas = next((library for library in threadpool_info() if library["user_api"] == "blas"), {})
    return {
        "processor": cpu.get("model name", platform.machine()),
        "cores": f"{len(os.sched_getaffinity(0))} of {os.cpu_count()}",
        "vector extensions": ", ".join(flag for flag in FLAGS_OF_NOTE if flag in flags) or "none of note",
        "cache": cpu.get("cache size", "unknown"),
        "memory": f"{memory / 2**30:.0f} GiB",
        "system": f"{platform.system()} {platform.release()}, Python {platform.python_version()}",
        "libraries": ", ".join(f"{name} {importlib.metadata.version(name)}" for name in LIBRARIES),
        "BLAS": f"{blas.get('internal_api')} {blas.get('version')}, {blas.get('architecture')} kernels",
    }


@dataclass(frozen=True)
class Ceilings:
    """What this machine can do at most, measured in the same run."""

    read: float  # bytes a second
    product: float  # floating-point operations a second, float32

    @classmethod
    def measure(cls, *, quick: bool) -> Ceilings:
        """Return the best of several tries of each."""
        return cls(_read_speed(quick=quick), product_speed(2_048, 2_048, 2_048))

    def text(self) -> str:
        """Return both in one line."""
        return (
            f"memory read {self.read / 1e9:.1f} GB/s (all cores), float32 matrix product "
            f"{self.product / 1e9:.0f} GFLOP/s (2,048 cubed, all cores)"
        )


def _read_speed(*, quick: bool) -> float:
    # Adding whole numbers costs the processor least, so that memory is the limit.
    array = np.ones((1 << 25) if quick else (1 << 27), dtype=np.int64)
    n_threads = os.cpu_count() or 1
    parts = np.array_split(array, 4 * n_threads)
    with ThreadPoolExecutor(n_threads) as pool:
        fastest = min(seconds(lambda: list(pool.map(np.bitwise_or.reduce, parts))) for _ in range(3))
    return array.nbytes / fastest


def product_speed(n: int, inner: int, width: int) -> float:
    """Return operations a second of the float32 product (n, inner) by (inner, width)."""
    rng = np.random.default_rng(0)
    left = rng.standard_normal((n, inner), dtype=np.float32)
    right = rng.standard_normal((inner, width), dtype=np.float32)
    out = np.empty((n, width), dtype=np.float32)
    return 2.0 * n * inner * width / min(seconds(lambda: np.matmul(left, right, out=out)) for _ in range(3))


# --- tables ---------------------------------------------------------------------------------------------------


def figure(value: float) -> str:
    """Return a number with three significant digits: 0.0123, 1.23, 123, 12,300."""
    if value == 0 or not np.isfinite(value):
        return f"{value:g}"
    digits = 2 - int(np.floor(np.log10(abs(value))))
    return f"{round(value, digits):,.{max(digits, 0)}f}"


def times(ratio: float) -> str:
    """Return a ratio as it is written: 12.3x."""
    return figure(ratio) + "x"


@dataclass(frozen=True)
class Table:
    """A table of cells that are already text; the first column names the row."""

    title: str
    header: Sequence[str]
    rows: list[list[str]] = field(default_factory=list)
    note: str = ""

    def text(self) -> str:
        """Return it for a terminal."""
        lines = [list(self.header), *self.rows]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        places = [str.rjust if right else str.ljust for right in self._right()]
        body = "\n".join(
            "  ".join(
                place(cell, width) for cell, width, place in zip(line, widths, places, strict=True)
            ).rstrip()
            for line in lines
        )
        note = "\n" + textwrap.fill(self.note, 110) if self.note else ""
        return f"{self.title}\n{body}{note}"

    def markdown(self) -> str:
        """Return it for a page."""
        rule = ["---:" if right else "---" for right in self._right()]
        lines = [[cell.replace("|", r"\|") for cell in line] for line in (self.header, rule, *self.rows)]
        body = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        note = "\n\n" + textwrap.fill(self.note, 118) if self.note else ""
        return f"**{self.title}**\n\n{body}{note}"

    def _right(self) -> list[bool]:
        """Return which columns hold numbers and stand to the right."""
        columns = zip(*self.rows, strict=True)
        return [
            i > 0 and any(cell.lstrip("-")[:1].isdigit() for cell in column)
            for i, column in enumerate(columns)
        ]


@dataclass(frozen=True)
class Goal:
    """One thing that was asked for, and what was measured."""

    asked: str
    measured: str
    met: bool


class Report:
    """Prints a benchmark's results as they come and writes them as JSON at the end."""

    def __init__(self, script: str, about: str, arguments: argparse.Namespace) -> None:
        self._file = arguments.json
        self._quick = arguments.quick
        self._tables: list[Table] = []
        self._goals: list[Goal] = []
        self.curves: dict[str, Any] = {}
        self._name = Path(script).stem
        self._about = about
        self._machine = describe_machine()
        self.ceilings = Ceilings.measure(quick=arguments.quick)
        print(
            f"{about.splitlines()[0]}\n{self._machine['processor']}, {self._machine['cores']} cores; "
            f"{self.ceilings.text()}\n"
        )

    def add(self, table: Table) -> None:
        """Print a table and keep it."""
        self._tables.append(table)
        print(table.text() + "\n", flush=True)

    def goal(self, asked: str, measured: str, *, met: bool) -> None:
        """Print and keep how a goal stands; small sizes prove nothing, so then it is only shown."""
        if self._quick:
            return
        self._goals.append(Goal(asked, measured, met))
        print(f"  {'met   ' if met else 'MISSED'}  {asked}: {measured}", flush=True)

    def write(self) -> None:
        """Write the JSON file, if one was asked for."""
        if self._file is None:
            return
        found = {
            "name": self._name,
            "about": self._about,
            "quick": self._quick,
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "machine": self._machine,
            "ceilings": asdict(self.ceilings),
            "tables": [asdict(table) for table in self._tables],
            "goals": [asdict(goal) for goal in self._goals],
            "curves": self.curves,
        }
        self._file.parent.mkdir(parents=True, exist_ok=True)
        self._file.write_text(json.dumps(found, indent=1) + "\n")
