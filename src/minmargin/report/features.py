"""The features of rows as a report tells of them: columns by their names, words, or places of an array."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias, cast

import narwhals as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy import sparse

from minmargin.batch import to_column
from minmargin.data.rows import Frame
from minmargin.data.schema import Column
from minmargin.learners.given import GivenScorer
from minmargin.learners.text import TextScorer, Words
from minmargin.report.survey import N_COMPARED, Survey, Surveyed, evenly
from minmargin.scan.rereading import Origin

#: What a feature's values are: numbers, with NaN for a missing one; dates, as microseconds since 1970, likewise;
#: texts, with None for a missing one; or whether a row has the feature at all.
FeatureKind: TypeAlias = Literal["number", "date", "category", "presence"]

N_COLUMNS_TOLD = 200  # columns that are read for this
_N_PLACES = 4096  # of an array
_N_PRESENT = 200  # words or places of a sparse array: those of which rows have more, or fewer, than the pool
_MOST_CATEGORIES = 0.5  # of the rows: a column with more different texts is one to read, or a name
_MOST_VALUES = 20_000_000  # that are kept of all columns together


@dataclass(frozen=True)
class Feature:
    """One feature of rows of the pool, of the picks, and of labeled rows if they are known with it."""

    name: str
    kind: FeatureKind
    pool: NDArray[Any]
    picks: NDArray[Any]
    labeled: NDArray[Any] | None


class Features(NamedTuple):
    """The features, and how many more there were to choose these from."""

    told: list[Feature]
    n_passed_over: int = 0


def columns_to_tell(origin: Origin, n_picks: int) -> list[Column]:
    """Return the feature columns of the pool whose values can be told: numbers, dates and categories."""
    models, schema = origin.scan.models, origin.scan.matched.pool.schema
    known = {column.name: column for column in models.intake.columns or ()}
    columns = [known.get(name) or schema.find(name) for name in origin.scan.matched.features or ()]
    found = [column for column in columns if column is not None]
    if isinstance(models.scorer, GivenScorer):  # probabilities stand before the features
        ends = np.cumsum([column.width or 1 for column in found])
        found = [
            column
            for column, end in zip(found, ends.tolist(), strict=True)
            if end > models.scorer.width - models.scorer.n_features
        ]
    told = [
        column for column in found if column.kind in {"number", "date", "text"} and not column.is_free_text
    ]
    return told[: min(N_COLUMNS_TOLD, _MOST_VALUES // (n_picks + 2 * N_COMPARED))]


def features_of(
    survey: Survey, origin: Origin, n_picks: int, image_shape: Sequence[int] | None = None
) -> Features:
    """Return the features of a sample of the pool, of the picks evenly over the batch, and of labeled rows."""
    picks = survey.picks.take(np.searchsorted(survey.places, evenly(n_picks, N_COMPARED)))
    told = [each for each in _of_columns(survey.sample, picks, origin, n_picks) if _can_be_told(each)]
    if told:
        return Features(told)
    if survey.sample.vectors is None or picks.vectors is None:
        return Features([])
    known = origin.labeled_vectors()
    labeled = None if known is None else known[evenly(known.shape[0], N_COMPARED)]
    if isinstance(survey.sample.vectors, sparse.csr_array):
        return _of_sparse(survey.sample.vectors, cast("Any", picks.vectors), cast("Any", labeled), origin)
    return _of_arrays(survey.sample.vectors, cast("Any", picks.vectors), cast("Any", labeled), image_shape)


def _of_columns(sample: Surveyed, picks: Surveyed, origin: Origin, n_picks: int) -> list[Feature]:
    if sample.columns is None or picks.columns is None:
        return []
    rows = None if origin.labeled is None else origin.labeled.rows
    labeled = rows if isinstance(rows, nw.DataFrame) else None
    return [
        _of_column(column, sample.columns, picks.columns, labeled)
        for column in columns_to_tell(origin, n_picks)
        if column.name in sample.columns.columns
    ]


def _of_column(column: Column, sample: Frame, picks: Frame, labeled: Frame | None) -> Feature:
    known = None
    if labeled is not None and column.name in labeled.columns:
        known = labeled[column.name][evenly(len(labeled), N_COMPARED)]
    parts = [sample[column.name], picks[column.name], *([] if known is None else [known])]
    read = [as_read(column, to_column(part, whole=False)) for part in parts]
    boolean = all(pa.types.is_boolean(each.type) for each in read)
    kind: FeatureKind = "category"
    if column.kind in {"number", "date"} and not boolean:
        kind = "number" if column.kind == "number" else "date"
    pool, of_picks, *rest = [_VALUES[kind](each) for each in read]
    return Feature(column.name, kind, pool, of_picks, rest[0] if rest else None)


def as_read(column: Column, values: Any) -> pa.ChunkedArray:
    """Return the values of a column as a learner is given them."""
    chunked = values if isinstance(values, pa.ChunkedArray) else pa.chunked_array([values])
    if column.conversion is not None:
        return column.conversion(chunked, lambda place: f"Column {column.name!r}")
    return chunked.cast(chunked.type.value_type) if pa.types.is_dictionary(chunked.type) else chunked


def _numbers(values: pa.ChunkedArray) -> NDArray[np.float64]:
    return np.asarray(values.cast(pa.float64(), safe=False).to_numpy(), dtype=np.float64)


def _dates(values: pa.ChunkedArray) -> NDArray[np.float64]:
    zone = values.type.tz if pa.types.is_timestamp(values.type) else None
    return _numbers(values.cast(pa.timestamp("us", zone), safe=False).cast(pa.int64()))


def _texts(values: pa.ChunkedArray) -> NDArray[Any]:
    texts = np.empty(len(values), dtype=object)
    texts[:] = [None if value is None else str(value) for value in values.to_pylist()]
    return texts


_VALUES = {"number": _numbers, "date": _dates, "category": _texts}


def _can_be_told(feature: Feature) -> bool:
    """Return whether a feature is not a text that hardly two rows share."""
    if feature.kind != "category":
        return True
    return len(set(feature.pool)) <= max(_MOST_CATEGORIES * len(feature.pool), 2)


def _of_sparse(
    pool: sparse.csr_array, picks: sparse.csr_array, labeled: sparse.csr_array | None, origin: Origin
) -> Features:
    """Return whether rows have a word, or a number other than 0: for those of which the shares differ most."""
    sides = [pool, picks, *([] if labeled is None else [labeled])]
    shares = [np.bincount(side.indices, minlength=side.shape[1]) / side.shape[0] for side in sides]
    differ = np.max([np.abs(share - shares[0]) for share in shares[1:]], axis=0)
    chosen = np.argsort(-differ, kind="stable")[:_N_PRESENT]
    columns = [side.tocsc()[:, chosen].toarray() != 0 for side in sides]
    words = _words(origin)
    names = [f"feature {place}" if words is None else f'the word "{words[place]}"' for place in chosen]
    told = [
        Feature(name, "presence", *(column[:, k] for column in columns), *([None] if labeled is None else []))
        for k, name in enumerate(names)
    ]
    return Features(told, pool.shape[1] - len(chosen))


def _words(origin: Origin) -> Sequence[str] | None:
    """Return the word at each place of texts as the learner sees them; None where places are no words."""
    scorer = origin.scan.models.scorer
    if isinstance(scorer, TextScorer) and isinstance(scorer.expansion, Words):
        return scorer.expansion.words
    return None


def _of_arrays(
    pool: NDArray[Any],
    picks: NDArray[Any],
    labeled: NDArray[Any] | None,
    image_shape: Sequence[int] | None,
) -> Features:
    """Return the numbers at each place of rows that are arrays."""
    told = [
        Feature(
            _place_name(place, image_shape),
            "number",
            pool[:, place].astype(np.float64),
            picks[:, place].astype(np.float64),
            None if labeled is None else labeled[:, place].astype(np.float64),
        )
        for place in range(min(pool.shape[1], _N_PLACES))
    ]
    return Features(told)


def _place_name(place: int, image_shape: Sequence[int] | None) -> str:
    if image_shape is None:
        return f"feature {place}"
    pixel, color = divmod(place, 3 if len(image_shape) == 3 else 1)
    row, column = divmod(pixel, int(image_shape[1]))
    named = f" {('red', 'green', 'blue')[color]}" if len(image_shape) == 3 else ""
    return f"pixel {row}, {column}{named}"


def average_images(features: Features, image_shape: Sequence[int]) -> dict[str, NDArray[np.float64]]:
    """Return the mean of the pool, the labeled set and the batch, if all features are the pixels of an image."""
    told = features.told
    if len(told) != np.prod(image_shape) or any(each.kind != "number" for each in told):
        return {}
    averages = {"pool": np.array([each.pool.mean() for each in told])}
    if told[0].labeled is not None:
        averages["labeled"] = np.array([np.mean(cast("Any", each.labeled)) for each in told])
    return {**averages, "batch": np.array([each.picks.mean() for each in told])}
