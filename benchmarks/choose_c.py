"""What `C="auto"` gains and costs on embeddings, beside every fixed C.

Texts become rows by TF-IDF and a truncated singular value decomposition, to 64 and 256 numbers, and images by their
principal components, to 64. *unit* are the same rows, each divided by its length. Of each set 8,000 rows are taken.
Accuracy is that of the base in percent, on 3,000 of them that are never labeled, and the mean of several draws of the
labeled rows; a class that has no labeled row counts as wrong. *short of the best* is by how much the mean of `C="auto"`
is below that of the best fixed C, which nobody knows beforehand; it is below 0 where draws differ in which is best.

Seconds are those of a CPU, of one draw: to train the base and 25 members with C = 1, with the C that was chosen, and to
choose it.

    python benchmarks/choose_c.py [--quick] [--draws 4] [--data ../shared/data] [--json FILE]
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

import minmargin as mm
from measuring import Report, Table, arguments_of, figure, times
from minmargin.experiments.study.coding import Texts
from minmargin.experiments.study.sets import READERS

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
FIXED = [10.0**power for power in range(-3, 4)]
WIDTHS = {"banking77": (64, 256), "ag-news": (64, 256), "20newsgroups": (64, 256), "mnist": (64,)}
WIDTHS["fashion-mnist"] = WIDTHS["mnist"]
N_ROWS, N_TEST, N_MODELS = 8_000, 3_000, 25
ENOUGH = 1.0  # a point of accuracy


class Embedded(NamedTuple):
    """A set as rows of numbers."""

    name: str
    X: np.ndarray
    y: np.ndarray


class Outcome(NamedTuple):
    """What became of some labeled rows: accuracies in percent, the C that was chosen, and seconds of a CPU."""

    fixed: list[float]
    auto: float
    chosen: float
    usual_seconds: float
    chosen_seconds: float
    choosing_seconds: float


def embed(name: str, data: Path) -> Iterator[Embedded]:
    """Return the rows of a set, in each width, as they are and of length one."""
    features, labels = READERS[name](data)
    some = np.random.default_rng(0).permutation(len(labels))[:N_ROWS]
    y = np.unique(labels[some], return_inverse=True)[1]
    for width in WIDTHS[name]:
        if isinstance(features, Texts):
            words = TfidfVectorizer(sublinear_tf=True, min_df=2).fit_transform(
                [features.texts[i] for i in some]
            )
            X = TruncatedSVD(width, random_state=0).fit_transform(words)
        else:
            X = PCA(width, random_state=0).fit_transform(features.pixels[some].astype(np.float64))
        lengths = np.linalg.norm(X, axis=1, keepdims=True)
        yield Embedded(f"{name}, {width}", X, y)
        yield Embedded(f"{name}, {width}, unit", X / np.where(lengths > 0, lengths, 1.0), y)


def cpu_seconds(work: Callable[[], object]) -> float:
    """Return how long one call keeps a CPU busy."""
    start = time.process_time()
    work()
    return time.process_time() - start


def play(rows: Embedded, n_labeled: int, draw: int, *, timed: bool) -> Outcome:
    """Return what a draw of the labeled rows leads to."""
    order = np.random.default_rng([draw, n_labeled]).permutation(len(rows.y))
    labeled, test = order[:n_labeled], order[-N_TEST:]
    X, y = rows.X[labeled], rows.y[labeled]

    def train(C: Any, n_models: int = 0) -> mm.Committee:
        return mm.fit_committee(
            X, y, learner=mm.LogisticLearner(C=C), n_models=n_models, random_state=draw, n_jobs=1
        )

    def accuracy(committee: mm.Committee) -> float:
        return float((committee.predict(rows.X[test]) == rows.y[test]).mean() * 100)

    auto = train("auto")
    assert auto.choice is not None
    C = auto.choice.C
    usual, chosen, both = 0.0, 0.0, 0.0
    if timed:
        usual = cpu_seconds(lambda: train(1.0, N_MODELS))
        chosen = cpu_seconds(lambda: train(C, N_MODELS))
        both = cpu_seconds(lambda: train("auto", N_MODELS))
    return Outcome(
        [accuracy(train(fixed)) for fixed in FIXED], accuracy(auto), C, usual, chosen, max(both - chosen, 0.0)
    )


def main() -> None:
    """Measure all sets."""
    arguments = arguments_of(
        __doc__, draws=(4, "draws of the labeled rows"), data=(DATA, "the folder of the data sets")
    )
    if not arguments.data.is_dir():
        print(f"choose_c: skipped, there is no {arguments.data}.")
        return
    report = Report(__file__, __doc__, arguments)
    names = ["banking77"] if arguments.quick else list(WIDTHS)
    table = Table(
        "Accuracy in percent by C, and seconds",
        [
            *("set, width", "labels", *(f"C = {C:g}" for C in FIXED), "auto", "short of the best", "chosen"),
            *("25 members, C = 1", "with the chosen C", "choosing", "choosing / training"),
        ],
    )
    short: dict[str, float] = {}
    beside_usual: dict[str, float] = {}
    costs: list[float] = []
    for name in names:
        for rows in embed(name, arguments.data):
            for n_labeled in (100, 450):
                outcomes = [
                    play(rows, n_labeled, draw, timed=draw == 0)
                    for draw in range(2 if arguments.quick else arguments.draws)
                ]
                fixed = np.mean([outcome.fixed for outcome in outcomes], axis=0)
                auto = float(np.mean([outcome.auto for outcome in outcomes]))
                case = f"{rows.name}, {n_labeled} labels"
                short[case] = float(fixed.max()) - auto
                beside_usual[case] = auto - float(fixed[FIXED.index(1.0)])
                first = outcomes[0]
                costs.append(first.choosing_seconds / first.chosen_seconds)
                table.rows.append(
                    [
                        rows.name,
                        str(n_labeled),
                        *(f"{accuracy:.1f}" for accuracy in fixed),
                        f"{auto:.1f}",
                        f"{round(short[case], 1) + 0.0:.1f}",  # not -0.0
                        ", ".join(f"{C:g}" for C in sorted({outcome.chosen for outcome in outcomes})),
                        *map(figure, first[3:]),
                        f"{costs[-1]:.2f}",
                    ]
                )
                print(table.rows[-1], flush=True)
    note = (
        f"Choosing takes {times(float(np.median(costs)))} as long as training 25 members with the chosen C, in the "
        f"median, and {times(max(costs))} at most."
    )
    report.add(replace(table, note=note))
    worst = max(short, key=lambda case: short[case])
    report.goal(
        "choose_c: C = 'auto' within a point of the best fixed C everywhere",
        f"{short[worst]:.1f} short at worst ({worst}), {np.mean(list(short.values())):.1f} in the mean",
        met=short[worst] <= ENOUGH,
    )
    lowest = min(beside_usual, key=lambda case: beside_usual[case])
    report.goal(
        "choose_c: C = 'auto' nowhere more than a point below C = 1",
        f"{beside_usual[lowest]:+.1f} at worst ({lowest}), {np.mean(list(beside_usual.values())):+.1f} in the mean",
        met=beside_usual[lowest] >= -ENOUGH,
    )
    report.write()


if __name__ == "__main__":
    main()
