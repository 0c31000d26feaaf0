"""Pages: every value is text, one script runs and no other, and a missing library is named."""

from __future__ import annotations

import base64
import hashlib
import re
import sys

import jinja2
import pytest
from markupsafe import Markup

import minmargin as mm
from minmargin.report import pages
from minmargin.report.pages import check_extras, number, render

PAGE = """{% extends "base.html.jinja" %}{% import "parts.html.jinja" as parts %}
{% block title %}{{ value }}{% endblock %}
{% block lead %}{{ value }}{% endblock %}
{% block content %}
{{ parts.numbers([(value, value)]) }}{{ parts.facts([(value, value)]) }}{{ parts.code(value) }}
{{ parts.table([value, "b"], [[value, 1]], numeric=["b"], caption=value) }}
{% call parts.note() %}{{ value }}{% endcall %}
{% call parts.figure(drawing, value) %}{{ value }}{% endcall %}
{% endblock %}"""


def made(value: object, drawing: object = "") -> str:
    """Return a page that shows a value in every place that the shared parts have."""
    return pages._environment().from_string(PAGE).render(value=value, drawing=drawing)


def test_a_value_is_text_in_every_part() -> None:
    page = made("<script>alert(1)</script>\"'{{ 7 * 7 }}")
    shown = "&lt;script&gt;alert(1)&lt;/script&gt;&#34;&#39;{{ 7 * 7 }}"
    assert page.count("<script>") == 1
    assert page.count(shown) == 15
    assert "49" not in page.partition("<body>")[2]


def test_markup_stays_as_it_is() -> None:
    assert '<svg id="x"></svg>' in made("a", Markup('<svg id="x"></svg>'))


def test_a_value_that_was_forgotten_is_an_error() -> None:
    with pytest.raises(jinja2.UndefinedError):
        render("batch.html.jinja")


def test_the_only_script_that_may_run_is_the_one_in_the_page() -> None:
    page = made("x")
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy == (
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
        f"script-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )
    assert "innerHTML" not in script


def test_a_page_names_no_other_file() -> None:
    assert re.findall(r"https?:|@import|url\(|src=|<link", made("x")) == []


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (1234567, "1,234,567"),
        (-2.0, "-2"),
        (0.04123, "0.0412"),
        (12345.6, "12,346"),
        (999.9996, "1e+03"),
        (1e-9, "1e-09"),
    ],
)
def test_numbers_are_for_people(value: float, text: str) -> None:
    assert number(value) == text


@pytest.mark.parametrize(("library", "name"), [("jinja2", "jinja2"), ("matplotlib", "matplotlib")])
def test_a_missing_library_is_named_with_its_extra(
    library: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    pages._environment.cache_clear()  # other tests may have made pages
    with pytest.raises(mm.MissingExtraError) as caught:
        check_extras()
    assert str(caught.value) == (
        f"Reports need {name}, which is not installed. Use pip install 'minmargin[report]'."
    )
