"""Section 3 of the paper as an experiment: on the half circle, how near to the true boundary does a batch get?

For each m (labeled rows of a class) and each size of the pool, many labeled sets are drawn, and with each the batches
of margin sampling and of min-margin over all m^2 bootstrap models. The result is Theta*, the squared angle of the
batch's candidate nearest to the true boundary, whose expectation the theorem is about. The two strategies share the
labeled set; their pools are drawn apart (see `angles`), which no expectation depends on.

Beside it, in the JSON file: the batch's mean squared angle, the squared angle of the boundary that is trained again
with the batch, a committee of 25 members as one would really train, and the steps of the proof (see `proof`).
"""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from minmargin.checks import check_count
from minmargin.execution import Progress, out_of_reach, silent
from minmargin.experiments.paper import proof
from minmargin.experiments.paper.angles import Angles, Labeled, draw_cover, stream_batches
from minmargin.files import make_folder, write_json, write_whole
from minmargin.manifest import describe_software

SIZES, QUICK_SIZES = (10, 20, 30, 50, 70, 100, 150, 200), (10, 20, 30)
N_DRAWS, QUICK_DRAWS = 4000, 500
STREAMED_SIZE, QUICK_STREAMED_SIZE, N_STREAMED = 100, 10, 20
STRATEGIES = ("margin", "min-margin")
#: Min-margin as it is used: 25 members, beta = 1. Not part of the theorem.
PRACTICAL, N_MODELS = "min-margin of 25", 25

_ROOT = 20190531  # of all seeds; the branches are (0, m, power of m in the pool, draw) and (1, m, draw)
_BLOCK = 250  # draws in one part: a few seconds of work at most
_MEASURES = (
    "squared_angle",
    "retrained_squared_angle",
    "batch_squared_angle",
    "base_squared_angle",
    "missed",
)


@dataclass(frozen=True)
class Block:
    """Some draws of one m and one size of the pool: what is played, and kept on disk, at once."""

    m: int
    pool_factor: str
    first: int
    stop: int

    @property
    def name(self) -> str:
        """The name of its part."""
        return f"m{self.m}-{self.pool_factor}-{self.first:05d}-{self.stop:05d}.parquet"

    def play(self) -> pa.Table:
        """Return a row for each draw and strategy."""
        power = proof.POOL_POWERS[self.pool_factor]
        records: list[dict[str, Any]] = []
        for draw in range(self.first, self.stop):
            rng = _generator(0, self.m, power, draw)
            names: dict[str, Any] = {
                "m": self.m,
                "batch_size": proof.batch_size(self.m),
                "n_candidates": proof.n_candidates(self.m, self.pool_factor),
                "pool_factor": self.pool_factor,
                "draw": draw,
            }
            labeled = Labeled.draw(rng, self.m)
            committees = {
                "margin": labeled.base,
                "min-margin": labeled.every_member,
                PRACTICAL: labeled.some_members(rng, N_MODELS),
            }
            for strategy, boundaries in committees.items():
                measures = _measure(
                    rng,
                    labeled,
                    boundaries,
                    n_candidates=names["n_candidates"],
                    batch_size=names["batch_size"],
                )
                records.append({**names, "strategy": strategy, **measures})
        return pa.Table.from_pylist(records)


