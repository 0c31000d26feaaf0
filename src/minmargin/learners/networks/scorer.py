"""Committees of networks: stacked layers, screened in float32 and scored by the canonical kernel."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from minmargin.compute.base import Screen
from minmargin.compute.networks.dense import DenseNetworks
from minmargin.device import Device, Precision
from minmargin.margins import ScoreName

if TYPE_CHECKING:
    from minmargin.compute.gpu.looks import DeviceNetworks
    from minmargin.compute.gpu.ordered import DeviceModels
    from minmargin.compute.networks.forward import NetworkModels
    from minmargin.compute.networks.screen import ScreenedNetworks


@dataclass(frozen=True)
class NetworkScorer:
    """A base and K members that are fully connected networks, with one output per class.

    Attributes:
        base: one network, as trained on standardized rows, (x - center) / scale.
        members: K networks, trained on the same.
        center: (D,) float32.
        scale: (D,) float64.
        trained: how the members were trained, for the manifest.
    """

    base: DenseNetworks
    members: DenseNetworks
    center: NDArray[np.float32]
    scale: NDArray[np.float64]
    trained: str = "together"

    rowwise = True
    probabilistic = True

    def __getstate__(self) -> dict[str, Any]:
        """Return what another process needs: what is made of it can be made there."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @property
    def path(self) -> str:
        """How the members were trained and the class scores are made."""
        return f"networks, trained {self.trained}; float32 screen, canonical float64 decision"

    @property
    def n_members(self) -> int:
        """K: how many members there are besides the base."""
        return self.members.n_networks

    @property
    def multiplications(self) -> int:
        """How many a row costs under all members."""
        return sum(layer.size for layer in self.members.weights)

    def base_scores(self, X: NDArray[Any], *, device: Device = "cpu") -> NDArray[np.float64]:
        """Return (n, C): the class scores under the base."""
        models = self._base_on_gpu if device == "cuda" else self._base
        only: NDArray[np.float64] = models.class_scores(X)[0]
        return only

    def each_member(self, X: NDArray[Any], *, device: Device = "cpu") -> Iterable[NDArray[np.float64]]:
        """Return (n, C): the class scores under each member, one after the other."""
        return self._members_on_gpu.class_scores(X) if device == "cuda" else self._members.each(X)

    def screen(
        self, score: ScoreName, *, device: Device = "cpu", precision: Precision = "float32"
    ) -> Screen | None:
        """Return the screen of a score; None if there is no network, or float32 cannot hold the weights."""
        if device == "cuda":
            from minmargin.compute.gpu.screens import network_screen  # noqa: PLC0415 - imports torch

            models = self._looks_at_base if score == "margin" else self._looks_at_members
            return network_screen(models, self.center, score, precision=precision)
        from minmargin.compute.networks.screen import NetworkScreen  # noqa: PLC0415 - imports numba

        screened = self._screened_base if score == "margin" else self._screened_members
        return None if screened is None else NetworkScreen.of(screened, score)

    def vectors(self, X: NDArray[Any]) -> NDArray[Any]:
        """Return (n, D): the rows as the networks' first layer was trained on them."""
        return np.asarray((X - self.center) / self.scale.astype(X.dtype))

    # The scale becomes part of the first layer, so that rows need only be centered.
    @cached_property
    def _base(self) -> NetworkModels:
        from minmargin.compute.networks.forward import NetworkModels  # noqa: PLC0415 - imports numba

        return NetworkModels(self.base.scaled(self.scale), self.center)

    @cached_property
    def _members(self) -> NetworkModels:
        from minmargin.compute.networks.forward import NetworkModels  # noqa: PLC0415 - imports numba

        return NetworkModels(self.members.scaled(self.scale), self.center)

    @cached_property
    def _looks_at_base(self) -> DeviceNetworks:
        from minmargin.compute.gpu.looks import DeviceNetworks  # noqa: PLC0415 - imports torch

        return DeviceNetworks(self._base.networks, "cuda")

    @cached_property
    def _looks_at_members(self) -> DeviceNetworks:
        from minmargin.compute.gpu.looks import DeviceNetworks  # noqa: PLC0415 - imports torch

        return DeviceNetworks(self._members.networks, "cuda")

    @cached_property
    def _base_on_gpu(self) -> DeviceModels:
        return _on_gpu(self._base)

    @cached_property
    def _members_on_gpu(self) -> DeviceModels:
        return _on_gpu(self._members)

    @cached_property
    def _screened_base(self) -> ScreenedNetworks | None:
        from minmargin.compute.networks.screen import ScreenedNetworks  # noqa: PLC0415 - imports numba

        return ScreenedNetworks.of(self._base.networks, self.center)

    @cached_property
    def _screened_members(self) -> ScreenedNetworks | None:
        from minmargin.compute.networks.screen import ScreenedNetworks  # noqa: PLC0415 - imports numba

        return ScreenedNetworks.of(self._members.networks, self.center)


def _on_gpu(models: NetworkModels) -> DeviceModels:
    from minmargin.compute.gpu.ordered import DeviceModels, OrderedLayers  # noqa: PLC0415 - imports torch

    networks = models.networks
    layers = OrderedLayers(networks.weights, networks.biases, models.center, "cuda")
    return DeviceModels(models, layers, networks.biases[-1].shape, softmax=True)
