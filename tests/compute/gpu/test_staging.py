"""Rows arrive on the device as they are, whatever their number, length and container, and from any thread."""

from __future__ import annotations

import ctypes
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest

from minmargin.data.rows import ColumnBlock

pytest.importorskip("torch")

import torch

from minmargin.compute.gpu import pump, staging

NUMBER = ctypes.c_uint64


@ctypes.CFUNCTYPE(ctypes.c_int, NUMBER, NUMBER, NUMBER, NUMBER)
def copy_in_memory(target, source, n_bytes, _):
    ctypes.memmove(target, source, n_bytes)
    return 0


@ctypes.CFUNCTYPE(ctypes.c_int, NUMBER)
def wait_for_nothing(_):
    return 0


@ctypes.CFUNCTYPE(ctypes.c_int, NUMBER, NUMBER)
def mark_nothing(*_):
    return 0


@ctypes.CFUNCTYPE(ctypes.c_int, NUMBER, NUMBER, NUMBER, NUMBER)
def refuse(*_):
    return 700


PUMP_IN_MEMORY = pump.make_pump(copy_in_memory, wait_for_nothing, mark_nothing)


@pytest.fixture
def stage(device, monkeypatch):
    """A staging with pieces of 12 numbers. Without a GPU, memory is just memory, and streams do nothing."""
    monkeypatch.setattr(pump, "PIECE", 12)
    monkeypatch.setattr(staging, "_idle_streams", [])
    monkeypatch.setattr(staging, "_own", threading.local())
    if device == "cpu":
        event = SimpleNamespace(record=lambda _: None, cuda_event=0)
        stream = SimpleNamespace(query=lambda: None, synchronize=lambda: None, cuda_stream=0)
        empty = torch.empty

        def unpinned(*size, pin_memory=False, **settings):
            return empty(*size, **settings)

        monkeypatch.setattr(torch, "empty", unpinned)
        monkeypatch.setattr(torch.cuda, "Stream", lambda _: stream)
        monkeypatch.setattr(torch.cuda, "Event", lambda: event)
        monkeypatch.setattr(torch.cuda, "stream", lambda _: nullcontext())
        monkeypatch.setattr(pump, "driver_pump", lambda: PUMP_IN_MEMORY)
        device = "cpu:0"  # another name of the CPU, for which there is no short cut
    return staging.Staging(device)


def arrived(stage, X, center=None):
    with stage.rows(X, center) as rows:
        assert rows.dtype == torch.float32
        return rows.cpu().numpy()


def data(shape, dtype):
    rng = np.random.default_rng(0)
    return rng.normal(size=shape).astype(dtype), rng.normal(size=shape[1]).astype(np.float32)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(1, 1), (4, 3), (5, 3), (25, 5), (3, 12), (3, 20), (13, 1)])
def test_rows_and_columns_arrive_rounded_once(stage, shape, dtype):
    X, center = data(shape, dtype)
    for subtracted in (None, center):
        expected = (X if subtracted is None else X - subtracted).astype(np.float32)
        columns = ColumnBlock([X[:, d].copy() for d in range(shape[1])])
        for rows in (X, np.asfortranarray(X), columns):
            np.testing.assert_array_equal(arrived(stage, rows, subtracted), expected)


def test_the_short_cut_of_the_cpu_gives_the_same():
    X, center = data((25, 5), np.float64)
    expected = (X - center).astype(np.float32)
    np.testing.assert_array_equal(arrived(staging.Staging("cpu"), X, center), expected)


def test_threads_do_not_write_into_the_pieces_of_others(stage):
    blocks = [np.full((40, 3), float(value)) for value in range(20)]
    with ThreadPoolExecutor(4) as threads:
        for block, rows in zip(blocks, threads.map(lambda block: arrived(stage, block), blocks), strict=True):
            np.testing.assert_array_equal(rows, block)


def test_trouble_of_the_driver_is_an_error(stage, monkeypatch):
    monkeypatch.setattr(pump, "driver_pump", lambda: pump.make_pump(refuse, wait_for_nothing, mark_nothing))
    with pytest.raises(RuntimeError, match="error 700"):
        arrived(stage, np.zeros((2, 3)))
