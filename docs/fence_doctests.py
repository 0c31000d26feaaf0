"""An extension of griffe: doctests in docstrings become code blocks on the page of the API."""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object

_DOCTEST = re.compile(r"^>>> .*?(?=\n\n|\Z)(?:\n\n>>> .*?(?=\n\n|\Z))*", re.DOTALL | re.MULTILINE)


class FenceDoctests(Extension):
    """Puts a fence around each run of examples."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Change the docstring of one function or class."""
        if obj.docstring is not None:
            obj.docstring.value = _DOCTEST.sub(r"```pycon\n\g<0>\n```", obj.docstring.value)
