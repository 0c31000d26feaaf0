"""Rounds without a learner: models elsewhere say what they make of the pool's rows.

What they say is put into the order of the pool first. The batch then depends on neither the order nor the splitting of
what was given, and a row has one number in all rounds.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Unpack, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from minmargin.batch.columns import to_column, to_numpy, to_table
from minmargin.campaign.folder import CampaignFolder
from minmargin.campaign.journal import Evidence
from minmargin.campaign.rounds import Picked, Turn, guesses_of
from minmargin.campaign.sampling import strategy_of, told_apart
from minmargin.campaign.settings import Settings
from minmargin.campaign.values import Kind, from_text, to_text
from minmargin.data.rows import Frame, count_rows, take_rows
from minmargin.data.schema import is_missing
from minmargin.errors import InputError, listing, nearest, warn
from minmargin.execution import ExecutionOptions
from minmargin.learners.given import Values
from minmargin.pools import Pool, open_pool
from minmargin.selection import select_from_probabilities
from minmargin.selection.scored_rows import ColumnNames, ScoredRows, as_models, has_columns

_CHUNK_SIZE = 1 << 16


@dataclass(frozen=True)
class Told:
    """What models elsewhere say of the pool's rows, as `minmargin.select_from_probabilities` takes it.

    Attributes:
        probabilities: of all rows that may be picked; None where models are trained.
        columns: those that hold them.
        values: what the numbers are.
        base: of the model that was trained on all labels.
        features: embeddings of the rows.
        labeled_features: those of rows labeled already.
        classes: in the order of the columns, where it is not the campaign's.
    """

    probabilities: Any
    columns: ColumnNames | None = None
    values: Values = "probabilities"
    base: Any = None
    features: Any = None
    labeled_features: Any = None
    classes: Sequence[Any] | None = None

    def check(self, settings: Settings, folder: Path) -> None:
        """Raise an error if a campaign lacks probabilities, or has no use for them."""
        if settings.given and self.probabilities is None:
            raise InputError(
                f"Campaign {str(folder)!r} trains no models: it picks by what yours say. Give their probabilities "
                "with probabilities=."
            )
        if settings.given:
            return
        useless = [name for name, value in vars(self).items() if name != "values" and value is not None]
        if useless or self.values != "probabilities":
            raise InputError(
                f"Campaign {str(folder)!r} trains its own models, and has no use for {(useless or ['values'])[0]}. "
                "Leave it out, or begin a campaign with learner='given'."
            )

    def named(self) -> dict[str, Any]:
        """Return what was said in words beside the probabilities, for the next round to be told the same."""
        told = {name: getattr(self, name) for name in ("columns", "values", "base", "features", "classes")}
        if self.values == "probabilities":
            del told["values"]
        return {name: value for name, value in told.items() if _is_in_words(value)}


def _is_in_words(value: Any) -> bool:
    """Return whether a value is a text, or a list of texts, or of such lists."""
    return isinstance(value, str) or (
        isinstance(value, (list, tuple)) and len(value) > 0 and all(map(_is_in_words, value))
    )


def pick_by_told(
    folder: CampaignFolder, turn: Turn, told: Told, batch_size: int, **execution: Unpack[ExecutionOptions]
) -> Picked:
    """Return the batch of a round by what models elsewhere say, and what the journal keeps of that."""
    settings = folder.settings
    pool = open_pool(turn.pool)
    ids = _read_ids(pool, settings, "the pool")
    scored = _scored_rows(told, settings)
    classes = _classes_of(told, scored, folder.journal.classes(), settings.label_kind)
    texts = [to_text(each, settings.id_kind) for each in turn.excluded]
    out = np.flatnonzero(pc.is_in(ids, value_set=pa.array(texts, ids.type)).to_numpy(zero_copy_only=False))
    strategy = strategy_of(settings, turn.number)
    batch = select_from_probabilities(
        _in_order(told, scored, ids, out, settings),
        batch_size,
        strategy=strategy,
        values=told.values,
        base=told.base,
        features=told.features,
        labeled_features=told.labeled_features,
        columns=told.columns,
        classes=classes,
        keep=() if scored.columns is None else (str(settings.id_column),),
        exclude=out if len(out) else None,
        distinct=settings.distinct,
        random_state=settings.seed_of(turn.number),
        **execution,
    )
    batch, stop_set = told_apart(batch, strategy, batch_size)
    evidence = _evidence(told, scored, settings, classes, batch_size)
    _warn_of_the_same(folder, turn, evidence)
    carried = _read_picked(pool, [str(settings.id_column), *settings.kept], batch.rows)
    manifest = {
        **batch.manifest,
        "pool": {"rows": len(ids), **pool.describe()},
        "probabilities": scored.pool.describe(),
    }
    picked = replace(
        batch,
        ids=to_numpy(carried[str(settings.id_column)]),
        kept=carried.select(list(settings.kept)) if settings.kept else None,
        manifest=manifest,
    )
    if stop_set is None:
        return Picked(picked, evidence)
    compared = ids.take(pa.array(stop_set.rows)).to_pylist()
    return Picked(picked, evidence, guesses_of(stop_set, compared, settings))


def _scored_rows(told: Told, settings: Settings) -> ScoredRows:
    """Return where the probabilities come from, which must have a fingerprint for the journal."""
    given, name = told.probabilities, str(settings.id_column)
    if as_models(given) is not None:
        return ScoredRows.of(given, told.base, told.features, told.columns, None, [])
    if not has_columns(given) or "fingerprint" not in open_pool(given).describe():
        raise InputError(
            f"The probabilities are a {type(given).__name__}, of which the journal cannot keep a fingerprint. Give "
            "arrays, a data frame, or a path to files."
        )
    names = open_pool(given).schema.names
    if name not in names:
        raise InputError(
            f"The probabilities have no column {name!r}, which tells the pool's rows apart (columns: "
            f"{listing(names)}). Add it, or give arrays with a row for each row of the pool."
        )
    return ScoredRows.of(given, told.base, told.features, told.columns, None, [name])


def _classes_of(told: Told, scored: ScoredRows, known: list[str], kind: Kind) -> list[Any]:
    """Return the classes that the probabilities are of, in their order; they must be the campaign's."""
    named = scored.names if told.classes is None else told.classes
    if named is None:
        if scored.n_classes != len(known):
            raise InputError(
                f"The probabilities are of {scored.n_classes:,} classes, and the campaign has {len(known):,} "
                f"({listing(known)}). Give a column for each, or name those there are with classes=[...]."
            )
        return [from_text(text, kind) for text in known]
    texts = [str(to_text(each, kind)) for each in named]
    unknown = [text for text in texts if text not in known]
    if unknown:
        raise InputError(
            f"The probabilities are of {unknown[0]!r}, which is no class of this campaign ({listing(known)})."
            f"{nearest(unknown[0], known)} Name the classes, in the order of their columns, with classes=[...]."
        )
    return [from_text(text, kind) for text in texts]


