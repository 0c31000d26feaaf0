"""Finished draws on disk: each is a file of its own as soon as it is played, so that a run can be taken up again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from minmargin.atomic import write_whole
from minmargin.compare.game import Outcome
from minmargin.compare.results import SCHEMA, Results
from minmargin.errors import InputError

_RULES = b"minmargin rules"


@dataclass(frozen=True)
class Store:
    """The draws of one experiment, dataset and variant, in a folder.

    Attributes:
        folder: of the experiment.
        experiment: its name.
        dataset: its name.
        variant: its name.
        rules: everything that the results depend on, in words: draws that were played by others are refused.
    """

    folder: Path
    experiment: str
    dataset: str
    variant: str
    rules: str

    def has(self, draw: int) -> bool:
        """Return whether a draw was played already, by these rules."""
        path = self._path(draw)
        if not path.exists():
            return False
        found = (pq.read_schema(path).metadata or {}).get(_RULES, b"").decode()
        if found != self.rules:
            raise InputError(
                f"{str(path)!r} was played by other rules ({found}; now: {self.rules}). Use another folder."
            )
        return True

    def write(self, draw: int, outcomes: Sequence[Outcome]) -> None:
        """Write the outcomes of a draw, whole or not at all."""
        names = {
            "experiment": self.experiment,
            "dataset": self.dataset,
            "variant": self.variant,
            "draw": draw,
        }
        results = Results.of([{**names, **outcome._asdict()} for outcome in outcomes])
        table = results.table.replace_schema_metadata({_RULES: self.rules.encode()})
        self.folder.mkdir(parents=True, exist_ok=True)
        write_whole(self._path(draw), lambda file: pq.write_table(table, file))

    def read(self, draws: Sequence[int]) -> Results:
        """Return the results of these draws."""
        return Results.join(Results.read(self._path(draw)) for draw in draws)

    def _path(self, draw: int) -> Path:
        return self.folder / f"{self.dataset}.{self.variant}.{draw:05d}.parquet"


def write_results(path: Path, results: Results) -> None:
    """Write results as one small file."""
    small = dict.fromkeys(("accuracy", "seconds"), "BYTE_STREAM_SPLIT")
    dictionaries = [field.name for field in SCHEMA if pa.types.is_dictionary(field.type)]
    write_whole(
        path,
        lambda file: pq.write_table(
            results.table.replace_schema_metadata(None),
            file,
            compression="zstd",
            compression_level=19,
            use_dictionary=dictionaries,
            column_encoding=small,
            store_schema=False,
        ),
    )
