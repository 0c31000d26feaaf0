"""Writes docs/study.md and its pictures from results and words: `python docs/write_study.py [RESULTS_DIR]`."""

from __future__ import annotations

import sys
from pathlib import Path

from minmargin.experiments.study.page import write_page

DOCS = Path(__file__).parent
STUDY = DOCS.parent / "study"

if __name__ == "__main__":
    results = Path(sys.argv[1]) if len(sys.argv) > 1 else STUDY / "results"
    print(write_page(results, DOCS / "study.md", DOCS / "pictures" / "study", words=STUDY / "words.md"))
