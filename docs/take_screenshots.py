"""Takes the pictures of pages anew, in a real browser: `.venv-pages/bin/python docs/take_screenshots.py`.

With arguments, only pictures of other pages: `docs/take_screenshots.py mine=curves/report.html` writes
docs/pictures/mine.png. `make test-browser` makes the environment. The comparison takes some minutes.
"""

from __future__ import annotations

import io
import os
import shutil
import sys
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image
from playwright.sync_api import Browser, sync_playwright
from sklearn.datasets import load_digits

import minmargin as mm
from minmargin.execution import silent
from minmargin.experiments.digits import IMAGE_SHAPE, Draw

PICTURES = Path(__file__).parent / "pictures"
WIDTH, HEIGHT, SCALE = 1040, 1330, 1.25
LARGEST = 300_000  # bytes


def make_report(folder: Path) -> Path:
    """Return the report of the demo's batch."""
    batch = Draw.of(0).select("min-margin", 0, silent)
    return batch.report(folder / "report.html", image_shape=IMAGE_SHAPE)


def make_campaign_page(folder: Path) -> Path:
    """Return the page of a campaign on handwritten digits, with audits: four labeled rounds, and one that waits."""
    X, y = load_digits(return_X_y=True)
    ids = [f"d{row:04d}" for row in range(len(y))]
    digits = pa.table(
        {"row_id": ids, "y": y, **{f"pixel{place}": X[:, place] for place in range(X.shape[1])}}
    )
    pool = folder / "pool.parquet"
    pq.write_table(digits[50:1300].drop_columns("y"), pool)
    campaign = mm.Campaign.init(
        folder / "digits",
        labeled=digits[:50],
        label_column="y",
        pool=str(pool),
        id_column="row_id",
        batch_size=50,
        held_out=digits[1300:],
        audit=50,
        preprocess="auto",
        random_state=0,
    )
    truth = dict(zip(ids, y.tolist(), strict=True))
    for _ in range(4):
        campaign.add_labels({each: truth[each] for each in campaign.next().ids.tolist()})
    campaign.next()
    return campaign.report(folder / "campaign.html")


def make_comparison_page(folder: Path) -> Path:
    """Return the page of a comparison on handwritten digits: three strategies, in one round and in five."""
    X, y = load_digits(return_X_y=True)
    found = mm.compare(
        X,
        y,
        strategies=["min-margin", "margin", "random"],
        n_labeled=100,
        batch_sizes=[25, 50, 100, 200],
        rounds=(1, 5),
        n_draws=50,
        random_state=0,
    )
    return found.report(folder / "compare.html")


def take(browser: Browser, page_path: Path, picture: Path) -> None:
    """Take a picture of the top of a page: light on the left, dark on the right."""
    halves = []
    for scheme in ("light", "dark"):
        context = browser.new_context(
            viewport={"width": WIDTH, "height": HEIGHT}, color_scheme=scheme, device_scale_factor=SCALE
        )
        page = context.new_page()
        page.goto(page_path.resolve().as_uri())
        halves.append(Image.open(io.BytesIO(page.screenshot())))
        context.close()
    light, dark = halves
    whole = light.copy()
    width, height = whole.size
    whole.paste(dark.crop((width // 2, 0, width, height)), (width // 2, 0))
    whole.quantize(128, dither=Image.Dither.NONE).save(picture, optimize=True)
    size = picture.stat().st_size
    print(f"{picture}: {size:,} bytes")
    if size > LARGEST:
        sys.exit(f"{picture} is larger than {LARGEST:,} bytes.")


def main() -> None:
    """Take the pictures that were asked for, or those of the report, of a campaign and of a comparison."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        sys.exit("There is no Chromium. Use apt-get install chromium.")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        asked = [argument.partition("=") for argument in sys.argv[1:]]
        pages = {name: Path(path) for name, _, path in asked} or {
            "report": make_report(Path(folder)),
            "campaign": make_campaign_page(Path(folder)),
            "compare": make_comparison_page(Path(folder)),
        }
        as_root = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=program, args=as_root)
        for name, path in pages.items():
            take(browser, path, PICTURES / f"{name}.png")
        browser.close()


if __name__ == "__main__":
    main()
