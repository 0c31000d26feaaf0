"""How many rows rougher screens could dismiss, on real sets.

A screen that is rougher than float32 pays only if it dismisses nearly all rows *with certainty*: what it leaves must be
looked at in float32 as well. For committees trained on real data, this takes the threshold that the scan ends with
and counts the rows that each idea must leave, its errors bounded as strictly as those of the float32 screen are:

- *int16*, *int8*: rows and weights rounded to whole numbers, the largest of a row or model to Q (for int16 the largest
  with which 64 products cannot leave int32). x errs by half a step, so a logit by half a step times the sum of sizes.
- *bfloat16*: rows and weights rounded to 8 bits.
- *halves*: rows and weights as sums of two bfloat16 numbers each, and three products of these.
- *mean*: one model, the mean of the members, and how far any member's weights are from it.
- *projection*: rows and weights projected onto the r main directions of all weights; the rest bounded by its lengths.

*work* is what the rough look costs relative to the float32 product: measured for int16, for the others what the width
of their numbers or the number of their products gives at best. *gain* is 1 / (work + share left).

Where torch is installed, bare products of bfloat16 and int8 numbers by oneDNN, which knows the processor's own
instructions for them, take turns with numpy's float32 product, in blocks as large as a scan's. Three products need
rows cut in halves, which is not counted.

    python benchmarks/rougher.py [--quick] [--json FILE]
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.datasets import load_svmlight_file
from sklearn.preprocessing import StandardScaler

import minmargin as mm
from measuring import Report, Table, arguments_of, figure, take_turns, times

DATA = Path(__file__).parents[2] / "shared" / "data"
BATCH_SIZE = 100  # half a percent of the pool
INT16_WORK = 0.6  # a product of int16 numbers was 1.6 to 1.7 times as fast as one of float32, on AVX2


class Problem(NamedTuple):
    """A labeled set and a pool."""

    name: str
    X: np.ndarray
    y: np.ndarray
    pool: np.ndarray


def problems(n_pool: int) -> Iterator[Problem]:
    """Return real sets of 2, 7 and 10 classes, of 8 to 784 features."""
    for name in ("mnist", "fashion-mnist"):
        with gzip.open(DATA / name / "train-images-idx3-ubyte.gz") as file:
            images = np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 784)
        with gzip.open(DATA / name / "train-labels-idx1-ubyte.gz") as file:
            labels = np.frombuffer(file.read(), np.uint8, offset=8)
        yield split(f"{name}, 1,000 labeled", images / np.float32(255), labels, 1000, n_pool)
    table = np.loadtxt(
        DATA / "covtype" / "covtype.data.gz", delimiter=",", dtype=np.float32, max_rows=200_000
    )
    scaled = StandardScaler().fit_transform(table[:, :-1]).astype(np.float32)
    yield split("covtype, standardized, 2,000 labeled", scaled, table[:, -1].astype(int), 2000, n_pool)
    for name, n_features in (("a9a", 123), ("cod-rna", 8)):
        rows, labels = load_svmlight_file(str(DATA / name / f"{name}.gz"), n_features=n_features)
        scaled = StandardScaler().fit_transform(rows.toarray()).astype(np.float32)
        yield split(f"{name}, standardized, 1,000 labeled", scaled, labels, 1000, n_pool)


def split(name: str, rows: np.ndarray, labels: np.ndarray, n_labeled: int, n_pool: int) -> Problem:
    """Return the set cut at random into labeled rows and a pool."""
    order = np.random.default_rng(0).permutation(len(rows))
    labeled, pool = order[:n_labeled], order[n_labeled : n_labeled + n_pool]
    return Problem(name, rows[labeled], labels[labeled], rows[pool])


class Committee(NamedTuple):
    """Members as linear functions of a row with a 1 appended: weights (K, O, D + 1), and the gap that is allowed."""

    weights: np.ndarray
    allowed: float

    @property
    def outputs(self) -> np.ndarray:
        """(K * O, D + 1)."""
        return self.weights.reshape(-1, self.weights.shape[2])


def committee_of(problem: Problem) -> Committee:
    """Return the committee, with the gap below which the B lowest rows lie."""
    committee = mm.fit_committee(problem.X, problem.y, random_state=0)
    scorer = committee.scorer
    weights = np.concatenate(
        [scorer.member_weights.transpose(1, 2, 0), scorer.member_intercepts[..., None]], axis=2
    )
    threshold = committee.select(problem.pool, BATCH_SIZE).scores[-1]
    n_classes = len(committee.classes_)
    return Committee(weights, float(np.log1p((n_classes - 1) * threshold) - np.log1p(-threshold)))


def gaps(logits: np.ndarray) -> np.ndarray:
    """Return (n, K) the differences of the two highest of (n, K, O) logits."""
    if logits.shape[2] == 1:
        return np.abs(logits[..., 0])
    highest = np.partition(logits, -2, axis=2)
    return highest[..., -1] - highest[..., -2]


def share_left(rows: np.ndarray, committee: Committee, approximate: np.ndarray, errors: np.ndarray) -> float:
    """Return the share of rows whose lowest gap may be within what is allowed; errors (n, K * O) are of logits."""
    shape = (len(rows), *committee.weights.shape[:2])
    logits = approximate.reshape(shape)
    of_gap = errors.reshape(shape).max(axis=2) * (1 if shape[2] == 1 else 2)
    return float((gaps(logits) - of_gap <= committee.allowed).any(axis=1).mean())


def rounded(rows: np.ndarray, committee: Committee, largest: int) -> float:
    """Return the share left by products of whole numbers up to `largest`."""
    W = committee.outputs
    row_step = np.abs(rows).max(axis=1, keepdims=True) / largest
    weight_step = np.abs(W).max(axis=1, keepdims=True) / largest
    R, V = np.round(rows / row_step) * row_step, np.round(W / weight_step) * weight_step
    errors = 0.5 * row_step * np.abs(W).sum(axis=1) + 0.5 * weight_step.T * np.abs(R).sum(
        axis=1, keepdims=True
    )
    return share_left(rows, committee, R @ V.T, errors)


def bfloat16(rows: np.ndarray, committee: Committee) -> float:
    """Return the share left by products of bfloat16 numbers, summed in float32."""
    W = committee.outputs
    unit = 2.0**-8 * (2 + 2.0**-8)
    return share_left(rows, committee, rows @ W.T, unit * np.abs(rows) @ np.abs(W).T)


def halves(rows: np.ndarray, committee: Committee) -> float:
    """Return the share left by three products of bfloat16 numbers: of the high halves, and of a high and a low one.

    A half has 8 bits, so two of them lose 2^-18 of a number, and low by low, which is left out, is 2^-18 of a product.
    All three are summed in float32, in any order.
    """
    W = committee.outputs
    n_sums = 3 * rows.shape[1]
    summed = n_sums * 2.0**-24 / (1 - n_sums * 2.0**-24)
    unit = (3 * 2.0**-18 + summed) * (1 + 2.0**-7)
    return share_left(rows, committee, rows @ W.T, unit * np.abs(rows) @ np.abs(W).T)


def mean_model(rows: np.ndarray, committee: Committee) -> float:
    """Return the share left by the mean model and the members' distances from it, around the mean row."""
    center = rows.mean(axis=0)
    mean = committee.weights.mean(axis=0)
    away = (committee.weights - mean).reshape(len(committee.outputs), -1)
    errors = np.linalg.norm(rows - center, axis=1, keepdims=True) * np.linalg.norm(away, axis=1)
    offsets = np.abs(away @ center)
    logits = np.broadcast_to((rows @ mean.T)[:, None], (len(rows), *committee.weights.shape[:2]))
    return share_left(rows, committee, logits.reshape(len(rows), -1), errors + offsets)


