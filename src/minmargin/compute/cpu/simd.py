"""Many rows in one register: the operations that compiled screens and the canonical kernel are made of.

A *panel* is `LANES` rows with their features turned, (D, LANES), so that one vector holds one feature of every row.
Products with panels need no sum across a vector. Nor is a vector left partly empty where there are few outputs: with 25
models of two classes, a matrix library that puts outputs into vectors wastes a fifth of each, and its logits go through
memory. Here the sums stay in registers from the first feature to the last.

What ends in `_in_order` is canonical: it is made of the same roundings on every machine. All else is not. Products are
fused with additions where the machine can do so, and what comes out may only dismiss rows (see `screen`).

Arrays are passed flat, with the place to start at, since a slice would cost more than the work on a panel.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba.extending import intrinsic
from numpy.typing import DTypeLike, NDArray

from minmargin.compute.compiled import compiled
from minmargin.compute.cpu.llvm import (
    DOUBLE_LANES,
    DOUBLES,
    FLOAT,
    LANES,
    Code,
    Variable,
    function,
    integer,
    order,
)

#: Outputs that are summed together. With two vectors each, they and their operands fit into sixteen registers.
GROUP = 5
#: Features that are turned together.
SQUARE = 8
CACHE_LINE = 64
#: How many panels ahead rows are fetched from memory.
AHEAD = 2


def pack(weights: NDArray[Any], constants: NDArray[Any], dtype: DTypeLike) -> NDArray[Any]:
    """Return (outputs, D) weights and their constants as `multiply` reads them: groups, features, outputs.

    The last group is filled up with outputs that nobody reads.
    """
    n_outputs, n_features = weights.shape
    n_groups = -(-n_outputs // GROUP)
    packed = np.zeros((n_groups * GROUP, n_features + 1), dtype=dtype)
    packed[:n_outputs, 0], packed[:n_outputs, 1:] = constants, weights
    return packed.reshape(n_groups, GROUP, -1).transpose(0, 2, 1).ravel()


@compiled
def aligned(room):  # type: ignore[no-untyped-def]
    """Return an array from its first cache line on, so that no vector straddles two; it must have one to spare."""
    return room[-room.ctypes.data % CACHE_LINE // room.itemsize :]


@intrinsic  # type: ignore[untyped-decorator]
def turn(typing_context: Any, rows: Any, at: Any, stride: Any, panel: Any, panel_at: Any) -> Any:
    """Set SQUARE features of a panel from rows[at + row * stride], ..., which are neighbors in memory."""

    def write(code: Code, rows: Any, at: Any, stride: Any, panel: Any, panel_at: Any) -> None:
        kind = panel.type.pointee
        n_lanes = LANES if kind == FLOAT else DOUBLE_LANES
        for first in range(0, n_lanes, SQUARE):
            square = []
            for row in range(first, first + SQUARE):
                square.append(code.load_as(kind, rows, code.place(at, (stride, row)), SQUARE).value)
                code.prefetch(rows, code.place(at, (stride, row + AHEAD * n_lanes)))
            for feature, values in enumerate(_turned(code.builder, square)):
                code.store(code.lanes(values), panel, code.place(panel_at, feature * n_lanes + first))

    return function(write, rows, at, stride, panel, panel_at)


def _turned(builder: Any, square: list[Any]) -> list[Any]:
    """Return the columns of a square: blocks off the diagonal are swapped, of half its size, a quarter, ..., one."""
    size = len(square)
    block = size // 2
    while block:
        swapped = list(square)
        left = order([i if not i & block else size + i - block for i in range(size)])
        right = order([i + block if not i & block else size + i for i in range(size)])
        for row in range(size):
            if not row & block:
                pair = square[row], square[row + block]
                swapped[row] = builder.shuffle_vector(*pair, left)
                swapped[row + block] = builder.shuffle_vector(*pair, right)
        square, block = swapped, block // 2
    return square


@intrinsic  # type: ignore[untyped-decorator]
def gather(typing_context: Any, like: Any, addresses: Any, first: Any, n_features: Any, panel: Any) -> Any:
    """Set a panel from columns that hold each feature by itself, from row `first` on.

    addresses: where in memory each column begins; like: any array of the columns' type.
    """

    def write(code: Code, like: Any, addresses: Any, first: Any, n_features: Any, panel: Any) -> None:
        with code.loop(0, n_features) as feature:
            address = code.builder.load(code.builder.gep(addresses, [feature]))
            column = code.builder.inttoptr(address, like.type)
            code.store(code.load_as(FLOAT, column, first, LANES), panel, code.place((feature, LANES)))
            code.prefetch(column, code.place(first, AHEAD * LANES))

    return function(write, like, addresses, first, n_features, panel)


@intrinsic  # type: ignore[untyped-decorator]
def squared_lengths(typing_context: Any, panel: Any, n_features: Any, squares: Any) -> Any:
    """Set squares[row] to 1 plus the sum of the row's squared features."""

    def write(code: Code, panel: Any, n_features: Any, squares: Any) -> None:
        # Two sums, for the additions of one to overlap with those of the other.
        even, odd = Variable(code, 1.0), Variable(code)
        with code.loop(0, code.builder.sdiv(n_features, integer(2))) as pair:
            for half, total in enumerate((even, odd)):
                x = code.load(panel, code.place((pair, 2 * LANES), half * LANES))
                total.value = x.times_plus(x, total.value)
        with code.loop(code.builder.and_(n_features, integer(-2)), n_features) as last:
            x = code.load(panel, code.place((last, LANES)))
            odd.value = x.times_plus(x, odd.value)
        code.store(even.value + odd.value, squares, 0)

    return function(write, panel, n_features, squares)