def run_theorem(
    out: Path,
    *,
    draws: int | None = None,
    quick: bool = False,
    workers: int = 1,
    progress: Progress = silent,
) -> None:
    """Play the experiment, and write theorem.parquet and theorem.json into the folder `out`.

    Finished parts stay in out/theorem/parts; a run that was interrupted goes on from them. Each draw has a seed of its
    own, so that the numbers depend neither on workers nor on interruptions.

    Args:
        out: the folder; it is made if there is none.
        draws: how many for each m and size of the pool; None: 4,000, or 500 if `quick`.
        quick: play the small m only, for a look in seconds.
        workers: how many processes work at once.
        progress: called with the stage and the number of draws done.
    """
    n_draws = (QUICK_DRAWS if quick else N_DRAWS) if draws is None else check_count("draws", draws, least=2)
    workers = check_count("workers", workers, least=1)
    sizes = QUICK_SIZES if quick else SIZES
    parts = Path(out) / "theorem" / "parts"
    make_folder(parts)

    blocks = [
        Block(m, factor, first, min(first + _BLOCK, n_draws))
        for m in sizes
        for factor in proof.POOL_POWERS
        for first in range(0, n_draws, _BLOCK)
    ]
    _play_all(blocks, parts, workers=workers, progress=progress)
    streamed = _stream_all(QUICK_STREAMED_SIZE if quick else STREAMED_SIZE, parts, progress)

    started = time.perf_counter()
    table = pa.concat_tables([pq.read_table(parts / block.name) for block in blocks])
    seconds = sum(_seconds_of(parts / block.name) for block in blocks)
    content = {
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {
            "system": platform.system(),
            "processor": platform.machine(),
            "cores": os.cpu_count(),
        },
        "versions": describe_software(),
        "draws": n_draws,
        "settings": [_summarize(table, m, factor) for m in sizes for factor in proof.POOL_POWERS],
        "streamed": streamed,
        "proof": proof.check_proof(sizes, _generator(2)),
    }
    seconds += sum(line["seconds"] for line in streamed) + time.perf_counter() - started
    _write_table(Path(out) / "theorem.parquet", table)
    write_json(Path(out) / "theorem.json", {**content, "seconds": round(seconds, 1)})


def _generator(*branch: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(_ROOT, spawn_key=branch))


def _measure(
    rng: np.random.Generator,
    labeled: Labeled,
    boundaries: Angles,
    *,
    n_candidates: int,
    batch_size: int,
) -> dict[str, float]:
    """Return what one strategy's batch is like, in squared angles.

    `missed` is the chance, given the cover, that no picked candidate is nearest to the best of the boundaries.
    """
    cover = draw_cover(rng, boundaries, n_candidates, batch_size)
    nearest = cover.draw_nearest(rng, batch_size)
    share = min(cover.share_of(int(np.abs(boundaries).argmin())), 1.0)
    with np.errstate(divide="ignore"):  # a single boundary has the whole cover: log 0
        missed = float(np.exp(batch_size * np.log1p(-share)))
    squares = (
        nearest.angle**2,
        labeled.with_batch(nearest) ** 2,
        cover.mean_square,
        float(labeled.base[0]) ** 2,
    )
    return dict(zip(_MEASURES, (*squares, missed), strict=True))


# Parts on disk


def _play_all(blocks: Sequence[Block], parts: Path, *, workers: int, progress: Progress) -> None:
    total = sum(block.stop - block.first for block in blocks)
    missing = [block for block in blocks if not (parts / block.name).exists()]
    done = total - sum(block.stop - block.first for block in missing)
    progress("drawing", done, total)
    for block in _finished(missing, parts, workers):
        done += block.stop - block.first
        progress("drawing", done, total)


def _finished(blocks: Sequence[Block], parts: Path, workers: int) -> Iterator[Block]:
    """Play blocks, and give each when it is on disk."""
    if workers == 1:
        yield from (_play_one(block, parts) for block in blocks)
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        with out_of_reach():
            waiting = [pool.submit(_play_one, block, parts) for block in blocks]
        try:
            yield from (future.result() for future in as_completed(waiting))
        finally:
            for future in waiting:
                future.cancel()


def _play_one(block: Block, parts: Path) -> Block:
    started = time.perf_counter()
    table = block.play()
    seconds = {b"seconds": str(time.perf_counter() - started).encode()}
    write_whole(parts / block.name, lambda file: pq.write_table(table.replace_schema_metadata(seconds), file))
    return block


def _seconds_of(part: Path) -> float:
    return float(pq.read_schema(part).metadata[b"seconds"])


def _stream_all(m: int, parts: Path, progress: Progress) -> list[dict[str, Any]]:
    """Return what comes out where every candidate is really made: the check of the exact law, at one m."""
    lines = []
    for draw in range(N_STREAMED):
        progress("streaming", draw, N_STREAMED)
        part = parts / f"streamed-m{m}-{draw:05d}.json"
        if not part.exists():
            write_json(part, _stream_one(m, draw))
        lines.append(json.loads(part.read_text()))
    progress("streaming", N_STREAMED, N_STREAMED)
    return lines


