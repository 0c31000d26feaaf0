"""Settings: what a campaign was set up with, in a file that people can read and change between rounds."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import MISSING, asdict, dataclass, fields
from pathlib import Path
from typing import Any, TypeAlias, get_args

import numpy as np

from minmargin.campaign.values import KINDS, Kind
from minmargin.data.reading import Reading
from minmargin.errors import InputError, listing, nearest
from minmargin.fields import parse_json
from minmargin.files import write_json
from minmargin.labeled import LARGEST_FRACTION
from minmargin.learners import Preprocess
from minmargin.pools import is_path
from minmargin.pools.uris import is_uri, shown

FILE = "settings.json"
#: The learner of a campaign that trains nothing: models elsewhere give probabilities in every round.
GIVEN = "given"
_FORMAT = 1
# More would take all memory long before anything is picked.
_MOST = 10**9


@dataclass(frozen=True)
class Settings:
    """What a campaign was set up with.

    Attributes:
        pool: the pool's files; a relative path begins at the campaign's folder.
        label_column: the column of the labels.
        label_kind: what labels are.
        id_column: the pool's column that identifies a row; None if its number does.
        id_kind: what ids are.
        features: the feature columns, or the one text column; none where probabilities are given.
        keep: further pool columns that go into the batch files.
        batch_size: how many rows a round picks.
        strategy: how, by name.
        strategy_options: the strategy's own settings.
        learner: a name or package.module:factory; None for an object that is given when a campaign is opened; "given"
            where probabilities are.
        learner_folder: the folder of that module, kept as the pool's paths are; None if it is installed.
        n_models: K.
        bootstrap_fraction: beta.
        preprocess: what is done to rows before a learner sees them.
        seed: the seed from which every round has its own.
        held_out: whether accuracy is measured on held-out rows.
        folds: by how many folds of the labeled rows it is measured otherwise; 0: not at all.
        distinct: whether copies of picked rows are passed over; None, where probabilities are given: if they come with
            features.
        audit: how many rows a round draws by chance besides, to measure the model by.
        stop_hints: whether the status says when more labels hardly pay.
        reading: what was said of how columns are read, as arguments of `Reading`; None: nothing.
    """

    pool: tuple[str, ...]
    label_column: str
    label_kind: Kind
    id_column: str | None
    id_kind: Kind
    features: str | tuple[str, ...]
    keep: tuple[str, ...]
    batch_size: int
    strategy: str
    strategy_options: dict[str, Any]
    learner: str | None
    n_models: int
    bootstrap_fraction: float
    preprocess: Preprocess
    seed: int
    held_out: bool
    folds: int
    learner_folder: str | None = None  # campaigns of earlier versions have none
    distinct: bool | None = False  # as in those, whatever is usual by now
    audit: int = 0
    stop_hints: bool = False
    reading: dict[str, Any] | None = None

    @property
    def read_as(self) -> Reading:
        """How columns are read."""
        return Reading(**(self.reading or {}))

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The feature columns, also where there is only one."""
        return (self.features,) if isinstance(self.features, str) else self.features

    @property
    def kept(self) -> tuple[str, ...]:
        """The pool columns that go into the batch files: with the features in them, the pool is not read again."""
        return tuple(
            name for name in dict.fromkeys([*self.feature_names, *self.keep]) if name != self.id_column
        )

    @property
    def given(self) -> bool:
        """Whether probabilities are given in every round, and nothing is trained."""
        return self.learner == GIVEN

    @property
    def labeled_columns(self) -> tuple[str, ...]:
        """The columns that labeled rows have besides their label and id."""
        if not self.given:
            return self.feature_names
        return tuple(name for name in self.kept if name != self.label_column)

    def seed_of(self, number: int) -> int:
        """Return the seed of a round: 53 bits, so that it survives any reader of JSON."""
        return self._seed_at(number)

    def audit_seed_of(self, number: int) -> int:
        """Return the seed by which a round draws the rows of its audit: no strategy has it."""
        return self._seed_at(number, 1)

    def _seed_at(self, *path: int) -> int:
        state = np.random.SeedSequence(self.seed, spawn_key=path).generate_state(1, np.uint64)
        return int(state[0]) & (2**53 - 1)

    def pool_of(self, folder: Path) -> list[str | Path]:
        """Return the pool's files and folders as they can be opened from anywhere."""
        # As paths: a list of strings that do not end like files would be taken for texts.
        return [path if is_uri(path) else Path(_from(folder, path)) for path in self.pool]

    def learner_folder_of(self, folder: Path) -> str | None:
        """Return the folder of the learner's module, as it can be found from anywhere."""
        return None if self.learner_folder is None else _from(folder, self.learner_folder)

    def plain(self) -> dict[str, Any]:
        """Return the settings as JSON has them."""
        values = asdict(self)
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}

    def check(self) -> None:
        """Raise an error unless these settings could be read back."""
        for name, value in self.plain().items():
            check_setting(name, value)

    def write(self, folder: Path) -> None:
        """Write the settings into a campaign's folder."""
        write_json(folder / FILE, {"format": _FORMAT, **asdict(self)})

    @classmethod
    def read(cls, folder: Path) -> Settings:
        """Return the settings of the campaign in a folder, or say what is wrong with them."""
        path = folder / FILE
        try:
            found = parse_json(path.read_bytes())
        except (FileNotFoundError, NotADirectoryError):
            raise InputError(
                f"There is no campaign in {str(folder)!r}. Begin one with Campaign.init, or minmargin campaign init."
            ) from None
        except (OSError, ValueError) as error:
            raise InputError(f"{str(path)!r} cannot be read: {error}.") from error
        if not isinstance(found, dict):
            raise InputError(f"{str(path)!r} is not a JSON object. Put it back as it was.")
        version = found.pop("format", None)
        if version != _FORMAT:
            raise InputError(
                f"{str(path)!r} has format {version}, and this version reads {_FORMAT}. Use the version that wrote it."
            )
        _check(found, path)
        values: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in found.items()
        }
        return cls(**values)


