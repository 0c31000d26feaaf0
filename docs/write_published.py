"""Writes docs/published.md from results and words: `python docs/write_published.py [RESULTS_DIR]`."""

from __future__ import annotations

import sys
from pathlib import Path

from minmargin.experiments.published.page import write_page

DOCS = Path(__file__).parent
STUDY = DOCS.parent / "study"

if __name__ == "__main__":
    results = Path(sys.argv[1]) if len(sys.argv) > 1 else STUDY / "published"
    print(write_page(results, DOCS / "published.md", words=STUDY / "published.md"))
