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

import functools
import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import DTypeLike, NDArray

from minmargin.compute.compiled import compiled
from minmargin.compute.cpu.llvm import (
    DOUBLE_LANES,
    DOUBLES,
    FLOAT,
    INT,
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


@intrinsic  # type: ignore[untyped-decorator]
def lowest_size(typing_context: Any, logits: Any, n_logits: Any, lowest: Any) -> Any:
    """Set lowest[row] to the smallest absolute value of a row's logits."""

    def write(code: Code, logits: Any, n_logits: Any, lowest: Any) -> None:
        best = Variable(code, math.inf)
        with code.loop(0, n_logits) as output:
            best.value = code.load(logits, code.place((output, LANES))).size().lower(best.value)
        code.store(best.value, lowest, 0)

    return function(write, logits, n_logits, lowest)


@intrinsic  # type: ignore[untyped-decorator]
def lowest_gap(typing_context: Any, scores: Any, n: Any, n_outputs: Any, zero_too: Any, lowest: Any) -> Any:
    """Set lowest[row] to the smallest difference between the two highest of a model's n_outputs scores, of n in all.

    With `zero_too`, a score of zero takes part that is not among them.
    """
    return function(_write_lowest_gap, scores, n, n_outputs, zero_too, lowest)


@intrinsic  # type: ignore[untyped-decorator]
def lowest_margin(
    typing_context: Any, logits: Any, n: Any, n_outputs: Any, zero_too: Any, lowest: Any
) -> Any:
    """Set lowest[row] to the smallest such difference of the softmax of a model's logits."""
    write = functools.partial(_write_lowest_gap, softmax=True)
    return function(write, logits, n, n_outputs, zero_too, lowest)


def _write_lowest_gap(
    code: Code, scores: Any, n: Any, n_outputs: Any, zero_too: Any, lowest: Any, *, softmax: bool = False
) -> None:
    best, first, second, total = (Variable(code, math.inf) for _ in range(4))
    zero_too = code.builder.trunc(zero_too, ir.IntType(1))
    with code.loop(0, n, n_outputs) as start:
        first.value = code.lanes(0.0).where(zero_too, -math.inf)
        second.value = -math.inf
        with code.loop(start, code.place(start, n_outputs)) as output:
            score, leader = code.load(scores, code.place((output, LANES))), first.value
            second.value = leader.lower(score).higher(second.value)
            first.value = leader.higher(score)
        gap = first.value - second.value
        if softmax:
            total.value = (code.lanes(0.0) - first.value).exp().where(zero_too, 0.0)
            with code.loop(start, code.place(start, n_outputs)) as output:
                logit = code.load(scores, code.place((output, LANES)))
                total.value = total.value + (logit - first.value).exp()
            gap = (code.lanes(1.0) - (second.value - first.value).exp()) / total.value
        best.value = gap.lower(best.value)
    code.store(best.value, lowest, 0)


@intrinsic  # type: ignore[untyped-decorator]
def add_scores(
    typing_context: Any, logits: Any, at: Any, n_outputs: Any, softmax: Any, scores: Any, sums: Any
) -> Any:
    """Set scores to one model's logits, or their softmax, and add them and their squares to the sums.

    scores: (n_outputs, LANES); sums: (2 * n_outputs, LANES), the sums of squares last.
    """

    def write(code: Code, logits: Any, at: Any, n_outputs: Any, softmax: Any, scores: Any, sums: Any) -> None:
        softmax = code.builder.trunc(softmax, ir.IntType(1))
        highest, total = Variable(code, -math.inf), Variable(code)
        with code.loop(0, n_outputs) as output:
            highest.value = code.load(logits, code.place(at, (output, LANES))).higher(highest.value)
        with code.loop(0, n_outputs) as output:
            weight = (code.load(logits, code.place(at, (output, LANES))) - highest.value).exp()
            code.store(weight, scores, code.place((output, LANES)))
            total.value = total.value + weight
        total.value = code.lanes(1.0) / total.value
        with code.loop(0, n_outputs) as output:
            place = code.place((output, LANES))
            logit = code.load(logits, code.place(at, place))
            score = (code.load(scores, place) * total.value).where(softmax, logit)
            code.store(score, scores, place)
            code.store(code.load(sums, place) + score, sums, place)
            further = code.place(place, (n_outputs, LANES))
            code.store(score.times_plus(score, code.load(sums, further)), sums, further)

    return function(write, logits, at, n_outputs, softmax, scores, sums)


@intrinsic  # type: ignore[untyped-decorator]
def add_margins(typing_context: Any, logits: Any, n_logits: Any, softmax: Any, sums: Any) -> Any:
    """Set sums over two-class models, of which m says how far the second class is ahead of the first.

    sums: (4, LANES), of m, of its square, of its size; and its smallest size. m is the difference of the two
    probabilities, or of the values -logit and logit.
    """

    def write(code: Code, logits: Any, n_logits: Any, softmax: Any, sums: Any) -> None:
        softmax = code.builder.trunc(softmax, ir.IntType(1))
        signed, squares, sizes, least = (Variable(code, start) for start in (0.0, 0.0, 0.0, math.inf))
        with code.loop(0, n_logits) as output:
            logit = code.load(logits, code.place((output, LANES)))
            ratio = (code.lanes(0.0) - logit.size()).exp()
            size = ((code.lanes(1.0) - ratio) / (ratio + 1.0)).where(softmax, logit.size() * 2.0)
            signed.value = signed.value + size.with_sign_of(logit)
            squares.value = size.times_plus(size, squares.value)
            sizes.value = sizes.value + size
            least.value = size.lower(least.value)
        for place, variable in enumerate((signed, squares, sizes, least)):
            code.store(variable.value, sums, place * LANES)

    return function(write, logits, n_logits, softmax, sums)


@intrinsic  # type: ignore[untyped-decorator]
def count_votes(
    typing_context: Any, logits: Any, n_logits: Any, n_outputs: Any, doubt: Any, votes: Any, in_doubt: Any
) -> Any:
    """Add to votes (n_outputs, LANES) one for the highest of every model's logits, or to in_doubt if it is too close.

    A vote is certain if the two highest logits differ by more than doubt[row].
    """

    def write(
        code: Code, logits: Any, n_logits: Any, n_outputs: Any, doubt: Any, votes: Any, in_doubt: Any
    ) -> None:
        first, second, winner, number = (Variable(code) for _ in range(4))
        with code.loop(0, n_logits, n_outputs) as start:
            first.value = second.value = code.lanes(-math.inf)
            winner.value = number.value = code.lanes(0.0)
            with code.loop(start, code.place(start, n_outputs)) as output:
                logit, leader = code.load(logits, code.place((output, LANES))), first.value
                winner.value = number.value.where(logit.above(leader), winner.value)
                second.value = leader.lower(logit).higher(second.value)
                first.value = leader.higher(logit)
                number.value = number.value + 1.0
            certain = (first.value - second.value).above(code.load(doubt, 0))
            code.store(code.load(in_doubt, 0) + code.lanes(0.0).where(certain, 1.0), in_doubt, 0)
            winner.value = winner.value.where(certain, -1.0)
            number.value = 0.0
            with code.loop(0, n_outputs) as output:
                place = code.place((output, LANES))
                other = code.builder.fcmp_unordered("!=", winner.value.value, number.value.value)
                code.store(code.load(votes, place) + code.lanes(0.0).where(other, 1.0), votes, place)
                number.value = number.value + 1.0

    return function(write, logits, n_logits, n_outputs, doubt, votes, in_doubt)


@intrinsic  # type: ignore[untyped-decorator]
def roots(typing_context: Any, squares: Any, scale: Any, out: Any) -> Any:
    """Set out[row] to scale[0] times the square root of squares[row]."""

    def write(code: Code, squares: Any, scale: Any, out: Any) -> None:
        code.store(code.load(squares, 0).root() * code.load_spread(scale, 0), out, 0)

    return function(write, squares, scale, out)


@intrinsic  # type: ignore[untyped-decorator]
def doubtful(typing_context: Any, reduced: Any, squares: Any, limits: Any) -> Any:
    """Return a bit for every row that is not surely above what is allowed, or whose length is beyond the longest.

    limits: allowed, the square of the error's slope, the square of the longest length. A row is sure if it is above
    what is allowed by more than slope * length; squares on both sides need no root. NaN is never sure.
    """

    def write(code: Code, reduced: Any, squares: Any, limits: Any) -> Any:
        allowed, slope, longest = (code.load_spread(limits, place) for place in range(3))
        length, excess = code.load(squares, 0), code.load(reduced, 0) - allowed
        sure = [excess.above(0.0), (excess * excess).above(slope * length), longest.above(length)]
        bits = code.builder.not_(functools.reduce(code.builder.and_, sure))
        return code.builder.zext(code.builder.bitcast(bits, ir.IntType(LANES)), INT)

    return function(write, reduced, squares, limits, returns=types.intp)
