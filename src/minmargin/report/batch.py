"""The report of a batch: what was picked, why, and how it differs from what plain margin would have picked."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple

import numpy as np

from minmargin.errors import InputError, listing
from minmargin.execution import Progress
from minmargin.files import write_whole
from minmargin.report import figures, summary, words
from minmargin.report.chart import Chart, make_chart
from minmargin.report.pages import check_page, render
from minmargin.report.pictures import check_shape
from minmargin.report.rows import list_rows, names_to_show
from minmargin.report.spread import compare_batches
from minmargin.report.survey import Survey, survey_pool
from minmargin.scan.rereading import Origin

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
    missing, survey, chart = [], None, None
    if origin is None:
        missing.append(_NO_ORIGIN)
    elif not origin.can_be_read_again:
        missing.append(_STREAM)
    else:
        survey, chart = _survey(batch, origin, wishes, progress)
        missing += survey.missing
        if not origin.scan.models.has_base:
            missing.append(_NO_BASE)
    if survey is not None and chart is None and not survey.missing:
        missing.append("Rows have a single number each, so there is no map.")
    settings = batch.manifest.get("settings", {})
    n_picked = settings.get("batch_size", len(batch))
    if len(batch) < n_picked:
        missing.append(
            f"This page shows {len(batch):,} of the {n_picked:,} rows that were picked together: the batch was cut."
        )
    compared = None if survey is None else compare_batches(survey, batch.rows)
    pairs, shares = summary.count_pairs(batch), summary.class_shares(batch, survey)
    return render(
        "batch.html.jinja",
        n_picked=len(batch),
        manifest=batch.manifest,
        strategy=settings.get("strategy", "an unnamed strategy"),
        meaning=words.meaning(settings.get("strategy", ""), settings.get("n_models", 0)),
        numbers=list(summary.numbers_at_the_top(batch, len(pairs), compared)),
        missing=missing,
        chart=chart,
        drawings=dict(_drawings(batch, survey, chart, pairs, shares)),
        of_the_pool=None if survey is None else summary.how_much_of_the_pool(batch, survey),
        members_met=summary.members_met(batch),
        n_pairs=len(pairs),
        n_classes=len(shares["batch"]),
        n_bars=figures.N_BARS,
        compared=compared,
        spread_rows=[] if compared is None else summary.spread_rows(compared),
        table=list_rows(batch, survey, wishes.image_column, wishes.image_shape),
        facts=summary.settings_in_words(batch.manifest),
        repeat=wishes.command or (words.python_call(batch.manifest) if settings else None),
        manifest_text=json.dumps(batch.manifest, indent=2, ensure_ascii=False, default=str),
    )


def _survey(batch: Batch, origin: Origin, wishes: Wishes, progress: Progress) -> tuple[Survey, Chart | None]:
    """Return what one more reading of the pool shows, and the map."""
    if wishes.image_shape is not None:
        check_shape(wishes.image_shape, origin.some_vectors().shape[1])
    named = [name for name in wishes.columns or () if isinstance(name, str)]
    columns = list(dict.fromkeys([*named, *names_to_show(batch, origin, wishes.image_column)]))
    survey = survey_pool(batch, origin, columns=columns, progress=progress)
    return survey, make_chart(survey, origin, len(batch), wishes.columns)


def _check_columns(columns: Sequence[str | int] | None) -> None:
    kinds = {type(name) for name in columns or ()}
    if columns is None or (len(columns) == 2 and not isinstance(columns, str) and kinds in ({str}, {int})):
        return
    shown = repr(columns) if isinstance(columns, str) else listing(columns)
    raise InputError(f"columns names {shown}, and a map has two directions. Name two columns, or two places.")


def _drawings(
    batch: Batch,
    survey: Survey | None,
    chart: Chart | None,
    pairs: Sequence[tuple[tuple[str, str], int]],
    shares: Mapping[str, Mapping[str, float]],
) -> Iterator[tuple[str, Markup]]:
    """Yield each figure with its name."""
    settings = batch.manifest.get("settings", {})
    if chart is not None:
        yield "map", figures.draw_chart(chart, "this batch")
        if chart.by_margin is not None and settings["strategy"] != "margin":
            yield "margin_map", figures.draw_chart(chart, "plain margin")
    if survey is not None:
        scores = survey.sample.notes["strategy_score"]
        if survey.row_score:
            yield "scores", figures.draw_scores(scores, float(batch.scores.max()), settings["strategy"])
        else:
            yield "margins", figures.draw_margins(scores, survey.picks.notes["strategy_score"])
    if (batch.member >= 0).any():
        counts = np.bincount(batch.member[batch.member >= 0], minlength=settings.get("n_models", 0))
        yield "members", figures.draw_members(counts.tolist(), batch.member_names)
    yield "pairs", figures.draw_pairs(pairs[: figures.N_BARS])
    yield "mix", figures.draw_mix(shares)
