"""Rereading: where a batch came from, so that its report can look at the pool once more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minmargin.data.rows import Matrix
from minmargin.data.schema import missing_column
from minmargin.execution import Progress
from minmargin.labeled import LabeledSet
from minmargin.pools.memory import MemoryPool
from minmargin.pools.stream import StreamPool
from minmargin.scan.scan import Scan
from minmargin.strategies import Shortlist, Strategy
from minmargin.topb import Ranked


@dataclass(frozen=True)
class Origin:
    """The pool and the models that a batch came from.

    Attributes:
        scan: how the models read the pool.
        strategy: how the batch was picked.
        classes: (C,) the classes that the models score.
        labeled: the labeled set; None if the committee was loaded from disk, or never had one.
        labeled_vectors: returns (N, D) the labeled rows as the learner's last step sees them; None if there are none.
    """

    scan: Scan
    strategy: Strategy
    classes: NDArray[Any]
    labeled: LabeledSet | None
    labeled_vectors: Callable[[], Matrix | None]

    @property
    def can_be_read_again(self) -> bool:
        """Whether the pool is more than a stream of chunks that has passed."""
        return not isinstance(self.scan.matched.pool, StreamPool)

    def texts(self, rows: NDArray[np.int64]) -> list[str | None] | None:
        """Return the texts of some rows, None where one is missing; None alone if the pool is no list of texts."""
        pool = self.scan.matched.pool
        if not isinstance(pool, MemoryPool) or pool.schema.row_shape != ():
            return None
        values: Any = pool.take(rows)
        return [value if isinstance(value, str) else None for value in values.tolist()]

    def some_vectors(self) -> Matrix:
        """Return rows as the learner's last step sees them: the labeled ones, or the first of the pool."""
        known = self.labeled_vectors()
        return self.scan.first_candidates().vectors if known is None else known

    def shortlist(
        self, shortlists: Sequence[Shortlist], *, columns: Sequence[str], progress: Progress
    ) -> list[Ranked]:
        """Return the rows of each shortlist from one more reading of the pool, with the values of some columns."""
        matched = self.scan.matched
        for name in columns:
            if name not in matched.pool.schema.names:
                raise missing_column(name, matched.pool.schema.names, "the pool")
        if columns:
            kinds = {**dict.fromkeys(columns), **(matched.kinds or {})}
            carried = tuple(dict.fromkeys([*matched.carried, *columns]))
            matched = matched._replace(carried=carried, kinds=kinds)
        execution = replace(self.scan.execution, progress=progress)
        return replace(self.scan, matched=matched, execution=execution).shortlist(shortlists).shortlists