def projection(rows: np.ndarray, committee: Committee, rank: int) -> float:
    """Return the share left by the main directions of all weights, around the mean row."""
    W = committee.outputs
    _, _, directions = np.linalg.svd(W, full_matrices=False)
    basis = directions[:rank]
    center = rows.mean(axis=0)
    inside = (rows - center) @ basis.T
    logits = inside @ (W @ basis.T).T + W @ center
    rest = np.sqrt(np.maximum(((rows - center) ** 2).sum(axis=1) - (inside**2).sum(axis=1), 0.0))
    W_rest = np.linalg.norm(W - (W @ basis.T) @ basis, axis=1)
    return share_left(rows, committee, logits, rest[:, None] * W_rest)


def products_of_low_precision(n_rows: int, rounds: int) -> Table:
    """Return how fast oneDNN multiplies rows of low precision with 25 members, beside numpy's float32."""
    import torch  # noqa: PLC0415 - it may be missing

    table = Table(
        "Bare products on all cores, GFLOP/s, and how many times as fast as float32",
        ["rows", "float32", "bfloat16", "int8", "bfloat16 vs", "three bfloat16 vs", "int8 vs"],
    )
    rng = np.random.default_rng(0)
    for n_features, n_outputs in ((784, 250), (64, 250), (32, 25)):
        rows = rng.standard_normal((n_rows, n_features), dtype=np.float32)
        weights = rng.standard_normal((n_features, n_outputs), dtype=np.float32)
        out = np.empty((n_rows, n_outputs), dtype=np.float32)
        high = [torch.from_numpy(each).bfloat16() for each in (rows, weights)]
        whole = [
            torch.from_numpy(np.clip(np.round(each * 32), -127, 127).astype(np.int8))
            for each in (rows, weights)
        ]
        ways: dict[str, Callable[[], object]] = {
            "float32": lambda rows=rows, weights=weights, out=out: np.matmul(rows, weights, out=out),
            "bfloat16": lambda high=high: torch.matmul(*high),
            "int8": lambda whole=whole: torch._int_mm(*whole),  # noqa: SLF001 - there is no other
        }
        turns = take_turns(ways, rounds)
        operations = 2e-9 * n_rows * n_features * n_outputs
        table.rows.append(
            [
                f"{n_rows:,} x {n_features}, {n_outputs} outputs",
                *(figure(operations / turns.median(way)) for way in ("float32", "bfloat16", "int8")),
                times(turns.ratio("float32", "bfloat16")),
                times(turns.ratio("float32", "bfloat16") / 3),
                times(turns.ratio("float32", "int8")),
            ]
        )
    return table


