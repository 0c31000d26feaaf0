"""Rows that must not be picked: the batch is the one of a pool where they score infinity, to the bit."""

from __future__ import annotations

import functools
import itertools
import json
import re

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from pyarrow import feather
from scipy import sparse
from sklearn.tree import DecisionTreeClassifier

import brute_force
import minmargin as mm
from minmargin.data.rows import Block
from minmargin.data.schema import schema_of
from minmargin.errors import InputError
from minmargin.pools import exclusion, memory
from minmargin.scan import checkpoint, fragments
from minmargin.strategies import BUILT_IN

NAMES = ["u", "v", "w", "x"]
N, SEED = 300, 3
STRATEGIES = [name for name in BUILT_IN if name != "true-margin"]  # which has no default
GREEDY = ["balanced-margin", "k-centers", "badge"]
LEARNERS = {"logistic": "logistic", "sparse": "logistic", "tree": DecisionTreeClassifier(max_depth=2)}
LABELED = np.random.default_rng(1).normal(size=(40, 4))
LABELS = (LABELED @ [1.0, -0.5, 0.2, 0.0] > 0).astype(int) + (LABELED[:, 3] > 1)

pytestmark = pytest.mark.usefixtures("small_blocks")


@functools.cache
def pool_rows():
    """Return pool rows of which a third are copies of one another: ties must go to the rows that are left."""
    rows = np.random.default_rng(2).normal(size=(N, 4))
    rows[::3] = rows[0]
    return rows


@functools.cache
def committee(learner):
    X = sparse.csr_array(LABELED) if learner == "sparse" else pd.DataFrame(LABELED, columns=NAMES)
    return mm.fit_committee(X, LABELS, learner=LEARNERS[learner], n_models=5, random_state=SEED, n_jobs=1)


@functools.cache
def class_scores(learner):
    """Return the base's and the members' class scores of the whole pool at once, and all rows as vectors."""
    scorer = committee(learner).scorer
    forms = {"sparse": sparse.csr_array, "tree": lambda rows: pd.DataFrame(rows, columns=NAMES)}
    X = forms.get(learner, np.asarray)(pool_rows())
    return scorer.base_scores(X), np.stack(list(scorer.each_member(X))), pool_rows(), LABELED


def expected(learner, strategy, batch_size, out):
    """Return the rows and scores that a full sort picks, where the rows `out` score infinity."""
    return brute_force.pick(strategy, *class_scores(learner), batch_size, SEED, out)


def cut(X, marks):
    edges = [0, *sorted(set(marks)), len(X)]
    return [X[start:stop] for start, stop in itertools.pairwise(edges) if stop > start]


def as_table(rows, ids):
    return pa.table({**{name: rows[:, i] for i, name in enumerate(NAMES)}, "id": ids})


def in_files(write, suffix):
    def make(parts, folder):
        for place, part in enumerate(parts):
            write(part, folder / f"part-{place:03}{suffix}")
        return str(folder / f"*{suffix}")

    return make


POOLS = {
    "frame": lambda parts, folder: pa.concat_tables(parts).to_pandas(),
    "polars": lambda parts, folder: pl.from_arrow(pa.concat_tables(parts)),
    "generator": lambda parts, folder: iter(parts),
    "parquet": in_files(lambda table, path: pq.write_table(table, path, row_group_size=29), ".parquet"),
    "feather": in_files(lambda table, path: feather.write_feather(table, path, chunksize=31), ".feather"),
    "csv": in_files(lambda table, path: table.to_pandas().to_csv(path, index=False), ".csv"),
}
IDS = {
    "texts": [f"{row:03d}" for row in range(N)],
    "big": [2**60 + row for row in range(N)],  # which floats could not tell apart
}


