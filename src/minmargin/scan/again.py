"""Origin: where a batch came from, so that its report can look at the pool once more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from minmargin.data.rows import Matrix
from minmargin.data.schema import missing_column
from minmargin.labeled.labeled_set import LabeledSet
from minmargin.pools.stream import StreamPool
from minmargin.progress import Progress
from minmargin.scan.engines import Engine
from minmargin.scan.fragments import keep_in_fragments
from minmargin.scan.scan import Scan
from minmargin.strategies import Shortlist, Strategy
from minmargin.topb import Ranked


@dataclass(frozen=True)
class Origin:
    """The pool and the models that a batch came from.

    Attributes:
        scan: how the models read the pool.
        strategy: how the batch was picked.
        engine: where the pool is read.
        labeled: the labeled set; None if the committee was loaded from disk.
        labeled_vectors: returns (N, D) the labeled rows as the learner's last step sees them.
    """

    scan: Scan
    strategy: Strategy
    engine: Engine
    labeled: LabeledSet | None
    labeled_vectors: Callable[[], Matrix]

    @property
    def can_be_read_again(self) -> bool:
        """Whether the pool is more than a stream of chunks that has passed."""
        return not isinstance(self.scan.source.pool, StreamPool)

    def keep(
        self, shortlists: Sequence[Shortlist], *, columns: Sequence[str], progress: Progress
    ) -> list[Ranked]:
        """Return what each shortlist keeps of the pool, with the values of some of its columns."""
        source = self.scan.source
        for name in columns:
            if name not in source.pool.schema.names:
                raise missing_column(name, source.pool.schema.names, "the pool")
        if columns:
            kinds = {**dict.fromkeys(columns), **(source.kinds or {})}
            source = source._replace(carried=tuple(dict.fromkeys([*source.carried, *columns])), kinds=kinds)
        scan = replace(self.scan, source=source, progress=progress)
        if self.engine.elsewhere:
            return keep_in_fragments(scan, shortlists, self.engine, None).shortlists
        return scan.keep(shortlists).shortlists
