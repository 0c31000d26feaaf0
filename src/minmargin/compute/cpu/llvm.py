"""A small language for code that works on many rows in one register, written as LLVM instructions.

A compiler may turn a loop over rows into vector instructions, and its next version may not. So the operations in `simd`
and `reductions` are written out, with vectors of one width, which LLVM cuts to what the machine has. An expression of
`Lanes` is the code that computes it. `Code` has loops, and reads and writes.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import llvmlite.binding
from llvmlite import ir
from numba import types
from numba.core import cgutils

from minmargin import margins

#: Rows in a panel. Two vectors: then there are enough independent sums to keep two multipliers busy.
LANES = 32 if llvmlite.binding.get_host_cpu_features().get("avx512f") else 16
#: Rows in a panel of float64 numbers.
DOUBLE_LANES = LANES // 2

FLOAT = ir.FloatType()
FLOATS = ir.VectorType(FLOAT, LANES)
DOUBLES = ir.VectorType(ir.DoubleType(), DOUBLE_LANES)
INT = ir.IntType(64)
_INTS = ir.VectorType(ir.IntType(32), LANES)
_LONGS = ir.VectorType(INT, DOUBLE_LANES)


@dataclass(frozen=True)
class Lanes:
    """Numbers that a compiled function will hold, LANES floats or DOUBLE_LANES doubles.

    An expression of them is the code that computes it.
    """

    builder: Any
    value: Any

    def of(self, value: Any) -> Lanes:
        """Return an LLVM vector as an expression; a Python number stands for one in every lane."""
        if isinstance(value, Lanes):
            return value
        if isinstance(value, (int, float)):
            kind = FLOATS if self.value is None else self.value.type
            value = ir.Constant(kind, [float(value)] * kind.count)
        return Lanes(self.builder, value)

    def __add__(self, other: Any) -> Lanes:
        return self.of(self.builder.fadd(self.value, self.of(other).value))

    def __sub__(self, other: Any) -> Lanes:
        return self.of(self.builder.fsub(self.value, self.of(other).value))

    def __mul__(self, other: Any) -> Lanes:
        return self.of(self.builder.fmul(self.value, self.of(other).value))

    def __truediv__(self, other: Any) -> Lanes:
        return self.of(self.builder.fdiv(self.value, self.of(other).value))

    def above(self, other: Any) -> Any:
        """Return a mask of the lanes that are above; NaN is not."""
        return self.builder.fcmp_ordered(">", self.value, self.of(other).value)

    def where(self, mask: Any, other: Any) -> Lanes:
        """Return these lanes where the mask is set, and the other ones elsewhere."""
        return self.of(self.builder.select(mask, self.value, self.of(other).value))

    # Written as the comparisons that a machine's own minimum and maximum make.
    def lower(self, other: Any) -> Lanes:
        """Return the lower of each two lanes; the other one's if either is NaN."""
        return self.where(self.of(other).above(self), other)

    def higher(self, other: Any) -> Lanes:
        """Return the higher of each two lanes; the other one's if either is NaN."""
        return self.where(self.above(other), other)

    def times_plus(self, factor: Lanes, term: Any) -> Lanes:
        """Return self * factor + term, rounded once where the machine can."""
        return self._call("fmuladd", factor, self.of(term))

    def size(self) -> Lanes:
        """Return the absolute values."""
        return self._call("fabs")

    def root(self) -> Lanes:
        """Return the square roots."""
        return self._call("sqrt")

    def floor(self) -> Lanes:
        """Return the whole numbers next below."""
        return self._call("floor")

    def with_sign_of(self, other: Lanes) -> Lanes:
        """Return these sizes with the other ones' signs."""
        return self._call("copysign", other)

    def _call(self, name: str, *others: Lanes) -> Lanes:
        arguments = [self.value, *(other.value for other in others)]
        kind = self.value.type
        signature = ir.FunctionType(kind, [kind] * len(arguments))
        name = f"llvm.{name}.v{kind.count}f{32 if kind == FLOATS else 64}"
        function = cgutils.get_or_insert_function(self.builder.module, signature, name)
        return self.of(self.builder.call(function, arguments))

    def exp(self) -> Lanes:
        """Return e to the power of these, which must not be above 0: 2^n times a polynomial."""
        x = self.higher(-87.0)
        # Adding 1.5 * 2^23 leaves the nearest integer in the last bits, whence it moves to the exponent.
        rounding = 12582912.0
        shifted = x * (1.0 / math.log(2.0)) + rounding
        n = shifted - rounding
        high, low = 0.693359375, math.log(2.0) - 0.693359375
        r = n.times_plus(self.of(-low), n.times_plus(self.of(-high), x))
        series = self.of(1.0 / math.factorial(7))
        for power in range(6, -1, -1):
            series = series.times_plus(r, 1.0 / math.factorial(power))
        exponent, one = (ir.Constant(_INTS, [bits] * LANES) for bits in (23, 127 << 23))
        bits = self.builder.shl(self.builder.bitcast(shifted.value, _INTS), exponent)
        scale = self.builder.bitcast(self.builder.add(bits, one), FLOATS)
        return series * self.of(scale)

    def exp_in_order(self) -> Lanes:
        """Return the canonical e to the power of these doubles, step by step as `margins.exp_nonpositive` makes it."""
        lowest = self.of(margins.EXP_UNDERFLOW)
        below = lowest.above(self)
        x = lowest.where(below, self)  # NaN stays
        halvings = (x * margins.LOG2_E + 0.5).floor()
        r = (x - halvings * margins.LN2_HIGH) - halvings * margins.LN2_LOW
        series = self.of(margins.EXP_COEFFICIENTS[0])
        for coefficient in margins.EXP_COEFFICIENTS[1:]:
            series = series * r + coefficient
        mantissa = self.of(1.0) + (r + r * r * series)
        # As above, of 52 bits. It is exact, like the power of two that it becomes.
        shifted = halvings + 6755399441055744.0
        exponent, one = (ir.Constant(_LONGS, [bits] * DOUBLE_LANES) for bits in (52, 1023 << 52))
        bits = self.builder.shl(self.builder.bitcast(shifted.value, _LONGS), exponent)
        power = self.builder.bitcast(self.builder.add(bits, one), DOUBLES)
        return self.of(0.0).where(below, mantissa * self.of(power))


