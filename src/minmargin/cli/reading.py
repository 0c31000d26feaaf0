"""Flags on how the columns of tables are read, for every command that reads a table."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable
from typing import Annotated, Any, get_type_hints

import typer

from minmargin.cli.options import split
from minmargin.data.reading import Reading
from minmargin.errors import InputError


def _columns(help_text: str) -> Any:
    return Annotated[list[str] | None, typer.Option(metavar="NAMES", help=help_text)]


#: Each flag is an argument of `Reading`.
_FLAGS: dict[str, tuple[Any, Any]] = {
    "number": (_columns("Columns to read as numbers."), None),
    "category": (_columns("Columns whose values are names, also if these are numbers, such as codes."), None),
    "text": (_columns("Columns of free text, which only --learner text reads."), None),
    "date": (
        _columns("Columns of dates; NAME=%d/%m/%Y gives the form, as do unix, unix-ms and excel."),
        None,
    ),
    "drop": (_columns("Columns that are no features."), None),
    "decimal": (Annotated[str, typer.Option(help="What comes before decimals in numbers: . or ,")], "."),
    "thousands": (Annotated[str, typer.Option(help="What may stand between thousands in numbers.")], ""),
    "missing": (
        Annotated[
            list[str] | None,
            typer.Option(metavar="TEXTS", help="Texts that stand for a missing value, such as ?,n/a"),
        ],
        None,
    ),
}


_COMMA = re.compile(r",(?!\s*%)")  # between columns, and not within a form such as %b %d, %Y


def with_reading(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command that takes the flags on how columns are read, and gets them as its argument `reading`."""

    @functools.wraps(command)
    def wrapped(**arguments: Any) -> None:
        flags = {name: arguments.pop(name) for name in _FLAGS}
        command(reading=_reading(**flags), **arguments)

    hints = get_type_hints(command, include_extras=True)
    parameters = inspect.signature(command).parameters.values()
    own = [each.replace(annotation=hints[each.name]) for each in parameters if each.name != "reading"]
    flags = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)
        for name, (annotation, default) in _FLAGS.items()
    ]
    wrapped.__signature__ = inspect.Signature([*own, *flags])  # type: ignore[attr-defined]  # where typer looks
    wrapped.__annotations__ = {each.name: each.annotation for each in (*own, *flags)}
    return wrapped


def _reading(*, date: list[str] | None, decimal: str, thousands: str, **columns: list[str] | None) -> Reading:
    return Reading(
        date=_forms([each for given in date or [] for each in _COMMA.split(given) if each.strip()]),
        decimal=decimal,
        thousands=thousands,
        missing=split(columns.pop("missing")) or (),
        **{name: _column_names(given or []) for name, given in columns.items()},
    )


def _column_names(given: list[str]) -> list[str]:
    """Return column names that were given comma-separated or repeated. A column may have an empty name.

    >>> _column_names([""]), _column_names([",age"]), _column_names(["age, plan,"])
    ([''], ['', 'age'], ['age', 'plan'])
    """
    return [
        name.strip()
        for value in given
        for place, name in enumerate(value.split(","))
        if name.strip() or place == 0
    ]


def _forms(given: list[str]) -> dict[str, str] | list[str]:
    """Return columns of dates with their forms, an empty one where none was given.

    >>> _forms(["signup=%d/%m/%Y", "seen"])
    {'signup': '%d/%m/%Y', 'seen': ''}
    """
    forms = {}
    for each in map(str.strip, given):
        name, _, form = each.partition("=")
        if name in forms:
            raise InputError(f"--date names {name!r} twice. Name each column once.")
        forms[name] = form
    return forms
