"""Trained models as the rest of the package sees them: made of weights alone, and at home on a CPU and on a GPU.

This is where it is decided which part of the room works. What is heavy (numba, torch) is imported when it is first
needed, and what a device needs of the models is made once.

Canonical numbers are made in plain numpy where there is little to do, and by compiled kernels where there is more. Both
ways give the same bits, so it is a matter of time alone: a kernel is many times as fast, but in a fresh installation it
takes seconds to compile, and half a second to load ever after. The size of the work decides, and nothing else, so that
a run takes the same way every time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from minmargin import margins
from minmargin.compute.base import Models, Screen
from minmargin.compute.networks.dense import DenseNetworks
from minmargin.data.rows import Matrix
from minmargin.device import Device, Precision
from minmargin.margins import ScoreName
from minmargin.properties import cached_property

if TYPE_CHECKING:
    from minmargin.compute import kernels
    from minmargin.compute.gpu.looks import DeviceNetworks
    from minmargin.compute.gpu.ordered import DeviceModels
    from minmargin.compute.networks.forward import NetworkModels
    from minmargin.compute.networks.screen import ScreenedNetworks

#: Multiplications that numpy makes in a few hundredths of a second. Tests of compiled code set it to 0.
SMALL_WORK = 1 << 25

_EXPONENTIAL = 40  # multiplications that take as long as all else that is done to a logit
_CALL = 2_000  # multiplications that take as long as calling numpy


def linear_models(
    weights: NDArray[np.float64],
    intercepts: NDArray[np.float64],
    *,
    softmax: bool = True,
    compiled: bool = False,
) -> Models:
    """Return K linear models.

    Args:
        weights: (D, K, O) with O outputs: one per class, or a single one for two classes.
        intercepts: (K, O).
        softmax: whether class scores are the softmax of the outputs; otherwise they are the outputs themselves, and
            -output and output for two classes.
        compiled: whether kernels make the class scores of few rows too; see above.
    """
    return _Linear(weights, intercepts, softmax, compiled)


def network_models(networks: DenseNetworks, center: NDArray[np.float32]) -> Models:
    """Return K networks, of float64 weights, for rows from which (D,) `center` is subtracted first."""
    return _Networks(networks, center)


def cosine_functions(
    X: Matrix, n_centers: int
) -> tuple[Callable[..., NDArray[np.float64]], Callable[..., None]]:
    """Return `norms` and `raise_to_cosines`, to compare (n, D) rows with so many centers."""
    n_rows, n_features = X.shape
    if is_small_work(n_rows, n_features, n_centers):
        return margins.norms, margins.raise_to_cosines
    from minmargin.compute import kernels  # noqa: PLC0415 - imports numba

    return kernels.norms, kernels.raise_to_cosines


def is_small_work(n_rows: int, n_terms: int, n_centers: int) -> bool:
    """Return whether numpy compares rows with so many centers, where a dot product is the sum of `n_terms`."""
    return n_centers * n_terms * (n_rows + _CALL) <= SMALL_WORK


def scoring_work(n_rows: int, n_logits: int, n_terms: int) -> int:
    """Return how many multiplications canonical class scores are worth.

    Args:
        n_rows: how many rows are scored.
        n_logits: of all models for a row.
        n_terms: how many features a logit is the sum of.
    """
    return n_rows * n_logits * (n_terms + _EXPONENTIAL)


def rows_in_small_work(n_logits: int, n_terms: int, *, multiplications: int = 0) -> int:
    """Return how many rows are so few that numpy scores them, if each is worth no less than `multiplications`."""
    return SMALL_WORK // max(scoring_work(1, n_logits, n_terms), multiplications)


@dataclass(frozen=True)
class LinearModels:
    """K linear models, ready to be asked for canonical class scores many times.

    Attributes:
        weights: (D, K, O) with one output O per class, or a single one for two classes.
        intercepts: (K, O).
        softmax: whether class scores are the softmax of the logits.
        compiled: whether kernels are at hand anyhow, and so make the scores of a few rows too.
    """

    weights: NDArray[np.float64]
    intercepts: NDArray[np.float64]
    softmax: bool
    compiled: bool = False

    def class_scores(self, X: Matrix) -> NDArray[np.float64]:
        """Return (K, n, C): the class scores under each model."""
        n_rows, n_features = X.shape
        n_terms = n_features if isinstance(X, np.ndarray) else X.nnz // max(n_rows, 1)
        if not self.compiled and scoring_work(n_rows, self.intercepts.size, n_terms) <= SMALL_WORK:
            return margins.linear_class_scores(X, self.weights, self.intercepts, probabilistic=self.softmax)
        return self._kernel.class_scores(X)

    @cached_property
    def _kernel(self) -> kernels.LinearKernel:
        from minmargin.compute import kernels  # noqa: PLC0415 - imports numba

        return kernels.LinearKernel(self.weights, self.intercepts, softmax=self.softmax)


@dataclass(frozen=True)
class _Linear:
    weights: NDArray[np.float64]
    intercepts: NDArray[np.float64]
    softmax: bool
    compiled: bool

    def class_scores(self, X: Matrix, *, device: Device = "cpu") -> NDArray[np.float64]:
        return self._on_gpu.class_scores(X) if device == "cuda" else self._canonical.class_scores(X)

    def each(self, X: Matrix, *, device: Device = "cpu") -> Iterable[NDArray[np.float64]]:
        return self.class_scores(X, device=device)

    def screen(self, score: ScoreName, *, device: Device, precision: Precision) -> Screen | None:
        models = self.weights, self.intercepts, score
        if device == "cuda":
            from minmargin.compute.gpu.screens import linear_screen  # noqa: PLC0415 - imports torch

            return linear_screen(*models, softmax=self.softmax, precision=precision)
        from minmargin.compute.cpu.screen import LinearScreen  # noqa: PLC0415 - a small pool needs none

        return LinearScreen.of(*models, softmax=self.softmax)

    @cached_property
    def _canonical(self) -> LinearModels:
        return LinearModels(self.weights, self.intercepts, self.softmax, self.compiled)

    @cached_property
    def _on_gpu(self) -> DeviceModels:
        from minmargin.compute.gpu.ordered import DeviceModels, OrderedLayers  # noqa: PLC0415 - imports torch

        weights, intercepts = self.weights.reshape(1, len(self.weights), -1), self.intercepts.reshape(1, -1)
        layers = OrderedLayers([weights], [intercepts], None, "cuda")
        return DeviceModels(self._canonical, layers, self.intercepts.shape, softmax=self.softmax)


@dataclass(frozen=True)
class _Networks:
    networks: DenseNetworks
    center: NDArray[np.float32]

    def class_scores(self, X: NDArray[Any], *, device: Device = "cpu") -> NDArray[np.float64]:
        return self._on_gpu.class_scores(X) if device == "cuda" else self._canonical.class_scores(X)

    def each(self, X: NDArray[Any], *, device: Device = "cpu") -> Iterable[NDArray[np.float64]]:
        return self._on_gpu.class_scores(X) if device == "cuda" else self._canonical.each(X)

    def screen(self, score: ScoreName, *, device: Device, precision: Precision) -> Screen | None:
        if device == "cuda":
            from minmargin.compute.gpu.screens import network_screen  # noqa: PLC0415 - imports torch

            return network_screen(self._looked_at, self.center, score, precision=precision)
        from minmargin.compute.networks.screen import NetworkScreen  # noqa: PLC0415 - imports numba

        return None if self._screened is None else NetworkScreen.of(self._screened, score)

    @cached_property
    def _canonical(self) -> NetworkModels:
        from minmargin.compute.networks.forward import NetworkModels  # noqa: PLC0415 - imports numba

        return NetworkModels(self.networks, self.center)

    @cached_property
    def _screened(self) -> ScreenedNetworks | None:
        from minmargin.compute.networks.screen import ScreenedNetworks  # noqa: PLC0415 - imports numba

        return ScreenedNetworks.of(self.networks, self.center)

    @cached_property
    def _on_gpu(self) -> DeviceModels:
        from minmargin.compute.gpu.ordered import DeviceModels, OrderedLayers  # noqa: PLC0415 - imports torch

        layers = OrderedLayers(self.networks.weights, self.networks.biases, self.center, "cuda")
        return DeviceModels(self._canonical, layers, self.networks.biases[-1].shape, softmax=True)

    @cached_property
    def _looked_at(self) -> DeviceNetworks:
        from minmargin.compute.gpu.looks import DeviceNetworks  # noqa: PLC0415 - imports torch

        return DeviceNetworks(self.networks, "cuda")
