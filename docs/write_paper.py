"""Writes docs/paper.md and its figures from results: `python docs/write_paper.py [RESULTS_DIR]`."""

from __future__ import annotations

import sys
from pathlib import Path

from minmargin.experiments.paper.page import write_page

DOCS = Path(__file__).parent
PICTURES = DOCS / "pictures" / "paper"
RESULTS = DOCS.parent / "paper" / "results"

if __name__ == "__main__":
    results = Path(sys.argv[1]) if len(sys.argv) > 1 else RESULTS
    for old in PICTURES.glob("*.svg"):  # an experiment may have lost a figure
        old.unlink()
    print(write_page(results, DOCS / "paper.md", PICTURES))
