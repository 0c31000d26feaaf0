"""A survey of the pool: all that a report shows besides the batch itself, from one more reading."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from minmargin.data.rows import Frame, Matrix, take_rows
from minmargin.errors import InputError, MinMarginError
from minmargin.execution import Progress
from minmargin.hashes import hash_rows
from minmargin.margins import ScoreName
from minmargin.scan.rereading import Origin
from minmargin.strategies import Needs, Reasons, RowScore, Shortlist, resolve_strategy
from minmargin.strategies.base import Contest
from minmargin.strategies.candidates import Candidates
from minmargin.strategies.registry import by_base
from minmargin.topb import Ranked

if TYPE_CHECKING:
    from minmargin.batch import Batch

N_SAMPLED = 2000  # rows of the pool
N_LISTED = 1000  # picks in the table
N_COMPARED = 2000  # picks whose distances are measured, and that are drawn
_MOST_BYTES = 1_000_000_000  # of rows as numbers

_Vectors: TypeAlias = Callable[[int, float], None] | None  # a shortlist's check of memory

_SAMPLE_KEY = np.uint64(0x6D696E6D617267)  # whatever the seed of a run: one pool, one sample


@dataclass(frozen=True)
class Surveyed:
    """Some rows of the pool.

    Attributes:
        rows: (n,) their numbers.
        notes: arrays (n,) by name.
        vectors: (n, D) the rows as the learner's last step sees them; None if they were not kept.
        columns: the values of the columns that were asked for; None if there were none.
    """

    rows: NDArray[np.int64]
    notes: Mapping[str, NDArray[Any]]
    vectors: Matrix | None
    columns: Frame | None

    @classmethod
    def of(cls, kept: Ranked) -> Surveyed:
        """Return what a shortlist has kept."""
        details: dict[str, Any] = dict(kept.details)
        return cls(kept.rows, details, details.pop("vector", None), details.pop("carried", None))

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, places: NDArray[np.intp]) -> Surveyed:
        """Return some of the rows."""
        notes = {name: values[places] for name, values in self.notes.items()}
        vectors = None if self.vectors is None else cast("Matrix", take_rows(self.vectors, places))
        columns = None if self.columns is None else cast("Frame", take_rows(self.columns, places))
        return Surveyed(self.rows[places], notes, vectors, columns)


@dataclass(frozen=True)
class Survey:
    """What the survey found.

    Attributes:
        sample: rows of the pool drawn at random, in random order.
        picks: the picks at `places` of the batch.
        places: (n,) the first picks, and more of them evenly over the batch.
        by_margin: plain margin's batch of the same size.
        shown: the columns that were asked for.
        row_score: whether "strategy_score" in the notes is what rows were picked by, and not the base's margin.
        missing: what could not be had, and why, in sentences.
    """

    sample: Surveyed
    picks: Surveyed
    places: NDArray[np.intp]
    by_margin: Surveyed
    shown: tuple[str, ...]
    row_score: bool
    missing: tuple[str, ...]


def survey_pool(batch: Batch, origin: Origin, *, columns: Sequence[str], progress: Progress) -> Survey:
    """Return what one more reading of the pool shows, with the values of some of its columns."""
    margin = cast("RowScore", resolve_strategy("margin"))
    row_score = isinstance(origin.strategy, RowScore)
    by = cast("RowScore", origin.strategy) if row_score else margin
    # In whatever way a strategy finishes, rows were shortlisted first, and that is what reasons speak of.
    reasons = by if row_score else origin.strategy.shortlists(len(batch))[0].by
    distinct = bool(batch.manifest["settings"].get("distinct", False))  # plain margin is asked for the same
    places = np.union1d(evenly(len(batch), N_COMPARED), np.arange(min(len(batch), N_LISTED)))
    few, all_of_margin, missing = _which_vectors(origin, N_SAMPLED + len(places), len(batch))
    sample, picks, by_margin = origin.shortlist(
        [
            Shortlist(_Sampled(), N_SAMPLED, few, _Notes(by)),
            Shortlist(_Listed(np.sort(batch.rows[places])), len(places), few, _Notes(by, reasons)),
            Shortlist(margin, len(batch), all_of_margin, _Notes(margin), distinct=distinct),
        ],
        columns=columns,
        progress=progress,
    )
    found, sampled, of_margin = Surveyed.of(picks), Surveyed.of(sample), Surveyed.of(by_margin)
    if few is not None and not _finite(origin.some_vectors(), found, sampled, of_margin):
        found, sampled, of_margin = (replace(each, vectors=None) for each in (found, sampled, of_margin))
        missing = ("Some rows have missing values, so there is no map, and no distances.",)
    return Survey(
        sampled,
        found.take(_order_of(found, batch.rows[places], batch.scores[places] if row_score else None)),
        places,
        of_margin,
        tuple(columns),
        row_score,
        missing,
    )


def _order_of(
    found: Surveyed, rows: NDArray[np.int64], scores: NDArray[np.float64] | None
) -> NDArray[np.intp]:
    """Return where rows stand among those found, which must be the same, with the same scores if there are some."""
    order = np.argsort(found.rows)
    in_order = np.argsort(rows)
    same = np.array_equal(found.rows[order], rows[in_order])
    if not same or (
        scores is not None
        and not np.allclose(found.notes["strategy_score"][order], scores[in_order], atol=1e-6)
    ):
        raise InputError(
            "The pool is not as it was when the batch was picked: its rows have other scores now. "
            "Select again, and report before the pool changes."
        )
    where = np.empty_like(order)
    where[in_order] = order
    return where


def evenly(n: int, most: int) -> NDArray[np.intp]:
    """Return at most `most` places, evenly over n.

    >>> evenly(3, 5).tolist(), evenly(9, 3).tolist()
    ([0, 1, 2], [0, 4, 8])
    """
    return np.arange(n) if n <= most else np.linspace(0, n - 1, most).round().astype(np.intp)


@dataclass(frozen=True)
class _Sampled:
    """Chance."""

    needs: ClassVar[Needs] = "nothing"
    screen: ClassVar[ScoreName | None] = None
    contest: ClassVar[Contest] = "model"

    def score(self, candidates: Candidates) -> NDArray[np.float64]:
        return np.asarray((hash_rows(_SAMPLE_KEY, candidates.rows) >> np.uint64(11)) * 2.0**-53)

    def explain(self, candidates: Candidates) -> Reasons:
        return by_base(candidates)


@dataclass(frozen=True)
class _Listed:
    """0 for some rows, which are sorted, and 1 for all others."""

    rows: NDArray[np.int64]

    needs: ClassVar[Needs] = "nothing"
    screen: ClassVar[ScoreName | None] = None
    contest: ClassVar[Contest] = "model"

    def score(self, candidates: Candidates) -> NDArray[np.float64]:
        places = np.searchsorted(candidates.rows, self.rows)  # candidates come in the order of the pool
        near = places < len(candidates)
        found = places[near][candidates.rows[places[near]] == self.rows[near]]
        scores = np.ones(len(candidates))
        scores[found] = 0.0
        return scores

    def explain(self, candidates: Candidates) -> Reasons:
        return by_base(candidates)


@dataclass(frozen=True)
class _Notes:
    """What is kept of a row: its score, where it lies if it has two numbers, and if it is one, its text.

    With `reasons`, also what these say: the scores of the two classes that it is torn between.
    """

    by: RowScore
    reasons: RowScore | None = None

    def __call__(self, candidates: Candidates) -> dict[str, NDArray[Any]]:
        notes: dict[str, NDArray[Any]] = {"strategy_score": self.by.score(candidates)}
        X = candidates.X
        if isinstance(X, np.ndarray) and X.ndim == 2 and X.shape[1] == 2 and X.dtype.kind in "fiub":
            notes |= {"x": X[:, 0], "y": X[:, 1]}
        if isinstance(X, np.ndarray) and X.ndim == 1:
            notes["text"] = X
        if self.reasons is not None:
            notes |= self._contest(self.reasons, candidates)
        return notes

    @staticmethod
    def _contest(by: RowScore, candidates: Candidates) -> dict[str, NDArray[Any]]:
        member, first, second = by.explain(candidates)
        if by.contest == "mean":
            scores = candidates.mean_scores
        elif by.contest == "votes":
            scores = candidates.votes
        elif by.needs == "members" and (member >= 0).all():
            members = candidates.member_margins
            closest = np.array_equal(member, members.margins.argmin(axis=0))
            each = np.arange(len(candidates))
            scores = members.contested if closest else candidates.member_scores[member, each]
        else:
            scores = candidates.base_scores
        first_score, second_score = (
            np.take_along_axis(scores, codes[:, np.newaxis], axis=1)[:, 0] for codes in (first, second)
        )
        return {"first_score": first_score, "second_score": second_score}


def _which_vectors(origin: Origin, n_few: int, n_margin: int) -> tuple[_Vectors, _Vectors, tuple[str, ...]]:
    """Return whether rows are kept as numbers, first few of them, then all of plain margin's; and why not, if not."""
    try:
        vectors = origin.some_vectors()
    except MinMarginError:
        return (
            None,
            None,
            ("Rows are not numbers, or were given without features, so there is no map, and no distances.",),
        )
    size = sum(part.nbytes for part in _numbers(vectors)) / max(vectors.shape[0], 1)
    if n_few * size > _MOST_BYTES:
        return (
            None,
            None,
            (f"Rows have {vectors.shape[1]:,} numbers each: too many for a map, and for distances.",),
        )
    if (n_few + n_margin) * size > _MOST_BYTES:
        return (
            _any_size,
            None,
            ("Plain margin's batch is too large to measure distances in it, and to draw it.",),
        )
    return _any_size, _any_size, ()


def _finite(labeled: Matrix, *seen: Surveyed) -> bool:
    """Return whether all rows are without missing and infinite values."""
    vectors = [labeled, *(each.vectors for each in seen if each.vectors is not None)]
    return all(bool(np.isfinite(_numbers(each)[0]).all()) for each in vectors)


def _numbers(vectors: Matrix) -> tuple[NDArray[Any], ...]:
    """Return the arrays that rows are kept in, their values first."""
    return (vectors.data, vectors.indices) if isinstance(vectors, sparse.csr_array) else (vectors,)


def _any_size(n_rows: int, bytes_of_a_row: float) -> None:
    """Allow these rows to be kept as numbers: how many they are was looked at before."""
