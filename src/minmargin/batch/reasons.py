"""Why rows were picked, in words."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count, repeat
from typing import TYPE_CHECKING

from minmargin.strategies import entry_of

if TYPE_CHECKING:
    from minmargin.batch.batch import Batch

DRAWN = "drawn by chance"


def reasons_of(
    batch: Batch, class_scores: Sequence[tuple[float, float]] | None = None, *, first_rank: int = 1
) -> list[str]:
    """Return why each row of a batch was picked.

    Args:
        batch: whose ranks are counted from `first_rank`.
        class_scores: those of the two classes in contest, of whoever decided; None if they are not at hand.
        first_rank: the rank of its first row.
    """
    strategy = batch.manifest.get("settings", {}).get("strategy", "")
    names, audit = batch.member_names, batch.audit
    return [
        DRAWN if drawn else reason(strategy, rank, score, _called(member, names), (first, second), scores)
        for rank, score, member, (first, second), drawn, scores in zip(
            count(first_rank),
            batch.scores.tolist(),
            batch.member.tolist(),
            batch.top_classes.tolist(),
            repeat(False) if audit is None else audit.tolist(),
            repeat(None) if class_scores is None else class_scores,
            strict=False,  # the ranks have no end
        )
    ]


def reason(
    strategy: str,
    rank: int,
    score: float,
    member: str | None,
    classes: tuple[object, object],
    class_scores: tuple[float, float] | None = None,
) -> str:
    """Return why one row was picked.

    >>> reason("min-margin", 1, 0.0028, "member 7", ("cat", "dog"), (0.4121, 0.4093))
    'member 7 gives 0.412 to cat, 0.409 to dog'
    >>> reason("committee", 1, 0.04, None, ("cat", "dog"), (13.0, 12.0))
    '13 votes for cat, 12 for dog'
    >>> reason("margin", 1, 0.1, None, ("cat", "dog"))
    'the base is torn between cat and dog'
    >>> reason("spread", 5, -0.1234, None, ("cat", "dog"))
    'the members on average are torn between cat and dog; 0.123 from the nearest pick before it'
    >>> reason("random", 1, 0.001, None, ("cat", "dog"))
    'drawn by chance'

    Args:
        strategy: that picked it.
        rank: in its batch, from 1.
        score: that it was picked by.
        member: who decided, if a single one did.
        classes: the two in contest.
        class_scores: what these have, of whoever decided; None if that is not at hand.
    """
    entry = entry_of(strategy)
    contest = "model" if entry is None else entry.contest
    if contest == "chance":
        return DRAWN
    first, second = classes
    who, several = _who(contest, member)
    if class_scores is None:
        why = f"{who} {'are' if several else 'is'} torn between {first} and {second}"
    elif contest == "votes":
        why = f"{class_scores[0]:.0f} votes for {first}, {class_scores[1]:.0f} for {second}"
    else:
        high, low = (f"{each:.{_digits_apart(*class_scores)}f}" for each in class_scores)
        why = f"{who} {'give' if several else 'gives'} {high} to {first}, {low} to {second}"
    if entry is None or not entry.apart:
        return why
    return (
        f"{why}; the first pick" if rank == 1 else f"{why}; {0.0 - score:.3g} from the nearest pick before it"
    )


def _called(member: int, names: Sequence[str] | None) -> str | None:
    if member < 0:
        return None
    return f"member {member}" if names is None else names[member]


def _who(contest: str, member: str | None) -> tuple[str, bool]:
    """Return whose classes are in contest, and whether these are several."""
    if member is not None:
        return member, False
    if contest == "mean":
        return "the members on average", True
    return ("the members", True) if contest == "votes" else ("the base", False)


def _digits_apart(first: float, second: float) -> int:
    """Return the digits after the point by which two numbers can be told apart, six at most."""
    return next((digits for digits in range(3, 6) if f"{first:.{digits}f}" != f"{second:.{digits}f}"), 6)
