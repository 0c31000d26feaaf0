"""A round: a batch picked by what is known so far, among the rows that nobody was asked about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, Unpack

from minmargin.batch import Batch
from minmargin.campaign.folder import CampaignFolder
from minmargin.campaign.journal import Evidence, Round, now
from minmargin.campaign.sampling import strategy_of, told_apart
from minmargin.campaign.sealing import checksum
from minmargin.campaign.settings import Settings
from minmargin.campaign.tables import batch_ids
from minmargin.campaign.values import from_text, id_array, to_text
from minmargin.errors import InputError, MinMarginError, listing
from minmargin.execution import ExecutionOptions
from minmargin.pools import open_pool
from minmargin.pools.exclusion import Named
from minmargin.selection import select


class Turn(NamedTuple):
    """What a round is picked from.

    Attributes:
        number: of the round.
        pool: the pool's files.
        excluded: ids of rows that must not be picked.
        addition: the last labels that are known.
    """

    number: int
    pool: list[str | Path]
    excluded: list[Any]
    addition: int


class Picked(NamedTuple):
    """What a round has picked.

    Attributes:
        batch: the rows to label.
        evidence: what was given to pick it by; None if models were trained.
        stop_set: what the model takes each row of the stop set for, by id; None if there was none.
    """

    batch: Batch
    evidence: Evidence | None = None
    stop_set: Mapping[str, str] | None = None


#: Picks the batch of a round.
Picker: TypeAlias = Callable[[Turn], Picked]


def next_round(
    folder: CampaignFolder,
    pick: Picker,
    *,
    unlabeled_ok: bool,
    requeue: bool,
    csv: bool,
    on_batch: Callable[[Batch], object] | None,
) -> Batch:
    """Return the batch of the next round, after it was written to its file and into the journal.

    The folder must be locked. `on_batch` is called in between.
    """
    settings, journal = folder.settings, folder.journal
    rounds, labels, offers = journal.rounds(), journal.labels(), journal.offers()
    if not (unlabeled_ok or requeue):
        waiting = [each for each in journal.picks(len(rounds)) if each not in labels]
        _refuse_unlabeled(waiting, len(rounds), pushed=folder.has_project)
    pool = settings.pool_of(folder.path)
    pool_mark = str(open_pool(pool).describe()["fingerprint"])
    _check_same_pool(settings, rounds, pool_mark)
    back_in_pool = (offers.keys() if requeue else journal.withdrawn()) - labels.keys()
    taken = sorted(from_text(each, settings.id_kind) for each in offers.keys() - back_in_pool)
    number, addition = len(rounds) + 1, journal.last_addition()
    batch, evidence, stop_set = pick(Turn(number, pool, [*folder.initial_ids(), *taken], addition))
    ids = _ids_of(batch, settings)
    # The file comes first: a round of the journal has its file, and a file without a round is no round.
    path = folder.batch_path(number)
    try:
        batch.to_parquet(path)
        if csv:
            batch.to_csv(path.with_suffix(".csv"))
        if on_batch is not None:
            on_batch(batch)
        made = Round(number, path.name, checksum(path), settings.seed_of(number), pool_mark, addition, now())
        journal.add_round(
            made,
            ids,
            withdraw=back_in_pool if requeue else (),
            evidence=evidence,
            audit=_audit_of(batch, ids, settings),
            stop_set=stop_set,
        )
    except BaseException:
        if _is_no_round(folder, number):
            for each in (path, path.with_suffix(".csv")):
                each.unlink(missing_ok=True)  # which somebody might label
        raise
    return batch


def _is_no_round(folder: CampaignFolder, number: int) -> bool:
    """Return whether the journal is known to have no such round: whoever interrupts may do so when it just got it."""
    try:
        return len(folder.journal.rounds()) < number
    except MinMarginError:
        return False


def train_and_pick(
    folder: CampaignFolder,
    turn: Turn,
    learner: Any,
    batch_size: int,
    **execution: Unpack[ExecutionOptions],
) -> Picked:
    """Return the batch that models trained on all labels so far pick; `execution` goes to `minmargin.select`."""
    settings = folder.settings
    strategy = strategy_of(settings, turn.number)
    batch = select(
        str(folder.write_labeled()),
        settings.label_column,
        turn.pool,
        batch_size,
        classes=[from_text(name, settings.label_kind) for name in folder.journal.classes()],
        strategy=strategy,
        learner=learner,
        n_models=settings.n_models,
        bootstrap_fraction=settings.bootstrap_fraction,
        random_state=settings.seed_of(turn.number),
        features=settings.features,
        id_column=settings.id_column,
        keep=settings.kept,
        exclude=_excluded(turn, settings),
        distinct=settings.distinct,
        preprocess=settings.preprocess,
        reading=settings.read_as,
        **execution,
    )
    drawn = told_apart(batch, strategy, batch_size)
    if drawn.stop_set is None:
        return Picked(drawn.batch)
    ids = batch_ids(drawn.stop_set.to_arrow(), settings.id_kind)
    return Picked(drawn.batch, stop_set=guesses_of(drawn.stop_set, ids, settings))


def _excluded(turn: Turn, settings: Settings) -> Named | None:
    """Return the ids that are out; rows that were labeled before the campaign began need not be in the pool."""
    if not turn.excluded:
        return None
    by_row = settings.id_column is None
    return Named(id_array(turn.excluded, settings.id_kind), by_row=by_row, expected=False)


def _refuse_unlabeled(waiting: Sequence[str], number: int, *, pushed: bool) -> None:
    if waiting:
        rows = "row" if len(waiting) == 1 else "rows"
        have = "has" if len(waiting) == 1 else "have"
        first = "Fetch the labels with minmargin campaign pull" if pushed else "Add the labels first"
        raise InputError(
            f"{len(waiting):,} {rows} of round {number} {have} no label yet ({listing(waiting, most=3)}). {first}, "
            "go on without them with unlabeled_ok=True, or put the rows back into the pool with requeue=True."
        )


def _check_same_pool(settings: Settings, rounds: Sequence[Round], mark: str) -> None:
    if settings.id_column is None and rounds and rounds[0].pool != mark:
        raise InputError(
            "The pool's files have changed, and without an id column rows are known by their number. "
            "Put them back, or begin a campaign with id_column."
        )


def _audit_of(batch: Batch, ids: Sequence[str], settings: Settings) -> dict[str, str]:
    """Return the ids of a batch's audit rows, and what the model takes each for before anybody has labeled it."""
    if batch.audit is None:
        return {}
    by_chance = dict(zip(ids, batch.audit.tolist(), strict=True))
    return {each: guess for each, guess in guesses_of(batch, ids, settings).items() if by_chance[each]}


def guesses_of(batch: Batch, ids: Sequence[str], settings: Settings) -> dict[str, str]:
    """Return what the model takes each row of a batch for, by id, as texts."""
    rows = zip(ids, batch.predicted.tolist(), strict=True)
    return {each: str(to_text(guess, settings.label_kind)) for each, guess in rows}


def _ids_of(batch: Batch, settings: Settings) -> list[str]:
    """Return the ids of a batch, which must tell its rows apart."""
    missing = 0 if batch.ids is None else sum(each is None for each in batch.ids.tolist())
    if missing:
        raise InputError(
            f"{missing:,} of the picked rows have no id in column {settings.id_column!r}. "
            "Give every row of the pool one; nothing was written."
        )
    ids = batch_ids(batch.to_arrow(), settings.id_kind)
    repeated = [each for each, n in Counter(ids).items() if n > 1]
    if repeated:
        raise InputError(
            f"Several of the picked rows have id {repeated[0]!r} in column {settings.id_column!r}. "
            "Use a column whose values are unique; nothing was written."
        )
    return ids
