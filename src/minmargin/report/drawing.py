"""Drawings: matplotlib figures that become part of a page and follow its colors, light and dark."""

from __future__ import annotations

import hashlib
import io
import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias
from xml.etree import ElementTree as ET

from minmargin.errors import missing_extra

if TYPE_CHECKING:
    from markupsafe import Markup

# matplotlib has no types that could be checked.
Axes: TypeAlias = Any
Figure: TypeAlias = Any

#: The page's colors by the names of their CSS variables, as they are in light mode. A figure drawn in these
#: takes the page's. Vermilion, blue, green, purple and gold are told apart by color-blind readers too.
COLORS: Mapping[str, str] = {
    "ink": "#1d2126",
    "muted": "#5c6570",
    "faint": "#98a1ab",
    "rule": "#e2e5e9",
    "wash": "#f4f5f7",
    "paper": "#fcfcfb",
    "vermilion": "#cf5107",
    "blue": "#0b6bb0",
    "green": "#00805c",
    "purple": "#9c4f8b",
    "gold": "#b58100",
}

STYLE: Mapping[str, Any] = {
    "svg.fonttype": "none",  # text stays text: it can be searched, and takes the page's font
    "svg.hashsalt": "minmargin",
    "text.parse_math": False,  # a dollar sign in a name is a dollar sign
    "font.size": 9,
    "axes.titlesize": 9.5,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": COLORS["faint"],
    "axes.labelcolor": COLORS["muted"],
    "axes.linewidth": 0.7,
    "text.color": COLORS["ink"],
    "xtick.color": COLORS["faint"],
    "ytick.color": COLORS["faint"],
    "xtick.labelcolor": COLORS["muted"],
    "ytick.labelcolor": COLORS["muted"],
    "axes.grid": False,
    "axes.axisbelow": True,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "grid.color": COLORS["rule"],
    "grid.linewidth": 0.7,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "legend.handletextpad": 0.5,
    "savefig.dpi": 180,  # of what is rasterized
}

MANY = 400  # points beyond which a picture is smaller than their outlines

_VARIABLES = {value: f"var(--{name})" for name, value in COLORS.items()}
_HEX = re.compile(r"#[0-9a-f]{6}\b")
_NOT_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_FONT = re.compile(r"font-family:[^;]*;?\s*")


@contextmanager
def drawn(width: float = 4.5, height: float = 3.0, **subplots: Any) -> Iterator[tuple[Figure, Any]]:
    """Yield a figure of some inches and its axes, in the style of the pages. Draw and call `inline` inside."""
    mpl = plotting()
    with mpl.rc_context(dict(STYLE)):
        figure = mpl.figure.Figure(figsize=(width, height), layout="constrained")
        yield figure, figure.subplots(**subplots)


def inline(figure: Figure, label: str) -> Markup:
    """Return a figure as SVG to stand in a page; `label` is what a reader who cannot see it is told.

    Text takes the page's font, and everything drawn in one of `COLORS` the page's color of that name.
    """
    from markupsafe import Markup  # noqa: PLC0415 - an extra

    svg = _as_svg(figure)
    # Two figures of a page must not share an id: each is marked by what it shows.
    mark = "d" + hashlib.sha256(f"{label}\0{svg}".encode()).hexdigest()[:8]
    root = ET.fromstring(svg)  # noqa: S314 - matplotlib's own text
    for element in root.iter():
        element.tag = element.tag.partition("}")[2]
        element.attrib = {name.rpartition("}")[2]: value for name, value in element.attrib.items()}
        element.attrib.update(_for_a_page(element.attrib, mark))
        element.text, element.tail = _without_breaks(element.text), _without_breaks(element.tail)
    for unwanted in [*root.findall("metadata"), *root.findall("defs[style]")]:  # the page has its own style
        root.remove(unwanted)
    root.attrib = {"viewBox": root.attrib["viewBox"], "role": "img", "aria-label": legible(label)}
    return Markup(ET.tostring(root, encoding="unicode"))  # noqa: S704 - it escapes all texts


def _as_svg(figure: Figure) -> str:
    with plotting().rc_context(dict(STYLE)), warnings.catch_warnings(), io.StringIO() as file:
        # The browser draws the text, in fonts that have more letters than the one it is measured in.
        warnings.filterwarnings("ignore", "Glyph .* missing from")
        # Names may be wider, or taller, than the whole figure. They then reach over its edge, and can be read.
        warnings.filterwarnings("ignore", "constrained_layout not applied")
        figure.savefig(file, format="svg", metadata={"Date": None})
        return legible(file.getvalue())


def _for_a_page(attributes: Mapping[str, str], mark: str) -> Iterator[tuple[str, str]]:
    """Yield the attributes of an element that are other ones in a page: ids, references, fonts and colors."""
    for name, value in attributes.items():
        if name == "id":
            yield name, f"{mark}-{value}"
        elif name == "href" and value.startswith("#"):
            yield name, f"#{mark}-{value[1:]}"
        elif value.startswith("url(#"):
            yield name, f"url(#{mark}-{value[5:]}"
        elif name == "style":
            in_page = _HEX.sub(lambda found: _VARIABLES.get(found[0], found[0]), value)
            yield name, _FONT.sub("", in_page).replace("url(#", f"url(#{mark}-")
        elif name == "d":
            yield name, _without_breaks(value) or ""


def _without_breaks(text: str | None) -> str | None:
    return None if text is None or not text.strip() else " ".join(text.split())


def legible(text: str) -> str:
    """Return a text with a mark for each character that XML, and so a drawing, cannot hold."""
    return _NOT_IN_XML.sub("\N{REPLACEMENT CHARACTER}", text)


def scatter(axes: Axes, x: Any, y: Any, *, color: str, size: float, **more: Any) -> Any:
    """Draw points in a color of the page; many become a picture inside the drawing, which cannot follow dark mode."""
    return axes.scatter(
        x,
        y,
        s=size,
        color=COLORS[color],
        linewidths=more.pop("linewidths", 0),
        rasterized=len(x) > MANY,
        **more,
    )


def plotting() -> Any:
    """Return matplotlib, which is an extra, with the part of it that keeps no figures of its own."""
    try:
        import matplotlib.figure  # noqa: PLC0415 - an extra
    except ImportError:
        raise missing_extra("Reports need matplotlib", "report") from None
    return matplotlib