# Trees have margins of 0, which is said, and is not what is tested here.
@pytest.mark.filterwarnings("ignore:All .* picks have the score 0")
@settings(max_examples=60)
@given(
    learner=st.sampled_from(["logistic", "tree"]),
    strategy=st.sampled_from(STRATEGIES),
    kind=st.sampled_from([*POOLS]),
    ids=st.sampled_from([None, *IDS]),
    batch_size=st.sampled_from([1, 7, 30]),
    out=st.lists(st.integers(0, N - 1), unique=True, max_size=N - 30),
    lowest=st.sampled_from([0, 5, 100]),
    chunk_size=st.integers(1, 400),
    n_jobs=st.sampled_from([1, 3]),
    marks=st.lists(st.integers(1, N - 1), max_size=4),
)
def test_the_batch_is_the_first_of_the_rows_that_are_left(
    tmp_path_factory, learner, strategy, kind, ids, batch_size, out, lowest, chunk_size, n_jobs, marks
):
    if strategy in GREEDY:  # the oracle takes its time
        batch_size, lowest = min(batch_size, 3), min(lowest, 3)
    # Rows that would be picked are the ones whose exclusion matters.
    if lowest:
        out = sorted({*out, *expected(learner, strategy, lowest, [])[0].tolist()})[: N - 30]
    names = IDS[ids or "big"]
    table = as_table(pool_rows(), pa.array(names))
    parts = [table.slice(part[0], len(part)) for part in cut(np.arange(N), marks)]
    asked = [row if ids is None else str(names[row]) if kind == "csv" else names[row] for row in out]
    batch = committee(learner).select(
        POOLS[kind](parts, tmp_path_factory.mktemp("pool")),
        batch_size,
        strategy=strategy,
        id_column=None if ids is None else "id",
        exclude=asked,
        distinct=False,
        chunk_size=chunk_size,
        n_jobs=n_jobs,
    )
    rows, scores = expected(learner, strategy, batch_size, out)
    np.testing.assert_array_equal(batch.rows, rows)
    if kind != "csv":
        np.testing.assert_array_equal(batch.scores, scores)
    assert batch.manifest["excluded"] == {"asked": len(out), "rows": len(out)}
    assert batch.manifest["pool"]["rows"] == N


@settings(max_examples=40)
@given(
    strategy=st.sampled_from(STRATEGIES),
    out=st.lists(st.integers(0, N - 1), unique=True, max_size=N - 20),
    make=st.sampled_from([sparse.csr_array, lambda X: iter(np.array_split(X, 7)), np.asfortranarray]),
)
def test_arrays_and_sparse_rows(strategy, out, make):
    pool = make(pool_rows())
    learner, trained = (
        ("sparse", committee("sparse")) if sparse.issparse(pool) else ("logistic", array_committee())
    )
    batch_size = 3 if strategy in GREEDY else 20
    batch = trained.select(pool, batch_size, strategy=strategy, exclude=out, distinct=False)
    rows, scores = expected(learner, strategy, batch_size, out)
    np.testing.assert_array_equal(batch.rows, rows)
    np.testing.assert_array_equal(batch.scores, scores)


@functools.cache
def array_committee():
    return mm.fit_committee(LABELED, LABELS, n_models=5, random_state=SEED, n_jobs=1)


def test_a_prefilter_keeps_the_lowest_of_the_rows_that_are_left():
    out = array_committee().select(pool_rows(), 60, strategy="margin").rows
    kept = array_committee().select(pool_rows(), 60, strategy="margin", exclude=out).rows
    batch = array_committee().select(pool_rows(), 10, strategy=mm.KCenters(prefilter=60), exclude=out)
    assert set(batch.rows) <= set(kept)
    nothing_else = np.setdiff1d(np.arange(N), kept)
    again = array_committee().select(pool_rows(), 10, strategy="k-centers", exclude=nothing_else)
    np.testing.assert_array_equal(batch.rows, again.rows)


def test_excluded_rows_do_not_count_against_the_memory_of_a_greedy_strategy():
    strategy = mm.KCenters(memory_limit=2 * 50 * 4 * 8)
    with pytest.raises(InputError, match="300 rows need about"):
        array_committee().select(pool_rows(), 5, strategy=strategy)
    batch = array_committee().select(pool_rows(), 5, strategy=strategy, exclude=range(250))
    assert batch.rows.min() >= 250


