"""Where the rounds of a campaign go: remembered in its folder, so that it need not be said again."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path

from minmargin.campaign.folder import PROJECT_FILE
from minmargin.errors import InputError
from minmargin.files import write_json

_TEXT_OR_NONE: set[type] = {str, type(None)}
_TYPES: dict[str, set[type]] = {
    "url": {str},
    "project": {int, str},
    "text_column": _TEXT_OR_NONE,
    "image_column": _TEXT_OR_NONE,
    "columns": {list, type(None)},
    "question": _TEXT_OR_NONE,
    "predictions": {bool},
    "insecure": {bool},
}


@dataclass(frozen=True)
class Destination:
    """A project, and what its annotators are shown. There is no token in it.

    Attributes:
        url: the server's address.
        project: the project's number, or its title as long as it has not been made.
        text_column: the column with the text to show.
        image_column: the column with the image to show.
        columns: the columns to show as a table; None shows all, if neither text nor image is shown.
        question: what they are asked; None asks for the label column by its name.
        predictions: whether they see the model's guess.
        insecure: whether plain http to another machine will do.
    """

    url: str
    project: int | str
    text_column: str | None = None
    image_column: str | None = None
    columns: list[str] | None = None
    question: str | None = None
    predictions: bool = True
    insecure: bool = False

    @classmethod
    def read(cls, folder: Path) -> Destination | None:
        """Return what a campaign's folder remembers; None if nothing was pushed yet."""
        path = folder / PROJECT_FILE
        if not path.exists():
            return None
        try:
            found = cls(**json.loads(path.read_text(encoding="utf-8")))
            found._check()
        except (OSError, ValueError, TypeError, RecursionError) as error:
            raise InputError(
                f"{str(path)!r} does not tell the project ({error}). Remove it, and push with --project."
            ) from error
        return found

    def _check(self) -> None:
        """Raise a TypeError if a value is of another type than it should be: the file may have been edited."""
        for name, value in dataclasses.asdict(self).items():
            if type(value) not in _TYPES[name]:
                raise TypeError(f"{name} is of a wrong type")
        if not all(isinstance(name, str) for name in self.columns or ()):
            raise TypeError("columns is of a wrong type")

    def write(self, folder: Path) -> None:
        """Remember this in a campaign's folder."""
        write_json(folder / PROJECT_FILE, dataclasses.asdict(self))
