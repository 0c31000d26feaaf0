"""How far the logits of roughly computed networks can be from the canonical ones.

Let a be the canonical input of a layer, a' the roughly computed one, and e at least as large as |a' - a|, where |.| is
the Euclidean length. With W the layer's weights, b its biases and A = |(a', 1)|, the two outputs differ by no more than

    |z' - z|  <=  (S + g0 F) e  +  (g + g0) F A,

where S is the largest factor by which W lengthens a vector, F the length of all numbers in W and b together, and
g and g0 what a term of a sum can lose in the rough and in the canonical path: m u / (1 - m u) with m the number of
roundings it can meet (Higham, Accuracy and Stability of Numerical Algorithms, 3.1). The first term is what W makes of
the error so far, the second what both paths add to it; of the canonical input only |(a, 1)| <= A + e is known. Taking
the positive part lengthens no difference, so this bounds the next layer's e. Of the last layer, each logit is looked at
by itself: S is then the length of the longest column of W, and F the same with its bias.

What float32 loses below 2^-126 is added: up to that much in an input, a weight, a product and a sum. Where a number
might leave float32's range above, nothing is known.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from minmargin.compute.networks.dense import DenseNetworks
from minmargin.compute.rounding import HUGE, SMALL_UNIT, TINY, UNIT, gamma

#: Given (K, in, out) matrices, (K,) numbers no less than their largest singular values.
SpectralBounds: TypeAlias = Callable[[NDArray[np.float64]], NDArray[np.float64]]

_ROUNDED_UP = 1.0 + 1e-6  # more than float64 loses in what is computed here
SQUARINGS = 4


class Arithmetic(NamedTuple):
    """How sums of products are made.

    Attributes:
        unit: what one rounding may change, as a share.
        span: how many products are summed at a time, before the sums are; None if all.
        of_term: what else a product may be off by, as a share: of numbers that are cut into halves, say.
    """

    unit: float
    span: int | None = None
    of_term: float = 0.0

    def gammas(self, widths: Sequence[int]) -> list[float]:
        """Return, per layer of networks of these widths, what a term of a sum can lose, as a share."""
        return [self._gamma(n_inputs) for n_inputs in widths[:-1]]

    def _gamma(self, n_inputs: int) -> float:
        span = min(n_inputs, self.span or n_inputs)
        n_roundings = span + -(-n_inputs // span) + 8  # a few more than can occur
        return (1.0 + gamma(n_roundings, self.unit)) * (1.0 + self.of_term) - 1.0


#: Float32 products of 128 inputs at a time; float64 ones in any order, also the canonical one.
FLOAT32 = Arithmetic(UNIT, span=128)
FLOAT64 = Arithmetic(SMALL_UNIT)


@dataclass(frozen=True)
class ErrorModel:
    """What the error of a logit follows from, per layer of each of K networks.

    Attributes:
        widths: of the networks.
        gains: (L, K) the largest factor by which a layer lengthens a difference of inputs; S above.
        sizes: (L, K) the length of a layer's weights and biases; F above.
    """

    widths: tuple[int, ...]
    gains: NDArray[np.float64]
    sizes: NDArray[np.float64]

    @classmethod
    def of(cls, networks: DenseNetworks, spectral_bounds: SpectralBounds | None = None) -> ErrorModel:
        """Return the error model of float64 networks. A GPU has a faster way to bound the gains of hidden layers."""
        bound = spectral_bounds or _one_by_one
        *hidden, last = zip(networks.weights, networks.biases, strict=True)
        with np.errstate(over="ignore", invalid="ignore"):
            gains = [bound(weights) for weights, _ in hidden]
            sizes = [
                np.sqrt((weights**2).sum(axis=(1, 2)) + (biases**2).sum(axis=1)) for weights, biases in hidden
            ]
            columns = (last[0] ** 2).sum(axis=1)
            gains.append(np.sqrt(columns.max(axis=1)))
            sizes.append(np.sqrt((columns + last[1] ** 2).max(axis=1)))
        return cls(networks.widths, np.stack(gains) * _ROUNDED_UP, np.stack(sizes) * _ROUNDED_UP)

    def worst(self) -> ErrorModel:
        """Return the model of one network that is as bad as any of these; it needs one length a row and layer."""
        return ErrorModel(
            self.widths, self.gains.max(axis=1, keepdims=True), self.sizes.max(axis=1, keepdims=True)
        )

    @property
    def fits_float32(self) -> bool:
        """Whether float32 can hold all weights, and is far from its end."""
        return bool((self.sizes < HUGE).all())

    def logit_error(self, lengths: Sequence[NDArray[Any]], gammas: Sequence[float]) -> NDArray[np.float64]:
        """Return (n,) what no logit of any network is further from the canonical one than; infinite if not known.

        Args:
            lengths: per layer, (K, n) no less than the lengths of its computed inputs, a constant 1 included;
                (n,) where all networks have the same, as in the first layer. `input_lengths` makes them.
            gammas: per layer, what a term of its sums can lose, as a share; see `Arithmetic.gammas`.
        """
        error: Any = 0.0
        known: Any = True
        canonical = FLOAT64.gammas(self.widths)
        with np.errstate(over="ignore", invalid="ignore"):
            for layer, (length, share) in enumerate(zip(lengths, gammas, strict=True)):
                gain, size = self.gains[layer, :, np.newaxis], self.sizes[layer, :, np.newaxis]
                added = (share + canonical[layer]) * size + self._lost(layer)
                error = (gain + canonical[layer] * size) * error + added * length
                known &= np.maximum(size, 1.0) * length < HUGE
            errors: NDArray[np.float64] = np.where(known, error * _ROUNDED_UP, np.inf).max(axis=0)
        return errors

    def _lost(self, layer: int) -> NDArray[np.float64]:
        """Return (K, 1) what is lost below float32's range, per length of the input, which is at least 1."""
        n_inputs, n_outputs = self.widths[layer : layer + 2]
        lost: NDArray[np.float64] = (n_inputs + 2) * TINY * (4.0 * np.sqrt(n_outputs) + self.sizes[layer])
        return lost[:, np.newaxis]


def input_lengths(squares: NDArray[Any], n_inputs: int) -> NDArray[np.float64]:
    """Return lengths, a constant 1 included and rounded up, from float32 sums of so many squared inputs."""
    lengths: NDArray[np.float64] = np.sqrt(1.0 + squares.astype(np.float64))
    return lengths * (1.0 + 1e-6 + (n_inputs + 4) * UNIT)


def _one_by_one(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.array([spectral_bound(one) for one in weights])


def spectral_bound(weights: NDArray[np.float64]) -> float:
    """Return a number no less than the largest singular value of an (in, out) matrix, and little more.

    The largest eigenvalue of G = W'W, to the power of 2^p, is no more than the trace of G to that power, and
    no less than that over the width of G. G is squared p times, and divided by its trace so that it stays in range.
    """
    n_inputs, n_outputs = weights.shape
    size = float(np.abs(weights).max(initial=0.0))
    if size == 0.0:
        return 0.0
    scaled = weights / size
    power = scaled.T @ scaled if n_outputs <= n_inputs else scaled @ scaled.T
    logarithm = 0.0
    for squaring in range(SQUARINGS + 1):
        if squaring:
            power = power @ power
        trace = float(np.trace(power))
        power /= trace
        logarithm += math.ldexp(math.log(trace), -squaring)
    # What rounding changes in a product is a share of its trace, which is at most its width times the eigenvalue.
    rounding = 8.0 * n_inputs * n_outputs * SMALL_UNIT
    return float(size * math.exp(0.5 * logarithm) * (1.0 + 1e-9 + rounding))