@pytest.mark.usefixtures("one_torch_thread")
def test_networks():
    trained = mm.fit_committee(LABELED, LABELS, learner="mlp", n_models=3, random_state=0)
    whole = trained.select(pool_rows(), N, distinct=False, n_jobs=1)
    batch = trained.select(pool_rows(), 20, distinct=False, exclude=whole.rows[:60])
    np.testing.assert_array_equal(batch.rows, whole.rows[60:80])
    np.testing.assert_array_equal(batch.scores, whole.scores[60:80])


def test_rounds_of_batches_are_those_of_one_large_batch():
    whole = array_committee().select(pool_rows(), 90).rows
    picked = np.empty(0, dtype=np.int64)
    for _ in range(3):
        picked = np.r_[picked, array_committee().select(pool_rows(), 30, exclude=picked).rows]
    np.testing.assert_array_equal(picked, whole)


@pytest.mark.parametrize(
    "container",
    [
        list,
        tuple,
        set,
        iter,
        np.array,
        pa.array,
        lambda x: pa.chunked_array([x[:5], x[5:]]),
        pd.Series,
        pl.Series,
    ],
)
@pytest.mark.parametrize("ids", [None, *IDS])
def test_what_may_hold_them(container, ids):
    values = list(range(20)) if ids is None else IDS[ids][:20]
    table = as_table(pool_rows(), pa.array(IDS[ids or "texts"]))
    batch = committee("logistic").select(
        table, 180, exclude=container(values), id_column=None if ids is None else "id"
    )
    assert batch.rows.min() == 20
    assert batch.manifest["excluded"] == {"asked": 20, "rows": 20}


def select(values, exclude, **more):
    return committee("logistic").select(
        as_table(pool_rows(), values), 5, id_column="id", exclude=exclude, **more
    )


def test_ids_that_repeat_take_all_their_rows_and_unknown_ones_none():
    told = "exclude holds 3 ids, and 1 of them is not in column 'id' of the pool (such as 'nobody')."
    with pytest.warns(mm.DataWarning, match=f"^{re.escape(told)}$"):
        batch = select(pa.array([f"{row // 3}" for row in range(N)]), ["0", "1", "1", "nobody"])
    assert batch.manifest["excluded"] == {"asked": 3, "rows": 6}


@pytest.mark.filterwarnings("ignore:.*repeat an id")
@pytest.mark.filterwarnings("ignore:exclude holds")
def test_a_missing_id_is_no_id():
    values = pa.array([None if row < 200 else row for row in range(N)])
    assert select(values, [200, 201]).manifest["excluded"] == {"asked": 2, "rows": 2}
    assert select(values, [0]).manifest["excluded"] == {"asked": 1, "rows": 0}, "a null is not zero"


@pytest.mark.parametrize(
    ("values", "exclude", "n_out"),
    [
        (
            pa.array(np.arange(N) % 200, pa.uint8()),
            [3, 199, 255, 2**40, -1],
            3,
        ),
        (pa.array(2**63 + np.arange(N, dtype=np.uint64)), [2**63, 2**63 + 5, 7], 2),
        (pa.array(2**63 + np.arange(N, dtype=np.uint64)), [-1, 5], 0),
        (pa.array(np.arange(N, dtype=np.uint64)), [-1], 0),
        (pa.array(IDS["texts"]), pa.array(["001", "002"]).dictionary_encode(), 2),
        (pa.array(np.arange(N)), np.array([1, 2**63], dtype=np.uint64), 1),
        (pa.array(np.arange(N)), pd.Series([1.0, 2.0, 2.5]), 2),
        (pa.array(np.arange(N, dtype=float)), [1, 2], 2),
        (pa.array(np.arange(N)), ["1", "007"], 2),  # as a CSV file holds them
        (pa.array([f"{row}" for row in range(N)]).dictionary_encode(), ["1", "x"], 1),
        (pa.array([f"{row}" for row in range(N)], pa.large_string()), pd.Categorical(["1", "2"]), 2),
        (pa.array([row.to_bytes(2, "big") for row in range(N)]), [b"\x00\x01"], 1),
        (pa.nulls(N), ["a", "b"], 0),
        (pa.array(IDS["texts"]), [], 0),
    ],
)
@pytest.mark.filterwarnings("ignore:.*repeat an id")
@pytest.mark.filterwarnings("ignore:exclude holds")
def test_types_that_can_match_do_so_exactly(values, exclude, n_out):
    batch = select(values, exclude)
    assert batch.manifest["excluded"] == {"asked": len(exclude), "rows": n_out}


