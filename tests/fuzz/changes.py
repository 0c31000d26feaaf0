# ruff: noqa: S608 - the names in these statements are those of our own tables
"""Ways to change files: their bytes, and what JSON, tables and databases in them say."""

from __future__ import annotations

import copy
import random
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa

from faults.damaging import damaged

Place: TypeAlias = tuple[str | int, ...]

_DEPTH = 200_000
#: Stands for JSON that is nested deeper than a parser can go; `written` puts it in.
DEEP = "a deep list"
_VALUES: tuple[Any, ...] = (
    *(None, True, False, -1, 0, 1, 2, 10**10, 10**18, 2**63, -(2**63), 10**40, 10**400, 0.5, -0.0),
    *(
        float("nan"),
        float("inf"),
        "",
        "x",
        "é\x00",
        "\ud800",
        "../../secret",
        "9" * 5_000,
        [],
        [[]],
        {},
        [None],
    ),
    *([1, 2, 3], [3, 1], {"a": 1}, {"id": {}}, DEEP),
)


def change_bytes(path: Path, rng: random.Random) -> str:
    """Flip, cut, insert or overwrite bytes of a file, or put another in its place; return what was done."""
    way = rng.random()
    if way < 0.05:
        path.unlink()
        return f"{path.name} removed"
    if way < 0.12:
        text = rng.choice(
            ["", "null", "{}", "[]", "[" * _DEPTH, '{"format": 1}', "NaN", "\ufeff{}", "7", '"x"']
        )
        path.write_text(text)
        return f"{path.name} is {text[:20]!r}"
    content = path.read_bytes()
    path.write_bytes(damaged(content, rng) if content else b"\0")
    return f"bytes of {path.name}"


def change_json(value: Any, rng: random.Random, words_known: Sequence[Any] = ()) -> tuple[Any, str]:
    """Return JSON with one or two of its values removed, renamed, swapped, doubled or replaced, and what was done.

    `words_known` are values that readers know, which may stand in wrong places.
    """
    words = []
    for _ in range(1 if rng.random() < 0.8 else 2):
        places = [place for place in _places(value) if place]
        if not places:
            return copy.deepcopy(rng.choice(_VALUES)), "all of it"
        place = rng.choice(places)
        inner = _at(value, place[:-1])
        way = rng.choice(["replace"] * 6 + ["remove", "swap", "double", "wrap", "rename", "near", "near"])
        values = words_known if words_known and rng.random() < 0.4 else _VALUES
        words.append(f"{way} {place}"[:200])
        _change_in(inner, place[-1], _at(value, rng.choice(places)), way, rng, values)
    return value, ", ".join(words)


def _change_in(
    inner: Any, key: str | int, other: Any, way: str, rng: random.Random, values: Sequence[Any]
) -> None:
    if way == "remove":
        del inner[key]
    elif way == "swap":
        inner[key] = copy.deepcopy(other)
    elif way == "wrap":
        inner[key] = [inner[key]] if rng.random() < 0.5 else {str(key): inner[key]}
    elif way == "double" and isinstance(inner, list):
        inner.append(copy.deepcopy(inner[int(key)]))
    elif way == "rename" and isinstance(inner, dict):
        inner[f"{key} "] = inner.pop(str(key))
    elif way == "near" and isinstance(inner[key], (int, float)):
        inner[key] += rng.choice([-1, 1, 2**31, 10**10, 0.5])
    else:
        inner[key] = copy.deepcopy(rng.choice(values))


def _places(value: Any, path: Place = ()) -> Iterator[Place]:
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inner:
        yield from _places(each, (*path, key))


def _at(value: Any, place: Place) -> Any:
    for key in place:
        value = value[key]
    return value


def written(text: str) -> str:
    """Return a JSON text with what cannot be written from Python put in."""
    return text.replace(f'"{DEEP}"', "[" * _DEPTH + "]" * _DEPTH)


def change_table(table: pa.Table, rng: random.Random) -> tuple[pa.Table, str]:
    """Return a table with a column or some rows changed, and what was done."""
    way = rng.choice(list(_TABLE_WAYS))
    place = rng.randrange(table.num_columns)
    try:
        return _TABLE_WAYS[way](table, place, rng), f"{way} {table.column_names[place]}"
    except (
        pa.ArrowException,
        TypeError,
        ValueError,
        OverflowError,
    ):  # a value that does not fit is no table at all
        return table.drop_columns([table.column_names[place]]), f"drop {table.column_names[place]}"


def _with(table: pa.Table, place: int, values: Any) -> pa.Table:
    return table.set_column(place, table.column_names[place], values)


def _set_cell(table: pa.Table, place: int, rng: random.Random) -> pa.Table:
    column = table.column(place)
    values = column.to_pylist()
    if values:
        numbers: list[Any] = [-1, 0, 1, 2**31, 2**62, 0.5, float("nan"), float("inf"), None]
        others: list[Any] = ["", "x", "é", None, rng.choice(values)]
        kind = column.type
        is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
        values[rng.randrange(len(values))] = rng.choice(numbers if is_number else others)
    return _with(table, place, pa.array(values, column.type))


