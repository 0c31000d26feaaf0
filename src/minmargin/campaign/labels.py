"""Labels as they come back: read from a file, a frame or a mapping, and checked before any of them counts."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import narwhals as nw
import pyarrow as pa
import pyarrow.compute as pc

from minmargin.campaign.journal import Journal, Label
from minmargin.campaign.settings import Settings
from minmargin.campaign.values import Kind, to_text
from minmargin.data.ids import bare, without_point_zero, without_thousands
from minmargin.data.schema import as_rows, is_missing, missing_column
from minmargin.errors import InputError, listing, nearest
from minmargin.pools import is_path, open_pool
from minmargin.pools.formats import suffix_of

_JSON_LINES = {".jsonl", ".ndjson"}
_UNCHANGED = "no label was added."


class Added(NamedTuple):
    """What a call has added: new labels, labels that were there already, changed ones, and rows without a label."""

    new: int
    same: int
    changed: int
    empty: int


@dataclass(frozen=True)
class Returned:
    """Ids and labels as somebody gave them.

    Attributes:
        source: what errors and the journal call it.
        pairs: ids and labels, None for what is missing.
        quoted: whether texts that look like formulas may have an apostrophe before them, as our CSV files have.
    """

    source: str
    pairs: list[tuple[Any, Any]]
    quoted: bool = False


@dataclass(frozen=True)
class Known:
    """What labels are checked against.

    Attributes:
        offers: the last round that picked each id.
        labels: the labels so far.
        classes: the classes so far.
        id_kind: what ids are.
        label_kind: what labels are.
    """

    offers: Mapping[str, int]
    labels: Mapping[str, Label]
    classes: Collection[str]
    id_kind: Kind
    label_kind: Kind

    @classmethod
    def of(cls, journal: Journal, settings: Settings) -> Known:
        """Return what a campaign knows by now."""
        kinds = settings.id_kind, settings.label_kind
        return cls(journal.offers(), journal.labels(), journal.classes(), *kinds)


class Checked(NamedTuple):
    """Labels that may be added: by id, with the classes that are new, and what there was to count."""

    labels: dict[str, Label]
    classes: list[str]
    added: Added


def read_labels(
    source: Any,
    *,
    id_columns: Sequence[str],
    label_columns: Sequence[str],
    missing: Collection[str] = (),
    name: str | None = None,
) -> Returned:
    """Return the ids and labels of a file, a frame, or a mapping of ids to labels.

    Args:
        source: where they are.
        id_columns: of these, the first that is there is taken.
        label_columns: of these, one must be there.
        missing: texts that stand for no label.
        name: what the source is called.
    """
    returned = _read(source, id_columns, label_columns)
    pairs = [
        (each, None if isinstance(label, str) and label.strip() in missing else label)
        for each, label in returned.pairs
    ]
    return replace(returned, pairs=pairs, source=returned.source if name is None else name)


def read_for(
    settings: Settings, source: Any, *, id_column: str | None, label_column: str | None, name: str | None
) -> Returned:
    """Return the ids and labels that came back to a campaign, from the columns that are named, or the usual ones."""
    usual = ("row",) if settings.id_column is None else (settings.id_column, "id")
    return read_labels(
        source,
        id_columns=usual if id_column is None else (id_column,),
        label_columns=(settings.label_column, "label") if label_column is None else (label_column,),
        missing=settings.read_as.marks.missing,
        name=name,
    )


def _read(source: Any, id_columns: Sequence[str], label_columns: Sequence[str]) -> Returned:
    if isinstance(source, Mapping):
        return Returned("The mapping", [(_present(each), _present(label)) for each, label in source.items()])
    if not is_path(source):
        frame = as_rows(source, "The frame of labels")
        if not isinstance(frame, nw.DataFrame):
            raise InputError(
                f"The labels are a {type(source).__name__}. "
                "Give a file, a frame with an id and a label column, or a mapping of ids to labels."
            )
        names = _choose(frame.columns, id_columns, label_columns, "the frame of labels")
        return Returned("The frame", _pairs(frame, names))
    if isinstance(source, (str, Path)) and Path(source).suffix.lower() in _JSON_LINES:
        return _read_json_lines(Path(source), id_columns, label_columns)
    pool = open_pool(source)
    what = str(source) if isinstance(source, (str, Path)) else "The files"
    if pool.schema.columns is None:
        raise InputError(f"{what!r} has no column names. Give a file with an id and a label column.")
    names = _choose(pool.schema.names, id_columns, label_columns, repr(what))
    # Read as columns that are only carried along, the ids and labels of a CSV file stay texts.
    pairs = [pair for rows in pool.chunks(dict.fromkeys(names), 1 << 16) for pair in _pairs(rows, names)]
    return Returned(what, pairs, quoted=suffix_of(pool.name) in {".csv", ".tsv"})


def check_labels(returned: Returned, known: Known, *, replace: bool, new_classes: bool) -> Checked:
    """Return what may be added, or say why nothing may be."""
    found = _found_ids(returned, known)
    classes = _finder(known.classes, known.label_kind, quoted=returned.quoted)
    labels: dict[str, str] = {}
    strangers: list[Any] = []
    n_empty = 0
    for (given, label), each in zip(returned.pairs, found, strict=True):
        if label is None:
            n_empty += 1
            continue
        if given is None:
            raise InputError(f"{returned.source}: label {label!r} has no id. Name its row; {_UNCHANGED}")
        name = classes(label)
        if each is None or each not in known.offers:
            strangers.append(given)
            continue
        if name is None:
            raise InputError(
                f"{returned.source}: row {given!r} has label {label!r}, and the classes are {known.label_kind} values. "
                f"Mend it; {_UNCHANGED}"
            )
        if labels.setdefault(each, name) != name:
            raise InputError(
                f"{returned.source}: row {given!r} has two labels, {labels[each]!r} and {name!r}. "
                f"Leave one of them; {_UNCHANGED}"
            )
    if strangers:
        which = "id was" if len(strangers) == 1 else "ids were"
        raise InputError(
            f"{returned.source}: {len(strangers):,} {which} never picked in this campaign ({listing(strangers)}). "
            f"{_meant(strangers, known.offers)}; {_UNCHANGED}"
        )
    return _against_known(labels, returned.source, known, n_empty, replace=replace, new_classes=new_classes)


def _found_ids(returned: Returned, known: Known) -> list[str | None]:
    """Return the journal's text for each id, as far as it can be one.

    Like at the beginning, 5.0 is 5: pandas writes it so where a column has gaps. An id that was picked as it stands is
    that one.
    """
    find = _finder(known.offers, known.id_kind, quoted=returned.quoted)
    found = [None if given is None else find(given) for given, _ in returned.pairs]
    others = [place for place, each in enumerate(found) if each is not None and each not in known.offers]
    if not others or known.id_kind != "text":
        return found
    picked = list(known.offers)
    plain = without_point_zero(pa.array(picked, pa.string())).to_pylist()
    n_alike = Counter(plain)
    offers = {name: each for name, each in zip(plain, picked, strict=True) if n_alike[name] == 1}
    spelled = without_point_zero(pa.array([found[place] for place in others], pa.string())).to_pylist()
    for place, name in zip(others, spelled, strict=True):
        found[place] = offers.get(name, found[place])
    return found


def _meant(strangers: Sequence[Any], offers: Collection[str]) -> str:
    """Return what to do about ids that were not picked: programs may have spelled those anew that were."""
    picked = pa.array(list(offers), pa.string())
    given = pa.array(list(map(str, strangers)), pa.string())
    names = bare(picked)
    for spelled in (bare(given), bare(without_thousands(pc.utf8_trim_whitespace(given)))):
        meant = pc.index_in(spelled, value_set=names).drop_null()
        if len(meant):
            return (
                f"Row {picked[meant[0].as_py()].as_py()!r} was, so zeros, blanks, points or commas of ids were lost or "
                "added, as spreadsheets do it. Put the ids back as they stood in the batch"
            )
    return "Leave them out"


def _against_known(
    labels: Mapping[str, str], source: str, known: Known, n_empty: int, *, replace: bool, new_classes: bool
) -> Checked:
    unknown = [name for name in dict.fromkeys(labels.values()) if name not in known.classes]
    if unknown and not new_classes:
        what = (
            f"{listing(unknown)} is no class" if len(unknown) == 1 else f"{listing(unknown)} are no classes"
        )
        raise InputError(
            f"{source}: {what} of this campaign ({listing(known.classes)}).{nearest(unknown[0], known.classes)} "
            f"Mend it, or use new_classes=True; {_UNCHANGED}"
        )
    before = {each: known.labels[each].label for each in labels if each in known.labels}
    changed = [each for each, label in before.items() if label != labels[each]]
    if changed and not replace:
        first = changed[0]
        rows = "row has" if len(changed) == 1 else "rows have"
        raise InputError(
            f"{source}: {len(changed):,} {rows} another label already (row {first!r} has {before[first]!r}, and "
            f"{labels[first]!r} was given). Mend it, or use replace=True; {_UNCHANGED}"
        )
    new = [each for each in labels if each not in before]
    return Checked(
        {each: Label(known.offers[each], labels[each]) for each in (*new, *changed)},
        unknown,
        Added(len(new), len(before) - len(changed), len(changed), n_empty),
    )


def _finder(known: Collection[str], kind: Kind, *, quoted: bool) -> Callable[[Any], str | None]:
    """Return a function that gives the journal's text for a value, as far as it can be one."""

    def find(value: Any) -> str | None:
        text = to_text(value, kind)
        if quoted and text not in known and str(value).startswith("'"):
            bare = to_text(str(value)[1:], kind)
            return bare if bare in known else text
        return text

    return find


