"""What the suites of stored pools share: a server, the pool in parts on it, and the batch that must come out."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import minmargin as mm
from complaints import LABELED, POOL_TABLE, X, pick
from stored_pools import S3, SECRET, parquet


@pytest.fixture(scope="module")
def s3() -> Iterator[S3]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ACCESS_KEY_ID", "tester")
        patch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
        patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        server = S3.start()
        server.filesystem.create_dir("pool")
        yield server
        server.stop()


@pytest.fixture(scope="module")
def reference() -> mm.Batch:
    return pick(LABELED, pool=X, batch_size=20)


@pytest.fixture(scope="module")
def parts(s3: S3) -> list[str]:
    """The pool in three files, not in the order of their names, and files that are none of the pool's."""
    rows = {"b/0.parquet": slice(40, 90), "c.parquet": slice(90, 150), "a.parquet": slice(0, 40)}
    for name in ("_SUCCESS", "_metadata.parquet", ".hidden.parquet", "readme.txt"):
        s3.put(f"pool/parts/{name}", b"not a pool file")
    return [
        s3.put(f"pool/parts/{name}", parquet(POOL_TABLE.slice(part.start, part.stop - part.start)))
        for name, part in rows.items()
    ]
