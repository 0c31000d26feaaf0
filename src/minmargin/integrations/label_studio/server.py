"""A Label Studio server, spoken to through its own SDK, with every failure put in one sentence.

The token is held by the SDK's client alone, which sends it to no other server. No message shows it, and no error keeps
a cause that might.
"""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from minmargin.errors import InputError, MinMarginError, MissingExtraError, listing, nearest

TOKEN_VARIABLE = "LABEL_STUDIO_API_KEY"  # noqa: S105 - the variable's name, not a token

_TIMEOUT_SECONDS = 120
_PAGE_SIZE = 200
_TITLE_LENGTHS = range(3, 51)  # what a server accepts
_PART_LENGTH = 8  # so many characters of a token, in a row, are a part of it and no chance


class LabelStudioError(MinMarginError, RuntimeError):
    """A Label Studio server did not do what was asked; the message says what to do."""


@dataclass(frozen=True)
class Project:
    """A project on a server: its number, title and labeling interface."""

    id: int
    title: str
    config: str

    def __str__(self) -> str:
        return f"Project {self.id} ({self.title!r})"


@dataclass(frozen=True)
class Task:
    """A task of a project: its data, and its annotations as the server writes them in JSON."""

    data: dict[str, Any]
    annotations: list[dict[str, Any]]


@dataclass(frozen=True)
class Server:
    """A server and the right to use it."""

    url: str
    _client: Any = field(repr=False)
    _token: str = field(repr=False)

    @classmethod
    @contextmanager
    def at(cls, url: str, token: str | None = None) -> Iterator[Server]:
        """Give the server at an address; the token is by default that of the environment."""
        url = _checked_url(url)
        token = _checked_token(os.environ.get(TOKEN_VARIABLE, "") if token is None else token)
        sdk, httpx = _require("label_studio_sdk"), _require("httpx")
        hooks = {"request": [_refuse_elsewhere(url)]}
        with httpx.Client(timeout=_TIMEOUT_SECONDS, follow_redirects=True, event_hooks=hooks) as connections:
            with _failures(url, token, "was asked"):  # a token that has expired is noticed here
                # With a slash, or the SDK forgets a path in the address. Without retries: a request that was cut off
                # may have been carried out, and tasks that are sent again are there twice.
                client = sdk.LabelStudio(
                    base_url=f"{url}/",
                    api_key=token,
                    timeout=_TIMEOUT_SECONDS,
                    max_retries=0,
                    httpx_client=connections,
                )
            yield cls(url, client, token)

    def find_project(self, project: int | str) -> Project | None:
        """Return a project by number or title; None if no project has the title."""
        if isinstance(project, int):
            with self._failures("was asked for a project", missing=f"has no project {project}"):
                return _as_project(self._client.projects.get(id=project))
        with self._failures("was asked for its projects"):
            found = [
                each for each in self._client.projects.list(page_size=_PAGE_SIZE) if each.title == project
            ]
        if len(found) > 1:
            raise InputError(
                f"{len(found)} projects are titled {project!r}: {listing(each.id for each in found)}. Name one by its "
                "number."
            )
        return self.find_project(found[0].id) if found else None

    def get_project(self, project: int | str) -> Project:
        """Return a project by number or title, or say which there are."""
        found = self.find_project(project)
        if found is None:
            with self._failures("was asked for its projects"):
                titles = [each.title for each in self._client.projects.list(page_size=_PAGE_SIZE)]
            there_are = f" It has {listing(titles)}." if titles else " It has none."
            raise InputError(
                f"Label Studio at {self.url} has no project {project!r}.{there_are}{nearest(str(project), titles)}"
            )
        return found

    def make_project(self, title: str, config: str) -> Project:
        """Make a project that offers its tasks in their order and shows predictions, and return it."""
        check_title(title)
        with self._failures(f"was asked to make the project {title!r}"):
            return _as_project(
                self._client.projects.create(
                    title=title,
                    label_config=config,
                    sampling="Sequential sampling",
                    show_collab_predictions=True,
                )
            )

    def tasks(self, project: Project, *, annotations: bool) -> Iterator[Task]:
        """Return the tasks of a project in order, with their annotations if they are asked for."""
        fields = "all" if annotations else "task_only"
        with self._failures(f"was asked for the tasks of project {project.id}"):
            for each in self._client.tasks.list(project=project.id, fields=fields, page_size=_PAGE_SIZE):
                yield Task(each.data, each.annotations or [])

    def add_tasks(self, project: Project, tasks: Sequence[dict[str, Any]]) -> None:
        """Import tasks into a project: all of them, or none if the server fails."""
        with self._failures(f"was sent {len(tasks)} tasks"):
            self._client.projects.import_tasks(id=project.id, request=tasks)

    @contextmanager
    def _failures(self, doing: str, *, missing: str = "") -> Iterator[None]:
        with _failures(self.url, self._token, doing, missing):
            yield


