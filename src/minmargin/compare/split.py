"""Split: how a table is dealt again and again, and into which batches its pool is worth dividing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from minmargin.checks import check_count, rows_in_share
from minmargin.compare.deals import Deal, RowNumbers
from minmargin.compare.game import can_be_drawn
from minmargin.errors import InputError, listing
from minmargin.labeled import LabeledSet

_TRIES = 100  # to draw a sample that something can be learned from


@dataclass(frozen=True)
class Split:
    """Deals of a table: labeled rows, a pool and test rows, all at random and without regard to classes.

    So it goes in life: who labels a first sample does not know the classes yet. A sample of which nothing can be
    learned, because members would be given a single class, is drawn again.

    Attributes:
        table: all rows, and their labels.
        n_labeled: how many rows are labeled from the start.
        n_test: how many rows models are tried on; the others are the pool.
        bootstrap_fraction: beta, which says what members can be given.
        seed: of all draws.
        foreseen: whether all classes are known from the start, by name.
    """

    table: LabeledSet
    n_labeled: int
    n_test: int
    bootstrap_fraction: float
    seed: int
    foreseen: bool = False

    @classmethod
    def of(
        cls,
        table: LabeledSet,
        *,
        n_labeled: Any,
        test_size: Any,
        bootstrap_fraction: float,
        seed: int,
        n_draws: int,
        foreseen: bool = False,
    ) -> Split:
        """Return the split with these settings, or say why it cannot be made."""
        n_rows = len(table.codes)
        _check_classes(table)
        n_labeled = check_count("n_labeled", n_labeled, least=2, usual=100)
        n_test = _check_test_size(test_size, n_rows)
        if n_labeled + n_test >= n_rows:
            raise InputError(
                f"The table has {n_rows:,} rows, and n_labeled={n_labeled} with test_size={test_size!r} "
                f"({n_test:,} rows) leaves none to pick from. Use smaller ones, or a larger table."
            )
        split = cls(table, n_labeled, n_test, bootstrap_fraction, seed, foreseen)
        for draw in range(n_draws):
            split.labeled(draw, np.random.default_rng(split._seeds(draw)))
        return split

    @property
    def n_pool(self) -> int:
        """How many rows may be picked."""
        return len(self.table.codes) - self.n_labeled - self.n_test

    def deal(self, draw: int) -> Deal:
        """Return the deal of a draw, which depends on the seed and its number alone."""
        seeds = self._seeds(draw)
        rng = np.random.default_rng(seeds)
        labeled = self.labeled(draw, rng)
        rest = np.setdiff1d(np.arange(len(self.table.codes)), labeled)
        is_test = np.zeros(len(rest), dtype=bool)
        is_test[rng.choice(len(rest), self.n_test, replace=False)] = True
        seed = int(seeds.generate_state(1)[0])
        return Deal(self.table, labeled, rest[~is_test], rest[is_test], seed, self.foreseen)

    def labeled(self, draw: int, rng: np.random.Generator) -> RowNumbers:
        """Return (N,) the rows of a draw that are labeled from the start."""
        codes = self.table.codes
        for _ in range(_TRIES):
            rows = rng.choice(len(codes), self.n_labeled, replace=False)
            known = codes[rows]
            if len(np.unique(known[can_be_drawn(known, self.bootstrap_fraction)])) > 1:
                return np.asarray(rows, dtype=np.intp)
        counts = self.table.counts
        common = int(counts.argmax())
        raise InputError(
            f"None of {_TRIES} random samples of n_labeled={self.n_labeled} rows had two classes that members can be "
            f"given: class {self.table.classes.tolist()[common]!r} has {counts[common]:,} of {len(codes):,} rows. "
            "Use a larger n_labeled."
        )

    def _seeds(self, draw: int) -> np.random.SeedSequence:
        return np.random.SeedSequence(self.seed, spawn_key=(draw,))

    def check_batch_sizes(self, sizes: Any) -> tuple[int, ...]:
        """Return batch sizes, ascending; None: as many labels as are there already, by doublings and halves.

        A batch of more than half the pool tells little: whatever the strategy, most rows are picked.
        """
        if sizes is None:
            by_doubling = [round(self.n_labeled * 2.0**power) for power in range(-2, 5)]
            fitting = sorted({size for size in by_doubling if 1 <= size <= self.n_pool // 2})
            return tuple(fitting or [max(self.n_pool // 2, 1)])
        checked = [
            rows_in_share("batch_sizes", size, self.n_pool)
            if isinstance(size, str)
            else check_count("batch_sizes", size, least=1)
            for size in as_list(sizes)
        ]
        if not checked:
            raise InputError("batch_sizes is empty. Name at least one, or leave it out.")
        if max(checked) > self.n_pool:
            raise InputError(
                f"batch_sizes has {max(checked)}, and of the {len(self.table.codes):,} rows only {self.n_pool:,} can "
                f"be picked: {self.n_labeled:,} are labeled and {self.n_test:,} are for testing. "
                f"Use batch sizes of at most {self.n_pool}."
            )
        return tuple(sorted(set(checked)))


def check_rounds(rounds: Any, batch_sizes: Sequence[int]) -> tuple[int, ...]:
    """Return numbers of rounds, ascending, that every batch can be divided into."""
    checked = [check_count("rounds", each, least=1, usual=1) for each in as_list(rounds)]
    if not checked:
        raise InputError("rounds is empty. Use rounds=1 for one round.")
    if max(checked) > batch_sizes[0]:
        raise InputError(
            f"rounds={max(checked)} cannot divide a batch of {batch_sizes[0]}. Use fewer rounds or larger batches."
        )
    return tuple(sorted(set(checked)))


def as_list(values: Any) -> list[Any]:
    """Return one value or several as a list."""
    return list(values) if isinstance(values, (list, tuple, range, np.ndarray)) else [values]


def _check_test_size(test_size: Any, n_rows: int) -> int:
    """Return how many rows are for testing: a number of rows, or a fraction of all."""
    if isinstance(test_size, (float, np.floating)):
        if not 0 < test_size < 1:
            raise InputError(
                f"test_size={test_size!r} must be a fraction between 0 and 1, or a whole number of rows. 0.5 is usual."
            )
        return max(round(test_size * n_rows), 1)
    return check_count("test_size", test_size, least=1)


def _check_classes(table: LabeledSet) -> None:
    alone = table.classes[table.counts == 1].tolist()
    if alone:
        raise InputError(
            "Some classes have a single row, which cannot be both learned from and tested on: "
            f"{listing(alone)}. Drop such rows, or merge the classes with others."
        )
