"""How time grows with the pool, the batch, the members and the features; whether the largest batch is exact.

For |Z| the rows are made on the fly, chunk by chunk, and never held together; making them alone is timed beside
selecting (they share the cores, so the difference is not subtracted). Time is fitted by a fixed cost plus a power of
|Z|, by least squares over the logarithms. For B, K and D the pool is in memory. The exact batch is found a second time
by an oracle that shares only the plain formulas: every logit in float64 by numpy, a generous cut, and what is left
ordered by (score, tie hash, row).

    python benchmarks/scaling.py [--quick] [--rows 1e8] [--repeats 3] [--json FILE]
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import minmargin as mm
from generated import chunks, labeled_set
from measuring import Report, Table, arguments_of, figure, take_turns
from minmargin import margins

N_FEATURES = 16
BATCH_SIZE = 1_000
SMALL_BATCH = 100  # where |Z| grows: about B ln(|Z| / B) rows pass through the batch, which is not linear


def main() -> None:
    """Measure and check."""
    arguments = arguments_of(
        __doc__,
        rows=(1e8, "the largest pool"),
        repeats=(3, "rounds"),
    )
    largest, repeats = (1_000_000, 2) if arguments.quick else (int(arguments.rows), arguments.repeats)
    report = Report(__file__, __doc__, arguments)
    committee = mm.fit_committee(*labeled_set(N_FEATURES), random_state=0)
    grow_pool(report, committee, largest, repeats)
    check_exact(report, committee, largest)
    scale = 0.05 if arguments.quick else 1.0
    grow_batch(report, committee, int(4e6 * scale), repeats)
    grow_committee(report, int(2e6 * scale), repeats)
    grow_features(report, int(64e6 * scale), repeats)
    report.write()


def slope(sizes: list[int], taken: list[float]) -> float:
    """Return the exponent p of taken ~ sizes ** p, by least squares on the logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(taken), 1)[0])


def fit_power(sizes: list[int], taken: list[float]) -> tuple[float, float]:
    """Return the fixed seconds and the exponent p of taken ~ fixed + c * sizes ** p, by least squares on logarithms."""

    def misfit(fixed: float) -> float:
        rest, n = np.log(np.array(taken) - fixed), np.log(sizes)
        return float(np.square(rest - np.polyval(np.polyfit(n, rest, 1), n)).sum())

    fixed = min(np.linspace(0.0, 0.99 * min(taken), 1000), key=misfit)
    return float(fixed), slope(sizes, [seconds - fixed for seconds in taken])


def grow_pool(report: Report, committee: mm.Committee, largest: int, repeats: int) -> None:
    """Add the table over |Z|."""
    sizes = [n for n in (100_000, 316_228, 1_000_000, 3_162_278, 10_000_000, 31_622_777) if n < largest]
    sizes.append(largest)
    ways: dict[str, Callable[[], object]] = {}
    for n in sizes:
        ways[f"select {n}"] = lambda n=n: committee.select(chunks(n, N_FEATURES), SMALL_BATCH)
        ways[f"make {n}"] = lambda n=n: sum(len(rows) for rows in chunks(n, N_FEATURES))
    committee.select(chunks(sizes[0], N_FEATURES), SMALL_BATCH)
    found = take_turns(ways, repeats, warm_up=False)
    taken = [found.median(f"select {n}") for n in sizes]
    made = [found.median(f"make {n}") for n in sizes]
    raw = slope(sizes, taken)
    fixed, exponent = fit_power(sizes, taken)
    table = Table(
        f"The pool grows: {N_FEATURES} features, 25 members, batch of {SMALL_BATCH:,}",
        ["rows", "seconds", "ns a row", "of the first", "making the rows alone, s"],
        [
            [f"{n:,}", figure(s), figure(s / n * 1e9), f"{s / n / taken[0] * sizes[0]:.2f}", figure(g)]
            for n, s, g in zip(sizes, taken, made, strict=True)
        ],
        note=f"Time is {fixed * 1e3:.0f} ms, for what a selection does whatever the pool, plus |Z| to the power "
        f"{exponent:.3f}. With the fixed cost in it, most of what the smallest pool takes, the slope is {raw:.3f}.",
    )
    report.add(table)
    report.curves["|Z|, pool rows"] = {"sizes": sizes, "seconds": taken, "making": made, "exponent": exponent}
    report.goal(
        f"scaling: time linear in |Z| from {sizes[0]:,} to {largest:,} rows: exponent 1.00 ± 0.05",
        f"{exponent:.3f} beside a fixed {fixed * 1e3:.0f} ms ({raw:.3f} with it)",
        met=abs(exponent - 1) <= 0.05,
    )


def check_exact(report: Report, committee: mm.Committee, n_rows: int) -> None:
    """Compare the batch of a large pool with the oracle's, to the bit."""
    batch = committee.select(chunks(n_rows, N_FEATURES), BATCH_SIZE)
    rows, scores = oracle(committee, n_rows)
    same = np.array_equal(batch.rows, rows) and np.array_equal(batch.scores, scores)
    measured = "the same rows, order and scores to the bit" if same else "another batch"
    report.add(
        Table(
            "The batch against the oracle",
            ["rows", "batch", "scored exactly", "highest score picked", "result"],
            [
                [
                    f"{n_rows:,} of {N_FEATURES} features",
                    f"{BATCH_SIZE:,}",
                    f"{batch.manifest['rows_scored_exactly']:,}",
                    f"{batch.scores[-1]:.3g}",
                    measured,
                ]
            ],
        )
    )
    report.goal(f"scaling: the batch of {n_rows:,} x {N_FEATURES} rows is exact", measured, met=same)


