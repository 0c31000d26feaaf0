"""Networks and rows that put the scoring of network committees to the test; the suites share them."""

from __future__ import annotations

import itertools

import numpy as np

import brute_force
from minmargin.compute.networks.dense import DenseNetworks


def random_networks(rng, n_networks, widths, scales=1.0):
    """Return float64 networks; `scales` is the size of their numbers, one for all or one per layer."""
    pairs = list(itertools.pairwise(widths))
    scales = np.broadcast_to(scales, len(pairs))
    return DenseNetworks(
        tuple(
            rng.normal(size=(n_networks, *pair)) * scale for pair, scale in zip(pairs, scales, strict=True)
        ),
        tuple(
            rng.normal(size=(n_networks, pair[1])) * scale for pair, scale in zip(pairs, scales, strict=True)
        ),
    )


def rows_on_a_boundary(rng, networks, center, n, scale=1.0):
    """Return (n, D) rows that one of the networks can hardly tell the class of: found by bisection."""
    start, stop = (rng.normal(size=(n, len(center))) * scale + center for _ in range(2))
    first = networks.take(slice(0, 1))

    def predicted(X):
        return brute_force.network_logits(X, first, center)[0].argmax(axis=1)

    of_start = predicted(start)
    for _ in range(45):
        middle = 0.5 * (start + stop)
        same = (predicted(middle) == of_start)[:, np.newaxis]
        start, stop = np.where(same, middle, start), np.where(same, stop, middle)
    return start
