"""The job of `peers.py` in the ways of several libraries, one of them per process.

Each way is a function (X, y, pool, B) -> rows to label next. Those called *the same job* train 25 logistic members on
bootstrap draws and take the B rows with the lowest margin under any of them. The others do the nearest thing that
their library offers.

    python benchmarks/peer_ways.py WAY FOLDER ROWS BATCH_SIZE
"""

# ruff: noqa: PLC0415 - a process loads only the library that it measures

from __future__ import annotations

import collections
import collections.abc
import json
import resource
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn.ensemble import BaggingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.utils import resample

from measuring import peak_memory

N_MODELS = 25
MEMORY_LIMIT = 12 * 2**30  # of addresses, so that a way which needs more fails by itself

Way = Callable[[np.ndarray, np.ndarray, np.ndarray, int], np.ndarray]


def estimator() -> LogisticRegression:
    """Return the learner of every way: scikit-learn's defaults, with iterations enough."""
    return LogisticRegression(max_iter=1000)


def members(X: np.ndarray, y: np.ndarray) -> list[LogisticRegression]:
    """Return 25 models, each trained on a stratified bootstrap draw."""
    return [estimator().fit(*resample(X, y, stratify=y, random_state=k)) for k in range(N_MODELS)]


def lowest(scores: np.ndarray, size: int) -> np.ndarray:
    """Return the rows with the lowest scores, in order."""
    rows = np.argpartition(scores, size - 1)[:size]
    return rows[np.argsort(scores[rows])]


# --- the same job ---------------------------------------------------------------------------------------------


def minmargin(X, y, pool, size):
    """Min-margin."""
    import minmargin as mm

    return mm.select(X, y, pool, size, n_models=N_MODELS, random_state=0).rows


def sklearn_loop(X, y, pool, size):
    """Min-margin, written by hand."""
    smallest = np.full(len(pool), np.inf)
    for model in members(X, y):
        top_two = np.partition(model.predict_proba(pool), -2, axis=1)[:, -2:]
        np.minimum(smallest, top_two[:, 1] - top_two[:, 0], out=smallest)
    return lowest(smallest, size)


def modal_min_margin(X, y, pool, size):
    """Min-margin, as a query strategy of one's own."""
    from modAL.utils.selection import multi_argmin

    def min_margin_sampling(committee, pool, n_instances):
        top_two = np.partition(committee.vote_proba(pool), -2, axis=2)[:, :, -2:]
        return multi_argmin((top_two[:, :, 1] - top_two[:, :, 0]).min(axis=1), n_instances=n_instances)

    return _modal_committee(X, y, min_margin_sampling).query(pool, n_instances=size)[0]


# --- the nearest thing ----------------------------------------------------------------------------------------


def _modal_committee(X, y, strategy):
    from modAL.models import ActiveLearner, Committee

    learners = [
        ActiveLearner(estimator(), X_training=X, y_training=y, bootstrap_init=True) for _ in range(N_MODELS)
    ]
    return Committee(learners, query_strategy=strategy)


def modal_vote_entropy(X, y, pool, size):
    """Entropy of the members' votes."""
    from modAL.disagreement import vote_entropy_sampling

    return _modal_committee(X, y, vote_entropy_sampling).query(pool, n_instances=size)[0]


def modal_max_disagreement(X, y, pool, size):
    """Largest Kullback-Leibler divergence of a member."""
    from modAL.disagreement import max_disagreement_sampling

    return _modal_committee(X, y, max_disagreement_sampling).query(pool, n_instances=size)[0]


def _skactiveml_committee(X, y, pool, size, method):
    from skactiveml.classifier import SklearnClassifier
    from skactiveml.pool import QueryByCommittee

    bagging = BaggingClassifier(estimator(), n_estimators=N_MODELS, random_state=0)
    ensemble = SklearnClassifier(bagging, classes=np.unique(y))
    strategy = QueryByCommittee(method=method, random_state=0)
    return strategy.query(X, y, ensemble=ensemble, candidates=pool, batch_size=size)


def skactiveml_vote_entropy(X, y, pool, size):
    """Entropy of the members' votes."""
    return _skactiveml_committee(X, y, pool, size, "vote_entropy")


def skactiveml_kl_divergence(X, y, pool, size):
    """Mean Kullback-Leibler divergence of the members."""
    return _skactiveml_committee(X, y, pool, size, "KL_divergence")


