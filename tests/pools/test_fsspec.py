"""Pools in storage that pyarrow does not know: read through fsspec, as the same batch."""

from __future__ import annotations

import http.server
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minmargin as mm
from complaints import LABELED, LABELED_FRAME, POOL_TABLE, pick
from iris_files import assert_same
from minmargin.pools import open_pool
from stored_pools import CONTENTS, QUOTED, SECRET, assert_hidden, parquet


@pytest.fixture
def memory() -> Iterator[Any]:
    import fsspec  # noqa: PLC0415 - here, so that a missing extra breaks these tests only

    filesystem = fsspec.filesystem("memory")
    yield filesystem
    filesystem.store.clear()


@pytest.mark.parametrize("name", CONTENTS)
def test_what_pyarrow_lacks_is_read_through_fsspec(memory: Any, reference: mm.Batch, name: str) -> None:
    memory.pipe(f"/folder/{name}", CONTENTS[name])
    labeled = LABELED if name.endswith(".npy") else LABELED_FRAME
    file, glob = f"memory://folder/{name}", f"memory://folder/*{Path(name).suffix}"
    for source in (file, glob, "memory://folder", [file, glob, file]):
        assert_same(pick(labeled, pool=source, batch_size=20), reference)


def test_without_times_and_tags_a_fingerprint_looks_at_the_content(memory: Any) -> None:
    memory.pipe("/x.parquet", CONTENTS["whole.parquet"])
    before = open_pool("memory://x.parquet").describe()["fingerprint"]
    assert open_pool("memory://x.parquet").describe()["fingerprint"] == before
    memory.pipe("/x.parquet", parquet(POOL_TABLE.take(np.arange(150)[::-1])))
    assert open_pool("memory://x.parquet").describe()["fingerprint"] != before


def test_a_signed_link_is_read_and_not_shown(tmp_path: Path, reference: mm.Batch) -> None:
    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args, directory=str(tmp_path))

        def log_message(self, *args: Any) -> None:
            pass

    (tmp_path / "pool.csv").write_bytes(CONTENTS["plain.csv"])
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 no PAR1")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            link = f"http://127.0.0.1:{server.server_port}"
            batch = pick(LABELED_FRAME, pool=f"{link}/pool.csv?signature={QUOTED}", batch_size=20)
            assert_same(batch, reference)
            assert batch.manifest["pool"]["source"] == f"{link}/pool.csv"
            for name in ("bad.parquet", "none.parquet"):
                assert_hidden(lambda name=name: open_pool(f"{link}/{name}?signature={QUOTED}"))
        finally:
            server.shutdown()
            thread.join()


def test_a_missing_fsspec_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(mm.MissingExtraError) as caught:
        open_pool(f"memory://user:{SECRET}@x.csv")
    assert str(caught.value) == (
        "memory:// needs fsspec, which is not installed. Use pip install 'minmargin[fsspec]'."
    )
