"""Pools in object storage: a server of the S3 protocol on this machine, files for it, and a secret to hide."""

from __future__ import annotations

import io
import threading
import traceback
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from pyarrow import csv as arrow_csv
from pyarrow import feather, fs
from werkzeug.serving import WSGIRequestHandler, make_server

import minmargin as mm
from complaints import POOL_TABLE, X

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


def written(write: Callable[[Any, Any], Any], table: Any) -> bytes:
    sink = io.BytesIO()
    write(table, sink)
    return sink.getvalue()


def parquet(table: pa.Table = POOL_TABLE, **options: Any) -> bytes:
    return written(lambda rows, sink: pq.write_table(rows, sink, **options), table)


def npy(rows: np.ndarray) -> bytes:
    return written(lambda array, sink: np.save(sink, array), rows)


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
