"""Campaigns on texts, embeddings and mixed tables: picked rows keep the features they had in the pool."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import minmargin as mm

N, N_LABELED = 120, 20


@pytest.fixture
def play(tmp_path, monkeypatch):
    """Play two rounds; return the campaign. `truth` are the labels by id, of which the first are known."""
    monkeypatch.chdir(tmp_path)

    def play(truth, *, labeled, pool, **settings):
        campaign = mm.Campaign.init(
            "campaign",
            labeled=labeled,
            label_column="y",
            pool=pool,
            id_column="key",
            batch_size=10,
            n_models=2,
            random_state=0,
            folds=2,
            **settings,
        )
        known = set(list(truth)[:N_LABELED])
        for _ in range(2):
            ids = campaign.next(n_jobs=1).ids.tolist()
            assert not known & set(ids)
            known |= set(ids)
            campaign.add_labels({each: truth[each] for each in ids}, n_jobs=1)
        table = campaign.labeled()
        assert len(table) == N_LABELED + 20
        pairs = zip(table["key"].to_pylist(), table["y"].to_pylist(), strict=True)
        assert all(truth[each] == label for each, label in pairs)
        return campaign

    return play


def test_texts_in_csv_files_and_a_pipeline(play):
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(["card", "lost", "top", "up", "fee", "late"], 3)) for _ in range(N)]
    keys = [f"{row:03d}" for row in range(N)]
    labels = ["card" if "card" in text else "other" for text in texts]
    frame = pd.DataFrame({"text": texts, "key": keys})
    frame.to_csv("pool.csv", index=False)
    frame.assign(y=labels)[:N_LABELED].to_csv("labeled.csv", index=False)
    learner = make_pipeline(TfidfVectorizer(), LogisticRegression())
    truth = dict(zip(keys, labels, strict=True))
    campaign = play(truth, labeled="labeled.csv", pool="pool.csv", features="text", learner=learner)
    table = campaign.labeled()
    assert [texts[int(each)] for each in table["key"].to_pylist()] == table["text"].to_pylist()


def test_embeddings_of_several_arrow_types_and_ids_of_64_bits(play):
    vectors = np.random.default_rng(0).normal(size=(N, 4)).astype(np.float32)
    keys = [2**63 + row for row in range(N)]
    labels = (vectors[:, 0] > 0).astype(int).tolist()
    ids = pa.array(keys, pa.uint64())
    fixed = pa.array(list(vectors[:N_LABELED]), pa.list_(pa.float32(), 4))
    loose = pa.array(list(vectors.astype(np.float64)), pa.list_(pa.float64()))
    pq.write_table(pa.table({"vector": loose, "key": ids}), "pool.parquet")
    labeled = pa.table({"vector": fixed, "key": ids[:N_LABELED], "y": labels[:N_LABELED]})
    truth = dict(zip(keys, labels, strict=True))
    table = play(truth, labeled=labeled, pool="pool.parquet").labeled()
    expected = [vectors[each - 2**63].tolist() for each in table["key"].to_pylist()]
    assert table["vector"].to_pylist() == expected


def test_mixed_columns_with_holes(play):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, N).astype(float),
            "city": pd.Categorical(rng.choice(["a", "b"], N)),
            "n": rng.integers(0, 5, N),
            "key": [f"k{row}" for row in range(N)],
        }
    )
    frame.loc[::7, "age"] = np.nan
    labels = np.where(frame.n > 2, "high", "low").tolist()
    frame.to_csv("pool.csv", index=False)
    truth = dict(zip(frame.key, labels, strict=True))
    labeled = frame.assign(y=labels)[:N_LABELED]
    status = play(truth, labeled=labeled, pool="pool.csv", preprocess="auto").status()
    assert status.accuracy is not None
