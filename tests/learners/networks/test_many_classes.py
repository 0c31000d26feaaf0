"""A module with an output for each of 150 classes is trained in rounds, while labels of some have yet to come."""

from __future__ import annotations

import functools

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402 - torch may be missing

import minmargin as mm  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_torch_thread")

N_CLASSES, N_FIRST, N_ROUNDS, BATCH_SIZE = 150, 145, 3, 20
INTENTS = np.array([f"intent {code:03}" for code in range(N_CLASSES)])


def make(n_outputs=N_CLASSES):
    return nn.Sequential(nn.Linear(24, 64), nn.ReLU(), nn.Linear(64, n_outputs))


def embedded(n_rows, seed):
    """Return rows of all classes in turns, each near the center of its class."""
    centers = np.random.default_rng(0).normal(size=(N_CLASSES, 24))
    codes = np.arange(n_rows) % N_CLASSES
    noise = np.random.default_rng(seed).normal(scale=0.4, size=(n_rows, 24))
    return (centers[codes] + noise).astype(np.float32), INTENTS[codes]


LEARNER = mm.ModuleLearner(
    make,
    epochs=25,
    batch_size=64,
    lr=0.01,
    patience=4,
    class_weight="balanced",
    schedule="cosine",
    warmup=0.1,
)


@functools.cache
def rounds(n_jobs=1):
    """Return for each round the labels that it begins with, the probabilities of the pool, and the batch.

    Two new classes turn up in the pool of each round. The rows that are picked get their labels, and so does a row of
    each new class, which somebody finds.
    """
    X, y = embedded(450, seed=1)
    pool, truth = embedded(750, seed=2)
    seen = np.isin(y, INTENTS[:N_FIRST])
    rows, labels, left = X[seen], y[seen], np.ones(len(pool), dtype=bool)
    played = []
    for number in range(N_ROUNDS):
        new = np.isin(truth, INTENTS[N_FIRST + 2 * number :][:2])
        to_come = np.isin(truth, INTENTS[N_FIRST + 2 * number + 2 :])
        committee = mm.fit_committee(
            rows, labels, classes=INTENTS, learner=LEARNER, n_models=3, random_state=number, n_jobs=n_jobs
        )
        batch = committee.select(pool, BATCH_SIZE, exclude=np.flatnonzero(~left | to_come), n_jobs=n_jobs)
        played.append((set(labels.tolist()), committee.predict_proba(pool, n_jobs=n_jobs), batch))
        found = np.union1d(batch.rows, np.flatnonzero(new & left)[:2])
        left[found] = False
        rows, labels = np.concatenate([rows, pool[found]]), np.concatenate([labels, truth[found]])
    return played


def test_classes_come_in_over_the_rounds():
    n_seen = [len(seen) for seen, _, _ in rounds()]
    assert n_seen == [145, 147, 149]


def test_scores_are_over_all_outputs_in_every_round():
    for seen, probabilities, batch in rounds():
        assert probabilities.shape == (750, N_CLASSES)
        assert (probabilities > 0).all()  # also of classes that nobody has labeled
        np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, atol=1e-9)
        assert batch.manifest["classes"] == INTENTS.tolist()
        counts = batch.manifest["labeled"]["class_counts"]
        assert list(counts) == INTENTS.tolist()
        assert {name for name, n_rows in counts.items() if n_rows} == seen


def test_the_module_learns_the_classes_that_have_come():
    _, truth = embedded(750, seed=2)
    last = rounds()[-1]
    of_seen = np.isin(truth, sorted(last[0]))
    assert (INTENTS[last[1].argmax(axis=1)] == truth)[of_seen].mean() > 0.6


def test_no_row_is_picked_twice():
    picked = [row for _, _, batch in rounds() for row in batch.rows.tolist()]
    assert len(set(picked)) == N_ROUNDS * BATCH_SIZE


def test_the_same_seeds_give_the_same_batches_with_any_number_of_workers():
    for (_, probabilities, batch), (_, same, again) in zip(rounds(), rounds(n_jobs=2), strict=True):
        assert probabilities.tobytes() == same.tobytes()
        assert batch.rows.tolist() == again.rows.tolist()
        assert batch.scores.tobytes() == again.scores.tobytes()


def test_a_module_with_an_output_for_each_labeled_class_only_is_refused():
    X, y = embedded(300, seed=1)
    seen = np.isin(y, INTENTS[:N_FIRST])
    learner = mm.ModuleLearner(functools.partial(make, N_FIRST))
    with pytest.raises(mm.InputError) as caught:
        mm.fit_committee(X[seen], y[seen], classes=INTENTS, learner=learner, n_models=1, random_state=0)
    assert str(caught.value) == (
        "The module Sequential gives outputs of shape (4, 145) for 4 rows and 150 classes. Its last layer needs 150 "
        "outputs, one for each class."
    )