#: The names of all settings.
SETTINGS = tuple(field.name for field in fields(Settings))


def pool_paths(pool: Any, folder: Path) -> tuple[str, ...]:
    """Return a pool's paths as settings keep them: a relative one begins at the campaign's folder."""
    if not is_path(pool):
        raise InputError(
            f"pool is a {type(pool).__name__}, and a campaign reads its pool in every round. "
            "Write it to files, and give their path."
        )
    sources = [pool] if isinstance(pool, (str, Path)) else list(pool)
    for source in sources:
        if is_uri(source) and shown(source) != source:
            raise InputError(
                f"The URI of {shown(source)!r} holds credentials or options, which would be written to {FILE}. "
                "Give them by environment variables or a profile."
            )
    return tuple(portable(str(source), folder) for source in sources)


def portable(path: str, folder: Path) -> str:
    """Return a path as settings keep it: a relative one begins at the campaign's folder."""
    if is_uri(path) or Path(path).is_absolute():
        return path
    return os.path.relpath(Path(path).absolute(), folder.resolve())


def _from(folder: Path, path: str) -> str:
    return os.path.normpath(folder.resolve() / path)  # the parts are joined by name


def _check(found: dict[str, Any], path: Path) -> None:
    """Raise an error unless the file has each setting once, of the right type."""
    names = SETTINGS
    optional = {field.name for field in fields(Settings) if field.default is not MISSING}
    unknown = [name for name in found if name not in names]
    if unknown:
        raise InputError(f"{str(path)!r} has an unknown setting {unknown[0]!r}.{nearest(unknown[0], names)}")
    missing = [name for name in names if name not in found and name not in optional]
    if missing:
        raise InputError(f"{str(path)!r} lacks {listing(missing)}. Put it back as it was.")
    for name, value in found.items():
        fits, wanted = _RULES[name]
        if not fits(value):
            raise _wrong(path, name, value, wanted)
    if not found["features"] and found["learner"] != GIVEN:
        raise _wrong(path, "features", found["features"], _RULES["features"][1])


def check_setting(name: str, value: Any) -> None:
    """Raise an error unless a value is of the type that a setting has."""
    fits, wanted = _RULES[name]
    if not fits(value):
        raise InputError(f"{name}={value!r} must be {wanted}.")


def _wrong(path: Path, name: str, value: Any, wanted: str) -> InputError:
    return InputError(f"{str(path)!r} has {name}={json.dumps(value)}, and {name} must be {wanted}.")


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_count(value: Any) -> bool:
    return _is_whole(value) and value <= _MOST


def _is_fraction(value: Any) -> bool:
    return not isinstance(value, bool) and isinstance(value, (int, float)) and 0 < value <= LARGEST_FRACTION


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _is_reading(value: Any) -> bool:
    try:
        return isinstance(value, dict) and Reading(**value).describe() == value
    except (InputError, TypeError):
        return False


_Rule: TypeAlias = tuple[Callable[[Any], bool], str]
_TEXT: _Rule = (_is_text, "a text")
_WHOLE: _Rule = (_is_whole, "a whole number >= 0")
_COUNT: _Rule = (_is_count, f"a whole number from 0 to {_MOST:,}")
_FLAG: _Rule = (lambda value: isinstance(value, bool), "true or false")
_TEXT_OR_NULL: _Rule = (lambda value: value is None or _is_text(value), "a text or null")
_KIND: _Rule = (lambda value: value in KINDS, f"one of {listing(KINDS)}")
_RULES: dict[str, _Rule] = {
    "reading": (
        lambda value: value is None or _is_reading(value),
        "an object of what Reading takes, or null",
    ),
    "pool": (lambda value: _is_texts(value) and bool(value), "a list of paths"),
    "label_column": _TEXT,
    "label_kind": _KIND,
    "id_column": _TEXT_OR_NULL,
    "id_kind": _KIND,
    "features": (lambda value: _is_text(value) or _is_texts(value), "a list of columns, or one"),
    "keep": (_is_texts, "a list of columns"),
    "batch_size": _COUNT,
    "strategy": _TEXT,
    "strategy_options": (lambda value: isinstance(value, dict), "an object"),
    "learner": _TEXT_OR_NULL,
    "learner_folder": _TEXT_OR_NULL,
    "n_models": _COUNT,
    "bootstrap_fraction": (_is_fraction, f"a number above 0, up to {LARGEST_FRACTION:,}"),
    "preprocess": (lambda value: value in get_args(Preprocess), f"one of {listing(get_args(Preprocess))}"),
    "seed": _WHOLE,
    "held_out": _FLAG,
    "distinct": (lambda value: value is None or isinstance(value, bool), "true, false or null"),
    "folds": _COUNT,
    "audit": _COUNT,
    "stop_hints": _FLAG,
}


def as_names(names: Sequence[str] | str) -> tuple[str, ...]:
    """Return names as a tuple; one name may come alone."""
    return (names,) if isinstance(names, str) else tuple(names)
