"""Ways to a server: addresses, certificates, proxies, and the token, of which no message shows a part."""

from __future__ import annotations

import json
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

import minmargin as mm
from made_up_batch import made_up_batch
from minmargin.integrations.items import Showing
from minmargin.integrations.label_studio import LabelStudioError, pull, push
from minmargin.integrations.label_studio.address import Address
from minmargin.integrations.label_studio.tokens import Secrets
from played_answers import SECRET, UNKNOWN, Answer, answer_with, complaint

Start = Callable[[Answer], str]


@pytest.mark.parametrize("status", [401, 403, 400, 500])
@pytest.mark.parametrize("cut", [4, 7, 12, 30, None])
@pytest.mark.parametrize(
    "write",
    [
        str,
        str.upper,
        " ".join,
        lambda part: "".join(f"%{ord(letter):02x}" for letter in part),
        lambda part: part[::-1],
    ],
    ids=["as it is", "capitals", "spaced", "percent", "backwards"],
)
def test_no_part_of_the_token_is_repeated_from_a_server(
    answering: Start, status: int, cut: int | None, write: Callable[[str], str]
) -> None:
    part = write(SECRET[3:][:cut])
    url = answering(answer_with(status, json.dumps({"detail": f"Not {part} here"}).encode()))
    message = complaint(
        lambda: pull(url=url, project="mine", token=SECRET),
        mm.InputError if status in {401, 403} else LabelStudioError,
    )
    assert message.startswith(
        f"Label Studio at {url} refuses the token ({status}). "
        if status in {401, 403}
        else f"Label Studio at {url} failed ({status}) when it was asked for its projects."
    )


def test_a_short_lived_token_is_not_repeated_either(answering: Start) -> None:
    short_lived = "abcd-short-lived-0123456789"

    def answer(request: BaseHTTPRequestHandler) -> None:
        if request.path == "/api/token/refresh/":
            answer_with(200, json.dumps({"access": short_lived}).encode())(request)
        else:
            answer_with(500, json.dumps({"detail": short_lived[5:20]}).encode())(request)

    url = answering(answer)
    message = complaint(lambda: pull(url=url, project="mine", token=UNKNOWN), LabelStudioError)
    assert message == f"Label Studio at {url} failed (500) when it was asked for its projects."


def test_words_without_a_token_are_shown() -> None:
    secrets = Secrets(SECRET)
    assert not secrets.are_in("Authentication credentials were not provided")
    assert not secrets.are_in_address("https://labels.example.com:8443")


@pytest.mark.parametrize(
    "url",
    [
        "http://me:hunter2@localhost:8080",
        "ftp://me:hunter2@example.com",
        "me:hunter2@example.com",
        "https://hunter2@example.com",
        "https://example.com/?token=hunter2",
        "http://[me:hunter2@::1",
    ],
)
def test_a_password_in_an_address_is_never_shown(
    url: str, run_command: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("LABEL_STUDIO_API_KEY", SECRET)
    code, out, err = run_command(
        "label-studio", "pull", "--project", "x", "--out", tmp_path / "x.csv", "--url", url
    )
    assert (code, out) == (1, "")
    assert err == (
        "minmargin: The server's address holds more than a host and a path. Leave out names, passwords and what "
        "follows a question mark.\n"
    )


@pytest.mark.parametrize("url", ["localhost:8080", "http://", "http://[::1", "http://a:99999", "http://a b"])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(mm.InputError) as caught:
        Address.of(url, insecure=True)
    assert str(caught.value) == (
        f"{url!r} is no address of a server. Let it begin with http:// or https:// as in a browser."
    )


@pytest.mark.parametrize(
    "url", ["http://labels.example.com", "http://192.168.1.7:8080", "http://[2001:db8::1]/labels"]
)
def test_plain_http_to_another_machine_takes_a_word(url: str) -> None:
    message = (
        f"{url} would get the token and the rows unencrypted. Use https://, or --insecure if you trust everyone on the "
        "way there."
    )
    for call in (
        lambda: pull(url=url, project="mine", token=SECRET),
        lambda: push(Showing.of(made_up_batch(1)), url=url, project="mine", token=SECRET),
    ):
        with pytest.raises(mm.InputError) as caught:
            call()
        assert str(caught.value) == message
    assert str(Address.of(url, insecure=True)) == url


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost:1",
        "http://127.0.0.1",
        "http://127.8.9.1",
        "http://[::1]:1",
        "http://a.localhost",
        "https://a.b",
    ],
)
def test_this_machine_and_https_take_none(url: str) -> None:
    assert str(Address.of(url)) == url


def test_a_server_is_reached_by_ipv6() -> None:
    class Server(ThreadingHTTPServer):
        address_family = socket.AF_INET6

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer_with(200, b'{"count": 0, "results": []}')(self)

        def log_message(self, *args: object) -> None:
            """Keep quiet."""

    try:
        server = Server(("::1", 0), Handler)
    except OSError:
        pytest.skip("this machine has no IPv6")
    Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
    url = f"http://[::1]:{server.server_port}"
    with pytest.raises(mm.InputError) as caught:
        pull(url=url, project="mine", token=SECRET)
    server.shutdown()
    server.server_close()
    assert str(caught.value) == f"Label Studio at {url} has no project 'mine'. It has none."


