"""Hooks of the documentation site: `make site`.

The pages are written for a plain git host, where they stand beside README.md and the code. On the site, README.md is
the home page, CHANGELOG.md and CONTRIBUTING.md are pages, and links to code are plain text. A page of the API is made
of docstrings. At the end the built site is searched for anything that a browser would fetch from elsewhere.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

import minmargin as mm

ROOT = Path(__file__).parents[1]
#: Pages that are not in docs, by their names on the site.
FROM_ROOT = {"index.md": "README.md", "CHANGELOG.md": "CHANGELOG.md", "CONTRIBUTING.md": "CONTRIBUTING.md"}

_LINK = re.compile(r"(?P<image>!?)\[(?P<text>[^\]]*)\]\((?P<target>[^)\s:#]+)(?P<anchor>#[^)]*)?\)")
_FENCE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
_FETCHED = re.compile(
    r"""<(?:script|img|iframe|source)\b[^>]*\ssrc=["']?(?P<src>(?:https?:)?//[^"'\s>]+)"""
    r"""|<link\b(?=[^>]*\srel=["']?(?:stylesheet|preconnect|preload|icon))[^>]*\shref=["']?(?P<href>(?:https?:)?//[^"'\s>]+)"""
    r"""|url\(["']?(?P<url>(?:https?:)?//[^)"']+)"""
)


def on_files(files: Any, config: Any) -> Any:
    """Add the pages from the repository's root, the page of the API, and the notebooks' readme."""
    for name, source in FROM_ROOT.items():
        files.append(File.generated(config, name, content=(ROOT / source).read_text()))
    files.append(File.generated(config, "api.md", content=_api()))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Return a page with the links of the git host turned into links of the site."""
    name = page.file.src_uri
    source = FROM_ROOT.get(name, f"docs/{name}")

    def turn(link: re.Match[str]) -> str:
        target = _on_site(posixpath.normpath(posixpath.join(posixpath.dirname(source), link["target"])))
        if target is None:
            return link["text"]
        relative = posixpath.relpath(target, posixpath.dirname(name) or ".")
        return f"{link['image']}[{link['text']}]({relative}{link['anchor'] or ''})"

    def turn_all(text: str) -> str:
        return _LINK.sub(turn, text.replace("<details>", "<details markdown>"))

    pieces, end = [], 0
    for fence in _FENCE.finditer(markdown):
        pieces += [turn_all(markdown[end : fence.start()]), fence[0]]
        end = fence.end()
    return "".join([*pieces, turn_all(markdown[end:])])


def on_post_build(config: Any) -> None:
    """Stop if a page or a style sheet would have a browser fetch something from elsewhere."""
    for path in Path(config.site_dir).rglob("*"):
        if path.suffix in {".html", ".css"} and (fetched := _FETCHED.search(path.read_text())):
            raise PluginError(
                f"{path.relative_to(config.site_dir)} fetches {fetched.group(fetched.lastgroup)}"
            )


def _on_site(path: str) -> str | None:
    """Return where a file of the repository is on the site; None if it is not there."""
    for name, source in FROM_ROOT.items():
        if path == source:
            return name
    return path.removeprefix("docs/") if path.startswith("docs/") else None


def _api() -> str:
    """Return the page of the API: every public name, functions before classes, by its own docstring."""
    public = [(name, getattr(mm, name)) for name in mm.__all__ if name != "__version__"]
    entries = [
        f"::: {value.__module__}.{value.__qualname__}"
        for _, value in sorted(public, key=lambda each: (isinstance(each[1], type), each[0].lower()))
    ]
    lead = (
        "Every public name, as its docstring tells. [Reference](reference.md) explains them in their context."
    )
    return "\n\n".join(["# API", lead, *entries]) + "\n"
