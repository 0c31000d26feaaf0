"""What goes wrong with pools in storage is named, in bounded time, without credentials."""

from __future__ import annotations

import logging
import socket
import time

import numpy as np
import pytest

import minmargin as mm
from complaints import LABELED_FRAME, POOL_TABLE, complaint, pick
from minmargin.pools import open_pool
from minmargin.pools.files import FilePool
from stored_pools import CONTENTS, QUOTED, S3, SECRET, assert_hidden, npy, parquet


def test_nothing_at_an_address_is_told(s3: S3, parts: list[str]) -> None:
    assert (
        complaint(pool=s3.uri("nobucket/x.parquet"))
        == "There is no file or folder 's3://nobucket/x.parquet'."
    )
    assert (
        complaint(pool=s3.uri("pool/none.parquet")) == "There is no file or folder 's3://pool/none.parquet'."
    )
    assert complaint(pool=s3.uri("pool/parts/z*.parquet")) == "No file matches 's3://pool/parts/z*.parquet'."
    assert complaint(pool=s3.uri("po*/x.parquet")) == (
        "'s3://po*/x.parquet' has a wildcard in place of a bucket. Name the bucket."
    )
    assert complaint(pool="s3:///x.parquet") == "'s3:///x.parquet' names no bucket. Use s3://bucket/path."
    assert complaint(pool=s3.uri("pool/parts/readme.txt")) == (
        "'s3://pool/parts/readme.txt' is not in a format that can be read. "
        "Use one of '.arrow', '.csv', '.feather', '.ipc', '.npy', '.parquet', '.pq', '.tsv'."
    )
    s3.put("pool/notes/readme.txt", b"nothing here")
    assert complaint(pool=s3.uri("pool/notes")) == (
        "Folder 's3://pool/notes' holds no file in a format that can be read."
    )


def test_an_unknown_scheme_or_option_is_told() -> None:
    assert complaint(pool=f"xyz://key:{SECRET}@bucket/x.csv") == (
        "The scheme of 'xyz://bucket/x.csv' is not known. Use one of 'file', 's3', 's3a', 'gs', 'gcs', 'az', 'abfs', "
        "'abfss', 'hdfs', 'viewfs', or one of fsspec's."
    )
    assert complaint(pool=f"s3://bucket/x.csv?region=r&request_timeout={SECRET}") == (
        "Option 'request_timeout' of 's3://bucket' is not a number. Give seconds, as in request_timeout=10."
    )
    assert complaint(pool=f"s3://bucket/x.csv?region=r&token={SECRET}") == (
        "Option 'token' of 's3://bucket' is not known. Use some of 'region', 'scheme', 'endpoint_override', "
        "'anonymous', 'role_arn', 'session_name', 'external_id', 'force_virtual_addressing', 'tls_ca_file_path', "
        "'connect_timeout', 'request_timeout'."
    )


def test_a_raw_slash_in_a_secret_key_is_told() -> None:
    assert complaint(pool="s3://key:abc/def@bucket/x.csv") == (
        "The user info of 's3://bucket/x.csv' holds a '/' or '?'. Write %2F or %3F in its place, or give the "
        "credentials in the environment."
    )


