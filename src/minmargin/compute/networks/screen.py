"""The fast screen of network committees: float32 products that may only ever dismiss rows.

It does for networks what `cpu.screen` does for linear models. Rows go through all layers in tiles. The first layers of
several networks read the same rows, so they lie side by side in one matrix: one large product costs less than many
small ones. Later layers are multiplied network by network. The length of what enters each layer is all that `error`
needs to say how far a row's logits can be off, and `reductions` says what follows for a score.

Products are most of the work, so rough logits are reduced to the scores themselves, in float64. Rows for which float32
leaves it open on which side of the threshold they are get a closer look, by float64 products. It costs less than half
of the canonical way, and dismisses nearly all of those that do not belong.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from minmargin import margins
from minmargin.compute import bounds
from minmargin.compute.compiled import compiled
from minmargin.compute.cpu.rough_scores import lowest_margins
from minmargin.compute.networks.dense import DenseNetworks
from minmargin.compute.networks.error import FLOAT32, FLOAT64, Arithmetic, ErrorModel, input_lengths
from minmargin.compute.reductions import (
    ENTROPY_GAP,
    HIGHEST_OF_MEAN,
    LOWEST_MARGIN,
    MARGIN_OF_MEAN,
    MEAN_MARGIN,
    OF_SCORE,
    VARIANCE,
    Bounds,
    Reduction,
    Shape,
)
from minmargin.compute.rounding import SLACK, UNIT
from minmargin.data.rows import ColumnBlock
from minmargin.margins import ScoreName
from minmargin.properties import cached_property
from minmargin.topb import Cut, Near

_TILE = 512  # rows that go through all layers at a time
_SIDE_BY_SIDE = 1024  # outputs that first layers may have together


class _Group(NamedTuple):
    """Some of the networks: their first layers in one matrix, and the others stacked.

    Attributes:
        n_networks: g, how many.
        first: (D, g * H) weights and (g * H,) biases.
        others: per layer, (g, in, out) weights and (g, 1, out) biases.
    """

    n_networks: int
    first: tuple[NDArray[Any], NDArray[Any]]
    others: list[tuple[NDArray[Any], NDArray[Any]]]


#: How far roundings that do not all go one way may move a logit whose score is told; see `ScreenedNetworks.told`.
_TOLD = 3e-6


@dataclass(frozen=True)
class Products:
    """The layers of K networks, to be multiplied in one float type.

    Attributes:
        groups: all networks, in order.
        dtype: the float type.
        arithmetic: what is known of its products.
    """

    groups: list[_Group]
    dtype: Any
    arithmetic: Arithmetic

    @classmethod
    def of(cls, networks: DenseNetworks, dtype: Any, arithmetic: Arithmetic) -> Products:
        """Return the layers of networks, rounded to a float type."""
        n_inputs, width = networks.widths[:2]
        n_together = max(_SIDE_BY_SIDE // width, 1)
        groups = []
        for start in range(0, networks.n_networks, n_together):
            some = networks.take(slice(start, start + n_together))
            weights = [layer.astype(dtype) for layer in some.weights]
            biases = [layer.astype(dtype)[:, np.newaxis] for layer in some.biases]
            first = weights[0].transpose(1, 0, 2).reshape(n_inputs, -1), biases[0].ravel()
            groups.append(_Group(some.n_networks, first, list(zip(weights[1:], biases[1:], strict=True))))
        return cls(groups, dtype, arithmetic)

    def logits(self, X: NDArray[Any]) -> tuple[NDArray[Any], list[NDArray[Any]]]:
        """Return (K, n, C) logits of (n, D) rows, and per layer its inputs' sums of squares: (n,), then (K, n)."""
        parts, squares = zip(*(self._of_group(X, group) for group in self.groups), strict=True)
        later = [np.concatenate(layer) for layer in zip(*squares, strict=True)]
        return np.concatenate(parts), [_sums_of_squares(X), *later]

    def _of_group(self, X: NDArray[Any], group: _Group) -> tuple[NDArray[Any], list[NDArray[Any]]]:
        squares = []
        values = self._multiply(X, *group.first)
        values = values.reshape(len(X), group.n_networks, -1).transpose(1, 0, 2)
        for weights, biases in group.others:
            np.maximum(values, 0.0, out=values)
            squares.append(_sums_of_squares(values))
            values = self._multiply(values, weights, biases)
        return values, squares

    def _multiply(self, values: NDArray[Any], weights: NDArray[Any], biases: NDArray[Any]) -> NDArray[Any]:
        """Return (..., n, out) the outputs of a layer for (..., n, in) values."""
        n_inputs = values.shape[-1]
        span = self.arithmetic.span or n_inputs
        total: NDArray[Any] = values[..., :span] @ weights[..., :span, :]
        for start in range(span, n_inputs, span):
            total += values[..., start : start + span] @ weights[..., start : start + span, :]
        total += biases
        return total


