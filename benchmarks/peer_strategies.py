"""What libraries of today would have labeled next: a function for each strategy, and a process that runs one.

Each is a function (X, y, pool, B, seed) -> rows of the pool. The model is the same everywhere: logistic regression
with scikit-learn's defaults, and 25 of them on stratified bootstrap draws where a strategy asks a committee. Settings
are those that a library has if none are given.

The process reads jobs from its input, one in a line of JSON, and answers each in a line: which rows, and the seconds
from training to the rows.

    python benchmarks/peer_strategies.py WAY < JOBS
"""

# ruff: noqa: PLC0415 - a process loads only the library that it runs

from __future__ import annotations

import json
import logging
import resource
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.ensemble import BaggingClassifier
from sklearn.utils import resample

from measuring import peak_memory
from peer_ways import MEMORY_LIMIT, N_MODELS, estimator, lowest

Pick = Callable[[np.ndarray, np.ndarray, np.ndarray, int, int], np.ndarray]


class Way(NamedTuple):
    """A strategy of a library.

    Attributes:
        library: as results call it.
        strategy: as results call it.
        pick: (X, y, pool, B, seed) -> rows of the pool.
    """

    library: str
    strategy: str
    pick: Pick

    @property
    def name(self) -> str:
        """What results call it."""
        return f"{self.library} {self.strategy}"


def committee_of(X: np.ndarray, y: np.ndarray, seed: int) -> list[Any]:
    """Return 25 models, each trained on a stratified bootstrap draw."""
    draws = np.random.default_rng(seed).integers(2**31, size=N_MODELS)
    return [estimator().fit(*resample(X, y, stratify=y, random_state=int(draw))) for draw in draws]


# --- minmargin ------------------------------------------------------------------------------------------------


def pick_ours(X, y, pool, size, seed, *, strategy):
    """Return what minmargin picks."""
    import minmargin as mm

    return mm.select(X, y, pool, size, strategy=strategy, n_models=N_MODELS, random_state=seed).rows


# --- scikit-activeml ------------------------------------------------------------------------------------------


def pick_by_skactiveml(X, y, pool, size, seed, *, strategy, asks="clf", **settings):
    """Return what scikit-activeml picks; `asks` is what its strategy calls the model, None if it needs none."""
    from skactiveml import pool as strategies
    from skactiveml.classifier import SklearnClassifier

    both = np.concatenate([X, pool])
    labels = np.concatenate([y.astype(np.float64), np.full(len(pool), np.nan)])
    model = estimator()
    if asks == "ensemble":
        model = BaggingClassifier(model, n_estimators=N_MODELS, random_state=seed)
    asked = {} if asks is None else {asks: SklearnClassifier(model, classes=np.unique(y), random_state=seed)}
    chosen = getattr(strategies, strategy)(random_state=seed, **settings)
    return np.asarray(chosen.query(both, labels, batch_size=size, **asked)) - len(X)


# --- small-text -----------------------------------------------------------------------------------------------


def pick_by_small_text(X, y, pool, size, seed, *, strategy):
    """Return what small-text picks; a row's features are its embedding."""
    import small_text

    class Embedding(small_text.SklearnClassifier):
        """A classifier that hands over features as embeddings, as small-text wants it."""

        def embed(self, dataset, return_proba=False):
            embeddings = np.asarray(dataset.x)
            return (embeddings, self.predict_proba(dataset)) if return_proba else embeddings

    np.random.seed(seed)  # noqa: NPY002 - it takes its chance from there
    classes, both = np.unique(y), np.concatenate([X, pool])
    model = Embedding(estimator(), len(classes))
    model.fit(small_text.SklearnDataset(X, y, target_labels=classes))
    labels = np.concatenate([y, np.full(len(pool), small_text.LABEL_UNLABELED)])
    dataset = small_text.SklearnDataset(both, labels, target_labels=classes)
    unlabeled, labeled = np.arange(len(X), len(both)), np.arange(len(X))
    return getattr(small_text, strategy)().query(model, dataset, unlabeled, labeled, y, n=size) - len(X)


# --- libraries that take predictions --------------------------------------------------------------------------


def pick_by_activelab(X, y, pool, size, seed):
    """Return the lowest scores of cleanlab's ActiveLab for a committee trained by hand."""
    from cleanlab.multiannotator import get_active_learning_scores_ensemble

    models = committee_of(X, y, seed)
    labeled, unlabeled = (np.stack([model.predict_proba(rows) for model in models]) for rows in (X, pool))
    scores = get_active_learning_scores_ensemble(y[:, np.newaxis].astype(float), labeled, unlabeled)
    return lowest(scores[1], size)