class Variable:
    """Lanes that change in a loop. LLVM keeps them in registers."""

    def __init__(self, code: Code, start: float = 0.0, kind: Any = FLOATS) -> None:
        self._code = code
        self._slot = cgutils.alloca_once(code.builder, kind)
        self.value = code.lanes(ir.Constant(kind, [start] * kind.count))

    @property
    def value(self) -> Lanes:
        """What the lanes hold at this point of the code."""
        return self._code.lanes(self._code.builder.load(self._slot))

    @value.setter
    def value(self, lanes: Any) -> None:
        self._code.builder.store(self._code.lanes(lanes).value, self._slot)


@dataclass(frozen=True)
class Code:
    """A function that is being written: its loops, and what it reads and writes."""

    context: Any
    builder: Any

    def lanes(self, value: Any) -> Lanes:
        """Return an LLVM vector as an expression; a Python number stands for a float in every lane."""
        return Lanes(self.builder, None).of(value)

    def data(self, numba_type: Any, argument: Any) -> Any:
        """Return the address of an array's first number; a number as it is."""
        if not isinstance(numba_type, types.Array):
            return argument
        return self.context.make_array(numba_type)(self.context, self.builder, argument).data

    def place(self, *terms: Any) -> Any:
        """Return a sum of places in an array; a pair stands for its product."""
        total = ir.Constant(INT, 0)
        for term in terms:
            factors = [integer(factor) for factor in (term if isinstance(term, tuple) else (term,))]
            total = self.builder.add(total, functools.reduce(self.builder.mul, factors))
        return total

    def load(self, array: Any, at: Any, vector: Any = FLOATS) -> Lanes:
        """Return neighboring numbers of an array, as many as the vector holds."""
        address = self.builder.gep(array, [integer(at)])
        value = self.builder.load(self.builder.bitcast(address, vector.as_pointer()))
        value.align = 4
        return self.lanes(value)

    def load_as(self, kind: Any, array: Any, at: Any, n: int) -> Lanes:
        """Return n numbers of an array as floats of one kind."""
        given = array.type.pointee
        values = self.load(array, at, ir.VectorType(given, n))
        if given == kind:
            return values
        convert = self.builder.fptrunc if kind == FLOAT else self.builder.fpext
        return self.lanes(convert(values.value, ir.VectorType(kind, n)))

    def load_spread(self, array: Any, at: Any) -> Lanes:
        """Return one number of an array in all lanes."""
        number = self.builder.load(self.builder.gep(array, [integer(at)]))
        n_lanes = LANES if number.type == FLOAT else DOUBLE_LANES
        nothing = ir.Constant(ir.VectorType(number.type, n_lanes), ir.Undefined)
        first = self.builder.insert_element(nothing, number, ir.Constant(ir.IntType(32), 0))
        return self.lanes(self.builder.shuffle_vector(first, nothing, order([0] * n_lanes)))

    def store(self, lanes: Lanes, array: Any, at: Any) -> None:
        """Set neighboring numbers of an array."""
        address = self.builder.gep(array, [integer(at)])
        self.builder.store(
            lanes.value, self.builder.bitcast(address, lanes.value.type.as_pointer())
        ).align = 4

    def prefetch(self, array: Any, at: Any) -> None:
        """Ask for the cache line of a number that will be read soon; beyond the array this does nothing."""
        byte = ir.IntType(8).as_pointer()
        flag = ir.IntType(32)
        signature = ir.FunctionType(ir.VoidType(), [byte, flag, flag, flag])
        function = cgutils.get_or_insert_function(self.builder.module, signature, "llvm.prefetch.p0i8")
        address = self.builder.bitcast(self.builder.gep(array, [integer(at)]), byte)
        self.builder.call(function, [address, *(ir.Constant(flag, kind) for kind in (0, 3, 1))])

    @contextmanager
    def loop(self, start: Any, stop: Any, step: Any = 1) -> Iterator[Any]:
        """Write what the `with` block writes into a loop; it is handed the running number."""
        run = [integer(number) for number in (start, stop, step)]
        with cgutils.for_range_slice(self.builder, *run, INT) as (place, _):
            yield place


def integer(value: Any) -> Any:
    """Return a Python number as an LLVM constant; anything else as it is."""
    return ir.Constant(INT, value) if isinstance(value, int) else value


def order(places: Sequence[int]) -> ir.Constant:
    """Return the places from which a shuffle takes its lanes."""
    return ir.Constant(ir.VectorType(ir.IntType(32), len(places)), list(places))


def function(write: Callable[..., Any], *given: Any, returns: Any = types.void) -> Any:
    """Return what numba asks of an intrinsic: its types, and what writes its instructions.

    `write` is handed the `Code`, then data pointers for arrays and LLVM integers for whole numbers.
    """
    taken = [each if isinstance(each, types.Array) else types.intp for each in given]

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        code = Code(context, builder)
        operands = [code.data(each, arguments[i]) for i, each in enumerate(signature.args)]
        returned = write(code, *operands)
        return context.get_dummy_value() if returned is None else returned

    return returns(*taken), generate
