"""Votes: one label for a row that several people annotated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Vote:
    """One annotation of a row.

    Attributes:
        annotator: who made it; the last of an annotator's votes on a row counts. None votes for itself.
        label: the class that was chosen; None if none was, so that it is no vote.
    """

    annotator: int | None
    label: Any


@dataclass(frozen=True)
class Tie:
    """A row on which the annotators disagree evenly.

    Attributes:
        id: the row's id.
        votes: how many annotators chose each class.
    """

    id: int | str
    votes: dict[Any, int]


def count_votes(votes: Iterable[Vote]) -> dict[Any, int]:
    """Return how many annotators chose each class, most first.

    >>> count_votes([Vote(1, "a"), Vote(2, "b"), Vote(1, "b"), Vote(3, None)])
    {'b': 2}
    """
    last = {
        ("unknown", place) if vote.annotator is None else vote.annotator: vote.label
        for place, vote in enumerate(votes)
    }
    return dict(Counter(label for label in last.values() if label is not None).most_common())


def settle(counts: Mapping[int | str, Mapping[Any, int]]) -> tuple[dict[int | str, Any], list[Tie]]:
    """Return the label of each row that one class has most votes for, and the rows where two or more share the lead.

    >>> settle({"r1": {"a": 2, "b": 1}, "r2": {"a": 1, "b": 1}, "r3": {}})
    ({'r1': 'a'}, [Tie(id='r2', votes={'a': 1, 'b': 1})])
    """
    labels, ties = {}, []
    for identity, votes in counts.items():
        leaders = [label for label, n in votes.items() if n == max(votes.values())]
        if len(leaders) == 1:
            labels[identity] = leaders[0]
        elif leaders:
            ties.append(Tie(identity, dict(votes)))
    return labels, ties
