"""The labeling interface: made so that hostile names stay text, and read from whatever a project has."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

import minmargin as mm
from made_up_batch import CLASSES, made_up_batch
from minmargin.integrations.items import Showing
from minmargin.integrations.label_studio.interface import (
    Interface,
    check_interface,
    make_interface,
    read_interface,
)
from minmargin.integrations.label_studio.tasks import make_data, make_task

PNG = b"\x89PNG\r\n\x1a\n"
ASKED = ("Header $question", "Header $reason")


def parsed(xml: str) -> ET.Element:
    return ET.fromstring(xml)  # noqa: S314 - made here


def test_a_text_is_shown_with_its_reason_and_one_hotkey_a_class():
    assert make_interface(Showing.of(made_up_batch(), text_column="text")) == (
        "<View>\n"
        "  <Style>.lsf-richtext__container { font-size: 20px; line-height: 1.5; }</Style>\n"
        '  <Text name="text" value="$text" />\n'
        '  <Header value="$question" size="4" '
        'style="margin: 0.5em 0 0.5em 8px; font-size: 16px; font-weight: 500" />\n'
        '  <Header value="$reason" size="5" '
        'style="margin: 0.5em 0 1.5em 8px; font-size: 12px; font-weight: 400; opacity: 0.6" />\n'
        '  <Choices name="label" toName="text" required="true" choice="single" showInline="true">\n'
        '    <Choice value="card" hotkey="1" />\n'
        '    <Choice value="cash" hotkey="2" />\n'
        '    <Choice value="top-up" hotkey="3" />\n'
        "  </Choices>\n"
        "</View>"
    )


@pytest.mark.parametrize(
    ("kept", "asked", "tags"),
    [
        ({"image": [PNG]}, {"image_column": "image"}, ["Image $image", *ASKED, "Choices"]),
        ({"a": [1], "b": [2]}, {}, [*ASKED, "Choices", "Text $lines"]),
        (
            {"t": ["x"], "b": [2]},
            {"text_column": "t", "columns": ["b"]},
            ["Text $text", *ASKED, "Choices", "Text $lines"],
        ),
    ],
)
def test_texts_and_images_come_before_the_classes_and_columns_after_them(
    kept: dict, asked: dict, tags: list[str]
):
    view = parsed(make_interface(Showing.of(made_up_batch(1, kept=kept), **asked)))
    found = [tag for tag in view.iter() if tag.tag not in {"View", "Style", "Choice"}]
    assert [f"{tag.tag} {tag.get('value', '')}".strip() for tag in found] == tags
    (control,) = view.iter("Choices")
    assert control.get("toName") == next(tag.get("name") for tag in found if tag.tag in {"Text", "Image"})


def test_columns_are_shown_as_lines_in_their_order_and_kept_by_name_for_interfaces_of_ones_own():
    showing = Showing.of(
        made_up_batch(1, kept={"z": [1.5], "a": [None], "m": ["x"]}), question="Kind $of row?"
    )
    data = make_task(next(showing.items()), read_interface(make_interface(showing), "x"), showing.question)[
        "data"
    ]
    assert data["lines"] == "z: 1.5\na: \nm: x"
    assert data["columns"] == {"z": 1.5, "a": None, "m": "x"}
    assert data["question"] == "Kind $of row?"


@pytest.mark.parametrize(("n", "tag"), [(10, "Choices"), (11, "Taxonomy"), (77, "Taxonomy")])
def test_more_classes_than_digits_are_a_list_to_search_where_no_key_is_a_class(n: int, tag: str):
    classes = [f"class {place:02d}" for place in range(n)]
    showing = Showing.of(made_up_batch(classes=classes))
    xml = make_interface(showing)
    assert [each.tag for each in parsed(xml) if each.get("name") == "label"] == [tag]
    hotkeys = [choice.get("hotkey") for choice in parsed(xml).iter("Choice")]
    assert hotkeys == ([*"1234567890"] if n == 10 else [None] * n)
    interface = read_interface(xml, "x")
    assert (interface.kind, interface.classes) == (tag.lower(), tuple(classes))
    task = make_task(next(showing.items()), interface)
    assert ("predictions" in task) == (n == 10), "what is chosen in a list stays when another class is added"
    assert task["data"]["reason"].startswith("The model's guess: “class 00”.")


def test_digits_are_their_own_hotkeys():
    view = parsed(make_interface(Showing.of(made_up_batch(classes=list(range(10))))))
    assert [choice.get("hotkey") for choice in view.iter("Choice")] == [*"0123456789"]


@given(
    st.lists(
        st.text(min_size=1).filter(
            lambda text: text == text.strip() and text.isprintable() and text[0] != "$"
        ),
        min_size=2,
        unique=True,
    ),
    st.text(min_size=1).filter(lambda text: "\0" not in text),
)
def test_hostile_class_and_column_names_stay_text(classes: list[str], column: str):
    showing = Showing.of(made_up_batch(2, classes=classes, kept={f"x{column}": ["a", "b"]}))
    xml = make_interface(showing)
    assert read_interface(xml, "x") == Interface(
        "label",
        "choices" if len(classes) <= 10 else "taxonomy",
        "columns",
        tuple(classes),
        frozenset({"question", "reason", "lines"}),
    )
    assert {tag.tag for tag in parsed(xml).iter()} <= {
        "View",
        "Style",
        "Header",
        "Text",
        "Taxonomy",
        "Choices",
        "Choice",
    }


@pytest.mark.parametrize("name", ["", " card", "two\nlines", "$text", "\x07"])
def test_a_class_that_label_studio_would_change_is_refused(name: str):
    with pytest.raises(mm.InputError) as caught:
        make_interface(Showing.of(made_up_batch(classes=[name, "other"])))
    assert str(caught.value) == (
        f"Label Studio cannot offer the class {name!r}: a choice is one printable line, without spaces around it or "
        "a $ before it. Rename the class in the labeled set."
    )


PROJECT = "Project 7 ('mine')"
CHOICES = "".join(f'<Choice value="{name}"/>' for name in CLASSES)
MINE = (
    '<View><Text name="t" value="$text"/>'
    f'<Choices name="c" toName="t">{CHOICES}<Choice value="other"/></Choices></View>'
)


def check(config: str) -> Interface:
    showing = Showing.of(made_up_batch(1, kept={"text": ["a"]}, classes=CLASSES), text_column="text")
    interface = read_interface(config, PROJECT)
    check_interface(interface, showing, make_data(next(showing.items())), PROJECT)
    return interface


def test_a_project_of_ones_own_may_offer_more_classes_under_other_names():
    assert check(MINE) == Interface("c", "choices", "t", (*CLASSES, "other"), frozenset({"text"}))
    as_list = MINE.replace("<Choices", '<Taxonomy maxUsages="1"').replace("/Choices", "/Taxonomy")
    assert check(as_list) == Interface("c", "taxonomy", "t", (*CLASSES, "other"), frozenset({"text"}))


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (
            MINE.replace('<Choice value="cash"/>', ""),
            (
                f"{PROJECT} offers other classes: it lacks 'cash'. Add them to its labeling interface, or use "
                "another project; a new name makes one."
            ),
        ),
        (
            MINE.replace("$text", "$review"),
            (
                f"{PROJECT} shows '$review', and the tasks have '$text', '$row_id', '$rank', '$reason', "
                "'$predicted', '$first_class', '$second_class', '$score' and 2 more. Mend its labeling interface, or "
                "use another project; a new name makes one."
            ),
        ),
        (
            '<View><Text name="t" value="$text"/></View>',
            (
                f"The labeling interface of {PROJECT} has 0 Choices or Taxonomy tags, of which rows need one that "
                "takes a single choice. Use another project; a new name makes one."
            ),
        ),
        (
            MINE.replace("<Choices ", '<Choices choice="multiple" '),
            (
                f"The labeling interface of {PROJECT} has 1 Choices or Taxonomy tags, of which rows need one that "
                "takes a single choice. Use another project; a new name makes one."
            ),
        ),
        (
            MINE.replace("<Choices", "<Taxonomy").replace("/Choices", "/Taxonomy"),
            (
                f"The labeling interface of {PROJECT} has 1 Choices or Taxonomy tags, of which rows need one that "
                "takes a single choice. Use another project; a new name makes one."
            ),
        ),
        (
            "<View>",
            f"The labeling interface of {PROJECT} is no XML (no element found: line 1, column 6). Use another project.",
        ),
    ],
)
def test_a_project_that_cannot_take_the_batch_says_why(config: str, message: str):
    with pytest.raises(mm.InputError) as caught:
        check(config)
    assert str(caught.value) == message
