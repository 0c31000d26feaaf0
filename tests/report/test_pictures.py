"""Pictures: images however they are given, small enough for a page, and nothing that is no image."""

from __future__ import annotations

import base64
import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import minmargin as mm
from minmargin.report import pictures
from minmargin.report.pictures import Picture, check_shape, rows_as_pictures, thumbnails


def photo(
    width: int = 300, height: int = 200, *, form: str = "PNG", mode: str = "RGB", seed: int = 0
) -> bytes:
    """Return an image that is hard to compress."""
    noise = np.random.default_rng(seed).integers(0, 255, (height // 4, width // 4, 3), dtype=np.uint8)
    with io.BytesIO() as file:
        Image.fromarray(noise).resize((width, height)).convert(mode).save(file, format=form)
        return file.getvalue()


def opened(picture: Picture | None) -> Image.Image:
    assert picture is not None
    kind, _, content = picture.uri.partition(";base64,")
    assert kind in {"data:image/webp", "data:image/png"}
    return Image.open(io.BytesIO(base64.b64decode(content)))


@pytest.mark.parametrize(
    ("form", "mode"), [("PNG", "RGB"), ("JPEG", "RGB"), ("GIF", "P"), ("PNG", "RGBA"), ("PNG", "1")]
)
def test_an_image_of_any_kind_becomes_a_small_one(form: str, mode: str) -> None:
    shown, missing = thumbnails([photo(form=form, mode=mode)], "image")
    assert opened(shown[0]).size == (64, 43) == shown[0][1:3]
    assert missing == []


def test_bytes_paths_and_records_of_them_are_images(tmp_path: Path) -> None:
    path = tmp_path / "x.png"
    path.write_bytes(photo())
    given = [photo(), str(path), {"bytes": photo(), "path": None}, {"bytes": None, "path": str(path)}]
    shown, missing = thumbnails(given, "image")
    assert len({each.uri for each in shown if each is not None}) == 1
    assert missing == []


@pytest.mark.parametrize(
    "value",
    [
        b"<svg onload=alert(1)>",
        "/etc/hostname",
        "http://example.org/x.png",
        "no\0such",
        "",
        7,
        ["x"],
        photo()[:300],
    ],
    ids=repr,
)
def test_what_is_no_image_is_left_out_and_counted(value: object) -> None:
    shown, missing = thumbnails([None, value, photo()], "image")
    assert (shown[0], shown[1]) == (None, None)
    assert shown[2] is not None
    assert missing == ["1 values of column image are no images that can be opened from here."]


def test_an_image_that_would_fill_the_memory_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)
    assert thumbnails([photo()], "image").shown == [None]


def test_pictures_shrink_until_they_fit_and_then_become_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    images = [photo(seed=seed) for seed in range(20)]
    large = sum(len(each.uri) for each in thumbnails(images, "image").shown if each is not None)
    monkeypatch.setattr(pictures, "BUDGET", large)
    shown, missing = thumbnails(images, "image")
    assert opened(shown[0]).size == (48, 32)
    assert missing == []
    monkeypatch.setattr(pictures, "BUDGET", large // 10)
    shown, missing = thumbnails(images, "image")
    n_shown = sum(each is not None for each in shown)
    assert 0 < n_shown < 20
    assert all(each is not None for each in shown[:n_shown])
    assert sum(len(each.uri) for each in shown if each is not None) <= large // 10
    assert missing == [f"Only the first {n_shown} rows have pictures, to keep the page small."]


def test_rows_that_are_images_keep_every_pixel() -> None:
    rows = np.array([[0.0, 0.5, 1.0, 0.25, 0.75, 0.0], [1.0] * 6])
    shown, missing = rows_as_pictures(rows, (2, 3))
    np.testing.assert_array_equal(np.asarray(opened(shown[0])), [[0, 128, 255], [64, 191, 0]])
    assert shown[0] is not None
    assert shown[0][1:] == (44, 29, True)
    assert missing == []


def test_rows_may_have_colors_and_may_all_be_equal() -> None:
    shown, _ = rows_as_pictures(np.full((1, 12), 3.0), (2, 2, 3))
    assert opened(shown[0]).mode == "RGB"


@pytest.mark.parametrize(
    ("shape", "width", "message"),
    [
        ((8,), 8, "image_shape=(8,) is no image. Use (height, width), or (height, width, 3) for colors."),
        (
            (2, 2, 4),
            16,
            "image_shape=(2, 2, 4) is no image. Use (height, width), or (height, width, 3) for colors.",
        ),
        ((0, 8), 0, "image_shape=(0, 8) is no image. Use (height, width), or (height, width, 3) for colors."),
        ((8, 8), 63, "image_shape=(8, 8) has 64 numbers, and rows have 63. Give a shape with as many."),
    ],
)
def test_a_shape_that_does_not_fit_is_an_error(shape: tuple[int, ...], width: int, message: str) -> None:
    with pytest.raises(mm.InputError) as error:
        check_shape(shape, width)
    assert str(error.value) == message
