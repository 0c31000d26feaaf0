"""Class scores that are given, looked at once: which rows cannot be meant, and one value a row. Imports numba.

Each function writes (n,) the values of rows X, in which the C class scores of a model stand beside those of the next,
for `n_models` of them from `first` on.
"""

from __future__ import annotations

import numpy as np

from minmargin.compute.compiled import compiled
from minmargin.compute.reductions import (
    ENTROPY_GAP,
    HIGHEST_OF_MEAN,
    LOWEST_GAP,
    LOWEST_MARGIN,
    MARGIN_OF_MEAN,
    MEAN_MARGIN,
    VARIANCE,
    VOTES,
)


@compiled
def first_wrong(X, n_models, n_classes, logarithms, normalized, tolerance):  # type: ignore[no-untyped-def]
    """Return the first row that has class scores which cannot be meant; -1 if there is none.

    `logarithms` may be negative, and -inf. `normalized` ones, or what they are logarithms of, sum up to 1.
    """
    for row in range(X.shape[0]):
        for model in range(n_models):
            total, highest = 0.0, -np.inf
            for c in range(model * n_classes, (model + 1) * n_classes):
                value = np.float64(X[row, c])
                if not value < np.inf or (value < 0.0 and not logarithms):
                    return row
                highest = max(highest, value)
                if normalized:
                    total += np.exp(value) if logarithms else value
            if highest == -np.inf or (normalized and not abs(total - 1.0) <= tolerance):
                return row
    return -1


@compiled
def _top_two(scores):  # type: ignore[no-untyped-def]
    """Return the highest score, the second-highest, and where the highest is."""
    highest, second, winner = -np.inf, -np.inf, 0
    for c in range(len(scores)):
        score = np.float64(scores[c])
        if score > highest:
            highest, second, winner = score, highest, c
        elif score > second:
            second = score
    return highest, second, winner


@compiled
def _lowest_gaps(X, first, n_models, n_classes, values):  # type: ignore[no-untyped-def]
    for row in range(X.shape[0]):
        lowest = np.inf
        for start in range(first * n_classes, (first + n_models) * n_classes, n_classes):
            highest, second, _ = _top_two(X[row, start : start + n_classes])
            lowest = min(lowest, highest - second)
        values[row] = lowest


@compiled
def _mean_gaps(X, first, n_models, n_classes, values):  # type: ignore[no-untyped-def]
    for row in range(X.shape[0]):
        total = 0.0
        for start in range(first * n_classes, (first + n_models) * n_classes, n_classes):
            highest, second, _ = _top_two(X[row, start : start + n_classes])
            total += highest - second
        values[row] = total / n_models


@compiled
def _votes(X, first, n_models, n_classes, values):  # type: ignore[no-untyped-def]
    counts = np.empty(n_classes)
    for row in range(X.shape[0]):
        counts[:] = 0.0
        for start in range(first * n_classes, (first + n_models) * n_classes, n_classes):
            counts[_top_two(X[row, start : start + n_classes])[2]] += 1.0
        highest, second, _ = _top_two(counts)
        values[row] = (highest - second) / n_models


@compiled
def _mean(X, row, first, n_models, mean):  # type: ignore[no-untyped-def]
    """Write (C,) the mean class scores of a row."""
    n_classes = len(mean)
    mean[:] = 0.0
    for start in range(first * n_classes, (first + n_models) * n_classes, n_classes):
        for c in range(n_classes):
            mean[c] += X[row, start + c]
    for c in range(n_classes):
        mean[c] /= n_models


@compiled
def _gaps_of_mean(X, first, n_models, n_classes, values):  # type: ignore[no-untyped-def]
    mean = np.empty(n_classes)
    for row in range(X.shape[0]):
        _mean(X, row, first, n_models, mean)
        highest, second, _ = _top_two(mean)
        values[row] = highest - second


@compiled
def _highest_of_mean(X, first, n_models, n_classes, values):  # type: ignore[no-untyped-def]
    mean = np.empty(n_classes)
    for row in range(X.shape[0]):
        _mean(X, row, first, n_models, mean)
        values[row] = mean.max()


@compiled
def _negative_entropies(X, first, n_models, n_classes, values):  # type: ignore[no-untyped-def]
    mean = np.empty(n_classes)
    for row in range(X.shape[0]):
        _mean(X, row, first, n_models, mean)
        total = 0.0
        for share in mean:
            if share > 0.0:
                total += share * np.log(share)
        values[row] = total


@compiled
def _negative_variances(X, first, n_models, n_classes, values):  # type: ignore[no-untyped-def]
    mean = np.empty(n_classes)
    for row in range(X.shape[0]):
        _mean(X, row, first, n_models, mean)
        total = 0.0
        for start in range(first * n_classes, (first + n_models) * n_classes, n_classes):
            for c in range(n_classes):
                deviation = X[row, start + c] - mean[c]
                total += deviation * deviation
        values[row] = -total / n_models


#: What writes the values, by what `reductions` calls these.
WRITERS = {
    LOWEST_GAP: _lowest_gaps,
    LOWEST_MARGIN: _lowest_gaps,
    MEAN_MARGIN: _mean_gaps,
    MARGIN_OF_MEAN: _gaps_of_mean,
    VOTES: _votes,
    VARIANCE: _negative_variances,
    HIGHEST_OF_MEAN: _highest_of_mean,
    ENTROPY_GAP: _negative_entropies,
}
