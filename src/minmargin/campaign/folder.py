"""The folder of a campaign: which file holds what, and what belongs together."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from minmargin.campaign.journal import Change, Journal, Label, Round
from minmargin.campaign.sealing import batch_name
from minmargin.campaign.settings import Settings
from minmargin.campaign.tables import batch_ids, labeled_table, own_columns, read_table, write_table
from minmargin.campaign.values import to_text
from minmargin.errors import InputError, listing
from minmargin.files import locked_folder, make_folder

#: Where pushes to a labeling tool are remembered.
PROJECT_FILE = "label-studio.json"

_BATCH_FILE = re.compile(r"round-(\d{3,})\.(parquet|csv)")


@dataclass(frozen=True)
class CampaignFolder:
    """What a campaign has on disk.

    Attributes:
        path: of the folder.
        settings: what was read from it, or will be written there.
    """

    path: Path
    settings: Settings

    @property
    def journal(self) -> Journal:
        """Rounds, picks, labels and measurements."""
        return Journal(self.path / "journal.sqlite")

    @property
    def batches(self) -> Path:
        """The folder of batch files."""
        return self.path / "batches"

    @property
    def initial_path(self) -> Path:
        """The rows that were labeled at the beginning."""
        return self.path / "initial.parquet"

    @property
    def held_out_path(self) -> Path:
        """The rows that accuracy is measured on, if there are any."""
        return self.path / "held-out.parquet"

    @property
    def labeled_path(self) -> Path:
        """All labeled rows; made anew from the others whenever labels are added or a round begins."""
        return self.path / "labeled.parquet"

    @property
    def has_project(self) -> bool:
        """Whether a round was pushed to a labeling tool before."""
        return (self.path / PROJECT_FILE).exists()

    def batch_path(self, number: int) -> Path:
        """Return where the batch of a round is, or will be."""
        return self.batches / batch_name(number)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes out, and remove what a process that was killed has left."""
        with locked_folder(self.path, "Campaign"):
            n_rounds = len(self.journal.rounds())
            make_folder(self.batches)
            for path in self.batches.iterdir():
                found = _BATCH_FILE.fullmatch(path.name)
                if found is not None and int(found[1]) > n_rounds:
                    path.unlink()
            for folder in (self.path, self.batches):
                for left in folder.glob(".*.tmp"):
                    left.unlink(missing_ok=True)
            yield

    def round(self, number: int | None) -> Round:
        """Return a round, by default the last."""
        rounds = self.journal.rounds()
        if not rounds:
            raise InputError(f"Campaign {str(self.path)!r} has no round yet. Begin one with next.")
        if number is None:
            return rounds[-1]
        if not 1 <= number <= len(rounds):
            raise InputError(
                f"Campaign {str(self.path)!r} has no round {number}. Its rounds are 1 to {len(rounds)}."
            )
        return rounds[number - 1]

    def batch(self, number: int | None = None) -> pa.Table:
        """Return the batch of a round, by default the last."""
        made = self.round(number)
        return read_table(self.batches / made.file, made.sha256)

    def initial(self) -> pa.Table:
        """Return the rows that were labeled at the beginning."""
        return self._read_own(self.initial_path)

    def held_out(self) -> pa.Table:
        """Return the rows that accuracy is measured on."""
        return self._read_own(self.held_out_path)

    def _read_own(self, path: Path) -> pa.Table:
        """Return rows that the campaign began with, as they were then, with the columns that the settings name."""
        table, settings = read_table(path, self.journal.checksum_of(path.name)), self.settings
        for name in (settings.label_column, *(() if settings.given else settings.feature_names)):
            if table.column_names.count(name) != 1:
                raise InputError(
                    f"{str(path)!r} has no column {name!r}, which settings.json names (columns: "
                    f"{listing(table.column_names)}). Put settings.json back as it was."
                )
        return table

    def initial_ids(self) -> list[Any]:
        """Return the ids of the rows that the campaign began with, held-out ones too, as far as they have any."""
        tables = [self.initial(), *([self.held_out()] if self.settings.held_out else [])]
        name = self.settings.id_column
        columns = [table[name] for table in tables if name in table.column_names]
        return [each for column in columns for each in column.drop_null().to_pylist()]

    def count_agreed(self) -> dict[int, int]:
        """Return for each round how many labels of its picks, not of its audit, were predicted when it was picked."""
        labels, kind, audits = self.journal.labels(), self.settings.label_kind, self.journal.audits()
        agreed = {}
        for made in self.journal.rounds():
            batch = self.batch(made.number)
            predicted = zip(
                batch_ids(batch, self.settings.id_kind), batch["predicted"].to_pylist(), strict=True
            )
            agreed[made.number] = sum(
                labels.get(each) == Label(made.number, str(to_text(guess, kind)))
                for each, guess in predicted
                if each not in audits.get(made.number, {})
            )
        return agreed

    def labeled(self, upto: int | None = None) -> pa.Table:
        """Return all labeled rows; those known after an addition, if one is given."""
        changes = [each for each in self.journal.changes() if each.name == "keep"]
        batches = (self._batch_with_columns(made.number, changes) for made in self.journal.rounds())
        return labeled_table(self.initial(), batches, self.journal.labels(upto), self.settings)

    def _batch_with_columns(
        self, number: int, changes: Sequence[Change]
    ) -> tuple[int, pa.Table, tuple[str, ...]]:
        """Return a round, its batch, and the pool columns that this holds: by now, others may be carried."""
        batch = self.batch(number)
        later = [each for each in changes if each.round >= number]
        kept = replace(self.settings, keep=tuple(later[0].before)).kept if later else self.settings.kept
        n_there = batch.num_columns - len(own_columns(batch))
        if n_there != len(kept):
            raise InputError(
                f"{str(self.batch_path(number))!r} holds {n_there:,} columns of the pool, and settings.json names "
                f"{len(kept):,} ({listing(kept)}). Put features and keep back as they were; minmargin campaign set "
                "changes keep."
            )
        return number, batch, kept

    def write_labeled(self) -> Path:
        """Write all labeled rows to their file, and return its path."""
        write_table(self.labeled_path, self.labeled())
        return self.labeled_path
