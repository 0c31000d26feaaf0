"""Results on disk: a part for each task as soon as it is done, and all parts joined in a few files.

Every Parquet file of a folder of results counts, whatever its name, so parts from several machines may be put together.
What two of them have in common counts once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from minmargin.compare.sealed import read_sealed, write_sealed
from minmargin.errors import InputError
from minmargin.files import make_folder, write_whole

_FOLDER = "parts"


@dataclass(frozen=True)
class Parts:
    """How results are kept in a folder.

    Attributes:
        what: what they are a part of, for messages.
        schema: their columns.
        key: the columns that tell one result from another, in the order in which results are sorted; the first says
            which of the joined files a result belongs to.
    """

    what: str
    schema: pa.Schema
    key: tuple[str, ...]

    def write(self, folder: Path, name: str, table: pa.Table) -> Path:
        """Write what a task gave, whole or not at all, and return the file."""
        make_folder(folder / _FOLDER)
        return write_sealed(folder / _FOLDER / f"{name}.parquet", table)

    def read(self, folder: Path) -> pa.Table:
        """Return all results in a folder, sorted, each once."""
        paths = [*sorted(folder.glob("*.parquet")), *sorted((folder / _FOLDER).glob("*.parquet"))]
        tables = [self._read(path) for path in paths] or [self.schema.empty_table()]
        table = pa.concat_tables(tables).unify_dictionaries().combine_chunks()
        order = np.lexsort([_codes(table, name) for name in reversed(self.key)])
        keys = np.column_stack([_codes(table, name)[order] for name in self.key])
        first = np.ones(len(keys), dtype=bool)
        first[1:] = (keys[1:] != keys[:-1]).any(axis=1)
        return table.take(pa.array(order[first]))

    def join(self, folder: Path) -> list[Path]:
        """Write all results of a folder as a few small files, and return the files. Parts stay as they are."""
        table = self.read(folder)
        by = self.key[0]
        paths = []
        for name in pc.unique(pc.cast(table[by], pa.string())).to_pylist():
            some = table.filter(pc.equal(pc.cast(table[by], pa.string()), name))
            paths.append(write_whole(folder / f"{name}.parquet", partial(self._write_small, some)))
        return paths

    def _write_small(self, table: pa.Table, file: IO[bytes]) -> None:
        floats = [each.name for each in self.schema if pa.types.is_floating(each.type)]
        lists = [each.name for each in self.schema if pa.types.is_list(each.type)]
        pq.write_table(
            table.replace_schema_metadata(None),
            file,
            write_page_checksum=True,
            compression="zstd",
            compression_level=19,
            use_dictionary=[name for name in self.schema.names if name not in floats + lists],
            column_encoding={
                **dict.fromkeys(floats, "BYTE_STREAM_SPLIT"),
                **{f"{name}.list.element": "DELTA_BINARY_PACKED" for name in lists},
            },
            store_schema=False,
        )

    def _read(self, path: Path) -> pa.Table:
        try:
            return read_sealed(path, self.schema).replace_schema_metadata(None)
        except ValueError as error:
            raise InputError(
                f"{str(path)!r} is no part of {self.what} ({error}). Take it out of the folder."
            ) from error


def check_rules(what: str, played: Iterable[tuple[str, str]], rules: Mapping[str, str], folder: Path) -> None:
    """Raise an error if one of the sets was played by other rules than these.

    Args:
        what: what a set is called, such as "Problem".
        played: sets that were played, each with its rules.
        rules: of those that are to be played, by name.
        folder: where the results are.
    """
    for name, by in sorted(set(played)):
        if name in rules and by != rules[name]:
            raise InputError(
                f"{what} {name!r} was played by other rules in {str(folder)!r} ({by}; now: {rules[name]}). "
                "Use another folder."
            )


def _codes(table: pa.Table, name: str) -> NDArray[np.int64]:
    """Return a column as whole numbers in the order of its values."""
    if not pa.types.is_dictionary(table.schema.field(name).type):
        return np.asarray(table[name].to_numpy(), dtype=np.int64)
    return np.unique(np.array(table[name].to_pylist(), dtype=str), return_inverse=True)[1].astype(np.int64)
