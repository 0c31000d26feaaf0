"""select_from_probabilities: the rows to label next, by what models of the caller's own say of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack, get_args

import numpy as np
from numpy.typing import NDArray

from minmargin.batch import Batch
from minmargin.batch.excluded import resolve_excluded
from minmargin.checks import check_choice, check_names
from minmargin.committee.committee import Committee
from minmargin.committee.provenance import Provenance
from minmargin.data.containers import with_index
from minmargin.data.intake import Intake
from minmargin.data.rows import Matrix
from minmargin.errors import InputError, listing
from minmargin.execution import ExecutionOptions
from minmargin.labels import as_labels
from minmargin.learners.given import GivenScorer, Values
from minmargin.pools import check_batch_size, match_pool
from minmargin.scan.checkpoint import seed_of
from minmargin.scan.engines import resolve_execution
from minmargin.selection.scored_rows import ColumnNames, ScoredRows, as_array
from minmargin.strategies import check_strategy, distinct_rows, resolve_strategy
from minmargin.typing import Seed, StrategyLike

#: Strategies that look at how models disagree.
_OF_SEVERAL = ("committee", "var-softmax", "bald")


def select_from_probabilities(
    probabilities: Any,
    batch_size: int | str,
    *,
    strategy: StrategyLike = "min-margin",
    values: Values = "probabilities",
    base: Any = None,
    features: Any = None,
    labeled_features: Any = None,
    columns: ColumnNames | None = None,
    classes: Sequence[Any] | None = None,
    pool: Any = None,
    id_column: str | None = None,
    keep: Sequence[str] = (),
    exclude: Any = None,
    distinct: bool | None = None,
    random_state: Seed = None,
    **execution: Unpack[ExecutionOptions],
) -> Batch:
    """Return the `batch_size` rows to label next, best first, by probabilities that you have computed.

    >>> import minmargin as mm
    >>> mm.select_from_probabilities([[0.9, 0.1], [0.5, 0.5], [0.7, 0.3]], batch_size=1).rows.tolist()
    [1]

    Args:
        probabilities: (n, C) of one model; (K, n, C), a list of K arrays, or a dict of them by the models' names, of a
            committee; a data frame, or a path to files, with a column for each class or a list column for each model;
            or an iterable of chunks of these.
        batch_size: B, how many rows to pick; or a share of them, such as "5%".
        strategy: as for `select`.
        values: what the numbers are: "probabilities", "log-probabilities" or "logits".
        base: (n, C) of the model that was trained on all labels, or its columns. Strategies that look at one model
            look at it; without it, at the mean of the models.
        features: (n, D) embeddings, or the columns that hold them, for strategies that compare rows.
        labeled_features: (N, D) those of rows labeled already, which "k-centers" keeps away from.
        columns: the columns of a frame or of files that hold the probabilities: one a class, a pattern such as "p_*",
            list columns, one a model, or one list of columns for each model, in a dict if models have names. By
            default, all that have no other use.
        classes: the C classes, in the order of the columns; in any, if columns are called after them. By default the
            names of the columns, or what the star of a pattern stands for; 0, 1, ... where there are none.
        pool: a data frame, or files, with a row for each row of the arrays, for `id_column` and `keep`.
        id_column: a column whose values go into `batch.ids`.
        keep: further columns to carry into the batch.
        exclude: rows that must not be picked: values of the id column, or row numbers if there is none; or batches, or
            files of them, as for `select`.
        distinct: whether to pass over rows with the same features as one that was picked before them. By default it is
            True if there are features; rows with the same probabilities need not be alike.
        random_state: the seed; None takes a fresh one, which the manifest records.
        **execution: `n_jobs`, `chunk_size`, `engine`, `address`, `checkpoint` and `progress`, as for `select`.
    """
    if values not in get_args(Values):
        raise InputError(f"values={values!r} must be one of {listing(get_args(Values))}.")
    chosen = resolve_strategy(strategy)
    how = resolve_execution(**execution)
    if how.checkpoint is not None and random_state is None:
        random_state = seed_of(how.checkpoint)
    kept = check_names("keep", keep)
    distinct = check_choice("distinct", distinct)
    others = kept if id_column is None else [id_column, *kept]
    probabilities, pool = with_index(probabilities, id_column), with_index(pool, id_column)
    scored = ScoredRows.of(probabilities, base, features, columns, pool, others)
    named = _classes(classes, scored)
    scorer = GivenScorer(
        scored.n_members, len(named), scored.has_base, scored.n_features, values, scored.member_names
    )
    _check_enough(chosen.name, scorer)
    intake = Intake("matrix", scored.columns, scorer.width, missing=True)
    excluded = resolve_excluded(exclude, id_column)
    matched = match_pool(scored.pool, intake, id_column=id_column, keep=keep, exclude=excluded)
    size = check_batch_size(batch_size, matched)
    check_strategy(chosen, scorer.n_members, "the committee", probabilistic=True)
    chosen.shortlists(size)  # says now if the strategy's own settings do not fit the batch
    provenance = Provenance.elsewhere(
        f"given {values}",
        intake,
        random_state,
        vectors=_labeled(labeled_features, scorer.n_features),
        has_base=scored.has_base or scored.n_members == 1,
        member_names=scored.member_names,
    )
    committee = Committee(named, provenance, None, scorer)
    wanted = bool(scorer.n_features) and distinct_rows(None, chosen) if distinct is None else bool(distinct)
    return committee.pick(matched, size, chosen, how, distinct=wanted, id_column=id_column)


def _labeled(given: Any, n_features: int) -> Matrix | None:
    if given is None:
        return None
    array = as_array(given, "labeled_features")
    if array.shape[1] != n_features:
        raise InputError(
            f"labeled_features has {array.shape[1]:,} features and the rows have {n_features:,}. Give both the same."
        )
    return array


def _classes(classes: Sequence[Any] | None, scored: ScoredRows) -> NDArray[Any]:
    n_classes = scored.n_classes
    if n_classes < 2:
        raise InputError(
            f"The probabilities are of {n_classes} class, and a margin is between two. Give a column for each class; "
            "for those of one of two classes use np.column_stack([1 - p, p])."
        )
    if classes is None:
        return np.arange(n_classes) if scored.names is None else np.array(scored.names)
    if isinstance(classes, str):
        raise InputError(f"classes={classes!r} is one text. Give a list with a name for each class.")
    if len(classes) != n_classes:
        raise InputError(
            f"classes has {len(classes):,} names and the probabilities are of {n_classes:,} classes."
        )
    if len(set(classes)) != n_classes:
        raise InputError("classes names a class twice. Name each once, in the order of the columns.")
    by_name = {str(each): each for each in classes}
    if scored.names is not None and set(by_name) == set(scored.names):
        classes = [by_name[name] for name in scored.names]
    return as_labels(list(classes))


def _check_enough(strategy: str, scorer: GivenScorer) -> None:
    if strategy in _OF_SEVERAL and scorer.n_members < 2:
        raise InputError(
            f"Strategy {strategy!r} looks at how models disagree, and there is one. Give the probabilities of several, "
            "or use 'margin'."
        )
