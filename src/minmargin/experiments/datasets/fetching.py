"""Fetching data sets: from the first address that answers, resumed where an earlier try broke off, verified.

pooch tries again and checks the content; our downloader adds the resuming and the unpacking. All of it happens in a
folder .fetching beside the files, so that a file appears whole and right or not at all. What a broken connection left
there is used by the next try.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from minmargin.errors import InputError, missing_extra
from minmargin.execution import Progress
from minmargin.experiments.datasets.base import DataFile, Dataset, Source
from minmargin.experiments.datasets.packing import unpack
from minmargin.experiments.datasets.places import home_of
from minmargin.experiments.datasets.registry import find_dataset
from minmargin.experiments.datasets.store import verify_dataset
from minmargin.files import write_whole

_N_RETRIES = 2
_TIMEOUT_SECONDS = 30
_CHUNK_BYTES = 1 << 16  # a chunk that a broken connection leaves unfinished is lost
_MOST_BYTES = 1 << 30  # several times the largest archive; what never ends would fill the disk
_RANGE_NOT_SATISFIABLE = 416
_PARTIAL_CONTENT = 206


def fetch_dataset(
    name: str, data_dir: str | Path | None = None, *, progress: Progress | None = None
) -> list[Path]:
    """Fetch the files of a data set that are not yet on this machine, and return the paths of all.

    Args:
        name: one of `DATASETS`.
        data_dir: the folder with a folder for each data set; by default $MINMARGIN_DATA, then the user's cache.
        progress: called with the data set and file, the bytes received and their total, if the server tells it.
    """
    dataset = find_dataset(name)
    return [
        status.path
        if status.state == "ok" and status.path is not None
        else _fetch(dataset, status.file, data_dir, progress or _no_progress)
        for status in verify_dataset(name, data_dir)
    ]


def _fetch(dataset: Dataset, file: DataFile, data_dir: str | Path | None, progress: Progress) -> Path:
    """Return the path of a file that the first possible source has given."""
    folder = home_of(dataset, data_dir)
    stage = f"{dataset.name}/{file.name}"
    failures = []
    for source in file.sources:
        try:
            with _workshop(folder) as workshop:
                fetched = _fetch_from(source, file, workshop, lambda *counts: progress(stage, *counts))
                with fetched.open("rb") as content:
                    path = write_whole(folder / file.name, lambda out: shutil.copyfileobj(content, out))
                shutil.rmtree(workshop)
                return path
        except _SourceError as failure:
            failures.append(f"{source.url} {failure}")
        except OSError as error:
            raise InputError(f"{str(folder)!r} cannot be written to: {error.strerror}.") from error
    reason = "; ".join(failures) or "no address is known that has it in this form"
    raise InputError(
        f"File {file.name!r} of data set {dataset.name!r} was not fetched: {reason}. "
        f"Try again later, or get it from its origin ({dataset.origin}) and put it into {str(folder)!r}."
    )


class _SourceError(Exception):
    """A source did not give the file; the message follows its address."""


def _fetch_from(
    source: Source, file: DataFile, workshop: Path, report: Callable[[int, int | None], None]
) -> Path:
    """Return the path of the verified content, in the workshop."""
    pooch, requests = _require("pooch"), _require("requests")
    # One for each address: another may have the file in another compression.
    part = workshop / f"{file.name}.{hashlib.sha256(source.url.encode()).hexdigest()[:8]}.part"
    downloader = _ResumingDownloader(part, source.member, file.n_bytes, report)
    store = pooch.create(
        path=workshop,
        base_url="",
        registry={file.name: f"sha256:{file.sha256}"},
        urls={file.name: source.url},
        retry_if_failed=_N_RETRIES,
    )
    with _quiet(pooch.get_logger()):
        try:
            return Path(store.fetch(file.name, downloader=downloader))
        except requests.RequestException as error:
            raise _SourceError(f"did not give it ({_reason(error)})") from error
        except InputError as error:
            raise _SourceError(f"gave something else ({str(error).rstrip('.')})") from error
        except ValueError as error:  # how pooch says that a checksum differs
            raise _SourceError(f"gave something else (its content has not sha256 {file.sha256})") from error


@dataclass(frozen=True)
class _ResumingDownloader:
    """A downloader for pooch: bytes go to `part`, which outlives a broken connection, and their content to pooch."""

    part: Path
    member: str | None
    n_bytes: int
    report: Callable[[int, int | None], None]

    def __call__(self, url: str, output_file: str, pooch: Any) -> None:
        self._receive(url)
        packed = self.part.read_bytes()
        self.part.unlink()  # whole, right or wrong: nothing to resume
        Path(output_file).write_bytes(unpack(packed, self.member, most=self.n_bytes))

    def _receive(self, url: str) -> None:
        n_here = self.part.stat().st_size if self.part.exists() else 0
        with self._ask(url, n_here) as answer:
            answer.raise_for_status()
            resumed = answer.status_code == _PARTIAL_CONTENT
            n_done = n_here if resumed else 0  # a server without ranges sends the whole file again
            length = answer.headers.get("Content-Length", "")
            total = n_done + int(length) if length.isascii() and length.isdecimal() else None
            with self.part.open("ab" if resumed else "wb") as file:
                for chunk in answer.iter_content(_CHUNK_BYTES):
                    file.write(chunk)
                    n_done += len(chunk)
                    if n_done > _MOST_BYTES:
                        self.part.unlink()
                        raise _SourceError(f"sent more than {_MOST_BYTES >> 20:,} MiB")
                    self.report(n_done, total)

    def _ask(self, url: str, n_here: int) -> Any:
        """Return the answer to a request for what is not yet here."""
        # Without compression on the way: positions in the file are counted in the bytes that are sent.
        headers = {"Accept-Encoding": "identity"}
        if n_here:
            headers["Range"] = f"bytes={n_here}-"
        answer = _require("requests").get(url, headers=headers, stream=True, timeout=_TIMEOUT_SECONDS)
        if n_here and answer.status_code == _RANGE_NOT_SATISFIABLE:
            answer.close()  # what is here is no beginning of the file
            return self._ask(url, 0)
        return answer


@contextlib.contextmanager
def _workshop(folder: Path) -> Iterator[Path]:
    """Give the folder that fetching happens in; afterwards leave no empty folder, only a partial file to be resumed."""
    path = folder / ".fetching"
    path.mkdir(parents=True, exist_ok=True)
    try:
        yield path
    finally:
        for emptied in (path, folder):
            with contextlib.suppress(OSError):  # not empty, or gone already
                emptied.rmdir()


@contextlib.contextmanager
def _quiet(logger: Any) -> Iterator[None]:
    """Keep pooch from printing what our own messages and progress say."""
    level = logger.level
    logger.setLevel("CRITICAL")
    try:
        yield
    finally:
        logger.setLevel(level)


def _reason(error: Exception) -> str:
    """Return what a failed request has to say, in short: the answer's status, or the kind of failure."""
    answer = getattr(error, "response", None)
    return type(error).__name__ if answer is None else f"status {answer.status_code}"


def _require(module: str) -> Any:
    """Return pooch or requests, which it brings, or say that they are missing."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise missing_extra(f"Fetching a data set needs {module}", "data") from None


def _no_progress(stage: str, done: int, total: int | None) -> None:
    """Swallow the progress that nobody asked for."""
