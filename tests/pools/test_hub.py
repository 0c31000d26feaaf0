"""Datasets of Hugging Face as pools and labeled sets."""

from __future__ import annotations

import pickle

import datasets
import numpy as np
import pyarrow as pa
import pytest

import minmargin as mm
from contract_cases import NAMES, data, table
from minmargin.pools import open_pool
from minmargin.pools.fragments import cut, read


@pytest.fixture(autouse=True)
def _no_bars():
    datasets.disable_progress_bars()
    yield
    datasets.enable_progress_bars()


@pytest.fixture
def labeled():
    X, y, _ = data()
    features = {name: datasets.Value("float32") for name in NAMES}
    features["label"] = datasets.ClassLabel(names=["c", "a", "b"])
    codes = [["c", "a", "b"].index(label) for label in y]
    return datasets.Dataset.from_dict(
        {**table(X).to_pydict(), "label": codes}, features=datasets.Features(features)
    )


@pytest.fixture
def pool():
    rows = table(data()[2])
    return datasets.Dataset(rows.append_column("key", pa.array([f"k{i}" for i in range(len(rows))])))


def pick(labeled, pool, **more):
    return mm.select(labeled, "label", pool, 6, n_models=4, random_state=3, **more)


def test_the_batch_is_that_of_the_same_rows_in_a_frame(labeled, pool):
    X, y, rows = data()
    batch = pick(labeled, pool, chunk_size=37)
    assert batch == mm.select(table(X), y, table(rows), 6, n_models=4, random_state=3)
    assert batch.manifest["pool"]["kind"] == "Hugging Face dataset"
    assert batch.manifest["pool"]["rows"] == 300


@pytest.mark.parametrize(
    "arranged",
    [
        lambda pool: pool.shuffle(seed=1),
        lambda pool: pool.select([5, 3, *range(100, 200)]),
        lambda pool: pool.shuffle(seed=2).select(range(50, 250)).shuffle(seed=3),
        lambda pool: pool.filter(lambda row: row["f0"] > 0),
    ],
    ids=["shuffled", "selected", "several", "filtered"],
)
def test_row_numbers_are_positions_after_shuffling_and_selecting(labeled, pool, arranged):
    arranged = arranged(pool)
    batch = pick(labeled, arranged, id_column="key", keep=["f0"], chunk_size=40)
    as_frame = pick(
        labeled, pa.table(arranged.to_dict()).cast(batch_schema(arranged)), id_column="key", keep=["f0"]
    )
    assert batch == as_frame
    assert [arranged[int(row)]["key"] for row in batch.rows] == batch.ids.tolist()


def batch_schema(dataset):
    return pa.schema(
        [(name, dataset.features.arrow_schema.field(name).type) for name in dataset.column_names]
    )


def test_a_class_label_is_the_names_of_its_classes(labeled, pool):
    committee = mm.fit_committee(labeled, "label", n_models=2, random_state=0)
    assert committee.classes_.tolist() == ["a", "b", "c"]
    assert set(committee.predict(pool)) == {"a", "b", "c"}
    # A kept column, too: codes of a batch would mean nothing to those who read it.
    batch = committee.select(labeled, 2, keep=["label"])
    assert batch.kept["label"].to_pylist() == [
        labeled.features["label"].int2str(labeled[int(r)]["label"]) for r in batch.rows
    ]


def test_a_class_label_of_minus_one_is_no_label(labeled, pool):
    unlabeled = labeled.map(
        lambda row, at: {"label": -1 if at in {4, 9} else row["label"]}, with_indices=True
    )
    with pytest.warns(
        mm.DataWarning,
        match=f"^2 of {len(labeled)} labeled rows have no label in column 'label', such as row 4, so",
    ):
        batch = pick(unlabeled, pool)
    assert batch.manifest["labeled"]["rows"] == len(labeled) - 2


def test_columns_by_themselves_are_texts_and_labels(labeled):
    texts = ["lost card", "stolen card", "top up", "top-up fee"] * 5
    topics = datasets.Dataset.from_dict(
        {"text": texts, "topic": [0, 0, 1, 1] * 5},
        features=datasets.Features(
            text=datasets.Value("string"), topic=datasets.ClassLabel(names=["card", "top-up"])
        ),
    )
    batch = mm.select(topics["text"], topics["topic"], topics["text"], 2, learner="text", random_state=0)
    assert (
        batch.rows.tolist()
        == mm.select(texts, [0, 0, 1, 1] * 5, texts, 2, learner="text", random_state=0).rows.tolist()
    )
    assert set(batch.predicted.tolist()) <= {0, 1}
    by_name = mm.select(topics, "topic", topics, 2, features="text", learner="text", random_state=0)
    assert by_name.rows.tolist() == batch.rows.tolist()
    assert set(by_name.predicted.tolist()) <= {"card", "top-up"}


