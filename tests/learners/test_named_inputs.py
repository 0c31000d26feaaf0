"""Columns that a module takes by name, as those of a tokenizer: in training and in every kind of pool."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402 - torch may be missing

import minmargin as mm  # noqa: E402
from minmargin import cli  # noqa: E402
from small_modules import IRIS, complaint  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_torch_thread", "small_blocks")

LENGTH = 6


class MaskedNet(nn.Module):
    """The mean of the embeddings of tokens that are not padding, and a plain number, then one layer."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(20, 5)
        self.last = nn.Linear(6, 2)

    def forward(self, input_ids, attention_mask, size):
        assert (input_ids.dtype, attention_mask.dtype) == (torch.int64, torch.int64)
        assert (size.dtype, size.ndim) == (torch.float32, 1)
        shown = attention_mask[..., None].float()
        mean = (self.embedding(input_ids) * shown).sum(dim=1) / shown.sum(dim=1)
        return self.last(torch.cat([mean, size[:, None]], dim=1))


NAMES = ("input_ids", "attention_mask", "size")


def texts(n_rows=300):
    """Return tokens that tell the topic by how high they are, masks of several lengths, and sizes."""
    rng = np.random.default_rng(3)
    topics = np.arange(n_rows) % 2
    mask = (np.arange(LENGTH) < rng.integers(2, LENGTH + 1, (n_rows, 1))).astype(np.int32)
    ids = rng.integers(1, 12 + 7 * topics[:, np.newaxis], (n_rows, LENGTH)) * mask
    columns = {"input_ids": ids, "attention_mask": mask, "size": rng.normal(size=n_rows)}
    return columns, np.where(topics, "news", "mail")


COLUMNS, TOPICS = texts()
LABELED = {name: values[:60] for name, values in COLUMNS.items()}
POOL = {name: values[60:] for name, values in COLUMNS.items()}


def learner(**settings):
    return mm.ModuleLearner(MaskedNet, **{"epochs": 8, "lr": 0.02, "inputs": NAMES, **settings})


def select(X=LABELED, y=TOPICS[:60], pool=POOL, batch_size=8, **settings):
    usual = {"learner": learner(), "n_models": 3, "random_state": 0}
    return mm.select(X, y, pool, batch_size, **{**usual, **settings})


def as_arrow(columns, *, fixed=True):
    made = {}
    for name, values in columns.items():
        if values.ndim == 1:
            made[name] = pa.array(values)
        elif fixed:
            made[name] = pa.FixedSizeListArray.from_arrays(pa.array(values.ravel()), values.shape[1])
        else:
            made[name] = pa.array(values.tolist())
    return pa.table(made)


def as_frame(columns):
    return pd.DataFrame({name: list(values) for name, values in columns.items()})


def write_parquet(columns, folder, *, fixed):
    table = as_arrow(columns, fixed=fixed)
    pq.write_table(table.slice(0, 100), folder / "a.parquet", row_group_size=33)
    pq.write_table(table.slice(100), folder / "b.parquet", row_group_size=47)
    return str(folder / "*.parquet")


def as_hub_dataset(columns, folder):
    datasets = pytest.importorskip("datasets")
    return datasets.Dataset.from_dict({name: values.tolist() for name, values in columns.items()})


POOLS = {
    "tensors": lambda columns, folder: {name: torch.as_tensor(each) for name, each in columns.items()},
    "lists": lambda columns, folder: {name: each.tolist() for name, each in columns.items()},
    "list of dicts": lambda columns, folder: as_arrow(columns).to_pylist(),
    "pandas": lambda columns, folder: as_frame(columns),
    "polars": lambda columns, folder: pl.from_arrow(as_arrow(columns)),
    "pyarrow": lambda columns, folder: as_arrow(columns),
    "parquet": lambda columns, folder: write_parquet(columns, folder, fixed=True),
    "parquet with plain lists": lambda columns, folder: write_parquet(columns, folder, fixed=False),
    "chunks": lambda columns, folder: (as_arrow(columns).slice(i, 37) for i in range(0, 240, 37)),
    "hub dataset": as_hub_dataset,
    "others besides": lambda columns, folder: as_arrow(
        {"other": columns["size"], **dict(reversed(columns.items()))}
    ),
}


@pytest.mark.parametrize("kind", POOLS)
def test_every_kind_of_pool_gives_one_batch(kind, tmp_path):
    expected = select()
    batch = select(pool=POOLS[kind](POOL, tmp_path))
    assert batch.rows.tolist() == expected.rows.tolist()
    assert batch.scores.tolist() == expected.scores.tolist()


