"""`C="auto"`: how strong the penalty of logistic regressions is, chosen on the labeled set by cross-validation.

Each labeled row of a class that has two rows or more is held out once, and models of all candidates are trained without
it. Of the candidates that are as accurate as the best, within one held-out row, the one with the least log loss wins.
The base and all members then use it.

Accuracy alone is a rough measure: with a hundred labels, candidates differ by a row or two. So it is smoothed over
neighbors, and a row more decides nothing. Log loss is a finer measure, but of probabilities and not of classes: with
few classes and many labels it chooses penalties that are too weak (docs/decisions/0022-a-penalty-that-is-chosen.md).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from minmargin.data.rows import Matrix
from minmargin.learners.newton.training import fit_together
from minmargin.margins import exp_nonpositive, log
from minmargin.seeds import SeedTree

Floats: TypeAlias = NDArray[np.float64]

#: The candidates, the strongest penalty first: half decades, spelled so that they read well in a manifest.
CANDIDATES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
#: How many times models are trained, each time without another part of the rows.
N_FOLDS = 5

# How much a candidate's accuracy counts, and that of its neighbors, one and two half decades off.
_NEIGHBORHOOD = (1, 2, 3, 2, 1)
# Held-out rows tell candidates apart before training is at the optimum. With 0.01, models with a weak penalty stop so
# early that they look worse than they are.
_ROUGHLY = 1e-4
# Models that are trained together have no more coefficients than this in all, 256 MB, or are those of one candidate.
_MOST_COEFFICIENTS = 1 << 25


class Candidate(NamedTuple):
    """An inverse strength of the penalty, and what models under it say of rows that they were not trained on.

    Attributes:
        C: the inverse strength.
        accuracy: the share of rows whose class is the likeliest.
        log_loss: the mean of -log(probability of the row's class).
    """

    C: float
    accuracy: float
    log_loss: float


@dataclass(frozen=True)
class Choice:
    """The inverse strength of the penalty that was chosen, and what it was chosen from.

    Attributes:
        C: the one with the least log loss, of those whose accuracy, smoothed over neighbors, is within a held-out row
            of the best; of several, the strongest penalty.
        n_held_out: how many labeled rows were held out, each once.
        candidates: all of them, the strongest penalty first; none if nothing could be held out.
    """

    C: float
    n_held_out: int
    candidates: tuple[Candidate, ...]

    def describe(self) -> dict[str, Any]:
        """Return it for a manifest."""
        return {
            "C": self.C,
            "held_out": self.n_held_out,
            "candidates": [candidate._asdict() for candidate in self.candidates],
        }


def choose_penalty(
    X: Matrix,
    codes: NDArray[np.intp],
    n_classes: int,
    *,
    seeds: SeedTree,
    usual: float,
    weigh: Callable[[NDArray[np.int64]], Floats],
    fit_intercept: bool,
    n_jobs: int,
) -> Choice:
    """Return the candidate whose models are best at rows that they were not trained on.

    Where no rows of two classes can be held out, nothing is tried, and the choice is the usual: models that say the
    same of every row would be the best.

    Args:
        X: (n, D) rows, dense float64 or CSR.
        codes: (n,) classes as 0..n_classes-1; each has a row.
        n_classes: how many classes there are.
        seeds: the run's seed tree, which decides who is held out together.
        usual: the inverse strength where there is nothing to choose by.
        weigh: returns (n,) how much each row counts in training, of how often it is there.
        fit_intercept: whether logits have a free constant.
        n_jobs: how many models are trained at a time.
    """
    folds = assign_folds(codes, seeds)
    held_out = folds >= 0
    if len(np.unique(codes[held_out])) < 2:
        return Choice(usual, 0, ())
    weights = np.array([weigh((folds != fold).astype(np.int64)) for fold in range(N_FOLDS)])
    importance = weigh(np.ones(len(codes), dtype=np.int64))[held_out]
    n_outputs = 1 if n_classes == 2 else n_classes
    n_together = max(_MOST_COEFFICIENTS // (X.shape[1] * n_outputs * N_FOLDS), 1)
    candidates: list[Candidate] = []
    for start in range(0, len(CANDIDATES), n_together):
        some = CANDIDATES[start : start + n_together]
        optimum = fit_together(
            X,
            codes,
            n_classes,
            np.tile(weights, (len(some), 1)),
            C=np.repeat(some, N_FOLDS),
            fit_intercept=fit_intercept,
            tolerance=_ROUGHLY,
            n_jobs=n_jobs,
        )
        for place, C in enumerate(some):
            logits = np.empty((len(codes), n_classes))
            for fold in range(N_FOLDS):
                model, rows = place * N_FOLDS + fold, folds == fold
                outputs = X[rows] @ optimum.coefficients[:, model] + optimum.intercepts[model]
                # Two classes have one output, that of the second.
                logits[rows] = (
                    np.column_stack([np.zeros(len(outputs)), outputs]) if n_classes == 2 else outputs
                )
            candidates.append(Candidate(C, *_judge(logits[held_out], codes[held_out], importance)))
    return Choice(_best(candidates, int(held_out.sum())), int(held_out.sum()), tuple(candidates))


def assign_folds(codes: NDArray[np.intp], seeds: SeedTree) -> NDArray[np.intp]:
    """Return (n,) the fold in which each row is held out, and -1 for the only row of a class.

    Rows of a class stand in a line, by hash, one class behind the other, and are dealt to the folds in turn. So a class
    of two rows or more is never held out whole.
    """
    rows = np.flatnonzero(np.bincount(codes)[codes] >= 2)
    line = rows[np.lexsort((seeds.folds(rows), codes[rows]))]
    folds = np.full(len(codes), -1, dtype=np.intp)
    folds[line] = np.arange(len(line)) % N_FOLDS
    return folds


def _best(candidates: Sequence[Candidate], n_held_out: int) -> float:
    """Return the C that is chosen from candidates in the order of C."""
    reach = len(_NEIGHBORHOOD) // 2
    accuracies = np.pad([candidate.accuracy for candidate in candidates], reach, mode="edge")
    smoothed = np.convolve(accuracies, _NEIGHBORHOOD, mode="valid") / sum(_NEIGHBORHOOD)
    # A little more than a row, so that rounding does not decide whether it is one.
    good = smoothed >= smoothed.max() - 1.0 / n_held_out - 1e-9
    losses = [candidate.log_loss for candidate in candidates]
    # Of equals the first is taken, with the strongest penalty.
    return candidates[int(np.where(good, losses, np.inf).argmin())].C


def _judge(logits: Floats, codes: NDArray[np.intp], importance: Floats) -> tuple[float, float]:
    """Return the accuracy and the log loss of (n, C) logits, with rows that count so much each."""
    below = logits - logits.max(axis=1, keepdims=True)
    own = below[np.arange(len(codes)), codes]
    losses = log(exp_nonpositive(below).sum(axis=1)) - own
    total = importance.sum()
    right = logits.argmax(axis=1) == codes
    return float((importance * right).sum() / total), float((importance * losses).sum() / total)
