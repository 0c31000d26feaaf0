"""Settings: what a campaign was set up with, in a file that people can read and change between rounds."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np

from minmargin.campaign.declaration import (
    COLUMNS,
    COLUMNS_OR_ONE,
    COUNT,
    FLAG,
    FLAG_OR_NULL,
    FRACTION,
    KEPT_OPTIONS,
    KIND,
    OPTIONS,
    PATHS,
    PREPROCESS,
    READING,
    TEXT,
    TEXT_OR_NULL,
    WHOLE,
    changes,
    declared,
    stays,
)
from minmargin.campaign.values import Kind
from minmargin.data.reading import Reading
from minmargin.errors import InputError, listing, nearest
from minmargin.fields import parse_json
from minmargin.files import write_json
from minmargin.learners import Preprocess
from minmargin.pools import is_path
from minmargin.pools.uris import is_uri, shown

FILE = "settings.json"
#: The learner of a campaign that trains nothing: models elsewhere give probabilities in every round.
GIVEN = "given"
_FORMAT = 1
_ANOTHER = "Begin another campaign, with labeled.parquet of this one as its labeled rows."


# What a change means, where one sentence does not fit all values.


def _folds(before: int, after: int, _: str) -> str:
    if after == 0:
        return "Accuracy is not cross-validated any more."
    were = f"{before} before" if before else "it was not before"
    return f"Accuracy is measured by {after} folds ({were}), unless there are held-out rows. What was measured stays."


def _audit(before: int, after: int, since: str) -> str:
    if after == 0:
        return f"No rows are drawn by chance {since} ({before:,} a round before)."
    return f"{after:,} rows are drawn by chance {since} ({before:,} a round before), to measure the model by."


def _keep(before: Sequence[str], after: Sequence[str], since: str) -> str:
    carried = listing(after, most=20) if after else "no columns besides the features"
    were = listing(before, most=20) if before else "none"
    return f"Batches carry {carried} {since} ({were} before). Those that were written stay as they are."


def _options(before: Mapping[str, Any], after: Mapping[str, Any], since: str) -> str:
    new, old = (
        ", ".join(f"{name}={value}" for name, value in each.items()) or "the usual ones"
        for each in (after, before)
    )
    return f"The strategy's options are {new} {since} ({old} before)."


def _stop_hints(_: bool, after: bool, since: str) -> str:
    if not after:
        return "The status does not say when more labels hardly pay."
    return f"The status says when more labels hardly pay. Successive models are compared {since}."


def _distinct(_: bool | None, after: bool | None, since: str) -> str:
    if after is None:
        return f"Copies of picked rows are passed over {since} where features come with the probabilities."
    return f"Copies of picked rows are {'passed over' if after else 'picked like other rows'} {since}."


@dataclass(frozen=True)
class Settings:
    """What a campaign was set up with.

    Each setting is declared here alone, with the values that it takes, and with what a change of it between rounds
    means, or why it stays as it is.

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
        learner_options: settings of a learner that has a name; None: the usual ones.
    """

    pool: tuple[str, ...] = field(
        metadata=stays(
            PATHS,
            "Rows that were picked came from it. If rows have ids, files may be added where its path finds them.",
            may_move=True,
        )
    )
    label_column: str = field(metadata=stays(TEXT, "Labels that came back stand under this name."))
    label_kind: Kind = field(metadata=stays(KIND, "Labels that came back are of this kind."))
    id_column: str | None = field(metadata=stays(TEXT_OR_NULL, "Rows that were picked are known by it."))
    id_kind: Kind = field(metadata=stays(KIND, "Rows that were picked are known by ids of this kind."))
    features: str | tuple[str, ...] = field(
        metadata=stays(
            COLUMNS_OR_ONE,
            f"Batches hold these columns of the picked rows, and no others to learn from. {_ANOTHER}",
        )
    )
    keep: tuple[str, ...] = field(metadata=changes(COLUMNS, _keep))
    batch_size: int = field(
        metadata=changes(
            COUNT, lambda before, after, since: f"A round picks {after:,} rows {since} ({before:,} before)."
        )
    )
    strategy: str = field(
        metadata=changes(
            TEXT, lambda before, after, since: f"Rows are picked by {after} {since} ({before} before)."
        )
    )
    strategy_options: dict[str, Any] = field(metadata=changes(OPTIONS, _options))
    learner: str | None = field(
        metadata=stays(TEXT_OR_NULL, f"The curve would be of two learners. {_ANOTHER}", may_be_named=True)
    )
    n_models: int = field(
        metadata=changes(
            COUNT,
            lambda before, after, since: f"{after:,} members are trained {since} ({before:,} before).",
            of_training=True,
        )
    )
    bootstrap_fraction: float = field(
        metadata=changes(
            FRACTION,
            lambda before, after, since: f"A draw is {after:g} of each class {since} ({before:g} before).",
            of_training=True,
        )
    )
    preprocess: Preprocess = field(
        metadata=stays(PREPROCESS, f"The curve would be of two learners. {_ANOTHER}")
    )
    seed: int = field(metadata=stays(WHOLE, "Every round has its own from it, already."))
    held_out: bool = field(metadata=stays(FLAG, f"Accuracies on other rows cannot be compared. {_ANOTHER}"))
    folds: int = field(metadata=changes(COUNT, _folds, of_training=True))
    learner_folder: str | None = field(
        default=None,  # campaigns of earlier versions have none
        metadata=stays(
            TEXT_OR_NULL,
            "It is where the learner's module lies. If that was moved, change settings.json.",
            may_move=True,
        ),
    )
    distinct: bool | None = field(
        default=False,  # as in those, whatever is usual by now
        metadata=changes(FLAG_OR_NULL, _distinct),
    )
    audit: int = field(default=0, metadata=changes(COUNT, _audit))
    stop_hints: bool = field(default=False, metadata=changes(FLAG, _stop_hints))
    reading: dict[str, Any] | None = field(
        default=None, metadata=stays(READING, f"Labeled rows would be read in two ways. {_ANOTHER}")
    )
    learner_options: dict[str, Any] | None = field(
        default=None, metadata=stays(KEPT_OPTIONS, f"The curve would be of two learners. {_ANOTHER}")
    )

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

    @property
    def stop_set_seed(self) -> int:
        """The seed by which all rounds draw the rows of the stop set. There is no round 0."""
        return self._seed_at(0, 2)

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


#: What is declared of each setting.
SETTINGS = {each.name: declared(each) for each in fields(Settings)}


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
    optional = {each.name for each in fields(Settings) if each.default is not MISSING}
    unknown = [name for name in found if name not in SETTINGS]
    if unknown:
        raise InputError(
            f"{str(path)!r} has an unknown setting {unknown[0]!r}.{nearest(unknown[0], SETTINGS)}"
        )
    missing = [name for name in SETTINGS if name not in found and name not in optional]
    if missing:
        raise InputError(f"{str(path)!r} lacks {listing(missing)}. Put it back as it was.")
    for name, value in found.items():
        if not SETTINGS[name].rule.fits(value):
            raise _wrong(path, name, value)
    if not found["features"] and found["learner"] != GIVEN:
        raise _wrong(path, "features", found["features"])


def check_setting(name: str, value: Any) -> None:
    """Raise an error unless a value is of the type that a setting has."""
    rule = SETTINGS[name].rule
    if not rule.fits(value):
        raise InputError(f"{name}={value!r} must be {rule.wanted}.")


def _wrong(path: Path, name: str, value: Any) -> InputError:
    wanted = SETTINGS[name].rule.wanted
    return InputError(f"{str(path)!r} has {name}={json.dumps(value)}, and {name} must be {wanted}.")


def as_names(names: Sequence[str] | str) -> tuple[str, ...]:
    """Return names as a tuple; one name may come alone."""
    return (names,) if isinstance(names, str) else tuple(names)