NEAR_LIMITS = [
    sign * (2**power + off) for sign in (1, -1) for power in (0, 11, 24, 53, 62, 63) for off in (-1, 0, 1, 2)
]
NUMBER_TYPES = {
    "e": np.float16,
    "f": np.float32,
    "d": np.float64,
    "q": np.int64,
    "Q": np.uint64,
    "i": np.int32,
}


def held_by(kind, numbers):
    """Return the numbers as an array of a type; those that it cannot hold are rounded, or left out."""
    dtype = np.dtype(NUMBER_TYPES[kind])
    if dtype.kind != "f":
        limits = np.iinfo(dtype)
        return np.array([each for each in numbers if limits.min <= each <= limits.max], dtype)
    with np.errstate(over="ignore"):
        return np.array([float(each) for each in numbers]).astype(dtype)


@given(
    ids=st.lists(st.sampled_from(NEAR_LIMITS), min_size=1, max_size=30),
    exclude=st.lists(st.sampled_from(NEAR_LIMITS), min_size=1, max_size=30),
    kinds=st.tuples(st.sampled_from("efdqQi"), st.sampled_from("efdqQi")),
)
def test_numbers_are_out_if_they_are_equal_as_python_compares_them(ids, exclude, kinds):
    """So 2^24 + 1, which float32 would round, is not its number 2^24."""
    ids, exclude = (held_by(kind, values) for kind, values in zip(kinds, (ids, exclude), strict=True))
    assume(len(exclude))
    column = schema_of(frame := nw.from_native(pa.table({"id": ids}), eager_only=True)).find("id")
    places = exclusion.Exclusion.by_id(exclude, column, None).places(Block(0, frame))
    out = set(exclude.tolist())
    if (
        exclude.dtype.kind == "f" and ids.dtype.kind != "f"
    ):  # a float so large may have been another number before
        out = {each for each in out if abs(each) <= 2**53}
    assert places.tolist() == [place for place, each in enumerate(ids.tolist()) if each in out]


@pytest.mark.filterwarnings("ignore:exclude holds")
def test_pandas_columns_of_any_kind():
    frame = pd.DataFrame(pool_rows(), columns=NAMES)
    mixed = frame.assign(id=[row if row % 2 else f"t{row}" for row in range(N)])
    with pytest.raises(mm.InputError) as caught:
        committee("logistic").select(mixed, 5, id_column="id", exclude=["t0", "1"])
    assert str(caught.value) == (
        "Column 'id' of the pool mixes types: row 0 holds 't0', a text, and row 1 holds 1, a number. Use .astype(str), "
        "so that all are of one type."
    )
    categories = frame.assign(id=pd.Categorical(IDS["texts"]))
    assert (
        committee("logistic")
        .select(categories, 5, id_column="id", exclude=["001"])
        .manifest["excluded"]["rows"]
        == 1
    )
    missing = frame.assign(id=[None, *range(1, N)])  # which pandas keeps as floats
    assert (
        committee("logistic").select(missing, 5, id_column="id", exclude=[0, 1]).manifest["excluded"]["rows"]
        == 1
    )


@pytest.mark.filterwarnings("ignore:exclude holds")
def test_many_texts_are_looked_up_in_a_set(monkeypatch):
    monkeypatch.setattr(exclusion, "_MANY_IDS", 10)
    out = IDS["texts"][:100]
    few = select(pa.array(IDS["texts"]), out[:9])
    many = select(pa.array(IDS["texts"]), [*out, "nobody"])
    assert (few.manifest["excluded"]["rows"], many.manifest["excluded"]["rows"]) == (9, 100)
    assert many.rows.min() >= 100


