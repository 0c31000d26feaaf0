"""Change files that are read back in many ways, and count what came of it.

Run as `python tests/fuzz/run.py [--each N] [--seconds S] [--only NAME] [--page docs/reliability.md]`. It ends with an
error if anything came of a change but the right answer or an error that names the file.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from fuzz import page
from fuzz.targets import TARGETS
from fuzz.watching import Figures, watch


def main() -> None:
    """Fuzz the targets that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--each", type=int, default=40, help="changes of each target, times its share")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="for all targets together")
    parser.add_argument("--only", action="append", help="targets whose names begin so; repeat for more")
    parser.add_argument("--page", type=Path, help="keep the figures, and write their table into this page")
    arguments = parser.parse_args()
    names = [name for name in TARGETS if name.startswith(tuple(arguments.only or [""]))]
    found = fuzz(names, each=arguments.each, seconds=arguments.seconds)
    if any(figures.found for figures in found):
        sys.exit(1)
    if arguments.page is not None:
        _keep(found)
        before = arguments.page.read_text(encoding="utf-8")
        arguments.page.write_text(page.with_table(before), encoding="utf-8")


def _keep(found: list[Figures]) -> None:
    """Keep figures in a file, beside those of targets that were not asked for this time."""
    path = page.FIGURES / "files.json"
    path.parent.mkdir(exist_ok=True)
    before = json.loads(path.read_text()) if path.exists() else []
    kept = {each["target"]: each for each in (*before, *(figures.to_dict() for figures in found))}
    order = [kept[target.words] for target in TARGETS.values() if target.words in kept]
    path.write_text(json.dumps(order, indent=1) + "\n", encoding="utf-8")


def fuzz(names: list[str], *, each: int, seconds: float) -> list[Figures]:
    """Return what came of these targets, and print it."""
    start = time.monotonic()
    counts = {name: round(each * TARGETS[name].share) for name in names}
    with tempfile.TemporaryDirectory() as folder:
        words = {name: target.words for name, target in TARGETS.items()}
        done = watch(counts, words, Path(folder), seconds=seconds)
    for name, figures in done.items():
        told = ", ".join(f"{n:,} {outcome}" for outcome, n in sorted(figures.outcomes.items()))
        _say(f"{name}: {figures.tried:,} changes: {told}")
        for found in figures.found:
            _say(f"    {found['number']} ({found['change']}): {found['found']} {found['where']}")
    _say(f"{sum(figures.tried for figures in done.values()):,} changes in {time.monotonic() - start:.0f} s")
    return list(done.values())


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201 - counts, for whoever runs it


if __name__ == "__main__":
    main()
