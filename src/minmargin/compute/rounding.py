"""What floating-point numbers lose: the constants that every proof in this room is made of."""

from __future__ import annotations

#: Half the distance from 1 to the next float32, and to the next float64: what one rounding may change, as a share.
UNIT, SMALL_UNIT = 2.0**-24, 2.0**-53
TINY = 2.0**-126  # float32 may lose what is smaller
HUGE = 1e30  # a product this size might leave float32's range on the way
EXP_ERROR = 2.0**-21  # of the float32 exponential in `cpu.llvm`, as a share of its value; a test measures it
SLACK = 1e-12  # more than float64 loses between canonical logits and a canonical score


def gamma(n_roundings: int, unit: float) -> float:
    """Return how much of its size a term can lose or gain in so many roundings (Higham, 3.1)."""
    return n_roundings * unit / (1.0 - n_roundings * unit)
