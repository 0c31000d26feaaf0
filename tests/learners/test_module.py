"""A factory of torch modules is a learner: for tables, images and tokens, with every strategy."""

from __future__ import annotations

import json
import pickle
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402 - torch may be missing

import minmargin as mm  # noqa: E402
from minmargin import cli  # noqa: E402
from minmargin.learners import resolve_learner  # noqa: E402
from minmargin.learners.networks import module_scorer  # noqa: E402
from small_modules import (  # noqa: E402
    DIGIT_LABELS,
    DIGITS,
    IMAGES,
    IRIS,
    SPECIES,
    ImageNet,
    TokenNet,
    complaint,
    few_epochs,
    iris_net,
    pick,
    pick_iris,
    tokens,
)

pytestmark = pytest.mark.usefixtures("one_torch_thread")


# --- what it is given and what comes out --------------------------------------------------------------------


def test_images_are_learned():
    committee = mm.fit_committee(
        IMAGES[:300], DIGIT_LABELS[:300], learner=few_epochs(ImageNet, epochs=20), n_models=1, random_state=0
    )
    scores = committee.scorer.base_scores(DIGITS[300:].astype(np.float32) / 16)
    # A plain torch loop with these settings reaches 0.85 to 0.89, by its seed.
    assert (scores.argmax(axis=1) == DIGIT_LABELS[300:]).mean() > 0.8
    np.testing.assert_allclose(scores.sum(axis=1), 1.0, atol=1e-12)
    assert committee.scorer.path == "torch modules, trained together on cpu"


def test_tokens_are_learned():
    X, y = tokens()
    learner = few_epochs(TokenNet, dtype="int64", epochs=15)
    committee = mm.fit_committee(X[:200], y[:200], learner=learner, n_models=2, random_state=0)
    predicted = committee.classes_[committee.scorer.base_scores(X[200:]).argmax(axis=1)]
    assert (predicted == y[200:]).mean() > 0.85
    assert len(committee.select(X[200:], 5).rows) == 5


@pytest.mark.parametrize("learner", [iris_net, lambda: nn.Linear(4, 3), mm.ModuleLearner(iris_net)])
def test_a_function_or_a_learner_of_it_will_do(learner):
    assert resolve_learner(learner) == mm.ModuleLearner(getattr(learner, "factory", learner))


def test_a_class_of_modules_is_a_factory():
    assert resolve_learner(ImageNet) == mm.ModuleLearner(ImageNet)


def test_a_bare_function_selects():
    batch = pick_iris(lambda: nn.Linear(4, 3), n_models=2)
    assert batch.manifest["settings"]["learner"] == "module(<lambda>)"
    assert batch.manifest["settings"]["scoring_path"] == "torch modules, trained together on cpu"


@pytest.mark.parametrize(
    "strategy",
    ["min-margin", "margin", "committee", "var-softmax", "margin-of-mean", "k-centers", "balanced-margin"],
)
def test_every_kind_of_strategy_selects_images(strategy):
    batch = pick(few_epochs(ImageNet), strategy=strategy)
    assert len(set(batch.rows.tolist())) == 8
    assert (np.diff(batch.scores) >= 0).all() or strategy in {"k-centers", "balanced-margin"}


def test_the_scores_are_those_of_the_trained_modules():
    committee = mm.fit_committee(
        IMAGES[:60], DIGIT_LABELS[:60], learner=few_epochs(ImageNet), n_models=3, random_state=0
    )
    pool = IMAGES[60:200]
    with torch.no_grad():
        members = [
            torch.softmax(each(torch.as_tensor(pool)).double(), 1) for each in committee.scorer.members
        ]
    top = torch.stack(members).topk(2, dim=2).values
    expected = (top[..., 0] - top[..., 1]).min(dim=0).values.numpy()
    np.testing.assert_allclose(committee.score(pool), expected, atol=1e-6)
    batch = committee.select(pool, 10)
    np.testing.assert_allclose(batch.scores, np.sort(expected)[:10], atol=1e-6)


def test_base_and_members_are_trained_on_their_own_rows_with_their_own_start():
    committee = mm.fit_committee(
        IRIS[::3], SPECIES[::3], learner=few_epochs(iris_net), n_models=2, random_state=0
    )
    first, second, base = *committee.scorer.members, committee.scorer.base
    assert not torch.equal(first[0].weight, second[0].weight)
    assert not torch.equal(first[0].weight, base[0].weight)


