"""The labeling interface of a project: made for a batch, or read from a project that exists.

It is XML. Tasks bring their values under fixed names (text, image, columns), so that no name of a user's column gets
into it; class names do, as attributes that xml.etree escapes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree as ET

from minmargin.errors import InputError, listing
from minmargin.integrations.items import Showing

_TAGS: dict[str, tuple[str, dict[str, str]]] = {
    "text": ("Text", {}),
    "image": ("Image", {"maxWidth": "480px", "zoomControl": "true"}),
    "columns": ("Table", {}),
}
_HOTKEYS = "1234567890"
_MANY_CLASSES = 10  # from here on, annotators look for a class by typing


@dataclass(frozen=True)
class Interface:
    """How a project asks for a class.

    Attributes:
        control: the name of the tag that holds the choices.
        target: the name of the tag that is labeled.
        classes: the choices.
        fields: the fields of a task's data that are shown.
    """

    control: str
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
    asked = {"text": showing.text_column, "image": showing.image_column, "columns": showing.columns or None}
    fields = [field for field, what in asked.items() if what is not None]
    view = ET.Element("View")
    for field in fields:
        tag, more = _TAGS[field]
        ET.SubElement(view, tag, {"name": field, "value": f"${field}", **more})
    note = ET.SubElement(view, "View", style="margin: 1em 0; opacity: 0.6")
    ET.SubElement(note, "Header", value="$reason", size="5")
    if len(showing.classes) > _MANY_CLASSES:
        ET.SubElement(view, "Filter", name="find", toName="label", minlength="0", placeholder="Find a class")
    choices = ET.SubElement(
        view,
        "Choices",
        {"name": "label", "toName": fields[0], "choice": "single", "required": "true", "showInline": "true"},
    )
    # Digits are their own keys.
    hotkeys = showing.classes if set(showing.classes) <= set(_HOTKEYS) else _HOTKEYS
    for place, name in enumerate(showing.classes):
        key = {"hotkey": hotkeys[place]} if place < len(hotkeys) else {}
        ET.SubElement(choices, "Choice", {"value": name, **key})
    ET.indent(view)
    return ET.tostring(view, encoding="unicode")


def read_interface(config: str, project: str) -> Interface:
    """Return what a project asks for; `project` names it in errors."""
    try:
        view = ET.fromstring(config)  # noqa: S314 - from the server that the token was given to
    except ET.ParseError as error:
        raise InputError(
            f"The labeling interface of {project} is no XML ({error}). Use another project."
        ) from None
    controls = list(view.iter("Choices"))
    if len(controls) != 1 or controls[0].get("choice", "single").startswith("multiple"):
        raise InputError(
            f"The labeling interface of {project} has {len(controls)} Choices, of which rows need one that takes a "
            "single choice. Use another project; a new name makes one."
        )
    control = controls[0]
    return Interface(
        control=control.get("name", ""),
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


def _fields(view: ET.Element) -> set[str]:
    return {
        found[1]
        for tag in view.iter()
        if tag.tag != "Choice" and (found := re.match(r"\$([\w-]+)", tag.get("value", "")))
    }