def _change_metadata(table: pa.Table, _: int, rng: random.Random) -> pa.Table:
    metadata = dict(table.schema.metadata or {b"minmargin": b"{}"})
    name = rng.choice(list(metadata))
    content = rng.choice(
        [b"", b"null", b"[]", b'"x"', b"7", b"[" * _DEPTH, b"\xff\xfe", b"{}", damaged(metadata[name], rng)]
    )
    return table.replace_schema_metadata({**metadata, name: content})


_TableWay: TypeAlias = Callable[[pa.Table, int, random.Random], pa.Table]
_TABLE_WAYS: dict[str, _TableWay] = {
    "cell of": _set_cell,
    "another cell of": _set_cell,
    "metadata, not": _change_metadata,
    "drop": lambda table, place, _: table.drop_columns([table.column_names[place]]),
    "texts in": lambda table, place, _: _with(table, place, table.column(place).cast(pa.string())),
    "nulls in": lambda table, place, _: _with(
        table, place, pa.nulls(table.num_rows, table.column(place).type)
    ),
    "only nulls in": lambda table, place, _: _with(table, place, pa.nulls(table.num_rows)),
    "lists in": lambda table, place, _: _with(
        table, place, pa.array([[each] for each in table.column(place).to_pylist()])
    ),
    "objects in": lambda table, place, _: _with(
        table, place, pa.array([{"id": each} for each in table.column(place).to_pylist()])
    ),
    "floats in": lambda table, place, _: _with(
        table, place, table.column(place).cast(pa.float32(), safe=False)
    ),
    "rename": lambda table, place, _: table.rename_columns(
        [f"{name}_" if at == place else name for at, name in enumerate(table.column_names)]
    ),
    "name as the first": lambda table, place, _: table.rename_columns(
        [table.column_names[0] if at == place else name for at, name in enumerate(table.column_names)]
    ),
    "no rows of": lambda table, _, __: table.slice(0, 0),
    "fewer rows of": lambda table, _, rng: table.slice(rng.randrange(max(table.num_rows, 1))),
    "rows twice of": lambda table, _, __: pa.concat_tables([table, table]),
    "last row first of": lambda table, _, __: pa.concat_tables(
        [table.slice(max(table.num_rows - 1, 0)), table]
    ),
    "other order of columns of": lambda table, place, _: table.select(
        [*table.column_names[place:], *table.column_names[:place]]
    ),
    "one more column than": lambda table, place, _: table.append_column("more", table.column(place)),
}


def change_database(path: Path, rng: random.Random) -> str:
    """Change what a SQLite file says, past all constraints of its own; return the statement."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        for pragma in ("foreign_keys = OFF", "ignore_check_constraints = ON", "writable_schema = ON"):
            db.execute(f"PRAGMA {pragma}")
        tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        table = rng.choice([name for name in tables if not name.startswith("sqlite_")])
        columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
        column, value = rng.choice(columns), rng.choice(_SQL_VALUES)
        some = rng.choice(["", f"WHERE rowid = 1 + abs(random()) % (SELECT count(*) + 1 FROM {table})"])
        statement = rng.choice(
            [
                *[f"UPDATE OR REPLACE {table} SET {column} = {value} {some}"] * 6,
                f"UPDATE OR REPLACE {table} SET {column} = {rng.choice(columns)} {some}",
                f"UPDATE OR IGNORE {table} SET {column} = {column} + 1 {some}",
                f"DELETE FROM {table} {some}",
                f"DROP TABLE {table}",
                f"ALTER TABLE {table} RENAME COLUMN {column} TO other",
                f"ALTER TABLE {table} RENAME TO other",
                f"ALTER TABLE {table} ADD COLUMN other",
                f"CREATE TRIGGER t AFTER INSERT ON {table} BEGIN DELETE FROM {table}; END",
                f"PRAGMA user_version = {rng.choice([0, 1, 3, 2**31 - 1])}",
                "DROP INDEX offers",
                f"UPDATE sqlite_master SET sql = replace(sql, '{column}', 'x') WHERE name = '{table}'",
                f"INSERT OR REPLACE INTO {table} SELECT * FROM {table} LIMIT 1",
            ]
        )
        try:
            db.execute(statement)
        except sqlite3.Error:  # what SQLite itself does not do
            db.execute(f"DELETE FROM {table}")
            statement = f"DELETE FROM {table}"
    return statement[:200]


_SQL_VALUES = (
    *(
        "NULL",
        "-1",
        "0",
        "1",
        "2",
        "9223372036854775807",
        "0.5",
        "''",
        "'x'",
        "'7'",
        "'null'",
        "'[]'",
        "'{}'",
        "x'ff'",
    ),
    *("CAST(x'ffc0' AS TEXT)", "'../../secret'", f"'{'[' * 20_000}'", "'{\"told\": 7}'"),
)
