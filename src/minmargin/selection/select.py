"""select: of all the rows nobody has labeled yet, which B should be labeled next?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from minmargin.batch import Batch
from minmargin.batch.excluded import resolve_excluded
from minmargin.checks import check_count
from minmargin.committee.training import Training
from minmargin.data.reading import Reading
from minmargin.execution import CHUNK_SIZE, Progress, silent
from minmargin.inspection import Inspection, Table, given_ids, look_at
from minmargin.labeled import LabeledSet
from minmargin.partly_labeled import PartlyLabeled
from minmargin.pools import check_batch_size, match_pool
from minmargin.scan.checkpoint import seed_of
from minmargin.scan.engines import resolve_execution
from minmargin.selection.labeled_ids import leave_out_labeled
from minmargin.strategies import check_has_name, check_strategy, distinct_rows, resolve_strategy
from minmargin.typing import (
    DeviceLike,
    EngineLike,
    LabelsLike,
    LearnerLike,
    PoolLike,
    Precision,
    Preprocess,
    RowsLike,
    Seed,
    StrategyLike,
)


def select(
    X: RowsLike,
    y: LabelsLike,
    pool: PoolLike | None,
    batch_size: int | str,
    *,
    classes: Iterable[object] | None = None,
    strategy: StrategyLike = "min-margin",
    learner: LearnerLike = "logistic",
    n_models: int = 25,
    bootstrap_fraction: float = 1.0,
    random_state: Seed = None,
    features: str | Sequence[str] | None = None,
    id_column: str | None = None,
    keep: Sequence[str] = (),
    exclude: Any = None,
    keep_labeled: bool = False,
    distinct: bool | None = None,
    preprocess: Preprocess = "none",
    reading: Reading | None = None,
    n_jobs: int | None = -1,
    chunk_size: int = CHUNK_SIZE,
    device: DeviceLike = "auto",
    precision: Precision = "float32",
    engine: EngineLike = "local",
    address: str | None = None,
    checkpoint: str | Path | None = None,
    progress: Progress = silent,
    inspected: Callable[[Inspection], None] | None = None,
) -> Batch:
    """Return the `batch_size` pool rows to label next, best first.

    >>> import minmargin as mm
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> batch = mm.select(X[::10], y[::10], pool=X, batch_size=3, random_state=0)
    >>> batch.rows.tolist()
    [138, 149, 134]

    Args:
        X: the labeled rows: an array, a sparse matrix, a data frame, a list of texts, or a path to files.
        y: their labels, of any type; or the name of the label column, if X is a frame or a path.
        pool: the candidates: anything X may be, a glob or list of files, an Arrow dataset, or an iterable of
            chunks. Frames and files are matched to X by column name; other columns are ignored. None: the rows of X
            without a label, for which y has None, NaN or, in default of these, -1 or an empty text. `batch.rows` are
            then row numbers in X.
        batch_size: B, how many rows to pick; or a share of the pool, such as "5%".
        classes: all classes that may occur, those of y and others that nobody has labeled yet; by default those of y.
            Networks have an output for each of them. Other learners give 0 to classes without labels.
        strategy: a name from `minmargin.strategies()`, a strategy object, or a function that takes
            `Candidates` and returns one float per row; lower is picked first.
        learner: "logistic", "text" for texts, "mlp", "random-forest", "gradient-boosting", any scikit-learn
            classifier, or a function that makes a torch module. It is copied, never changed.
        n_models: K, how many members to train on bootstrap draws. None are trained for a strategy that
            looks at the base only.
        bootstrap_fraction: beta, the size of a draw as a fraction of each class; may exceed 1.
        random_state: the seed; None takes a fresh one, which the manifest records.
        features: the feature columns, in order; by default all of X but the label and the id. A single
            name hands that column over as a one-dimensional list of texts.
        id_column: a pool column whose values go into `batch.ids`.
        keep: further pool columns to carry into the batch.
        exclude: rows that must not be picked, such as those being labeled: values of the id column, or row
            numbers if there is none, as a list, an array or a series; a batch or a path to a file of one, or a list
            of batches and `Path` objects. All else stays as it is.
        keep_labeled: whether rows of the pool may be picked whose id a labeled row has, where both have the id column.
        distinct: whether to pass over rows that the learner sees just as one that was picked before them: True gives
            the first `batch_size` rows, in the strategy's order, of which no two are alike. By default it is True, but
            for strategies that look at no model: chance draws a sample, copies and all.
        preprocess: "auto" imputes and standardizes numeric columns and one-hot encodes text columns, as categories.
        reading: how columns are read, where their types do not tell it: `Reading(category=["zip"], decimal=",")`.
        n_jobs: how many members are trained, and blocks scored, at a time; -1 uses all cores, None one.
        chunk_size: how many rows to read at a time. It changes memory, never the batch.
        device: "cpu", "cuda", or "auto": a GPU, if there is one, for networks and for pools that are worth it. It
            changes the time, and networks in their last digits; for a given committee, never the batch.
        precision: "float32", or "fast": a GPU then looks at rows with fewer digits, and more of them are scored
            exactly. It never changes the batch.
        engine: where the pool is read: "local", threads of this process; "dask", "ray" or "spark"; or a live
            `distributed.Client` or `SparkSession`. It never changes the batch.
        address: of the cluster, for an engine that is named; without it, processes on this machine.
        checkpoint: a folder for what was found so far, written every few seconds. The same call later goes on
            from there.
        progress: called with a stage, the units done and their total.
        inspected: called with what was read of both tables, before anything is trained; `minmargin.inspect` tells it
            without picking. What looks wrong is warned of in any case.
    """
    chosen = resolve_strategy(strategy)
    distinct = distinct_rows(distinct, chosen)
    n_models = check_count("n_models", n_models, least=0, usual=25)
    execution = resolve_execution(
        n_jobs=n_jobs,
        chunk_size=chunk_size,
        device=device,
        precision=precision,
        engine=engine,
        address=address,
        checkpoint=checkpoint,
        progress=progress,
    )
    if execution.checkpoint is not None:
        check_has_name(chosen.name, "checkpoint=")
        random_state = seed_of(execution.checkpoint) if random_state is None else random_state
    not_features = [] if id_column is None else [id_column]
    partly = None
    if pool is None:
        partly = PartlyLabeled.of(
            X, y, classes=classes, features=features, not_features=not_features, reading=reading
        )
        pool, labeled = cast("PoolLike", X), partly.labeled
    else:
        labeled = LabeledSet.of(
            X, y, classes=classes, features=features, not_features=not_features, reading=reading
        )
    training = Training.of(
        labeled,
        learner=learner,
        bootstrap_fraction=bootstrap_fraction,
        random_state=random_state,
        preprocess=preprocess,
    )
    excluded = resolve_excluded(exclude, id_column)
    matched = match_pool(
        pool, training.intake, features=features, id_column=id_column, keep=keep, exclude=excluded
    )
    if partly is not None:
        matched = partly.leave_out_labeled(matched, batch_size)
    elif id_column is not None and not keep_labeled:
        matched = leave_out_labeled(matched, X, labeled, id_column)
    size = check_batch_size(batch_size, matched)
    check_strategy(chosen, n_models, training.learner.name, probabilistic=training.learner.probabilistic)
    chosen.shortlists(size)  # says now if the strategy's own settings do not fit the batch
    left_out = matched.labeled_ids is not None
    ids = given_ids(X, labeled.rows, id_column, labeled.left_out) if left_out else None
    inspection = look_at(Table.of(labeled, training.intake, ids=ids), matched, reading, id_column=id_column)
    if inspected is not None:
        inspected(inspection)
    inspection.warn()
    committee = training.fit(n_models if chosen.needs == "members" else 0, execution)
    batch = committee.pick(matched, size, chosen, execution, distinct=distinct, id_column=id_column)
    read: dict[str, Any] = {} if reading is None else {"reading": reading.describe()}
    return replace(batch, manifest={**batch.manifest, **read, "inspection": inspection.to_dict()})
