"""Batch: the rows to label next, best first, with the reasons, and the ways to write them down."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import narwhals as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from minmargin.data.rows import Frame
from minmargin.errors import InputError, MissingExtraError, listing, warn
from minmargin.files import write_whole
from minmargin.progress import Progress, silent
from minmargin.scan.rereading import Origin
from minmargin.topb import Ranked


@dataclass(frozen=True, repr=False, eq=False)
class Batch:
    """The B rows picked, best first.

    Attributes:
        rows: (B,) int64 the rows' numbers in the pool.
        ids: (B,) their values in the id column; None if there was none.
        scores: (B,) float64 their scores; lower was picked first.
        member: (B,) the member on whose boundary each row lies; -1 where no single member decided.
        top_classes: (B, 2) the two classes each row is torn between.
        predicted: (B,) the base's prediction.
        kept: the columns asked for with `keep`, as an Arrow table; None if there were none.
        manifest: settings, seed, versions, fingerprints, counts and timings.
        origin: the pool and the models it came from, for its report; None for a batch that was sent elsewhere.
    """

    rows: NDArray[np.int64]
    ids: NDArray[Any] | None
    scores: NDArray[np.float64]
    member: NDArray[np.int32]
    top_classes: NDArray[Any]
    predicted: NDArray[Any]
    kept: pa.Table | None
    manifest: Mapping[str, Any] = field(default_factory=dict)
    origin: Origin | None = None

    @classmethod
    def of(
        cls,
        picks: Ranked,
        classes: NDArray[Any],
        *,
        id_column: str | None,
        manifest: Mapping[str, Any],
        integers: Collection[str] = (),
        origin: Origin | None = None,
    ) -> Batch:
        """Return the batch of ranked rows and their details.

        `integers` names carried columns that are whole numbers in the pool: a column of a CSV file that is also a
        feature was read as floats.
        """
        details: Mapping[str, Any] = picks.details
        carried: pa.Table | None = _to_table(details["carried"], integers) if "carried" in details else None
        ids = kept = None
        if carried is not None:
            if id_column is not None:
                ids = _to_numpy(carried[id_column])
                _warn_of_duplicates(carried[id_column], id_column)
            names = [name for name in carried.column_names if name != id_column]
            kept = carried.select(names) if names else None
        return cls(
            picks.rows,
            ids,
            picks.scores,
            details["member"],
            classes[np.stack([details["first"], details["second"]], axis=1)],
            classes[details["predicted"]],
            kept,
            manifest,
            origin,
        )

    def __getstate__(self) -> dict[str, Any]:
        """Return what is sent to another process: all but the pool and the models."""
        return {**self.__dict__, "origin": None}

    def __len__(self) -> int:
        return len(self.rows)

    def to_arrow(self) -> pa.Table:
        """Return rank, row, id, score, member, first_class, second_class, predicted, then kept columns."""
        columns: dict[str, Any] = {
            "rank": pa.array(np.arange(1, len(self) + 1)),
            "row": pa.array(self.rows),
        }
        if self.ids is not None:
            columns["id"] = pa.array(self.ids)
        columns |= {
            "score": pa.array(self.scores),
            "member": pa.array(self.member, mask=self.member < 0),
            "first_class": pa.array(self.top_classes[:, 0].tolist()),
            "second_class": pa.array(self.top_classes[:, 1].tolist()),
            "predicted": pa.array(self.predicted.tolist()),
        }
        if self.kept is not None:
            for name in self.kept.column_names:
                # A kept column that is called like one of ours keeps its values under another name.
                free = name
                while free in columns or (free != name and free in self.kept.column_names):
                    free = f"pool_{free}"
                columns[free] = self.kept[name]
        return pa.table(columns)

    def to_pandas(self) -> Any:
        """Return the batch as a pandas data frame."""
        try:
            return self.to_arrow().to_pandas()
        except ImportError:
            raise MissingExtraError(
                "to_pandas needs pandas, which is not installed. Use pip install pandas."
            ) from None

    def to_parquet(self, path: str | Path) -> Path:
        """Write a Parquet file, with the manifest in its metadata under the key "minmargin"."""
        import pyarrow.parquet as pq  # noqa: PLC0415 - 50 ms that other formats need not pay

        table = self.to_arrow()
        metadata = {
            **(table.schema.metadata or {}),
            b"minmargin": json.dumps(self.manifest).encode(),
        }
        return write_whole(path, lambda file: pq.write_table(table.replace_schema_metadata(metadata), file))

    def to_feather(self, path: str | Path) -> Path:
        """Write a Feather file."""
        from pyarrow import feather  # noqa: PLC0415 - as for Parquet

        return write_whole(path, lambda file: feather.write_feather(self.to_arrow(), file))

    def to_csv(self, path: str | Path) -> Path:
        """Write a CSV file with a header line; lists become JSON, bytes base64, and texts like formulas are quoted.

        Spreadsheets run a cell that begins with = + - @, a tab or a line end. A text that does, and is no number,
        gets an apostrophe before it, so that it stays a text. The other formats keep every text as it is.
        """
        return write_csv(self.to_arrow(), path)

    def to_jsonl(self, path: str | Path) -> Path:
        """Write one JSON object a line; bytes become base64."""

        def write(file: IO[bytes]) -> None:
            for record in self.to_arrow().to_pylist():
                file.write(json.dumps(record, ensure_ascii=False, default=_as_json).encode() + b"\n")

        return write_whole(path, write)

    def write(self, path: str | Path) -> Path:
        """Write the batch in the format that the path's suffix names."""
        return writer_for(path)(self, path)

    def report(
        self,
        path: str | Path,
        *,
        columns: Sequence[str | int] | None = None,
        image_column: str | None = None,
        image_shape: Sequence[int] | None = None,
        command: str | None = None,
        progress: Progress = silent,
    ) -> Path:
        """Write a page for people, one HTML file that needs no other, and return its path.

        It shows what was picked and why, on a map of the labeled set and the pool, next to what plain margin would
        have picked. For that the pool is read once more; if it cannot be, the page says what is missing.

        Args:
            path: where the page goes, such as "report.html".
            columns: two columns to draw the map by; by default the first two principal components.
            image_column: a pool column of images, as bytes or paths, to show as thumbnails.
            image_shape: the height and width of rows that are images themselves, such as (8, 8).
            command: the command that repeats the selection; by default the call in Python.
            progress: called with a stage, the units done and their total.
        """
        from minmargin.report.batch import Wishes, write_report  # noqa: PLC0415 - few batches are reported on

        wishes = Wishes(columns, image_column, image_shape, command)
        return write_report(self, path, wishes, progress=progress)

    def __repr__(self) -> str:
        return f"<Batch: {self._sentence()}>\n{_text_table(self.to_arrow().slice(0, 5))}"

    def _repr_html_(self) -> str:
        shown = self.to_arrow().slice(0, 10)
        head = "".join(f"<th>{html.escape(name)}</th>" for name in shown.column_names)
        body = "".join(
            "<tr>"
            + "".join(f"<td>{html.escape(cell_text(value))}</td>" for value in record.values())
            + "</tr>"
            for record in shown.to_pylist()
        )
        more = f"<p>and {len(self) - 10:,} more</p>" if len(self) > 10 else ""
        return (
            f"<p><b>Batch</b>: {html.escape(self._sentence())}</p>"
            f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"
        )

    def _sentence(self) -> str:
        settings, pool = self.manifest.get("settings", {}), self.manifest.get("pool", {})
        rows = f"{pool['rows']:,}" if "rows" in pool else "the"
        return f"{len(self):,} of {rows} rows by {settings.get('strategy', 'an unnamed strategy')}"


