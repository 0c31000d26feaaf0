"""Candidates on the half circle (section 3 of the paper): which ones a batch takes, exactly, without making them all.

**The circle.** A boundary through the origin is a line, and a candidate at angle t has the margin |sin(t - a)| to the
line at angle a. Lines have no direction, so a and a + pi are one boundary: the half circle from -pi/2 to pi/2 with
its ends joined is a circle of length pi, and the margin grows with the distance *along that circle*. (It does not
grow with |t - a| itself, which can pass pi/2.) A row's score is thus its distance to the nearest boundary, and a
batch is what lies within some radius of a boundary: the *cover* of that radius.

**Drawing without a pool.** Let N candidates be independent and uniform on the circle, and L(r) the length of the
cover of radius r. A score s has the distribution function L(s) / pi, which is continuous and rises until it is 1, so
L(s) / pi is uniform in [0, 1]. Its (B+1)-th smallest of N, the first that is *not* picked, is therefore
Beta(B+1, N-B). Given that one score, at radius R, the B candidates below it are again independent, each like a
candidate that is known to score below R: uniform on the cover of R. So three draws replace the pool:

1. the covered share, Beta(B+1, N-B), which gives the radius;
2. how many of the B lie above the true boundary: binomial, by the lengths of the cover's two sides;
3. on each side, how far in the innermost of n uniform points lies: a share 1 - U^(1/n) of that side's length.

The result has the same distribution as sorting all N candidates, up to the rounding of float64 angles. It costs a
sort of the boundaries. `stream_batches` does make all candidates, as a check.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import special

from minmargin.errors import InputError
from minmargin.properties import cached_property

Angles: TypeAlias = NDArray[np.float64]

RIGHT_ANGLE = np.pi / 2


class Labeled(NamedTuple):
    """The labeled set: (m,) how far each class's rows lie from the true boundary at angle 0, in increasing order."""

    upper: Angles
    lower: Angles

    @classmethod
    def draw(cls, rng: np.random.Generator, m: int) -> Labeled:
        """Return m rows of each class, uniform on its quarter of the circle."""
        return cls(*np.sort(rng.uniform(0, RIGHT_ANGLE, (2, m)), axis=1))

    @property
    def base(self) -> Angles:
        """The boundary that is trained on all rows: midway between the innermost two."""
        return (self.upper[:1] - self.lower[:1]) / 2

    @property
    def every_member(self) -> Angles:
        """(m * m,) the boundaries of all stratified bootstrap draws, in increasing order.

        Drawing one row i of the upper class and one row j of the lower over and over is a bootstrap draw of any size,
        so every pair (i, j) is the innermost pair of some draw.
        """
        return np.sort(np.subtract.outer(self.upper, self.lower), axis=None) / 2

    def some_members(self, rng: np.random.Generator, n_models: int) -> Angles:
        """(n_models,) the boundaries of stratified bootstrap draws of the set's own size (beta = 1), in order."""
        m = len(self.upper)
        innermost = rng.integers(0, m, (2, n_models, m)).min(axis=2)
        return np.sort(self.upper[innermost[0]] - self.lower[innermost[1]]) / 2

    def with_batch(self, nearest: Nearest) -> float:
        """Return the boundary that is trained on the labeled set and a batch."""
        upper = min(float(self.upper[0]), nearest.upper)
        lower = min(float(self.lower[0]), nearest.lower)
        return (upper - lower) / 2


class Nearest(NamedTuple):
    """How far a batch's innermost candidate on each side lies from the true boundary; infinity if there is none."""

    upper: float
    lower: float

    @property
    def angle(self) -> float:
        """The distance of the one nearest candidate."""
        return min(self)


class Side(NamedTuple):
    """The pieces of a cover on one side of the true boundary, as distances from it, innermost first."""

    starts: Angles
    ends: Angles

    @property
    def length(self) -> float:
        """The length of all pieces."""
        return float((self.ends - self.starts).sum())

    def length_within(self, distance: float) -> float:
        """Return the length that lies no farther from the true boundary than `distance`."""
        return float((np.clip(self.ends, None, distance) - np.clip(self.starts, None, distance)).sum())

    def draw_innermost(self, rng: np.random.Generator, n: int) -> float:
        """Return the smallest of n independent distances that are uniform on the pieces."""
        if n == 0:
            return np.inf
        passed = np.cumsum(self.ends - self.starts)
        length = passed[-1] * -np.expm1(-rng.standard_exponential() / n)
        piece = min(int(np.searchsorted(passed, length)), len(passed) - 1)
        return float(self.ends[piece] - (passed[piece] - length))


