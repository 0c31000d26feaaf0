"""What was expected before anybody looked at a result. `verdicts` holds the results to it."""

from __future__ import annotations

from typing import NamedTuple

#: How far a mean area may lie from a published one, for the two strategies that both have.
NEAR = 0.003
#: Areas that differ by less than this are called alike.
ALIKE = 0.002


class Hypothesis(NamedTuple):
    """A sentence that results can contradict.

    Attributes:
        name: by which `verdicts` finds its check.
        table: which published table it is about.
        text: the sentence.
    """

    name: str
    table: str
    text: str


HYPOTHESES = (
    Hypothesis(
        "near",
        "rebenchmark",
        f"By their rules and their area, random and margin lie within {NEAR} of what they report, on both sets.",
    ),
    Hypothesis(
        "margin beats random",
        "rebenchmark",
        "One label at a time, margin has a larger area than random, on both sets.",
    ),
    Hypothesis(
        "members add nothing",
        "rebenchmark",
        f"One label at a time, min-margin is alike to margin, to {ALIKE}, on both sets: there is no batch whose rows "
        "could be too much alike.",
    ),
    Hypothesis(
        "batches cost little",
        "rebenchmark",
        f"With batches of 50, margin loses less than {NEAR} against one label at a time, on both sets.",
    ),
    Hypothesis(
        "spread keeps up",
        "rebenchmark",
        f"With batches of 50, spread is not below margin by more than {ALIKE}, on both sets.",
    ),
    Hypothesis(
        "margin wins",
        "alpbench",
        "With each learner, at each size, margin wins against random on more sets than it loses.",
    ),
    Hypothesis(
        "members of its own",
        "alpbench",
        "With random forests, min-margin of ten bootstrap forests wins against their min-margin, of ten trees of one "
        "forest, on more sets than it loses.",
    ),
    Hypothesis(
        "spread does not lose",
        "alpbench",
        "With logistic regression, spread wins against margin on at least as many sets as it loses.",
    ),
)
