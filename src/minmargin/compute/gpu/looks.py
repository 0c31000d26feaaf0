"""Looks at rows that are on a device: what each gives is a value for a row, and how far it can be off.

`NetworkLooks` are for any score, of networks and of linear models, which are networks without hidden layers. Without
Triton they compute the same in plain torch. For the lowest margin of linear models, `gaps` has a faster first look.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from minmargin.compute.gpu import plain
from minmargin.compute.networks.dense import DenseNetworks
from minmargin.compute.networks.error import FLOAT64, SQUARINGS, Arithmetic, ErrorModel, input_lengths
from minmargin.compute.reductions import Reduction, Shape
from minmargin.compute.rounding import SLACK, SMALL_UNIT, UNIT
from minmargin.device import Precision
from minmargin.properties import cached_property

_ACTIVATIONS = 1 << 26  # floats of a layer that may be in memory at a time: 256 MB
_EXP_ERROR = 2.0**-20  # more than the device's exponential is off by, of numbers up to 1


_Tile: TypeAlias = tuple[NDArray[np.float64], NDArray[np.float64], bool]


class Found(NamedTuple):
    """What a look tells of rows, in the order of their places.

    Attributes:
        places: (m,) where in the block they stand.
        values: (m,) what their logits are reduced to.
        errors: (m,) how far these can be from what canonical logits would give; infinite if not known.
        finite: whether all numbers of all rows are certain to be finite.
    """

    places: NDArray[np.intp]
    values: NDArray[np.float64]
    errors: NDArray[np.float64]
    finite: bool


def has_triton(device: str) -> bool:
    """Return whether the Triton kernels can run there."""
    if device == "cpu":  # its interpreter, for tests
        return os.environ.get("TRITON_INTERPRET") == "1" and find_spec("triton") is not None
    return find_spec("triton") is not None


@dataclass(frozen=True)
class DeviceNetworks:
    """K networks on a device, for looks at any of their scores.

    Attributes:
        networks: float64, one output a class.
        device: where.
    """

    networks: DenseNetworks
    device: str

    @cached_property
    def errors(self) -> ErrorModel:
        """How far logits can be off: the worst of all members, so that one length a row is enough."""
        return ErrorModel.of(self.networks, partial(_spectral_bounds, device=self.device)).worst()

    @cached_property
    def float32(self) -> tuple[list[Tensor], list[Tensor]]:
        """Weights and biases per layer."""
        return self._as(torch.float32)

    @cached_property
    def float64(self) -> tuple[list[Tensor], list[Tensor]]:
        """Weights and biases per layer."""
        return self._as(torch.float64)

    @cached_property
    def last(self) -> tuple[Tensor, Tensor]:
        """The last layer's float32 weights and biases, filled up to a power of two of outputs."""
        weights, biases = self.float32[0][-1], self.float32[1][-1]
        width = max(1 << (weights.shape[2] - 1).bit_length(), 16)
        more = width - weights.shape[2]
        return (
            torch.nn.functional.pad(weights, (0, more)),
            torch.nn.functional.pad(biases, (0, more), value=-math.inf),
        )

    def _as(self, dtype: torch.dtype) -> tuple[list[Tensor], list[Tensor]]:
        weights, biases = (
            [torch.from_numpy(each).to(self.device, dtype).contiguous() for each in part]
            for part in (self.networks.weights, self.networks.biases)
        )
        return weights, biases


