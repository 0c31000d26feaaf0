"""Operations on vectors of rows, from the logits of a panel to one number per row: `rough_scores` is made of them.

The numbers are those of `compute.reductions`. None is canonical: what comes out may only dismiss rows.
"""

from __future__ import annotations

import functools
import math
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from minmargin.compute.cpu.llvm import INT, LANES, Code, Variable, function


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
def count_sides(typing_context: Any, logits: Any, n_logits: Any, doubt: Any, lead: Any, in_doubt: Any) -> Any:
    """Set in_doubt[row] to the number of logits within doubt[row] of zero, and lead[row] by the signs of the others.

    A lead is how many more of them have one sign than the other.
    """

    def write(code: Code, logits: Any, n_logits: Any, doubt: Any, lead: Any, in_doubt: Any) -> None:
        limit, ahead, unsure = code.load(doubt, 0), Variable(code), Variable(code)
        with code.loop(0, n_logits) as output:
            logit = code.load(logits, code.place((output, LANES)))
            certain = logit.size().above(limit)
            ahead.value = ahead.value + code.lanes(1.0).with_sign_of(logit).where(certain, 0.0)
            unsure.value = unsure.value + code.lanes(0.0).where(certain, 1.0)
        code.store(ahead.value.size(), lead, 0)
        code.store(unsure.value, in_doubt, 0)

    return function(write, logits, n_logits, doubt, lead, in_doubt)


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
