"""`learner="mlp"`: a committee of networks, each trained as it would be alone."""

import sys

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_digits, load_iris
from sklearn.utils.class_weight import compute_class_weight

import minmargin as mm
from minmargin.learners import resolve_learner
from minmargin.learners.mlp import standardized
from minmargin.learners.networks.stopping import hold_out

torch = pytest.importorskip("torch")

from minmargin.learners.networks.jobs import Job  # noqa: E402 - needs torch
from minmargin.learners.networks.steps import AdamSettings  # noqa: E402 - as above
from minmargin.learners.networks.training import train_dense  # noqa: E402 - as above

X, Y = load_iris(return_X_y=True)
SMALL = {"hidden": (6,), "epochs": 8, "batch_size": 16}


def fit(learner=None, X=X, y=Y, **settings):
    learner = mm.MLPLearner(**SMALL) if learner is None else learner
    usual = {"n_models": 3, "random_state": 0, "device": "cpu"}
    return mm.fit_committee(X, y, learner=learner, **{**usual, **settings})


def train_alone(committee, member, *, weights=None, **settings):
    """Return the network of one member, or of the base, trained by itself on its standardized draw."""
    bootstrap, scorer = committee.training.bootstrap, committee.scorer
    codes = committee.training.labeled.codes
    rows = np.arange(len(codes)) if member is None else bootstrap.indices(member)
    job = Job(rows, bootstrap.seeds.learner(member), None if weights is None else weights(codes[rows]))
    inputs = ((X - scorer.center) / scorer.scale).astype(np.float32)
    n_classes = len(committee.classes_)
    return train_dense(inputs, codes, n_classes, [job], **{**SMALL, "adam": AdamSettings(), **settings})


def assert_close(one, other):
    for ours, theirs in zip((*one.weights, *one.biases), (*other.weights, *other.biases), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-6)


def equal_bits(one, other):
    pairs = zip((*one.weights, *one.biases), (*other.weights, *other.biases), strict=True)
    return all(ours.tobytes() == theirs.tobytes() for ours, theirs in pairs)


@pytest.mark.parametrize("standardize", [True, False])
def test_base_and_members_are_what_each_is_when_trained_alone(standardize):
    committee = fit(mm.MLPLearner(**SMALL, standardize=standardize, lr=0.01, weight_decay=0.02))
    adam = AdamSettings(lr=0.01, weight_decay=0.02)
    scorer = committee.scorer
    assert_close(scorer.base, train_alone(committee, None, adam=adam))
    for member in range(3):
        assert_close(scorer.members.take([member]), train_alone(committee, member, adam=adam))
    assert scorer.path.startswith("networks, trained together on cpu; ")


@pytest.mark.parametrize("class_weight", ["balanced", {0: 2.5, 2: 0.5}], ids=str)
def test_classes_are_weighted_as_scikit_learn_would_on_a_members_draw(class_weight):
    few = np.r_[:50, 50:70, 100:130]
    committee = fit(mm.MLPLearner(**SMALL, class_weight=class_weight), X[few], Y[few], bootstrap_fraction=0.7)

    def weights(codes):
        return compute_class_weight(class_weight, classes=np.arange(3), y=codes)[codes].astype(np.float32)

    scorer = committee.scorer
    inputs = standardized(X[few], scorer.center, scorer.scale)
    bootstrap = committee.training.bootstrap
    for rows, seed, trained in (
        (np.arange(100), bootstrap.seeds.learner(None), scorer.base),
        (bootstrap.indices(1), bootstrap.seeds.learner(1), scorer.members.take([1])),
    ):
        job = Job(rows, seed, weights(Y[few][rows]))
        assert_close(trained, train_dense(inputs, Y[few], 3, [job], **SMALL, adam=AdamSettings()))


def test_columns_are_standardized_by_the_labeled_set():
    rows = np.c_[X, np.full(len(X), 0.1), np.where(np.arange(len(X)) % 2, 1e6, 1e6 + 1)]
    scorer = fit(X=rows, n_models=0).scorer
    assert scorer.center.dtype == np.float32
    assert scorer.scale.dtype == np.float64
    np.testing.assert_allclose(scorer.center, rows.mean(axis=0), rtol=1e-6)
    np.testing.assert_allclose(scorer.scale, [*X.std(axis=0), 1.0, 0.5], rtol=1e-9)
    inputs = standardized(rows, scorer.center, scorer.scale)
    assert inputs.dtype == np.float32
    np.testing.assert_allclose(inputs[:, :4].mean(axis=0), 0, atol=1e-6)
    np.testing.assert_allclose(inputs[:, :4].std(axis=0), 1, rtol=1e-5)
    assert np.abs(inputs[:, 4]).max() < 1e-8
    as_given = fit(mm.MLPLearner(**SMALL, standardize=False), X=rows, n_models=0).scorer
    assert not as_given.center.any()
    assert (as_given.scale == 1).all()