def test_a_stream_is_read_in_its_order(labeled, pool):
    stream = pool.to_iterable_dataset(num_shards=3)
    in_order = pick(labeled, pool, id_column="key")
    assert pick(labeled, stream, id_column="key") == in_order
    assert pick(labeled.to_iterable_dataset(), stream, id_column="key") == in_order
    shuffled = stream.shuffle(seed=4, buffer_size=50)
    batch = pick(labeled, shuffled, id_column="key")
    keys = [row["key"] for row in shuffled]
    assert keys != pool["key"][:]
    assert [keys[row] for row in batch.rows] == batch.ids.tolist()


def test_a_stream_of_a_generator_does_not_know_its_columns_before(labeled):
    rows = table(data()[2]).to_pylist()
    stream = datasets.IterableDataset.from_generator(lambda: iter(rows))
    assert stream.features is None
    assert pick(labeled, stream) == pick(labeled, rows)


def test_an_empty_stream_is_no_labeled_set(pool):
    with pytest.raises(mm.InputError) as caught:
        pick(datasets.IterableDataset.from_generator(lambda: iter([])), pool)
    assert str(caught.value) == "The labeled set has no rows."


def test_embeddings_may_be_of_fixed_or_free_length(labeled, pool):
    X, y, rows = data()
    for length in (5, -1):
        features = datasets.Features(vector=datasets.List(datasets.Value("float32"), length=length))
        vectors = datasets.Dataset.from_dict({"vector": rows}, features=features)
        batch = mm.select(X, y, vectors, 6, n_models=4, random_state=3)
        assert batch.rows.tolist() == pick(labeled, pool).rows.tolist()


def test_a_format_for_another_library_changes_nothing(labeled, pool):
    assert pick(labeled.with_format("numpy"), pool.with_format("pandas", columns=["f1"])) == pick(
        labeled, pool
    )


def test_only_the_rows_and_columns_of_a_chunk_are_read_at_a_time(pool):
    sizes = [chunk.shape for chunk in open_pool(pool).chunks({"f1": "number", "key": None}, 128)]
    assert sizes == [(128, 2), (128, 2), (44, 2)]


def test_parts_can_be_read_by_themselves_in_another_process(pool, monkeypatch):
    monkeypatch.setattr("minmargin.pools.hub._UNIT", 64)
    opened = pickle.loads(pickle.dumps(open_pool(pool.shuffle(seed=0))))  # noqa: S301 - made here
    keys = [
        key
        for fragment in cut(opened, 50, grid=None)
        for chunk in read(opened, fragment, {"key": None}, 30)
        for key in chunk["key"].to_list()
    ]
    assert keys == pool.shuffle(seed=0)["key"][:]


def test_the_fingerprint_tells_orders_apart_and_leaves_pictures_out(pool):
    with_bytes = datasets.Dataset(pa.table({"f0": np.arange(5.0), "b": [b"1", b"2", b"3", b"4", b"5"]}))
    other_bytes = datasets.Dataset(pa.table({"f0": np.arange(5.0), "b": [b"1", b"2", b"3", b"4", b"6"]}))
    marks = [
        open_pool(each).describe()["fingerprint"]
        for each in (pool, pool.shuffle(seed=0), with_bytes, other_bytes)
    ]
    assert marks[0] != marks[1]
    assert marks[2] == marks[3]


@pytest.mark.parametrize(("X", "what"), [(True, "The labeled set"), (False, "The pool")])
def test_all_splits_at_once_are_refused(labeled, pool, X, what):
    splits = datasets.DatasetDict(train=labeled if X else pool, test=pool)
    with pytest.raises(mm.InputError) as caught:
        pick(splits if X else labeled, pool if X else splits)
    assert str(caught.value) == (
        f"{what} is of the type DatasetDict, with the splits 'train', 'test'. Give one of them, such as "
        "dataset['train']."
    )


def test_streamed_splits_are_refused_too(labeled, pool):
    with pytest.raises(mm.InputError) as caught:
        pick(labeled, datasets.IterableDatasetDict(rest=pool.to_iterable_dataset()))
    assert str(caught.value) == (
        "The pool is of the type IterableDatasetDict, with the splits 'rest'. Give one of them, such as "
        "dataset['rest']."
    )


def test_a_transform_is_not_left_out_in_silence(labeled, pool):
    with pytest.raises(mm.InputError) as caught:
        pick(labeled, pool.with_transform(lambda rows: rows))
    assert str(caught.value) == (
        "The pool is a dataset with a transform, which its columns are read without. Use dataset.map(...) to keep what "
        "it makes, or dataset.with_format(None) to leave it out."
    )
