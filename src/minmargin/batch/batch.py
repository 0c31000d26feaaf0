"""Batch: the rows to label next, best first, with the reasons, and the ways to write them down."""

from __future__ import annotations

import html
import operator
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, overload

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from minmargin.batch.columns import cells_of, same_table, same_values, to_numpy, to_table
from minmargin.batch.picks import Pick, is_place, out_of_range, picks_of, places_of
from minmargin.batch.writing import write_csv, write_feather, write_jsonl, write_parquet
from minmargin.errors import InputError, MissingExtraError, listing, warn
from minmargin.execution import Progress, silent
from minmargin.scan.rereading import Origin
from minmargin.tables import html_table, text_table
from minmargin.topb import Ranked


@dataclass(frozen=True, repr=False, eq=False)
class Batch:
    """The B rows picked, best first.

    `batch[:10]` is a batch of the first ten, `batch[0]` the best pick alone, and a loop gives one pick after the other.

    Two batches are equal if they have the same rows in the same order, with the same ids, scores, reasons, predictions
    and kept columns; missing values equal each other. How they were made is not compared: the manifest holds the time
    and the machine, so that the same batch picked twice is equal. Batches have no hash.

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
        audit: (B,) whether each row was drawn by chance, to measure the model by; None if none was, as outside of
            campaigns. Such rows come after the picks.
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
    audit: NDArray[np.bool_] | None = None

    #: Keeps numpy from comparing a batch with each element of an array.
    __array_ufunc__: ClassVar[None] = None

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
        carried: pa.Table | None = to_table(details["carried"], integers) if "carried" in details else None
        ids = kept = None
        if carried is not None:
            if id_column is not None:
                ids = to_numpy(carried[id_column])
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

    def __iter__(self) -> Iterator[Pick]:
        return picks_of(self)

    @overload
    def __getitem__(self, index: int | np.integer[Any]) -> Pick: ...

    @overload
    def __getitem__(self, index: slice | Sequence[int] | Sequence[bool] | NDArray[Any]) -> Batch: ...

    def __getitem__(self, index: Any) -> Pick | Batch:
        """Return one pick, or the batch of several: by a slice, a mask, or their places, in the order given.

        A batch of some picks counts its ranks anew. It keeps the manifest, which tells how all of them were picked, and
        can be written and reported on like any other.
        """
        if is_place(index):
            place = operator.index(index)
            if not -len(self) <= place < len(self):
                raise out_of_range(place, len(self))
            place %= len(self)
            return next(picks_of(self._take(np.array([place])), first_rank=place + 1))
        return self._take(places_of(index, len(self)))

    def _take(self, places: NDArray[np.intp]) -> Batch:
        return replace(
            self,
            rows=self.rows[places],
            ids=None if self.ids is None else self.ids[places],
            scores=self.scores[places],
            member=self.member[places],
            top_classes=self.top_classes[places],
            predicted=self.predicted[places],
            kept=None if self.kept is None else self.kept.take(pa.array(places, pa.int64())),
            audit=None if self.audit is None else self.audit[places],
        )

    @property
    def picks(self) -> Batch:
        """The rows that the strategy picked, without those that were drawn by chance."""
        return self if self.audit is None else replace(self[~self.audit], audit=None)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Batch):
            return NotImplemented
        names = ("rows", "ids", "scores", "member", "top_classes", "predicted", "audit")
        return all(same_values(getattr(self, name), getattr(other, name)) for name in names) and same_table(
            self.kept, other.kept
        )

    __hash__ = None  # type: ignore[assignment] # as of a list: what is compared is an array

    def to_arrow(self) -> pa.Table:
        """Return rank, row, id, score, member, first_class, second_class, audit, predicted, then kept columns.

        Where members have names, these stand beside their numbers, as member_name. `id` and `audit` are there if the
        batch has them. What comes after `predicted` is the pool's.
        """
        columns: dict[str, Any] = {
            "rank": pa.array(np.arange(1, len(self) + 1)),
            "row": pa.array(self.rows),
        }
        if self.ids is not None:
            columns["id"] = pa.array(self.ids)
        columns |= {
            "score": pa.array(self.scores),
            "member": pa.array(self.member, mask=self.member < 0),
            **self._named_members(),
            "first_class": _as_column(self.top_classes[:, 0]),
            "second_class": _as_column(self.top_classes[:, 1]),
            **({} if self.audit is None else {"audit": pa.array(self.audit)}),
            "predicted": _as_column(self.predicted),
        }
        if self.kept is not None:
            for name in self.kept.column_names:
                # A kept column that is called like one of ours keeps its values under another name.
                free = name
                while free in columns or (free != name and free in self.kept.column_names):
                    free = f"pool_{free}"
                columns[free] = self.kept[name]
        return pa.table(columns)

    @property
    def member_names(self) -> list[str] | None:
        """(K,) what the members are called; None if they have no names."""
        names: list[str] | None = self.manifest.get("settings", {}).get("member_names")
        return names

    def _named_members(self) -> dict[str, pa.Array]:
        names = self.member_names
        if names is None:
            return {}
        called = [None if member < 0 else names[member] for member in self.member.tolist()]
        return {"member_name": pa.array(called, pa.string())}

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
        return write_parquet(self.to_arrow(), path, self.manifest)

    def to_feather(self, path: str | Path) -> Path:
        """Write a Feather file."""
        return write_feather(self.to_arrow(), path)

    def to_csv(self, path: str | Path) -> Path:
        """Write a CSV file with a header line; lists become JSON, bytes base64, and texts like formulas are quoted.

        Spreadsheets run a cell that begins with = + - @, a tab or a line end. A text that does, and is no number,
        gets an apostrophe before it, so that it stays a text. The other formats keep every text as it is.
        """
        return write_csv(self.to_arrow(), path)

    def to_jsonl(self, path: str | Path) -> Path:
        """Write one JSON object a line; bytes become base64."""
        return write_jsonl(self.to_arrow(), path)

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
        have picked. For that the pool is read once more; if it cannot be, the page says what is missing. Rows that
        were drawn by chance have no reason to be shown, and are not on it.

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
        return write_report(self.picks, path, wishes, progress=progress)

    def __repr__(self) -> str:
        shown = self._first(5)
        return f"<Batch: {self._sentence()}>\n{text_table(shown.column_names, cells_of(shown))}"

    def _repr_html_(self) -> str:
        shown = self._first(10)
        more = f"<p>and {len(self) - 10:,} more</p>" if len(self) > 10 else ""
        return (
            f"<p><b>Batch</b>: {html.escape(self._sentence())}</p>"
            f"{html_table(shown.column_names, cells_of(shown, most=60))}{more}"
        )

    def _first(self, n: int) -> pa.Table:
        """Return the first n rows as they are shown: those of a pool of texts with the texts, which have no column."""
        some = self[:n]
        texts = None if self.origin is None else self.origin.texts(some.rows)
        if texts is None:
            return some.to_arrow()
        # Half of a surrogate pair is no letter to Arrow.
        legible = [None if text is None else text.encode("utf-8", "replace").decode() for text in texts]
        return some.to_arrow().append_column("text", pa.array(legible, pa.string()))

    def _sentence(self) -> str:
        settings, pool = self.manifest.get("settings", {}), self.manifest.get("pool", {})
        rows = f"{pool['rows']:,}" if "rows" in pool else "the"
        n_audit = 0 if self.audit is None else int(self.audit.sum())
        by_chance = f", and {n_audit:,} by chance" if n_audit else ""
        by = settings.get("strategy", "an unnamed strategy")
        return f"{len(self) - n_audit:,} of {rows} rows by {by}{by_chance}"


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


def _as_column(classes: NDArray[Any]) -> pa.Array:
    """Return classes as Arrow has them: whole numbers with their type, since those of a list must fit into an int64."""
    return pa.array(classes if classes.dtype.kind in "iub" else classes.tolist())


def _warn_of_duplicates(ids: pa.ChunkedArray, name: str) -> None:
    known = ids.drop_null()
    repeated = len(known) - len(known.unique())
    if repeated:
        warn(
            f"{repeated:,} of the {len(ids):,} picked rows repeat an id of column {name!r}. "
            "Use a column whose values are unique, or rows to tell them apart."
        )