def test_an_id_that_is_also_a_feature(tmp_path):
    table = as_table(pool_rows(), pa.array(np.arange(N))).drop_columns(["x"])
    table.to_pandas().to_csv(tmp_path / "pool.csv", index=False)
    labeled = pd.DataFrame(LABELED, columns=["u", "v", "w", "id"])
    for exclude in ([5, 6], ["5", "6"]):
        trained = mm.fit_committee(labeled, LABELS, n_models=3, random_state=0)
        batch = trained.select(tmp_path / "pool.csv", 5, id_column="id", exclude=exclude)
        assert batch.manifest["excluded"] == {"asked": 2, "rows": 2}


def test_csv_ids_stay_text_beside_a_file_without_rows(tmp_path):
    """A file without ids must not make numbers of the other's: 007 would come out as 7, and be picked again."""
    table = as_table(pool_rows(), pa.array(IDS["texts"]))
    table.to_pandas().to_csv(tmp_path / "a.csv", index=False)
    table.slice(0, 0).to_pandas().to_csv(tmp_path / "b.csv", index=False)
    batch = committee("logistic").select(str(tmp_path / "*.csv"), 5, id_column="id")
    assert all(len(each) == 3 for each in batch.ids)
    again = committee("logistic").select(str(tmp_path / "*.csv"), 5, id_column="id", exclude=batch.ids)
    assert not set(again.rows) & set(batch.rows)


@pytest.mark.parametrize(
    ("pool_ids", "exclude", "told"),
    [
        (
            None,
            ["a", "b"],
            (
                "exclude holds texts (such as 'a'), and without id_column it must hold row numbers. "
                "Name the pool's column that holds these ids as id_column."
            ),
        ),
        (
            None,
            [1.5],
            (
                "exclude holds double (such as 1.5), and without id_column it must hold row numbers. "
                "Name the pool's column that holds these ids as id_column."
            ),
        ),
        (
            None,
            [5, 300],
            (
                "exclude holds 300, and the pool's rows are numbered from 0 to 299. "
                "Name the pool's column as id_column if these are ids."
            ),
        ),
        (
            None,
            [-1, 5],
            (
                "exclude holds -1, and the pool's rows are numbered from 0 to 299. "
                "Name the pool's column as id_column if these are ids."
            ),
        ),
        (
            None,
            np.zeros(N, dtype=bool),
            "exclude is a mask of bools. Use np.flatnonzero(mask), or give row numbers.",
        ),
        (
            None,
            "batch.csv",
            "There is no file 'batch.csv'.",
        ),
        (
            None,
            pd.DataFrame({"row": [1]}),
            (
                "exclude is a DataFrame that cannot be read as row numbers. "
                "Give a list, an array or a series of them, or a batch."
            ),
        ),
        (
            None,
            7,
            (
                "exclude is a int that cannot be read as row numbers. "
                "Give a list, an array or a series of them, or a batch."
            ),
        ),
        (
            None,
            np.zeros((2, 2)),
            (
                "exclude is a ndarray that cannot be read as row numbers. "
                "Give a list, an array or a series of them, or a batch."
            ),
        ),
        (
            "texts",
            [7],
            (
                "exclude holds int64 (such as 7), and column 'id' of the pool holds texts. "
                "Give the ids as they stand in the pool."
            ),
        ),
        (
            "big",
            ["7", "a7"],
            (
                "exclude holds texts (such as 'a7'), and column 'id' of the pool holds Int64. "
                "Give the ids as they stand in the pool."
            ),
        ),
        (
            "texts",
            ["a", None, None],
            "exclude has 2 missing values, which name no row. Leave them out, or give ids of column 'id' for all.",
        ),
        (
            "big",
            np.array([1.0, np.nan]),
            "exclude has 1 missing values, which name no row. Leave them out, or give ids of column 'id' for all.",
        ),
        (
            "texts",
            ["a", 7],
            (
                "exclude is a list that cannot be read as ids of column 'id'. "
                "Give a list, an array or a series of them, or a batch."
            ),
        ),
    ],
)
def test_what_cannot_name_rows_is_told_before_training(pool_ids, exclude, told, monkeypatch):
    monkeypatch.setattr(
        "minmargin.committee.training.Training.fit", lambda *_, **__: pytest.fail("it was trained")
    )
    table = as_table(pool_rows(), pa.array(IDS[pool_ids or "big"]))
    labeled = pd.DataFrame(LABELED, columns=NAMES)
    with pytest.raises(InputError) as error:
        mm.select(labeled, LABELS, table, 5, id_column=None if pool_ids is None else "id", exclude=exclude)
    assert str(error.value) == told


