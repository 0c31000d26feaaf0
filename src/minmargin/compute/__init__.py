"""The machine room: exact class scores, and the fast screens that dismiss rows before these (see README.md).

This is its one door. Other rooms import from here and from nowhere behind it; a test holds them to that. Walking in
loads nothing heavy: numba and torch come when a function that needs them is called.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from minmargin.compute.apart import Embedding, pick_apart, squared_lengths
from minmargin.compute.base import Models, Screen
from minmargin.compute.given import GivenScreen, may_be_wrong
from minmargin.compute.keys import make_keys
from minmargin.compute.models import cosine_functions, linear_models, network_models, rows_in_small_work
from minmargin.compute.networks.dense import DenseNetworks, glorot, join
from minmargin.compute.noise import noisy_rows

if TYPE_CHECKING:
    from torch import Tensor

__all__ = [
    "DenseNetworks",
    "Embedding",
    "GivenScreen",
    "Models",
    "Screen",
    "compiled_code_folder",
    "cosine_functions",
    "fits_into_gpu",
    "glorot",
    "join",
    "last_hidden_layer",
    "linear_models",
    "make_keys",
    "may_be_wrong",
    "network_logits",
    "network_models",
    "noisy_rows",
    "pick_apart",
    "pick_on_gpu",
    "rows_in_small_work",
    "squared_lengths",
]


def fits_into_gpu(n_rows: int, n_features: int) -> bool:
    """Return whether so many rows, in float64, fit into the free memory of the GPU."""
    from minmargin.compute.gpu import greedy  # noqa: PLC0415 - imports torch

    return greedy.fits(n_rows, n_features, "cuda")


def pick_on_gpu(
    vectors: NDArray[np.floating],
    centers: NDArray[np.floating] | None,
    *,
    offsets: NDArray[np.float64],
    factor: float,
    nothing_yet: float,
    precedes: Callable[[NDArray[np.intp]], int],
    batch_size: int,
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return (B,) which rows are picked greedily, in order, and their exact scores: see `gpu.greedy`."""
    from minmargin.compute.gpu import greedy  # noqa: PLC0415 - imports torch

    return greedy.pick_greedily(
        vectors,
        centers,
        offsets=offsets,
        factor=factor,
        nothing_yet=nothing_yet,
        precedes=precedes,
        batch_size=batch_size,
        device="cuda",
    )


def network_logits(rows: Tensor, weights: Sequence[Tensor], biases: Sequence[Tensor]) -> Tensor:
    """Return (K, n, C) logits of (n, D) rows, on the device where they are: fast, and not canonical."""
    from minmargin.compute.gpu import plain  # noqa: PLC0415 - imports torch

    return plain.network_logits(rows, weights, biases)[0]


def last_hidden_layer(
    networks: DenseNetworks, center: NDArray[np.float32], X: NDArray[np.floating]
) -> NDArray[np.float64]:
    """Return (n, H): what the last layer of the first network is given of (n, D) rows, canonically."""
    from minmargin.compute.networks import forward  # noqa: PLC0415 - imports numba

    return forward.last_hidden_layer(networks, center, X)


def compiled_code_folder() -> str | None:
    """Return where compiled code is kept from one run to the next; None if there is no place for it."""
    from minmargin.compute import kernels  # noqa: PLC0415 - imports numba

    folder: str | None = kernels.to_class_scores.stats.cache_path
    return folder
