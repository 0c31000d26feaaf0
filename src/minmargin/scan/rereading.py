"""Rereading: where a batch came from, so that its report can look at the pool once more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from minmargin.data.rows import Matrix
from minmargin.data.schema import missing_column
from minmargin.execution import Progress
from minmargin.labeled import LabeledSet
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
        labeled: the labeled set; None if the committee was loaded from disk.
        labeled_vectors: returns (N, D) the labeled rows as the learner's last step sees them.
    """

    scan: Scan
    strategy: Strategy
    labeled: LabeledSet | None
    labeled_vectors: Callable[[], Matrix]

    @property
    def can_be_read_again(self) -> bool:
        """Whether the pool is more than a stream of chunks that has passed."""
        return not isinstance(self.scan.matched.pool, StreamPool)

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