def pick_by_baal(X, y, pool, size, seed, *, heuristic):
    """Return what one of baal's heuristics ranks first, for a committee trained by hand."""
    from baal.active import heuristics
    from baal.active.heuristics.aliases import PowerBALD

    np.random.seed(seed)  # noqa: NPY002 - it takes its chance from there
    chosen = PowerBALD(size) if heuristic == "PowerBALD" else getattr(heuristics, heuristic)()
    predictions = np.stack([model.predict_proba(pool) for model in committee_of(X, y, seed)], axis=-1)
    return np.asarray(chosen.get_ranks(predictions)[0])[:size]


def pick_by_modal(X, y, pool, size, seed):
    """Return modAL's ranked batch."""
    from modAL.batch import uncertainty_batch_sampling
    from modAL.models import ActiveLearner

    del seed  # nothing is left to chance
    learner = ActiveLearner(estimator(), uncertainty_batch_sampling, X_training=X, y_training=y)
    return learner.query(pool, n_instances=size)[0]


MARGIN = "margin_sampling"
OURS = ("random", "margin", "min-margin", "spread", "badge", "cluster-margin")
WAYS = (
    *(Way("minmargin", name, partial(pick_ours, strategy=name)) for name in OURS),
    Way("scikit-activeml", "margin", partial(pick_by_skactiveml, strategy="UncertaintySampling", method=MARGIN)),
    Way("scikit-activeml", "committee", partial(pick_by_skactiveml, strategy="QueryByCommittee", asks="ensemble")),
    Way("scikit-activeml", "core-set", partial(pick_by_skactiveml, strategy="CoreSet", asks=None)),
    Way("scikit-activeml", "BADGE", partial(pick_by_skactiveml, strategy="Badge")),
    Way("scikit-activeml", "TypiClust", partial(pick_by_skactiveml, strategy="TypiClust", asks=None)),
    Way("scikit-activeml", "Falcun", partial(pick_by_skactiveml, strategy="Falcun")),
    Way("scikit-activeml", "CLUE", partial(pick_by_skactiveml, strategy="Clue", asks="estimator")),
    Way("scikit-activeml", "DropQuery", partial(pick_by_skactiveml, strategy="DropQuery")),
    Way("scikit-activeml", "MaxHerding", partial(pick_by_skactiveml, strategy="MaxHerding", asks=None)),
    Way("small-text", "breaking ties", partial(pick_by_small_text, strategy="BreakingTies")),
    Way("small-text", "core-set", partial(pick_by_small_text, strategy="GreedyCoreset")),
    Way("small-text", "k-means", partial(pick_by_small_text, strategy="EmbeddingKMeans")),
    Way("small-text", "contrastive", partial(pick_by_small_text, strategy="ContrastiveActiveLearning")),
    Way("cleanlab", "ActiveLab", pick_by_activelab),
    Way("baal", "BALD", partial(pick_by_baal, heuristic="BALD")),
    Way("baal", "PowerBALD", partial(pick_by_baal, heuristic="PowerBALD")),
    Way("modAL", "ranked batch", pick_by_modal),
)  # fmt: skip


def do_job(way: Way, job: dict[str, Any]) -> dict[str, Any]:
    """Return what a way picks of the arrays that a job names, or the error that it ended with."""
    with np.load(job["arrays"]) as arrays:
        X, y, pool = arrays["X"], arrays["y"], arrays["pool"][: job["rows"]]
    start = time.perf_counter()
    try:
        rows = way.pick(X, y, pool, job["size"], job["seed"])
    except Exception as error:  # noqa: BLE001 - another library's error is a result, too
        return {"error": error_of(error)}
    seconds = time.perf_counter() - start
    return {"rows": np.asarray(rows).tolist(), "seconds": seconds, "peak": peak_memory()}


def error_of(error: Exception) -> str:
    """Return an error in a line."""
    text = f"{type(error).__name__}: {' '.join(str(error).split())}"
    full = isinstance(error, MemoryError) or "allocate" in text
    return f"over {MEMORY_LIMIT / 2**30:.0f} GiB" if full else text[:100]


def main() -> None:
    """Answer jobs until there are no more."""
    way = next(way for way in WAYS if way.name == sys.argv[1])
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, MEMORY_LIMIT))
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    answers, sys.stdout = sys.stdout, Path("/dev/null").open("w")  # noqa: SIM115 - libraries print, too
    for line in sys.stdin:
        answers.write(json.dumps(do_job(way, json.loads(line))) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
