"""Connections to object storage: pyarrow's file systems, and fsspec's for what pyarrow does not have.

Credentials are those that the libraries find by themselves (environment, configuration files, instance roles), or stand
in the URI. pyarrow's own `FileSystem.from_uri` makes most connections; S3's are made here, for it would go to the
network without any limit of time.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote

from minmargin.errors import InputError, MissingExtraError, listing, missing_extra
from minmargin.pools.uris import has_stray_slash, hide, scheme_of, shown, split_uri
from minmargin.properties import cached_property

#: The first pyarrow that takes tokens of Azure.
_TOKENS_SINCE = 20

#: Schemes that pyarrow has, and what it calls them.
ARROW_SCHEMES = {
    "s3": "s3",
    "s3a": "s3",
    "gs": "gs",
    "gcs": "gs",
    "az": "abfs",
    "abfs": "abfs",
    "abfss": "abfss",
    "hdfs": "hdfs",
    "viewfs": "viewfs",
}
_HADOOP_SCHEMES = {"hdfs", "viewfs"}
# Three attempts, so that an endpoint which does not answer is given up within half a minute.
_CONNECT_SECONDS, _REQUEST_SECONDS = 3.0, 10.0
_GCS_RETRY_SECONDS = 15


def _is_true(text: str) -> bool:
    return text.lower() == "true"


def _seconds(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


_S3_OPTIONS: dict[str, Callable[[str], Any]] = {
    "region": str,
    "scheme": str,
    "endpoint_override": str,
    "anonymous": _is_true,
    "role_arn": str,
    "session_name": str,
    "external_id": str,
    "force_virtual_addressing": _is_true,
    "tls_ca_file_path": str,
    "connect_timeout": _seconds,
    "request_timeout": _seconds,
}


@dataclass(frozen=True)
class ObjectStore:
    """A file system behind a URI. Only the URI travels to other processes: each makes its own connection.

    pyarrow's file systems can be pickled, but not all of them keep their credentials or limits.

    Attributes:
        uri: the URI without its path; for fsspec, with it.
    """

    uri: str = field(repr=False)

    @cached_property
    def connection(self) -> tuple[Any, str]:
        """The pyarrow file system, and the path in it that the URI stands for."""
        try:
            return _connect(self.uri)
        except (InputError, MissingExtraError):
            raise
        except Exception as error:  # noqa: BLE001 - fsspec's file systems raise what their libraries raise
            failure = unreachable(self.uri, error)
        raise failure  # outside the handler: the cause may show the credentials

    def __getstate__(self) -> dict[str, str]:
        return {"uri": self.uri}

    @property
    def token(self) -> int:
        """What is equal for two stores of this process that are one file system."""
        handler = getattr(self.connection[0], "handler", None)  # fsspec's, one for each URI
        return id(self) if handler is None else hash(handler.fs)

    def name_of(self, path: str) -> str:
        """Return what a path in this file system is called."""
        filesystem, root = self.connection
        scheme = scheme_of(self.uri)
        if scheme not in ARROW_SCHEMES:
            return shown(filesystem.handler.fs.unstrip_protocol(path))
        if root.startswith("/"):
            return f"{scheme}://{split_uri(shown(self.uri))[0]}{path}"
        return f"{scheme}://{path}"


def open_store(uri: str, stores: dict[str, ObjectStore]) -> tuple[ObjectStore, str]:
    """Return the file system that a URI names, and the path in it; `stores` holds those that were named before."""
    if has_stray_slash(uri):
        raise InputError(
            f"The user info of {shown(uri)!r} holds a '/' or '?'. Write %2F or %3F in its place, or give the "
            "credentials in the environment."
        )
    scheme = scheme_of(uri)
    if scheme not in ARROW_SCHEMES:
        store = stores.setdefault(uri, ObjectStore(uri))
        return store, store.connection[1]
    authority, path, query = split_uri(uri)
    if not authority and scheme not in _HADOOP_SCHEMES:
        raise InputError(f"{shown(uri)!r} names no bucket. Use {scheme}://bucket/path.")
    address = f"{scheme}://{authority}?{query}"
    if address not in stores:
        stores[address] = ObjectStore(_with_region(address))
    root = stores[address].connection[1]
    whole = f"{root.rstrip('/')}/{unquote(path)}" if root else unquote(path)
    return stores[address], whole.rstrip("/") or root


def unreachable(uri: str, error: Exception) -> InputError:
    """Return the error for a URI that could not be looked at."""
    return InputError(
        f"{shown(uri)!r} cannot be reached ({reason_of(error, uri)}). "
        "Check the address, the credentials and the connection."
    )


def reason_of(error: Exception, uri: str = "") -> str:
    """Return the first line of an error, without credentials."""
    lines = str(error).strip().splitlines()
    return hide(lines[0] if lines else type(error).__name__, uri).rstrip(".")


def _connect(uri: str) -> tuple[Any, str]:
    scheme = ARROW_SCHEMES.get(scheme_of(uri))
    if scheme is None:
        return _connect_fsspec(uri)
    from pyarrow import fs  # noqa: PLC0415 - it starts the libraries of all stores

    authority, _, query = split_uri(uri)
    if scheme == "s3":
        return _connect_s3(uri, authority, query)
    if scheme == "gs" and "retry_limit_seconds" not in query:
        query += f"&retry_limit_seconds={_GCS_RETRY_SECONDS}"
    if scheme in {"abfs", "abfss"} and "." not in authority:  # what has a dot names a host
        return _connect_azure(authority, query)
    try:
        connection: tuple[Any, str] = fs.FileSystem.from_uri(f"{scheme}://{authority}/?{query.strip('&')}")
    except OSError as error:
        if scheme not in _HADOOP_SCHEMES or not _tells_of_a_library(error):
            raise
        raise MissingExtraError(
            f"{scheme}:// needs Java and Hadoop's library libhdfs, and one could not be loaded "
            f"({reason_of(error, uri)}). Install both, set JAVA_HOME and HADOOP_HOME, and start the program anew: "
            "pyarrow looks for them only once."
        ) from None
    return connection


def _tells_of_a_library(error: OSError) -> bool:
    """Return whether pyarrow could not load Java or libhdfs, or says that it could not before."""
    return any(words in str(error) for words in ("load libjvm", "load libhdfs"))


def _connect_s3(uri: str, authority: str, query: str) -> tuple[Any, str]:
    from pyarrow import fs  # noqa: PLC0415 - as above

    user_info, _, bucket = authority.rpartition("@")
    access_key, _, secret_key = user_info.partition(":")
    options: dict[str, Any] = {"connect_timeout": _CONNECT_SECONDS, "request_timeout": _REQUEST_SECONDS}
    for name, value in parse_qsl(query):
        if name not in _S3_OPTIONS:
            raise InputError(
                f"Option {name!r} of {shown(uri)!r} is not known. Use some of {listing(_S3_OPTIONS, most=20)}."
            )
        options[name] = _S3_OPTIONS[name](value)
        if options[name] is None:
            raise InputError(
                f"Option {name!r} of {shown(uri)!r} is not a number. Give seconds, as in {name}=10."
            )
    if user_info:
        options |= {"access_key": unquote(access_key), "secret_key": unquote(secret_key)}
    return fs.S3FileSystem(**options), bucket


def _with_region(uri: str) -> str:
    """Return the URI of an S3 bucket with its region, which only Amazon can tell."""
    authority, _, query = split_uri(uri)
    elsewhere = any(os.environ.get(name) for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"))
    given = {name for name, _ in parse_qsl(query)} & {"region", "endpoint_override"}
    if ARROW_SCHEMES[scheme_of(uri)] != "s3" or elsewhere or given:
        return uri
    from pyarrow import fs  # noqa: PLC0415 - as above

    region = fs.resolve_s3_region(authority.rpartition("@")[2])
    return f"{uri}&region={region}"


def _connect_azure(authority: str, query: str) -> tuple[Any, str]:
    """Return the file system of a container: pyarrow takes no key from a URI, and none from the environment."""
    import pyarrow as pa  # noqa: PLC0415 - as above
    from pyarrow import fs  # noqa: PLC0415 - as above

    user_info, _, container = authority.rpartition("@")
    name, _, key = map(unquote, user_info.partition(":"))
    account = name or _environment("AZURE_STORAGE_ACCOUNT", "AZURE_STORAGE_ACCOUNT_NAME")
    if not account:
        raise InputError(
            f"Container {container!r} needs the name of its account. Use az://account@{container}/..., or set "
            "AZURE_STORAGE_ACCOUNT."
        )
    key = key or _environment("AZURE_STORAGE_KEY", "AZURE_STORAGE_ACCOUNT_KEY")
    token = _environment("AZURE_STORAGE_SAS_TOKEN").lstrip("?")
    if token and not key and int(pa.__version__.split(".")[0]) < _TOKENS_SINCE:
        raise InputError(
            f"pyarrow {pa.__version__} takes no token of Azure, so AZURE_STORAGE_SAS_TOKEN cannot be used. Install "
            f"pyarrow {_TOKENS_SINCE} or newer, or set AZURE_STORAGE_KEY."
        )
    secret = {"account_key": key} if key else {"sas_token": token} if token else {}
    return fs.AzureFileSystem(account, **secret, **dict(parse_qsl(query))), container


def _environment(*names: str) -> str:
    """Return the first of these variables that is set, or nothing."""
    return next(filter(None, map(os.environ.get, names)), "")


def _connect_fsspec(uri: str) -> tuple[Any, str]:
    try:
        import fsspec  # noqa: PLC0415 - an extra
    except ImportError:
        raise missing_extra(f"{scheme_of(uri)}:// needs fsspec", "fsspec") from None
    from pyarrow import fs  # noqa: PLC0415 - as above

    try:
        filesystem, path = fsspec.core.url_to_fs(uri)
    except ImportError as error:
        raise MissingExtraError(f"{scheme_of(uri)}:// needs a library: {reason_of(error, uri)}.") from None
    except ValueError as error:
        if "Protocol not known" not in str(error):
            raise
        raise InputError(
            f"The scheme of {shown(uri)!r} is not known. Use one of {listing(['file', *ARROW_SCHEMES], most=20)}, "
            "or one of fsspec's."
        ) from None
    return fs.PyFileSystem(fs.FSSpecHandler(filesystem)), path