@dataclass(frozen=True)
class Cover:
    """All angles within `radius` of a boundary.

    Attributes:
        boundaries: (M,) in increasing order, between -pi/4 and pi/4.
        radius: the distance along the circle.
    """

    boundaries: Angles
    radius: float

    @cached_property
    def reach(self) -> Angles:
        """(M,) how far the cover goes on from each boundary, before it meets what the next one covers."""
        return np.minimum(self.radius, _gaps(self.boundaries) / 2)

    @cached_property
    def sides(self) -> tuple[Side, Side]:
        """The cover above and below the true boundary."""
        starts, ends = self.boundaries - np.roll(self.reach, 1), self.boundaries + self.reach
        return _upper_side(starts, ends), _upper_side(-ends[::-1], -starts[::-1])

    @cached_property
    def length(self) -> float:
        """How much of the circle is covered, out of pi."""
        return sum(side.length for side in self.sides)

    @property
    def mean_square(self) -> float:
        """The mean squared angle of a candidate that is uniform on the cover."""
        cubes = sum(float((side.ends**3 - side.starts**3).sum()) for side in self.sides)
        return cubes / 3 / self.length

    def share_of(self, boundary: int) -> float:
        """Return how much of the cover is nearest to one boundary."""
        return float(self.reach[boundary - 1] + self.reach[boundary]) / self.length

    def draw_nearest(self, rng: np.random.Generator, batch_size: int) -> Nearest:
        """Return the innermost of `batch_size` independent candidates that are uniform on the cover."""
        upper, lower = self.sides
        n_upper = int(rng.binomial(batch_size, upper.length / self.length))
        return Nearest(upper.draw_innermost(rng, n_upper), lower.draw_innermost(rng, batch_size - n_upper))

    def chance_within(self, distance: float, batch_size: int) -> float:
        """Return how likely one of `batch_size` candidates on the cover is as near to the true boundary as that."""
        within = sum(side.length_within(distance) for side in self.sides) / self.length
        return float(-np.expm1(batch_size * np.log1p(-min(within, 1.0))))


def draw_cover(rng: np.random.Generator, boundaries: Angles, n_candidates: int, batch_size: int) -> Cover:
    """Return the cover on which the batch lies: up to the score of the first candidate that is not picked."""
    _check(n_candidates, batch_size)
    share = rng.beta(batch_size + 1, n_candidates - batch_size)
    return Cover(boundaries, radius_covering(boundaries, np.pi * share))


def radius_covering(boundaries: Angles, length: float) -> float:
    """Return the radius whose cover has this length.

    With the k smallest gaps between boundaries covered whole, the other M - k hold 2 r each: that is solved for r.
    """
    gaps = np.sort(_gaps(boundaries))
    smaller = np.concatenate([[0.0], np.cumsum(gaps)[:-1]])
    n_open = np.arange(len(gaps), 0, -1)
    whole = int(np.searchsorted(smaller + gaps * n_open, length))
    whole = min(whole, len(gaps) - 1)
    return float((length - smaller[whole]) / n_open[whole] / 2)


class Streamed(NamedTuple):
    """The batch out of candidates that were really made, and how usual it is under the law of `draw_cover`.

    Attributes:
        cover: up to the score of the first candidate that was not picked.
        nearest: the innermost candidates of the batch.
        radius_quantile: where the radius lies in its law; uniform in [0, 1] if the law is right.
        nearest_quantile: where the nearest candidate lies in its law, given the radius; likewise.
    """

    cover: Cover
    nearest: Nearest
    radius_quantile: float
    nearest_quantile: float