def test_a_secret_in_a_uri_is_in_no_error(s3: S3, parts: list[str], caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    s3.put("pool/damaged/x.parquet", b"PAR1 but no more PAR1")
    s3.put("pool/damaged/x.feather", b"ARROW1 but no more ARROW1")
    s3.put("pool/damaged/x.npy", b"\x93NUMPY but no more")
    s3.put("pool/damaged/short.npy", CONTENTS["rows.npy"][:-8])
    s3.put("pool/damaged/objects.npy", npy(np.array([[{}]], dtype=object)))
    s3.put("pool/mixed/x.parquet", parquet())
    s3.put("pool/mixed/x.csv", CONTENTS["plain.csv"])
    s3.put("pool/columns/x.parquet", parquet())
    s3.put("pool/columns/y.parquet", parquet(POOL_TABLE.drop_columns("c")))
    s3.put("pool/empty/x.parquet", parquet(POOL_TABLE.slice(0, 0)))
    user_info = f"key:{QUOTED}@"
    sources = [
        s3.uri(path, user_info=user_info)
        for path in (
            "nobucket/x.parquet",
            "nobucket/*.parquet",
            "pool/none.parquet",
            "pool/parts/z*.parquet",
            "pool/parts/readme.txt",
            "pool/damaged/x.parquet",
            "pool/damaged/x.feather",
            "pool/damaged/x.npy",
            "pool/damaged/short.npy",
            "pool/damaged/objects.npy",
            "pool/mixed",
            "pool/columns",
            "pool/empty",
            "pool/parts/a.parquet",  # which is smaller than the batch
        )
    ]
    sources += [
        s3.uri("pool/parts", more=f"&token={QUOTED}"),
        s3.uri("pool/parts", more=f"&request_timeout={QUOTED}"),
        f"s3://{user_info}/x.parquet",
        f"xyz://{user_info}bucket/x.parquet",
        f"gs://{user_info}buc ket/x.parquet",
        f"gs://bucket/x.parquet?token={QUOTED}",
        f"az://{user_info}bucket/x.parquet?token={QUOTED}&enable_tls={QUOTED}",
        f"hdfs://{user_info}127.0.0.1:1/x.parquet?token={QUOTED}",
        f"ftp://{user_info}127.0.0.1:1/x.parquet",
        f"simplecache::s3://{user_info}bucket/x.parquet?endpoint_override={QUOTED}",
    ]
    for source in sources:
        for pool in (source, [source]):
            assert_hidden(lambda pool=pool: pick(LABELED_FRAME, pool=pool, batch_size=100))
    changed = FilePool(s3.uri("pool/mixed/x.parquet", user_info=user_info))
    s3.put("pool/mixed/x.parquet", parquet(row_group_size=7))
    assert_hidden(lambda: list(changed.chunks(None, 1000)))
    assert SECRET not in repr(changed.files[0].location)
    assert SECRET not in caplog.text


def test_denied_credentials_are_told(s3: S3, parts: list[str]) -> None:
    s3.allow("0")
    try:
        told = assert_hidden(lambda: open_pool(s3.uri("pool/parts/*.parquet", user_info=f"key:{QUOTED}@")))
        assert told.startswith("'s3://pool/parts/*.parquet' cannot be reached (")
        assert told.endswith(". Check the address, the credentials and the connection.")
        assert "ACCESS_DENIED" in told or "403" in told
    finally:
        s3.allow("1000000")


def test_a_server_that_goes_away_is_told_in_bounded_time(s3: S3) -> None:
    s3.put("pool/away.parquet", CONTENTS["groups.parquet"])
    other = S3.start()
    pool = FilePool(other.uri("pool/away.parquet"))
    chunks = pool.chunks(None, 1000)
    next(chunks)
    other.stop()
    began = time.monotonic()
    with pytest.raises(mm.InputError) as caught:
        list(chunks)
    assert time.monotonic() - began < 60
    told = str(caught.value)
    assert told.startswith("'s3://pool/away.parquet' cannot be read as Parquet (")
    assert told.endswith("). Check the file, the credentials and the connection; nothing was written.")
    with pytest.raises(mm.InputError, match=r"^'s3://pool/away.parquet' cannot be reached \("):
        open_pool(other.uri("pool/away.parquet"))


def test_a_server_that_does_not_answer_is_given_up(s3: S3) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        uri = (
            f"s3://pool/x.parquet?endpoint_override=127.0.0.1:{silent.getsockname()[1]}&scheme=http&region=r"
        )
        began = time.monotonic()
        told = assert_hidden(lambda: open_pool(f"{uri}&request_timeout=1"))
        assert time.monotonic() - began < 60
    assert told.startswith("'s3://pool/x.parquet' cannot be reached (")