_FORMULA_MARKS = ("=", "+", "-", "@", "\t", "\r", "\n")
_NUMBER = re.compile(r"[+-]?\d+(\.\d*)?([eE][+-]?\d+)?", re.ASCII)

_WRITERS: dict[str, Callable[[Batch, str | Path], Path]] = {
    ".parquet": Batch.to_parquet,
    ".csv": Batch.to_csv,
    ".jsonl": Batch.to_jsonl,
    ".feather": Batch.to_feather,
}


def writer_for(path: str | Path) -> Callable[[Batch, str | Path], Path]:
    """Return the Batch method that writes the format of the path's suffix."""
    writer = _WRITERS.get(Path(path).suffix.lower())
    if writer is None:
        raise InputError(
            f"{str(path)!r} ends in no format a batch can be written in. Use one of {listing(_WRITERS)}."
        )
    return writer


def write_csv(table: pa.Table, path: str | Path) -> Path:
    """Write a table as `Batch.to_csv` does, and return the path."""
    from pyarrow import csv  # noqa: PLC0415 - 50 ms that other formats need not pay

    for place, name in enumerate(table.column_names):
        if pa.types.is_nested(table.schema.field(name).type):
            values = [json.dumps(each, default=_as_json) for each in table[name].to_pylist()]
            table = table.set_column(place, name, pa.array(values))
        elif _is_bytes(table.schema.field(name).type):
            encoded = [None if each is None else _as_json(each) for each in table[name].to_pylist()]
            table = table.set_column(place, name, pa.array(encoded, pa.string()))
        elif _is_text(table.schema.field(name).type):
            texts = [None if text is None else _harmless(text) for text in table[name].to_pylist()]
            table = table.set_column(place, name, pa.array(texts, pa.string()))
    table = table.rename_columns(list(map(_harmless, table.column_names)))
    return write_whole(path, lambda file: csv.write_csv(table, file))


