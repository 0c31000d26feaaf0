"""A picture that a notebook shows where it is the last value of a cell."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, repr=False)
class Picture:
    """A drawing, as the bytes of a PNG file.

    Attributes:
        png: the file.
        width: in which it is shown, in pixels of a page; it has more of its own, so that it is sharp on fine screens.
    """

    png: bytes
    width: int

    def __repr__(self) -> str:
        return "<Picture: a notebook shows it; plot('curves.png') writes it to a file>"

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        return self.png, {"width": self.width}
