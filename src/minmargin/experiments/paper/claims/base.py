"""What a claim is, and how the findings that it rests on become one verdict."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from minmargin.experiments.paper.claims.measured import Measured


class Outcome(StrEnum):
    """How a claim came out."""

    HOLDS = "holds"
    PART = "holds in part"
    FAILS = "does not hold"
    UNMEASURED = "not measured"


class Verdict(NamedTuple):
    """How a claim came out, and the numbers that say so."""

    outcome: Outcome
    evidence: str


@dataclass(frozen=True)
class Claim:
    """An empirical claim of the paper.

    Attributes:
        name: short, and never changed.
        meaning: what is claimed, in our words.
        where: where it stands in the paper.
        needs: the experiments that decide it.
        test: the test that decides it, in words.
        decide: the test.
    """

    name: str
    meaning: str
    where: str
    needs: tuple[str, ...]
    test: str
    decide: Callable[[Measured], Verdict]


def unmeasured(why: str) -> Verdict:
    """Return the verdict where nothing can be told."""
    return Verdict(Outcome.UNMEASURED, why)


def graded(n_good: int, n_all: int, evidence: str) -> Verdict:
    """Return a verdict by how many of the parts are good: all, some, or none."""
    if n_good == n_all:
        return Verdict(Outcome.HOLDS, evidence)
    return Verdict(Outcome.PART if n_good else Outcome.FAILS, evidence)


def combine(findings: Sequence[Verdict], *, separator: str = "; ") -> Verdict:
    """Return one verdict: what holds in all its parts holds, what fails in all fails, anything else holds in part.

    With parts that were not measured it holds in part at best, and fails only if all others do.
    """
    evidence = separator.join(finding.evidence for finding in findings)
    outcomes = {finding.outcome for finding in findings}
    if outcomes <= {Outcome.UNMEASURED}:
        return unmeasured(evidence)
    if outcomes <= {Outcome.FAILS, Outcome.UNMEASURED}:
        return Verdict(Outcome.FAILS, evidence)
    return Verdict(Outcome.HOLDS if outcomes == {Outcome.HOLDS} else Outcome.PART, evidence)
