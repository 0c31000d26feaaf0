"""Inputs that once went wrong silently or ended in somebody else's error."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

import minmargin as mm
from minmargin import cli
from minmargin.strategies.candidates import Candidates

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(RNG.normal(size=(40, 2)), columns=["a", "b"])
LABELS = (FRAME["a"] > 0).tolist()
POOL = pd.DataFrame(RNG.normal(size=(60, 2)), columns=["a", "b"])


def pick(labeled=FRAME, labels=LABELS, pool=POOL, batch_size=5, **settings):
    return mm.select(labeled, labels, pool, batch_size, **{"n_models": 3, "random_state": 0, **settings})


def complaint(*arguments, **settings):
    with pytest.raises(mm.InputError) as error:
        pick(*arguments, **settings)
    return str(error.value)


def test_pairs_of_three_classes_are_not_taken_for_three_classes():
    labels = np.arange(40) % 3
    message = complaint(labels=labels, learner=SVC(decision_function_shape="ovo"))
    assert message.startswith("SVC(decision_function_shape='ovo') scores pairs of classes")


def test_the_index_of_a_pandas_file_is_no_feature(tmp_path):
    shuffled = FRAME.assign(y=LABELS).sample(frac=1, random_state=0)
    shuffled.to_parquet(tmp_path / "labeled.parquet")
    POOL.sample(frac=1, random_state=1).to_parquet(tmp_path / "pool.parquet")
    batch = pick(tmp_path / "labeled.parquet", "y", tmp_path / "pool.parquet")
    assert batch.manifest["labeled"]["features"] == ["a", "b"]


def test_ids_of_a_csv_file_come_out_as_they_went_in(tmp_path):
    POOL.assign(id=[f"{i:03}" for i in range(60)], day="2026-01-02").to_csv(
        tmp_path / "pool.csv", index=False
    )
    batch = pick(pool=tmp_path / "pool.csv", id_column="id", keep=["day"])
    assert batch.ids.tolist() == [f"{row:03}" for row in batch.rows]
    assert batch.kept["day"].to_pylist() == ["2026-01-02"] * 5


def test_a_missing_id_does_not_change_the_others():
    ids = pa.array([2**60 + i if i % 2 else None for i in range(60)])
    table = pa.Table.from_pandas(POOL, preserve_index=False).append_column("id", ids)
    batch = pick(pool=table, batch_size=60, id_column="id")
    expected = [2**60 + row if row % 2 else None for row in batch.rows.tolist()]
    assert batch.ids.tolist() == expected
    assert batch.to_arrow()["id"].to_pylist() == expected


def test_kept_columns_never_overwrite_each_other():
    pool = POOL.assign(score=1.0, pool_score=2.0, pool_pool_score=3.0)
    table = pick(pool=pool, keep=["pool_score", "score", "pool_pool_score"]).to_arrow()
    assert table["pool_score"][0].as_py() == 2.0
    assert table["pool_pool_score"][0].as_py() == 3.0
    assert table["pool_pool_pool_score"][0].as_py() == 1.0


def test_a_kept_column_of_mixed_objects_becomes_text():
    pool = POOL.assign(thing=[1, "two", None] * 20)
    kept = pick(pool=pool, batch_size=60, keep=["thing"]).kept["thing"].to_pylist()
    assert set(kept) == {"1", "two", None}


def test_true_and_false_in_a_csv_are_numbers(tmp_path):
    labeled, pool = FRAME.assign(c=FRAME["a"] > 0, y=LABELS), POOL.assign(c=POOL["a"] > 0)
    labeled.to_csv(tmp_path / "labeled.csv", index=False)
    pool.to_csv(tmp_path / "pool.csv", index=False)
    from_files = pick(tmp_path / "labeled.csv", "y", tmp_path / "pool.csv", preprocess="auto")
    assert len(from_files) == 5


@pytest.mark.parametrize("preprocess", ["auto", "none"])
def test_an_embedding_error_names_pool_row_and_cell(preprocess):
    vectors = RNG.normal(size=(40, 2)).tolist()
    labeled = pl.DataFrame({"e": vectors, "x": RNG.normal(size=40)})
    pool = {"e": RNG.normal(size=(9000, 2)).tolist(), "x": RNG.normal(size=9000)}
    pool["e"][8500] = [0.0, float("inf")]
    message = complaint(labeled, pool=pl.DataFrame(pool), preprocess=preprocess)
    assert message == "Pool row 8,500, column 'e'[1] is infinite. Replace it."
    pool["e"][8500] = None
    message = complaint(labeled, pool=pl.DataFrame(pool), preprocess=preprocess)
    assert message == "Pool row 8,500, column 'e' is missing. Fill it or drop the row."


def test_files_may_differ_in_width_of_numbers_and_in_nullability(tmp_path):
    first = pa.table(
        {
            "a": pa.array(range(30)),
            "b": pa.array(np.arange(30, dtype=np.float32)),
            "id": pa.array(range(30, 60)),
        }
    )
    second = pa.table(
        [pa.array(np.ones(30)), pa.array(np.ones(30)), pa.array(range(30), pa.int32())],
        schema=pa.schema(
            [pa.field("a", pa.float64(), nullable=False), ("b", pa.float64()), ("id", pa.int32())]
        ),
    )
    pq.write_table(first, tmp_path / "1.parquet")
    pq.write_table(second, tmp_path / "2.parquet")
    assert len(pick(pool=tmp_path, batch_size=60, id_column="id", distinct=False)) == 60


def test_a_column_without_values_serves_as_any(tmp_path):
    (tmp_path / "pool.csv").write_text("a,b\n" + "1,\n" * 10)
    assert len(pick(pool=tmp_path / "pool.csv", preprocess="auto", distinct=False)) == 5
    assert len(pick(FRAME.assign(c=None), pool=POOL, preprocess="auto")) == 5


class Untrained(LogisticRegression):
    def fit(self, X, y, sample_weight=None):
        raise AssertionError("trained before everything was checked")


def test_strategy_and_learner_are_checked_before_training():
    assert "needs members" in complaint(n_models=0, learner=Untrained())
    assert "keeps fewer rows" in complaint(strategy=mm.KCenters(prefilter=2), learner=Untrained())


def test_numpy_numbers_as_settings_can_be_written(tmp_path):
    batch = pick(
        batch_size=np.int64(3), n_models=np.int32(2), n_jobs=np.int64(1), bootstrap_fraction=np.float32(1)
    )
    assert json.loads(json.dumps(batch.manifest))["settings"]["batch_size"] == 3
    batch.to_parquet(tmp_path / "batch.parquet")


def test_a_damaged_file_of_a_dataset_is_an_input_error(tmp_path):
    POOL.to_parquet(tmp_path / "pool.parquet", index=False)
    dataset = ds.dataset(tmp_path / "pool.parquet")
    content = bytearray((tmp_path / "pool.parquet").read_bytes())
    content[4:300] = b"\0" * 296
    (tmp_path / "pool.parquet").write_bytes(content)
    assert "cannot be read as a dataset" in complaint(pool=dataset)


def test_folders_that_are_called_like_files_are_read(tmp_path):
    (tmp_path / "pool.parquet").mkdir()
    POOL.to_parquet(tmp_path / "pool.parquet" / "part-0.parquet", index=False)
    for pool in (tmp_path, tmp_path / "pool.parquet", str(tmp_path / "*.parquet")):
        assert len(pick(pool=pool)) == 5


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"bootstrap_fraction": "a"}, "bootstrap_fraction='a' must be a number above 0; 1.0 is usual."),
        ({"bootstrap_fraction": True}, "bootstrap_fraction=True must be a number above 0; 1.0 is usual."),
        ({"features": ["a", "a"]}, "features names 'a' twice. Name each column once."),
        ({"strategy": mm.KCenters}, "strategy is the class KCenters. Pass an instance: KCenters()."),
        ({"n_jobs": 0}, "n_jobs=0 must be a whole number >= 1, or -1 for all cores."),
        (
            {"pool": iter([POOL, pl.from_pandas(POOL)])},
            "Chunk 1 of the pool is a polars and the first is a pandas. Give every chunk in the same container.",
        ),
        ({"pool": []}, "The pool has no rows."),
        (
            {"labeled": FRAME.set_axis(["a", "a"], axis=1)},
            "The labeled set has several columns called 'a'. Rename them.",
        ),
    ],
)
def test_these_get_a_clear_error(settings, message):
    assert complaint(**settings) == message


@pytest.mark.parametrize(
    ("pool", "message"),
    [
        (
            np.ma.masked_array(POOL.to_numpy(), mask=False),
            "The pool is a masked array. Use X.filled(np.nan), so that missing cells are NaN.",
        ),
        (
            POOL.to_numpy().astype(complex),
            "The pool array holds complex128, not numbers. Convert it to float64.",
        ),
        (
            sparse.csr_array(POOL.to_numpy().astype(complex)),
            "The pool array holds complex128, not numbers. Convert it to float64.",
        ),
    ],
)
def test_arrays_that_hold_no_plain_numbers_are_refused(pool, message):
    assert complaint(FRAME.to_numpy(), pool=pool) == message


def test_record_batches_are_chunks():
    table = pa.Table.from_pandas(POOL, preserve_index=False)
    expected = pick(pool=table).rows.tolist()
    assert pick(pool=table.to_reader(max_chunksize=7)).rows.tolist() == expected
    assert pick(pool=table.to_batches(max_chunksize=7)).rows.tolist() == expected


def test_a_pandas_pool_brings_no_index_along():
    batch = pick(pool=POOL.assign(id=range(60)).iloc[::-1], batch_size=20, id_column="id")
    assert batch.kept is None
    assert batch.to_arrow().column_names[:3] == ["rank", "row", "id"]


def test_a_text_that_is_different_in_every_row_is_warned_of():
    labeled, pool = (
        FRAME.assign(name=[f"n{i}" for i in range(40)]),
        POOL.assign(name=[f"p{i}" for i in range(60)]),
    )
    with pytest.warns(mm.DataWarning, match="'name' has a different value in nearly every labeled row"):
        pick(labeled, pool=pool, preprocess="auto")
    assert len(pick(labeled, pool=pool, preprocess="auto", id_column="name")) == 5


def test_the_manifest_tells_the_options_of_strategy_and_learner():
    settings = pick(
        strategy=mm.BalancedMargin(balance=0.2, prefilter=30), learner=mm.LogisticLearner(C=0.5)
    ).manifest["settings"]
    assert settings["strategy_options"] == {"prefilter": 30, "balance": 0.2}
    assert settings["learner"] == "logistic(C=0.5)"


def test_a_failing_strategy_says_on_which_rows():
    with pytest.raises(mm.ScoringError) as error:
        pick(strategy=lambda candidates: 1 / 0)
    assert str(error.value) == "The strategy failed on pool rows 0 to 59: ZeroDivisionError: division by zero"


@pytest.mark.parametrize("content", ["def make(:", "raise AttributeError('x')", "def make(): return 1 / 0"])
def test_a_broken_factory_is_the_callers_error(tmp_path, monkeypatch, capsys, content):
    monkeypatch.chdir(tmp_path)
    Path("broken_factory.py").write_text(content)
    FRAME.assign(y=LABELS).to_csv("labeled.csv", index=False)
    files = ["--labeled", "labeled.csv", "--label-column", "y", "--pool", "labeled.csv", "--out", "batch.csv"]
    command = ["minmargin", "select", *files, "--batch-size", "3", "--learner", "broken_factory:make"]
    monkeypatch.setattr("sys.argv", command)
    assert cli.run() == 1
    assert capsys.readouterr().err.startswith("minmargin: --learner broken_factory:make failed: ")


def test_the_bare_command_shows_its_help(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["minmargin"])
    assert cli.run() == 0
    assert "select" in capsys.readouterr().out


def test_missing_texts_of_a_list_are_empty_texts():
    texts = np.array(["red", None, "blue", "red blue"] * 5, dtype=object)
    learner = make_pipeline(CountVectorizer(), LogisticRegression())
    batch = pick(texts, ["u", "v"] * 10, texts, 4, learner=learner)
    assert len({str(texts[row]) for row in batch.rows.tolist()}) == 4


@pytest.mark.filterwarnings("ignore:the matrix subclass")
@pytest.mark.parametrize(
    "make", [np.matrix, sparse.dok_array, sparse.dok_matrix, sparse.lil_matrix, sparse.bsr_array]
)
def test_every_kind_of_matrix_is_rows(make):
    labeled, pool = FRAME.to_numpy(), POOL.to_numpy()
    expected = pick(labeled, pool=pool).rows.tolist()
    assert pick(make(labeled), pool=make(pool)).rows.tolist() == expected
    assert pick(labeled, pool=make(pool)).rows.tolist() == expected
    assert pick(labeled, pool=[make(pool[:9]), make(pool[9:])]).rows.tolist() == expected


def test_rows_that_failed_are_told_from_the_first_to_the_last():
    candidates = Candidates(np.array([82, 7, 62]), None, None, seeds=None, device="cpu")
    told = str(candidates.failure("learner", ValueError("no")))
    assert told == "The learner failed on pool rows 7 to 82: ValueError: no"
