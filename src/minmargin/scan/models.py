"""Models as a scan has them: with what it takes to show them rows."""

from __future__ import annotations

from dataclasses import dataclass

from minmargin.data.intake import Intake
from minmargin.learners import Preprocessor, Scorer
from minmargin.seeds import SeedTree


@dataclass(frozen=True)
class Models:
    """Trained models, and what it takes to show them rows.

    Attributes:
        scorer: the base and the members.
        intake: the form in which they take rows.
        preprocessor: what makes numbers of rows before; None if nothing does.
        n_classes: C.
        seeds: where ties are broken and chance comes from.
        has_base: whether there is a base; without one, the members' mean stands for it.
    """

    scorer: Scorer
    intake: Intake
    preprocessor: Preprocessor | None
    n_classes: int
    seeds: SeedTree
    has_base: bool = True
