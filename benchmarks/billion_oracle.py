"""The batches of generated pools, found a second time in plain numpy: the oracle of benchmarks/billion.py.

Of the package it knows the weights of the members, and how a seed becomes keys. Everything else has formulas of its
own: the rows, their hashes, logits, margins, noise, and k-means++, one Python number at a time, by
tests/brute_force_apart.py. It reads the pool in other runs than a selection does. A billion rows take it some minutes
for each way, so what it finds is written to a folder, for later.

    python benchmarks/billion_oracle.py WAY... --rows 1e9 --folder DIR
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

import minmargin as mm
from generated import labeled_set

N_FEATURES, BATCH, OVERSAMPLE = 16, 1_000, 4
RUN = 10_007  # rows at a time: not a size that a selection would choose
SLACK = 1e-9  # more than all roundings
TIES, NOISE = 3, 5  # branches of the tree of seeds

TESTS = Path(__file__).parents[1] / "tests"


class Answer(NamedTuple):
    """The rows of a batch, best first, and their scores."""

    rows: np.ndarray
    scores: np.ndarray


class Linear(NamedTuple):
    """Members that tell two classes apart: (D, K) weights and (K,) intercepts."""

    weights: np.ndarray
    intercepts: np.ndarray

    @classmethod
    def of(cls, committee: mm.Committee) -> Linear:
        """Return the members of a committee."""
        return cls(committee.scorer.member_weights[:, :, 0], committee.scorer.member_intercepts[:, 0])

    def logits(self, X: np.ndarray) -> np.ndarray:
        """Return (K, n) logits by a product, which adds in whatever order is fast."""
        return self.weights.T @ X.T + self.intercepts[:, np.newaxis]

    def logits_in_order(self, X: np.ndarray) -> np.ndarray:
        """Return (K, n) logits, feature by feature."""
        sums = np.repeat(self.intercepts[:, np.newaxis], len(X), axis=1)
        for d in range(X.shape[1]):
            sums = sums + X[:, d] * self.weights[d][:, np.newaxis]
        return sums


def mixed(z: np.ndarray) -> np.ndarray:
    """Return splitmix64's bits of its states."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def hashes(numbers: np.ndarray, branch: int | None = None) -> np.ndarray:
    """Return 64 bits for each number, with the key of a branch of the seed 0; None: with no key."""
    key = np.uint64(0)
    if branch is not None:
        key = np.random.SeedSequence(0, spawn_key=(branch,)).generate_state(1, np.uint64)[0]
    return mixed(key + (numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15))


def features(rows: np.ndarray) -> np.ndarray:
    """Return (n, D) what `generated.chunks` has in these rows: one hash makes four features, its lowest bits first."""
    n_hashes = N_FEATURES // 4
    bits = hashes(rows[:, np.newaxis] * n_hashes + np.arange(n_hashes))
    return bits.astype("<u8").view("<i2").astype(np.float64) / (1 << 14)


def runs(n_rows: int) -> Iterator[np.ndarray]:
    """Return the rows of a pool, a run at a time."""
    for first in range(0, n_rows, RUN):
        yield np.arange(first, min(first + RUN, n_rows))


def lowest(
    n_rows: int, size: int, scored: Callable[[np.ndarray, float], tuple[np.ndarray, np.ndarray]]
) -> np.ndarray:
    """Return the rows with the `size` lowest scores, and those that are as low but for rounding.

    Args:
        n_rows: of the pool.
        size: how many are wanted.
        scored: given rows, and a score that is surely not among the lowest, returns those that may be, and scores.
    """
    rows, scores, cut = np.empty(0, np.int64), np.empty(0), np.inf
    for run in runs(n_rows):
        found, of_found = scored(run, cut)
        near = of_found <= cut
        rows, scores = np.concatenate([rows, found[near]]), np.concatenate([scores, of_found[near]])
        if len(scores) >= 2 * size:
            cut = np.partition(scores, size - 1)[size - 1] + SLACK
            rows, scores = rows[scores <= cut], scores[scores <= cut]
    return rows


def in_order(rows: np.ndarray, scores: np.ndarray, size: int) -> Answer:
    """Return the first rows in the order of a batch: by score, then by hash, then by number."""
    order = np.lexsort((rows, hashes(rows, TIES), scores))[:size]
    return Answer(rows[order], scores[order])


