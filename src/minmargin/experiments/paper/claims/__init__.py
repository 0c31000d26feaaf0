"""The claims ledger: every empirical claim of the paper, the test that decides it, and what was measured.

Nothing here is written by hand after the fact: a verdict follows from the results folder alone.
"""

from __future__ import annotations

from minmargin.experiments.paper.claims import datasets, gaussian, overall, theorem, tuning
from minmargin.experiments.paper.claims.base import Claim, Outcome, Verdict
from minmargin.experiments.paper.claims.measured import Measured

#: In the order of the paper; those about everything come first.
CLAIMS: tuple[Claim, ...] = (
    *overall.CLAIMS,
    *gaussian.CLAIMS,
    *theorem.CLAIMS,
    *datasets.IMAGE_CLAIMS,
    *datasets.BENCHMARK_CLAIMS,
    *tuning.CLAIMS,
    *datasets.LARGE_CLAIMS,
    *datasets.APPENDIX_CLAIMS,
)


def judge(measured: Measured) -> dict[str, Verdict]:
    """Return the verdict on each claim, by its name."""
    return {claim.name: claim.decide(measured) for claim in CLAIMS}


__all__ = ["CLAIMS", "Claim", "Measured", "Outcome", "Verdict", "judge"]
