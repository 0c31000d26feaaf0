"""The steps of the proof of section 3's theorem, each as a number that can be compared with what the paper claims.

m labeled rows of each class, angles in radians; errors are expected squared angles of a boundary. What the numbers
show is told in docs/theorem.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import integrate, stats

#: How many candidates there are, as a power of m in 12 * B * m^power: the theorem's pool, and the appendix's.
POOL_POWERS = {"12Bm": 1, "12Bm2": 2}

_FAR = 2000  # "from m on" is looked at up to here


def batch_size(m: int) -> int:
    """Return the smallest whole B that the theorem allows: 3 m^2 ln m, rounded up."""
    return math.ceil(3 * m**2 * math.log(m))


def n_candidates(m: int, pool_factor: str) -> int:
    """Return the smallest pool that the theorem ("12Bm") or its appendix ("12Bm2") allows."""
    return 12 * batch_size(m) * int(m ** POOL_POWERS[pool_factor])


def base_error(m: int) -> float:
    """Return E(h_margin), the error of the boundary between the innermost rows: the paper's closed form."""
    return math.pi**2 * m / (8 * (m + 1)) / ((m + 1) * (m + 2))


def best_member_error(m: int) -> float:
    """Return E(h_M), the error of the best of all m^2 bootstrap boundaries, exactly; the paper only bounds it.

    Put both classes' distances from the true boundary on one line. The best boundary is half the smallest gap between
    two neighbors of different classes. If there are c such pairs, all their gaps pass t with probability (1 - c t)^2m
    (in units of the line), which gives the mean square 2 / (c^2 (2m+1) (2m+2)); c + 1 is the number of runs in a random
    order of m and m.
    """
    orders = math.comb(2 * m, m)
    mean = 0.0
    for k in range(1, m + 1):
        even = 2 * math.comb(m - 1, k - 1) ** 2 / orders  # 2 k runs
        odd = 2 * math.comb(m - 1, k - 1) * math.comb(m - 1, k) / orders  # 2 k + 1 runs
        mean += even / (2 * k - 1) ** 2 + odd / (2 * k) ** 2
    return (math.pi / 4) ** 2 * 2 * mean / ((2 * m + 1) * (2 * m + 2))


def in_units(bound: float, m: int) -> float:
    """Return a bound of the paper, such as 7 pi^2 / 64, over (m + 1) (m + 2)."""
    return bound * math.pi**2 / ((m + 1) * (m + 2))


def margin_bound(m: int) -> float:
    """Return what the paper says margin's best squared angle is at least, in expectation."""
    return in_units(7 / 64, m)


def min_margin_bound(m: int) -> float:
    """Return what the paper says min-margin's best squared angle is at most, in expectation."""
    return in_units(13 / 128, m)


def pool_term(m: int, pool_factor: str) -> float:
    """Return (B pi / |Z|)^2, what the proof allows for the width of a batch."""
    return (batch_size(m) * math.pi / n_candidates(m, pool_factor)) ** 2


def lemma_1(m: int) -> float:
    """Return E[min_j (1/4 - u_j)^2] for m uniform numbers, exactly.

    The paper has the same integrals, but 16 in the place of 18 in the second one.
    """
    first = 0.5 - math.ldexp(m**2 + 5 * m + 8, -m - 4)
    second = math.ldexp(m**2 + 7 * m + 18, -m - 4)
    return (first + second) / ((m + 1) * (m + 2))


def lemma_1_by_integration(m: int) -> float:
    """Return the same by numerical integration of 2 t P(no number is within t of 1/4)."""

    def left(t: float) -> float:
        return 2 * t * math.pow(1 - min(2 * t, 0.25 + t), m)

    parts = [(0, 0.25), (0.25, 0.75)]
    return float(sum(integrate.quad(left, *part, epsabs=0, epsrel=1e-10)[0] for part in parts))


def lemma_1_bound(m: int) -> float:
    """Return the bound of Lemma 1."""
    return 1.01 / (2 * (m + 1) * (m + 2))


def lemma_2(m: int) -> float:
    """Return (1 - 1/m^2)^B for B = 3 m^2 ln m, not rounded: the largest that the lemma has to bound."""
    return math.exp(3 * m**2 * math.log(m) * math.log1p(-1 / m**2))


def lemma_2_bound(m: int) -> float:
    """Return the bound of Lemma 2."""
    return 1 / (16 * (m + 1) * (m + 2))


