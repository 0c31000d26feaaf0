"""The table of docs/reliability.md on what came of changed files and answers, made of the figures that were kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

#: The figures of the last long run; a kind of targets has a file of its own in there.
FIGURES = Path(__file__).with_name("figures")
_BEGIN, _END = "<!-- what `make fuzz` found -->", "<!-- end of what `make fuzz` found -->"
_HEAD = """
`make fuzz` changes what is read back, and writes this table; `make test` does so a few hundred times. Bytes are
flipped, cut and put in, and what files say is changed: fields removed, renamed, of other types, huge or nested without
end, columns and rows doubled or dropped. Of most changes checksums are then made to fit, as by someone who means harm.
Only the right answer may come of it, or an error that names the file (of settings and of ids to leave out, the value).
Where checksums fit, or there are none, another sound answer may come, or an error on rows that cannot be scored:
whoever writes them can write any file. A process may not take 2 GiB more memory, nor 20 seconds, for one of them.

| read back | changed | right | refused | another, with a warning | another, checksums fit or are none | anything else |
|---|---:|---:|---:|---:|---:|---:|
"""


def table(folder: Path = FIGURES) -> str:
    """Return the table of all figures in a folder."""
    found = kept_figures(folder)
    lines = [_line(each) for each in found]
    names = ("tried", "right", "refused", "told", "other", "raw", "hangs")
    total = {"target": "all", **{name: sum(each.get(name, 0) for each in found) for name in names}}
    return _HEAD + "\n".join([*lines, _line(total)]).replace("\\\n", "\n") + "\n"


def kept_figures(folder: Path = FIGURES) -> list[dict[str, Any]]:
    """Return the figures of all targets; a file has those of several, or of one."""
    contents = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
    several = [each for content in contents for each in (content if isinstance(content, list) else [content])]
    # Of a server, it is behaviours that are tried.
    return [{"tried": each.get("behaviours", 0), **each} for each in several]


def _line(figures: dict[str, Any]) -> str:
    counts = [figures.get(name, 0) for name in ("tried", "right", "refused", "told", "other")]
    wrong = figures.get("raw", 0) + figures.get("hangs", 0)
    return f"| {figures['target']} | " + " | ".join(f"{n:,}" for n in (*counts, wrong)) + " |"


def with_table(text: str) -> str:
    """Return a page with the table put in anew."""
    before, _, rest = text.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    return f"{before}{_BEGIN}\n{table()}\n{_END}{after}"


def section() -> str:
    """Return the section, for who writes the page from its beginning."""
    return f"## What was changed, and read back\n\n{_BEGIN}\n{table()}\n{_END}\n"
