"""Modules trained as a stack come out as if each had been trained alone, by a loop that anyone would write."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402 - torch may be missing

import minmargin as mm  # noqa: E402
from minmargin.learners.networks import module_training, modules  # noqa: E402
from minmargin.learners.networks.jobs import Job  # noqa: E402

N_ROWS, N_CLASSES, N_MEMBERS = 21, 3, 4


pytestmark = pytest.mark.usefixtures("one_torch_thread")


class TokenNet(nn.Module):
    """The mean of the tokens' embeddings, then one layer."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(11, 5)
        self.last = nn.Linear(5, N_CLASSES)

    def forward(self, tokens):
        return self.last(self.embedding(tokens).mean(dim=1))


class Tied(nn.Module):
    """A layer that is used twice, and a parameter that is not trained."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.second = self.first
        self.last = nn.Linear(4, N_CLASSES)
        self.fixed = nn.Parameter(torch.ones(4), requires_grad=False)

    def forward(self, X):
        return self.last(torch.tanh(self.second(torch.tanh(self.first(X)))) * self.fixed)


def dense():
    return nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, N_CLASSES))


def convolution():
    return nn.Sequential(
        nn.Conv2d(1, 3, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.LazyLinear(N_CLASSES)
    )


def attention():
    layer = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True)
    return nn.Sequential(layer, nn.Flatten(), nn.Linear(12, N_CLASSES))


FACTORIES = {
    "dense": (dense, (4,)),
    "convolution": (convolution, (1, 8, 8)),
    "attention": (attention, (3, 4)),
    "tied": (Tied, (4,)),
    "tokens": (TokenNet, None),
}


def adam(parameters):
    return torch.optim.Adam(parameters, lr=0.01, eps=1e-7)


def loss_of_rows(outputs, codes):
    return nn.functional.cross_entropy(outputs, codes, reduction="none")


RECIPE = modules.Recipe(epochs=4, batch_size=8, optimizer=adam, loss=loss_of_rows)


def examples(shape=(4,)):
    """Return rows of a shape, or of six tokens each for None, and their codes."""
    rng = np.random.default_rng(5)
    codes = np.arange(N_ROWS) % N_CLASSES
    if shape is None:
        return modules.Examples(torch.as_tensor(rng.integers(0, 11, (N_ROWS, 6))), torch.as_tensor(codes))
    X = rng.normal(size=(N_ROWS, *shape)) + codes.reshape(-1, *[1] * len(shape))
    return modules.Examples(torch.as_tensor(X, dtype=torch.float32), torch.as_tensor(codes))


def make_jobs(n_jobs=N_MEMBERS):
    rng = np.random.default_rng(2)
    return [
        Job(
            rng.integers(0, N_ROWS, N_ROWS),
            np.random.SeedSequence(7, spawn_key=(k,)),
            rng.uniform(0.5, 2.0, N_ROWS).astype(np.float32),
        )
        for k in range(n_jobs)
    ]


def make(factory, jobs, data):
    return [modules.make_module(factory, job.seed, data.few().X, "cpu") for job in jobs]


def stacked(factory, jobs, data, recipe=RECIPE):
    made = make(factory, jobs, data)
    module_training.train_stacked(made, data, jobs, recipe, on_trained=lambda n: None)
    return made


def alone(factory, jobs, data, recipe=RECIPE):
    made = make(factory, jobs, data)
    for module, job in zip(made, jobs, strict=True):
        module_training.train_alone(module, data, job, recipe)
    return made


def assert_alike(ones, others):
    for one, other in zip(ones, others, strict=True):
        for name, value in one.state_dict().items():
            torch.testing.assert_close(value, other.state_dict()[name], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("factory", "shape"), FACTORIES.values(), ids=FACTORIES)
def test_a_stack_comes_out_as_if_each_module_was_trained_alone(factory, shape):
    data, jobs = examples(shape), make_jobs()
    assert module_training.why_alone(make(factory, jobs, data), data.few(), RECIPE) is None
    # The outputs, not the weights: some do not matter (an attention's key bias), and Adam follows their noise.
    for one, other in zip(stacked(factory, jobs, data), alone(factory, jobs, data), strict=True):
        torch.testing.assert_close(one(data.X), other(data.X), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("optimizer", ["SGD", "RMSprop", "AdamW", "Adagrad", "NAdam", "Rprop"])
def test_optimizers_that_work_element_by_element_do_not_notice_the_stack(optimizer):
    recipe = RECIPE._replace(
        optimizer=lambda parameters: getattr(torch.optim, optimizer)(parameters, lr=0.01)
    )
    data, jobs = examples(), make_jobs()
    assert module_training.why_alone(make(dense, jobs, data), data.few(), recipe) is None
    assert_alike(stacked(dense, jobs, data, recipe), alone(dense, jobs, data, recipe))


@pytest.mark.parametrize("train", [stacked, alone])
def test_training_is_the_loop_that_anyone_would_write(train):
    data, jobs = examples(), make_jobs(2)
    trained = train(dense, jobs, data)
    for job, mine, untrained in zip(jobs, trained, make(dense, jobs, data), strict=True):
        theirs = untrained.train()
        before = theirs[0].weight.detach().clone()
        optimizer = torch.optim.Adam(theirs.parameters(), lr=0.01, eps=1e-7)
        rng = np.random.default_rng(job.seed)
        for _ in range(4):
            order = rng.permutation(N_ROWS)
            for start in (0, 8, 16):
                places = order[start : start + 8]
                rows = job.rows[places]
                optimizer.zero_grad()
                losses = loss_of_rows(theirs(data.X[rows]), data.codes[rows])
                (losses * torch.as_tensor(job.weights[places])).mean().backward()
                optimizer.step()
        assert_alike([mine], [theirs])
        assert (theirs[0].weight - before).abs().max() > 0.01


def test_large_modules_are_stacked_in_groups(monkeypatch):
    data, jobs = examples(), make_jobs()
    together = stacked(dense, jobs, data)
    n_bytes = 4 * sum(parameter.numel() for parameter in together[0].parameters())
    monkeypatch.setattr(module_training, "_STACK_BYTES", 4 * n_bytes * 3)
    assert list(module_training.group_sizes(together)) == [3, 1]
    told = []
    made = make(dense, jobs, data)
    module_training.train_stacked(made, data, jobs, RECIPE, on_trained=told.append)
    assert_alike(made, together)
    assert told == [1, 2, 3, 4]
    monkeypatch.setattr(module_training, "_STACK_BYTES", 1)
    assert list(module_training.group_sizes(together)) == [1, 1, 1, 1]


def test_dropout_is_drawn_for_each_member_and_repeated_by_the_seed():
    def dropping():
        return nn.Sequential(nn.Dropout(0.5), nn.Linear(4, N_CLASSES))

    def plain():
        return nn.Sequential(nn.Dropout(0.0), nn.Linear(4, N_CLASSES))

    data = examples()
    jobs = make_jobs(1) * 2  # twice the same rows, initial weights and shuffles
    first, second = stacked(dropping, jobs, data)
    assert (first[1].weight - second[1].weight).abs().max() > 1e-3
    same, other = stacked(plain, jobs, data)
    assert_alike([same], [other])
    again = stacked(dropping, jobs, data)
    assert torch.equal(again[0][1].weight, first[1].weight)
    assert torch.equal(again[1][1].weight, second[1].weight)


def test_the_callers_own_random_numbers_go_on_as_if_nothing_was_trained():
    data, jobs = examples(), make_jobs(2)
    torch.manual_seed(3)
    expected = torch.rand(5)
    torch.manual_seed(3)
    stacked(lambda: nn.Sequential(nn.Dropout(0.5), nn.Linear(4, N_CLASSES)), jobs, data)
    alone(dense, jobs, data)
    assert torch.equal(torch.rand(5), expected)


def test_what_the_factory_holds_is_copied_and_stays_as_it_was():
    held = dense()
    before = held[0].weight.detach().clone()
    data, jobs = examples(), make_jobs(2)
    first, second = stacked(lambda: held, jobs, data)
    assert torch.equal(held[0].weight, before)
    assert held[0].weight.requires_grad
    assert not torch.equal(first[0].weight, second[0].weight)


def test_frozen_parameters_are_not_trained():
    data, jobs = examples(), make_jobs(2)
    for trained in (stacked(Tied, jobs, data), alone(Tied, jobs, data)):
        assert all(torch.equal(module.fixed, torch.ones(4)) for module in trained)


def test_trained_modules_are_in_evaluation_mode_and_need_no_gradients():
    data, jobs = examples(), make_jobs(2)
    for module in (*stacked(dense, jobs, data), *alone(dense, jobs, data)):
        assert not module.training
        assert not any(parameter.requires_grad for parameter in module.parameters())


class Branching(nn.Module):
    def __init__(self):
        super().__init__()
        self.last = nn.Linear(4, N_CLASSES)

    def forward(self, X):
        return self.last(X) if X.sum() > 0 else -self.last(X)


class Bag(nn.Module):
    """A layer that torch stacks only by looping over it."""

    def __init__(self):
        super().__init__()
        self.bag = nn.EmbeddingBag(11, N_CLASSES)

    def forward(self, tokens):
        return self.bag(tokens)


def normed():
    return nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Linear(6, N_CLASSES))


REASONS = {
    "batch norm": (
        normed,
        (4,),
        (
            "training changes buffers of the module ('1.running_mean', '1.running_var', '1.num_batches_tracked'), "
            "as batch norm does. Use a norm without running averages, such as GroupNorm or LayerNorm, to train "
            "them together"
        ),
    ),
    "branches": (Branching, (4,), "torch cannot stack a layer of the module (vmap: It looks like"),
    "slow layer": (Bag, None, "torch cannot stack a layer of the module (There is a performance drop"),
}


@pytest.mark.parametrize(("factory", "shape", "reason"), REASONS.values(), ids=REASONS)
def test_what_cannot_be_stacked_says_why_and_is_trained_alone(factory, shape, reason):
    data, jobs = examples(shape), make_jobs(1)
    module = make(factory, jobs, data)[0]
    found = module_training.why_alone([module], data.few(), RECIPE)
    assert found is not None
    assert found.startswith(reason)  # the rest are torch's own words
    before = [parameter.detach().clone() for parameter in module.parameters()]
    module_training.train_alone(module, data, jobs[0], RECIPE)
    assert any(not torch.equal(was, now) for was, now in zip(before, module.parameters(), strict=True))


def test_a_class_that_is_made_anew_each_time_is_trained_alone():
    def factory():
        class Inner(nn.Linear):
            pass

        return Inner(4, N_CLASSES)

    data, jobs = examples(), make_jobs(2)
    assert module_training.why_alone(make(factory, jobs, data), data.few(), RECIPE) == (
        "the factory makes modules of several classes. Define the class outside of the factory, to train them together"
    )


def test_looking_for_a_reason_leaves_the_module_as_it_was():
    data, jobs = examples(), make_jobs(1)
    module = make(normed, jobs, data)[0]
    before = {name: value.clone() for name, value in module.state_dict().items()}
    module_training.why_alone([module], data.few(), RECIPE)
    assert all(torch.equal(value, before[name]) for name, value in module.state_dict().items())


class SignOfTheSum(torch.optim.Optimizer):
    """A step against the sign of each tensor's summed gradient: what it does to one element depends on all."""

    def __init__(self, parameters, lr=0.01):
        super().__init__(parameters, {"lr": lr})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for parameter in group["params"]:
                parameter.sub_(group["lr"] * parameter.grad.sum().sign())