@pytest.mark.parametrize(
    "kind", ["tensors", "lists", "list of dicts", "pandas", "polars", "pyarrow", "hub dataset"]
)
def test_every_kind_of_labeled_set_gives_one_batch(kind, tmp_path):
    assert select(POOLS[kind](LABELED, tmp_path)).scores.tolist() == select().scores.tolist()


@pytest.mark.parametrize("changed", [{"n_jobs": 1}, {"n_jobs": 3}, {"chunk_size": 7}], ids=str)
def test_neither_threads_nor_chunks_change_the_batch(changed, tmp_path):
    expected, batch = select(), select(pool=write_parquet(POOL, tmp_path, fixed=True), **changed)
    assert batch.rows.tolist() == expected.rows.tolist()
    assert batch.scores.tolist() == expected.scores.tolist()


def test_labels_may_be_a_column_of_the_dict():
    both = {**LABELED, "topic": TOPICS[:60]}
    assert select(both, "topic").scores.tolist() == select().scores.tolist()


def test_columns_are_read_as_declared(tmp_path):
    def spelled(columns):
        return {**columns, "size": [repr(float(size)).replace(".", ",") for size in columns["size"]]}

    reading = mm.Reading(number=["size"], decimal=",")
    batch = select(spelled(LABELED), pool=spelled(POOL), reading=reading)
    assert batch.scores.tolist() == select().scores.tolist()
    committee = mm.fit_committee(
        spelled(LABELED), TOPICS[:60], learner=learner(), n_models=3, random_state=0, reading=reading
    )
    loaded = mm.load_committee(committee.save(tmp_path / "saved"), factory=MaskedNet)
    assert loaded.select(spelled(POOL), 8).scores.tolist() == batch.scores.tolist()


def test_the_scores_are_those_of_the_trained_modules():
    committee = mm.fit_committee(LABELED, TOPICS[:60], learner=learner(), n_models=2, random_state=0)
    assert committee.scorer.path == "torch modules, trained together on cpu"
    given = {
        "input_ids": torch.as_tensor(POOL["input_ids"]),
        "attention_mask": torch.as_tensor(POOL["attention_mask"]).long(),
        "size": torch.as_tensor(POOL["size"]).float(),
    }
    with torch.no_grad():
        expected = torch.softmax(committee.scorer.base(**given).double(), 1).numpy()
    np.testing.assert_allclose(committee.predict_proba(POOL), expected, atol=1e-6)


def test_tokens_are_learned_with_patience_and_weights():
    settings = {
        "epochs": 60,
        "patience": 8,
        "class_weight": "balanced",
        "schedule": "cosine",
        "optimizer": "adamw",
    }
    trained = learner(**settings)
    committee = mm.fit_committee(
        {name: values[:200] for name, values in COLUMNS.items()},
        TOPICS[:200],
        learner=trained,
        n_models=2,
        random_state=0,
    )
    late = {name: values[200:] for name, values in COLUMNS.items()}
    # Half of all rows have a token that only news have; the others look alike.
    assert (committee.predict(late) == TOPICS[200:]).mean() > 0.7


@pytest.mark.parametrize("strategy", ["k-centers", "spread", "badge"])
def test_strategies_that_compare_rows_select(strategy):
    assert len(set(select(strategy=strategy).rows.tolist())) == 8


def test_copies_are_known_in_any_container(tmp_path):
    twice = {name: np.concatenate([values[:30], values[:30]]) for name, values in POOL.items()}
    batch = select(pool=twice, batch_size=30)
    assert sorted(row % 30 for row in batch.rows.tolist()) == list(range(30))


CODE = """
import minmargin as mm
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(20, 5)
        self.last = nn.Linear(5, 2)

    def forward(self, input_ids, attention_mask):
        return self.last((self.embedding(input_ids) * attention_mask.unsqueeze(-1)).sum(dim=1))

def learner():
    return mm.ModuleLearner(Net, epochs=2, inputs=["input_ids", "attention_mask"], patience=1)
"""


