"""A Label Studio server, with every failure put in one sentence and every answer checked before it is believed.

The token is sent to this server alone. No message shows it, and no error keeps a cause that might.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from minmargin.errors import InputError, MinMarginError, listing, nearest
from minmargin.integrations.label_studio.address import Address
from minmargin.integrations.label_studio.answers import (
    AnswerError,
    TooManyValuesError,
    as_list,
    as_number,
    as_object,
    as_text,
    parse_json,
)
from minmargin.integrations.label_studio.connection import (
    Answer,
    ElsewhereError,
    NotEncryptedError,
    RequestError,
    TooLargeError,
    UnreachableError,
    UntrustedError,
    ask,
)
from minmargin.integrations.label_studio.tokens import TOKEN_VARIABLE, Secrets, checked_token, is_personal

_PAGE_SIZES = (200, 50, 10, 1)  # the next one where a page is too large: tasks may hold images
_FEWEST_ON_A_PAGE = 10  # a server may give fewer tasks than it is asked for, but not one by one for ever
_TITLE_LENGTHS = range(3, 51)  # what a server accepts
_MOST_CONFIG = 4 << 20  # characters of a labeling interface
_ACCESS_SECONDS = 60  # a short-lived token lives for five minutes, unless the server is set otherwise


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
    id: int = 0


@dataclass
class Server:
    """A server and the right to use it."""

    address: Address
    _token: str = field(repr=False)
    _secrets: Secrets = field(repr=False)
    _access: str = field(repr=False, default="")
    _access_until: float = 0.0

    @classmethod
    @contextmanager
    def at(cls, url: str, token: str | None = None, *, insecure: bool = False) -> Iterator[Server]:
        """Give the server at an address; the token is by default that of the environment."""
        address = Address.of(url, insecure=insecure)
        token = checked_token(os.environ.get(TOKEN_VARIABLE, "") if token is None else token)
        yield cls(address, token, Secrets(token))

    @property
    def url(self) -> str:
        """The server's address."""
        return str(self.address)

    def find_project(self, project: int | str) -> Project | None:
        """Return a project by number or title; None if no project has the title."""
        if isinstance(project, int):
            with self._failures("was asked for a project", missing=f"has no project {project}"):
                found = self._as_project(self._ask("GET", f"/api/projects/{project}/"))
                if found.id != project:
                    raise AnswerError(f"it tells of project {found.id}, and not of {project}")
                return found
        numbers = [number for number, title in self._projects() if title == project]
        if len(numbers) > 1:
            raise InputError(
                f"{len(numbers)} projects of {self.url} are titled {project!r}: {listing(numbers)}. Name one by its "
                "number."
            )
        return self.find_project(numbers[0]) if numbers else None

    def get_project(self, project: int | str) -> Project:
        """Return a project by number or title, or say which there are."""
        found = self.find_project(project)
        if found is None:
            titles = [title for _, title in self._projects()]
            there_are = f" It has {listing(titles)}." if titles else " It has none."
            raise InputError(
                f"Label Studio at {self.url} has no project {project!r}.{there_are}{nearest(str(project), titles)}"
            )
        return found

    def make_project(self, title: str, config: str) -> Project:
        """Make a project that offers its tasks in their order and shows predictions, and return it."""
        check_title(title)
        settings = {
            "title": title,
            "label_config": config,
            "sampling": "Sequential sampling",
            "show_collab_predictions": True,
        }
        with self._failures(f"was asked to make the project {title!r}"):
            made = self._as_project(self._ask("POST", "/api/projects/", body=settings))
            if made.title.strip() != title.strip():
                raise AnswerError("it tells of a project with another title")
            return made

    def tasks(self, project: Project, *, annotations: bool) -> Iterator[Task]:
        """Return the tasks of a project in order, with their annotations if they are asked for."""
        fields = "all" if annotations else "task_only"
        with self._failures(f"was asked for the tasks of project {project.id}"):
            query = {"project": project.id, "fields": fields}
            for number, task in self._records("/api/tasks/", query, "tasks", "total", "task"):
                yield Task(
                    as_object(task.get("data"), f"the 'data' of task {number}"),
                    as_list(
                        task.get("annotations") if annotations else [], f"the 'annotations' of task {number}"
                    ),
                    number,
                )

    def count_tasks(self, project: Project) -> int:
        """Return how many tasks a project has."""
        with self._failures(f"was asked for the tasks of project {project.id}"):
            query = {"project": project.id, "fields": "task_only", "page": 1, "page_size": 1}
            answer = as_object(self._ask("GET", "/api/tasks/", query=query), "it")
            return as_number(answer.get("total"), "its 'total'")

    def add_tasks(self, project: Project, tasks: Sequence[dict[str, Any]]) -> bool:
        """Import tasks into a project, all or none if the server fails; return whether they are there already.

        Some editions answer first and import in the background.
        """
        with self._failures(f"was sent {len(tasks)} tasks"):
            path = f"/api/projects/{project.id}/import"
            answer = as_object(self._ask("POST", path, body=list(tasks)), "it")
            if "task_count" not in answer and "import" in answer:
                return False
            n_taken = as_number(answer.get("task_count"), "its 'task_count'")
            if n_taken != len(tasks):
                raise AnswerError(f"it says that {n_taken:,} were taken")
            return True

    @contextmanager
    def wrong_answers(self, doing: str) -> Iterator[None]:
        """Put what is found to be wrong with answers, by who looks into them, in one sentence."""
        with self._failures(doing):
            yield

    def _projects(self) -> list[tuple[int, str]]:
        """Return number and title of every project."""
        with self._failures("was asked for its projects"):
            found = self._records("/api/projects/", {}, "results", "count", "project")
            return [(number, self._title(each, number)) for number, each in found]

    def _records(
        self, path: str, query: dict[str, Any], name: str, total_name: str, what: str
    ) -> Iterator[tuple[int, dict[str, Any]]]:
        """Return number and content of all that a list of the server has, page by page.

        The first page tells how many there are. What is added meanwhile is left out, and pages that repeat each other
        or end too early are noticed: a proxy may drop the question that names the page.
        """
        sizes = list(_PAGE_SIZES)
        seen: set[int] = set()
        page, total = 1, None
        while total is None or len(seen) < total:
            try:
                asked = {**query, "page": page, "page_size": sizes[0]}
                answer = as_object(self._ask("GET", path, query=asked), "it")
            except (TooLargeError, TooManyValuesError):
                del sizes[0]
                if not sizes:
                    raise
                page = len(seen) // sizes[0] + 1
                continue
            now = as_number(answer.get(total_name), f"its {total_name!r}")
            total = now if total is None else total
            records = as_list(answer.get(name), f"its {name!r}")
            if len(records) < min(sizes[0], _FEWEST_ON_A_PAGE, total - len(seen)):
                raise AnswerError(f"it told of {total:,} {what}s, and page {page} has {len(records):,}")
            if len(seen) + len(records) > now:
                raise AnswerError(f"it told of {now:,} {what}s, and there are more on page {page}")
            for each in records[: total - len(seen)]:
                record = as_object(each, f"a {what} on page {page}")
                number = as_number(record.get("id"), f"the 'id' of a {what} on page {page}", least=1)
                if number in seen:
                    raise AnswerError(f"page {page} repeats {what} {number}")
                seen.add(number)
                yield number, record
            page += 1

    def _as_project(self, answer: Any) -> Project:
        answer = as_object(answer, "it")
        number = as_number(answer.get("id"), "the 'id' of a project", least=1)
        config = as_text(answer.get("label_config") or "", f"the 'label_config' of project {number}")
        if len(config) > _MOST_CONFIG:
            raise AnswerError(
                f"the 'label_config' of project {number} is larger than {_MOST_CONFIG >> 20} MiB"
            )
        return Project(number, self._title(answer, number), config)

    def _title(self, project: dict[str, Any], number: int) -> str:
        title = as_text(project.get("title"), f"the 'title' of project {number}")
        if self._secrets.are_in_address(title):  # titles are shown
            raise AnswerError(f"the 'title' of project {number} holds a part of the token")
        return title

    def _ask(self, method: str, path: str, *, query: dict[str, Any] | None = None, body: Any = None) -> Any:
        """Return what the server answers in JSON."""
        target = f"{path}?{urlencode(query)}" if query else path
        return self._checked(self._send(method, target, body, {"Authorization": self._authorization()}))

    def _authorization(self) -> str:
        """Return what proves the right to ask: the token, or a short-lived one that it buys."""
        if not is_personal(self._token):
            return f"Token {self._token}"
        if time.monotonic() >= self._access_until:
            answer = self._checked(self._send("POST", "/api/token/refresh/", {"refresh": self._token}, {}))
            access = as_text(as_object(answer, "it").get("access"), "its 'access'")
            try:
                self._access = checked_token(access)
            except InputError:
                raise AnswerError("its 'access' is no token") from None
            self._secrets.add(self._access)
            self._access_until = time.monotonic() + _ACCESS_SECONDS
        return f"Bearer {self._access}"

    def _send(self, method: str, target: str, body: Any, headers: dict[str, str]) -> Answer:
        content = None if body is None else json.dumps(body).encode()
        if content is not None:
            headers = {**headers, "Content-Type": "application/json"}
        return ask(self.address, method, target, headers=headers, body=content)

    def _checked(self, answer: Answer) -> Any:
        """Return what an answer says, unless it says that something went wrong."""
        if answer.status not in {200, 201}:
            raise _RefusedError(answer)
        if answer.is_page or answer.content.lstrip()[:1] == b"<":
            raise _PageError
        return parse_json(answer.content)

    @contextmanager
    def _failures(self, doing: str, *, missing: str = "") -> Iterator[None]:
        """Put what goes wrong in one sentence, without the token and without causes, which may hold it."""
        at, stranger = f"Label Studio at {self.url}", f"What answers at {self.url} is no Label Studio."
        try:
            yield
        except ElsewhereError as error:
            repeats = self._secrets.are_in_address(str(error))
            to = "an address that holds a part of the token" if repeats else error
            raise InputError(
                f"{at} redirects to {to}, which is not sent the token. If that is your server, use its address (--url)."
            ) from None
        except UnreachableError as error:
            raise LabelStudioError(
                f"No server answers at {self.url}{error} (start Label Studio, or mend the address)."
            ) from None
        except UntrustedError as error:
            raise LabelStudioError(
                f"The certificate of {self.url} is not trusted ({error}). If it is your server, name the file of the "
                "authority that signed it in SSL_CERT_FILE."
            ) from None
        except NotEncryptedError:
            raise LabelStudioError(
                f"What answers at {self.url} does not speak https. Mend the address, or begin it with http://."
            ) from None
        except RequestError as error:
            raise LabelStudioError(f"{at} {error} when it {doing}. {error.fix}") from None
        except _PageError:
            raise LabelStudioError(
                f"{stranger} It sent a page for a browser, as a proxy does that wants a login. Mend the address, or "
                "log in there."
            ) from None
        except AnswerError as error:
            raise LabelStudioError(
                f"{at} gave a wrong answer when it {doing}: {error}. Try again, or look at the server and at what "
                "stands between."
            ) from None
        except _RefusedError as error:
            status, said = error.answer.status, self._said(error.answer)
            if status in {401, 403}:
                raise InputError(
                    f"{at} refuses the token ({status}{said}). Make a new one on its page Account & Settings, and copy "
                    "it from the dialog: afterwards the page shows only a part of it."
                ) from None
            if status == 404 and missing:
                raise InputError(
                    f"{at} {missing}. Use the number in the project's address, or a title."
                ) from None
            if status < 400 or status == 404:
                raise LabelStudioError(f"{stranger} Mend the address.") from None
            raise LabelStudioError(f"{at} failed ({status}{said}) when it {doing}.") from None

    def _said(self, answer: Answer) -> str:
        """Return the server's own words, if they are few, printable, and repeat no part of a token."""
        try:
            body = parse_json(answer.content)
        except AnswerError:
            body = answer.content[:1000].decode(errors="replace")
        if isinstance(body, dict):
            body = body.get("detail") or body.get("validation_errors") or ""
        if not isinstance(body, (str, list, dict)):
            return ""
        try:
            text = " ".join(str(body).split()).rstrip(".")
        except RecursionError:
            return ""
        fit = 0 < len(text) <= 200 and "<" not in text and text.isprintable()
        return f": {text}" if fit and not self._secrets.are_in(text) else ""


class _RefusedError(Exception):
    """A server answered with a status that says no."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.status)
        self.answer = answer


class _PageError(Exception):
    """A server answered with a page where data was asked for."""


def check_title(title: str) -> None:
    """Raise an error if no project can have this title."""
    if len(title) not in _TITLE_LENGTHS:
        raise InputError(f"The title {title!r} has {len(title)} characters. A project's has 3 to 50.")
