"""The report of a batch: what was picked, why, and how it differs from what plain margin would have picked."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple

import numpy as np

from minmargin.errors import InputError, listing
from minmargin.execution import Progress
from minmargin.files import write_whole
from minmargin.report import figures, summary, words
from minmargin.report.chart import Chart, make_chart
from minmargin.report.differences import Differences, Side, set_apart
from minmargin.report.directions import N_NAMED, describe_directions
from minmargin.report.features import average_images, features_of
from minmargin.report.neighbors import NearCopies, find_near_copies
from minmargin.report.pages import check_page, render
from minmargin.report.pictures import check_shape
from minmargin.report.readings import table_as_read
from minmargin.report.rows import list_rows, names_to_show
from minmargin.report.spread import Compared, compare_batches
from minmargin.report.survey import Survey, survey_pool
from minmargin.scan.rereading import Origin
from minmargin.strategies import entry_of

if TYPE_CHECKING:
    from markupsafe import Markup

    from minmargin.batch import Batch

_STREAM = (
    "The pool was a stream of chunks, which can be read only once. So this page has no map, no scores of the rest of "
    "the pool, and no comparison with plain margin."
)
_NO_ORIGIN = (
    "This batch was made elsewhere, and its pool and models did not come along. So this page has no map, no scores of "
    "the rest of the pool, and no comparison with plain margin."
)
_NO_BASE = "The committee has no base. Where this page speaks of the base or plain margin, it means the members' mean."


class Wishes(NamedTuple):
    """What the caller of `Batch.report` asked for; it explains them."""

    columns: Sequence[str | int] | None = None
    image_column: str | None = None
    image_shape: Sequence[int] | None = None
    command: str | None = None
    spell: Callable[[str], str] = (
        str  # of sentences on the table: as the command line has them, where it writes
    )


class Findings(NamedTuple):
    """What one more reading of the pool tells of a batch.

    Attributes:
        survey: the rows that were read.
        chart: the map; None where there can be none.
        compared: the batch next to plain margin's.
        near_copies: picks that are nearly the same; None where distances cannot be measured.
        apart: what sets the picks and the labeled set apart from the pool; None where no features are known.
        averages: mean images of the pool, the labeled set and the batch, where rows are images.
    """

    survey: Survey
    chart: Chart | None
    compared: Compared
    near_copies: NearCopies | None
    apart: Mapping[Side, Differences | None]
    averages: Mapping[str, np.ndarray[tuple[int], np.dtype[np.float64]]]


def write_report(batch: Batch, path: str | Path, wishes: Wishes, *, progress: Progress) -> Path:
    """Write the report of a batch, whole or not at all, and return its path."""
    check_page(path)
    page = make_report(batch, wishes, progress=progress)

    def write(file: IO[bytes]) -> None:
        # A class may be called by half of a surrogate pair, which no file can hold.
        file.write(page.encode("utf-8", "replace"))

    return write_whole(path, write)


def make_report(batch: Batch, wishes: Wishes, *, progress: Progress) -> str:
    """Return the report of a batch as HTML."""
    _check_columns(wishes.columns)
    if not len(batch):
        raise InputError("The batch has no picks, so there is nothing to report on.")
    origin = batch.origin
    found = None
    if origin is not None and origin.can_be_read_again:
        found = _find(batch, origin, wishes, progress)
    survey, compared = (None, None) if found is None else (found.survey, found.compared)
    near_copies = None if found is None else found.near_copies
    settings = batch.manifest.get("settings", {})
    pairs, shares = summary.count_pairs(batch), summary.class_shares(batch, survey)
    return render(
        "batch.html.jinja",
        n_picked=len(batch),
        manifest=batch.manifest,
        strategy=settings.get("strategy", "an unnamed strategy"),
        meaning=words.meaning(settings.get("strategy", ""), settings.get("n_models", 0)),
        numbers=list(summary.numbers_at_the_top(batch, len(pairs), compared, near_copies)),
        missing=list(_what_is_missing(batch, found)),
        chart=None if found is None else found.chart,
        drawings=dict(_drawings(batch, found, wishes, pairs, shares)),
        apart={"picks": None, "labeled": None} if found is None else found.apart,
        of_the_pool=None if survey is None else summary.how_much_of_the_pool(batch, survey),
        members_met=summary.members_met(batch),
        pairs=pairs,
        n_classes=len(shares["batch"]),
        n_bars=figures.N_BARS,
        compared=compared,
        spread_rows=[] if compared is None else summary.spread_rows(compared),
        copies=None if near_copies is None else summary.copies_in_words(near_copies),
        copy_rows=[] if near_copies is None else summary.copy_rows(batch, near_copies),
        n_copy_pairs=0 if near_copies is None else len(near_copies.pairs),
        table=list_rows(batch, survey, wishes.image_column, wishes.image_shape, near_copies=near_copies),
        as_read=table_as_read(batch.manifest, wishes.spell),
        facts=summary.settings_in_words(batch.manifest),
        repeat=wishes.command or (words.python_call(batch.manifest) if settings else None),
        manifest_text=json.dumps(batch.manifest, indent=2, ensure_ascii=False, default=str),
    )


def _find(batch: Batch, origin: Origin, wishes: Wishes, progress: Progress) -> Findings:
    """Return what one more reading of the pool tells."""
    if wishes.image_shape is not None:
        check_shape(wishes.image_shape, origin.some_vectors().shape[1])
    named = [name for name in wishes.columns or () if isinstance(name, str)]
    columns = list(dict.fromkeys([*named, *names_to_show(batch, origin, wishes.image_column)]))
    survey = survey_pool(batch, origin, columns=columns, progress=progress)
    entry = entry_of(batch.manifest["settings"]["strategy"])
    linked = entry is not None and entry.apart
    chart = make_chart(survey, origin, len(batch), wishes.columns, linked=linked)
    features = features_of(survey, origin, len(batch), wishes.image_shape)
    if chart is not None and not chart.measured and features.told:
        # The pixels around the first tell the same again.
        n_named = N_NAMED if wishes.image_shape is None else 1
        meaning = describe_directions(chart.sample, features.told, n_named=n_named)
        chart = chart._replace(how=f"{chart.how} {meaning}")
    compared = compare_batches(survey, batch.rows)
    usual = compared.spreads.get("random rows")
    return Findings(
        survey,
        chart,
        compared,
        None if usual is None else find_near_copies(survey, usual.to_nearest),
        {"picks": set_apart(features, "picks"), "labeled": set_apart(features, "labeled")},
        {} if wishes.image_shape is None else average_images(features, wishes.image_shape),
    )


def _check_columns(columns: Sequence[str | int] | None) -> None:
    kinds = {type(name) for name in columns or ()}
    if columns is None or (len(columns) == 2 and not isinstance(columns, str) and kinds in ({str}, {int})):
        return
    shown = repr(columns) if isinstance(columns, str) else listing(columns)
    raise InputError(f"columns names {shown}, and a map has two directions. Name two columns, or two places.")


def _what_is_missing(batch: Batch, found: Findings | None) -> Iterator[str]:
    """Yield what the page leaves out, and why, in sentences."""
    if batch.origin is None:
        yield _NO_ORIGIN
    elif found is None:
        yield _STREAM
    else:
        yield from found.survey.missing
        if not batch.origin.scan.models.has_base:
            yield _NO_BASE
        if found.chart is None and not found.survey.missing:
            yield "Rows have a single number each, so there is no map."
    n_picked = batch.manifest.get("settings", {}).get("batch_size", len(batch))
    if len(batch) < n_picked:
        yield f"This page shows {len(batch):,} of the {n_picked:,} rows that were picked together: the batch was cut."


def _drawings(
    batch: Batch,
    found: Findings | None,
    wishes: Wishes,
    pairs: Sequence[tuple[tuple[str, str], int]],
    shares: Mapping[str, Mapping[str, float]],
) -> Iterator[tuple[str, Markup]]:
    """Yield each figure with its name. One bar alone is no figure."""
    settings = batch.manifest.get("settings", {})
    if found is not None:
        yield from _drawings_of_the_pool(batch, found, wishes)
    if (batch.member >= 0).any():
        counts = np.bincount(batch.member[batch.member >= 0], minlength=settings.get("n_models", 0))
        if len(counts) > 1:
            yield "members", figures.draw_members(counts.tolist(), batch.member_names)
    if len(pairs) > 1:
        yield "pairs", figures.draw_pairs(pairs[: figures.N_BARS])
    yield "mix", figures.draw_mix(shares)


def _drawings_of_the_pool(batch: Batch, found: Findings, wishes: Wishes) -> Iterator[tuple[str, Markup]]:
    strategy = batch.manifest["settings"]["strategy"]
    if found.chart is not None:
        yield "map", figures.draw_chart(found.chart, "this batch")
        if found.chart.by_margin is not None and strategy != "margin":
            yield "margin_map", figures.draw_chart(found.chart, "plain margin")
    if found.averages and wishes.image_shape is not None:
        yield "averages", figures.draw_averages(found.averages, wishes.image_shape)
    for side, differences in found.apart.items():
        if differences is not None and differences.found:
            yield f"{side}_apart", figures.draw_differences(differences.found, side)
    scores = found.survey.sample.notes["strategy_score"]
    if found.survey.row_score:
        yield "scores", figures.draw_scores(scores, float(batch.scores.max()), strategy)
    else:
        yield "margins", figures.draw_margins(scores, found.survey.picks.notes["strategy_score"])
