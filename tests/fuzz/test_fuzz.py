"""Files of every kind are changed a few times each; `make fuzz` does so often, and its figures stand on a page."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from fuzz import page
from fuzz.run import fuzz
from fuzz.target import Change, FoundError, Target, Trial
from fuzz.targets import TARGETS
from minmargin.errors import InputError

ROOT = Path(__file__).parents[2]


def test_only_the_right_answer_or_an_error_that_names_the_file_comes_of_changed_files():
    found = fuzz(list(TARGETS), each=12, seconds=50)
    assert [each for figures in found for each in figures.found] == []
    assert {figures.target for figures in found if not figures.tried} == set()


def _target(answer, *, signed=False, check=lambda _: None):
    """Return a target of one file, whose intact answer is 1 and whose changed one is what `answer` gives."""

    def change(folder: Path, _: random.Random) -> Change:
        (folder / "file").write_text("changed")
        return Change("it", signed)

    def use(folder: Path):
        return 1 if (folder / "file").read_text() == "intact" else answer(folder)

    return Target("files", lambda folder: (folder / "file").write_text("intact"), change, use, check)


def _raise(error):
    raise error


def outcome(target, tmp_path):
    trial = Trial(target, tmp_path / "trial")
    return trial.outcome(trial.change(random.Random(0)))  # noqa: S311 - no secrets


def test_the_right_answer_and_an_error_with_the_file_are_allowed(tmp_path):
    assert outcome(_target(lambda _: 1), tmp_path) == "right"
    named = _target(lambda folder: _raise(InputError(f"'{folder}/file' is damaged.")))
    (tmp_path / "again").mkdir()
    assert outcome(named, tmp_path / "again") == "refused"


@pytest.mark.parametrize(
    ("target", "told"),
    [
        (_target(lambda _: 2), "another answer in silence: 2"),
        (_target(lambda _: _raise(InputError("No."))), "an error that names no file: No."),
    ],
)
def test_another_answer_and_an_error_without_the_file_are_not(target, told, tmp_path):
    with pytest.raises(FoundError) as caught:
        outcome(target, tmp_path)
    assert str(caught.value) == told


def test_other_errors_come_through_and_signed_files_may_say_something_else_that_is_sound(tmp_path):
    with pytest.raises(KeyError):
        outcome(_target(lambda _: {}["it"]), tmp_path)
    (tmp_path / "signed").mkdir()
    assert outcome(_target(lambda _: 2, signed=True), tmp_path / "signed") == "other"
    (tmp_path / "unsound").mkdir()
    with pytest.raises(ZeroDivisionError):
        outcome(
            _target(lambda _: 2, signed=True, check=lambda answer: 1 / (answer - 2)), tmp_path / "unsound"
        )


def test_the_page_has_the_figures_of_the_last_long_run():
    text = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
    assert page.table() in text
    kept = page.kept_figures()
    assert sum(each["tried"] for each in kept) >= 20_000
    assert [each for each in kept if each["raw"] or each["hangs"]] == []