def test_the_command_line_takes_a_function_that_returns_a_learner(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("our_transformers.py").write_text(CODE)
    pq.write_table(as_arrow(LABELED).append_column("topic", pa.array(TOPICS[:60])), "labeled.parquet")
    pq.write_table(as_arrow(POOL), "pool.parquet")
    line = (
        "select --labeled labeled.parquet --label-column topic --pool pool.parquet --batch-size 5 --out batch.csv "
        "--learner our_transformers:learner --n-models 2 --seed 0 --json"
    )
    monkeypatch.setattr(sys, "argv", ["minmargin", *line.split()])
    assert cli.run() == 0
    settings = json.loads(capsys.readouterr().out)["settings"]
    assert settings["learner"] == "module(Net, epochs=2, inputs=['input_ids', 'attention_mask'], patience=1)"
    assert [each["epochs"] for each in settings["stopping"]["members"]] == [2, 2]
    assert len(pd.read_csv("batch.csv")) == 5


# --- what cannot be used -----------------------------------------------------------------------------------


SETTINGS = {
    "one name": ("input_ids", "inputs='input_ids' must be a list of column names, such as ['input_ids']."),
    "no name": ([], "inputs=[] must be a list of column names, such as ['input_ids']."),
    "no argument": (
        ["input ids"],
        (
            "inputs has 'input ids', which cannot be the name of an argument. Rename the column as the module's "
            "forward calls it."
        ),
    ),
    "twice": (["size", "size"], "inputs=['size', 'size'] names a column twice. Name each once."),
}


@pytest.mark.parametrize(("inputs", "message"), SETTINGS.values(), ids=SETTINGS)
def test_names_that_cannot_be_used_are_refused(inputs, message):
    assert complaint(call=lambda: learner(inputs=inputs)) == message


@pytest.mark.parametrize(
    "setting", [{"standardize": True}, {"dtype": "int64"}, {"input_shape": (2,)}], ids=str
)
def test_what_is_said_of_one_tensor_is_refused(setting):
    ((name, value),) = setting.items()
    assert complaint(call=lambda: learner(**setting)) == (
        f"{name}={value!r} is for rows that are one tensor, and inputs gives the module several. Leave it out: each "
        "column keeps its own kind of numbers."
    )


def test_preprocessing_is_refused():
    assert complaint(call=lambda: select(preprocess="auto")) == (
        "preprocess='auto' makes one row of numbers of all columns, and inputs names those that the module takes "
        "('input_ids', 'attention_mask', 'size'). Leave preprocess out."
    )


def test_an_array_has_no_names():
    assert complaint(call=lambda: select(IRIS, np.arange(150) % 2)) == (
        "inputs names columns ('input_ids', 'attention_mask', 'size'), and the labeled set is an array without names. "
        "Give a frame, files, or a dict of arrays."
    )


def test_a_column_that_is_not_there_is_named():
    assert complaint(call=lambda: select(learner=learner(inputs=["input_id"]))) == (
        "Column 'input_id' is not in the labeled set (columns: 'input_ids', 'attention_mask', 'size'). Did you mean "
        "'input_ids'?"
    )


def test_a_module_that_takes_other_names_says_which_it_was_given():
    message = complaint(call=lambda: select(learner=learner(inputs=["input_ids", "size"])))
    assert message == (
        "The module MaskedNet fails on input_ids (shape (6,) and type int64), size (shape () and type float32): "
        "TypeError: MaskedNet.forward() missing 1 required positional argument: 'attention_mask'. Name the arguments "
        "that its forward takes, with ModuleLearner(..., inputs=[...])."
    )


def test_lists_of_another_length_are_refused_even_where_the_sum_is_the_same(tmp_path):
    other = {
        **POOL,
        "input_ids": POOL["input_ids"][:, 1:],
        "attention_mask": np.ones((240, 7), dtype=np.int32),
    }
    assert complaint(call=lambda: select(pool=other)) == (
        "Embedding column 'input_ids' holds 6 numbers in the labeled set but 5 in the pool. Use the same embedding "
        "for both."
    )
    assert complaint(call=lambda: select(pool=write_parquet(other, tmp_path, fixed=False))) == (
        "Pool row 0, column 'input_ids' holds 5 numbers, and in the labeled set 6. Pad both to one length."
    )


def test_fractions_among_tokens_name_the_row_and_the_column():
    ids = POOL["input_ids"].astype(np.float64)
    ids[50, 2] = 1.5
    assert complaint(call=lambda: select(pool={**POOL, "input_ids": ids})) == (
        "Pool row 50, column 'input_ids' holds 1.5, and the labeled set has whole numbers there, up to 2^53. Mend it."
    )


def test_lists_that_were_not_padded_are_refused():
    message = complaint(call=lambda: select({**LABELED, "input_ids": [[1]] + [[1, 2]] * 59}))
    assert message.startswith("The labeled set is a dict whose 'input_ids' is no array (")
    assert message.endswith("). Pad its rows to one length.")