def test_the_number_of_threads_changes_no_bit():
    one, two = (fit(n_models=25, n_jobs=n_jobs).scorer for n_jobs in (1, 2))
    assert equal_bits(one.members, two.members)
    assert equal_bits(one.base, two.base)


def test_the_seed_decides_and_a_larger_committee_begins_with_the_smaller():
    small, again, other, large = (
        fit(n_models=n_models, random_state=seed).scorer
        for n_models, seed in ((2, 0), (2, 0), (2, 1), (4, 0))
    )
    assert equal_bits(small.members, again.members)
    assert not equal_bits(small.members, other.members)
    assert_close(small.members, large.members.take([0, 1]))


def test_a_committee_without_members_has_its_base():
    scorer = fit(n_models=0).scorer
    assert scorer.n_members == 0
    assert_close(scorer.base, fit(n_models=2).scorer.base)


def test_early_stopping_changes_the_networks_and_leaves_them_good():
    learner = mm.MLPLearner(hidden=(16,), epochs=200, batch_size=16, lr=0.01, patience=5)
    stopped, full = fit(learner), fit(mm.MLPLearner(hidden=(16,), epochs=200, batch_size=16, lr=0.01))
    assert not equal_bits(stopped.scorer.members, full.scorer.members)
    assert (stopped.scorer.base_scores(X).argmax(axis=1) == Y).mean() > 0.9
    for scores in stopped.scorer.each_member(X):
        assert (scores.argmax(axis=1) == Y).mean() > 0.85


def test_validation_rows_are_left_out_of_training_and_weighted_by_class():
    learner = mm.MLPLearner(patience=3, validation_fraction=0.2, class_weight="balanced")
    committee = fit(mm.MLPLearner(**SMALL), X[:120], Y[:120])  # few of the last class
    labeled, bootstrap = committee.training.labeled, committee.training.bootstrap
    base, member = learner._jobs(labeled, bootstrap, 1)
    assert sorted([*base.rows, *base.validation]) == list(range(120))
    assert np.bincount(Y[base.validation]).tolist() == [10, 10, 4]
    drawn = bootstrap.indices(0)
    assert set(member.rows) | set(member.validation) == set(drawn)
    assert not set(member.rows) & set(member.validation)
    for job in (base, member):
        by_class = compute_class_weight("balanced", classes=np.arange(3), y=Y[job.rows])
        np.testing.assert_allclose(job.weights, by_class[Y[job.rows]], rtol=1e-6)
        np.testing.assert_allclose(job.validation_weights, by_class[Y[job.validation]], rtol=1e-6)


def test_a_class_keeps_a_row_to_train_on_and_gives_one_if_it_has_two():
    codes = np.array([0, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2])
    seed = np.random.SeedSequence(0)
    rows = np.r_[np.arange(13), 1, 1, 2]
    held = hold_out(rows, codes, 0.25, seed)
    assert np.bincount(codes[held], minlength=3).tolist() == [0, 1, 2]
    assert len(set(held)) == 3
    assert hold_out(rows, codes, 0.25, seed).tolist() == held.tolist()
    most = hold_out(rows, codes, 0.99, seed)
    assert np.bincount(codes[most], minlength=3).tolist() == [0, 1, 9]


def test_digits_are_learned_by_every_model():
    X, y = load_digits(return_X_y=True)
    committee = fit(mm.MLPLearner(hidden=(64,), epochs=20), X[:600], y[:600])
    scorer = committee.scorer
    for scores in (scorer.base_scores(X[600:]), *scorer.each_member(X[600:])):
        assert (scores.argmax(axis=1) == y[600:]).mean() > 0.85
        np.testing.assert_allclose(scores.sum(axis=1), 1)


@pytest.mark.parametrize("strategy", ["min-margin", "margin", "committee", "k-centers"])
def test_a_batch_is_selected_and_does_not_depend_on_threads_or_chunks(strategy):
    rows, labels = X[::3], Y[::3]

    def pick(**settings):
        learner = mm.MLPLearner(**SMALL)
        return mm.select(
            rows,
            labels,
            X,
            10,
            learner=learner,
            n_models=4,
            random_state=0,
            device="cpu",
            **{**settings, "strategy": strategy},
        )

    batch = pick(n_jobs=1)
    assert len(set(batch.rows)) == 10
    assert (batch.manifest["settings"]["learner"]) == "mlp(hidden=(6,), epochs=8, batch_size=16)"
    other = pick(n_jobs=2, chunk_size=17)
    assert batch.rows.tolist() == other.rows.tolist()
    assert batch.scores.tobytes() == other.scores.tobytes()


def test_sparse_rows_frames_and_arrays_give_the_same_networks():
    rows = X * (X > 1)
    frame = pd.DataFrame(rows, columns=list("abcd"))
    plain, *others = (fit(X=each).scorer.members for each in (rows, sparse.csr_array(rows), frame))
    assert all(equal_bits(plain, other) for other in others)
    pool = sparse.csr_array(rows)
    assert fit(X=pool).select(pool, 5).rows.tolist() == fit(X=rows).select(rows, 5).rows.tolist()


