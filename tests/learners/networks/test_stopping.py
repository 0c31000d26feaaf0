"""Early stopping of modules: what is held out is never trained on, and the best epoch is what remains."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minmargin.learners.networks.jobs import HELD_OUT, REFILLED, Job
from minmargin.learners.networks.stopping import Reached, Watch, hold_out, refill

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402 - torch may be missing

import minmargin as mm  # noqa: E402
from minmargin.labeled import Bootstrap, LabeledSet  # noqa: E402
from minmargin.learners.networks import module_training, modules  # noqa: E402
from minmargin.seeds import SeedTree  # noqa: E402
from small_modules import IRIS, SPECIES, few_epochs, iris_net, pick_iris  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_torch_thread")

# --- what is held out --------------------------------------------------------------------------------------


@given(st.integers(0, 10**6), st.integers(1, 30), st.integers(1, 30), st.floats(0.01, 0.99))
def test_a_refilled_draw_has_as_many_rows_of_each_class_and_none_that_is_held_out(seed, n_a, n_b, fraction):
    codes = np.repeat([0, 1], [n_a, n_b])
    bootstrap = Bootstrap(codes, np.array([n_a, n_b]), SeedTree(seed))
    drawn, branch = bootstrap.indices(0), bootstrap.seeds.learner(0)
    held = hold_out(drawn, codes, fraction, branch, branch=HELD_OUT)
    filled = refill(drawn, held, codes, branch, branch=REFILLED)
    assert codes[filled].tolist() == codes[drawn].tolist()
    assert not np.isin(filled, held).any()
    assert np.isin(filled, drawn).all()
    kept = ~np.isin(drawn, held)
    assert filled[kept].tolist() == drawn[kept].tolist()


@pytest.mark.parametrize("member", [None, 0, 1, 2])
def test_no_row_is_both_trained_on_and_held_out(member):
    labeled = LabeledSet.of(IRIS[::3], SPECIES[::3])
    bootstrap = Bootstrap(labeled.codes, labeled.counts, SeedTree(0))
    learner = few_epochs(iris_net, patience=3, validation_fraction=0.3)
    job = learner._job(labeled, bootstrap, member)
    assert len(job.validation) > 0
    assert not set(job.rows.tolist()) & set(job.validation.tolist())
    of_draw = range(50) if member is None else bootstrap.indices(member).tolist()
    assert set(job.rows.tolist()) | set(job.validation.tolist()) == set(of_draw)
    assert np.bincount(labeled.codes[job.validation]).tolist() == [
        round(0.3 * n)
        for n in np.bincount(labeled.codes[np.unique(of_draw)])  # a share of each class
    ]
    assert len(job.rows) == (50 - len(job.validation) if member is None else 50)


def test_held_out_rows_count_by_the_weight_of_their_class():
    labeled = LabeledSet.of(IRIS[::3], SPECIES[::3])
    bootstrap = Bootstrap(labeled.codes, labeled.counts, SeedTree(0))
    job = few_epochs(iris_net, patience=3, class_weight={0: 5.0})._job(labeled, bootstrap, 0)
    assert job.validation_weights.tolist() == np.where(labeled.codes[job.validation] == 0, 5.0, 1.0).tolist()


# --- when to stop ------------------------------------------------------------------------------------------


def watched(n_jobs=1, patience=2):
    job = Job(np.arange(3), np.random.SeedSequence(0), validation=np.arange(2))
    return Watch([job] * n_jobs, patience)


def test_a_model_stops_after_so_many_epochs_without_a_lower_loss():
    watch = watched()
    for epoch, loss in enumerate([3.0, 2.0, 2.5, 1.0, 1.0, float("nan")], start=1):
        assert watch.running == [0]
        watch.see(0, loss, lambda epoch=epoch: {"epoch": epoch})
    assert watch.done
    assert watch.reached == {0: Reached(epochs=6, best_epoch=4, best_loss=1.0)}
    assert watch.best(0) == {"epoch": 4}


def test_all_are_done_when_the_last_has_stopped():
    watch = watched(n_jobs=2, patience=1)
    for losses in [(1.0, 3.0), (2.0, 2.0), (None, 2.0)]:
        assert not watch.done
        for place in watch.running:
            watch.see(place, losses[place], dict)
    assert watch.done
    assert [each.epochs for each in watch.reached.values()] == [2, 3]


def test_without_held_out_rows_or_patience_nothing_stops():
    plain = Job(np.arange(3), np.random.SeedSequence(0))
    for watch in (Watch([plain], 2), watched(patience=None)):
        assert (watch.running, watch.done, watch.best(0)) == ([], False, None)


# --- what remains ------------------------------------------------------------------------------------------


def overfitting():
    return nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 3))


def loss_of_rows(outputs, codes):
    return nn.functional.cross_entropy(outputs, codes, reduction="none")


RECIPE = modules.Recipe(
    epochs=60,
    batch_size=8,
    optimizer=lambda parameters: torch.optim.Adam(parameters, lr=0.02),
    loss=loss_of_rows,
    patience=3,
)


def noisy(n_rows=40):
    """Return rows of which little can be learned, so that models are soon past their best."""
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 3, n_rows)
    X = rng.normal(size=(n_rows, 4)) + 0.7 * codes[:, np.newaxis]
    return modules.Examples(torch.as_tensor(X, dtype=torch.float32), torch.as_tensor(codes))


def make_jobs(n_jobs=4):
    rng = np.random.default_rng(2)
    jobs = []
    for k in range(n_jobs):
        held = rng.permutation(40)[: 6 + k]
        rows = rng.choice(np.setdiff1d(np.arange(40), held), 30)
        weights = rng.uniform(0.5, 2.0, len(held)).astype(np.float32)
        jobs.append(
            Job(
                rows,
                np.random.SeedSequence(7, spawn_key=(k,)),
                None,
                validation=held,
                validation_weights=weights,
            )
        )
    return jobs


def make(jobs, data, factory=overfitting):
    return [modules.make_module(factory, job.seed, data.few().X, "cpu") for job in jobs]


def stacked(jobs, data, factory=overfitting):
    made = make(jobs, data, factory)
    return made, module_training.train_stacked(made, data, jobs, RECIPE, on_trained=lambda n: None)


def alone(jobs, data, factory=overfitting):
    made = make(jobs, data, factory)
    return made, [
        module_training.train_alone(module, data, job, RECIPE) for module, job in zip(made, jobs, strict=True)
    ]


def held_out_loss(module, data, job):
    with torch.no_grad():
        losses = loss_of_rows(module(data.X[job.validation]), data.codes[job.validation])
    return float((losses * torch.as_tensor(job.validation_weights)).mean())


@pytest.mark.parametrize("train", [stacked, alone])
def test_the_best_epoch_is_what_remains(train):
    data, jobs = noisy(), make_jobs()
    trained, reached = train(jobs, data)
    assert len({each.best_epoch for each in reached}) > 1  # each goes back to an epoch of its own
    for module, job, (epochs, best_epoch, best_loss) in zip(trained, jobs, reached, strict=True):
        assert held_out_loss(module, data, job) == pytest.approx(best_loss, rel=1e-5)
        assert epochs == best_epoch + 3 < 60


def test_a_stack_stops_as_each_module_would_alone():
    data, jobs = noisy(), make_jobs()
    together, reached = stacked(jobs, data)
    each, reached_alone = alone(jobs, data)
    assert [tuple(one)[:2] for one in reached] == [tuple(one)[:2] for one in reached_alone]
    for one, other in zip(together, each, strict=True):
        torch.testing.assert_close(one(data.X), other(data.X), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("n_epochs", [1, 4])
def test_the_loop_that_anyone_would_write_reaches_the_same(n_epochs):
    data, job = noisy(), make_jobs(1)[0]
    module = make([job], data)[0]
    reached = module_training.train_alone(module, data, job, RECIPE._replace(epochs=n_epochs, patience=50))
    theirs = make([job], data)[0].train()
    optimizer = torch.optim.Adam(theirs.parameters(), lr=0.02)
    rng, losses = np.random.default_rng(job.seed), []
    for _ in range(n_epochs):
        order = rng.permutation(30)
        for start in range(0, 30, 8):
            rows = job.rows[order[start : start + 8]]
            optimizer.zero_grad()
            loss_of_rows(theirs(data.X[rows]), data.codes[rows]).mean().backward()
            optimizer.step()
        losses.append(held_out_loss(theirs, data, job))
    assert reached.epochs == n_epochs
    assert reached.best_epoch == 1 + int(np.argmin(losses))
    assert reached.best_loss == pytest.approx(min(losses), rel=1e-5)


def test_buffers_go_back_too():
    def normed():
        return nn.Sequential(nn.Linear(4, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 3))

    data, jobs = noisy(), make_jobs(1)
    (module,), (reached,) = alone(jobs, data, normed)
    assert reached.best_epoch < reached.epochs
    assert held_out_loss(module, data, jobs[0]) == pytest.approx(reached.best_loss, rel=1e-5)


def test_held_out_rows_without_weights_count_the_same():
    data, job = noisy(), make_jobs(1)[0]
    even = Job(job.rows, job.seed, validation=job.validation, validation_weights=np.ones(6, dtype=np.float32))
    without = Job(job.rows, job.seed, validation=job.validation)
    assert alone([even], data)[1] == alone([without], data)[1]


def test_progress_is_told_of_modules_that_stopped():
    data, jobs, told = noisy(), make_jobs(), []
    module_training.train_stacked(make(jobs, data), data, jobs, RECIPE, on_trained=told.append)
    assert told[-1] == 4


def test_a_loss_that_never_is_a_number_is_an_error():
    data, jobs = noisy(), make_jobs(2)
    recipe = RECIPE._replace(optimizer=lambda parameters: torch.optim.SGD(parameters, lr=1e30))
    with pytest.raises(mm.MemberFitError) as caught:
        module_training.train_stacked(make(jobs, data), data, jobs, recipe, on_trained=lambda n: None)
    assert str(caught.value) == (
        "A module's loss on its held-out rows never was a finite number. Use a lower lr, or standardize=True."
    )


# --- committees --------------------------------------------------------------------------------------------

LEARNER = mm.ModuleLearner(
    overfitting, epochs=80, batch_size=16, lr=0.05, patience=4, validation_fraction=0.2
)


def test_the_manifest_tells_what_was_reached():
    committee = mm.fit_committee(IRIS[::3], SPECIES[::3], learner=LEARNER, n_models=3, random_state=0)
    stopping = committee.stopping
    assert set(stopping) == {"base", "members"}
    assert len(stopping["members"]) == 3
    for each in (stopping["base"], *stopping["members"]):
        assert set(each) == {"epochs", "best_epoch", "best_loss"}
        assert 1 <= each["best_epoch"] <= each["epochs"] <= 80
    batch = committee.select(IRIS, 5)
    assert batch.manifest["settings"]["stopping"] == stopping
    assert batch.manifest["settings"]["learner"] == (
        "module(overfitting, epochs=80, batch_size=16, lr=0.05, patience=4, validation_fraction=0.2)"
    )


def test_without_patience_nothing_is_told():
    committee = mm.fit_committee(IRIS[::3], SPECIES[::3], learner=few_epochs(iris_net), n_models=1)
    assert committee.stopping is None
    assert "stopping" not in committee.select(IRIS, 5).manifest["settings"]
    assert mm.fit_committee(IRIS[::3], SPECIES[::3], n_models=1).stopping is None


@pytest.mark.parametrize("changed", [{}, {"n_jobs": 1}, {"n_jobs": 3}, {"chunk_size": 7}], ids=str)
def test_the_same_seed_stops_at_the_same_epochs_with_the_same_bits(changed):
    expected, batch = pick_iris(LEARNER), pick_iris(LEARNER, **changed)
    assert batch.rows.tolist() == expected.rows.tolist()
    assert batch.scores.tolist() == expected.scores.tolist()
    assert batch.manifest["settings"]["stopping"] == expected.manifest["settings"]["stopping"]


def test_another_seed_holds_out_other_rows():
    labeled = LabeledSet.of(IRIS[::3], SPECIES[::3])
    held = [
        LEARNER._job(
            labeled, Bootstrap(labeled.codes, labeled.counts, SeedTree(seed)), None
        ).validation.tolist()
        for seed in (0, 0, 1)
    ]
    assert held[0] == held[1] != held[2]
