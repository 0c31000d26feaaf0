"""A page as a browser's parser would see it: its elements, and the cells of its tables."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from typing import Any

_VOID = {"meta", "input", "img", "wbr"}


class ParsedPage(HTMLParser):
    """What a page holds.

    Attributes:
        elements: (name, attributes) in order.
        rows: the cells of the table "picks", as texts.
        headings: the names of its columns.
        text: all text outside of style and script.
    """

    def __init__(self, source: str | Path) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, Any]]] = []
        self.rows: list[list[str]] = []
        self.headings: list[str] = []
        self.text = ""
        self._open: list[str] = []
        self._in_picks = False
        self.feed(source.read_text(encoding="utf-8") if isinstance(source, Path) else source)
        self.close()
        assert self._open == [], "every element that was opened is closed"

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        attributes = dict(attrs)
        self.elements.append((tag, attributes))
        if tag == "table":
            self._in_picks = attributes.get("id") == "picks"
        if tag == "tr" and self._in_picks:
            self.rows.append([])
        if tag in {"td", "th"} and self._in_picks:
            self.rows[-1].append("")
        if tag not in _VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag
        if tag == "thead" and self._in_picks:
            (self.headings,) = self.rows
            self.rows = []
        if tag == "table":
            self._in_picks = False

    def handle_data(self, data: str) -> None:
        if "style" in self._open or "script" in self._open:
            return
        self.text += data
        if self._in_picks and self.rows and {"td", "th"} & set(self._open):
            self.rows[-1][-1] += data

    def column(self, name: str) -> list[str]:
        """Return the cells of a column of the picked rows."""
        place = self.headings.index(name)
        return [row[place] for row in self.rows]

    def sentences(self) -> str:
        """Return all text with single spaces."""
        return " ".join(self.text.split())