def test_an_id_type_that_only_a_block_can_tell():
    dates = pa.array(np.arange(N).astype("datetime64[D]"))
    with pytest.raises(InputError) as error:
        select(dates, ["no date"])
    assert str(error.value) == (
        "exclude holds texts (such as 'no date'), and column 'id' of the pool holds date32[day]. "
        "Give the ids as they stand in the pool."
    )
    assert select(dates, ["1970-01-03"]).manifest["excluded"]["rows"] == 1


def test_a_batch_larger_than_what_is_left():
    with pytest.raises(InputError) as error:
        array_committee().select(pool_rows(), 50, exclude=range(260))
    assert str(error.value) == (
        "batch_size=50 is larger than what is left of the pool (300 rows in the pool, 260 of them excluded). "
        "Use batch_size<=40."
    )
    with pytest.raises(InputError) as error:
        select(pa.array(IDS["texts"]), IDS["texts"])
    assert str(error.value) == (
        "batch_size=5 is larger than what is left of the pool (300 rows in the pool, 300 of them excluded). "
        "There is nothing left to pick."
    )


def test_without_it_the_manifest_does_not_speak_of_it():
    assert "excluded" not in array_committee().select(pool_rows(), 5).manifest


@pytest.fixture
def small_fragments(monkeypatch):
    monkeypatch.setattr(fragments, "_FRAGMENT_ROWS", 50)
    monkeypatch.setattr(fragments, "_TIMES_THE_BATCH", 1)
    monkeypatch.setattr(memory, "_UNIT", 32)
    monkeypatch.setattr(checkpoint, "_SECONDS", 0.0)


@pytest.mark.usefixtures("small_fragments")
@pytest.mark.parametrize("strategy", ["min-margin", "random-margin-mix", "k-centers"])
def test_a_checkpoint_goes_on_and_counts_once(strategy, tmp_path):
    out = array_committee().select(pool_rows(), 60).rows
    whole = array_committee().select(pool_rows(), 20, strategy=strategy, exclude=out)

    def interrupt(stage, done, total):
        if stage == "scanning" and done >= 120:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        array_committee().select(
            pool_rows(), 20, strategy=strategy, exclude=out, checkpoint=tmp_path, n_jobs=1, progress=interrupt
        )
    assert json.loads((tmp_path / "checkpoint.json").read_text())["rows_excluded"] > 0
    batch = array_committee().select(
        pool_rows(), 20, strategy=strategy, exclude=out[::-1], checkpoint=tmp_path
    )
    np.testing.assert_array_equal(batch.rows, whole.rows)
    np.testing.assert_array_equal(batch.scores, whole.scores)
    assert batch.manifest["excluded"] == whole.manifest["excluded"] == {"asked": 60, "rows": 60}


@pytest.mark.usefixtures("small_fragments")
@pytest.mark.parametrize(("before", "now"), [([1, 2], [1, 3]), (None, [1]), ([1], None)])
def test_a_checkpoint_of_another_exclusion_is_refused(before, now, tmp_path):
    array_committee().select(pool_rows(), 20, exclude=before, checkpoint=tmp_path)
    with pytest.raises(InputError, match=r"belongs to another selection \(excluded was .*, now "):
        array_committee().select(pool_rows(), 20, exclude=now, checkpoint=tmp_path)


def followed_by(first, **more):
    """Return the second batch: of all rows but those of the first."""
    return committee("logistic").select(as_table(pool_rows(), IDS["texts"]), 20, **more, exclude=first)


