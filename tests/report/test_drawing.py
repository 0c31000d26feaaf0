"""Drawings in a page: they follow its colors and font, share no ids, and take any text as text."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from minmargin.report.drawing import COLORS, MANY, drawn, inline, legible, scatter
from minmargin.report.pages import _text


def line(label: str = "a line", name: str = "x") -> str:
    """Return a drawing of one line, whose axis has a name."""
    with drawn(3, 2) as (figure, axes):
        axes.plot([0, 1], [0, 1], color=COLORS["vermilion"])
        axes.set_xlabel(name)
        return str(inline(figure, label))


def parsed(svg: str) -> ET.Element:
    return ET.fromstring(svg)  # noqa: S314 - our own


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in parsed(svg).iter("text")]


def test_colors_are_those_of_the_page() -> None:
    svg = line()
    assert "stroke: var(--vermilion)" in svg
    assert re.findall(r": #[0-9a-f]{6}", svg) == []


def test_the_page_defines_every_color_in_both_modes_and_light_is_what_is_drawn_in() -> None:
    light, dark = _text("page.css").split("@media screen and (prefers-color-scheme: dark)")
    for name, value in COLORS.items():
        assert f"--{name}: {value};" in light
        assert re.search(rf"--{name}: #[0-9a-f]{{6}};", dark.split("}")[0])


def test_text_is_text_in_the_font_of_the_page() -> None:
    svg = line(name="income")
    assert "income" in texts(svg)
    assert "font-family" not in svg


def test_the_size_is_left_to_the_page() -> None:
    root = parsed(line("told"))
    assert root.attrib == {"viewBox": "0 0 216 144", "role": "img", "aria-label": "told"}


def test_two_drawings_share_no_id_and_every_reference_is_to_its_own() -> None:
    first, second = line(name="x"), line(name="y")
    ids = [set(re.findall(r'id="([^"]*)"', svg)) for svg in (first, second)]
    assert not ids[0] & ids[1]
    for svg, own in zip((first, second), ids, strict=True):
        references = set(re.findall(r'href="#([^"]*)"', svg)) | set(re.findall(r"url\(#([^)]*)\)", svg))
        assert references
        assert references <= own


def test_the_same_figure_is_the_same_text() -> None:
    assert line() == line()


@pytest.mark.parametrize(
    "name",
    [
        "<script>alert(1)</script>",
        '"id="x" url(#y) #cf5107',
        "$\\frac{broken",
        "$a$ costs $b$",
        "&amp; ]]>",
        "日本語 العربية 🎉",
        "zero\u200bwidth \u202eright to left",
    ],
)
def test_any_text_is_shown_as_it_is(name: str) -> None:
    svg = line(label=name, name=name)
    assert name in texts(svg)
    assert parsed(svg).attrib["aria-label"] == name


def test_characters_that_no_drawing_can_hold_are_marked() -> None:
    assert "a\ufffdb" in texts(line(name="a\x07b"))
    assert legible("a\x07b\ud800c\ufffe\n") == "a\ufffdb\ufffdc\ufffd\n"


def test_many_points_become_one_picture() -> None:
    with drawn(3, 2) as (figure, axes):
        places = np.linspace(0, 1, MANY + 1)
        scatter(axes, places, places, color="faint", size=4)
        many = str(inline(figure, "many"))
    with drawn(3, 2) as (figure, axes):
        scatter(axes, places[:-1], places[:-1], color="faint", size=4)
        few = str(inline(figure, "few"))
    assert many.count("data:image/png;base64") == 1
    assert few.count("data:image") == 0
    assert few.count("<use") > MANY
