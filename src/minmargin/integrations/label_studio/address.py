"""The address of a server, checked before anything is sent there."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from urllib.parse import SplitResult, quote, urljoin, urlsplit

from minmargin.errors import InputError

_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True)
class Address:
    """A server's address. It holds no user name or password, so messages may show it.

    Attributes:
        scheme: http or https.
        host: in lower case and ASCII; an IPv6 address without brackets.
        port: the port, also where it is the scheme's own.
        path: what stands before the path of every request; empty, or with a slash at its beginning only.
        shown: the address as it was given.
    """

    scheme: str
    host: str
    port: int
    path: str
    shown: str

    @classmethod
    def of(cls, url: str, *, insecure: bool = False) -> Address:
        """Return the address that a text stands for; without `insecure`, plain http only on this machine."""
        url = url.strip()
        # First of all: what is shown below must not hold a password.
        if any(mark in url for mark in "@?#"):
            raise InputError(
                "The server's address holds more than a host and a path. Leave out names, passwords and what follows a "
                "question mark."
            )
        try:
            parts = urlsplit(url)
            scheme, host, port = _origin_of(parts)
        except ValueError:
            scheme = host = ""
        if scheme not in _PORTS or not host or not url.isprintable() or " " in url or "\\" in url:
            raise InputError(
                f"{url!r} is no address of a server. Let it begin with http:// or https:// as in a browser."
            )
        address = cls(scheme, host, port, quote(parts.path.rstrip("/"), safe="/%"), url.rstrip("/"))
        if scheme == "http" and not insecure and not address.is_loopback:
            raise InputError(
                f"{address} would get the token and the rows unencrypted. Use https://, or --insecure if you trust "
                "everyone on the way there."
            )
        return address

    def __str__(self) -> str:
        return self.shown

    @property
    def netloc(self) -> str:
        """Host and port, without the port if it is the scheme's own."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        """Whether requests stay on this machine."""
        try:
            found = ipaddress.ip_address(self.host)
        except ValueError:
            return self.host == "localhost" or self.host.endswith(".localhost")
        mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
        return (mapped or found).is_loopback

    def locate(self, target: str, location: str) -> tuple[str, str]:
        """Return where a redirect of a request leads: its origin, which is empty if it is ours, and its target.

        Raises a ValueError if it leads to no address.
        """
        parts = urlsplit(urljoin(f"{self.scheme}://{self.netloc}{target}", location))
        scheme, host, port = _origin_of(parts)
        path = quote(parts.path or "/", safe="/%:@!$&'()*+,;=~") + (f"?{parts.query}" if parts.query else "")
        if (scheme, host, port) == (self.scheme, self.host, self.port):
            return "", path
        shown = f"[{host}]" if ":" in host else host
        return f"{scheme}://{shown}" + ("" if port == _PORTS.get(scheme) else f":{port}"), path


def _origin_of(parts: SplitResult) -> tuple[str, str, int]:
    """Return scheme, host and port; a ValueError says that there are none."""
    host = parts.hostname or ""
    if not host.isascii():
        host = host.encode("idna").decode()
    return parts.scheme, host.lower(), parts.port or _PORTS.get(parts.scheme, 0)
