"""Settings that are changed between rounds; each is declared with what a change means, or why it stays.

The journal is told first, with what held before. A process that is killed then leaves a change that was written down
and never made, which does no harm: what the journal says of the rounds before it is true all the same. The next change
of that setting takes its place. That they are made is written down last, so that what was changed in settings.json by
hand can be told from it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from minmargin.campaign.beginning import check_given_rounds, check_rounds
from minmargin.campaign.folder import CampaignFolder
from minmargin.campaign.journal import Change
from minmargin.campaign.learner import need_learner
from minmargin.campaign.measuring import training_of
from minmargin.campaign.settings import FILE, GIVEN, SETTINGS, Settings, as_names, check_setting
from minmargin.campaign.sizes import size_by_now
from minmargin.campaign.values import from_text, to_text
from minmargin.checks import check_count
from minmargin.errors import InputError, listing, nearest, warn
from minmargin.files import LockError
from minmargin.strategies import distinct_rows, resolve_strategy

#: What a change means, for each setting that may be changed.
MEANINGS = {name: each.meaning for name, each in SETTINGS.items() if each.meaning is not None}


def change_settings(before: Settings, asked: Mapping[str, Any]) -> Settings:
    """Return settings with changes, each checked by itself, or say which may not be changed, and why.

    A new strategy has its own options: those of the one before go, and whether copies are passed over is as usual for
    it, where it was as usual before.
    """
    for name, value in asked.items():
        if name not in SETTINGS:
            may = [each for each in MEANINGS if not (before.given and SETTINGS[each].of_training)]
            meant = nearest(name, may) or f" Those that may be changed are {listing(may, most=len(may))}."
            raise InputError(f"There is no setting {name!r} to change.{meant}")
        if name not in MEANINGS:
            raise InputError(f"{name} stays as it is. {SETTINGS[name].reason}")
        if before.given and SETTINGS[name].of_training:
            raise InputError(
                f"{name} is of no use with learner={GIVEN!r}, which trains nothing. Leave it out."
            )
        check_setting(name, list(as_names(value)) if name == "keep" else value)
    if "batch_size" in asked:
        check_count("batch_size", asked["batch_size"], least=1)
    if asked.get("distinct", False) is None and not before.given:
        raise InputError("distinct=None must be true or false, where models are trained.")
    values = dict(asked)
    if "keep" in values:
        values["keep"] = as_names(values["keep"])
    if "strategy" in values and values["strategy"] != before.strategy:
        values.setdefault("strategy_options", {})
        new = resolve_strategy(values["strategy"], **values["strategy_options"])
        old = resolve_strategy(before.strategy, **before.strategy_options)
        if not before.given and before.distinct == distinct_rows(None, old):
            values.setdefault("distinct", distinct_rows(None, new))
    return replace(before, **values)


def make_changes(path: Path, asked: Mapping[str, Any], at_hand: Any | None) -> tuple[str, ...]:
    """Change settings of the campaign in a folder, and return what each change means.

    `at_hand` is the learner, where it is an object. The folder must be locked.
    """
    before = Settings.read(path)
    files = CampaignFolder(path, before)
    if isinstance(asked.get("batch_size"), str):
        asked = {**asked, "batch_size": size_by_now(asked["batch_size"], files)}
    after, journal = change_settings(before, asked), files.journal
    if after.given:
        check_given_rounds(after, path)
    else:
        classes = [from_text(name, before.label_kind) for name in journal.classes()]
        learner = need_learner(before, path, at_hand)
        check_rounds(after, path, training_of(files.labeled(), after, learner, classes))
    made = changes_between(before, after, len(journal.rounds()))
    if made:
        journal.add_changes(made)
        after.write(path)
        journal.know_settings(after)
    return explain(made)


def take_in_edits(files: CampaignFolder, lock: Callable[[], AbstractContextManager[object]]) -> None:
    """Write down what was changed in settings.json by hand, and warn of what it means; or say that it may not be.

    The journal knows the settings since they were last written down; one without a seal knows none. `lock` keeps other
    processes out, or does nothing where the folder is locked already.
    """
    path, known, now = files.path / FILE, files.journal.settings(), files.settings.plain()
    n_rounds = len(files.journal.rounds())
    edits = [
        Change(n_rounds, name, known[name], now[name])
        for name in now
        if not SETTINGS[name].may_move and known.get(name, now[name]) != now[name]
    ]
    for each in edits:
        setting = SETTINGS[each.name]
        if setting.reason and not (setting.may_be_named and each.before is None):
            raise InputError(
                f"{str(path)!r} has {each.name}={json.dumps(each.after)}, and the campaign began with "
                f"{json.dumps(each.before)}. Put it back. {setting.reason}"
            )
    _check_kinds(files)
    if not edits:
        return
    try:
        strategy = resolve_strategy(files.settings.strategy, **files.settings.strategy_options)
        strategy.shortlists(check_count("batch_size", files.settings.batch_size, least=1))
    except InputError as error:
        raise InputError(f"{str(path)!r} was changed, and cannot be used: {error}") from error
    written = {each.name: (each.before, each.after) for each in files.journal.changes()}
    by_hand = [
        each
        for each in edits
        if each.name in MEANINGS and written.get(each.name) != (each.before, each.after)
    ]
    with suppress(LockError), lock():  # else whoever opens it next writes it down
        files.journal.add_changes(by_hand)
        files.journal.know_settings(files.settings)
    for meaning in explain(by_hand):
        warn(f"{str(path)!r} was changed: {meaning}")


def _check_kinds(files: CampaignFolder) -> None:
    """Raise an error unless all classes and ids of the journal are of the kinds that the settings say."""
    journal, settings = files.journal, files.settings
    for what, texts, kind in (
        ("class", journal.classes(), settings.label_kind),
        ("id", journal.offers(), settings.id_kind),
    ):
        wrong = next((text for text in texts if to_text(text, kind) != text), None)
        if wrong is not None:
            raise InputError(
                f"{str(journal.path)!r} has {what} {wrong[:80]!r}, and {FILE} says that it is of kind {kind!r}. Put "
                "back a copy of the folder."
            )


def changes_between(before: Settings, after: Settings, n_rounds: int) -> list[Change]:
    """Return what differs, as the journal writes it down after so many rounds."""
    old, new = asdict(before), asdict(after)
    return [
        Change(n_rounds, name, _plain(old[name]), _plain(new[name])) for name in old if old[name] != new[name]
    ]


def changes_made(changes: Sequence[Change], now: Settings) -> list[Change]:
    """Return what became of settings after each round: one change of each, and none that was taken back or never made.

    `changes` are those of the journal, in their order. One that was never made is not what the next one began with.
    """
    held = now.plain()
    made: dict[tuple[int, str], Change] = {}
    for each in reversed(changes):
        if each.after != held[each.name]:
            continue
        held[each.name] = each.before
        last = made.pop((each.round, each.name), each)
        made[each.round, each.name] = each._replace(after=last.after)
    return [each for each in reversed(made.values()) if each.before != each.after]


def explain(changes: Sequence[Change]) -> tuple[str, ...]:
    """Return what each change means, in a sentence."""
    return tuple(
        MEANINGS[each.name](each.before, each.after, f"from round {each.round + 1} on") for each in changes
    )


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
