"""Where work runs: what a device's name stands for, and what a selection makes of it."""

from __future__ import annotations

import ctypes
import importlib.util
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import minmargin as mm
from complaints import LABELED, LABELS, X, complaint, pick
from minmargin import device
from minmargin.execution import Execution
from minmargin.learners.logistic import LogisticLearner


class TorchDevice:
    """What of a `torch.device` is looked at: its name, by str()."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __str__(self) -> str:
        return self.name


NO_GPU = "device='cuda', but torch finds no CUDA GPU here. Use device='auto' or 'cpu'."


@pytest.fixture(autouse=True)
def fresh_answers():
    """Forget before and after a test whether this machine may have a GPU."""
    device._may_have_cuda.cache_clear()
    yield
    device._may_have_cuda.cache_clear()


@pytest.fixture
def machine(monkeypatch):
    """Return a function that pretends: a driver or none; torch with a GPU, without (None: torch is not installed)."""

    def pretend(*, driver: bool, gpu: bool | None) -> None:
        def load(name: str) -> None:
            if not driver:
                raise OSError(name)

        torch = None if gpu is None else SimpleNamespace(cuda=SimpleNamespace(is_available=lambda: gpu))
        monkeypatch.setattr(ctypes, "CDLL", load)
        monkeypatch.setitem(sys.modules, "torch", torch)

    return pretend


# What a name stands for


@pytest.mark.parametrize(
    ("driver", "gpu", "expected"), [(True, True, "cuda"), (True, False, "cpu"), (False, True, "cpu")]
)
def test_auto_is_a_gpu_only_where_there_are_both_a_driver_and_a_gpu(machine, driver, gpu, expected):
    machine(driver=driver, gpu=gpu)
    assert device.resolve_device("auto") == expected


def test_auto_is_the_cpu_where_torch_is_not_installed(machine, monkeypatch):
    machine(driver=True, gpu=True)
    monkeypatch.delitem(sys.modules, "torch")
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    assert device.resolve_device("auto") == "cpu"


def test_cuda_is_the_gpu_and_cpu_the_cpu(machine):
    machine(driver=True, gpu=True)
    assert device.resolve_device("cuda") == "cuda"
    assert device.resolve_device("cpu") == "cpu"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("cuda:0", "cuda"),
        (TorchDevice("cuda"), "cuda"),
        (TorchDevice("cuda:0"), "cuda"),
        ("cpu:0", "cpu"),
        (TorchDevice("cpu"), "cpu"),
    ],
    ids=str,
)
def test_a_device_may_be_named_as_torch_names_it(machine, given, expected):
    machine(driver=True, gpu=True)
    assert device.resolve_device(given) == expected
    assert device.check_device(given) == expected


def test_another_gpu_than_the_first_is_not_taken_for_it(machine):
    machine(driver=True, gpu=True)
    for given in ("cuda:1", TorchDevice("cuda:1")):
        assert complaint(device=given) == (
            "device='cuda:1' is not the first GPU, which is the one that is used. Set CUDA_VISIBLE_DEVICES=1 and use "
            "device='cuda'."
        )


def test_a_batch_is_picked_on_a_device_of_torch():
    torch = pytest.importorskip("torch")
    assert pick(device=torch.device("cpu")) == pick(device="cpu")


def test_without_a_driver_torch_is_not_imported():
    script = """
import ctypes, sys

def no_driver(name):
    raise OSError(name)

