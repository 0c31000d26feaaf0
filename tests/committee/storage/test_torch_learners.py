"""Networks that torch trained are saved as arrays."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import load_iris

import minmargin as mm

torch = pytest.importorskip("torch")

X, Y = load_iris(return_X_y=True)


def test_a_trained_mlp_comes_back_to_the_bit_in_a_process_without_torch(tmp_path):
    learner = mm.MLPLearner(hidden=(5, 4), epochs=3)
    committee = mm.fit_committee(
        X[::5], Y[::5], learner=learner, n_models=3, random_state=0, device="cpu", n_jobs=1
    )
    committee.save(tmp_path / "saved")
    np.save(tmp_path / "pool.npy", X)
    script = (
        "import sys; sys.modules['torch'] = None; import minmargin as mm; "
        "committee = mm.load_committee(sys.argv[1]); "
        "print(committee.score(sys.argv[2], n_jobs=1).tobytes().hex(), "
        "committee.select(sys.argv[2], 9, strategy='k-centers', n_jobs=1).rows.tolist(), sep='\\n')"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "saved"), str(tmp_path / "pool.npy")]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\n")
    assert found[0] == committee.score(X, n_jobs=1).tobytes().hex()
    assert found[1] == str(committee.select(X, 9, strategy="k-centers", n_jobs=1).rows.tolist())
    assert repr(mm.load_committee(tmp_path / "saved")) == repr(committee)