@pytest.mark.parametrize("id_column", [None, "id"])
def test_a_batch_is_excluded_by_its_ids_or_its_rows(id_column, tmp_path):
    first = followed_by(None, id_column=id_column)
    by_hand = followed_by(first.rows if id_column is None else first.ids, id_column=id_column)
    first.to_csv(tmp_path / "first.csv")
    halves = [first[:7], first[7:]]
    halves[1].to_parquet(tmp_path / "half.parquet")
    for way in (
        first,
        halves,
        tuple(halves),
        str(tmp_path / "first.csv"),
        tmp_path / "first.csv",
        [halves[0], tmp_path / "half.parquet"],
    ):
        second = followed_by(way, id_column=id_column)
        assert second == by_hand
        assert second.manifest["excluded"] == {"asked": 20, "rows": 20}


def test_ids_of_a_batch_are_followed_where_rows_have_moved():
    first = followed_by(None, id_column="id")
    turned = as_table(pool_rows()[::-1], IDS["texts"][::-1])
    second = committee("logistic").select(turned, 20, id_column="id", exclude=first)
    assert not set(first.ids) & set(second.ids)


def test_a_batch_without_ids_is_excluded_by_its_rows():
    first = followed_by(None)
    second = followed_by(first, id_column="id")
    assert second.rows.tolist() == followed_by(first).rows.tolist()
    with pytest.raises(InputError) as error:
        followed_by([first, second], id_column="id")
    assert str(error.value) == (
        "exclude has batches with ids and without. Pick all of them with id_column, or give rows by their numbers."
    )


def test_a_batch_beside_ids_is_refused():
    with pytest.raises(InputError) as error:
        followed_by([followed_by(None), "007"], id_column="id")
    assert str(error.value) == (
        "exclude has '007' beside batches or files. Give batches and Path objects, or ids, and not both."
    )


def test_rows_of_a_batch_from_a_pool_of_another_length_are_pointed_out():
    first = followed_by(None)
    told = (
        "exclude has a batch from a pool of 300 rows, and this one has 290: if rows have moved, its row numbers are "
        "those of others. Pick both with id_column."
    )
    shorter = as_table(pool_rows(), IDS["texts"]).slice(0, 290)
    first = first[np.flatnonzero(first.rows < 290)]
    with pytest.warns(mm.DataWarning, match=f"^{re.escape(told)}$"):
        committee("logistic").select(shorter, 20, exclude=first)


@pytest.mark.parametrize(
    ("exclude", "told"),
    [
        (
            ["a", "b"],
            (
                "exclude holds 2 ids, and none of them is in column 'id' of the pool (such as 'a'). Give the ids as "
                "they stand in the pool."
            ),
        ),
        (
            ["a", "001", "b"],
            "exclude holds 3 ids, and 2 of them are not in column 'id' of the pool (such as 'a').",
        ),
    ],
)
@pytest.mark.parametrize("way", ["table", "one table", "checkpoint"])
def test_ids_that_are_not_in_the_pool_are_pointed_out(way, exclude, told, tmp_path):
    table = as_table(pool_rows(), IDS["texts"])
    if way == "checkpoint":  # what was read before it goes on is not known
        told = re.sub(r" \(such as .*?\)", "", told)
    y = [int(row % 2) if 10 < row < 60 else None for row in range(N)]
    pick = {
        "table": functools.partial(committee("logistic").select, table, 5),
        "one table": functools.partial(mm.select, table, y, None, 5, n_models=3, random_state=0),
        "checkpoint": functools.partial(
            committee("logistic").select, table, 5, checkpoint=tmp_path / "found"
        ),
    }[way]
    with pytest.warns(mm.DataWarning, match=f"^{re.escape(told)}$") as warned:
        pick(id_column="id", exclude=exclude)
    assert len(warned) == 1


def test_row_numbers_behind_a_stream_are_pointed_out():
    told = (
        "exclude holds 3 row numbers, of which the pool has 1 (the last is 1,000). Name the pool's column as id_column "
        "if these are ids."
    )
    chunks = (part for part in cut(pool_rows(), [100]))
    with pytest.warns(mm.DataWarning, match=f"^{re.escape(told)}$"):
        committee("sparse").select(map(sparse.csr_array, chunks), 5, exclude=[0, 500, 1000])
