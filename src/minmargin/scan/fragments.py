"""A scan in fragments: each is scanned by itself, by any engine, and what it gives is merged as it comes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from threading import Event
from typing import NamedTuple

import pyarrow as pa

from minmargin.errors import InputError
from minmargin.pools import empty_pool
from minmargin.pools.fragments import Fragment, check_divisible, cut
from minmargin.scan.checkpoint import Checkpoint, Progressed
from minmargin.scan.engines import LocalEngine
from minmargin.scan.found import Counts, Shortlisted
from minmargin.scan.kept import Expected
from minmargin.scan.scan import Scan
from minmargin.scan.wire import from_table, to_table
from minmargin.strategies import Shortlist
from minmargin.topb import LastPlace, TopB

_FRAGMENT_ROWS = 1 << 20
_TIMES_THE_BATCH = 4  # rows of a fragment, for each that it may send back


class Order(NamedTuple):
    """A fragment to scan, and the last places that are known when it is given out."""

    fragment: Fragment
    last_places: tuple[LastPlace | None, ...]


class Partial(NamedTuple):
    """What a fragment gave: the lowest of its rows for each shortlist, and how many rows that took; or an error."""

    number: int
    lowest: list[pa.Table]
    counts: Counts
    error: InputError | None = None


@dataclass(frozen=True)
class FragmentScan:
    """What is sent to where fragments are scanned; `stopping` is for threads of this process."""

    scan: Scan
    shortlists: tuple[Shortlist, ...]
    stopping: Event | None = None

    def __call__(self, order: Order) -> Partial:
        """Return what a fragment gives; an error of its rows, too, for which nobody needs to scan it again."""
        try:
            tops, counts = self.scan.shortlist_fragment(
                order.fragment, self.shortlists, order.last_places, self.stopping
            )
        except InputError as error:
            return Partial(order.fragment.number, [], Counts(), error)
        return Partial(order.fragment.number, [to_table(top) for top in tops], counts)


def shortlist_in_fragments(
    scan: Scan, shortlists: Sequence[Shortlist], checkpoint: Checkpoint | None
) -> Shortlisted:
    """Return the rows of each shortlist; fragments that a checkpoint has already are not scanned again."""
    progress = scan.execution.progress
    engine = scan.execution.engine or LocalEngine(scan.execution.n_jobs)
    why = f"engine={engine.name!r}" if checkpoint is None else "checkpoint"
    pool = check_divisible(scan.matched.pool, why)
    largest = max((shortlist.size or 0 for shortlist in shortlists), default=0)
    fragments = cut(pool, max(_FRAGMENT_ROWS, _TIMES_THE_BATCH * largest), grid=scan.grid)
    if not fragments:
        raise empty_pool(scan.matched)
    total = sum(fragment.n_rows for fragment in fragments)
    seeds = scan.models.seeds
    state = (
        Progressed.nothing(shortlists, seeds)
        if checkpoint is None
        else checkpoint.read(shortlists, seeds, Expected(scan, fragments))
    )
    progress("scanning", state.counts.rows, total)
    failed: dict[int, InputError] = {}

    def orders() -> Iterator[Order]:
        for fragment in fragments:
            if failed:  # all fragments before it were given out
                return
            if fragment.number not in state.finished:
                yield Order(fragment, tuple(top.last_place for top in state.tops))

    stopping = engine.stopping if isinstance(engine, LocalEngine) else None
    work = FragmentScan(scan.of_fragment(), tuple(shortlists), stopping)
    try:
        for partial in engine.run(work, orders()):
            if partial.error is not None:
                failed[partial.number] = partial.error
            else:
                state.add(
                    partial.number,
                    [_opened(table, top) for table, top in zip(partial.lowest, state.tops, strict=True)],
                    partial.counts,
                )
                progress("scanning", state.counts.rows, total)
                if checkpoint is not None:
                    checkpoint.write_if_due(state)
            _raise_first(failed, state)
    except BaseException:  # also for whoever interrupts it
        with suppress(InputError):  # what stopped the scan is what to tell; the state before this one counts
            _write(checkpoint, state)
        raise
    _write(checkpoint, state)
    return Shortlisted.of(state.tops, state.counts)


def _write(checkpoint: Checkpoint | None, state: Progressed) -> None:
    if checkpoint is not None:
        checkpoint.write(state)


def _raise_first(failed: dict[int, InputError], state: Progressed) -> None:
    """Raise the error of the first fragment with one, once those before it are done: which fails first is chance."""
    if failed and state.finished.issuperset(range(min(failed))):
        raise failed[min(failed)]


def _opened(table: pa.Table, like: TopB) -> TopB:
    return from_table(table, like.size, like.seeds, distinct=like.distinct)
