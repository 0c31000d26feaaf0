"""Items: the rows of a batch as an annotator gets them, whatever tool shows them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from minmargin.batch import Batch
from minmargin.data.schema import missing_column
from minmargin.errors import InputError, listing
from minmargin.integrations.batch_files import OUR_COLUMNS
from minmargin.integrations.images import as_address
from minmargin.manifest import classes_of

#: What annotators are asked, where nothing else is said.
QUESTION = "Which class?"


@dataclass(frozen=True)
class Item:
    """One picked row. Every value can be written as JSON.

    Attributes:
        id: the row's value in the id column, or its number in the pool if there is none.
        rank: its place in the batch, from 1.
        text: the text to show; None if none was asked for.
        image: the image to show, as an address or a data URI; None if none was asked for.
        columns: further values to show, by column.
        predicted: the base's prediction.
        contested: the two classes that the row is torn between.
        score: its score; lower was picked first.
        member: the member on whose boundary it lies; None where no single member decided.
        reason: why it is shown, in words for annotators.
        audit: whether it was drawn by chance to measure the model by. Its annotator must not see the model's guess.
    """

    id: int | str
    rank: int
    text: str | None
    image: str | None
    columns: dict[str, Any]
    predicted: Any
    contested: tuple[Any, Any]
    score: float
    member: int | None
    reason: str
    audit: bool = False

    def as_text(self) -> str:
        """Return the text to show; without one, the columns, a line each."""
        return self.lines() if self.text is None else self.text

    def lines(self) -> str:
        """Return the columns as a text, a line each, in their order."""
        return "\n".join(f"{name}: {'' if value is None else value}" for name, value in self.columns.items())

    def facts(self, *, predictions: bool = True) -> dict[str, Any]:
        """Return what is known of the row, besides what is shown; without `predictions`, no guess."""
        return {
            "row_id": self.id,
            "rank": self.rank,
            "reason": self.reason,
            **(self.guesses() if predictions and not self.audit else {}),
            "score": self.score,
            "member": self.member,
        }

    def guesses(self) -> dict[str, Any]:
        """Return what models take the row for."""
        return {
            "predicted": self.predicted,
            "first_class": self.contested[0],
            "second_class": self.contested[1],
        }


@dataclass(frozen=True)
class Showing:
    """A batch, and what is shown of its rows: a text, an image, a table of columns, or several of these.

    Attributes:
        batch: the batch.
        text_column: the column with the text to show.
        image_column: the column with the image to show.
        columns: the columns to show as a table.
        classes: the texts that an annotator chooses from.
        ids: the rows' ids, in the batch's order; numbers in the pool if the batch has no ids.
        question: what annotators are asked.
    """

    batch: Batch
    text_column: str | None
    image_column: str | None
    columns: tuple[str, ...]
    classes: tuple[str, ...]
    ids: tuple[int | str, ...]
    question: str = QUESTION

    @classmethod
    def of(
        cls,
        batch: Batch,
        *,
        text_column: str | None = None,
        image_column: str | None = None,
        columns: Sequence[str] | None = None,
        classes: Sequence[Any] | None = None,
        question: str | None = None,
    ) -> Showing:
        """Return a batch with what is to be shown of it.

        Args:
            batch: the batch. Without ids, its rows are told apart by their number in the pool.
            text_column: the column with the text to show.
            image_column: the column with the image to show: addresses, paths of files, or bytes.
            columns: the columns to show as a table; by default all that the batch carries, if neither text nor
                image is shown.
            classes: what annotators choose from; by default the classes of the labeled set, from the manifest.
            question: what annotators are asked, as a heading of the classes.
        """
        table = batch.to_arrow()
        carried = [name for name in table.column_names if name not in OUR_COLUMNS]
        if columns is None:
            columns = carried if text_column is None and image_column is None else []
        asked = [name for name in (text_column, image_column, *columns) if name is not None]
        if not carried or not asked:
            raise InputError(
                "The batch carries no column that could be shown. Select it with keep=[...], naming what an "
                "annotator has to see."
            )
        for name in asked:
            if name not in carried:
                raise missing_column(name, carried, "the batch")
        texts = _class_texts(batch, classes)
        asks = QUESTION if question is None else str(as_json(question))
        return cls(batch, text_column, image_column, tuple(columns), texts, _ids(table), asks)

    def __len__(self) -> int:
        return len(self.batch)

    def items(self, *, predictions: bool = True) -> Iterator[Item]:
        """Return the rows one by one, in the batch's order; an image is read when its row comes.

        Without `predictions` their reasons name no class.
        """
        table = self.batch.to_arrow()
        reasons = self.reasons(predictions=predictions)
        for place, identity in enumerate(self.ids):
            record = table.slice(place, 1).to_pylist()[0]
            yield Item(
                id=identity,
                rank=record["rank"],
                text=None if self.text_column is None else _as_text(record[self.text_column]),
                image=None
                if self.image_column is None
                else as_address(record[self.image_column], f"Row {identity!r}"),
                columns=as_json({name: record[name] for name in self.columns}),
                predicted=as_json(record["predicted"]),
                contested=(as_json(record["first_class"]), as_json(record["second_class"])),
                score=record["score"],
                member=record["member"],
                reason=reasons[place],
                audit=record["audit"] if self.batch.audit is not None else False,
            )

    def reasons(self, *, predictions: bool = True) -> list[str]:
        """Return why each row is shown, in words for annotators; without `predictions`, no class is named."""
        ours = ["rank", "member", "first_class", "second_class", "predicted"]
        records = self.batch.to_arrow().select(ours).to_pylist()
        audited = [False] * len(self) if self.batch.audit is None else self.batch.audit.tolist()
        places = [
            f"Row {record['rank']:,} of {len(self):,}" + ("." if by_chance else ", the most useful first.")
            for record, by_chance in zip(records, audited, strict=True)
        ]
        if not predictions:
            return places
        at_random = self.batch.manifest.get("settings", {}).get("strategy") == "random"
        torn = not at_random and len(self.classes) > 2  # between two classes, it can only be these
        return [
            place if by_chance else f"{_guess(record, torn=torn)} {place}"
            for record, place, by_chance in zip(records, places, audited, strict=True)
        ]


def as_json(value: Any) -> Any:
    """Return a value that JSON can hold everywhere: without NaN, bytes, dates, or the character 0.

    >>> import datetime
    >>> as_json([1, float("nan"), datetime.date(2026, 1, 31), {"a": b"xyz"}])
    [1, None, '2026-01-31', {'a': '3 bytes'}]
    """
    if isinstance(value, dict):
        return {str(as_json(name)): as_json(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_json(each) for each in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, int):
        return value
    text = f"{len(value):,} bytes" if isinstance(value, bytes) else str(value)
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}")  # databases refuse it


def _as_text(value: Any) -> str:
    return "" if value is None else str(as_json(value))


def _guess(record: dict[str, Any], *, torn: bool) -> str:
    """Return the base's guess, and who is torn between which classes: where a member decided, it need not agree."""
    guess = f"The model's guess: {_quoted(record['predicted'])}."
    who = "It is" if record["member"] is None else "Some of the models are"
    contest = f"{who} torn between {_quoted(record['first_class'])} and {_quoted(record['second_class'])}."
    return f"{guess} {contest}" if torn else guess