def skactiveml_margin(X, y, pool, size):
    """Margin of one model."""
    from skactiveml.classifier import SklearnClassifier
    from skactiveml.pool import UncertaintySampling

    model = SklearnClassifier(estimator(), classes=np.unique(y))
    strategy = UncertaintySampling(method="margin_sampling", random_state=0)
    return strategy.query(X, y, clf=model, candidates=pool, batch_size=size)


def small_text_margin(X, y, pool, size):
    """Margin of one model."""
    from small_text import BreakingTies, SklearnClassifier, SklearnDataset

    classes = np.unique(y)
    model = SklearnClassifier(estimator(), len(classes))
    model.fit(SklearnDataset(X, y, target_labels=classes))
    unlabeled = SklearnDataset(pool, np.full(len(pool), -1), target_labels=classes)
    return BreakingTies().query(model, unlabeled, np.arange(len(pool)), np.empty(0, int), y[:0], n=size)


def cleanlab_activelab(X, y, pool, size):
    """ActiveLab, on 25 models trained by hand."""
    from cleanlab.multiannotator import get_active_learning_scores_ensemble

    models = members(X, y)
    labeled, unlabeled = (np.stack([model.predict_proba(rows) for model in models]) for rows in (X, pool))
    scores = get_active_learning_scores_ensemble(y[:, np.newaxis].astype(float), labeled, unlabeled)
    return lowest(scores[1], size)


def alipy_vote_entropy(X, y, pool, size):
    """Entropy of the votes of 10 members."""
    collections.Iterable = collections.abc.Iterable  # ALiPy 1.2.5 uses what Python 3.10 removed
    from alipy.query_strategy import QueryInstanceQBC

    both, labels = np.concatenate([X, pool]), np.concatenate([y, np.zeros(len(pool), y.dtype)])
    strategy = QueryInstanceQBC(both, labels, disagreement="vote_entropy")
    unlabeled = np.arange(len(X), len(both))
    return strategy.select(np.arange(len(X)), unlabeled, estimator(), batch_size=size) - len(X)


def libact_vote_entropy(X, y, pool, size):
    """Entropy of the members' votes; time of the first row alone, it gives one a call."""
    from libact.base.dataset import Dataset
    from libact.models import LogisticRegression as LibactLogistic
    from libact.query_strategies import QueryByCommittee

    dataset = Dataset(np.concatenate([X, pool]), np.concatenate([y, np.full(len(pool), None)]))
    models = [LibactLogistic(max_iter=1000) for _ in range(N_MODELS)]
    return np.array([QueryByCommittee(dataset, models=models, random_state=0).make_query() - len(X)])


WAYS: dict[str, Way] = {
    "minmargin": minmargin,
    "scikit-learn loop": sklearn_loop,
    "modAL, own strategy": modal_min_margin,
    "modAL vote entropy": modal_vote_entropy,
    "modAL max disagreement": modal_max_disagreement,
    "scikit-activeml vote entropy": skactiveml_vote_entropy,
    "scikit-activeml KL divergence": skactiveml_kl_divergence,
    "scikit-activeml margin": skactiveml_margin,
    "small-text breaking ties": small_text_margin,
    "cleanlab ActiveLab": cleanlab_activelab,
    "ALiPy vote entropy": alipy_vote_entropy,
    "libact vote entropy": libact_vote_entropy,
}
SAME_JOB = ("minmargin", "scikit-learn loop", "modAL, own strategy")


def main() -> None:
    """Do the job once on few rows, to load and compile everything, then once for the clock."""
    way, folder, n_rows, size = WAYS[sys.argv[1]], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, MEMORY_LIMIT))
    warnings.simplefilter("ignore")
    X, y, pool = (np.load(folder / f"{name}.npy", mmap_mode="r") for name in ("X", "y", "pool"))
    X, y, pool = X.copy(), y.copy(), np.array(pool[np.arange(n_rows) % len(pool)])
    way(X, y, pool[:2_000].copy(), 10)
    start = time.perf_counter()
    rows = way(X, y, pool, size)
    seconds = time.perf_counter() - start
    print(json.dumps({"seconds": seconds, "peak": peak_memory(), "picked": len(set(rows.tolist()))}))


if __name__ == "__main__":
    main()