def main() -> None:
    """Print the share of rows that each idea leaves, and what it could gain."""
    arguments = arguments_of(__doc__)
    report = Report(__file__, __doc__, arguments)
    if find_spec("torch") is None:
        print("There is no torch: products of low precision were not measured.")
    else:
        report.add(products_of_low_precision(131_072, 3 if arguments.quick else 9))
    if not DATA.is_dir():
        print("There is no shared/data folder beside the checkout: nothing was measured.")
        return
    table = Table(
        "Rows that a rougher screen leaves, and its gain at best", ["set", "idea", "work", "left", "gain"]
    )
    for problem in problems(2_000 if arguments.quick else 20_000):
        committee = committee_of(problem)
        rows = np.hstack([problem.pool, np.ones((len(problem.pool), 1))]).astype(np.float64)
        n_outputs, width = committee.outputs.shape
        rank = min(n_outputs, width, 32)
        ideas = {
            "int16": (INT16_WORK, rounded(rows, committee, int(np.sqrt(2**31 / 64)))),
            "int8": (1 / 4, rounded(rows, committee, 127)),
            "bfloat16": (1 / 2, bfloat16(rows, committee)),
            "halves": (3 / 2, halves(rows, committee)),
            "mean": (1 / len(committee.weights), mean_model(rows, committee)),
            f"projection, r = {rank}": (rank / n_outputs + rank / width, projection(rows, committee, rank)),
        }
        for idea, (work, left) in ideas.items():
            table.rows.append([problem.name, idea, f"{work:.2f}", f"{left:.1%}", times(1 / (work + left))])
    report.add(table)
    report.write()


if __name__ == "__main__":
    main()