def by_min_margin(members: Linear, n_rows: int) -> Answer:
    """Return the batch of `min-margin`. With two classes a margin is tanh(|logit| / 2)."""

    def scored(rows: np.ndarray, cut: float) -> tuple[np.ndarray, np.ndarray]:
        return rows, np.abs(members.logits(features(rows))).min(axis=0)

    rows = lowest(n_rows, BATCH, scored)
    margins = np.tanh(np.abs(members.logits_in_order(features(rows))) / 2).min(axis=0)
    return in_order(rows, margins, BATCH)


def by_distinct(members: Linear, n_rows: int) -> Answer:
    """Return the batch of distinct rows, where the second half of the pool repeats the first."""
    once = by_min_margin(members, n_rows // 2)
    rows = np.concatenate([once.rows, once.rows + n_rows // 2])
    both = in_order(rows, np.concatenate([once.scores, once.scores]), len(rows))
    _, first_of_each = np.unique(both.rows % (n_rows // 2), return_index=True)
    places = np.sort(first_of_each)
    return Answer(both.rows[places], both.scores[places])


def by_spread(members: Linear, n_rows: int) -> Answer:
    """Return the batch of `spread`: rows drawn in proportion to |g|, then k-means++ among them."""
    log_of_longest = np.log(np.sqrt(0.5))

    def drawn_by(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return -log|g| less noise, and (n, 2) g."""
        p = (1 / (1 + np.exp(-members.logits_in_order(features(rows))))).mean(axis=0)
        least = np.minimum(p, 1 - p)
        signs = np.where(p > 0.5, 1.0, -1.0)  # the likelier class has p - 1, the other one as much above 0
        gradients = np.stack([signs * least, -signs * least], axis=1)
        return -np.log(np.sqrt(2) * least) - noise(rows), gradients

    def noise(rows: np.ndarray) -> np.ndarray:
        uniform = ((hashes(rows, NOISE) >> np.uint64(12)).astype(np.float64) + 0.5) / 2.0**52
        return -np.log(-np.log(uniform))

    def scored(rows: np.ndarray, cut: float) -> tuple[np.ndarray, np.ndarray]:
        rows = rows[-log_of_longest - noise(rows) <= cut + SLACK]
        return rows, drawn_by(rows)[0]

    rows = lowest(n_rows, OVERSAMPLE * BATCH, scored)
    drawn = in_order(rows, drawn_by(rows)[0], OVERSAMPLE * BATCH).rows
    in_pool_order = np.sort(drawn)
    with_one = np.hstack([features(in_pool_order), np.ones((len(drawn), 1))])
    shortened = with_one / np.sqrt(np.linalg.norm(with_one, axis=1))[:, np.newaxis]
    embeddings = zip(drawn_by(in_pool_order)[1].tolist(), shortened.tolist(), strict=True)
    sys.path.append(str(TESTS))
    from brute_force_apart import pick_apart  # noqa: PLC0415 - from the tests, which are no package

    return Answer(*pick_apart(in_pool_order.tolist(), drawn.tolist(), list(embeddings), BATCH, seed=0))


#: Every way to select that is checked.
ORACLES: dict[str, Callable[[Linear, int], Answer]] = {
    "min-margin": by_min_margin,
    "spread": by_spread,
    "distinct": by_distinct,
}


def ask(way: str, n_rows: int, folder: Path) -> Answer:
    """Return the batch of a way to select, from the folder if it was found before."""
    file = folder / f"{way}-{n_rows}.npz"
    if not file.exists():
        members = Linear.of(mm.fit_committee(*labeled_set(N_FEATURES), random_state=0))
        found = ORACLES[way](members, n_rows)
        folder.mkdir(parents=True, exist_ok=True)
        np.savez(file, **found._asdict())
    with np.load(file) as found:
        return Answer(found["rows"], found["scores"])


def main() -> None:
    """Ask for some ways."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("ways", nargs="+", choices=ORACLES)
    parser.add_argument("--rows", type=float, default=1e9)
    parser.add_argument("--folder", type=Path, required=True)
    arguments = parser.parse_args()
    for way in arguments.ways:
        answer = ask(way, int(arguments.rows), arguments.folder)
        print(way, answer.rows[:5], answer.scores[:5], flush=True)


if __name__ == "__main__":
    main()