def oracle(committee: mm.Committee, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows and scores of the batch, by the reference formulas alone; two classes only.

    With two classes a margin is tanh(|logit| / 2), so the lowest |logit| under any member orders the rows. A
    float64 product gives it to about 1e-14; rows within 1e-9 of the B-th lowest are kept for the formulas.
    """
    weights, intercepts = committee.scorer.member_weights, committee.scorer.member_intercepts
    kept_rows, kept, kept_X, first = np.empty(0, np.int64), np.empty(0), np.empty((0, N_FEATURES)), 0
    for chunk in chunks(n_rows, N_FEATURES):
        X = chunk.astype(np.float64)
        logits = X @ weights[:, :, 0]
        logits += intercepts[:, 0]
        lowest = np.abs(logits, out=logits).min(axis=1)
        near = np.flatnonzero(lowest <= cut_of(kept))
        kept = np.concatenate([kept, lowest[near]])
        kept_rows = np.concatenate([kept_rows, first + near])
        kept_X = np.concatenate([kept_X, X[near]])
        first += len(chunk)
        among = kept <= cut_of(kept)
        kept, kept_rows, kept_X = kept[among], kept_rows[among], kept_X[among]
    logits = np.repeat(intercepts[:, np.newaxis, 0], len(kept_X), axis=1)
    for d in range(N_FEATURES):  # in feature order, as a canonical logit is defined
        logits = logits + kept_X[:, d] * weights[d, :, 0, np.newaxis]
    scores = margins.min_margin(margins.sigmoid_pair(logits))
    ties = committee.training.bootstrap.seeds.ties(kept_rows)
    order = np.lexsort((kept_rows, ties, scores))[:BATCH_SIZE]
    return kept_rows[order], scores[order]


def cut_of(lowest: np.ndarray) -> float:
    """Return what a row must not exceed to be among the lowest B, with slack."""
    if len(lowest) < BATCH_SIZE:
        return np.inf
    return float(np.partition(lowest, BATCH_SIZE - 1)[BATCH_SIZE - 1]) + 1e-9


def grow_batch(report: Report, committee: mm.Committee, n_rows: int, repeats: int) -> None:
    """Add the table over B."""
    pool = np.concatenate(list(chunks(n_rows, N_FEATURES)))
    sizes = [size for size in (10, 100, 1_000, 10_000, 100_000) if size <= n_rows // 10]
    ways = {str(size): lambda size=size: committee.select(pool, size) for size in sizes}
    add_curve(report, "B, batch", sizes, [n_rows] * len(sizes), ways, repeats, of="25 members, D = 16")


def grow_committee(report: Report, n_rows: int, repeats: int) -> None:
    """Add the table over K."""
    pool = np.concatenate(list(chunks(n_rows, N_FEATURES)))
    sizes = [1, 5, 25, 100, 400]
    X, y = labeled_set(N_FEATURES)
    committees = [mm.fit_committee(X, y, n_models=size, random_state=0) for size in sizes]
    ways = {str(c.n_models): lambda c=c: c.select(pool, BATCH_SIZE) for c in committees}
    add_curve(report, "K, members", sizes, [n_rows] * len(sizes), ways, repeats, of="D = 16, B = 1,000")


def grow_features(report: Report, n_values: int, repeats: int) -> None:
    """Add the table over D; the pool always has as many numbers."""
    sizes = [4, 16, 64, 256, 1024]
    counts = [n_values // size for size in sizes]
    committees = [mm.fit_committee(*labeled_set(size), random_state=0) for size in sizes]
    values = np.concatenate(list(chunks(n_values // 4, 4))).reshape(-1)
    pools = [values[: n * size].reshape(n, size) for n, size in zip(counts, sizes, strict=True)]
    pairs = zip(sizes, committees, pools, strict=True)
    ways = {str(size): lambda c=c, p=p: c.select(p, BATCH_SIZE) for size, c, p in pairs}
    add_curve(report, "D, features", sizes, counts, ways, repeats, of="25 members, B = 1,000")


def add_curve(
    report: Report,
    letter: str,
    sizes: list[int],
    n_rows: list[int],
    ways: dict[str, Callable[[], object]],
    repeats: int,
    *,
    of: str,
) -> None:
    """Time a selection for every size, add the table and keep the curve, in seconds a million rows."""
    found = take_turns(ways, repeats)
    per_million = [found.median(str(size)) / n * 1e6 for size, n in zip(sizes, n_rows, strict=True)]
    report.add(
        Table(
            f"{letter} grows: {of}",
            [letter, "pool rows", "ns a row", "of the first"],
            [
                [f"{size:,}", f"{n:,}", figure(s * 1e3), f"{s / per_million[0]:.2f}"]
                for size, n, s in zip(sizes, n_rows, per_million, strict=True)
            ],
        )
    )
    report.curves[letter] = {"sizes": sizes, "seconds": per_million, "rows": n_rows}


if __name__ == "__main__":
    main()