@pytest.mark.parametrize("optimizer", [torch.optim.LBFGS, SignOfTheSum])
def test_an_optimizer_that_sees_whole_tensors_trains_each_module_alone(optimizer):
    recipe = RECIPE._replace(optimizer=optimizer)
    data, jobs = examples(), make_jobs(1)
    module = make(dense, jobs, data)[0]
    assert module_training.why_alone([module], data.few(), recipe) == (
        f"{optimizer.__name__} is not known to work element by element. Use an optimizer that does, such as "
        "torch.optim.Adam or SGD, to train them together"
    )
    before = module[0].weight.detach().clone()
    module_training.train_alone(module, data, jobs[0], recipe)
    assert not torch.equal(module[0].weight, before)


def test_lbfgs_lowers_the_loss_of_one_large_batch():
    data, jobs = examples(), make_jobs(1)
    recipe = RECIPE._replace(optimizer=torch.optim.LBFGS, epochs=3, batch_size=N_ROWS)
    untrained, (trained,) = make(dense, jobs, data)[0], alone(dense, jobs, data, recipe)
    rows = jobs[0].rows
    losses = [loss_of_rows(each(data.X[rows]), data.codes[rows]).mean() for each in (untrained, trained)]
    assert losses[1] < 0.5 * losses[0]


def test_weights_that_become_infinite_are_an_error():
    recipe = RECIPE._replace(optimizer=lambda parameters: torch.optim.SGD(parameters, lr=1e30))
    for train in (stacked, alone):
        with pytest.raises(mm.MemberFitError) as caught:
            train(dense, make_jobs(2), examples(), recipe)
        assert str(caught.value) == (
            "A module's weights became infinite in training. Use a lower lr, or standardize=True."
        )
