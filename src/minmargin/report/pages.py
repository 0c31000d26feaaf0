"""Pages: a template and its values, rendered to one HTML text that needs no other file."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minmargin.errors import InputError, missing_extra
from minmargin.files import check_writable
from minmargin.report.drawing import plotting
from minmargin.version import __version__

if TYPE_CHECKING:
    import jinja2


def render(template: str, **values: Any) -> str:
    """Return the page that a template of this package gives, such as "batch.html.jinja".

    Every value is escaped, unless it is Markup; one that the template asks for and is not given is an error.
    """
    return _environment().get_template(template).render(values)


def check_page(path: str | Path) -> None:
    """Raise an error if no page can be written there, for those who have long work to do before they write it."""
    if Path(path).suffix.lower() not in {".html", ".htm"}:
        raise InputError(f"{str(path)!r} is no name for a page. Let it end in .html.")
    check_writable(path)
    check_extras()


def check_extras() -> None:
    """Raise an error if a library that pages need is not installed."""
    plotting()
    _environment()


@cache
def _environment() -> jinja2.Environment:
    try:
        import jinja2  # noqa: PLC0415 - an extra
        from markupsafe import Markup, escape  # noqa: PLC0415 - comes with jinja2
    except ImportError:
        raise missing_extra("Reports need jinja2", "report") from None
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("minmargin", "report/templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    script = _text("tables.js")
    environment.globals |= {
        "version": __version__,
        "style": Markup(_text("page.css")),  # noqa: S704 - our own file
        "script": Markup(script),  # noqa: S704 - our own file
        # A page runs this one script and no other, whatever its cells hold.
        "script_hash": base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    }
    environment.filters |= {
        "number": number,
        # Where a long name may be broken: after an underscore.
        "breakable": lambda text: escape(text).replace("_", Markup("_<wbr>")),
    }
    return environment


def number(value: float, digits: int = 3) -> str:
    """Return a number for people: whole ones with thousands, others to some significant digits.

    >>> number(1234567), number(0.04123), number(12.0), number(0.0000012)
    ('1,234,567', '0.0412', '12', '1.2e-06')
    """
    if float(value).is_integer() and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:,.0f}" if abs(value) >= 10**digits else f"{value:.{digits}g}"


def _text(name: str) -> str:
    return (files("minmargin") / "report" / "templates" / name).read_text(encoding="utf-8")
