"""Optimizers and schedules by name, and of one's own, do what torch's do in a plain loop."""

from __future__ import annotations

import itertools

import pytest

from minmargin.learners.networks.recipes import lr_share

torch = pytest.importorskip("torch")

import minmargin as mm  # noqa: E402 - torch may be missing
from small_modules import IRIS, SPECIES, few_epochs, iris_net, pick_iris  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_torch_thread")


def weights_of(**settings):
    """Return the first layers of a base and two members."""
    learner = few_epochs(iris_net, **settings)
    scorer = mm.fit_committee(IRIS[::3], SPECIES[::3], learner=learner, n_models=2, random_state=0).scorer
    assert scorer.path == "torch modules, trained together on cpu"
    return [module[0].weight for module in (scorer.base, *scorer.members)]


SAME = {
    "adam": lambda parameters: torch.optim.Adam(parameters, lr=0.01, eps=1e-7),
    "adamw": lambda parameters: torch.optim.AdamW(parameters, lr=0.01),
    "sgd": lambda parameters: torch.optim.SGD(parameters, lr=0.01, momentum=0.9),
}


@pytest.mark.parametrize("name", SAME)
def test_an_optimizer_by_name_is_torchs(name):
    for one, other in zip(weights_of(optimizer=name), weights_of(optimizer=SAME[name]), strict=True):
        assert torch.equal(one, other)


def test_adam_is_what_no_name_stands_for():
    assert all(map(torch.equal, weights_of(optimizer="adam"), weights_of()))


def test_a_cosine_is_torchs():
    def cosine(optimizer, n_steps):
        assert n_steps == 5 * 4  # epochs, and batches of 16 in 50 rows
        return torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, n_steps)

    plain = weights_of()
    for one, other, without in zip(
        weights_of(schedule="cosine"), weights_of(schedule=cosine), plain, strict=True
    ):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-6)
        assert (one - without).abs().max() > 1e-3


def test_a_line_is_torchs():
    def line(optimizer, n_steps):
        return torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, total_iters=n_steps)

    for one, other in zip(weights_of(schedule="linear"), weights_of(schedule=line), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", ["cosine", "linear"])
def test_the_rate_rises_to_its_height_and_falls_to_nothing(name):
    shares = [lr_share(step, name=name, n_steps=40, warmup=0.25) for step in range(41)]
    assert shares[:10] == [(step + 1) / 10 for step in range(10)]
    assert shares[10] == 1.0
    assert shares[25] == pytest.approx(0.5)
    assert shares[40] == pytest.approx(0.0)
    assert all(one > other for one, other in itertools.pairwise(shares[10:]))


def test_a_schedule_by_name_with_one_step_leaves_it_as_it_is():
    assert lr_share(0, name="cosine", n_steps=1, warmup=0.0) == 1.0


def test_a_module_that_cannot_be_stacked_follows_the_schedule_too():
    def still(optimizer, n_steps):
        return torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: float(step == 0))

    def one_step(**settings):
        learner = few_epochs(iris_net, optimizer=torch.optim.LBFGS, **settings)
        return mm.fit_committee(
            IRIS[::3], SPECIES[::3], learner=learner, n_models=0, random_state=0
        ).scorer.base

    # Fifty rows in one batch: the first step is the first epoch, and all others have no rate.
    first, all_epochs = one_step(batch_size=50, epochs=1), one_step(batch_size=50, schedule=still)
    torch.testing.assert_close(first[0].weight, all_epochs[0].weight)


@pytest.mark.parametrize(
    "settings",
    [
        {"optimizer": "adamw", "schedule": "cosine", "warmup": 0.2},
        {"optimizer": "sgd", "schedule": "linear", "patience": 2, "class_weight": "balanced"},
        {"optimizer": "adamw", "patience": 1, "validation_fraction": 0.3},
    ],
    ids=str,
)
def test_the_same_seed_gives_the_same_bits_with_any_settings(settings):
    learner = few_epochs(iris_net, **settings)
    expected = pick_iris(learner, n_jobs=1)
    batch = pick_iris(learner, n_jobs=2)
    assert batch.scores.tolist() == expected.scores.tolist()
    assert batch.rows.tolist() == expected.rows.tolist()
    assert pick_iris(learner, random_state=1).scores.tolist() != expected.scores.tolist()
