"""Requests to one server that may be anything: each ends in time, with an answer of a bounded size, or with a reason.

The standard library's client sends them. Around it stand the rules that a library of requests leaves to its user:

- a redirect is followed within the server only, whatever its method; nothing is ever sent to another origin;
- a request has a limit in all, not only for each silence: a watch shuts the connection down, wherever it is read;
- an answer that is too long, cut short or compressed without being asked for is none;
- a request is sent once. One that was cut off may have been carried out.
"""

from __future__ import annotations

import base64
import http.client
import io
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from urllib.parse import SplitResult, unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from minmargin.errors import InputError
from minmargin.integrations.label_studio.address import Address

#: How long a server may say nothing, and how long a request may take in all.
SILENT_SECONDS: float = 120
CALL_SECONDS: float = 600
MOST_BYTES = 128 << 20

_CONNECT_SECONDS = 30
_MOST_REDIRECTS = 5
_REDIRECTS = {301, 302, 303, 307, 308}
_SAME_METHOD = {307, 308}
_CHUNK_BYTES = 1 << 16


@dataclass(frozen=True)
class Answer:
    """A server's answer, whole.

    Attributes:
        status: the status code.
        content: the body.
        is_page: whether it says that it is a page for a browser.
    """

    status: int
    content: bytes
    is_page: bool


class RequestError(Exception):
    """A request was not answered; the message tells what the server did, to follow its name."""

    fix = "Try again."


class TooLargeError(RequestError):
    """An answer is larger than any that is asked for."""

    fix = "Mend the address, or look at the server."


class BentError(RequestError):
    """An answer is no answer, and will be none at the next try."""

    fix = "Mend the address, or look at what stands between."


class UnreachableError(Exception):
    """No connection came about; the message tells by which way, to follow an address."""


class UntrustedError(Exception):
    """A server cannot show that it is the one; the message tells what is wrong with its certificate."""


class NotEncryptedError(Exception):
    """What answers does not speak https."""


class ElsewhereError(Exception):
    """A request was about to leave the server; the message is the origin that it would have gone to."""


def ask(
    address: Address,
    method: str,
    path: str,
    *,
    headers: Mapping[str, str],
    body: bytes | None = None,
) -> Answer:
    """Return the answer of a server to a request; redirects within it are followed."""
    deadline = time.monotonic() + CALL_SECONDS
    target = address.path + path
    asked: set[str] = set()
    while target not in asked and len(asked) <= _MOST_REDIRECTS:
        asked.add(target)
        answer, location = _ask_once(address, method, target, headers, body, deadline)
        if answer.status not in _REDIRECTS or location is None:
            return answer
        try:
            origin, target = address.locate(target, location)
        except ValueError:
            raise BentError("redirects to no address") from None
        if origin:
            raise ElsewhereError(origin)
        if method != "GET" and answer.status not in _SAME_METHOD:
            raise BentError(f"redirects what it is sent ({answer.status}), and loses it")
    raise BentError("redirects in circles")


def _ask_once(
    address: Address,
    method: str,
    target: str,
    headers: Mapping[str, str],
    body: bytes | None,
    deadline: float,
) -> tuple[Answer, str | None]:
    """Return the answer to one request on a connection of its own, and where it redirects to."""
    proxy = _proxy_for(address)
    link = _Link(address, proxy)
    if proxy is not None and address.scheme == "http":
        target = f"http://{address.netloc}{target}"
        headers = {**headers, **_proxy_headers(proxy)}
    # No other coding is asked for: a small one may be of any size.
    sent = {"Host": address.netloc, "Accept": "application/json", "Accept-Encoding": "identity", **headers}
    with _watch(link, deadline) as is_late:
        try:
            _connect(link, proxy)
            # A server may refuse a large body before it has all of it, and its answer tells why.
            with suppress(BrokenPipeError, ConnectionResetError):
                link.request(method, target, body=body, headers={**sent, "Connection": "close"})
            with link.getresponse() as response:
                content = _read(response)
        except (OSError, http.client.HTTPException, ValueError) as error:
            if is_late():
                raise RequestError(f"took longer than {CALL_SECONDS:g} seconds") from None
            raise _as_request_error(error) from None
        finally:
            link.close()
    if is_late():  # shut down by the watch, which can look like the end of an answer
        raise RequestError(f"took longer than {CALL_SECONDS:g} seconds")
    kind = response.headers.get("Content-Type", "").lower()
    return Answer(response.status, content, "html" in kind), response.headers.get("Location")


