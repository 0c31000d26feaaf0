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
from minmargin.integrations.label_studio.tasks import make_data

PNG = b"\x89PNG\r\n\x1a\n"


def parsed(xml: str) -> ET.Element:
    return ET.fromstring(xml)  # noqa: S314 - made here


def test_a_text_is_shown_with_its_reason_and_one_hotkey_a_class():
    assert make_interface(Showing.of(made_up_batch(), text_column="text")) == (
        "<View>\n"
        '  <Text name="text" value="$text" />\n'
        '  <View style="margin: 1em 0; opacity: 0.6">\n'
        '    <Header value="$reason" size="5" />\n'
        "  </View>\n"
        '  <Choices name="label" toName="text" choice="single" required="true" showInline="true">\n'
        '    <Choice value="card" hotkey="1" />\n'
        '    <Choice value="cash" hotkey="2" />\n'
        '    <Choice value="top-up" hotkey="3" />\n'
        "  </Choices>\n"
        "</View>"
    )


@pytest.mark.parametrize(
    ("kept", "asked", "tags"),
    [
        ({"image": [PNG]}, {"image_column": "image"}, {"Image": "$image"}),
        ({"a": [1], "b": [2]}, {}, {"Table": "$columns"}),
        (
            {"t": ["x"], "b": [2]},
            {"text_column": "t", "columns": ["b"]},
            {"Text": "$text", "Table": "$columns"},
        ),
    ],
)
def test_images_and_tables_have_tags_of_their_own(kept: dict, asked: dict, tags: dict):
    view = parsed(make_interface(Showing.of(made_up_batch(1, kept=kept), **asked)))
    assert {tag.tag: tag.get("value") for tag in view if tag.tag in {"Text", "Image", "Table"}} == tags


def test_many_classes_can_be_searched_and_the_first_ten_have_hotkeys():
    classes = [f"class {place:02d}" for place in range(77)]
    view = parsed(make_interface(Showing.of(made_up_batch(classes=classes))))
    assert view.find("Filter").get("toName") == "label"
    hotkeys = [choice.get("hotkey") for choice in view.iter("Choice")]
    assert hotkeys == [*"1234567890", *[None] * 67]


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
        "label", "columns", tuple(classes), frozenset({"reason", "columns"})
    )
    assert {tag.tag for tag in parsed(xml).iter()} <= {
        "View",
        "Header",
        "Table",
        "Filter",
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
    assert check(MINE) == Interface("c", "t", (*CLASSES, "other"), frozenset({"text"}))


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
                "'$predicted', '$first_class', '$second_class', '$score' and 1 more. Mend its labeling interface, or "
                "use another project; a new name makes one."
            ),
        ),
        (
            '<View><Text name="t" value="$text"/></View>',
            (
                f"The labeling interface of {PROJECT} has 0 Choices, of which rows need one that takes a single "
                "choice. Use another project; a new name makes one."
            ),
        ),
        (
            MINE.replace("<Choices ", '<Choices choice="multiple" '),
            (
                f"The labeling interface of {PROJECT} has 1 Choices, of which rows need one that takes a single "
                "choice. Use another project; a new name makes one."
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
