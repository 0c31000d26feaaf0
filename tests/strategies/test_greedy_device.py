"""Where greedy strategies compare rows: on a GPU if there is one and enough to do, with the CPU's picks either way."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import minmargin as mm
from minmargin.strategies import greedy as strategies

pytest.importorskip("torch")

from minmargin.compute.gpu import greedy

rng = np.random.default_rng(0)
LABELED, POOL = rng.normal(size=(40, 6)), rng.normal(size=(300, 6))
LABELS = LABELED[:, 0] > 0


@pytest.fixture
def launches(monkeypatch):
    """Pretend that there is a GPU, and return the list of what is started there; the CPU stands in for it."""
    started = []
    pick = greedy.pick_greedily

    def on_cpu(*args, device, **settings):
        started.append(device)
        return pick(*args, device="cpu", **settings)

    monkeypatch.setattr(greedy, "pick_greedily", on_cpu)
    monkeypatch.setattr(greedy, "fits", lambda *_: True)
    monkeypatch.setattr(strategies, "resolve_device", lambda _: "cuda")
    monkeypatch.setattr("minmargin.scan.engines.check_device", lambda device: device)
    # The scan before it is another matter.
    monkeypatch.setattr("minmargin.committee.committee.Committee._device", lambda *_, **__: "cpu")
    return started


def picked(strategy="k-centers", device="cuda", pool=POOL, labeled=LABELED):
    committee = mm.fit_committee(labeled, LABELS, n_models=0, random_state=0, device="cpu")
    batch = committee.select(pool, 20, strategy=strategy, device=device)
    return batch.rows.tolist(), batch.scores.tobytes()


@pytest.mark.parametrize("strategy", ["k-centers", "balanced-margin", mm.KCenters(include_labeled=False)])
def test_the_gpu_is_asked_and_picks_what_the_cpu_picks(launches, strategy):
    found = picked(strategy)
    assert launches == ["cuda"]
    with pytest.MonkeyPatch.context() as without:
        without.setattr(strategies, "resolve_device", lambda _: "cpu")
        assert picked(strategy) == found
    assert launches == ["cuda"]


def test_little_work_stays_on_the_cpu_unless_a_gpu_is_asked_for(launches, monkeypatch):
    picked(device="auto")
    assert launches == []
    monkeypatch.setattr(strategies, "_WORTH_A_GPU", POOL.size * 20)
    picked(device="auto")
    assert launches == ["cuda"]


def test_sparse_rows_are_compared_on_the_cpu(launches):
    picked(pool=sparse.csr_array(POOL), labeled=sparse.csr_array(LABELED))
    assert launches == []


def test_candidates_that_do_not_fit_into_the_gpu_are_compared_on_the_cpu_with_a_warning(
    launches, monkeypatch
):
    expected = picked()
    monkeypatch.setattr(greedy, "fits", lambda *_: False)
    with pytest.warns(mm.DataWarning) as caught:
        assert picked() == expected
    assert [str(each.message) for each in caught] == [
        "300 candidates do not fit into the GPU's memory, so the CPU compares them. Use prefilter= to keep fewer."
    ]
    assert launches == ["cuda"]
