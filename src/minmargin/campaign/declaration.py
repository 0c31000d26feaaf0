"""How a setting of a campaign is declared: which values it takes, and whether it may be changed between rounds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import Field, dataclass
from typing import Any, NamedTuple, TypeAlias, get_args

from minmargin.campaign.values import KINDS
from minmargin.data.reading import Reading
from minmargin.errors import InputError, listing
from minmargin.labeled import LARGEST_FRACTION
from minmargin.learners import Preprocess

#: The sentence on a change: made of the value before, the one after, and the words "from round N on".
Meaning: TypeAlias = Callable[[Any, Any, str], str]

_KEY = "declaration"


class Rule(NamedTuple):
    """Which values a setting takes, as JSON has them, and what they are called."""

    fits: Callable[[Any], bool]
    wanted: str


@dataclass(frozen=True)
class Declaration:
    """What holds for a setting.

    Attributes:
        rule: which values it takes.
        reason: why it stays as it is; empty if it may be changed.
        meaning: what a change of it means; None if it stays.
        of_training: whether it is changed only where models are trained.
        may_move: whether it may be changed in settings.json all the same, since files may be moved.
        may_be_named: whether it may get a value there, if it had none.
    """

    rule: Rule
    reason: str = ""
    meaning: Meaning | None = None
    of_training: bool = False
    may_move: bool = False
    may_be_named: bool = False


def stays(
    rule: Rule, reason: str, *, may_move: bool = False, may_be_named: bool = False
) -> dict[str, Declaration]:
    """Declare a setting that stays as it is: the metadata of its field."""
    return {_KEY: Declaration(rule, reason=reason, may_move=may_move, may_be_named=may_be_named)}


def changes(rule: Rule, meaning: Meaning, *, of_training: bool = False) -> dict[str, Declaration]:
    """Declare a setting that may be changed between rounds: the metadata of its field."""
    return {_KEY: Declaration(rule, meaning=meaning, of_training=of_training)}


def declared(field: Field[Any]) -> Declaration:
    """Return what is declared of the setting in a field."""
    declaration = field.metadata[_KEY]
    assert isinstance(declaration, Declaration)
    return declaration


# More would take all memory long before anything is picked.
_MOST = 10**9


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_fraction(value: Any) -> bool:
    return not isinstance(value, bool) and isinstance(value, (int, float)) and 0 < value <= LARGEST_FRACTION


def _is_plain(value: Any) -> bool:
    """Return whether JSON gives back this object as it is: a dict by classes would have texts for keys."""
    return isinstance(value, dict) and all(
        isinstance(name, str) and (each is None or isinstance(each, (bool, int, float, str)))
        for name, each in value.items()
    )


def _is_reading(value: Any) -> bool:
    try:
        return isinstance(value, dict) and Reading(**value).describe() == value
    except (InputError, TypeError):
        return False


TEXT = Rule(_is_text, "a text")
TEXT_OR_NULL = Rule(lambda value: value is None or _is_text(value), "a text or null")
KIND = Rule(lambda value: value in KINDS, f"one of {listing(KINDS)}")
PATHS = Rule(lambda value: _is_texts(value) and bool(value), "a list of paths")
COLUMNS = Rule(_is_texts, "a list of columns")
COLUMNS_OR_ONE = Rule(lambda value: _is_text(value) or _is_texts(value), "a list of columns, or one")
WHOLE = Rule(_is_whole, "a whole number >= 0")
COUNT = Rule(lambda value: _is_whole(value) and value <= _MOST, f"a whole number from 0 to {_MOST:,}")
FRACTION = Rule(_is_fraction, f"a number above 0, up to {LARGEST_FRACTION:,}")
FLAG = Rule(lambda value: isinstance(value, bool), "true or false")
FLAG_OR_NULL = Rule(lambda value: value is None or isinstance(value, bool), "true, false or null")
OPTIONS = Rule(lambda value: isinstance(value, dict), "an object")
KEPT_OPTIONS = Rule(
    lambda value: value is None or _is_plain(value),
    "an object of numbers, texts, true, false or null, or null itself",
)
PREPROCESS = Rule(lambda value: value in get_args(Preprocess), f"one of {listing(get_args(Preprocess))}")
READING = Rule(lambda value: value is None or _is_reading(value), "an object of what Reading takes, or null")