def _choose(
    names: Sequence[str], id_columns: Sequence[str], label_columns: Sequence[str], where: str
) -> tuple[str, str]:
    """Return the id column, the first that is there, and the label column."""
    ids, labels = (
        [name for name in dict.fromkeys(wanted) if name in names] for wanted in (id_columns, label_columns)
    )
    for found, wanted in ((ids, id_columns), (labels, label_columns)):
        if not found:
            raise missing_column(wanted[0], names, where)
    if len(labels) > 1:
        raise InputError(
            f"Labels may be in column {labels[0]!r} or {labels[1]!r} of {where}. Say which with "
            f"label_column={labels[0]!r}."
        )
    return ids[0], labels[0]


def _pairs(rows: Any, names: tuple[str, str]) -> list[tuple[Any, Any]]:
    columns = [map(_present, rows[name].to_list()) for name in names]
    return list(zip(*columns, strict=True))


def _present(value: Any) -> Any:
    """Return a value, None if it is missing or an empty text."""
    return None if is_missing(value) or (isinstance(value, str) and not value.strip()) else value


def _read_json_lines(path: Path, id_columns: Sequence[str], label_columns: Sequence[str]) -> Returned:
    records = list(_records(path))
    names = list(dict.fromkeys(name for record in records for name in record))
    chosen = _choose(names, id_columns, label_columns, repr(str(path)))
    return Returned(
        str(path), [(_present(record.get(chosen[0])), _present(record.get(chosen[1]))) for record in records]
    )


def _records(path: Path) -> Iterator[dict[str, Any]]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise InputError(f"{str(path)!r} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{str(path)!r} is not UTF-8 text ({error.reason}). Save it as UTF-8.") from error
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(f"Line {number:,} of {str(path)!r} is not JSON ({error}). Mend it.") from error
        if not isinstance(record, dict):
            raise InputError(f"Line {number:,} of {str(path)!r} is not a JSON object. Mend it.")
        yield record