ctypes.CDLL = no_driver
from minmargin.device import resolve_device
print(resolve_device("auto"), resolve_device("cpu"), "torch" in sys.modules)
"""
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["cpu", "cpu", "False"]


def test_what_needs_torch_names_the_extra_where_it_is_missing(machine):
    machine(driver=True, gpu=None)
    missing = "needs torch, which is not installed. Use pip install 'minmargin[torch]'."
    assert complaint(device="cuda", error=mm.MissingExtraError) == f"device='cuda' {missing}"
    assert complaint(learner="mlp", error=mm.MissingExtraError) == f"learner='mlp' {missing}"
    assert complaint(learner=lambda: None, error=mm.MissingExtraError) == f"A committee of modules {missing}"


# What is refused, and when


@pytest.mark.parametrize("learner", ["logistic", "random-forest"])
def test_a_gpu_that_is_not_there_is_refused_before_anything_is_read(machine, learner):
    machine(driver=False, gpu=False)
    assert complaint("no such file.csv", learner=learner, device="cuda") == NO_GPU
    with pytest.raises(mm.InputError) as caught:
        mm.fit_committee("no such file.csv", "y", learner=learner, device="cuda")
    assert str(caught.value) == NO_GPU


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"device": "gpu"}, "device='gpu' must be 'auto', 'cpu' or 'cuda'."),
        ({"device": "cuda:"}, "device='cuda:' must be 'auto', 'cpu' or 'cuda'."),
        ({"device": "auto:0"}, "device='auto:0' must be 'auto', 'cpu' or 'cuda'."),
        ({"precision": "float16"}, "precision='float16' must be 'float32' or 'fast'."),
    ],
)
def test_an_unknown_device_or_precision_is_refused_before_anything_is_read(settings, message):
    assert complaint("no such file.csv", **settings) == message
    committee = mm.fit_committee(LABELED, LABELS, n_models=2, random_state=0)
    for ask in (lambda: committee.select(X, 3, **settings), lambda: committee.score(X, **settings)):
        with pytest.raises(mm.InputError) as caught:
            ask()
        assert str(caught.value) == message


# What a selection makes of it


def test_a_learner_is_given_the_device_as_the_caller_named_it(monkeypatch):
    given = []
    fit = LogisticLearner.fit

    def recorded(self: LogisticLearner, *args: Any, **settings: Any) -> Any:
        given.append(settings["device"])
        return fit(self, *args, **settings)

    monkeypatch.setattr(LogisticLearner, "fit", recorded)
    pick(device="cpu")
    pick()
    mm.fit_committee(LABELED, LABELS, n_models=2, device="cpu")
    assert given == ["cpu", "auto", "cpu"]


def test_the_manifest_has_the_device_and_the_precision():
    settings = pick(device="cpu", precision="fast").manifest["settings"]
    assert (settings["device"], settings["precision"]) == ("cpu", "fast")


@pytest.fixture
def gpu(monkeypatch):
    """Pretend that a GPU was found, for the scan alone."""
    monkeypatch.setattr(
        "minmargin.committee.committee.resolve_device", lambda device: "cpu" if device == "cpu" else "cuda"
    )
    monkeypatch.setattr("minmargin.scan.engines.check_device", lambda device: device)


def where(batch: mm.Batch) -> str:
    return str(batch.manifest["settings"]["device"])


def test_a_small_pool_stays_on_the_cpu_unless_a_gpu_is_asked_for(gpu):
    assert where(pick(device="auto")) == "cpu"
    committee = mm.fit_committee(LABELED, LABELS, n_models=2)
    assert committee._device(committee.match(X), Execution(device="cuda")) == "cuda"


def test_a_pool_that_is_worth_it_goes_to_the_gpu_by_itself(gpu, monkeypatch):
    committee = mm.fit_committee(LABELED, LABELS, n_models=2)
    unknown_length = committee.match(iter([X]))
    assert committee._device(unknown_length, Execution()) == "cuda"
    monkeypatch.setattr(
        "minmargin.committee.committee._WORTH_A_GPU", committee.scorer.multiplications * len(X)
    )
    assert committee._device(committee.match(X), Execution()) == "cuda"
    assert committee._device(committee.match(X[:-1]), Execution()) == "cpu"


def test_sparse_rows_are_looked_at_on_the_cpu_and_a_warning_says_so_if_a_gpu_was_asked_for(gpu):
    rows = sparse.csr_array(X)
    with pytest.warns(mm.DataWarning) as caught:
        batch = mm.select(rows[::5], LABELS, rows, 3, n_models=2, random_state=0, device="cuda")
    assert [str(each.message) for each in caught] == [
        "device='cuda' does not speed up this scan: sparse rows are looked at on the CPU."
    ]
    assert caught[0].filename == __file__
    assert where(batch) == "cpu"
    assert where(mm.select(rows[::5], LABELS, iter([rows]), 3, n_models=2, random_state=0)) == "cpu"


def test_rows_that_preprocessing_makes_sparse_are_looked_at_on_the_cpu(gpu):
    frame = pd.DataFrame({"code": [f"c{i % 600}" for i in range(1200)], "size": np.arange(1200) % 7})
    with pytest.warns(mm.DataWarning, match="sparse rows are looked at on the CPU"):
        batch = mm.select(frame, np.arange(1200) % 2, frame, 3, n_models=2, preprocess="auto", device="cuda")
    assert where(batch) == "cpu"


def test_a_learner_without_a_screen_is_asked_as_it_is_whatever_the_device(gpu):
    assert where(pick(learner="random-forest", device="cuda")) == "cpu"


def test_exact_scores_are_made_on_the_cpu_and_fast_ones_on_the_device(gpu, monkeypatch):
    committee = mm.fit_committee(LABELED, LABELS, n_models=2, random_state=0)
    monkeypatch.setattr("minmargin.scan.engines.check_device", lambda device: device)
    asked = []
    screen = type(committee.scorer).screen

    def recorded(self: Any, score: Any, *, device: str, precision: str) -> Any:
        asked.append((device, precision))
        return screen(self, score, device="cpu")

    monkeypatch.setattr(type(committee.scorer), "screen", recorded)
    # Rows that a look tells too little of are scored exactly, which may be on the device, too.
    members = type(committee.scorer).each_member

    def on_the_cpu(self: Any, X: Any, *, device: str) -> Any:
        return members(self, X, device="cpu")

    monkeypatch.setattr(type(committee.scorer), "each_member", on_the_cpu)
    exact = committee.score(X, device="cuda")
    assert asked == []
    fast = committee.score(X, fast=True, device="cuda", precision="fast")
    assert asked == [("cuda", "fast")]
    np.testing.assert_allclose(fast, exact, atol=1e-5)