def _in_order(
    told: Told, scored: ScoredRows, ids: pa.Array, out: NDArray[np.intp], settings: Settings
) -> Any:
    """Return the probabilities with a row for each row of the pool, in its order.

    What is in that order already is left as it is: files are then read as they are needed, not into memory.
    """
    if scored.columns is None:
        if scored.pool.n_rows != len(ids):
            raise InputError(
                f"The probabilities are arrays of {scored.pool.n_rows:,} rows, which are taken in the order of the "
                f"pool, and it has {len(ids):,}. Give one for each row, or a frame with the column "
                f"{settings.id_column!r}."
            )
        return told.probabilities
    given = _read_ids(scored.pool, settings, "the probabilities")
    if not len(given):
        raise InputError("The probabilities have no rows. Give those of every row that has no label yet.")
    if given.equals(ids):
        return told.probabilities
    places = _places_of(ids, given, str(settings.id_column))
    lacking = np.setdiff1d(np.flatnonzero(places < 0), out)
    if len(lacking):
        rows = "row" if len(lacking) == 1 else "rows"
        raise InputError(
            f"The probabilities lack {len(lacking):,} {rows} of the pool that may be picked (the first has id "
            f"{ids[int(lacking[0])].as_py()!r}). Give those of every row that has no label yet."
        )
    _warn_of_strangers(given, places)
    kinds = {column.name: column.kind for column in scored.columns}
    chunks = scored.pool.chunks({str(settings.id_column): None, **kinds}, _CHUNK_SIZE)
    table = pa.concat_tables([to_table(cast("Frame", chunk), ()) for chunk in chunks])
    # A row that is out needs no probabilities. It has those of another, which nobody looks at.
    return table.take(pa.array(np.maximum(places, 0)))


def _places_of(ids: pa.Array, given: pa.Array, column: str) -> NDArray[np.int32]:
    """Return where each id is among those that were given; -1 where it is not. None may be there twice."""
    # Arrow makes its table of what was given once, for both questions.
    found = pc.index_in(pa.concat_arrays([ids, given]), value_set=given)
    joined: NDArray[np.int32] = found.fill_null(-1).to_numpy()
    places, own = joined[: len(ids)], joined[len(ids) :]
    repeated = own[own != np.arange(len(given))]
    if len(repeated):
        raise _not_apart(
            given[int(repeated[0])].as_py(), int((own == repeated[0]).sum()), column, "the probabilities"
        )
    counts = np.bincount(places[places >= 0], minlength=len(given))
    if counts.max(initial=0) > 1:
        first = int(np.argmax(counts > 1))
        raise _not_apart(given[first].as_py(), int(counts[first]), column, "the pool")
    return places