def test_the_base_is_the_same_whether_or_not_there_are_members():
    committee = mm.fit_committee(
        IRIS[::3], SPECIES[::3], learner=few_epochs(iris_net), n_models=3, random_state=0
    )
    assert committee.select(IRIS, 5, strategy="margin").rows.tolist() == (
        pick_iris(few_epochs(iris_net), batch_size=5, strategy="margin").rows.tolist()
    )


# --- the same batch ----------------------------------------------------------------------------------------


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("changed", [{}, {"n_jobs": 1}, {"n_jobs": 3}, {"chunk_size": 7}], ids=str)
def test_neither_threads_nor_chunks_change_the_batch(changed):
    learner = few_epochs(lambda: ImageNet(dropout=0.3))
    expected, batch = pick(learner), pick(learner, **changed)
    assert batch.rows.tolist() == expected.rows.tolist()
    assert batch.scores.tolist() == expected.scores.tolist()


def test_another_seed_gives_another_committee():
    learner = few_epochs(lambda: ImageNet(dropout=0.3))
    assert pick(learner).scores.tolist() != pick(learner, random_state=1).scores.tolist()


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("kind", ["generator", "list", "memory map", "npy file", "transposed", "uint8"])
def test_images_of_any_container_give_one_batch(kind, tmp_path):
    pool = IMAGES[60:400]
    learner = few_epochs(ImageNet)
    expected = pick(learner).rows.tolist()
    np.save(tmp_path / "pool.npy", pool)
    scaled = few_epochs(ImageNet, lr=0.01 / 16)
    given = {
        "generator": lambda: (pool[i : i + 37] for i in range(0, len(pool), 37)),
        "list": lambda: [pool[:100], pool[100:]],
        "memory map": lambda: np.load(tmp_path / "pool.npy", mmap_mode="r"),
        "npy file": lambda: tmp_path / "pool.npy",
        "transposed": lambda: np.ascontiguousarray(pool.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2),
    }
    if kind == "uint8":
        whole = DIGITS.reshape(-1, 1, 8, 8)
        as_bytes = pick(scaled, whole[:60].astype(np.uint8), pool=whole[60:400].astype(np.uint8))
        assert as_bytes.rows.tolist() == pick(scaled, whole[:60], pool=whole[60:400]).rows.tolist()
    else:
        assert pick(learner, pool=given[kind]()).rows.tolist() == expected


def test_labeled_images_may_come_from_a_file(tmp_path):
    np.save(tmp_path / "labeled.npy", IMAGES[:60])
    learner = few_epochs(ImageNet)
    assert pick(learner, tmp_path / "labeled.npy").rows.tolist() == pick(learner).rows.tolist()


def test_a_row_can_be_given_a_shape_of_its_own():
    learner = few_epochs(ImageNet, input_shape=(1, 8, 8))
    flat = IMAGES.reshape(-1, 64)
    expected = pick(few_epochs(ImageNet)).rows.tolist()
    assert pick(learner, flat[:60], pool=flat[60:400]).rows.tolist() == expected
    frame = pd.DataFrame({"image": list(flat)})
    assert pick(learner, frame[:60], pool=frame[60:400]).rows.tolist() == expected
    assert pick(learner, sparse.csr_array(flat[:60]), pool=flat[60:400]).rows.tolist() == expected


def test_a_pool_of_embeddings_can_follow_labeled_images():
    frame = pd.DataFrame({"image": list(IMAGES[60:400].reshape(-1, 64))})
    learner = few_epochs(ImageNet)
    assert pick(learner, pool=frame).rows.tolist() == pick(learner).rows.tolist()


def test_a_table_with_texts_can_be_preprocessed():
    frame = pd.DataFrame(IRIS, columns=list("abcd")).assign(color=np.where(IRIS[:, 0] > 5, "red", "blue"))
    learner = few_epochs(lambda: nn.LazyLinear(3))
    batch = pick(learner, frame[::3], SPECIES[::3], frame, preprocess="auto")
    assert len(batch.rows) == 8


