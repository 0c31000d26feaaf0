"""Provenance: what a committee keeps of its training, so that it can select without training again.

Models that were trained elsewhere come without a labeled set, and perhaps without a base. Provenance says so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from minmargin.data.intake import Intake
from minmargin.data.rows import Matrix
from minmargin.learners.base import Preprocess
from minmargin.seeds import SeedTree
from minmargin.typing import Seed


@dataclass(frozen=True)
class Provenance:
    """All that a selection and its manifest need to know of the training, besides the models.

    Attributes:
        learner: the learner's name.
        intake: the form in which the models take rows.
        preprocess: what is done to rows before that.
        bootstrap_fraction: beta; None if the members were not drawn here.
        seeds: the seed tree that the draws came from, and that ties are broken with.
        sparse: whether the models were given CSR rows.
        labeled: returns what the manifest records of the labeled set; None if there is none.
        vectors: returns (N, D) the labeled rows as the learner's last step sees them; None if there are none.
        has_base: whether a model was trained on the whole labeled set. Without one, the members' mean predicts.
        identity: returns what tells these models from others where neither their arrays nor a labeled set do.
        member_names: (K,) what the members are called; None if they have no names.
    """

    learner: str
    intake: Intake
    preprocess: Preprocess
    bootstrap_fraction: float | None
    seeds: SeedTree
    sparse: bool
    labeled: Callable[[], dict[str, Any] | None]
    vectors: Callable[[], Matrix | None]
    has_base: bool = True
    identity: Callable[[], str] = str
    member_names: tuple[str, ...] | None = None

    @classmethod
    def elsewhere(
        cls,
        learner: str,
        intake: Intake,
        random_state: Seed,
        *,
        vectors: Matrix | None = None,
        has_base: bool,
        identity: Callable[[], str] = str,
        member_names: tuple[str, ...] | None = None,
    ) -> Provenance:
        """Return that of models that were trained elsewhere; `vectors` are of rows labeled there, if they are known."""
        return cls(
            learner,
            intake,
            preprocess="none",
            bootstrap_fraction=None,
            seeds=SeedTree.plant(random_state),
            sparse=False,
            labeled=partial(_given, None),
            vectors=partial(_given, vectors),
            has_base=has_base,
            identity=identity,
            member_names=member_names,
        )


def _given(value: Any) -> Any:
    """Return what is known already. A function that has a name can be sent to other processes."""
    return value
