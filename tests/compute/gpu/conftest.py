"""The same tests on a GPU and without one: there Triton's interpreter runs the kernels, on tensors of the CPU."""

from __future__ import annotations

import os
from importlib.util import find_spec

import pytest

if find_spec("torch") is None:  # all tests here are skipped
    DEVICE = "cpu"
else:
    import torch

    DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
if DEVICE == "cpu":
    os.environ["TRITON_INTERPRET"] = "1"  # read when Triton is imported


@pytest.fixture(scope="session")
def device():
    return DEVICE


@pytest.fixture(params=["Triton", "plain torch"])
def way(request, monkeypatch):
    """Make canonical class scores and distances by Triton's kernels, and then by plain torch."""
    from minmargin.compute.gpu import apart, looks, ordered  # noqa: PLC0415 - imports torch

    if request.param == "plain torch":
        for module in (apart, ordered):
            monkeypatch.setattr(module, "has_triton", lambda _: False)
    elif not looks.has_triton("cpu"):
        pytest.importorskip("triton")