@contextmanager
def encrypted(folder: Path) -> Iterator[tuple[str, Path]]:
    """Give the address of an https server, and the file of its certificate, which nobody but itself has signed."""
    x509 = pytest.importorskip("cryptography.x509")
    from datetime import UTC, datetime, timedelta  # noqa: PLC0415 - for this alone
    from ipaddress import ip_address  # noqa: PLC0415 - as above

    from cryptography.hazmat.primitives import hashes, serialization  # noqa: PLC0415 - may not be installed
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415 - as above

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "played")])
    names = [x509.IPAddress(ip_address("127.0.0.1")), x509.DNSName("labels.invalid")]
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    secret = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    file = folder / "certificate.pem"
    file.write_bytes(certificate.public_bytes(pem))
    (folder / "key.pem").write_bytes(secret)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer_with(200, b'{"count": 0, "results": []}')(self)

        def log_message(self, *args: object) -> None:
            """Keep quiet."""

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file, folder / "key.pem")

    class Server(ThreadingHTTPServer):
        def handle_error(self, *_: object) -> None:
            """Keep quiet of clients that do not trust it."""

    server = Server(("127.0.0.1", 0), Handler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
    yield f"https://127.0.0.1:{server.server_port}", file
    server.shutdown()
    server.server_close()


def test_a_certificate_of_ones_own_has_to_be_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    with encrypted(tmp_path) as (url, file):
        message = complaint(lambda: pull(url=url, project="mine", token=SECRET), LabelStudioError)
        assert message == (
            f"The certificate of {url} is not trusted (self-signed certificate). If it is your server, name the file "
            "of the authority that signed it in SSL_CERT_FILE."
        )
        monkeypatch.setenv("SSL_CERT_FILE", str(file))
        with pytest.raises(mm.InputError) as caught:
            pull(url=url, project="mine", token=SECRET)
        assert str(caught.value) == f"Label Studio at {url} has no project 'mine'. It has none."


def test_https_to_a_server_without_it_is_said(answering: Start) -> None:
    url = answering(answer_with(200, b"{}")).replace("http:", "https:")
    message = complaint(lambda: pull(url=url, project="mine", token=SECRET), LabelStudioError)
    assert message == (
        f"What answers at {url} does not speak https. Mend the address, or begin it with http://."
    )


def test_a_proxy_is_asked_for_other_machines_only(answering: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def answer(request: BaseHTTPRequestHandler) -> None:
        asked.append(
            (request.path.partition("?")[0], request.headers["Host"], request.headers["Proxy-Authorization"])
        )
        answer_with(200, b'{"count": 0, "results": []}')(request)

    proxy = answering(answer)
    for name in ("http_proxy", "https_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setenv("http_proxy", proxy.replace("//", "//me:hunter2@"))
    with pytest.raises(mm.InputError) as caught:
        pull(url="http://labels.invalid", project="mine", token=SECRET, insecure=True)
    assert str(caught.value) == "Label Studio at http://labels.invalid has no project 'mine'. It has none."
    assert set(asked) == {("http://labels.invalid/api/projects/", "labels.invalid", "Basic bWU6aHVudGVyMg==")}
    asked.clear()
    with pytest.raises(LabelStudioError):
        pull(url="http://127.0.0.1:9", project="mine", token=SECRET)
    assert asked == []
    monkeypatch.setenv("https_proxy", "socks5://me:hunter2@127.0.0.1:9")
    with pytest.raises(mm.InputError) as caught:
        pull(url="https://labels.invalid", project="mine", token=SECRET)
    assert str(caught.value) == (
        "The proxy in HTTPS_PROXY is no address that begins with http://. Mend it, or name the server's host in "
        "NO_PROXY."
    )


def test_a_proxy_carries_https_unread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is told host and port, and passes bytes to and fro."""
    told: list[bytes] = []
    ends: list[socket.socket] = []

    def carry(source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while content := source.recv(1 << 16):
                target.sendall(content)
            target.shutdown(socket.SHUT_WR)

    def accept(listening: socket.socket, port: int) -> None:
        with suppress(OSError):  # closed at the end of the test
            while True:
                near, _ = listening.accept()
                told.append(near.recv(1 << 16).split(b"\r\n")[0])
                near.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                far = socket.create_connection(("127.0.0.1", port))
                ends.extend([near, far])
                for pair in ((near, far), (far, near)):
                    Thread(target=carry, args=pair, daemon=True).start()

    with encrypted(tmp_path) as (url, file), socket.create_server(("127.0.0.1", 0)) as listening:
        port = int(url.rpartition(":")[2])
        Thread(target=accept, args=(listening, port), daemon=True).start()
        monkeypatch.setenv("SSL_CERT_FILE", str(file))
        monkeypatch.setenv("https_proxy", f"127.0.0.1:{listening.getsockname()[1]}")
        for name in ("no_proxy", "NO_PROXY", "HTTPS_PROXY"):
            monkeypatch.delenv(name, raising=False)
        with pytest.raises(mm.InputError) as caught:
            pull(url=f"https://labels.invalid:{port}", project="mine", token=SECRET)
    assert (
        str(caught.value)
        == f"Label Studio at https://labels.invalid:{port} has no project 'mine'. It has none."
    )
    for end in ends:
        end.close()
    assert {line.rpartition(b" ")[0] for line in told} == {f"CONNECT labels.invalid:{port}".encode()}


def test_a_proxy_that_is_not_there_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "http://me:hunter2@127.0.0.1:9")
    for name in ("no_proxy", "NO_PROXY", "HTTPS_PROXY"):
        monkeypatch.delenv(name, raising=False)
    message = complaint(
        lambda: pull(url="https://labels.invalid", project="mine", token=SECRET), LabelStudioError
    )
    assert message == (
        "No server answers at https://labels.invalid by way of the proxy in the environment (start Label Studio, or "
        "mend the address)."
    )
