"""Fixtures of the suites on bad input."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from complaints import (
    POOL_TABLE,
    Recorder,
)


@pytest.fixture
def recorder() -> Recorder:
    Recorder.n_fits = 0
    return Recorder()


@pytest.fixture
def parquet(tmp_path: Path) -> Path:
    pq.write_table(POOL_TABLE, tmp_path / "pool.parquet", row_group_size=50)
    return tmp_path / "pool.parquet"
