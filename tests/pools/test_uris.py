"""What is a URI, what is shown of it, and what its store is asked to connect to."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import fs

from minmargin.pools import is_path
from minmargin.pools.stores import ObjectStore, open_store
from minmargin.pools.uris import hide, is_uri, shown
from stored_pools import SECRET


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


# Stores that are not here: what they are asked to connect to


def test_connections_have_limits_of_time() -> None:
    filesystem, root = ObjectStore("s3://key:a%2Fb@bucket?region=r").connection
    assert root == "bucket"
    limited = {"connect_timeout": 3, "request_timeout": 10}
    assert filesystem == fs.S3FileSystem(access_key="key", secret_key="a/b", region="r", **limited)  # noqa: S106
    filesystem, root = ObjectStore("gs://anonymous@bucket?").connection
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
    store = ObjectStore(uri)
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
    stores: dict[str, ObjectStore] = {}
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
    store = ObjectStore("hdfs://user:secret@node:8020?")
    vars(store)["connection"] = (fs.LocalFileSystem(), "/")  # there is no Hadoop here
    assert store.name_of("/pool/x.parquet") == "hdfs://node:8020/pool/x.parquet"