class _Link(http.client.HTTPConnection):
    """A connection, by way of a proxy if there is one, whose socket the watch can reach at any time."""

    def __init__(self, address: Address, proxy: SplitResult | None) -> None:
        host, port = (
            (address.host, address.port) if proxy is None else (str(proxy.hostname), proxy.port or 80)
        )
        super().__init__(host, port, timeout=min(_CONNECT_SECONDS, CALL_SECONDS))
        self.open_socket: socket.socket | None = None
        self._name = address.host
        self._context = ssl.create_default_context() if address.scheme == "https" else None
        if proxy is not None and self._context is not None:
            self.set_tunnel(address.host, address.port, _proxy_headers(proxy))

    def connect(self) -> None:
        super().connect()
        self.sock.settimeout(SILENT_SECONDS)
        self.open_socket = self.sock
        if self._context is not None:
            # In two steps, so that the watch can end the handshake as well.
            secured = self._context.wrap_socket(
                self.sock, server_hostname=self._name, do_handshake_on_connect=False
            )
            self.sock = self.open_socket = secured
            secured.do_handshake()


def _connect(link: _Link, proxy: SplitResult | None) -> None:
    try:
        link.connect()
    except ssl.SSLCertVerificationError as error:
        raise UntrustedError(error.verify_message) from None
    except ssl.SSLError:
        raise NotEncryptedError from None
    except (OSError, http.client.HTTPException, ValueError):
        if link.open_socket is not None:  # within the handshake
            raise
        raise UnreachableError("" if proxy is None else " by way of the proxy in the environment") from None


def _read(response: http.client.HTTPResponse) -> bytes:
    """Return the body of an answer, if it is whole and not too large."""
    coding = response.headers.get("Content-Encoding", "identity").strip().lower()
    if coding not in {"", "identity"}:
        raise BentError("answered in a compressed form that it was not asked for")
    content = io.BytesIO()
    told = response.length or 0
    while told <= MOST_BYTES and (part := response.read(_CHUNK_BYTES)):
        content.write(part)
        told = max(told, content.tell())
    if told > MOST_BYTES:
        # Made here, for an error in a variable would keep this frame, and all that was read, until it is swept up.
        raise TooLargeError(f"answered with more than {MOST_BYTES >> 20} MiB")
    if response.length:  # what is still to come, by the answer's own account
        raise RequestError("cut its answer short")
    return content.getvalue()


def _as_request_error(error: Exception) -> RequestError:
    """Return in words what became of a request."""
    if isinstance(error, TimeoutError):
        return RequestError(f"said nothing for {SILENT_SECONDS:g} seconds")
    if isinstance(error, http.client.IncompleteRead):
        return RequestError("cut its answer short")
    if isinstance(error, OSError):
        return RequestError("hung up")
    return BentError("answered with something that is no HTTP")


@contextmanager
def _watch(link: _Link, deadline: float) -> Iterator[Callable[[], bool]]:
    """Shut a connection down at the deadline, wherever it is read or written; gives a function that tells if it did."""
    done, late = threading.Event(), threading.Event()

    def watch() -> None:
        if done.wait(max(0.0, deadline - time.monotonic())):
            return
        late.set()
        while True:
            reached = link.open_socket or link.sock  # the latter while a proxy is asked
            if reached is not None:
                with suppress(OSError):
                    # Past the methods of an SSL socket, which would change its state under the reader's feet.
                    socket.socket.shutdown(reached, socket.SHUT_RDWR)
            if done.wait(0.05):  # again: the socket may have been a step away from being there
                return

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield late.is_set
    finally:
        done.set()
        thread.join()


def _proxy_for(address: Address) -> SplitResult | None:
    """Return the proxy that the environment names for an address; None for this machine."""
    if address.is_loopback or proxy_bypass(address.host):
        return None
    named = getproxies().get(address.scheme)
    if not named:
        return None
    try:
        proxy = urlsplit(named if "://" in named else f"http://{named}")
        usable = proxy.scheme == "http" and proxy.hostname and (proxy.port or True)
    except ValueError:
        usable = False
    if not usable:  # without showing it: it may hold a password
        raise InputError(
            f"The proxy in {address.scheme.upper()}_PROXY is no address that begins with http://. Mend it, or name "
            "the server's host in NO_PROXY."
        )
    return proxy


def _proxy_headers(proxy: SplitResult) -> dict[str, str]:
    if proxy.username is None:
        return {}
    pair = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    return {"Proxy-Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}
