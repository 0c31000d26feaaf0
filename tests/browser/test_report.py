"""The report of a batch in a real browser. Complaints, failed requests and requests to anywhere fail every test."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import minmargin as mm

pytestmark = pytest.mark.browser

PHONES = [{"width": 320, "height": 640}, {"width": 390, "height": 844}]
REPORTS = ["digits_report", "iris_report", "wide_report", "hostile_report"]

Visit = Callable[..., Any]


@pytest.fixture(params=REPORTS)
def report(request: pytest.FixtureRequest) -> Path:
    return request.getfixturevalue(request.param)


def cells(page: Any, heading: str) -> list[str]:
    """Return the texts of a column, of the rows that can be seen, from top to bottom."""
    return page.evaluate(
        """(heading) => {
            const names = Array.from(document.querySelectorAll("#picks th"), (cell) => cell.textContent);
            const rows = Array.from(document.querySelectorAll("#picks tbody tr")).filter((row) => !row.hidden);
            return rows.map((row) => row.cells[names.indexOf(heading)].textContent);
        }""",
        heading,
    )


def sort_by(page: Any, heading: str) -> None:
    page.get_by_role("button", name=heading, exact=True).click()


def color(page: Any, selector: str, name: str = "color") -> tuple[float, ...]:
    """Return a color that an element has in the end, each part from 0 to 1."""
    text = page.evaluate(
        "([selector, name]) => getComputedStyle(document.querySelector(selector))[name]", [selector, name]
    )
    return tuple(int(part) / 255 for part in text.removeprefix("rgb(").removesuffix(")").split(","))


def contrast(first: tuple[float, ...], second: tuple[float, ...]) -> float:
    """Return the contrast of two colors by the formula of the Web Content Accessibility Guidelines."""

    def luminance(parts: tuple[float, ...]) -> float:
        red, green, blue = (
            part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
        )
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    lighter, darker = sorted([luminance(first), luminance(second)], reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


# Every page


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_opens_without_complaint_and_everything_in_it_can_be_read(
    visit: Visit, report: Path, scheme: str
) -> None:
    page = visit(report, color_scheme=scheme)
    paper = color(page, "body", "backgroundColor")
    for selector, name in (
        ("body", "color"),
        ("figcaption", "color"),
        ("#picks th", "color"),
        ("svg text", "fill"),
    ):
        assert contrast(color(page, selector, name), paper) >= 4.5, selector
    assert (sum(paper) < 1) == (scheme == "dark")


@pytest.mark.parametrize("phone", PHONES, ids=lambda size: str(size["width"]))
def test_on_a_phone_only_the_table_scrolls_sideways(
    visit: Visit, report: Path, phone: dict[str, int]
) -> None:
    page = visit(report, viewport=phone, is_mobile=True, has_touch=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= phone["width"]
    assert page.evaluate("document.querySelector('#picks').offsetWidth") > phone["width"] / 2


def test_no_two_elements_share_an_id_and_references_have_an_end(visit: Visit, report: Path) -> None:
    page = visit(report)
    ids = page.evaluate("Array.from(document.querySelectorAll('[id]'), (element) => element.id)")
    assert len(ids) == len(set(ids))
    used = page.evaluate(
        "Array.from(document.querySelectorAll('use'), (e) => e.getAttribute('href').slice(1))"
    )
    assert set(used) <= set(ids)


def test_drawings_and_fields_have_names_for_those_who_cannot_see(visit: Visit, report: Path) -> None:
    page = visit(report)
    assert page.get_by_role("img").count() >= 5
    assert all(
        page.locator("svg").evaluate_all("(all) => all.map((svg) => svg.getAttribute('aria-label').length)")
    )
    assert page.get_by_label("Show rows with").count() == 1


def test_on_paper_it_is_light_and_whole(visit: Visit, report: Path) -> None:
    page = visit(report, color_scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    assert contrast(color(page, "body"), (1.0, 1.0, 1.0)) >= 7
    assert not page.locator(".filter").is_visible()
    assert page.locator("#picks tbody tr").last.is_visible()
    assert page.pdf(format="A4").startswith(b"%PDF-")


def test_without_a_script_the_table_is_there(visit: Visit, report: Path) -> None:
    page = visit(report, java_script_enabled=False)
    assert page.locator("#picks tbody tr").last.is_visible()
    assert not page.locator(".filter").is_visible()
    assert page.get_by_role("button").count() == 0


def test_a_script_that_got_in_would_not_run(chromium: Any, report: Path) -> None:
    page = chromium.new_page()
    refused: list[str] = []
    page.on("console", lambda message: refused.append(message.text))
    page.goto(report.as_uri())
    page.evaluate(
        """() => {
            const script = document.createElement("script");
            script.textContent = "window.harmed = true";
            document.body.append(script);
            document.body.setAttribute("onclick", "window.harmed = true");
            document.body.click();
        }"""
    )
    assert page.evaluate("window.harmed") is None
    assert refused
    assert all("Content Security Policy" in text for text in refused)
    page.close()


# Sorting and filtering


def test_a_heading_sorts_up_and_then_down(visit: Visit, iris_report: Path, iris_batch: mm.Batch) -> None:
    page = visit(iris_report)
    rows = [str(row) for row in iris_batch.rows]
    assert cells(page, "row") == rows
    sort_by(page, "row")
    assert cells(page, "row") == sorted(rows, key=int)
    assert page.locator("th[aria-sort]").evaluate_all(
        "(all) => all.map((e) => [e.textContent, e.ariaSort])"
    ) == [["row", "ascending"]]
    sort_by(page, "row")
    assert cells(page, "row") == sorted(rows, key=int, reverse=True)
    sort_by(page, "rank")
    assert cells(page, "row") == rows
    assert page.locator("th[aria-sort]").count() == 1


def test_scores_are_sorted_by_all_their_digits(visit: Visit, iris_report: Path, iris_batch: mm.Batch) -> None:
    page = visit(iris_report)
    sort_by(page, "predicted")
    sort_by(page, "score")
    assert cells(page, "row") == [str(row) for row in iris_batch.rows]


def test_what_is_missing_comes_last_in_both_directions(visit: Visit, iris_report: Path) -> None:
    page = visit(iris_report)
    for _ in range(2):
        sort_by(page, "price")
        prices = cells(page, "price")
        n_missing = prices.count("")
        assert n_missing > 0
        assert prices[-n_missing:] == [""] * n_missing
        known = [float(price) for price in prices[:-n_missing]]
        assert known in (sorted(known), sorted(known, reverse=True))


def test_equal_cells_keep_the_order_of_the_batch(visit: Visit, iris_report: Path) -> None:
    page = visit(iris_report)
    sort_by(page, "predicted")
    ranks = [int(rank) for rank in cells(page, "rank")]
    names = cells(page, "predicted")
    assert names == sorted(names)
    assert [rank for _, rank in sorted(zip(names, ranks, strict=True))] == ranks


def test_texts_with_numbers_are_sorted_by_these(visit: Visit, iris_report: Path) -> None:
    page = visit(iris_report)
    sort_by(page, "id")
    ids = [int(name.removeprefix("r")) for name in cells(page, "id")]
    assert ids == sorted(ids)


def test_the_keyboard_sorts_too(visit: Visit, iris_report: Path) -> None:
    page = visit(iris_report)
    page.get_by_role("button", name="row", exact=True).focus()
    page.keyboard.press("Enter")
    rows = [int(row) for row in cells(page, "row")]
    assert rows == sorted(rows)


def test_words_filter_the_rows_and_the_count_follows(visit: Visit, iris_report: Path) -> None:
    page = visit(iris_report)
    field = page.get_by_label("Show rows with")
    assert page.locator("output").inner_text() == "40 of 40 rows"
    wanted = [reason for reason in cells(page, "reason") if "member 3 " in reason and "virginica" in reason]
    assert 0 < len(wanted) < 40
    field.fill("VIRGINICA, member 3")
    assert cells(page, "reason") == wanted
    assert page.locator("output").inner_text() == f"{len(wanted)} of 40 rows"
    sort_by(page, "row")
    assert sorted(cells(page, "reason")) == sorted(wanted)
    field.fill("no row has this")
    assert cells(page, "row") == []
    assert page.locator("output").inner_text() == "0 of 40 rows"
    field.fill("")
    assert page.locator("output").inner_text() == "40 of 40 rows"


# What is shown


def test_every_picture_can_be_seen(visit: Visit, digits_report: Path) -> None:
    page = visit(digits_report)
    widths = page.locator("#picks img").evaluate_all("(all) => all.map((img) => img.naturalWidth)")
    assert widths == [8] * 60


def test_of_many_columns_the_reason_is_seen_first_and_words_stay_whole(
    visit: Visit, wide_report: Path
) -> None:
    page = visit(wide_report, viewport={"width": 1366, "height": 768})
    headings = page.locator("#picks th")
    assert headings.all_inner_texts()[:5] == ["rank", "row", "predicted", "score", "reason"]
    assert page.locator("#picks tr td:nth-child(5)").first.bounding_box()["width"] >= 14 * 16
    assert headings.nth(4).bounding_box()["x"] < 1366 / 2
    one_word = page.locator("#picks td", has_text="self-employed").first
    n_lines = one_word.evaluate(
        """(cell) => {
            const range = document.createRange();
            range.selectNodeContents(cell);
            return new Set(Array.from(range.getClientRects(), (box) => box.top)).size;
        }"""
    )
    assert n_lines <= 2, "it may break at its hyphen"
    endless = page.locator("#picks td", has_text="x" * 80).first
    assert endless.bounding_box()["width"] <= 14 * 16


def test_hostile_contents_stay_text(visit: Visit, hostile_report: Path, hostile_batch: mm.Batch) -> None:
    page = visit(hostile_report)
    table = hostile_batch.to_arrow()
    assert hostile_batch.kept is not None
    for name in hostile_batch.kept.column_names:
        assert cells(page, name) == table[name].to_pylist()
    assert cells(page, "predicted") == table["predicted"].to_pylist()
    page.get_by_label("Show rows with").fill("<script>")
    assert len(cells(page, "row")) > 0
    for button in page.locator("#picks th button").all():
        button.click()
    assert page.evaluate("window.harmed") is None
    assert page.locator("script").count() == 1
    assert page.locator("main img, main b, main a").count() == 0
    assert page.locator("svg script, svg img").count() == 0