def test_standardized_rows_do_not_depend_on_their_units():
    learner = few_epochs(iris_net, standardize=True)
    units = np.array([1e3, 1.0, 1e-3, 10.0])
    one = mm.fit_committee(IRIS[::3], SPECIES[::3], learner=learner, n_models=0, random_state=0)
    other = mm.fit_committee(IRIS[::3] * units, SPECIES[::3], learner=learner, n_models=0, random_state=0)
    np.testing.assert_allclose(
        one.scorer.base_scores(IRIS), other.scorer.base_scores(IRIS * units), atol=1e-4
    )
    np.testing.assert_allclose(one.scorer.vectors(IRIS[::3]).std(axis=0), 1.0)


def test_a_feature_that_never_changes_can_be_standardized():
    X = np.column_stack([IRIS, np.full(len(IRIS), 7.0)])
    learner = few_epochs(lambda: nn.Linear(5, 3), standardize=True)
    assert np.isfinite(pick(learner, X[::3], SPECIES[::3], X).scores).all()


class Overwriting(nn.Linear):
    """A module that changes what it is given."""

    def forward(self, X):
        return super().forward(X.mul_(2.0))


def test_a_module_that_writes_into_its_input_leaves_the_rows_alone():
    X, pool = IRIS[::3].astype(np.float32), IRIS.astype(np.float32)
    pick(few_epochs(lambda: Overwriting(4, 3)), X, SPECIES[::3], pool)
    assert (IRIS.astype(np.float32) == pool).all()
    assert (IRIS[::3].astype(np.float32) == X).all()
    doubling = few_epochs(lambda: nn.Linear(4, 3))
    expected = mm.fit_committee(2 * X, SPECIES[::3], learner=doubling, n_models=2, random_state=0).score(
        2 * pool
    )
    overwriting = few_epochs(lambda: Overwriting(4, 3))
    found = mm.fit_committee(X, SPECIES[::3], learner=overwriting, n_models=2, random_state=0).score(pool)
    np.testing.assert_allclose(found, expected, atol=1e-5)


# --- settings ----------------------------------------------------------------------------------------------


def squared(outputs, codes):
    return ((torch.softmax(outputs, 1) - nn.functional.one_hot(codes, 3)) ** 2).sum(1)


def sgd(parameters):
    return torch.optim.SGD(parameters, lr=0.1, momentum=0.9)


def test_optimizer_and_loss_can_be_given():
    learner = few_epochs(iris_net, optimizer=sgd, loss=squared, standardize=True, epochs=30)
    committee = mm.fit_committee(IRIS[::3], SPECIES[::3], learner=learner, n_models=2, random_state=0)
    assert (committee.scorer.base_scores(IRIS).argmax(axis=1) == SPECIES).mean() > 0.9
    assert committee.scorer.path == "torch modules, trained together on cpu"
    assert committee.training.learner.name == (
        "module(iris_net, epochs=30, batch_size=16, lr=0.01, optimizer=sgd, loss=squared, standardize=True)"
    )


@pytest.mark.parametrize("class_weight", ["balanced", {0: 3.0}], ids=str)
def test_class_weights_multiply_the_losses_of_a_class(class_weight):
    X, y = IRIS[:120:3], SPECIES[:120:3]  # few of the last class
    by_class = np.array([3.0, 1.0, 1.0])
    if class_weight == "balanced":
        by_class = len(y) / (3 * np.bincount(y))
    one_step = few_epochs(lambda: nn.Linear(4, 3), epochs=1, batch_size=len(y), optimizer=sgd)
    weighted = few_epochs(
        lambda: nn.Linear(4, 3), epochs=1, batch_size=len(y), optimizer=sgd, class_weight=class_weight
    )
    loss = few_epochs(
        lambda: nn.Linear(4, 3),
        epochs=1,
        batch_size=len(y),
        optimizer=sgd,
        loss=lambda outputs, codes: (
            nn.functional.cross_entropy(outputs, codes, reduction="none")
            * torch.as_tensor(by_class, dtype=torch.float32)[codes]
        ),
    )
    weights = [
        mm.fit_committee(X, y, learner=learner, n_models=0, random_state=0).scorer.base.weight
        for learner in (one_step, weighted, loss)
    ]
    torch.testing.assert_close(weights[1], weights[2])
    assert (weights[0] - weights[1]).abs().max() > 1e-3


def test_dropout_is_off_when_rows_are_scored():
    committee = mm.fit_committee(
        IMAGES[:60],
        DIGIT_LABELS[:60],
        learner=few_epochs(lambda: ImageNet(dropout=0.5)),
        n_models=1,
        random_state=0,
    )
    assert committee.score(IMAGES[:50]).tolist() == committee.score(IMAGES[:50]).tolist()


