"""The index of a pandas frame: ids of a pool, and what tells whether labels belong to rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import minmargin as mm

rng = np.random.default_rng(0)
FRAME = pd.DataFrame(rng.normal(size=(60, 2)), columns=["a", "b"], index=[f"r{i}" for i in range(60)])
LABELED, POOL = FRAME[:20], FRAME[20:]
LABELS = pd.Series(np.where(LABELED["a"] > 0, "up", "down"), index=LABELED.index)


def pick(X=LABELED, y=LABELS, pool=POOL, **more):
    return mm.select(X, y, pool, 4, n_models=3, random_state=0, **more)


def complaint(**given):
    with pytest.raises(mm.InputError) as caught:
        pick(**given)
    return str(caught.value)


@pytest.mark.parametrize(("name", "called"), [(None, "index"), ("key", "key")])
def test_the_index_gives_ids(name, called):
    pool = POOL.rename_axis(index=name)
    batch = pick(pool=pool, id_column=called)
    assert batch.ids.tolist() == pool.index[batch.rows].tolist()
    assert pool.loc[batch.ids, "a"].tolist() == pool["a"].iloc[batch.rows].tolist()
    assert batch[:2] == pick(pool=pool, id_column=called, exclude=batch.ids[2:])[:2]
    assert list(pool.columns) == ["a", "b"]


def test_the_index_gives_ids_to_given_probabilities():
    keys = ["x", "y", "z"]
    frame = pd.DataFrame({"no": [0.9, 0.5, 0.7], "yes": [0.1, 0.5, 0.3]}, index=keys)
    by_frame = mm.select_from_probabilities(frame, 1, id_column="index")
    beside = mm.select_from_probabilities(
        frame.to_numpy(), 1, pool=pd.DataFrame(index=keys).assign(a=1), id_column="index"
    )
    assert by_frame.ids.tolist() == beside.ids.tolist() == ["y"]


def test_a_column_of_that_name_comes_first():
    pool = POOL.assign(index=np.arange(40) + 500)
    assert pick(pool=pool, id_column="index").ids.tolist() == (pick().rows + 500).tolist()


def test_an_index_of_another_name_is_not_found():
    assert complaint(pool=POOL.rename_axis(index="key"), id_column="index") == (
        "Column 'index' is not in the pool (columns: 'a', 'b')."
    )


def test_an_index_of_several_levels_is_refused():
    pool = POOL.set_axis(pd.MultiIndex.from_product([range(4), list("abcdefghij")], names=["shop", "day"]))
    for name in ("shop", "index"):
        assert complaint(pool=pool, id_column=name) == (
            f"id_column={name!r} names an index with the levels 'shop', 'day', and one value a row is needed. Use "
            "pool.reset_index(), and name a column that tells its rows apart."
        )


def test_labels_in_another_order_are_refused_and_can_be_aligned():
    shuffled = LABELS.sample(frac=1, random_state=1)
    assert complaint(y=shuffled) == (
        "The index of y has the rows of X in another order. Use y.loc[X.index], or y.to_numpy() if the labels stand in "
        "the order of X."
    )
    assert pick(y=shuffled.loc[LABELED.index]) == pick()
    assert pick(y=LABELS.to_numpy()) == pick()


def test_texts_in_a_series_are_held_to_their_index_too():
    texts = pd.Series(["lost card", "stolen card", "top up", "top-up fee"], index=list("abcd"))
    y = pd.Series(["card", "card", "top-up", "top-up"], index=list("dcba"))
    assert complaint(X=texts, y=y, pool=["my card"] * 4, learner="text").startswith(
        "The index of y has the rows of X"
    )


def test_labels_of_other_rows_are_refused():
    y = LABELS.rename(index={"r3": "r99"})
    assert complaint(y=y) == (
        "The index of y is not that of X: row 3 of X is 'r3', and that of y is 'r99'. Give the labels of these rows, "
        "or y.to_numpy() if they stand in the order of X."
    )
    repeated = LABELED.set_axis(["r0"] * 20), LABELS.set_axis(["r0"] * 19 + ["r1"])
    assert complaint(X=repeated[0], y=repeated[1]) == (
        "The index of y is not that of X: row 19 of X is 'r0', and that of y is 'r1'. Give the labels of these rows, "
        "or y.to_numpy() if they stand in the order of X."
    )


def test_labels_of_too_many_rows_are_counted():
    assert complaint(y=pd.concat([LABELS, LABELS])) == (
        "There are 20 labeled rows and labels of shape (40,). Give one label a row."
    )


def test_an_array_and_a_series_go_together():
    assert pick(X=LABELED.to_numpy(), pool=POOL.to_numpy()).rows.tolist() == pick().rows.tolist()


def test_no_number_of_jobs_is_one_as_in_scikit_learn():
    batch = pick(n_jobs=None)
    assert batch == pick(n_jobs=2)
    assert batch.manifest["settings"]["n_jobs"] == 1
