"""Finished draws on disk: each is a file of its own as soon as it is played, so that a run can be taken up again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from minmargin.compare.outcome import CONSTANT
from minmargin.compare.sealed import read_sealed, write_sealed
from minmargin.errors import InputError
from minmargin.files import make_folder

_RULES = b"minmargin rules"


@dataclass(frozen=True)
class Store:
    """Draws in a folder, each a table in a file of its own.

    Attributes:
        folder: where they are.
        name: what their files' names begin with; may be empty.
        rules: everything that the results depend on, in words that "; " separates: draws that were played by others
            are refused.
    """

    folder: Path
    name: str
    rules: str

    def has(self, draw: int) -> bool:
        """Return whether a draw was played already, by these rules."""
        path = self._path(draw)
        if not path.exists():
            return False
        try:
            found = (pq.read_schema(path).metadata or {}).get(_RULES, b"").decode()
        except (OSError, ValueError, pa.ArrowException) as error:
            raise _no_draw(path, (str(error).splitlines() or [""])[0]) from error
        if found != self.rules:
            there, now = (_others(found, self.rules), _others(self.rules, found))
            raise InputError(
                f"{str(path)!r} was played by other rules ({there}; now: {now}). Use another folder."
            )
        return True

    def write(self, draw: int, table: pa.Table) -> None:
        """Write the results of a draw, whole or not at all."""
        marked = table.replace_schema_metadata({_RULES: self.rules.encode()})
        make_folder(self.folder)
        write_sealed(self._path(draw), marked)

    def read(self, draws: Iterable[int], schema: pa.Schema) -> pa.Table:
        """Return the results of these draws, in their order; all have the same rows, but for the figures."""
        tables: list[pa.Table] = []
        for draw in draws:
            path = self._path(draw)
            try:
                table = read_sealed(path, schema)
                if table["draw"].to_pylist() != [draw] * len(table):
                    raise ValueError("it is of another draw")  # noqa: TRY301 - told like all others
                if tables and _rows_of(table) != _rows_of(tables[0]):
                    raise ValueError("it has other rows than the first draw")  # noqa: TRY301 - as above
            except ValueError as error:
                raise _no_draw(path, str(error)) from error
            tables.append(table.replace_schema_metadata(None))
        return pa.concat_tables(tables or [schema.empty_table()])

    def _path(self, draw: int) -> Path:
        return self.folder / ".".join(filter(None, [self.name, f"{draw:05d}", "parquet"]))


def _no_draw(path: Path, reason: str) -> InputError:
    return InputError(
        f"{str(path)!r} is no draw that can be read ({reason}). Remove it, and it is played again."
    )


def _rows_of(table: pa.Table) -> list[dict[str, Any]]:
    """Return what the rows are of, without the figures that were found, and without the constant guess.

    Draws of before the guess was scored lack it.
    """
    names = [
        field.name for field in table.schema if not pa.types.is_floating(field.type) and field.name != "draw"
    ]
    return [row for row in table.select(names).to_pylist() if row.get("strategy") != CONSTANT]


def _others(rules: str, known: str) -> str:
    """Return those of some rules that are not among others."""
    return "; ".join(rule for rule in rules.split("; ") if rule not in known.split("; ")) or "nothing more"
