"""compare: would picking have paid on this data, with which strategy and batch size?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minmargin.checks import check_count
from minmargin.committee.training import Training
from minmargin.data.reading import Reading
from minmargin.device import check_device
from minmargin.execution import Progress, silent
from minmargin.inspection import Inspection
from minmargin.typing import DeviceLike, LabelsLike, LearnerLike, Preprocess, RowsLike, Seed, StrategyLike

if TYPE_CHECKING:
    from minmargin.compare.comparison import Comparison


def compare(
    X: RowsLike,
    y: LabelsLike,
    *,
    classes: Iterable[object] | None = None,
    strategies: Sequence[StrategyLike] | None = None,
    batch_sizes: Sequence[int | str] | int | str | None = None,
    n_labeled: int = 100,
    test_size: float = 0.5,
    n_draws: int = 50,
    learner: LearnerLike = "logistic",
    n_models: int = 25,
    bootstrap_fraction: float = 1.0,
    scoring: Any = None,
    rounds: int | Sequence[int] = 1,
    features: str | Sequence[str] | None = None,
    id_column: str | None = None,
    preprocess: Preprocess = "none",
    reading: Reading | None = None,
    random_state: Seed = None,
    n_jobs: int | None = -1,
    device: DeviceLike = "auto",
    out: str | Path | None = None,
    progress: Progress = silent,
    inspected: Callable[[Inspection], None] | None = None,
) -> Comparison:
    """Return what the batches of several strategies would have been worth on data that is labeled already.

    Draw after draw, a random sample of `n_labeled` rows is labeled, other rows are set aside for testing, and the rest
    is the pool. Each strategy picks from it, its rows are labeled, and a model is trained anew and tried on the test
    rows. All strategies play the same draws, so that differences are between strategies and not between samples. A
    class that nobody has labeled yet is always predicted wrongly. A constant guess is shown beside them, which says the
    same of every row: a model that does not beat it has learned nothing.

    >>> import minmargin as mm
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> found = mm.compare(X, y, n_labeled=20, n_draws=5, batch_sizes=[10, 40], preprocess="auto", random_state=0)
    >>> found.differences(to="random").column_names[:5]
    ['strategy', 'rounds', 'batch_size', 'to', 'difference']

    Args:
        X: the rows: an array, a sparse matrix, a data frame, a list of texts, or a path to files.
        y: their labels, of any type; or the name of the label column, if X is a frame or a path.
        classes: all classes that may occur, as for `select`: networks then have an output for each of them, also where
            the labeled rows of a draw lack it. By default those of y, and models know those of their rows.
        strategies: names from `minmargin.strategies()`, or strategies as `select` takes them; by default spread,
            min-margin, margin and random; without spread if the learner has no probabilities.
        batch_sizes: how many labels are added, as numbers or as shares of the rows that can be picked, such as "5%"; by
            default a quarter of `n_labeled` to 16 times as many, by doublings, as far as half the pool.
        n_labeled: how many rows are labeled from the start.
        test_size: how many rows are for testing: a fraction of all, or a whole number.
        n_draws: how often everything is dealt anew. Intervals become narrower with the square root of it.
        learner: as `select` takes it; also of the models that are tried.
        n_models: K, how many members to train on bootstrap draws.
        bootstrap_fraction: beta, the size of a bootstrap draw as a fraction of each class.
        scoring: "accuracy", the name of a scikit-learn scorer, or a function of a fitted model, rows and labels;
            higher is better. Or several of them: each model is trained once and scored by all. By default accuracy,
            and where one class has more than 80% of rows, average precision or balanced accuracy beside it.
        rounds: in how many rounds a batch is picked, with a committee trained anew after each; several numbers, such
            as (1, 5), show what a single round costs. Strategies that look at no model are played in one.
        features: the feature columns; by default all of X but the label. A single name hands that column over as a
            one-dimensional list of texts.
        id_column: the column that identifies a row, which is no feature.
        preprocess: "auto" imputes and standardizes numeric columns and one-hot encodes text columns.
        reading: how columns are read, as `select` takes it.
        random_state: the seed; None takes a fresh one, which the settings record.
        n_jobs: how many draws are played at a time, in processes of their own; -1 uses all cores.
        device: where networks are trained: "cpu", "cuda", or "auto".
        out: a folder for finished draws. The same call later goes on from there; one with other settings or other data
            is refused.
        progress: called with a stage, the draws done and their total.
        inspected: called with what was read of the table, before anything is played.
    """
    from minmargin.compare.plan import (  # noqa: PLC0415 - few programs compare, and it imports scikit-learn
        Plan,
        Wanted,
        check_scorings,
        check_strategies,
        read_table,
    )
    from minmargin.compare.run import run, scoring_of, seed_of  # noqa: PLC0415 - as above

    folder = None if out is None else Path(out)
    scoring = scoring_of(folder) if scoring is None else scoring
    random_state = seed_of(folder) if random_state is None else random_state
    wanted = Wanted(
        strategies=None if strategies is None else check_strategies(strategies),
        scorings=None if scoring is None else check_scorings(scoring),
        batch_sizes=batch_sizes,
        rounds=rounds,
        n_labeled=n_labeled,
        test_size=test_size,
        n_draws=check_count("n_draws", n_draws, least=2, usual=50),
        n_models=check_count("n_models", n_models, least=0, usual=25),
        foreseen=classes is not None,
        reading=reading,
        device=check_device(device),
    )
    table = read_table(X, y, classes=classes, features=features, id_column=id_column, reading=reading)
    training = Training.of(
        table,
        learner=learner,
        bootstrap_fraction=bootstrap_fraction,
        random_state=random_state,
        preprocess=preprocess,
    )
    plan = Plan.of(wanted, table, training)
    del table, training  # the plan has what is played, and a table may be large
    if folder is not None:
        plan.check_names("out=")
    if inspected is not None:
        inspected(plan.inspection)
    plan.inspection.warn()
    return run(plan, folder, n_jobs=n_jobs, progress=progress)
