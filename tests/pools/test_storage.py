"""Pools in object storage: the same batch as from disk, clear errors, and no credentials in anything that is shown."""

from __future__ import annotations

import http.server
import io
import json
import logging
import os
import pickle
import socket
import subprocess
import sys
import threading
import time
import traceback
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from pyarrow import csv as arrow_csv
from pyarrow import feather, fs
from werkzeug.serving import WSGIRequestHandler, make_server

import minmargin as mm
from complaints import LABELED, LABELED_FRAME, LABELS, POOL_TABLE, X, complaint, pick
from minmargin.pools import find_files, is_path, open_pool, read_frame
from minmargin.pools.files import FilePool
from minmargin.pools.stores import Store, open_store
from minmargin.pools.uris import hide, is_uri, shown

SECRET = "wJalrXUtnFEMI+bPxRfiCYEXAMPLEKEY"  # noqa: S105 - nobody's
QUOTED = SECRET.replace("+", "%2B")


class _Quiet(WSGIRequestHandler):
    def log(self, type: str, message: str, *args: Any) -> None:  # noqa: A002 - werkzeug's name
        pass


@dataclass
class S3:
    """An S3 server on this machine, and what it was asked for."""

    port: int = 0
    served: list[tuple[str, str, int]] = field(default_factory=list)
    stop: Callable[[], None] = lambda: None

    @classmethod
    def start(cls) -> S3:
        server = cls()
        moto = DomainDispatcherApplication(create_backend_app)

        def counted(environ: Any, start_response: Any) -> Any:
            content = list(moto(environ, start_response))
            server.served.append(
                (environ["REQUEST_METHOD"], environ["PATH_INFO"], sum(len(part) for part in content))
            )
            return content

        web = make_server("127.0.0.1", 0, counted, threaded=True, request_handler=_Quiet)
        thread = threading.Thread(target=web.serve_forever, daemon=True)
        thread.start()

        def stop() -> None:
            web.shutdown()
            web.server_close()
            thread.join()

        server.port, server.stop = web.server_port, stop
        return server

    @property
    def filesystem(self) -> Any:
        return fs.S3FileSystem(
            access_key="tester",
            secret_key="anything",  # noqa: S106 - the server takes any
            endpoint_override=f"http://127.0.0.1:{self.port}",
            region="us-east-1",
            allow_bucket_creation=True,
        )

    def uri(self, path: str, *, user_info: str = "", more: str = "") -> str:
        options = f"endpoint_override=127.0.0.1:{self.port}&scheme=http&region=us-east-1{more}"
        return f"s3://{user_info}{path}?{options}"

    def put(self, path: str, content: bytes) -> str:
        with self.filesystem.open_output_stream(path) as file:
            file.write(content)
        return self.uri(path)

    def allow(self, n_requests: str) -> None:
        """Take any credentials for so many requests more, and none of those that this suite has after that."""
        address = f"http://127.0.0.1:{self.port}/moto-api/reset-auth"
        request = urllib.request.Request(address, n_requests.encode(), {"Content-Type": "text/plain"})
        urllib.request.urlopen(request).close()  # noqa: S310 - our own server

    def bytes_read(self) -> int:
        return sum(size for method, _, size in self.served if method == "GET")


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


def written(write: Callable[[Any, Any], Any], table: Any) -> bytes:
    sink = io.BytesIO()
    write(table, sink)
    return sink.getvalue()


def parquet(table: pa.Table = POOL_TABLE, **options: Any) -> bytes:
    return written(lambda rows, sink: pq.write_table(rows, sink, **options), table)


def npy(rows: np.ndarray) -> bytes:
    return written(lambda array, sink: np.save(sink, array), rows)


def assert_same(batch: mm.Batch, reference: mm.Batch) -> None:
    assert batch.rows.tolist() == reference.rows.tolist()
    assert batch.scores.tolist() == reference.scores.tolist()


@pytest.fixture(scope="module")
def reference() -> mm.Batch:
    return pick(LABELED, pool=X, batch_size=20)


# What is a URI, and what is shown of it


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("s3://bucket/a b/é.parquet", "s3://bucket/a b/é.parquet"),
        (f"s3://key:{SECRET}@bucket/x.csv?region=r", "s3://bucket/x.csv"),
        ("s3://key:abc/def+g@bucket/x.csv", "s3://bucket/x.csv"),
        ("s3://key:abc?def@bucket/x.csv", "s3://bucket/x.csv"),
        ("s3://bucket/user@home/x.csv", "s3://bucket/user@home/x.csv"),
        ("hdfs://node:8020/user@home/x.csv", "hdfs://node:8020/user@home/x.csv"),
        ("http://node:80/x.csv?signature=abcdef@g", "http://node:80/x.csv"),
        (f"simplecache::s3://key:{SECRET}@bucket/x.csv?a=b", "simplecache::s3://bucket/x.csv"),
        (f"zip://x.csv::http://key:{SECRET}@node/x.zip?a=b", "zip://x.csv::http://node/x.zip"),
        ("C:/pool/x.csv", "C:/pool/x.csv"),
        ("C://pool/x.csv", "C://pool/x.csv"),
        ("pool/what?.csv", "pool/what?.csv"),
        (Path("pool/x.csv"), "pool/x.csv"),
    ],
)
def test_user_info_and_query_are_cut_off(source: str, expected: str) -> None:
    assert shown(source) == expected


