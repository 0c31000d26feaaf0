"""Many networks trained in one stack are those that a plain torch loop would train one by one."""

import sys
import threading
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_digits

from minmargin.errors import MemberFitError

torch = pytest.importorskip("torch")

from minmargin.compute.networks.dense import glorot, join  # noqa: E402 - as above
from minmargin.learners.networks import training  # noqa: E402 - needs torch
from minmargin.learners.networks.jobs import Job, Schedule  # noqa: E402 - as above
from minmargin.learners.networks.steps import AdamSettings, DenseState, plain_step  # noqa: E402 - as above
from minmargin.learners.networks.training import train_dense  # noqa: E402 - as above


@pytest.fixture(autouse=True)
def _one_thread():
    """Let torch's own loops use one thread: they are too small for more."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def data(n_rows=60, n_features=7, n_classes=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features)).astype(np.float32)
    codes = (X[:, :n_classes] + 0.3 * rng.normal(size=(n_rows, n_classes))).argmax(axis=1)
    return X, codes


def draws(lengths, n_rows=60, **settings):
    """Return jobs of these lengths, each with rows and a seed of its own."""
    rng = np.random.default_rng(7)
    return [
        Job(rng.integers(0, n_rows, length), np.random.SeedSequence(number), **settings)
        for number, length in enumerate(lengths)
    ]


def train(X, codes, jobs, **settings):
    usual = {"hidden": (9,), "epochs": 30, "batch_size": 8, "adam": AdamSettings()}
    return train_dense(X, codes, int(codes.max()) + 1, jobs, **{**usual, **settings})


def torch_loop(X, codes, job, *, hidden, epochs, batch_size, adam, after_epoch=None):
    """Return the module that torch itself makes of a job: autograd, torch.optim, one network."""
    rng = np.random.default_rng(job.seed)
    widths = (X.shape[1], *hidden, int(codes.max()) + 1)
    start = glorot(widths, rng)
    layers = []
    for weights, biases in zip(start.weights, start.biases, strict=True):
        linear = torch.nn.Linear(*weights.shape[1:])
        linear.weight.data = torch.tensor(weights[0].T)
        linear.bias.data = torch.tensor(biases[0])
        layers += [linear, torch.nn.ReLU()]
    module = torch.nn.Sequential(*layers[:-1])
    optimizer = torch.optim.Adam(
        module.parameters(),
        lr=adam.lr,
        betas=(adam.beta1, adam.beta2),
        eps=adam.eps,
        weight_decay=adam.weight_decay,
    )
    loss_of = torch.nn.CrossEntropyLoss(reduction="none")
    row_weights = np.ones(len(job.rows), dtype=np.float32) if job.weights is None else job.weights
    for _ in range(epochs):
        order = rng.permutation(len(job.rows))
        for start_row in range(0, len(order), batch_size):
            places = order[start_row : start_row + batch_size]
            rows = job.rows[places]
            losses = loss_of(module(torch.tensor(X[rows])), torch.tensor(codes[rows]))
            optimizer.zero_grad()
            (losses * torch.tensor(row_weights[places])).mean().backward()
            optimizer.step()
        if after_epoch is not None and after_epoch(module):
            break
    return module


def assert_same_as_module(networks, number, module, rtol=1e-4, atol=1e-6):
    linear = [layer for layer in module if isinstance(layer, torch.nn.Linear)]
    for layer, weights, biases in zip(linear, networks.weights, networks.biases, strict=True):
        np.testing.assert_allclose(weights[number].T, layer.weight.detach().numpy(), rtol=rtol, atol=atol)
        np.testing.assert_allclose(biases[number], layer.bias.detach().numpy(), rtol=rtol, atol=atol)


def assert_close(one, other, rtol=1e-4, atol=1e-6):
    for ours, theirs in zip((*one.weights, *one.biases), (*other.weights, *other.biases), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=atol)


def equal_bits(one, other):
    pairs = zip((*one.weights, *one.biases), (*other.weights, *other.biases), strict=True)
    return all(ours.tobytes() == theirs.tobytes() for ours, theirs in pairs)


LENGTHS = (60, 45, 60, 8, 3, 61, 17)


@pytest.mark.parametrize("hidden", [(), (9,), (6, 5)], ids=str)
@pytest.mark.parametrize("weight_decay", [0.0, 0.05])
def test_every_job_of_a_stack_is_what_a_plain_torch_loop_makes_of_it(hidden, weight_decay):
    X, codes = data()
    jobs = draws(LENGTHS)
    settings = {"hidden": hidden, "epochs": 40, "batch_size": 8}
    adam = AdamSettings(lr=3e-3, weight_decay=weight_decay)
    networks = train(X, codes, jobs, adam=adam, **settings)
    for number, job in enumerate(jobs):
        module = torch_loop(X, codes, job, adam=adam, **settings)
        assert_same_as_module(networks, number, module, rtol=1e-4, atol=1e-5)


def test_row_weights_multiply_the_losses_before_the_mean_over_the_batch():
    X, codes = data()
    rng = np.random.default_rng(3)
    jobs = [
        Job(
            rng.integers(0, 60, length),
            np.random.SeedSequence(length),
            rng.uniform(0, 4, length).astype(np.float32),
        )
        for length in (30, 21)
    ]
    settings = {"hidden": (9,), "epochs": 30, "batch_size": 8, "adam": AdamSettings()}
    networks = train(X, codes, jobs, **settings)
    for number, job in enumerate(jobs):
        assert_same_as_module(networks, number, torch_loop(X, codes, job, **settings))


def test_jobs_of_one_length_are_trained_together_as_each_alone():
    X, codes = data()
    jobs = draws([40] * 5)
    together = train(X, codes, jobs)
    assert_close(together, join([train(X, codes, [job]) for job in jobs]))
    assert not equal_bits(together.take([0]), together.take([1]))


def test_jobs_of_different_lengths_are_trained_together_as_each_alone():
    X, codes = data()
    jobs = draws(LENGTHS)
    assert_close(train(X, codes, jobs), join([train(X, codes, [job]) for job in jobs]))


@pytest.mark.parametrize("max_networks", [1, 2, 3, 100])
def test_the_size_of_waves_changes_nothing(max_networks):
    X, codes = data()
    jobs = draws(LENGTHS)
    assert_close(train(X, codes, jobs), train(X, codes, jobs, max_networks=max_networks))


def test_how_many_batches_are_laid_out_at_a_time_changes_nothing(monkeypatch):
    X, codes = data()
    jobs = draws(LENGTHS)
    before = train(X, codes, jobs)
    monkeypatch.setattr(training, "_BATCH_ROWS", 100)
    assert equal_bits(before, train(X, codes, jobs))


def test_a_batch_larger_than_the_draw_is_the_whole_draw():
    X, codes = data()
    jobs = draws([20, 12])
    assert equal_bits(train(X, codes, jobs, batch_size=20), train(X, codes, jobs, batch_size=10_000))


def test_the_number_of_threads_changes_no_bit_and_is_given_back():
    X, codes = data()
    jobs = draws([60, 45, 60, 8, 3, 61, 17, 60, 60, 33])
    torch.set_num_threads(3)
    one, two, five = (train(X, codes, jobs, n_jobs=n_jobs, max_networks=3) for n_jobs in (1, 2, 5))
    assert equal_bits(one, two)
    assert equal_bits(one, five)
    assert torch.get_num_threads() == 3


def test_a_committee_is_cut_into_waves_for_several_threads(monkeypatch):
    X, codes = data(n_features=40)
    used = set()

    def step(*args):
        used.add(threading.get_ident())
        plain_step(*args)

    monkeypatch.setattr(training, "plain_step", step)
    jobs = draws([60] * 26)
    two = train(X, codes, jobs, epochs=20, n_jobs=2)
    assert len(used) == 2
    assert equal_bits(two, train(X, codes, jobs, epochs=20, n_jobs=1))


def test_large_networks_are_stacked_in_smaller_numbers():
    X, codes = data(n_features=300)
    setting = training._Setting(
        torch.tensor(X), torch.tensor(codes), (300, 1000, 3), 1, 8, AdamSettings(), None, "cpu"
    )
    assert setting.n_parameters == 300 * 1000 + 1000 + 1000 * 3 + 3
    waves = training._waves(draws([60] * 8), setting, None)
    assert [len(wave) for wave in waves] == [2, 2, 2, 2], (
        "three at most, and as many waves as cores can share"
    )


def test_rows_may_be_read_only_or_a_tensor():
    X, codes = data()
    jobs = draws([20])
    before = train(X, codes, jobs)
    assert equal_bits(before, train(torch.tensor(X), codes, jobs))
    X.flags.writeable = False
    assert equal_bits(before, train(X, codes, jobs))


class TestEarlyStopping:
    SETTINGS = {"hidden": (9,), "epochs": 60, "batch_size": 8, "adam": AdamSettings(lr=0.03)}  # noqa: RUF012

    def jobs(self, weighted):
        rng = np.random.default_rng(5)
        return [
            Job(
                rng.integers(0, 40, length),
                np.random.SeedSequence(length),
                validation=40 + rng.permutation(20)[:size],
                validation_weights=rng.uniform(0, 3, size).astype(np.float32) if weighted else None,
            )
            for length, size in ((40, 20), (25, 11), (33, 1), (40, 7))
        ]

    @pytest.mark.parametrize("weighted", [False, True])
    def test_a_job_stops_after_its_patience_and_keeps_its_best_epoch(self, weighted, monkeypatch):
        monkeypatch.setattr(training, "_VALIDATION_INPUTS", 4 * 7 * 6)  # six rows at a time
        X, codes = data()
        jobs = self.jobs(weighted)
        patience = 4
        ends = []
        networks = train(
            X, codes, jobs, patience=patience, progress=lambda *now: ends.append(now), **self.SETTINGS
        )
        n_steps = 0

        def step(*args):
            nonlocal n_steps
            n_steps += 1
            plain_step(*args)

        monkeypatch.setattr(training, "plain_step", step)
        stopped = 0
        for number, job in enumerate(jobs):
            losses, states = [], []

            def after_epoch(module, job=job, losses=losses, states=states):
                with torch.no_grad():
                    each = torch.nn.functional.cross_entropy(
                        module(torch.tensor(X[job.validation])),
                        torch.tensor(codes[job.validation]),
                        reduction="none",
                    ).numpy()
                weights = 1 if job.validation_weights is None else job.validation_weights
                losses.append(float((each * weights).mean()))
                states.append({name: value.clone() for name, value in module.state_dict().items()})
                return len(losses) - 1 - int(np.argmin(losses)) >= patience

            module = torch_loop(X, codes, job, after_epoch=after_epoch, **self.SETTINGS)
            stopped += len(losses) < 60
            n_steps = 0
            train(X, codes, [job], patience=patience, **self.SETTINGS)
            assert n_steps == len(losses) * -(-len(job.rows) // 8)
            module.load_state_dict(states[int(np.argmin(losses))])
            assert_same_as_module(networks, number, module, rtol=1e-2, atol=1e-3)
        assert stopped >= 2
        assert ends[-1] == (240, 240)

    def test_without_validation_rows_all_epochs_are_made(self):
        X, codes = data()
        jobs = draws([20, 30])
        assert equal_bits(train(X, codes, jobs), train(X, codes, jobs, patience=1))

    def test_without_patience_validation_rows_are_left_alone(self):
        X, codes = data()
        watched = draws([20, 30], validation=np.arange(50, 60))
        assert equal_bits(train(X, codes, draws([20, 30])), train(X, codes, watched))

    def test_one_network_may_stop_while_the_others_go_on(self):
        X, codes = data()
        stops, goes_on = self.jobs(False)[0], draws([40])[0]
        both = train(X, codes, [stops, goes_on], patience=2, **self.SETTINGS)
        assert_close(both.take([1]), train(X, codes, [goes_on], **self.SETTINGS))


@pytest.mark.parametrize("patience", [None, 3])
def test_a_network_that_diverges_is_named(patience):
    X, codes = data()
    jobs = draws([30, 30, 30], validation=np.arange(5))
    bad = X.copy()
    bad[59] = np.inf
    jobs[1] = Job(np.array([1, 2, 59]), np.random.SeedSequence(0), validation=np.arange(5))
    jobs[0], jobs[2] = (Job(np.arange(30), job.seed, validation=job.validation) for job in (jobs[0], jobs[2]))
    with pytest.raises(MemberFitError) as caught:
        train(bad, codes, jobs, patience=patience)
    assert str(caught.value) == (
        "Network 1 of 3 diverged: after 30 epochs its weights are not finite numbers. "
        "Use a lower lr than 0.001, or standardize=True."
    )


def test_a_network_with_a_name_diverges_by_that_name():
    X, codes = data()
    job = Job(np.arange(30), np.random.SeedSequence(0), name="Member 4 of 25")
    with pytest.raises(MemberFitError) as caught:
        train(X, codes, [job], adam=AdamSettings(lr=1e38))
    assert str(caught.value) == (
        "Member 4 of 25 diverged: after 30 epochs its weights are not finite numbers. "
        "Use a lower lr than 1e+38, or standardize=True."
    )


def test_progress_counts_epochs_up_to_their_number():
    X, codes = data()
    seen = []
    train(
        X,
        codes,
        draws([60, 30, 9]),
        epochs=5,
        n_jobs=2,
        max_networks=2,
        progress=lambda *now: seen.append(now),
    )
    assert [total for _, total in seen] == [15] * len(seen)
    done = [now for now, _ in seen]
    assert done == sorted(set(done))
    assert done[-1] == 15


def test_an_error_in_one_thread_ends_the_others():
    X, codes = data()
    n_calls = 0

    def fail_once(done, total):
        nonlocal n_calls
        n_calls += 1
        if n_calls == 5:
            raise ValueError("enough")

    with pytest.raises(ValueError, match="enough"):
        train(X, codes, draws([60] * 4), epochs=2_000, n_jobs=2, max_networks=1, progress=fail_once)
    assert n_calls < 500


def test_a_step_is_adam_as_its_formula_says():
    rng = np.random.default_rng(0)
    adam = AdamSettings(lr=0.01, beta1=0.8, beta2=0.95, eps=1e-3, weight_decay=0.1)
    X, codes = data(n_rows=12)
    start = glorot((7, 3), rng)
    state = DenseState.of(start, "cpu")
    values = [start.weights[0][0].astype(float), start.biases[0][0].astype(float)]
    first, second = [0.0, 0.0], [0.0, 0.0]
    for number in range(1, 6):
        plain_step(
            state,
            torch.tensor(X)[None],
            torch.tensor(codes)[None],
            torch.full((1, 12), 1 / 12),
            adam,
        )
        logits = X @ values[0] + values[1]
        slope = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        slope[np.arange(12), codes] -= 1
        slopes = [X.T @ slope / 12, slope.mean(axis=0)]
        for i in range(2):
            g = slopes[i] + adam.weight_decay * values[i]
            first[i] = adam.beta1 * first[i] + (1 - adam.beta1) * g
            second[i] = adam.beta2 * second[i] + (1 - adam.beta2) * g**2
            mean = first[i] / (1 - adam.beta1**number)
            square = second[i] / (1 - adam.beta2**number)
            values[i] = values[i] - adam.lr * mean / (np.sqrt(square) + adam.eps)
    ours = state.networks()
    np.testing.assert_allclose(ours.weights[0][0], values[0], rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(ours.biases[0][0], values[1], rtol=1e-5, atol=1e-7)
    assert state.n_steps == 5


def test_taking_networks_out_of_a_stack_takes_their_moments_along():
    X, codes = data()
    rng = np.random.default_rng(0)
    stack = join([glorot((7, 5, 3), rng) for _ in range(3)])
    state, alone = DenseState.of(stack, "cpu"), DenseState.of(stack.take([2]), "cpu")

    def step(some):
        n = len(some.weights[0])
        inputs, labels = torch.tensor(X).expand(n, -1, -1), torch.tensor(codes).expand(n, -1)
        plain_step(some, inputs, labels, torch.full((n, 60), 1 / 60), AdamSettings(lr=0.1))

    step(state)
    before = state.networks()
    taken = state.take([2])
    step(taken)
    step(alone)
    step(alone)
    assert_close(taken.networks(), alone.networks())
    assert equal_bits(before, state.networks())


def test_digits_are_learned():
    X, y = load_digits(return_X_y=True)
    X = (X / 16).astype(np.float32)
    rng = np.random.default_rng(0)
    jobs = [Job(rng.integers(0, 1000, 1000), np.random.SeedSequence(i)) for i in range(4)]
    networks = train(X, y, jobs, hidden=(64,), epochs=20, batch_size=32)
    hidden = np.maximum(np.matmul(X[1000:], networks.weights[0]) + networks.biases[0][:, None], 0)
    logits = np.matmul(hidden, networks.weights[1]) + networks.biases[1][:, None]
    accuracy = (logits.argmax(axis=2) == y[1000:]).mean(axis=1)
    assert (accuracy > 0.88).all()


def test_large_networks_are_stepped_by_the_fused_kernel_on_a_gpu_that_has_triton(monkeypatch):
    fused = SimpleNamespace(fused_step=object())
    large = SimpleNamespace(device="cuda", n_parameters=training._FUSED_PARAMETERS)
    small = SimpleNamespace(device="cuda", n_parameters=training._FUSED_PARAMETERS - 1)
    on_cpu = SimpleNamespace(device="cpu", n_parameters=training._FUSED_PARAMETERS)
    monkeypatch.setitem(sys.modules, "minmargin.learners.networks.fused", fused)
    assert training._step_for(large) is fused.fused_step
    assert training._step_for(small) is plain_step
    assert training._step_for(on_cpu) is plain_step
    monkeypatch.setitem(sys.modules, "minmargin.learners.networks.fused", None)
    assert training._step_for(large) is plain_step


@given(
    lengths=st.lists(st.integers(1, 40), min_size=1, max_size=5),
    batch_size=st.integers(1, 12),
    epochs=st.integers(1, 4),
    portions=st.lists(st.integers(1, 9), min_size=1, max_size=4),
    seed=st.integers(0, 9),
)
def test_each_epoch_of_a_job_visits_each_of_its_rows_once(lengths, batch_size, epochs, portions, seed):
    rng = np.random.default_rng(seed)
    jobs = [
        Job(
            rng.permutation(1000)[:length],
            np.random.SeedSequence(length),
            rng.random(length).astype(np.float32),
        )
        for length in lengths
    ]
    generators = [np.random.default_rng(job.seed) for job in jobs]
    schedule = Schedule(jobs, generators, epochs=epochs, batch_size=batch_size)
    assert schedule.steps_per_epoch.tolist() == [-(-length // batch_size) for length in lengths]
    assert schedule.n_steps.tolist() == [epochs * each for each in schedule.steps_per_epoch]
    total, parts = int(schedule.n_steps.max()), []
    while sum(len(part.rows) for part in parts) < total:
        parts.append(schedule.take(np.arange(len(jobs)), portions[len(parts) % len(portions)]))
    rows, weights, sizes = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    assert rows.shape == weights.shape == (len(sizes), len(jobs), batch_size)
    for place, (job, per_epoch) in enumerate(zip(jobs, schedule.steps_per_epoch, strict=True)):
        weight_of = dict(zip(job.rows.tolist(), job.weights.tolist(), strict=True))
        same = np.random.default_rng(job.seed)
        for epoch in range(epochs):
            steps = range(epoch * per_epoch, (epoch + 1) * per_epoch)
            batches = [rows[step, place, : sizes[step, place]] for step in steps]
            assert [len(batch) for batch in batches[:-1]] == [batch_size] * (per_epoch - 1)
            assert np.concatenate(batches).tolist() == job.rows[same.permutation(len(job.rows))].tolist()
            for step, batch in zip(steps, batches, strict=True):
                expected = [weight_of[row] / len(batch) for row in batch.tolist()]
                np.testing.assert_allclose(weights[step, place, : len(batch)], expected, rtol=1e-6)
                assert not weights[step, place, len(batch) :].any()


def test_jobs_that_left_are_not_asked_for_batches():
    jobs = draws([5, 9])
    generators = [np.random.default_rng(job.seed) for job in jobs]
    schedule = Schedule(jobs, generators, epochs=3, batch_size=4)
    both = schedule.take(np.arange(2), 2)
    alone = Schedule(jobs[1:], [np.random.default_rng(jobs[1].seed)], epochs=3, batch_size=4)
    later = schedule.take(np.array([1]), 5)
    expected = alone.take(np.arange(1), 7)
    assert np.concatenate([both.rows[:, 1:], later.rows]).tolist() == expected.rows.tolist()
    assert np.concatenate([both.weights[:, 1:], later.weights]).tolist() == expected.weights.tolist()