def _quoted(name: Any) -> str:
    """Return the name of a class in quotation marks: it may end in a full stop of its own."""
    return f"\N{LEFT DOUBLE QUOTATION MARK}{name}\N{RIGHT DOUBLE QUOTATION MARK}"


def _ids(table: pa.Table) -> tuple[int | str, ...]:
    """Return the rows' ids, or say why they cannot tell the rows apart in another tool."""
    name = "id" if "id" in table.column_names else "row"
    ids = table[name].to_pylist()
    for identity in ids:
        if isinstance(identity, bool) or not isinstance(identity, (int, str)) or identity == "":
            raise InputError(
                f"The batch has the id {identity!r}. Use an id_column of texts or whole numbers, without gaps."
            )
    repeated = [identity for identity, n in Counter(ids).items() if n > 1]
    if repeated:
        raise InputError(
            f"The batch has the id {listing(repeated, most=1)} more than once. Use an id_column of unique values."
        )
    return tuple(ids)


def _class_texts(batch: Batch, classes: Sequence[Any] | None) -> tuple[str, ...]:
    """Return the classes as texts, in order; they must include every class that the batch speaks of."""
    if classes is None:
        classes = classes_of(batch.manifest)
        if not classes:
            raise InputError(
                "The batch has no manifest, so its classes are not known. Name them with classes=[...], or use a "
                "batch in Parquet, which keeps its manifest."
            )
    texts = tuple(dict.fromkeys(str(each) for each in classes))
    spoken_of = [*batch.predicted.tolist(), *batch.top_classes.ravel().tolist()]
    unknown = [text for text in dict.fromkeys(map(str, spoken_of)) if text not in texts]
    if unknown:
        raise InputError(
            f"The batch speaks of {listing(unknown)}, and the classes given are {listing(texts)}. Give them all."
        )
    return texts
