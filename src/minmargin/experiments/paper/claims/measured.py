"""What has been measured: the results folder, experiment by experiment, with whatever is there."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from minmargin.errors import InputError
from minmargin.experiments.paper.results import Curves, Results

Floats = NDArray[np.float64]

#: The experiments whose results are accuracies, in the paper's order; `theorem` has a table of its own.
GAMES = ("gaussian", "mnist", "fashion", "benchmark", "tuning", "large")
EXPERIMENTS = ("gaussian", "theorem", "mnist", "fashion", "benchmark", "tuning", "large")


class Place(NamedTuple):
    """Where curves are found: one variant of one dataset of one experiment."""

    experiment: str
    dataset: str
    variant: str = "main"

    @property
    def label(self) -> str:
        """What the dataset is called for readers."""
        if self.experiment == "gaussian":
            return f"Gaussians at {self.dataset.replace('-', ' ')}"
        return self.dataset


GAUSSIAN = tuple(Place("gaussian", f"distance-{distance}") for distance in (1, 2, 3))
IMAGES = (Place("mnist", "mnist"), Place("fashion", "fashion-mnist"))
BENCHMARK = tuple(Place("benchmark", name) for name in ("nomao", "shuttle", "magic04", "a9a", "cod-rna"))
TUNED = ("shuttle", "magic04", "cod-rna")
MEMBER_COUNTS = (2, 5, 10, 25, 50, 100)
FRACTIONS = (0.25, 0.5, 1, 2, 4)
LABELED_SIZES = (2000, 5000, 10_000)
#: The paper's main text shows 5,000 labeled rows, its appendix the other sizes too.
LARGE = tuple(Place("large", name, "N=5000") for name in ("covtype", "flights-3m", "nycflights13"))
#: One place per dataset, for claims about all of them. The paper shows one distance; 2 is our default for it.
EVERYWHERE = (GAUSSIAN[1], *IMAGES, *BENCHMARK, *LARGE)


class GaussianDraw(NamedTuple):
    """One draw of the Gaussian simulation, to look at. A line (a, b, c) is where a x + b y + c = 0.

    Attributes:
        points: (N, 2) the labeled rows.
        classes: (N,) theirs, 0 or 1.
        truth: (3,) the line that separates the classes best.
        base: (3,) the line of the model of all labeled rows.
        members: (K, 3) those of the members.
        picks: (n, 2) the first rows that each strategy picks.
    """

    points: Floats
    classes: NDArray[np.intp]
    truth: Floats
    base: Floats
    members: Floats
    picks: Mapping[str, Floats]


@dataclass(frozen=True)
class Measured:
    """All that has been measured; what is missing is not there, and no error.

    Attributes:
        results: by experiment.
        theorem: squared angles by m, batch_size, draw, strategy and pool_factor.
        notes: by experiment, what stands in the JSON file beside its results: machine, seconds and so on.
        draws: some draws of the Gaussian simulation, to look at what is picked.
    """

    results: Mapping[str, Results] = field(default_factory=dict)
    theorem: pa.Table | None = None
    notes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    draws: Sequence[GaussianDraw] = ()
    _curves: dict[Place, Curves | None] = field(default_factory=dict, init=False, repr=False, compare=False)

    @classmethod
    def read(cls, folder: Path | str) -> Measured:
        """Return what a results folder holds."""
        folder = Path(folder)
        if not folder.is_dir():
            raise InputError(
                f"There is no folder {str(folder)!r} with results. Use minmargin reproduce all --out {folder}."
            )
        tables = {name: folder / f"{name}.parquet" for name in EXPERIMENTS}
        notes = {name: folder / f"{name}.json" for name in EXPERIMENTS}
        return cls(
            {name: Results.read(tables[name]) for name in GAMES if tables[name].exists()},
            pq.read_table(tables["theorem"]) if tables["theorem"].exists() else None,
            {name: _read_json(path) for name, path in notes.items() if path.exists()},
        )

    def has(self, experiment: str) -> bool:
        """Return whether there are results of an experiment."""
        if experiment == "theorem":
            return self.theorem is not None
        return experiment in self.results and len(self.results[experiment]) > 0

    def curves(self, place: Place) -> Curves | None:
        """Return the accuracies of a place, or None if there are none."""
        if place not in self._curves:
            self._curves[place] = self._read_curves(place)
        return self._curves[place]

    def before(self, place: Place) -> Floats | None:
        """Return (R,) the accuracies before any batch, in the order of the draws of the curves, or None."""
        curves = self.curves(place)
        if curves is None:
            return None
        before = self.results[place.experiment].before(place.dataset, place.variant)
        return before if len(before) == len(curves.draws) else None

    def seconds(self, place: Place) -> dict[str, float]:
        """Return for each strategy of a place the seconds that picking its largest batch took, in the mean."""
        if place.experiment not in self.results:
            return {}
        table = self.results[place.experiment].table
        here = pc.and_(
            pc.equal(pc.cast(table["dataset"], pa.string()), place.dataset),
            pc.equal(pc.cast(table["variant"], pa.string()), place.variant),
        )
        means = table.filter(here).group_by("strategy").aggregate([("seconds", "mean")])
        return dict(zip(_texts(means["strategy"]), means["seconds_mean"].to_pylist(), strict=True))

    def angles(self, m: int, pool_factor: str) -> tuple[Floats, Floats] | None:
        """Return the squared angles of margin and of min-margin, paired by draw, or None."""
        if self.theorem is None:
            return None
        by_draw = {
            strategy: dict(zip(*(column.to_pylist() for column in columns), strict=True))
            for strategy, columns in (
                (name, self._angles_of(name, m, pool_factor)) for name in ("margin", "min-margin")
            )
        }
        draws = sorted(by_draw["margin"].keys() & by_draw["min-margin"].keys())
        if not draws:
            return None
        margin, min_margin = (np.array([by_draw[name][draw] for draw in draws]) for name in by_draw)
        return margin, min_margin

    def regimes(self) -> list[tuple[int, str]]:
        """Return the pairs of m and pool_factor of the theorem's table, ascending."""
        if self.theorem is None:
            return []
        pairs = zip(self.theorem["m"].to_pylist(), _texts(self.theorem["pool_factor"]), strict=True)
        return sorted(set(pairs))

    def _read_curves(self, place: Place) -> Curves | None:
        results = self.results.get(place.experiment)
        if results is None:
            return None
        curves = results.curves(place.dataset, place.variant)
        return curves if curves.strategies else None

    def _angles_of(self, strategy: str, m: int, pool_factor: str) -> tuple[Any, Any]:
        assert self.theorem is not None
        wanted = pc.and_(
            pc.equal(self.theorem["m"], m),
            pc.and_(
                pc.equal(pc.cast(self.theorem["strategy"], pa.string()), strategy),
                pc.equal(pc.cast(self.theorem["pool_factor"], pa.string()), pool_factor),
            ),
        )
        rows = self.theorem.filter(wanted)
        return rows["draw"], rows["squared_angle"]


def _texts(column: Any) -> list[str]:
    return list(pc.cast(column, pa.string()).to_pylist())


def _read_json(path: Path) -> dict[str, Any]:
    content = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(content, dict):
        raise InputError(f"{str(path)!r} holds no JSON object. Write the experiment's results anew.")
    return content
