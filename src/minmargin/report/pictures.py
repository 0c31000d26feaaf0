"""Pictures in a table: small ones, embedded in the page, and no more than fit into it."""

from __future__ import annotations

import base64
import io
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from minmargin.errors import InputError, missing_extra
from minmargin.report.survey import evenly

BUDGET = 600_000  # characters that all pictures of a page may take
# Pixels of the longer side, and quality: the first that keeps to the budget is used, as far as some can tell.
_SIZES = ((64, 70), (48, 60), (36, 45))
_N_TRIED = 30
_SHOWN = 44  # pixels of the longer side of small pictures, which are enlarged


class Picture(NamedTuple):
    """A picture as a data URI, and how large it is shown."""

    uri: str
    width: int
    height: int
    enlarged: bool = False


class Pictures(NamedTuple):
    """One picture a row, None where there is none; and what is not shown, and why, as sentences."""

    shown: list[Picture | None]
    missing: list[str]


def thumbnails(values: Sequence[object], column: str) -> Pictures:
    """Return pictures of images that are given as bytes, paths or Hugging Face's records of these."""
    images = _pillow()
    opened = [_opened(value, images) for value in values]
    n_bad = sum(value is not None and each is None for value, each in zip(values, opened, strict=True))
    missing = []
    if n_bad:
        missing.append(f"{n_bad:,} values of column {column} are no images that can be opened from here.")
    some = [opened[place] for place in evenly(len(opened), _N_TRIED) if opened[place] is not None]
    for side, quality in _SIZES:
        tried = sum(len(_encoded(image, side, quality).uri) for image in some)
        if tried / max(len(some), 1) * len(opened) <= 0.95 * BUDGET:
            break
    shown = [None if image is None else _encoded(image, side, quality) for image in opened]
    return _within_budget(shown, missing)


def rows_as_pictures(vectors: NDArray[Any], shape: Sequence[int]) -> Pictures:
    """Return pictures of rows that are gray or color images themselves, (n, height * width) or with three channels."""
    images = _pillow()
    low, high = float(vectors.min()), float(vectors.max())
    pixels = ((vectors - low) * (255.0 / ((high - low) or 1.0))).round().astype(np.uint8)

    def encode(row: NDArray[np.uint8]) -> Picture:
        with io.BytesIO() as file:
            images.fromarray(row.reshape(tuple(shape))).save(file, format="PNG", optimize=True)
            times = max(_SHOWN / max(shape[:2]), 1.0)
            return Picture(
                _uri("png", file.getvalue()),
                round(shape[1] * times),
                round(shape[0] * times),
                enlarged=times > 1,
            )

    return _within_budget([encode(row) for row in pixels], [])


def check_shape(shape: Sequence[int], width: int | None) -> tuple[int, ...]:
    """Return the shape of rows that are images, if the rows are as wide as that."""
    sides = tuple(int(side) for side in shape)
    if len(sides) not in {2, 3} or min(sides, default=0) < 1 or (len(sides) == 3 and sides[2] != 3):
        raise InputError(
            f"image_shape={sides} is no image. Use (height, width), or (height, width, 3) for colors."
        )
    if width is not None and int(np.prod(sides)) != width:
        raise InputError(
            f"image_shape={sides} has {int(np.prod(sides)):,} numbers, and rows have {width:,}. "
            "Give a shape with as many."
        )
    return sides


def _within_budget(shown: list[Picture | None], missing: list[str]) -> Pictures:
    total, n_shown, kept = 0, 0, []
    for each in shown:
        total += 0 if each is None else len(each.uri)
        fits = total <= BUDGET
        n_shown += fits and each is not None
        kept.append(each if fits else None)
    n_left_out = sum(each is not None for each in shown) - n_shown
    if n_left_out:
        missing = [*missing, f"Only the first {n_shown:,} rows have pictures, to keep the page small."]
    return Pictures(kept, missing)


def _opened(value: object, images: Any) -> Any:
    """Return an image in color or gray, reduced; None if it cannot be opened."""
    if isinstance(value, dict):
        value = value.get("bytes") or value.get("path")
    if isinstance(value, (bytes, bytearray, memoryview)):
        source: Any = io.BytesIO(bytes(value))
    elif isinstance(value, (str, Path)) and str(value):
        source = Path(value)
    else:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", images.DecompressionBombWarning)
            with images.open(source) as image:
                image.draft("RGB", (2 * _SIZES[0][0],) * 2)  # a JPEG is reduced while it is read
                reduced = image.convert("L" if image.mode in {"1", "L", "I;16"} else "RGB")
                reduced.thumbnail((_SIZES[0][0],) * 2)
                return reduced
    except (OSError, ValueError, SyntaxError, images.DecompressionBombError, images.DecompressionBombWarning):
        return None


def _encoded(image: Any, side: int, quality: int) -> Picture:
    small = image.copy()
    small.thumbnail((side, side))
    with io.BytesIO() as file:
        small.save(file, format="WEBP", quality=quality, method=4)
        return Picture(_uri("webp", file.getvalue()), *small.size)


def _uri(kind: str, content: bytes) -> str:
    return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"


def _pillow() -> Any:
    try:
        from PIL import Image  # noqa: PLC0415 - comes with matplotlib, an extra
    except ImportError:
        raise missing_extra("Pictures need Pillow", "report") from None
    return Image
