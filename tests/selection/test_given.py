"""Batches from probabilities that were given: those of the committee that made them, to the bit."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import minmargin as mm
from minmargin.strategies import BUILT_IN

from .conftest import SEED

LOGITS = "If they are logits, pass values='logits'; if logarithms, values='log-probabilities'."
DIVIDE = "Divide each row by its sum. " + LOGITS

STRATEGIES = [name for name in BUILT_IN if name != "true-margin"]  # which looks at no model


def refused(message, *args, **options):
    with pytest.raises(mm.InputError, match=f"^{re.escape(message)}$"):
        mm.select_from_probabilities(*args, **options)


@pytest.mark.parametrize("name", STRATEGIES)
def test_batches_are_those_of_the_committee(name, opinion):
    strategy = mm.KCenters(include_labeled=False) if name == "k-centers" else name
    theirs = opinion.committee.select(opinion.pool, 20, strategy=strategy)
    ours = mm.select_from_probabilities(
        opinion.members, 20, strategy=strategy, base=opinion.base, features=opinion.pool, random_state=SEED
    )
    assert ours.rows.tolist() == theirs.rows.tolist()
    assert ours.scores.tolist() == theirs.scores.tolist()
    assert ours.top_classes.tolist() == theirs.top_classes.tolist()
    assert ours.predicted.tolist() == theirs.predicted.tolist()


def test_centers_that_are_labeled_already(opinion):
    committee = opinion.committee
    theirs = committee.select(opinion.pool, 20, strategy="k-centers")
    ours = mm.select_from_probabilities(
        opinion.members,
        20,
        strategy="k-centers",
        features=opinion.pool,
        labeled_features=committee.provenance.vectors(),
        random_state=SEED,
    )
    assert ours.rows.tolist() == theirs.rows.tolist()


def test_one_model_is_a_committee_of_itself(opinion):
    batch = mm.select_from_probabilities(opinion.base, 20, random_state=SEED)
    by_margin = mm.select_from_probabilities(opinion.base, 20, strategy="margin", random_state=SEED)
    assert batch.rows.tolist() == by_margin.rows.tolist()
    first, second = (
        np.sort(opinion.base[batch.rows], axis=1)[:, -1],
        np.sort(opinion.base[batch.rows], axis=1)[:, -2],
    )
    assert batch.scores.tolist() == (first - second).tolist()
    assert batch.manifest["settings"]["n_models"] == 1


def test_without_a_base_the_mean_stands_for_it(opinion):
    batch = mm.select_from_probabilities(opinion.members, 20, strategy="margin", random_state=SEED)
    of_mean = opinion.committee.select(opinion.pool, 20, strategy="margin-of-mean")
    assert batch.rows.tolist() == of_mean.rows.tolist()
    assert batch.scores.tolist() == of_mean.scores.tolist()


@pytest.mark.parametrize("values", ["logits", "log-probabilities"])
def test_logits_and_logarithms(values, opinion):
    logits = np.log(opinion.members) + (3.0 if values == "logits" else 0.0)
    batch = mm.select_from_probabilities(logits, 20, values=values, random_state=SEED)
    plain = mm.select_from_probabilities(opinion.members, 20, random_state=SEED)
    assert batch.rows.tolist() == plain.rows.tolist()
    np.testing.assert_allclose(batch.scores, plain.scores, rtol=0, atol=1e-14)
    assert batch.manifest["settings"]["learner"] == f"given {values}"


def test_a_class_that_is_impossible_has_a_logit_of_minus_infinity():
    logits = np.array([[0.0, 0.0, -np.inf], [0.0, 4.0, -np.inf]])
    for values in ("logits", "log-probabilities"):
        given_values = (
            logits if values == "logits" else logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
        )
        batch = mm.select_from_probabilities(given_values, 1, values=values)
        assert batch.rows.tolist() == [0]
        assert batch.scores[0] == pytest.approx(0.0, abs=1e-15)


def test_copies_are_passed_over_by_features_and_not_by_probabilities():
    P = np.array([[0.5, 0.5]] * 6 + [[0.6, 0.4]] * 3)
    features = np.array([[1.0], [1.0], [2.0], [2.0], [3.0], [3.0], [4.0], [5.0], [6.0]])
    assert set(mm.select_from_probabilities(P, 6, random_state=0).rows) == set(range(6))
    picked = mm.select_from_probabilities(P, 6, features=features, random_state=0).rows
    assert sorted(features[picked, 0]) == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    assert len(mm.select_from_probabilities(P, 2, distinct=True, random_state=0).rows) == 2
    refused(
        "batch_size=3 is larger than the number of distinct rows (2 among 9 rows in the pool). Use batch_size<=2, or "
        "distinct=False.",
        P,
        3,
        distinct=True,
    )


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_the_same_batch_however_it_is_read(data):
    n_models, n_rows, n_classes = (
        data.draw(st.integers(low, high)) for low, high in ((1, 3), (4, 60), (2, 4))
    )
    # Few values, so that there are ties: wholes from which shares are made.
    weights = data.draw(hnp.arrays(np.int64, (n_models, n_rows, n_classes), elements=st.integers(1, 3)))
    P = weights / weights.sum(axis=2, keepdims=True)
    features = data.draw(hnp.arrays(np.float64, (n_rows, 2), elements=st.integers(0, 3).map(float)))
    name = data.draw(st.sampled_from(["min-margin", "margin-of-mean", "entropy", "spread", "power-margin"]))
    size = data.draw(st.integers(1, n_rows))
    cuts = sorted(data.draw(st.sets(st.integers(1, n_rows - 1), max_size=3)))
    distinct = name == "spread"  # which takes no others
    size = min(size, len(np.unique(features, axis=0))) if distinct else size

    def pick(probabilities, **options):
        batch = mm.select_from_probabilities(
            probabilities, size, strategy=name, distinct=distinct, random_state=5, **options
        )
        return batch.rows.tolist(), batch.scores.tolist()

    whole = pick(P, features=features)
    assert pick(list(P), features=features, n_jobs=1) == whole
    assert pick(np.asfortranarray(P), features=features.astype(np.float32)) == whole
    if name != "spread":  # chunks bring no features along
        assert pick(iter(np.split(P, cuts, axis=1))) == whole


@pytest.mark.parametrize(
    ("message", "probabilities", "options"),
    [
        (
            "Pool row 1: the probabilities sum up to 3, not to 1. " + DIVIDE,
            [[0.5, 0.5], [1.0, 2.0]],
            {},
        ),
        (
            "Pool row 1: the probabilities of model 1 sum up to 0.9, not to 1. " + DIVIDE,
            [[[0.5, 0.5], [0.5, 0.5]], [[0.5, 0.5], [0.5, 0.4]]],
            {},
        ),
        (
            (
                "Pool row 1: the probabilities sum up to 2, not to 1. Are they of 2 models? Then give one array for "
                "each model, or one list of columns for each with columns=[...]. If not, divide each row by its sum."
            ),
            [[0.25, 0.25, 0.25, 0.25], [0.5, 0.5, 0.9, 0.1]],
            {},
        ),
        (
            "Pool row 0: the probabilities sum up to 2, not to 1. " + DIVIDE,  # 3 columns are not of 2 models
            [[0.9, 0.9, 0.2]],
            {},
        ),
        (
            "Pool row 0: the probabilities sum up to 2, not to 1. " + DIVIDE,  # no model says 1.5
            [[1.5, 0.5, 0.0, 0.0]],
            {},
        ),
        (
            "Pool row 0: the probabilities of model 1 sum up to 0.9, not to 1. "
            + DIVIDE,  # model 0 errs further on
            [[[0.5, 0.5], [0.5, np.nan]], [[0.5, 0.4], [0.5, 0.5]]],
            {},
        ),
        (
            "Pool row 0: feature 1 is inf. Replace it, or leave the row out.",  # probabilities err further on
            [[0.5, 0.5], [0.5, 0.6]],
            {"features": [[1.0, np.inf], [1.0, 1.0]]},
        ),
        (
            "Pool row 0: the probabilities have nan for class number 1. Give a finite number, or leave the row out.",
            [[0.5, np.nan], [0.5, 0.5]],
            {},
        ),
        (
            "Pool row 1: the probabilities have -0.5 for class number 0. " + LOGITS,
            [[0.5, 0.5], [-0.5, 1.5]],
            {},
        ),
        (
            "Pool row 0: the logits have inf for class number 0. Give a finite number, or leave the row out.",
            [[np.inf, 0.5], [0.5, 0.5]],
            {"values": "logits"},
        ),
        (
            "Pool row 1: the logits are all -inf. Give finite numbers.",
            [[0.0, 0.5], [-np.inf, -np.inf]],
            {"values": "logits"},
        ),
        (
            ("Pool row 0: the log-probabilities sum up to 2, not to 1. " + DIVIDE),
            [[0.0, 0.0], [-0.7, -0.7]],
            {"values": "log-probabilities"},
        ),
        (
            "Pool row 1: feature 0 is nan. Replace it, or leave the row out.",
            [[0.5, 0.5], [0.5, 0.5]],
            {"features": [[1.0], [np.nan]]},
        ),
        (
            (
                "The probabilities are of 1 class, and a margin is between two. Give a column for each class; for "
                "those of one of two classes use np.column_stack([1 - p, p])."
            ),
            [[0.5], [0.5]],
            {},
        ),
        (
            (
                "The probabilities have shape (2,), and each row needs one for each class. For those of one of two "
                "classes use np.column_stack([1 - p, p])."
            ),
            [0.5, 0.5],
            {},
        ),
        (
            "What was given has different numbers of rows (model 0: 2; model 1: 1). All must tell of the same rows.",
            [np.array([[0.5, 0.5], [0.5, 0.5]]), np.array([[0.5, 0.5]])],
            {},
        ),
        (
            "What was given has different numbers of classes (model 0: 2; model 1: 3). Give the same ones in all.",
            [np.array([[0.5, 0.5]]), np.array([[0.5, 0.5, 0.0]])],
            {},
        ),
        (
            "What was given has different numbers of rows (model 0: 2; features: 1). All must tell of the same rows.",
            [[0.5, 0.5], [0.5, 0.5]],
            {"features": [[1.0]]},
        ),
        (
            "values='odds' must be one of 'probabilities', 'log-probabilities', 'logits'.",
            [[0.5, 0.5]],
            {"values": "odds"},
        ),
        (
            (
                "Strategy 'bald' looks at how models disagree, and there is one. Give the probabilities of several, "
                "or use 'margin'."
            ),
            [[0.5, 0.5]],
            {"strategy": "bald"},
        ),
        (
            (
                "This strategy compares rows by their features, and only probabilities are given. Give the features "
                "too, with features=, or use a strategy that needs none."
            ),
            [[0.5, 0.5], [0.4, 0.6]],
            {"strategy": "k-centers"},
        ),
        (
            "classes has 3 names and the probabilities are of 2 classes.",
            [[0.5, 0.5]],
            {"classes": ["a", "b", "c"]},
        ),
        (
            "classes names a class twice. Name each once, in the order of the columns.",
            [[0.5, 0.5]],
            {"classes": ["a", "a"]},
        ),
        (
            "labeled_features has 2 features and the rows have 1. Give both the same.",
            [[0.5, 0.5]],
            {"features": [[1.0]], "labeled_features": [[1.0, 2.0]]},
        ),
        (
            "The pool has no rows. Give one with at least as many as are to be picked.",
            np.empty((0, 2)),
            {},
        ),
    ],
)
def test_what_cannot_be_meant(message, probabilities, options):
    refused(message, probabilities, 1, **options)


@pytest.mark.parametrize("strategy", ["min-margin", "power-margin", "mean-margin"])
@pytest.mark.parametrize("n_jobs", [1, 4])
@pytest.mark.parametrize("chunk_size", [1_000, 9_000, 1 << 20])
@pytest.mark.parametrize("way", ["array", "frame", "file", "chunks", "checkpoint"])
def test_of_several_rows_that_cannot_be_meant_the_first_is_named(way, chunk_size, n_jobs, strategy, tmp_path):
    P = np.random.default_rng(0).dirichlet([1.0, 1.0, 1.0], 60_000)
    for place, row in enumerate([3_333, 3_334, 9_000, 20_000, 40_000, 59_999]):
        P[row, 0] = np.nan if place % 2 else 2.0
    first = P[3_333].sum()
    frame = pa.table({name: P[:, place] for place, name in enumerate("abc")})
    if way in {"file", "checkpoint"}:
        pq.write_table(frame, tmp_path / "told.parquet", row_group_size=7_000)
    refused(
        f"Pool row 3,333: the probabilities sum up to {first:.6g}, not to 1. " + DIVIDE,
        {
            "array": P,
            "frame": frame,
            "chunks": (part for part in np.array_split(P, 9)),
        }.get(way, tmp_path / "told.parquet"),
        50_000,
        strategy=strategy,
        n_jobs=n_jobs,
        chunk_size=chunk_size,
        checkpoint=tmp_path / "found" if way == "checkpoint" else None,
        random_state=SEED,
    )


def test_rows_that_noise_leaves_out_are_named_by_their_own_number():
    """Strategies with noise visit rows of arrays in an order of their own."""
    P = np.full((50, 2), 0.5)
    P[37] = 0.9
    refused(
        "Pool row 37: the probabilities sum up to 1.8, not to 1. " + DIVIDE,
        P,
        40,
        strategy="power-margin",
    )


def test_rows_and_chunks_of_another_form_are_refused():
    refused(
        "The probabilities have rows of different lengths. Give each row one for each class, and each model the same "
        "rows.",
        [[0.9, 0.1], [0.5]],
        1,
    )
    two_of_three, three_of_two = np.full((2, 20, 3), 1 / 3), np.full((3, 20, 2), 1 / 2)
    refused(
        "Chunk 1 of the probabilities is of 3 models with 2 classes, and the first one is of 2 with 3. Give chunks of "
        "one form.",
        iter([two_of_three, three_of_two]),
        3,
    )
    refused(
        "Chunk 1 of the probabilities is no array, and the first one is of 2 with 3. Give chunks of one form.",
        iter([two_of_three, pa.table({"p": [0.5]})]),
        3,
    )
    refused(
        "classes='ab' is one text. Give a list with a name for each class.", [[0.9, 0.1]], 1, classes="ab"
    )
