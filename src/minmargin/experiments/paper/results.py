"""Results of the paper's games: one row per draw, strategy and batch size."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from minmargin.compare.outcome import NONE, Outcome
from minmargin.files import write_whole

_NAME = pa.dictionary(pa.int16(), pa.string())
SCHEMA = pa.schema(
    [
        ("experiment", _NAME),
        ("dataset", _NAME),
        ("variant", _NAME),
        ("draw", pa.int32()),
        ("strategy", _NAME),
        ("batch_size", pa.int32()),
        ("accuracy", pa.float64()),
        ("seconds", pa.float32()),
    ]
)


class Curves(NamedTuple):
    """Accuracy against batch size, for each strategy and draw.

    Attributes:
        strategies: S names.
        sizes: B batch sizes, ascending.
        draws: R numbers of draws, ascending.
        accuracies: (S, B, R), NaN where there is no result.
    """

    strategies: list[str]
    sizes: list[int]
    draws: list[int]
    accuracies: NDArray[np.float64]


@dataclass(frozen=True)
class Results:
    """A table of results, in the columns of `SCHEMA`."""

    table: pa.Table

    @classmethod
    def of(cls, rows: Sequence[Mapping[str, Any]]) -> Results:
        """Return the results in these rows."""
        return cls(pa.Table.from_pylist([dict(row) for row in rows], schema=SCHEMA))

    @classmethod
    def of_draw(
        cls, outcomes: Iterable[Outcome], *, experiment: str, dataset: str, variant: str, draw: int
    ) -> Results:
        """Return the results of one draw, whose scores are accuracies."""
        names = {"experiment": experiment, "dataset": dataset, "variant": variant, "draw": draw}
        return cls.of(
            [
                {
                    **names,
                    "strategy": one.strategy,
                    "batch_size": one.batch_size,
                    "accuracy": one.score,
                    "seconds": one.seconds,
                }
                for one in outcomes
            ]
        )

    @classmethod
    def read(cls, path: Path | str) -> Results:
        """Return the results in a Parquet file."""
        return cls(pq.read_table(path, schema=SCHEMA))

    @classmethod
    def join(cls, parts: Iterable[Results]) -> Results:
        """Return several results as one, in their order."""
        tables = [part.table for part in parts] or [SCHEMA.empty_table()]
        return cls(pa.concat_tables(tables).unify_dictionaries().combine_chunks())

    def write(self, path: Path) -> None:
        """Write the results as one small file."""
        small = dict.fromkeys(("accuracy", "seconds"), "BYTE_STREAM_SPLIT")
        dictionaries = [field.name for field in SCHEMA if pa.types.is_dictionary(field.type)]
        write_whole(
            path,
            lambda file: pq.write_table(
                self.table.replace_schema_metadata(None),
                file,
                compression="zstd",
                compression_level=19,
                use_dictionary=dictionaries,
                column_encoding=small,
                store_schema=False,
            ),
        )

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def datasets(self) -> list[str]:
        """Return the datasets, in the order in which they first appear."""
        return _names(self.table, "dataset")

    def variants(self, dataset: str) -> list[str]:
        """Return the variants of a dataset, in the order in which they first appear."""
        return _names(self._only(dataset=dataset), "variant")

    def strategies(self, dataset: str, variant: str) -> list[str]:
        """Return the strategies of a variant, in the order in which they first appear, without `NONE`."""
        names = _names(self._only(dataset=dataset, variant=variant), "strategy")
        return [name for name in names if name != NONE]

    def curves(self, dataset: str, variant: str) -> Curves:
        """Return the accuracies of a variant, by strategy, batch size and draw."""
        return self._pivot(dataset, variant, self.strategies(dataset, variant))

    def before(self, dataset: str, variant: str) -> NDArray[np.float64]:
        """Return (R,) the accuracies before any batch, in the order of the draws."""
        return self._pivot(dataset, variant, [NONE]).accuracies.reshape(-1)

    def _pivot(self, dataset: str, variant: str, strategies: list[str]) -> Curves:
        table = self._only(dataset=dataset, variant=variant, strategy=strategies)
        sizes, by_size = np.unique(table["batch_size"].to_numpy(), return_inverse=True)
        draws, by_draw = np.unique(table["draw"].to_numpy(), return_inverse=True)
        place = {name: number for number, name in enumerate(strategies)}
        by_strategy = np.array([place[name] for name in table["strategy"].to_pylist()], dtype=np.intp)
        accuracies = np.full((len(strategies), len(sizes), len(draws)), np.nan)
        accuracies[by_strategy, by_size, by_draw] = table["accuracy"].to_numpy()
        return Curves(strategies, sizes.tolist(), draws.tolist(), accuracies)

    def _only(self, **wanted: str | list[str]) -> pa.Table:
        mask = pa.scalar(True)
        for name, value in wanted.items():
            column = pc.cast(self.table[name], pa.string())
            one_of = pa.array([value] if isinstance(value, str) else value, pa.string())
            mask = pc.and_(mask, pc.is_in(column, value_set=one_of))
        return self.table.filter(mask)


def _names(table: pa.Table, column: str) -> list[str]:
    return list(dict.fromkeys(table[column].to_pylist()))
