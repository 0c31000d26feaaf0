"""Committees of networks: stacked layers, screened in float32 and scored by the canonical kernel."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minmargin.compute import DenseNetworks, Models, Screen, last_hidden_layer, network_models
from minmargin.device import Device, Precision
from minmargin.margins import ScoreName
from minmargin.properties import cached_property


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
        only: NDArray[np.float64] = self._base.class_scores(X, device=device)[0]
        return only

    def each_member(self, X: NDArray[Any], *, device: Device = "cpu") -> Iterable[NDArray[np.float64]]:
        """Return (n, C): the class scores under each member, one after the other."""
        return self._members.each(X, device=device)

    def screen(
        self, score: ScoreName, *, device: Device = "cpu", precision: Precision = "float32"
    ) -> Screen | None:
        """Return the screen of a score; None if there is no network, or float32 cannot hold the weights."""
        models = self._base if score == "margin" else self._members
        return models.screen(score, device=device, precision=precision)

    def vectors(self, X: NDArray[Any]) -> NDArray[Any]:
        """Return (n, D): the rows as the networks' first layer was trained on them."""
        return np.asarray((X - self.center) / self.scale.astype(X.dtype))

    def embedding(self, X: NDArray[Any]) -> NDArray[Any]:
        """Return (n, D): what the base's last layer is given."""
        if len(self.base.weights) == 1:
            return self.vectors(X)
        return last_hidden_layer(self.base.scaled(self.scale), self.center, X)

    # The scale becomes part of the first layer, so that rows need only be centered.
    @cached_property
    def _base(self) -> Models:
        return network_models(self.base.scaled(self.scale), self.center)

    @cached_property
    def _members(self) -> Models:
        return network_models(self.members.scaled(self.scale), self.center)
