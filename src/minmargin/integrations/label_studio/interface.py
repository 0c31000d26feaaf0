"""The labeling interface of a project: made for a batch, or read from a project that exists.

It is XML. Tasks bring their values under fixed names (text, image, lines), so that no name of a user's column gets
into it; class names do, as attributes that xml.etree escapes.

A text or an image comes before the question, its classes and the guess. The columns of a table come below: there may
be many, and nobody must have to scroll to see what is sent with the row. They are lines of text, because Label
Studio's Table sorts columns by their names and shows ten on a page.

Few classes are buttons with a key each. Many are a list that is searched by typing, Label Studio's Taxonomy: among its
controls (1.23.2) the only one in which no key chooses a class by accident. In the field of a Filter, Ctrl+Enter takes
the first class of all; in a drop-down of Choices, letters are keys of classes, and nothing can be searched.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal
from xml.etree import ElementTree as ET

from minmargin.errors import InputError, listing
from minmargin.integrations.items import Showing

_HOTKEYS = "1234567890"  # classes beyond these are found by typing
_QUIET = "margin: 0.5em 0 1.5em 8px; font-size: 12px; font-weight: 400; opacity: 0.6"
_QUESTION = "margin: 0.5em 0 0.5em 8px; font-size: 16px; font-weight: 500"
_BESIDE_THE_LIST = "margin-left: 500px"  # which is open while a class is looked for
_LARGE_TEXT = ".lsf-richtext__container { font-size: 20px; line-height: 1.5; }"
_COLUMNS = ".of-row .lsf-richtext__container { columns: 18em; font-size: 14px; line-height: 1.6; }"


@dataclass(frozen=True)
class Interface:
    """How a project asks for a class.

    Attributes:
        control: the name of the tag that holds the choices.
        kind: how that tag, and the results that it gives, name their type.
        target: the name of the tag that is labeled.
        classes: the choices.
        fields: the fields of a task's data that are shown.
    """

    control: str
    kind: Literal["choices", "taxonomy"]
    target: str
    classes: tuple[str, ...]
    fields: frozenset[str]


def make_interface(showing: Showing) -> str:
    """Return the XML of an interface that shows a row and asks for one of the classes."""
    for name in showing.classes:
        if not name or name != name.strip() or not name.isprintable() or name.startswith("$"):
            raise InputError(
                f"Label Studio cannot offer the class {name!r}: a choice is one printable line, without spaces around "
                "it or a $ before it. Rename the class in the labeled set."
            )
    view = ET.Element("View")
    styles = [_LARGE_TEXT] * (showing.text_column is not None) + [_COLUMNS] * bool(showing.columns)
    if styles:
        ET.SubElement(view, "Style").text = " ".join(styles)
    if showing.text_column is not None:
        ET.SubElement(view, "Text", name="text", value="$text")
    if showing.image_column is not None:
        ET.SubElement(view, "Image", name="image", value="$image", maxWidth="400px", zoomControl="true")
    ET.SubElement(view, "Header", value="$question", size="4", style=_QUESTION)
    # Above the list of classes, which covers what is below when it is open.
    ET.SubElement(view, "Header", value="$reason", size="5", style=_QUIET)
    asked = {"text": showing.text_column, "image": showing.image_column}
    target = next((field for field, column in asked.items() if column is not None), "columns")
    _add_control(view, {"name": "label", "toName": target, "required": "true"}, showing.classes)
    if showing.columns:
        beside = {"style": _BESIDE_THE_LIST} if len(showing.classes) > len(_HOTKEYS) else {}
        below = ET.SubElement(view, "View", {"className": "of-row", **beside})
        ET.SubElement(below, "Text", name="columns", value="$lines")
    ET.indent(view)
    return ET.tostring(view, encoding="unicode")


def _add_control(view: ET.Element, common: dict[str, str], classes: Sequence[str]) -> None:
    """Add the tag that asks for one of the classes: buttons with keys, or from eleven on a list to search."""
    if len(classes) > len(_HOTKEYS):
        wide = {"minWidth": "480px", "dropdownWidth": "480", "placeholder": "Find a class"}
        taxonomy = ET.SubElement(view, "Taxonomy", {**common, "maxUsages": "1", **wide})
        for name in classes:
            ET.SubElement(taxonomy, "Choice", value=name)
        return
    choices = ET.SubElement(view, "Choices", {**common, "choice": "single", "showInline": "true"})
    # Digits are their own keys.
    hotkeys = classes if set(classes) <= set(_HOTKEYS) else _HOTKEYS
    for name, key in zip(classes, hotkeys, strict=False):
        ET.SubElement(choices, "Choice", value=name, hotkey=key)


def read_interface(config: str, project: str) -> Interface:
    """Return what a project asks for; `project` names it in errors."""
    try:
        view = ET.fromstring(config)  # noqa: S314 - from the server that the token was given to
    except ET.ParseError as error:
        raise InputError(
            f"The labeling interface of {project} is no XML ({error}). Use another project."
        ) from None
    controls = [*view.iter("Choices"), *view.iter("Taxonomy")]
    if len(controls) != 1 or not _takes_one(controls[0]):
        raise InputError(
            f"The labeling interface of {project} has {len(controls)} Choices or Taxonomy tags, of which rows need one "
            "that takes a single choice. Use another project; a new name makes one."
        )
    control = controls[0]
    return Interface(
        control=control.get("name", ""),
        kind="choices" if control.tag == "Choices" else "taxonomy",
        target=control.get("toName", ""),
        classes=tuple(choice.get("alias", choice.get("value", "")) for choice in control.iter("Choice")),
        fields=frozenset(_fields(view)),
    )


def check_interface(interface: Interface, showing: Showing, data: dict[str, Any], project: str) -> None:
    """Raise an error if a project cannot take the tasks of a batch: other classes, or other things to show."""
    missing = [name for name in showing.classes if name not in interface.classes]
    if missing:
        raise InputError(
            f"{project} offers other classes: it lacks {listing(missing)}. Add them to its labeling interface, or use "
            "another project; a new name makes one."
        )
    unknown = sorted(interface.fields - data.keys())
    if unknown:
        raise InputError(
            f"{project} shows {listing(f'${name}' for name in unknown)}, and the tasks have "
            f"{listing(f'${name}' for name in data)}. Mend its labeling interface, or use another project; a new name "
            "makes one."
        )


def _takes_one(control: ET.Element) -> bool:
    """Return whether a control takes one class, of a list without branches."""
    if control.tag == "Choices":
        return not control.get("choice", "single").startswith("multiple")
    return control.get("maxUsages") == "1" and all(not len(choice) for choice in control)


def _fields(view: ET.Element) -> set[str]:
    return {
        found[1]
        for tag in view.iter()
        if tag.tag != "Choice" and (found := re.match(r"\$([\w-]+)", tag.get("value", "")))
    }