@contextmanager
def _failures(url: str, token: str, doing: str, missing: str = "") -> Iterator[None]:
    """Put what goes wrong in one sentence, without the token and without causes, which may hold it."""
    httpx, ApiError = _require("httpx"), _require("label_studio_sdk.core.api_error").ApiError
    at, stranger = f"Label Studio at {url}", f"What answers at {url} is no Label Studio. Mend the address."
    try:
        yield
    except _ElsewhereError as error:
        raise InputError(
            f"{at} redirects to {_without_token(str(error), token)}, which is not sent the token. If that is your "
            "server, use its address (--url)."
        ) from None
    except httpx.ConnectError:
        raise LabelStudioError(
            f"No server answers at {url} (start Label Studio, or mend the address)."
        ) from None
    except httpx.HTTPError as error:
        raise LabelStudioError(
            f"{at} went away ({type(error).__name__}) when it {doing}. Try again."
        ) from None
    except ApiError as error:
        status = error.status_code or 0
        said = _said(error.body, token)
        if status in {401, 403}:
            raise InputError(
                f"{at} refuses the token ({status}{said}). Make a new one on its page Account & Settings, and copy it "
                "from the dialog: afterwards the page shows only a part of it."
            ) from None
        if status == 404 and missing:
            raise InputError(
                f"{at} {missing}. Use the number in the project's address, or a title."
            ) from None
        if status < 400 or status == 404:
            raise LabelStudioError(stranger) from None
        raise LabelStudioError(f"{at} failed ({status}{said}) when it {doing}.") from None
    except ValueError:  # an answer that is no JSON, or other JSON
        raise LabelStudioError(stranger) from None


class _ElsewhereError(Exception):
    """A request was about to leave the server; the message is where it would have gone, without path and query."""


def _refuse_elsewhere(url: str) -> Callable[[Any], None]:
    """Return a hook for httpx, which calls it before it sends any request, also one that follows a redirect.

    httpx itself follows redirects to any host: it drops the header with the token on most of them, but a body that
    holds the token is sent again.
    """
    httpx = _require("httpx")

    def check(request: Any) -> None:
        if _origin(request.url) != _origin(httpx.URL(url)):
            raise _ElsewhereError(_origin(request.url))

    return check


def _origin(url: Any) -> str:
    """Return scheme, host and port of an httpx.URL: in lower case, and without the port if it is the scheme's own."""
    return f"{url.scheme}://{url.netloc.decode('ascii')}"


def _without_token(address: str, token: str) -> str:
    """Return the address, unless it repeats the token or a part of it. Hosts are in lower case."""
    token, length = token.lower(), min(_PART_LENGTH, len(token))
    parts = (token[start : start + length] for start in range(len(token) - length + 1))
    return "an address that holds a part of the token" if any(part in address for part in parts) else address


def _said(body: Any, token: str) -> str:
    """Return the server's own words, if they are few."""
    if isinstance(body, dict):
        body = body.get("detail") or body.get("validation_errors") or ""
    text = " ".join(str(body or "").replace(token, "[token]").split())
    return f": {text.rstrip('.')}" if 0 < len(text) <= 200 and "<" not in text else ""


def check_title(title: str) -> None:
    """Raise an error if no project can have this title."""
    if len(title) not in _TITLE_LENGTHS:
        raise InputError(f"The title {title!r} has {len(title)} characters. A project's has 3 to 50.")


def _as_project(answer: Any) -> Project:
    return Project(answer.id, answer.title, answer.label_config or "")


def _checked_url(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise InputError(
            f"{url!r} is no address of a server. Let it begin with http:// or https:// as in a browser."
        )
    if parts.username or parts.password or parts.query or parts.fragment:
        raise InputError(
            "The server's address holds more than a host and a path. Leave out names, passwords and what follows a "
            "question mark."
        )
    return url.rstrip("/")


def _checked_token(token: str) -> str:
    token = token.strip()
    if not token:
        raise InputError(
            f"There is no token for Label Studio. Copy one from its page Account & Settings into the environment "
            f"variable {TOKEN_VARIABLE}."
        )
    if not re.fullmatch(r"[!-~]+", token):
        raise InputError(
            f"The token for Label Studio holds characters that no token has. Copy it again into {TOKEN_VARIABLE}."
        )
    return token


def _require(module: str) -> Any:
    """Return the SDK, or httpx, which it brings, or say that they are missing."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise MissingExtraError(
            f"Label Studio needs {module}, which is not installed. Use pip install 'minmargin[label-studio]'."
        ) from None