def _is_bytes(kind: pa.DataType) -> bool:
    """Return whether cells of an Arrow type are bytes, such as images."""
    tests = (
        pa.types.is_binary,
        pa.types.is_large_binary,
        pa.types.is_fixed_size_binary,
        pa.types.is_binary_view,
    )
    return any(test(kind) for test in tests)


def _as_json(value: Any) -> str:
    """Return a text for a value that JSON has no form for."""
    return base64.b64encode(value).decode() if isinstance(value, bytes) else str(value)


def _is_text(kind: pa.DataType) -> bool:
    """Return whether cells of an Arrow type are texts, however they are kept."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _harmless(text: str) -> str:
    """Return a text that no spreadsheet takes for a formula.

    >>> [_harmless(text) for text in ("=1+1", "@x", "-x", "-5", "+1.5e3", "a=b")]
    ["'=1+1", "'@x", "'-x", '-5', '+1.5e3', 'a=b']
    """
    return f"'{text}" if text.startswith(_FORMULA_MARKS) and _NUMBER.fullmatch(text) is None else text


def _to_table(frame: Frame, integers: Collection[str]) -> pa.Table:
    """Return an Arrow table of a frame's columns, and of nothing else (a pandas frame has an index too)."""
    return pa.table({name: to_column(frame[name], whole=name in integers) for name in frame.columns})


def to_column(values: nw.Series[Any], *, whole: bool) -> Any:
    """Return an Arrow column of a frame's; `whole` if its floats are whole numbers."""
    try:
        column = values.to_arrow()
        return column.cast(pa.int64()) if whole and pa.types.is_floating(column.type) else column
    except (pa.ArrowInvalid, pa.ArrowTypeError):  # a pandas column of Python objects of several types
        return pa.array([None if value is None else str(value) for value in values.to_list()])


def _to_numpy(column: pa.ChunkedArray) -> NDArray[Any]:
    if column.null_count:  # numpy has no missing integer: as floats, large ids would change
        return np.array(column.to_pylist(), dtype=object)
    return np.asarray(column.to_numpy())


def _warn_of_duplicates(ids: pa.ChunkedArray, name: str) -> None:
    known = ids.drop_null()
    repeated = len(known) - len(known.unique())
    if repeated:
        warn(
            f"{repeated:,} of the {len(ids):,} picked rows repeat an id of column {name!r}. "
            "Use a column whose values are unique, or rows to tell them apart."
        )


def _text_table(table: pa.Table) -> str:
    names = table.column_names
    lines = [names, *([cell_text(value) for value in record.values()] for record in table.to_pylist())]
    widths = [max(len(line[i]) for line in lines) for i in range(len(names))]
    return "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in lines
    )


def cell_text(value: object) -> str:
    """Return a value as a short text for a table."""
    if value is None:
        return ""
    text = f"{value:.4g}" if isinstance(value, float) else " ".join(str(value).split())
    return text if len(text) <= 40 else text[:39] + "…"
