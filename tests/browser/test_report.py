"""The report of a batch in a real browser. Complaints, failed requests and requests to anywhere fail every test."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import minmargin as mm

pytestmark = pytest.mark.browser

PHONES = [{"width": 320, "height": 640}, {"width": 390, "height": 844}]
REPORTS = [
    "digits_report",
    "iris_report",
    "spreadsheet_report",
    "wide_report",
    "long_report",
    "hostile_report",
]

Visit = Callable[..., Any]


@pytest.fixture(params=REPORTS)
def report(request: pytest.FixtureRequest) -> Path:
    return request.getfixturevalue(request.param)


def cells(page: Any, heading: str) -> list[str]:
    """Return the texts of a column, of the rows that can be seen, from top to bottom."""
    return page.evaluate(
        """(heading) => {
            const names = Array.from(document.querySelectorAll("#picks th"), (cell) => cell.textContent);
            const rows = Array.from(document.querySelectorAll("#picks tbody tr")).filter((row) => row.offsetParent);
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
    assert page.get_by_role("img").count() >= 4
    assert all(
        page.locator("svg").evaluate_all("(all) => all.map((svg) => svg.getAttribute('aria-label').length)")
    )
    assert page.get_by_label("Show rows with").count() == 1
    nameless = "(all) => all.filter((field) => !field.labels.length).length"
    assert page.locator("select, input").evaluate_all(nameless) == 0


def test_on_paper_it_is_light_and_whole(visit: Visit, report: Path) -> None:
    page = visit(report, color_scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    assert contrast(color(page, "body"), (1.0, 1.0, 1.0)) >= 7
    for control in (".filter", ".choose", ".pager >> nth=0"):
        assert not page.locator(control).is_visible()
    assert page.locator("#picks tbody tr").last.is_visible()
    assert page.pdf(format="A4").startswith(b"%PDF-")


def test_without_a_script_the_table_is_there(visit: Visit, report: Path) -> None:
    page = visit(report, java_script_enabled=False)
    assert page.locator("#picks tbody tr").last.is_visible()
    assert page.locator("#picks thead th").last.is_visible()
    for control in (".filter", ".choose", ".pager >> nth=0"):
        assert not page.locator(control).is_visible()
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


def test_numbers_and_dates_of_a_spreadsheet_are_sorted_by_what_they_were_read_as(
    visit: Visit, spreadsheet_report: Path
) -> None:
    page = visit(spreadsheet_report)
    for direction in (1, -1):
        sort_by(page, "paid")
        paid = cells(page, "paid")
        n_missing = paid.count("?")
        assert n_missing > 0
        assert paid[-n_missing:] == ["?"] * n_missing
        numbers = [float(text.replace(",", ".")) for text in paid[:-n_missing]]
        assert numbers == sorted(numbers)[::direction]
    assert min(numbers) < 0 < max(numbers)
    sort_by(page, "day")
    days = ["-".join(reversed(text.split("."))) for text in cells(page, "day")]
    assert days == sorted(days)


def test_what_was_read_of_each_column_is_told(visit: Visit, spreadsheet_report: Path) -> None:
    page = visit(spreadsheet_report)
    section = page.locator("section", has=page.get_by_role("heading", name="How the table was read"))
    assert section.get_by_text("'day' (%d.%m.%Y)").is_visible()
    assert section.get_by_role("cell", name="date", exact=True).is_visible()


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


def test_lists_choose_rows_by_predicted_class_and_by_pair(
    visit: Visit, iris_report: Path, iris_batch: mm.Batch
) -> None:
    page = visit(iris_report)
    classes, pairs = (
        iris_batch.predicted,
        [" / ".join(sorted(pair)) for pair in iris_batch.top_classes.tolist()],
    )
    wanted = [str(row) for row, name in zip(iris_batch.rows, classes, strict=True) if name == "versicolor"]
    assert 0 < len(wanted) < 40
    page.get_by_role("combobox", name="Predicted").select_option(label=f"versicolor ({len(wanted)})")
    assert cells(page, "row") == wanted
    assert page.locator("output").inner_text() == f"{len(wanted)} of 40 rows"
    pair = "versicolor / virginica"
    page.get_by_role("combobox", name="Torn between").select_option(label=f"{pair} ({pairs.count(pair)})")
    both = [
        str(row)
        for row, name, each in zip(iris_batch.rows, classes, pairs, strict=True)
        if (name, each) == ("versicolor", pair)
    ]
    assert 0 < len(both) <= len(wanted)
    assert cells(page, "row") == both
    page.get_by_label("Show rows with").fill("no row has this")
    assert cells(page, "row") == []
    page.get_by_label("Show rows with").fill("")
    for label in ("Predicted", "Torn between"):
        page.get_by_role("combobox", name=label).select_option(label="all")
    assert len(cells(page, "row")) == 40


def test_two_classes_are_a_list_of_two_and_their_one_pair_is_none(visit: Visit, long_report: Path) -> None:
    page = visit(long_report)
    assert page.get_by_role("combobox", name="Predicted").locator("option").count() == 3
    assert page.get_by_role("combobox", name="Torn between").count() == 0
    assert page.get_by_text("All picks are torn between no and yes.").is_visible()


# Pages and columns


def test_a_long_table_has_pages_of_fifty_rows(visit: Visit, long_report: Path, long_batch: mm.Batch) -> None:
    page = visit(long_report)
    rows = [str(row) for row in long_batch.rows]
    back, forth = (page.get_by_role("button", name=name, exact=True) for name in ("Back", "Next"))
    assert cells(page, "row") == rows[:50]
    assert page.locator(".pager span").all_inner_texts() == ["1 to 50 of 130"] * 2
    assert back.first.is_disabled()
    forth.first.click()
    assert cells(page, "row") == rows[50:100]
    forth.last.click()
    assert cells(page, "row") == rows[100:]
    assert page.locator(".pager span").all_inner_texts() == ["101 to 130 of 130"] * 2
    assert forth.first.is_disabled()
    assert page.locator("#picks thead").bounding_box()["y"] >= 0, "the table's top is in view"
    back.first.click()
    assert cells(page, "row") == rows[50:100]
    sort_by(page, "row")
    assert cells(page, "row") == sorted(rows, key=int)[:50]
    page.get_by_label("Show rows with").fill("the first pick")
    assert len(cells(page, "row")) == 1
    assert not page.locator(".pager").first.is_visible()


def test_on_paper_all_pages_are_there(visit: Visit, long_report: Path, long_batch: mm.Batch) -> None:
    page = visit(long_report)
    page.emulate_media(media="print")
    assert cells(page, "row") == [str(row) for row in long_batch.rows]


def test_columns_can_be_chosen(visit: Visit, long_report: Path) -> None:
    page = visit(long_report)
    seen = "(all) => all.filter((cell) => cell.offsetParent).map((cell) => cell.textContent)"
    headings = page.locator("#picks th").evaluate_all(seen)
    front = ["rank", "row", "predicted", "score", "reason"]
    numbers = [f"number{place}" for place in range(6)]
    near = ["near-copy of"] if "near-copy of" in headings else []
    assert headings == [*front, *near, "job", "age", "income", "day", *numbers[:4]]
    page.get_by_text("Columns", exact=True).click()
    page.get_by_label("reason", exact=True).uncheck()
    page.get_by_label("number5", exact=True).check()
    assert page.locator("#picks th").evaluate_all(seen) == [
        *front[:-1],
        *near,
        "job",
        "age",
        "income",
        "day",
        *numbers[:4],
        "number5",
    ]
    for cells_of_row in page.locator("#picks tbody tr").all()[:3]:
        shown = cells_of_row.locator("td").evaluate_all(seen)
        assert len(shown) == len(page.locator("#picks th").evaluate_all(seen))


# What is shown


@pytest.mark.parametrize("width", [390, 1280])
def test_what_sets_rows_apart_and_what_the_map_means_can_be_read(
    visit: Visit, long_report: Path, width: int
) -> None:
    page = visit(long_report, viewport={"width": width, "height": 844})
    for heading in ("What sets them apart", "The picks from the pool", "The labeled set from the pool"):
        assert page.get_by_role("heading", name=heading).is_visible()
    assert page.get_by_text(
        "Each thin line leads from a pick to the pick nearest to it by all features."
    ).is_visible()
    chart = page.locator("figure", has_text="The labeled set from the pool").locator("svg")
    assert chart.get_attribute("aria-label").startswith(
        "Shares of rows, the largest difference first. day ≤ 2026-03-01: 100%, pool 7%"
    )
    names = chart.locator("text").evaluate_all(
        "(all) => all.map((text) => text.getBoundingClientRect().left)"
    )
    assert min(names) >= 0, "names of features are not cut off"


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
    for box in page.locator(".choose input").all():
        box.evaluate("(box) => box.checked || box.click()")
    for button in page.locator("#picks th button").all():
        button.click()
    assert page.evaluate("window.harmed") is None
    assert page.locator("script").count() == 1
    assert page.locator("main img, main b, main a").count() == 0
    assert page.locator("svg script, svg img").count() == 0