@dataclass(frozen=True)
class ScreenedNetworks:
    """K networks, made ready for looks at any of their scores.

    Attributes:
        networks: float64.
        center: (D,) what is subtracted from rows before the first layer.
        errors: how far logits can be off.
    """

    networks: DenseNetworks
    center: NDArray[Any]
    errors: ErrorModel

    @classmethod
    def of(cls, networks: DenseNetworks, center: NDArray[Any]) -> ScreenedNetworks | None:
        """Return networks that can be screened; None if there are none, or float32 cannot hold their weights."""
        if not networks.n_networks:
            return None
        errors = ErrorModel.of(networks)
        return cls(networks, center, errors) if errors.fits_float32 else None

    @cached_property
    def coarse(self) -> Products:
        """For the first look."""
        return Products.of(self.networks, np.float32, FLOAT32)

    @cached_property
    def fine(self) -> Products:
        """For the closer look."""
        return Products.of(self.networks, np.float64, FLOAT64)

    @cached_property
    def told(self) -> float:
        """How far logits may be off, at worst, so that a score of theirs is told.

        At worst all roundings of a sum go one way, in all neurons. Of networks with 20 to 784 inputs and 64 to 256
        neurons a layer, no logit was found to be off by one and a half times what is left without that.
        """
        widths = self.networks.widths
        at_worst = min(FLOAT32.gammas(widths)) / UNIT * math.sqrt(max(widths[1:]))
        return float(_TOLD * at_worst)

    def logits(self, X: NDArray[Any], products: Products) -> tuple[NDArray[Any], NDArray[np.float64], bool]:
        """Return (K, n, C) logits, (n,) what none of a row's is off by more than, and if all numbers are finite."""
        # One rounding at most, beside the one that the canonical way has too.
        exactly = np.result_type(X, self.center, products.dtype)
        with np.errstate(all="ignore"):
            rows = np.subtract(X, self.center, dtype=exactly).astype(products.dtype, copy=False)
            logits, squares = products.logits(rows)
            lengths = [
                input_lengths(of_layer, n_inputs)
                for of_layer, n_inputs in zip(squares, self.networks.widths, strict=False)
            ]
        errors = self.errors.logit_error(lengths, products.arithmetic.gammas(self.networks.widths))
        return logits, errors, bool(np.isfinite(squares[0]).all())


@dataclass(frozen=True)
class NetworkScreen:
    """The screen of one score of a committee of networks.

    Attributes:
        models: the networks.
        reduction: what gives the score.
    """

    models: ScreenedNetworks
    reduction: Reduction

    @classmethod
    def of(cls, models: ScreenedNetworks, score: ScoreName) -> NetworkScreen:
        """Return the screen of a score."""
        return cls(models, OF_SCORE[score])

    def near(self, X: NDArray[Any] | ColumnBlock, *, cut: Cut, size: int | None) -> Near:
        """Return the rows whose score may not be above the cut, and may be among the `size` lowest."""
        rows = np.asarray(X)
        first, finite = self._look(rows, self.models.coarse)

        def look_closer(index: NDArray[np.intp]) -> Bounds:
            return self._look(rows[index], self.models.fine)[0]

        index, found = bounds.two_looks(first, look_closer, threshold=cut.score, size=size)
        return Near(index, *found, finite)

    def scores(self, X: NDArray[Any] | ColumnBlock) -> NDArray[np.float64]:
        """Return (n,) the scores as float32 logits give them; NaN where they may not tell five digits, or any vote."""
        rows = np.asarray(X)
        scores = np.empty(len(rows))
        for start in range(0, len(rows), _TILE):
            tile = slice(start, start + _TILE)
            logits, errors, _ = self.models.logits(rows[tile], self.models.coarse)
            with np.errstate(invalid="ignore"):
                values, in_doubt = _reduced(logits, 2.0 * errors + SLACK, self.reduction)
                told = in_doubt == 0.0 if self.reduction.counts_doubt else errors <= self.models.told
                scores[tile] = np.where(told, self.reduction.scores_of(values, _shape_of(logits)), np.nan)
        return scores

    def _look(self, rows: NDArray[Any], products: Products) -> tuple[Bounds, bool]:
        """Return what one look at (n, D) rows tells, and whether all numbers are finite."""
        found, all_finite = Bounds(np.empty(len(rows)), np.empty(len(rows))), True
        for start in range(0, len(rows), _TILE):
            tile = slice(start, start + _TILE)
            logits, errors, finite = self.models.logits(rows[tile], products)
            found.lower[tile], found.upper[tile] = score_bounds(logits, errors, self.reduction)
            all_finite &= finite
        return found, all_finite