def _not_apart(each: str, n_rows: int, column: str, what: str) -> InputError:
    return InputError(
        f"Id {each!r} is in column {column!r} of {what} {n_rows:,} times. Give every row an id of its own; nothing was "
        "written."
    )


def _read_ids(rows: Pool, settings: Settings, what: str) -> pa.Array:
    """Return the ids of all rows as the journal writes them."""
    name = str(settings.id_column)
    parts = [
        _as_texts(to_column(cast("Frame", chunk)[name], whole=False), settings.id_kind)
        for chunk in rows.chunks({name: None}, _CHUNK_SIZE)
    ]
    ids = pa.concat_arrays(parts) if parts else pa.array([], pa.large_string())
    if ids.null_count:
        n_rows = "1 row" if ids.null_count == 1 else f"{ids.null_count:,} rows"
        raise InputError(
            f"Column {name!r} of {what} is empty in {n_rows}. Give every row an id; nothing was written."
        )
    return ids


def _as_texts(values: pa.Array | pa.ChunkedArray, kind: Kind) -> pa.Array:
    """Return ids as the journal writes them; what cannot be an id of this kind stays as it is, and matches none."""
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if isinstance(values, pa.ChunkedArray):  # it has no chunk at all, or more than one array can hold
        values = pa.concat_arrays(values.chunks) if values.num_chunks else pa.array([], values.type)
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    is_text = pa.types.is_string(values.type) or pa.types.is_large_string(values.type)
    if pa.types.is_integer(values.type) or (is_text and kind == "text"):
        return values.cast(pa.large_string())
    texts = [None if is_missing(each) else to_text(each, kind) or str(each) for each in values.to_pylist()]
    return pa.array(texts, pa.large_string())


def _warn_of_strangers(given: pa.Array, places: NDArray[np.int32]) -> None:
    strangers = np.setdiff1d(np.arange(len(given)), places)
    if len(strangers):
        are = "row of the probabilities is" if len(strangers) == 1 else "rows of the probabilities are"
        first = given[int(strangers[0])].as_py()
        warn(f"{len(strangers):,} {are} not in the pool (the first has id {first!r}), and not looked at.")


def _read_picked(pool: Pool, names: list[str], rows: NDArray[np.int64]) -> pa.Table:
    """Return columns of the pool for some of its rows, in the order of `rows`."""
    order = np.argsort(rows)
    ascending, first, parts = rows[order], 0, []
    for chunk in pool.chunks(dict.fromkeys(names), _CHUNK_SIZE):
        stop = first + count_rows(chunk)
        start, end = np.searchsorted(ascending, [first, stop])
        parts.append(to_table(cast("Frame", take_rows(chunk, ascending[start:end] - first)), ()))
        first = stop
    return pa.concat_tables(parts).take(pa.array(np.argsort(order)))


def _evidence(
    told: Told, scored: ScoredRows, settings: Settings, classes: list[Any], batch_size: int
) -> Evidence:
    """Return what the journal keeps of the probabilities, and of how the round was picked by them."""
    used = {
        "columns": None if scored.columns is None else [column.name for column in scored.columns],
        "values": told.values,
        "members": scored.n_members,
        "base": scored.has_base,
        "features": scored.n_features,
        "classes": [str(to_text(each, settings.label_kind)) for each in classes],
        "batch_size": batch_size,
        "told": told.named(),
        **{name: asdict(settings)[name] for name in ("strategy", "strategy_options", "distinct")},
    }
    return Evidence(str(scored.pool.describe()["fingerprint"]), json.dumps(used))


def _warn_of_the_same(folder: CampaignFolder, turn: Turn, evidence: Evidence) -> None:
    """Warn if the probabilities are those of the last round, although labels came back since."""
    last = folder.journal.evidence().get(turn.number - 1)
    if last is None or folder.journal.rounds()[-1].addition == turn.addition:
        return
    columns = [json.loads(each.settings)["columns"] for each in (last, evidence)]
    if last.fingerprint == evidence.fingerprint and columns[0] == columns[1]:
        warn(
            f"The probabilities are those of round {turn.number - 1}, and labels came back since. Let your models "
            "learn from them, and compute the probabilities anew."
        )
