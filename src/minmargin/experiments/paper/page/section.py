"""A section of the page: its paragraphs, and the figures that they show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from minmargin.experiments.paper.figures import Panel
from minmargin.experiments.paper.page.tables import accuracies, differences_to


@dataclass
class Section:
    """Paragraphs, and figures by file name, which the page looks for in the folder `pictures`."""

    pictures: str
    paragraphs: list[str] = field(default_factory=list)
    figures: dict[str, Any] = field(default_factory=dict)

    def say(self, *paragraphs: str) -> None:
        """Add paragraphs."""
        self.paragraphs.extend(paragraphs)

    def show(self, name: str, figure: Any, caption: str) -> None:
        """Add a figure."""
        self.figures[f"{name}.svg"] = figure
        self.say(f"![{caption}]({self.pictures}/{name}.svg)", f"*{caption}*")

    def fold(self, title: str, *paragraphs: str) -> None:
        """Add paragraphs that are folded away under a title."""
        self.say(f"<details>\n<summary>{title}</summary>", *paragraphs, "</details>")

    def tabulate(self, panels: Sequence[Panel]) -> None:
        """Add all numbers of these panels, folded away: accuracies, and paired differences to margin and to random."""
        for title, curves, _ in panels:
            references = [name for name in ("margin", "random") if name in curves.strategies]
            tables = [differences_to(curves, name) for name in references if len(curves.strategies) > 1]
            self.fold(
                f"{title}: accuracies and differences",
                f"Mean accuracy in percent over {len(curves.draws)} draws, ± standard error.",
                accuracies(curves),
                "Paired differences in points with 95% intervals; bold where one is left after Holm's correction over "
                "the table.",
                *tables,
            )


def how_it_was_run(note: Mapping[str, Any]) -> str:
    """Return in words how results were made, from the JSON file beside them."""
    machine = note.get("machine", "an unnamed machine")
    if isinstance(machine, Mapping):
        machine = ", ".join(
            f"{value} cores" if key == "cores" else str(value) for key, value in machine.items()
        )
    words = [f"{note['draws']:,} draws" if "draws" in note else "An unknown number of draws", f"on {machine}"]
    if "seconds" in note:
        words.append(f"in {duration(float(note['seconds']))}")
    date = note.get("date", str(note.get("created", ""))[:10])
    if date:
        words.append(f"({date})")
    versions = note.get("versions", {})
    software = ", ".join(f"{name} {version}" for name, version in versions.items())
    return " ".join(words) + (f"; {software}." if software else ".")


def duration(seconds: float) -> str:
    """Return a duration in words.

    >>> duration(42), duration(600), duration(9000)
    ('42 seconds', '10 minutes', '2.5 hours')
    """
    if seconds < 120:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 7200 else f"{seconds / 3600:.1f} hours"