def test_long_blocks_are_scored_piece_by_piece(monkeypatch):
    committee = mm.fit_committee(
        IRIS[::3], SPECIES[::3], learner=few_epochs(iris_net), n_models=1, random_state=0
    )
    whole = committee.scorer.base_scores(IRIS)
    monkeypatch.setattr(module_scorer, "_BLOCK_FLOATS", 4 * 7)
    np.testing.assert_allclose(committee.scorer.base_scores(IRIS), whole, atol=1e-6)


def test_progress_counts_models():
    told = []
    pick_iris(few_epochs(iris_net), n_models=4, progress=lambda *step: told.append(step))
    assert [step[1:] for step in told if step[0] == "training"] == [(n, 5) for n in range(6)]


def test_a_scorer_of_modules_can_be_pickled():
    committee = mm.fit_committee(IMAGES[:60], DIGIT_LABELS[:60], learner=few_epochs(ImageNet), n_models=1)
    copied = pickle.loads(pickle.dumps(committee.scorer))  # noqa: S301 - our own
    assert copied.base_scores(IMAGES[:9]).tolist() == committee.scorer.base_scores(IMAGES[:9]).tolist()


# --- trained one after the other ---------------------------------------------------------------------------


def normed():
    return nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3))


def test_batch_norm_is_trained_one_member_after_the_other_and_says_so():
    with pytest.warns(mm.DataWarning) as caught:
        batch = pick_iris(few_epochs(normed))
    assert len(caught) == 1
    assert str(caught[0].message) == (
        "The members are trained one after the other, which is slower: training changes buffers of the module "
        "('1.running_mean', '1.running_var', '1.num_batches_tracked'), as batch norm does. Use a norm without "
        "running averages, such as GroupNorm or LayerNorm, to train them together."
    )
    assert caught[0].filename == pick_iris.__code__.co_filename  # where `select` is called
    assert batch.manifest["settings"]["scoring_path"] == "torch modules, trained one after the other on cpu"
    with pytest.warns(mm.DataWarning):
        assert pick_iris(few_epochs(normed)).scores.tolist() == batch.scores.tolist()


def test_no_warning_where_no_member_is_trained():
    assert len(pick_iris(few_epochs(normed), strategy="margin").rows) == 8


def test_an_optimizer_that_sees_whole_tensors_is_looped_over_and_says_so():
    with pytest.warns(mm.DataWarning) as caught:
        pick_iris(few_epochs(iris_net, optimizer=torch.optim.LBFGS))
    assert str(caught[0].message) == (
        "The members are trained one after the other, which is slower: LBFGS is not known to work element by "
        "element. Use an optimizer that does, such as torch.optim.Adam or SGD, to train them together."
    )


def test_a_failure_on_the_way_names_the_model():
    learner = few_epochs(normed, batch_size=49)  # of 50 rows one is left over, and batch norm needs two
    with pytest.warns(mm.DataWarning):
        message = complaint(mm.MemberFitError, learner=learner)
    assert message == (
        "The base model failed to fit on 50 rows (classes 0: 17, 1: 17, 2: 16): ValueError: Expected more than 1 "
        "value per channel when training, got input size torch.Size([1, 8])"
    )


# --- the command line --------------------------------------------------------------------------------------


CODE = """
from torch import nn

def make():
    return nn.Linear(4, 3)

class Net(nn.Linear):
    def __init__(self):
        super().__init__(4, 3)
"""


@pytest.mark.parametrize("name", ["make", "Net"])
def test_the_command_line_takes_a_function_or_a_class_of_modules(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("our_networks.py").write_text(CODE)
    table = pd.DataFrame(IRIS, columns=list("abcd"))
    table.to_csv("pool.csv", index=False)
    table.assign(y=SPECIES)[::3].to_csv("labeled.csv", index=False)
    line = (
        "select --labeled labeled.csv --label-column y --pool pool.csv --batch-size 5 --out batch.csv --json"
    )
    settings = ["--learner", f"our_networks:{name}", "--n-models", "2", "--seed", "0"]
    monkeypatch.setattr(sys, "argv", ["minmargin", *line.split(), *settings])
    assert cli.run() == 0
    assert json.loads(capsys.readouterr().out)["settings"]["learner"] == f"module({name})"
    assert len(pd.read_csv("batch.csv")) == 5
