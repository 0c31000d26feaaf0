"""Push and pull against servers that answer in hundreds of wrong ways: right, or an error that names the server."""

from __future__ import annotations

from fuzz.server_behaviours import KINDS
from fuzz.servers import behaviours, fuzz_apart


def test_every_answer_is_right_or_refused() -> None:
    """Some behaviours by a fixed seed; `make fuzz` tries more."""
    figures, faults = fuzz_apart(seed=20, most=200, seconds=30)
    assert faults == []
    assert (figures.raw, figures.hangs) == (0, 0)
    assert figures.right + figures.refused == figures.behaviours
    assert figures.refused >= figures.behaviours // 2, "answers are bent so that it matters"


def test_there_are_hundreds_of_behaviours_and_some_of_every_kind() -> None:
    found = behaviours()
    assert len({(each.kind, each.name) for each in found}) == len(found) > 1000
    assert {each.kind for each in found} == set(KINDS)