def test_labels_may_be_words():
    names = np.array(["setosa", "versicolor", "virginica"])[Y]
    assert equal_bits(fit(y=names).scorer.members, fit().scorer.members)


def test_progress_counts_models():
    seen = []
    fit(n_models=3, progress=lambda *now: seen.append(now))
    assert seen[0] == ("training", 0, 4)
    assert seen[-1] == ("training", 4, 4)
    assert [done for _, done, _ in seen] == sorted(done for _, done, _ in seen)


def test_the_name_shows_what_is_not_usual():
    assert mm.MLPLearner().name == "mlp"
    assert mm.MLPLearner(hidden=[128], epochs=np.int64(100)).name == "mlp"
    assert mm.MLPLearner(hidden=(512, 512), epochs=np.int64(20)).name == "mlp(hidden=(512, 512), epochs=20)"
    learner = mm.MLPLearner(
        batch_size=8,
        lr=0.01,
        weight_decay=1e-4,
        class_weight={0: 2.0},
        patience=3,
        validation_fraction=0.2,
        standardize=False,
    )
    assert learner.name == (
        "mlp(batch_size=8, lr=0.01, weight_decay=0.0001, class_weight={0: 2.0}, patience=3, "
        "validation_fraction=0.2, standardize=False)"
    )


def test_the_name_resolves():
    assert resolve_learner("mlp") == mm.MLPLearner()


LAYERS = "must be whole numbers >= 1, one for each hidden layer, such as (128,) or (512, 512)."


@pytest.mark.parametrize(
    ("setting", "value", "message"),
    [
        ("hidden", 128, f"hidden=128 {LAYERS}"),
        ("hidden", (128, 0), f"hidden=(128, 0) {LAYERS}"),
        ("hidden", (1.5,), f"hidden=(1.5,) {LAYERS}"),
        ("hidden", "128", f"hidden='128' {LAYERS}"),
        ("hidden", None, f"hidden=None {LAYERS}"),
        ("epochs", 0, "epochs=0 must be a whole number >= 1; 100 is usual."),
        ("epochs", 1.5, "epochs=1.5 must be a whole number >= 1; 100 is usual."),
        ("batch_size", 0, "batch_size=0 must be a whole number >= 1; 32 is usual."),
        ("lr", 0, "lr=0 must be a positive number. 0.001 is usual."),
        ("lr", float("nan"), "lr=nan must be a positive number. 0.001 is usual."),
        ("lr", float("inf"), "lr=inf must be a positive number. 0.001 is usual."),
        ("lr", "0.1", "lr='0.1' must be a positive number. 0.001 is usual."),
        ("weight_decay", -0.1, "weight_decay=-0.1 must be a number >= 0. 0.0 is usual."),
        ("weight_decay", True, "weight_decay=True must be a number >= 0. 0.0 is usual."),
        (
            "class_weight",
            "even",
            "class_weight='even' must be None, 'balanced', or a weight for each class, such as {0: 2.0}.",
        ),
        ("class_weight", {0: -1}, "class_weight gives class 0 the weight -1. Use a number >= 0."),
        ("class_weight", {"a": "b"}, "class_weight gives class 'a' the weight 'b'. Use a number >= 0."),
        ("patience", 0, "patience=0 must be a whole number >= 1; 10 is usual."),
        (
            "validation_fraction",
            1,
            "validation_fraction=1 must be a number between 0 and 1. 0.1 is usual.",
        ),
        (
            "validation_fraction",
            0.0,
            "validation_fraction=0.0 must be a number between 0 and 1. 0.1 is usual.",
        ),
        ("standardize", "yes", "standardize='yes' must be True or False."),
    ],
)
def test_a_setting_that_cannot_be_used_is_refused(setting, value, message):
    with pytest.raises(mm.InputError) as caught:
        mm.MLPLearner(**{setting: value})
    assert str(caught.value) == message


def test_a_weight_for_a_class_that_is_not_there_is_refused():
    with pytest.raises(mm.InputError) as caught:
        fit(mm.MLPLearner(**SMALL, class_weight={0: 1.0, 7: 2.0}))
    assert str(caught.value) == (
        "class_weight has 7, but the classes are 0, 1, 2. Use the labels as they are in y."
    )


def test_a_network_that_diverges_is_named():
    with pytest.raises(mm.MemberFitError) as caught:
        fit(mm.MLPLearner(**SMALL, lr=1e38))
    assert str(caught.value) == (
        "The base model diverged: after 8 epochs its weights are not finite numbers. "
        "Use a lower lr than 1e+38, or standardize=True."
    )


def test_without_torch_the_extra_is_named_before_anything_is_read(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(mm.MissingExtraError) as caught:
        mm.select(X, Y, X, 3, learner="mlp", random_state=0)
    assert str(caught.value) == (
        "learner='mlp' needs torch, which is not installed. Use pip install 'minmargin[torch]'."
    )