def _stream_one(m: int, draw: int) -> dict[str, Any]:
    started = time.perf_counter()
    rng = _generator(1, m, draw)
    labeled = Labeled.draw(rng, m)
    batch_size, n_candidates = proof.batch_size(m), proof.n_candidates(m, "12Bm")
    batches = stream_batches(rng, [labeled.base, labeled.every_member], n_candidates, batch_size)
    found = {
        strategy: {
            "squared_angle": batch.nearest.angle**2,
            "radius": batch.cover.radius,
            "radius_quantile": batch.radius_quantile,
            "nearest_quantile": batch.nearest_quantile,
        }
        for strategy, batch in zip(STRATEGIES, batches, strict=True)
    }
    seconds = round(time.perf_counter() - started, 3)
    return {
        "m": m,
        "n_candidates": n_candidates,
        "batch_size": batch_size,
        "draw": draw,
        "seconds": seconds,
        **found,
    }


# Results


def _summarize(table: pa.Table, m: int, factor: str) -> dict[str, Any]:
    """Return the means of one m and size of the pool, with standard errors, beside what the paper says."""
    rows = table.filter((pc.field("m") == m) & (pc.field("pool_factor") == factor))
    drawn = {name: _columns(rows, name) for name in (*STRATEGIES, PRACTICAL)}
    margin, min_margin = drawn["margin"], drawn["min-margin"]
    base_error, pool_term = proof.base_error(m), proof.pool_term(m, factor)
    # The base's squared angle is in every draw, and its expectation is known: only the rest needs averaging.
    nearer = _mean_and_error(margin["squared_angle"] - margin["base_squared_angle"])
    return {
        "m": m,
        "pool_factor": factor,
        "batch_size": proof.batch_size(m),
        "n_candidates": proof.n_candidates(m, factor),
        "strategies": {
            name: {measure: _mean_and_error(columns[measure]) for measure in _MEASURES[:3]}
            for name, columns in drawn.items()
        },
        "difference": _mean_and_error(margin["squared_angle"] - min_margin["squared_angle"]),
        "margin_with_known_base": {**nearer, "mean": base_error + nearer["mean"]},
        "base": _mean_and_error(margin["base_squared_angle"]),
        "missed_best_member": _mean_and_error(min_margin["missed"]),
        "paper": {
            "base_error": base_error,
            "margin_bound": proof.margin_bound(m),
            "min_margin_bound": proof.min_margin_bound(m),
            "pool_term": pool_term,
            "pool_term_bound": proof.in_units(1 / 128, m),
            "margin_bound_first_step": base_error - pool_term,
            "missed_bound": proof.lemma_2_bound(m),
        },
    }


def _columns(rows: pa.Table, strategy: str) -> dict[str, NDArray[np.float64]]:
    of_strategy = rows.filter(pc.field("strategy") == strategy).sort_by("draw")
    return {measure: of_strategy[measure].to_numpy() for measure in _MEASURES}


def _mean_and_error(values: NDArray[np.float64]) -> dict[str, float]:
    return {"mean": float(values.mean()), "error": float(values.std(ddof=1) / np.sqrt(len(values)))}


def _write_table(path: Path, table: pa.Table) -> None:
    """Write the theorem's two strategies, compactly."""
    names = [
        "m",
        "batch_size",
        "n_candidates",
        "pool_factor",
        "draw",
        "strategy",
        "squared_angle",
        "retrained_squared_angle",
    ]
    rows = table.filter(pc.field("strategy").isin(STRATEGIES)).select(names).replace_schema_metadata(None)
    measures = dict.fromkeys(names[6:], "BYTE_STREAM_SPLIT")
    for measure in measures:  # seven digits: the draws vary by far more
        place = rows.schema.get_field_index(measure)
        rows = rows.set_column(place, measure, rows[measure].cast(pa.float32()))
    write_whole(
        path,
        lambda file: pq.write_table(
            rows,
            file,
            compression="zstd",
            compression_level=19,
            use_dictionary=names[:6],
            column_encoding=measures,
        ),
    )
