"""The learner of a campaign: kept by its name, or given again by the one who has it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from minmargin.campaign.settings import Settings
from minmargin.errors import InputError, listing, nearest
from minmargin.learners import LEARNERS, resolve_learner
from minmargin.learners.reference import is_reference, learner_named, make_learner


def learner_of(learner: Any, options: Mapping[str, Any] | None) -> Any:
    """Return what trains: an object as it is, what a reference makes, or the learner of a name, with its settings."""
    if isinstance(learner, str) and not is_reference(learner):
        resolve_learner(learner)  # a name that there is
    if not options:
        return learner_named(learner)
    if not isinstance(learner, str) or learner not in LEARNERS:
        named = learner if isinstance(learner, str) else f"a {type(learner).__name__}"
        raise InputError(
            f"learner_options is for learners with a name ({', '.join(LEARNERS)}), and learner is {named}. Leave it "
            "out."
        )
    from minmargin.learners.options import learner_with, option_names  # noqa: PLC0415 - imports scikit-learn

    known = option_names(learner)
    for name in options:
        if name not in known:
            raise InputError(
                f"learner_options has {name!r}, and learner {learner!r} has {listing(known, most=30)}."
                f"{nearest(name, known)}"
            )
    return learner_with(learner, options)


def find_learner(settings: Settings, folder: Path, at_hand: Any | None) -> Any | None:
    """Return the learner of the campaign in a folder; None if it is an object, and is not at hand.

    A function is code, and a folder may come from anybody: it is imported only if whoever opens the campaign names it.
    """
    named = settings.learner
    if not is_reference(named):
        kept = learner_of(named, settings.learner_options) if settings.learner_options else named
        return kept if at_hand is None else at_hand
    if at_hand is None:
        raise InputError(
            f"Campaign {str(folder)!r} is trained by {named}, which is code, and runs only if you name it too. "
            f"If you trust it, open the campaign with learner={named!r}."
        )
    if not is_reference(at_hand):
        return at_hand
    if at_hand != named:
        raise InputError(
            f"learner={at_hand} is not what trains campaign {str(folder)!r}, which is {named}. Name that one."
        )
    return make_learner(named, settings.learner_folder_of(folder))


def need_learner(settings: Settings, folder: Path, at_hand: Any | None) -> Any:
    """Return the learner, or say how to give it."""
    learner = find_learner(settings, folder, at_hand)
    if learner is None:
        raise InputError(
            f"Campaign {str(folder)!r} was begun with an object as its learner. Open it with "
            f"Campaign.open(folder, learner=...), or write one of {listing(LEARNERS)} or package.module:factory "
            "into settings.json."
        )
    return learner