@given(
    secret=st.text("abcXYZ0189/+:?#=%", min_size=8).map(lambda text: f"Q{text}Q"),
    scheme=st.sampled_from(["s3", "gs", "abfs", "ftp", "http"]),
)
def test_no_secret_of_a_uri_is_shown(secret: str, scheme: str) -> None:
    for uri in (
        f"{scheme}://key:{secret}@bucket/x.csv",
        f"{scheme}://bucket/x.csv?token={secret}",
        f"{scheme}://key:{secret}@bucket/x.csv?region=r&token={secret}",
    ):
        assert "Q" not in shown(uri)
        assert "Q" not in hide(f"cannot parse '{uri}' at {secret}: bad", uri)


@pytest.mark.parametrize(
    "path", ["C:\\pool\\x.csv", "C:/x.csv", "c://x.csv", "a:b.csv", "s3:/bucket/x.csv", "x.csv"]
)
def test_drive_letters_and_colons_are_no_schemes(path: str) -> None:
    assert not is_uri(path)


def test_a_list_of_uris_names_files_and_a_list_of_links_is_text() -> None:
    assert is_path(["s3://bucket/x.parquet?region=r", "gs://bucket/folder"])
    assert not is_path(["http://example.org/a", "http://example.org/b"])


# From disk: as ever


