"""Stores that no test can reach: which of pyarrow's file systems a URI leads to, with which settings, unconnected."""

from __future__ import annotations

import http.server
import os
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pytest
from pyarrow import fs

import minmargin as mm
from minmargin.pools import open_pool
from minmargin.pools.stores import open_store

KEY = "bm9ib2R5J3Mga2V5Cg=="  # nobody's


@pytest.mark.parametrize("scheme", ["gs", "gcs"])
def test_google_storage(scheme: str) -> None:
    store, path = open_store(f"{scheme}://anonymous@bucket/pool/x.parquet", {})
    filesystem, root = store.connection
    assert isinstance(filesystem, fs.GcsFileSystem)
    assert (root, path) == ("bucket", "bucket/pool/x.parquet")
    assert store.name_of(path) == f"{scheme}://bucket/pool/x.parquet"


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("az://container/pool/x.parquet", "container/pool/x.parquet"),
        ("abfs://account@container/pool/x.parquet", "container/pool/x.parquet"),
        ("abfss://container@account.dfs.core.windows.net/x.parquet", "container/x.parquet"),
    ],
)
def test_azure_storage(uri: str, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT", "account")
    store, found = open_store(uri, {})
    filesystem, _ = store.connection
    assert isinstance(filesystem, fs.AzureFileSystem)
    assert filesystem == fs.AzureFileSystem("account")
    assert found.lstrip("/") == path


class _Recorder(http.server.BaseHTTPRequestHandler):
    """Knows nothing, and keeps what it was told."""

    asked: list[tuple[str, str]]

    def do_HEAD(self) -> None:
        self.asked.append((self.path, self.headers.get("Authorization", "")))
        self.send_response(404)
        self.send_header("x-ms-error-code", "BlobNotFound")
        self.end_headers()

    do_GET = do_HEAD  # noqa: N815 - the library's names

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the library's name
        pass


TAKES_TOKENS = int(pa.__version__.split(".")[0]) >= 20


@pytest.mark.parametrize(
    ("uri", "environment", "authorization", "query"),
    [
        ("az://box/x.csv", {"AZURE_STORAGE_KEY": KEY}, "SharedKey account:", ""),
        (f"az://account:{quote(KEY, safe='')}@box/x.csv", {}, "SharedKey account:", ""),
        pytest.param(
            "az://box/x.csv",
            {"AZURE_STORAGE_SAS_TOKEN": "?sv=1&sig=abc"},
            "",
            "sig=abc",
            marks=pytest.mark.skipif(not TAKES_TOKENS, reason="this pyarrow takes no token"),
        ),
    ],
    ids=["key in the environment", "key in the URI", "token in the environment"],
)
def test_credentials_reach_azure(
    uri: str, environment: dict[str, str], authorization: str, query: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server on this machine is asked for the file, in the name of the account."""
    for name, value in {"AZURE_STORAGE_ACCOUNT": "account", **environment}.items():
        monkeypatch.setenv(name, value)
    asked: list[tuple[str, str]] = []
    handler = type("Handler", (_Recorder,), {"asked": asked})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        here = f"127.0.0.1:{server.server_port}"
        places = "&".join(
            f"{kind}_storage_authority={here}&{kind}_storage_scheme=http" for kind in ("blob", "dfs")
        )
        with pytest.raises(mm.InputError) as caught:
            open_pool(f"{uri}?{places}")
        server.shutdown()
    assert asked
    assert all(header.startswith(authorization) for _, header in asked)
    assert all(query in path for path, _ in asked)
    assert KEY not in str(caught.value)
    assert "sig=abc" not in str(caught.value)


def test_a_token_that_pyarrow_would_not_take_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"AZURE_STORAGE_ACCOUNT": "account", "AZURE_STORAGE_SAS_TOKEN": "?sig=abc"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(pa, "__version__", "19.0.1")
    with pytest.raises(mm.InputError) as caught:
        open_pool("az://box/x.csv")
    assert str(caught.value) == (
        "pyarrow 19.0.1 takes no token of Azure, so AZURE_STORAGE_SAS_TOKEN cannot be used. Install pyarrow 20 or "
        "newer, or set AZURE_STORAGE_KEY."
    )


def test_azure_without_an_account_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AZURE_STORAGE_ACCOUNT", "AZURE_STORAGE_ACCOUNT_NAME"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(mm.InputError) as caught:
        open_pool("az://box/x.parquet")
    assert str(caught.value) == (
        "Container 'box' needs the name of its account. Use az://account@box/..., or set AZURE_STORAGE_ACCOUNT."
    )


@pytest.mark.parametrize(
    ("uri", "asked"),
    [
        ("hdfs://node:8020/pool/x.parquet", "hdfs://node:8020/?"),
        ("hdfs:///pool/x.parquet", "hdfs:///?"),
        ("viewfs://cluster/pool/x.parquet?user=me", "viewfs://cluster/?user=me"),
    ],
)
def test_hadoop_is_asked_for_by_its_own_scheme(uri: str, asked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    class Recorder:
        @staticmethod
        def from_uri(uri: str) -> tuple[Any, str]:
            seen.append(uri)
            return fs.LocalFileSystem(), "/"

    monkeypatch.setattr(fs, "FileSystem", Recorder)
    _, path = open_store(uri, {})
    assert (seen, path) == ([asked], "/pool/x.parquet")


_TWO_ATTEMPTS = """
    import minmargin as mm
    from minmargin.pools import open_pool

    for uri in ("hdfs://node:8020/x.parquet", "viewfs://cluster/x.parquet"):
        try:
            open_pool(uri)
        except mm.MissingExtraError as error:
            print(error)
"""


def told_without_hadoop(java: Path) -> list[str]:
    """Return what two attempts are told, in a process of their own: pyarrow looks for the libraries once in each."""
    nowhere = {
        "JAVA_HOME": str(java),
        "HADOOP_HOME": "/no/such/folder",
        "ARROW_LIBHDFS_DIR": "/no/such/folder",
    }
    command = [sys.executable, "-c", textwrap.dedent(_TWO_ATTEMPTS)]
    done = subprocess.run(command, env={**os.environ, **nowhere}, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def hadoop_needs(scheme: str, reason: str) -> str:
    return (
        f"{scheme}:// needs Java and Hadoop's library libhdfs, and one could not be loaded ({reason}). Install both, "
        "set JAVA_HOME and HADOOP_HOME, and start the program anew: pyarrow looks for them only once."
    )


def test_without_hadoop_the_error_says_what_to_install(tmp_path: Path) -> None:
    """pyarrow's own file system answers. Any library will do for Java's: it is loaded, and nothing in it is called."""
    (tmp_path / "libjvm.so").symlink_to(pa.lib.__file__)
    assert told_without_hadoop(java=tmp_path) == [
        hadoop_needs("hdfs", "Unable to load libhdfs"),
        hadoop_needs("viewfs", "Prior attempt to load libhdfs failed"),
    ]


def test_without_java_the_error_says_the_same(tmp_path: Path) -> None:
    """Where Java is installed, pyarrow finds it in the usual folders, and misses only the other library."""
    first, second = told_without_hadoop(java=tmp_path)
    assert first in {hadoop_needs("hdfs", f"Unable to load {library}") for library in ("libjvm", "libhdfs")}
    assert second == hadoop_needs("viewfs", "Prior attempt to load libhdfs failed")


def test_other_failures_of_hadoop_keep_their_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    class Refusing:
        @staticmethod
        def from_uri(_: str) -> tuple[Any, str]:
            raise OSError("HDFS connection failed")

    monkeypatch.setattr(fs, "FileSystem", Refusing)
    with pytest.raises(mm.InputError) as caught:
        open_pool("hdfs://node:8020/x.parquet")
    assert str(caught.value) == (
        "'hdfs://node:8020' cannot be reached (HDFS connection failed). "
        "Check the address, the credentials and the connection."
    )