def score_bounds(logits: NDArray[Any], errors: NDArray[np.float64], reduction: Reduction) -> Bounds:
    """Return the bounds of scores, from (K, n, C) logits and (n,) how far none of a row's is off by more than."""
    shape = _shape_of(logits)
    values, in_doubt = _reduced(logits, 2.0 * errors + SLACK, reduction)
    if reduction.counts_doubt:
        return reduction.bounds(values, in_doubt, shape)
    known = np.where(errors < np.inf, values, 0.0)
    return reduction.bounds(known, errors * reduction.error_factor(shape), shape)


def _shape_of(logits: NDArray[Any]) -> Shape:
    n_models, _, n_outputs = logits.shape
    return Shape(n_models, n_outputs)


def _reduced(
    logits: NDArray[Any], doubts: NDArray[np.float64], reduction: Reduction
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return (n,) the values of (K, n, C) logits, and (n,) how many models are in doubt, where these are counted.

    A model is in doubt if its two highest logits differ by doubts[i] or less.
    """
    if reduction.counts_doubt:
        votes, in_doubt = _count_votes(logits, doubts)
        return margins.margin(votes), in_doubt
    return _VALUES[reduction.code](logits), np.zeros(len(doubts))


def _lowest_margin(logits: NDArray[Any]) -> NDArray[np.float64]:
    return np.asarray(lowest_margins(logits, True))


def _mean_margin(logits: NDArray[Any]) -> NDArray[np.float64]:
    return np.asarray(_average(logits)[0])


def _margin_of_mean(logits: NDArray[Any]) -> NDArray[np.float64]:
    return margins.margin(_average(logits)[1])


def _highest_of_mean(logits: NDArray[Any]) -> NDArray[np.float64]:
    return np.asarray(_average(logits)[1].max(axis=1))


def _entropy_gap(logits: NDArray[Any]) -> NDArray[np.float64]:
    x = logits.shape[2] * _average(logits)[1]
    d = x - 1.0
    from_even = np.maximum(x * np.log1p(np.where(d > -1.0, d, 0.0)) - d, 0.0)  # 1 where x is next to nothing
    return np.asarray(np.sqrt(from_even.mean(axis=1)))


def _variance(logits: NDArray[Any]) -> NDArray[np.float64]:
    _, means, squares = _average(logits)
    return np.asarray((means * means).sum(axis=1) - squares)


#: What reduces (K, n, C) logits to (n,) values, by the reduction's code.
_VALUES: dict[int, Callable[[NDArray[Any]], NDArray[np.float64]]] = {
    LOWEST_MARGIN: _lowest_margin,
    MEAN_MARGIN: _mean_margin,
    MARGIN_OF_MEAN: _margin_of_mean,
    VARIANCE: _variance,
    HIGHEST_OF_MEAN: _highest_of_mean,
    ENTROPY_GAP: _entropy_gap,
}


def _sums_of_squares(values: NDArray[Any]) -> NDArray[Any]:
    """Return (...) the sums over the last axis."""
    return np.asarray(np.einsum("...i,...i->...", values, values))


@compiled
def _average(logits):  # type: ignore[no-untyped-def]
    """Return the models' means: (n,) of their margins, (n, C) of class scores, (n,) of the sum of their squares."""
    n_models, n, n_classes = logits.shape
    margin, means, squares = np.zeros(n), np.zeros((n, n_classes)), np.zeros(n)
    weights = np.empty(n_classes)
    for k in range(n_models):
        for i in range(n):
            first = second = -np.inf
            for c in range(n_classes):
                z = np.float64(logits[k, i, c])
                second = max(second, min(first, z))
                first = max(first, z)
            total = 0.0
            for c in range(n_classes):
                weights[c] = math.exp(np.float64(logits[k, i, c]) - first)
                total += weights[c]
            margin[i] += (1.0 - math.exp(second - first)) / total
            for c in range(n_classes):
                p = weights[c] / total
                means[i, c] += p
                squares[i] += p * p
    return margin / n_models, means / n_models, squares / n_models


@compiled
def _count_votes(logits, doubts):  # type: ignore[no-untyped-def]
    """Return (n, C) the votes that are certain, and (n,) how many are not: two logits differ by doubts[i] or less."""
    n_models, n, n_classes = logits.shape
    votes, in_doubt = np.zeros((n, n_classes)), np.zeros(n)
    for k in range(n_models):
        for i in range(n):
            first = second = -np.inf
            winner = 0
            for c in range(n_classes):
                z = np.float64(logits[k, i, c])
                if z > first:
                    winner = c
                second = max(second, min(first, z))
                first = max(first, z)
            if first - second > doubts[i]:
                votes[i, winner] += 1.0
            else:
                in_doubt[i] += 1.0
    return votes, in_doubt
