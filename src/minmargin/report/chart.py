"""A map of labeled set, pool and batch: where rows lie in two dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from minmargin.data.rows import Frame, Matrix, concat_rows
from minmargin.errors import InputError
from minmargin.report.neighbors import nearest_of
from minmargin.report.survey import N_COMPARED, Survey, Surveyed, evenly
from minmargin.scan.rereading import Origin

Points = NDArray[np.float64]

_GRID = 160  # points a side, on which the members are asked for their opinion


class Chart(NamedTuple):
    """Points (n, 2) of each kind of row.

    Attributes:
        axes: what the two directions are.
        how: how they were found, as a sentence.
        sample: of the pool.
        labeled: of the labeled set; None where there is none, or its rows do not have the columns.
        picks: of the batch.
        by_margin: of plain margin's batch; None where they were not kept.
        measured: whether the directions have a scale that means something.
        boundaries: where models change their mind; None where rows have more than two numbers.
        links: (n, 2, 2) from each pick to the pick that is nearest to it by all features; None where not asked for.
    """

    axes: tuple[str, str]
    how: str
    sample: Points
    labeled: Points | None
    picks: Points
    by_margin: Points | None
    measured: bool = True
    boundaries: Boundaries | None = None
    links: NDArray[np.float64] | None = None


class Boundaries(NamedTuple):
    """By how much each class leads over a grid of points x and y: (C, n, n) for each model."""

    x: NDArray[np.float64]
    y: NDArray[np.float64]
    members: list[NDArray[np.float64]]
    base: list[NDArray[np.float64]]


def make_chart(
    survey: Survey,
    origin: Origin,
    n_picks: int,
    columns: Sequence[str | int] | None,
    *,
    linked: bool = False,
) -> Chart | None:
    """Return where rows lie, with links between neighbors if asked for; None if they are not numbers, or only one."""
    picks = survey.picks.take(np.searchsorted(survey.places, evenly(n_picks, N_COMPARED)))
    by_margin = survey.by_margin.take(evenly(len(survey.by_margin), N_COMPARED))
    names = [name for name in columns or () if isinstance(name, str)]
    if names:
        known = np.isfinite(_values(picks.columns, names, "the pool")).all(axis=1)
        n_unknown, picks = int((~known).sum()), picks.take(np.flatnonzero(known))
        chart: Chart | None = _by_columns((survey.sample, picks, by_margin), origin, names, n_unknown)
    else:
        chart = _by_numbers((survey.sample, picks, by_margin), origin, columns)
    if chart is None or not linked or picks.vectors is None or len(picks) < 2:
        return chart
    nearest = nearest_of(picks.vectors).places
    return chart._replace(links=np.stack([chart.picks, chart.picks[nearest]], axis=1))


def _by_numbers(
    seen: Sequence[Surveyed], origin: Origin, columns: Sequence[str | int] | None
) -> Chart | None:
    """Return a chart of rows as the learner sees them: of two places, of all there are, or of principal components."""
    vectors = seen[0].vectors
    if vectors is None:
        return None
    labeled = origin.labeled_vectors()
    if columns is not None:
        return _by_places(seen, labeled, [int(place) for place in columns])
    plane = _plane(seen, origin)
    if plane is not None or vectors.shape[1] < 2:
        return plane
    return _by_components(seen, labeled)


def _by_columns(seen: Sequence[Surveyed], origin: Origin, names: list[str], n_unknown: int) -> Chart:
    """Return a chart of two columns of the pool, without the `n_unknown` picks that lack a value there."""
    sample, picks, by_margin = (_values(each.columns, names, "the pool") for each in seen)
    rows = None if origin.labeled is None else origin.labeled.rows
    labeled = None
    how = f"Columns {names[0]} and {names[1]} of the pool."
    if isinstance(rows, nw.DataFrame) and set(names) <= set(rows.columns):
        labeled = _known(_values(rows, names, "the labeled set"))
    elif origin.labeled_vectors() is not None:
        how += " The labeled set is not shown: its rows do not have these columns."
    if n_unknown:
        how += f" {n_unknown:,} picks are not shown: they lack a value there."
    drawn = None if labeled is None else _thinned(labeled)
    return Chart((names[0], names[1]), how, _known(sample), drawn, picks, _known(by_margin))


def _known(points: Points) -> Points:
    return points[np.isfinite(points).all(axis=1)]


def _values(frame: Frame | None, names: list[str], what: str) -> Points:
    assert frame is not None
    for name in names:
        if not frame[name].dtype.is_numeric():
            raise InputError(
                f"Column {name!r} of {what} is {frame[name].dtype}, and a map needs numbers. Name two columns of "
                "numbers with columns=(..., ...)."
            )
    return np.stack([frame[name].cast(nw.Float64).to_numpy() for name in names], axis=1)


def _by_places(seen: Sequence[Surveyed], labeled: Matrix | None, places: list[int]) -> Chart:
    """Return a chart of two features, by their places."""
    width = cast("Matrix", seen[0].vectors).shape[1]
    for place in places:
        if not -width <= place < width:
            raise InputError(f"columns names feature {place}, and rows have {width}. Use 0 to {width - 1}.")
    sample, picks, by_margin = (
        None if each.vectors is None else _dense(each.vectors[:, places]) for each in seen
    )
    assert sample is not None
    assert picks is not None
    names = (f"feature {places[0]}", f"feature {places[1]}")
    how = f"Features {places[0]} and {places[1]}, as the learner sees them."
    known = None if labeled is None else _thinned(_dense(labeled[:, places]))
    return Chart(names, how, sample, known, picks, by_margin)


def _by_components(seen: Sequence[Surveyed], labeled: Matrix | None) -> Chart:
    """Return a chart of the first two principal components of everything that is drawn."""
    from sklearn.decomposition import PCA  # noqa: PLC0415 - slow to import

    known = None if labeled is None else labeled[evenly(labeled.shape[0], N_COMPARED)]
    sample, picks, by_margin = (cast("Matrix", each.vectors) for each in seen)
    # Plain margin's rows are drawn on the same map, but do not turn it.
    turning: Any = concat_rows([sample, picks] if known is None else [sample, known, picks])
    few = min(turning.shape) <= 2  # of which no sparse PCA finds two components

    def floats(rows: Any) -> Any:
        return _dense(rows) if few else rows.astype(np.float64)

    with np.errstate(invalid="ignore"):  # rows that are all the same have no variance to show
        pca = PCA(2, random_state=0).fit(floats(turning))

    def placed(rows: Any) -> Points:
        return np.asarray(pca.transform(floats(rows)))

    shown = float(np.nan_to_num(pca.explained_variance_ratio_.sum(), nan=1.0))
    return Chart(
        ("first component", "second component"),
        f"The first two principal components, which show {shown:.0%} of the variance.",
        placed(sample),
        None if known is None else placed(known),
        placed(picks),
        None if seen[2].vectors is None else placed(by_margin),
        measured=False,
    )


def _plane(seen: Sequence[Surveyed], origin: Origin) -> Chart | None:
    """Return a chart of rows that are two numbers each, with the boundaries; None if they are not."""
    if any("x" not in each.notes for each in seen) or origin.labeled is None:
        return None
    sample, picks, by_margin = (
        np.stack([each.notes["x"], each.notes["y"]], axis=1).astype(np.float64) for each in seen
    )
    models, rows = origin.scan.models, origin.labeled
    X: Any = models.intake.convert(rows.rows, rows.names, first_row=0, what="labeled").X
    if models.preprocessor is not None:
        X = models.preprocessor.transform(X)
    labeled = _thinned(_dense(X))
    names = (
        rows.names if rows.names is not None and len(rows.names) == 2 else ("first feature", "second feature")
    )
    how = "The two features" + (", as preprocessed." if models.preprocessor is not None else ".")
    everything = np.concatenate([sample, labeled, picks])
    boundaries = _boundaries(models.scorer, everything, X.dtype)
    return Chart((names[0], names[1]), how, sample, labeled, picks, by_margin, boundaries=boundaries)


def _boundaries(scorer: Any, points: Points, dtype: Any) -> Boundaries:
    low, high = points.min(axis=0), points.max(axis=0)
    edge = 0.04 * np.where(high > low, high - low, 1.0)
    x, y = (np.linspace(low[axis] - edge[axis], high[axis] + edge[axis], _GRID) for axis in (0, 1))
    grid = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2).astype(dtype)
    of_members = scorer.each_member(grid, device="cpu") if scorer.n_members else ()
    base, *members = (
        _leads(scores).T.reshape(-1, _GRID, _GRID)
        for scores in (scorer.base_scores(grid, device="cpu"), *of_members)
    )
    return Boundaries(x, y, members or [base], [base])


def _leads(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return (n, C) by how much each class is ahead of the best of the others; (n, 1) for two classes."""
    if scores.shape[1] == 2:
        return scores[:, 1:] - scores[:, :1]
    highest = np.sort(scores, axis=1)
    is_first = scores == highest[:, -1:]
    return np.asarray(scores - np.where(is_first, highest[:, -2:-1], highest[:, -1:]))


def _dense(rows: Any) -> Points:
    return np.asarray(rows.toarray() if isinstance(rows, sparse.csr_array) else rows, dtype=np.float64)


def _thinned(points: Points) -> Points:
    return points[evenly(len(points), N_COMPARED)]