def test_paths_on_disk_connect_to_nothing(
    tmp_path: Path, reference: mm.Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(uri: str) -> None:
        pytest.fail(f"connected to {uri}")

    monkeypatch.setattr("minmargin.pools.stores._connect", refuse)
    folder = tmp_path / "ä b:c" / "d"
    folder.mkdir(parents=True)
    path = folder / "pool%20.parquet"
    path.write_bytes(parquet())
    for source in (path, str(path), f"{folder}/*.parquet", f"{folder}/../d", folder, [path]):
        assert_same(pick(LABELED_FRAME, pool=source, batch_size=20), reference)


def test_a_file_uri_is_a_path(tmp_path: Path, reference: mm.Batch) -> None:
    folder = tmp_path / "a b"
    folder.mkdir()
    (folder / "pool.parquet").write_bytes(parquet())
    for source in (f"{folder.as_uri()}/pool.parquet", f"{folder.as_uri()}/*.parquet", f"file://{folder}"):
        batch = pick(LABELED_FRAME, pool=source, batch_size=20)
        assert_same(batch, reference)
        assert batch.manifest["pool"]["source"] == source
        assert find_files(source) == [folder / "pool.parquet"]
    assert complaint(pool="file://elsewhere/x.csv") == (
        "'file://elsewhere/x.csv' is on another machine. Use file:///path for files on this one."
    )


def test_files_on_this_machine_are_found_without_asking_storage(tmp_path: Path) -> None:
    (tmp_path / "x.csv").touch()
    assert find_files(["s3://nowhere/x.csv", tmp_path / "x.csv"]) == [tmp_path / "x.csv"]


# From S3: every format, and every way to name files

CONTENTS: dict[str, bytes] = {
    "whole.parquet": parquet(),
    "groups.parquet": parquet(row_group_size=13),
    "plain.csv": written(arrow_csv.write_csv, POOL_TABLE),
    "batches.feather": written(
        lambda rows, sink: feather.write_feather(rows, sink, chunksize=13), POOL_TABLE
    ),
    "rows.npy": npy(X),
    "columns.npy": npy(np.asfortranarray(X)),
}


@pytest.mark.parametrize("name", CONTENTS)
def test_every_format_gives_the_batch_of_the_local_file(
    s3: S3, tmp_path: Path, reference: mm.Batch, name: str
) -> None:
    uri = s3.put(f"pool/formats/{name}", CONTENTS[name])
    (tmp_path / name).write_bytes(CONTENTS[name])
    labeled = LABELED if name.endswith(".npy") else LABELED_FRAME
    stored = pick(labeled, pool=uri, batch_size=20, chunk_size=40)
    assert_same(stored, pick(labeled, pool=tmp_path / name, batch_size=20, chunk_size=40))
    assert_same(stored, reference)
    assert stored.manifest["pool"]["source"] == f"s3://pool/formats/{name}"


def test_compressed_csv_is_read_by_its_suffix(s3: S3, reference: mm.Batch) -> None:
    path = "pool/gz/pool.csv.gz"
    with s3.filesystem.open_output_stream(path, compression="gzip") as file:
        arrow_csv.write_csv(POOL_TABLE, file)
    assert_same(pick(LABELED_FRAME, pool=s3.uri(path), batch_size=20), reference)


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


def test_a_folder_a_glob_and_a_list_are_read_in_path_order(
    s3: S3, parts: list[str], reference: mm.Batch
) -> None:
    for source in (
        s3.uri("pool/parts"),
        s3.uri("pool/parts/"),
        s3.uri("pool/parts/[abc]*"),
        s3.uri("pool/par*/**/[!_]*.parquet"),
        parts,
        [*parts, s3.uri("pool/parts/b/*.parquet")],
    ):
        assert_same(pick(LABELED_FRAME, pool=source, batch_size=20), reference)


def test_the_labeled_set_can_be_in_storage_too(s3: S3, parts: list[str], reference: mm.Batch) -> None:
    labeled = s3.put(
        "pool/labeled.parquet",
        parquet(POOL_TABLE.take(np.arange(0, 150, 5)).append_column("y", pa.array(LABELS))),
    )
    assert_same(pick(labeled, "y", s3.uri("pool/parts"), 20), reference)
    assert len(read_frame(labeled)) == 30


def test_escapes_and_spaces_in_a_uri_name_the_same_key(s3: S3, reference: mm.Batch) -> None:
    s3.put("pool/a b/ü?.parquet", parquet())
    for name in ("a b/ü%3F.parquet", "a%20b/%C3%BC%3F.parquet", "a b/*.parquet"):
        assert_same(pick(LABELED_FRAME, pool=s3.uri(f"pool/{name}"), batch_size=20), reference)


def test_a_uri_can_hold_the_credentials(s3: S3, parts: list[str], reference: mm.Batch) -> None:
    batch = pick(LABELED_FRAME, pool=s3.uri("pool/parts", user_info=f"key:{QUOTED}@"), batch_size=20)
    assert_same(batch, reference)
    assert SECRET not in json.dumps(batch.manifest)
    assert batch.manifest["pool"]["source"] == "s3://pool/parts"


def test_only_needed_columns_are_read(s3: S3) -> None:
    random = np.random.default_rng(0)
    wide = pa.table({name: random.random(5000) for name in "abcdefghijklmnop"})
    for name, content in (
        ("wide.parquet", parquet(wide, compression="none")),
        (
            "wide.feather",
            written(lambda t, sink: feather.write_feather(t, sink, compression="uncompressed"), wide),
        ),
    ):
        pool = FilePool(s3.put(f"pool/{name}", content))
        s3.served.clear()
        rows = list(pool.chunks({"a": "number", "c": "number"}, 1000))
        assert rows[0].columns == ["a", "c"]
        assert 0 < s3.bytes_read() < len(content) / 4


def test_the_parts_of_a_row_group_are_asked_for_at_once(s3: S3) -> None:
    many = pa.table({f"column {i}": np.arange(500.0) for i in range(50)})
    pool = FilePool(s3.put("pool/many.parquet", parquet(many)))
    s3.served.clear()
    assert sum(len(rows) for rows in pool.chunks(None, 1000)) == 500
    assert sum(method == "GET" for method, _, _ in s3.served) <= 4


# fsspec


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


# Groups, other processes, and files that change


def test_remote_groups_one_by_one_are_all_rows(s3: S3, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("minmargin.pools.npy._GROUP", 40)
    for name in ("groups.parquet", "batches.feather", "rows.npy", "columns.npy"):
        (file,) = FilePool(s3.put(f"pool/groups/{name}", CONTENTS[name])).files
        assert file.groups is not None
        assert sum(file.groups) == file.n_rows == 150
        whole = np.concatenate([np.asarray(rows) for rows in file.chunks(None, 1000)])
        one_by_one = [list(file.chunks(None, 1000, range(n, n + 1))) for n in range(len(file.groups))]
        assert [sum(map(len, rows)) for rows in one_by_one] == list(file.groups)
        assert np.array_equal(
            np.concatenate([np.asarray(rows) for part in one_by_one for rows in part]), whole
        )
        assert np.array_equal(whole, X)


READ_PICKLED = """
import pickle, sys
pool = pickle.load(sys.stdin.buffer)
print([sum(len(rows) for rows in file.chunks(None, 1000)) for file in pool.files])
"""


def test_a_pickled_pool_is_read_by_another_process(s3: S3, tmp_path: Path, parts: list[str]) -> None:
    (tmp_path / "pool.parquet").write_bytes(CONTENTS["groups.parquet"])
    with_credentials = s3.uri("pool/parts", user_info="key:anything@")
    for source, counts in (
        (tmp_path, [150]),
        (s3.uri("pool/parts"), [40, 50, 60]),
        (with_credentials, [40, 50, 60]),
    ):
        pool = FilePool(source)
        list(pool.chunks(None, 1000))
        content = pickle.dumps(pool)
        assert SECRET.encode() not in content  # those of the environment are found there again
        done = subprocess.run(
            [sys.executable, "-c", READ_PICKLED],
            input=content,
            capture_output=True,
            check=True,
            env=os.environ,
        )
        assert json.loads(done.stdout) == counts


def test_a_stored_file_that_was_replaced_is_named(s3: S3) -> None:
    pool = FilePool(s3.put("pool/replaced.parquet", CONTENTS["groups.parquet"]))
    assert len(list(pool.chunks(None, 1000))) == 12
    s3.put("pool/replaced.parquet", parquet(POOL_TABLE.take(np.arange(150)[::-1]), row_group_size=13))
    with pytest.raises(mm.InputError, match=r"^'s3://pool/replaced.parquet' was replaced or changed since"):
        list(pool.chunks(None, 1000))
    s3.filesystem.delete_file("pool/replaced.parquet")
    with pytest.raises(
        mm.InputError, match=r"^'s3://pool/replaced.parquet' was removed since it was opened\. "
    ):
        list(pool.chunks(None, 1000))


def test_the_fingerprint_of_stored_files_changes_with_them(s3: S3) -> None:
    uri = s3.put("pool/printed.parquet", CONTENTS["whole.parquet"])
    s3.served.clear()
    before = open_pool(uri).describe()
    assert open_pool(uri).describe() == before
    s3.put("pool/printed.parquet", parquet(POOL_TABLE.take(np.arange(150)[::-1])))
    assert open_pool(uri).describe()["fingerprint"] != before["fingerprint"]


# Faults: named, in bounded time, without credentials


def assert_hidden(call: Callable[[], Any]) -> str:
    """Return the message of the error that `call` raises; nothing of it shows the secret."""
    with pytest.raises((mm.InputError, mm.MissingExtraError)) as caught:
        call()
    told = (
        "".join(traceback.format_exception(caught.value))
        + repr(caught.value)
        + repr(caught.value.__context__)
    )
    # A traceback shows lines of this file, where the secret stands by its name only.
    assert SECRET not in told
    assert QUOTED not in told
    return str(caught.value)


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


# Stores that are not here: what they are asked to connect to


def test_connections_have_limits_of_time() -> None:
    filesystem, root = Store("s3://key:a%2Fb@bucket?region=r").connection
    assert root == "bucket"
    limited = {"connect_timeout": 3, "request_timeout": 10}
    assert filesystem == fs.S3FileSystem(access_key="key", secret_key="a/b", region="r", **limited)  # noqa: S106
    filesystem, root = Store("gs://anonymous@bucket?").connection
    assert root == "bucket"
    assert filesystem == fs.FileSystem.from_uri("gs://anonymous@bucket/?retry_limit_seconds=15")[0]
    assert filesystem != fs.FileSystem.from_uri("gs://anonymous@bucket/")[0]


@pytest.mark.parametrize(
    "uri", ["az://container", "abfs://account@container", "abfs://container@account.dfs.core.windows.net"]
)
def test_azure_takes_its_account_from_the_uri_or_the_environment(
    uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT", "account")
    store = Store(uri)
    filesystem, root = store.connection
    assert (type(filesystem).__name__, root.strip("/")) == ("AzureFileSystem", "container")
    assert filesystem == fs.AzureFileSystem("account")
    assert store.name_of("container/x.parquet") == f"{uri.partition(':')[0]}://container/x.parquet"


def test_amazon_is_asked_once_where_a_bucket_is(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def resolve(bucket: str) -> str:
        asked.append(bucket)
        return "eu-north-1"

    monkeypatch.setattr("pyarrow.fs.resolve_s3_region", resolve)
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    stores: dict[str, Store] = {}
    first, path = open_store("s3://key:secret@bucket/a.csv", stores)
    second, _ = open_store("s3://key:secret@bucket/b.csv", stores)
    assert (asked, path, first is second) == (["bucket"], "bucket/a.csv", True)
    elsewhere = pickle.loads(pickle.dumps(first))  # noqa: S301 - our own
    assert elsewhere.connection[0].region == "eu-north-1"
    assert asked == ["bucket"]
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    open_store("s3://bucket/a.csv", {})
    assert asked == ["bucket"]


def test_a_host_stays_in_the_names_of_its_files() -> None:
    store = Store("hdfs://user:secret@node:8020?")
    vars(store)["connection"] = (fs.LocalFileSystem(), "/")  # there is no Hadoop here
    assert store.name_of("/pool/x.parquet") == "hdfs://node:8020/pool/x.parquet"