def middle_row(m: int) -> dict[str, float]:
    """Return the law of the floor(m/2)-th row of a class: the paper's moments, the right ones, and the tail it bounds.

    The k-th of m uniform numbers is Beta(k, m + 1 - k). The paper's Beta(k, m - k) is the law of one number fewer.
    """
    k = m // 2
    law, half = stats.beta(k, m + 1 - k), math.pi / 2
    mean, variance = _beta_moments(k, m + 1 - k)
    mean_in_paper, variance_in_paper = _beta_moments(k, m - k)
    return {
        "mean": half * mean,
        "mean_in_paper": half * mean_in_paper,
        "variance": half**2 * variance,
        "variance_in_paper": half**2 * variance_in_paper,
        "tail": float(law.cdf(0.25) + law.sf(0.75)),
        "tail_by_chebyshev": middle_row_chebyshev(m),
        "tail_in_paper": 32 / (m + 1),
    }


def middle_row_chebyshev(m: int) -> float:
    """Return what Chebyshev's inequality says of a middle row that is pi/8 or more away from pi/4.

    Its mean is not pi/4, so the second moment about pi/4 is the variance plus the squared distance of the mean.
    """
    mean, variance = _beta_moments(m // 2, m + 1 - m // 2)
    return (variance + (mean - 0.5) ** 2) / 0.25**2


def best_member_bound(m: int) -> float:
    """Return the proof's bound on E(h_M) just before it is rounded up to 5 pi^2 / 64 (m+1) (m+2)."""
    tail = 32 / (m + 1)
    return in_units(1.01 / 32 * (1 - tail) + tail / 8, m)


def holds_from(claim: Callable[[int], bool], first: int = 2) -> int:
    """Return the m from which a claim holds without a break, as far as m = 2000."""
    last_failure = max((m for m in range(first, _FAR + 1) if not claim(m)), default=first - 1)
    return last_failure + 1


def check_proof(sizes: Sequence[int], rng: np.random.Generator, *, n_samples: int = 20_000) -> dict[str, Any]:
    """Return every step's numbers for each m, and from which m on each step holds; ready for JSON."""
    return {
        "lemma_1": [_lemma_1_line(m, rng, n_samples) for m in sizes],
        "lemma_2": [
            {"m": m, "value": lemma_2(m), "bound": lemma_2_bound(m), "holds": lemma_2(m) <= lemma_2_bound(m)}
            for m in sizes
        ],
        "middle_row": [{"m": m, **middle_row(m)} for m in sizes],
        "best_member": [
            {"m": m, "exact": best_member_error(m), "bound_in_paper": in_units(5 / 64, m)} for m in sizes
        ],
        "holds_from": {
            "lemma 1": holds_from(lambda m: lemma_1(m) <= lemma_1_bound(m)),
            "lemma 2": holds_from(lambda m: lemma_2(m) <= lemma_2_bound(m)),
            "lemma 2, its last step: 17 m^2 >= 16 (m+1) (m+2)": holds_from(
                lambda m: 17 * m**2 >= 16 * (m + 1) * (m + 2)
            ),
            "E(h_margin) >= 15 pi^2 / 128 (m+1) (m+2)": holds_from(lambda m: 16 * m >= 15 * (m + 1)),
            "P[middle row far from pi/4] <= 32 / (m+1)": holds_from(
                lambda m: middle_row_chebyshev(m) <= 32 / (m + 1)
            ),
            "E(h_M) bound <= 5 pi^2 / 64 (m+1) (m+2)": holds_from(
                lambda m: best_member_bound(m) <= in_units(5 / 64, m), first=31
            ),
            **{
                f"(B pi / |Z|)^2 <= pi^2 / 128 (m+1) (m+2), |Z| = {factor}": holds_from(
                    lambda m, factor=factor: pool_term(m, factor) <= in_units(1 / 128, m)  # type: ignore[misc]
                )
                for factor in POOL_POWERS
            },
        },
    }


def _lemma_1_line(m: int, rng: np.random.Generator, n_samples: int) -> dict[str, Any]:
    sampled = ((0.25 - rng.random((n_samples, m))) ** 2).min(axis=1)
    return {
        "m": m,
        "exact": lemma_1(m),
        "by_integration": lemma_1_by_integration(m),
        "sampled": float(sampled.mean()),
        "sampled_error": float(stats.sem(sampled)),
        "bound": lemma_1_bound(m),
        "holds": lemma_1(m) <= lemma_1_bound(m),
    }


def _beta_moments(a: int, b: int) -> tuple[float, float]:
    """Return the mean and the variance of a Beta law."""
    return a / (a + b), a * b / ((a + b) ** 2 * (a + b + 1))