@dataclass(frozen=True)
class NetworkLooks:
    """The looks at one score of K networks.

    Attributes:
        models: the networks.
        reduction: what gives the score.
        softmax: whether class scores are the softmax of the logits, and not the logits themselves.
        precision: how closely to look.
    """

    models: DeviceNetworks
    reduction: Reduction
    softmax: bool
    precision: Precision

    @property
    def networks(self) -> DenseNetworks:
        """The networks themselves."""
        return self.models.networks

    @property
    def shape(self) -> Shape:
        """That of the networks."""
        return Shape(self.networks.n_networks, self.networks.widths[-1], self.softmax)

    def first_look(self, rows: Tensor) -> Found:
        """Return what is known of all rows."""
        return self._join(self._coarse_tile, rows)

    def closer_look(self, rows: Tensor) -> Found:
        """Return the same from products of float64 rows."""
        return self._join(self._fine_tile, rows)

    def certain_look(self, rows: Tensor) -> Found:
        """Return what a first look tells, with no vote in doubt."""
        return self._join(self._certain_tile, rows)

    def _join(self, look: Any, rows: Tensor) -> Found:
        n = len(rows)
        step = max(_ACTIVATIONS // (self.networks.n_networks * max(self.networks.widths[1:])), 256)
        found = [look(rows[start : start + step]) for start in range(0, n, step)]
        values, errors, finite = zip(*found, strict=True)
        return Found(np.arange(n), np.concatenate(values), np.concatenate(errors), all(finite))

    def _coarse_tile(self, rows: Tensor, *, certain: bool = False) -> _Tile:
        n_hidden = len(self.networks.weights) - 1
        if has_triton(self.models.device):
            inputs, squares = self._hidden(rows)
            arithmetic = [self._of_hidden] * n_hidden + [self._of_units]
            error = self._logit_error(squares, arithmetic)
            doubt = self._doubt(error, rows, certain=certain)
            values = self._reduce(inputs, doubt)
        else:
            logits, squares = plain.network_logits(rows, *self.models.float32)
            error = self._logit_error(squares, [Arithmetic(UNIT)] * (n_hidden + 1))
            doubt = self._doubt(error, rows, certain=certain)
            values = self._plainly(logits, doubt)
        return self._result(values, error, doubt, squares, unit=UNIT, of_exp=_EXP_ERROR)

    def _certain_tile(self, rows: Tensor) -> _Tile:
        return self._coarse_tile(rows, certain=True)

    def _fine_tile(self, rows: Tensor) -> _Tile:
        logits, squares = plain.network_logits(rows, *self.models.float64)
        error = self._logit_error(squares, [FLOAT64] * len(squares))
        doubt = self._doubt(error, logits)
        values = self._plainly(logits, doubt)
        return self._result(values, error, doubt, squares, unit=SMALL_UNIT, of_exp=SMALL_UNIT)

    def _plainly(self, logits: Tensor, doubt: Tensor) -> Tensor:
        return plain.reduced(logits, self.reduction, softmax=self.softmax, doubt=doubt)

    def _result(
        self,
        values: Tensor,
        error: NDArray[np.float64],
        doubt: Tensor,
        squares: list[Tensor],
        *,
        unit: float,
        of_exp: float,
    ) -> _Tile:
        """Return values with their errors: those that follow from logits, and what reducing them adds."""
        factor = self.reduction.error_factor(self.shape)
        n_terms = self.networks.widths[-1] + self.networks.n_networks + 12
        added: Any = self.reduction.lost(2.0 * of_exp + n_terms * unit, self.shape)
        if not self.softmax:  # class scores are as large as logits can be
            largest = float(self.models.errors.sizes[-1].max())
            added = added * np.sqrt(_to_host(squares[-1]) + 1.0) * largest
        errors = _to_host(doubt) if self.reduction.counts_doubt else factor * error + added
        known = error < np.inf
        found = np.where(known, _to_host(values), 0.0), np.where(known, errors, np.inf)
        return *found, bool(torch.isfinite(squares[0]).all())

    def _hidden(self, rows: Tensor) -> tuple[Tensor, list[Tensor]]:
        """Return what enters the last layer, (K, n, in) or shared (n, D), and the squared lengths of all inputs."""
        weights, biases = self.models.float32
        values, squares = rows, [plain.squared_lengths(rows)]
        for layer, bias in zip(weights[:-1], biases[:-1], strict=True):
            if self.precision == "fast":
                values = _fast_layer(values, layer, bias)
            else:
                shared = values.unsqueeze(0).expand(len(layer), -1, -1) if values.dim() == 2 else values
                values = torch.baddbmm(bias.unsqueeze(1), shared, layer).relu_()
            squares.append(plain.squared_lengths(values).amax(0))
        return values, squares

    def _reduce(self, inputs: Tensor, doubt: Tensor) -> Tensor:
        from minmargin.compute.gpu.network_kernels import reduce_members  # noqa: PLC0415 - imports Triton

        weights, biases = self.models.last
        n_members, n_in, width = weights.shape
        n, block = inputs.shape[-2], 64
        out = torch.empty(n, dtype=torch.float32, device=inputs.device)
        stride = n * n_in if inputs.dim() == 3 else 0
        reduce_members[(-(-n // block),)](
            inputs, weights, biases, doubt, out, n, stride, n_members, n_in, code=self.reduction.code,
            softmax=self.softmax, precision=self._units, block=block, width=width, n_classes=self.shape.n_classes,
            span=32, num_warps=4, num_stages=3,
        )  # fmt: skip
        return out

    def _logit_error(self, squares: list[Tensor], arithmetic: list[Arithmetic]) -> NDArray[np.float64]:
        lengths = [
            input_lengths(of_layer.cpu().numpy(), n_inputs)
            for of_layer, n_inputs in zip(squares, self.networks.widths, strict=False)
        ]
        gammas = [one.gammas(self.networks.widths)[place] for place, one in enumerate(arithmetic)]
        return self.models.errors.logit_error(lengths, gammas)

    def _doubt(self, error: NDArray[np.float64], like: Tensor, *, certain: bool = False) -> Tensor:
        """Return (n,) how far two logits must differ for a vote to be certain."""
        if not self.reduction.counts_doubt:  # then nobody asks
            return like.new_zeros(len(error))
        doubt = np.full(len(error), -1.0) if certain else 2.0 * error * (1.0 + 1e-6) + SLACK
        return torch.from_numpy(doubt).to(like)

    @property
    def _units(self) -> str:
        return "tf32x3" if self.precision == "float32" else "tf32"

    @property
    def _of_units(self) -> Arithmetic:
        """What is known of products on matrix units; they cut numbers off where `splits` rounds them."""
        if self.precision == "float32":
            return Arithmetic(3 * 2.0**-23, of_term=3 * 2.0**-20)
        return Arithmetic(2.0**-23, of_term=2 * 2.0**-10 + 2.0**-20)

    @property
    def _of_hidden(self) -> Arithmetic:
        return self._of_units if self.precision == "fast" else Arithmetic(UNIT)


def _fast_layer(values: Tensor, weights: Tensor, biases: Tensor) -> Tensor:
    from minmargin.compute.gpu.network_kernels import hidden_layer  # noqa: PLC0415 - imports Triton

    n_networks, n_in, n_out = weights.shape
    n, block, block_out = values.shape[-2], 128, 64
    out = torch.empty((n_networks, n, n_out), dtype=torch.float32, device=values.device)
    grid = (-(-n // block), -(-n_out // block_out), n_networks)
    hidden_layer[grid](
        values, weights, biases, out, n, n * n_in if values.dim() == 3 else 0, n_in, n_out, precision="tf32",
        block=block, block_out=block_out, span=32, num_warps=4, num_stages=3,
    )  # fmt: skip
    return out


def _to_host(values: Tensor) -> NDArray[np.float64]:
    return np.asarray(values.double().cpu().numpy())


def _spectral_bounds(weights: NDArray[np.float64], device: str) -> NDArray[np.float64]:
    """Return what `error.spectral_bound` does, of all matrices at once."""
    stacked = torch.from_numpy(weights).to(device)
    n_in, n_out = stacked.shape[1:]
    size = stacked.abs().amax((1, 2)).clamp_min(1e-300)
    scaled = stacked / size[:, None, None]
    power = scaled.mT @ scaled if n_out <= n_in else scaled @ scaled.mT
    logarithm = torch.zeros_like(size)
    for squaring in range(SQUARINGS + 1):
        if squaring:
            power = power @ power
        trace = power.diagonal(dim1=1, dim2=2).sum(1).clamp_min(1e-300)
        power = power / trace[:, None, None]
        logarithm += torch.log(trace) * 0.5**squaring
    rounding = 8.0 * n_in * n_out * SMALL_UNIT
    return _to_host(size * torch.exp(0.5 * logarithm) * (1.0 + 1e-9 + rounding))


def linear_networks(
    weights: NDArray[np.float64], intercepts: NDArray[np.float64], *, softmax: bool
) -> DenseNetworks:
    """Return linear models (D, K, O) as networks without hidden layers, with one output a class."""
    stacked, constants = weights.transpose(1, 0, 2), intercepts
    if stacked.shape[2] == 1:
        others = (np.zeros_like(stacked), np.zeros_like(constants)) if softmax else (-stacked, -constants)
        stacked = np.concatenate([others[0], stacked], axis=2)
        constants = np.concatenate([others[1], constants], axis=1)
    return DenseNetworks((np.ascontiguousarray(stacked),), (constants,))