def stream_batches(
    rng: np.random.Generator,
    committees: Sequence[Angles],
    n_candidates: int,
    batch_size: int,
    *,
    chunk_size: int = 1 << 22,
) -> list[Streamed]:
    """Return the batch of each committee of boundaries, out of one pool of candidates that is made chunk by chunk."""
    _check(n_candidates, batch_size)
    # Ten standard deviations above the expected count: what is kept is nearly certain to hold the batch.
    enough = min(1.0, (batch_size + 1 + 10 * np.sqrt(batch_size + 1)) / n_candidates)
    wide = [Cover(each, radius_covering(each, np.pi * enough)) for each in committees]
    kept: list[list[Angles]] = [[] for _ in committees]
    for chunk in _make_chunks(rng, n_candidates, chunk_size):
        for cover, parts in zip(wide, kept, strict=True):
            parts.append(_inside(cover, chunk))
    return [
        _pick(cover.boundaries, np.concatenate(parts), n_candidates, batch_size)
        for cover, parts in zip(wide, kept, strict=True)
    ]


def distances_to_nearest(boundaries: Angles, candidates: Angles) -> Angles:
    """Return each candidate's score: its distance along the circle to the nearest boundary."""
    around = np.concatenate([boundaries[-1:] - np.pi, boundaries, boundaries[:1] + np.pi])
    above = np.searchsorted(around, candidates)
    nearest: Angles = np.minimum(candidates - around[above - 1], around[above] - candidates)
    return nearest


def _pick(boundaries: Angles, candidates: Angles, n_candidates: int, batch_size: int) -> Streamed:
    scores = distances_to_nearest(boundaries, candidates)
    assert len(scores) > batch_size, "ten standard deviations were not enough"
    order = np.argpartition(scores, batch_size)
    cover = Cover(boundaries, float(scores[order[batch_size]]))
    batch = candidates[order[:batch_size]]
    nearest = Nearest(
        float(np.min(batch, where=batch >= 0, initial=np.inf)),
        float(np.min(-batch, where=batch < 0, initial=np.inf)),
    )
    share = cover.length / np.pi
    return Streamed(
        cover,
        nearest,
        float(special.betainc(batch_size + 1, n_candidates - batch_size, min(share, 1.0))),
        cover.chance_within(nearest.angle, batch_size),
    )


def _make_chunks(rng: np.random.Generator, n_candidates: int, chunk_size: int) -> Iterator[Angles]:
    for first in range(0, n_candidates, chunk_size):
        size = min(chunk_size, n_candidates - first)
        yield np.sort(rng.uniform(-RIGHT_ANGLE, RIGHT_ANGLE, size))


def _inside(cover: Cover, ordered: Angles) -> Angles:
    """Return those of the ordered candidates that lie on the cover."""
    upper, lower = cover.sides
    starts = np.concatenate([-lower.ends[::-1], upper.starts])
    ends = np.concatenate([-lower.starts[::-1], upper.ends])
    # Sorted candidates turn the question into two searches a piece, instead of one a candidate.
    first, last = np.searchsorted(ordered, starts), np.searchsorted(ordered, ends, side="right")
    changes = np.bincount(first, minlength=len(ordered) + 1) - np.bincount(last, minlength=len(ordered) + 1)
    return ordered[np.cumsum(changes[:-1]) > 0]


def _gaps(boundaries: Angles) -> Angles:
    """Return the distance from each boundary to the next; from the last, round the circle to the first."""
    return np.diff(boundaries, append=boundaries[0] + np.pi)


def _upper_side(starts: Angles, ends: Angles) -> Side:
    """Return what the pieces cover from angle 0 to pi/2. What goes below -pi/2 comes back at pi/2."""
    above = ends > 0
    inner, outer = np.clip(starts[above], 0, None), np.clip(ends[above], None, RIGHT_ANGLE)
    if starts[0] < -RIGHT_ANGLE:
        inner, outer = np.append(inner, starts[0] + np.pi), np.append(outer, RIGHT_ANGLE)
    return Side(inner, outer)


def _check(n_candidates: int, batch_size: int) -> None:
    if not 1 <= batch_size < n_candidates:
        raise InputError(
            f"batch_size={batch_size} must be at least 1 and below the number of candidates ({n_candidates}). "
            f"Use 1 <= batch_size <= {n_candidates - 1}."
        )
