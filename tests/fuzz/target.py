"""What is fuzzed: files that the package has written, changed by somebody, and read back.

A target says how its files are written, changed and used. Whatever was changed, using them gives the right answer or a
`MinMarginError` that names the files. Where the change was signed, so that all checksums fit, another answer may come
of it, too: whoever can write checksums can write any committee. But it has to be a sound one.

Other kinds of targets have files of their own beside this one; `run.py` asks each for its figures.
"""

from __future__ import annotations

import random
import shutil
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

import minmargin as mm

#: "right" is the answer of the intact files, "told" another one after a warning that names the file, "other" a sound
#: one from files that were signed again.
Outcome: TypeAlias = Literal["right", "refused", "told", "other"]


class Change(NamedTuple):
    """What was done to the files, in words, and whether their checksums were made to fit."""

    words: str
    signed: bool = False


class FoundError(AssertionError):
    """Something came of a change that must not."""


@dataclass(frozen=True)
class Target:
    """One kind of files.

    Attributes:
        words: what they are, for the table.
        write: writes intact ones into a new folder.
        change: changes those in a folder.
        use: returns what reading them gives, to be compared.
        check: raises an error unless an answer is a sound one, whatever the files say.
        share: how many times as often as others it is tried, since it is quick or has much in it.
    """

    words: str
    write: Callable[[Path], None]
    change: Callable[[Path, random.Random], Change]
    use: Callable[[Path], Any]
    check: Callable[[Any], None]
    share: float = 1.0


def check_picks(rows: list[int], scores: list[float], *, n_rows: int) -> None:
    """Raise an error unless rows differ, are of a pool of `n_rows` rows, and have scores."""
    assert len(set(rows)) == len(rows), f"rows twice: {rows}"
    assert set(rows) <= set(range(n_rows)), f"rows that the pool does not have: {rows}"
    assert np.isfinite(scores).all(), f"scores that are no numbers: {scores}"


class Trial:
    """A target with its intact files and the right answer."""

    def __init__(self, target: Target, folder: Path) -> None:
        folder.mkdir()
        self._target = target
        self._intact, self._changed = folder / "intact", folder / "changed"
        self._intact.mkdir()
        target.write(self._intact)
        self._begin()
        self._right = target.use(self._changed)

    def change(self, rng: random.Random) -> Change:
        """Change a new copy of the files, and return what was done."""
        self._begin()
        return self._target.change(self._changed, rng)

    def outcome(self, change: Change) -> Outcome:
        """Return what came of using the changed files, or raise an error if that must not be."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                found = self._target.use(self._changed)
            except mm.MinMarginError as error:
                if self._changed.name not in str(error):
                    raise FoundError(f"an error that names no file: {error}") from error
                return "refused"
        if found == self._right:
            return "right"
        if any(self._changed.name in str(each.message) for each in caught):
            return "told"
        if not change.signed:
            raise FoundError(f"another answer in silence: {_short(found)}")
        self._target.check(found)
        return "other"

    def _begin(self) -> None:
        shutil.rmtree(self._changed, ignore_errors=True)
        shutil.copytree(self._intact, self._changed)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 300 else text[:300] + "…"