@intrinsic  # type: ignore[untyped-decorator]
def multiply(
    typing_context: Any, panel: Any, start: Any, stop: Any, weights: Any, at: Any, logits: Any, logits_at: Any
) -> Any:
    """Add to GROUP logits of a panel's rows what the features from `start` to `stop` contribute.

    Constants, then the weights of every feature, begin at weights[at]; from feature 0 on, logits begin as constants.
    A long product is added up span by span: the error grows with the longer of the sums, and a span of a panel
    stays in the nearest cache while all outputs read it.
    """

    def write(
        code: Code, panel: Any, start: Any, stop: Any, weights: Any, at: Any, logits: Any, logits_at: Any
    ) -> None:
        sums = [Variable(code) for _ in range(GROUP)]
        with code.loop(start, stop) as feature:
            x = code.load(panel, code.place((feature, LANES)))
            for output, total in enumerate(sums):
                weight = code.load_spread(weights, code.place(at, (feature, GROUP), GROUP + output))
                total.value = weight.times_plus(x, total.value)
        from_zero = code.builder.icmp_signed("==", start, integer(0))
        for output, total in enumerate(sums):
            place = code.place(logits_at, output * LANES)
            constant = code.load_spread(weights, code.place(at, output))
            code.store(total.value + constant.where(from_zero, code.load(logits, place)), logits, place)

    return function(write, panel, start, stop, weights, at, logits, logits_at)


@intrinsic  # type: ignore[untyped-decorator]
def multiply_in_order(
    typing_context: Any, panel: Any, n_features: Any, weights: Any, at: Any, logits: Any, logits_at: Any
) -> Any:
    """Set GROUP logits of a float64 panel's rows, as `multiply` does, feature by feature and without fusing."""

    def write(
        code: Code, panel: Any, n_features: Any, weights: Any, at: Any, logits: Any, logits_at: Any
    ) -> None:
        sums = [Variable(code, kind=DOUBLES) for _ in range(GROUP)]
        for output, total in enumerate(sums):
            total.value = code.load_spread(weights, code.place(at, output))
        with code.loop(0, n_features) as feature:
            x = code.load(panel, code.place((feature, DOUBLE_LANES)), DOUBLES)
            for output, total in enumerate(sums):
                weight = code.load_spread(weights, code.place(at, (feature, GROUP), GROUP + output))
                total.value = total.value + x * weight
        for output, total in enumerate(sums):
            code.store(total.value, logits, code.place(logits_at, output * DOUBLE_LANES))

    return function(write, panel, n_features, weights, at, logits, logits_at)


@intrinsic  # type: ignore[untyped-decorator]
def softmax_in_order(typing_context: Any, logits: Any, at: Any, n_outputs: Any, scores: Any) -> Any:
    """Set scores (n_outputs, DOUBLE_LANES) to the softmax of one model's logits, as `margins.softmax` makes it."""

    def write(code: Code, logits: Any, at: Any, n_outputs: Any, scores: Any) -> None:
        highest, total = Variable(code, -math.inf, DOUBLES), Variable(code, kind=DOUBLES)
        with code.loop(0, n_outputs) as output:
            logit = code.load(logits, code.place(at, (output, DOUBLE_LANES)), DOUBLES)
            highest.value = logit.higher(highest.value)
        with code.loop(0, n_outputs) as output:
            logit = code.load(logits, code.place(at, (output, DOUBLE_LANES)), DOUBLES)
            weight = (logit - highest.value).exp_in_order()
            code.store(weight, scores, code.place((output, DOUBLE_LANES)))
            total.value = total.value + weight
        with code.loop(0, n_outputs) as output:
            place = code.place((output, DOUBLE_LANES))
            code.store(code.load(scores, place, DOUBLES) / total.value, scores, place)

    return function(write, logits, at, n_outputs, scores)


@intrinsic  # type: ignore[untyped-decorator]
def sigmoid_in_order(typing_context: Any, logits: Any, at: Any, scores: Any) -> Any:
    """Set scores (2, DOUBLE_LANES) to both probabilities of a logit, as `margins.sigmoid_pair` makes them."""

    def write(code: Code, logits: Any, at: Any, scores: Any) -> None:
        logit = code.load(logits, at, DOUBLES)
        ratio = (logit.of(0.0) - logit.size()).exp_in_order()
        total = ratio + 1.0
        winner, loser, positive = logit.of(1.0) / total, ratio / total, logit.above(0.0)
        code.store(loser.where(positive, winner), scores, 0)
        code.store(winner.where(positive, loser), scores, DOUBLE_LANES)

    return function(write, logits, at, scores)
