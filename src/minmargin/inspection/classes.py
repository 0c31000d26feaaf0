"""Findings of classes: what looks wrong with labels."""

from __future__ import annotations

from minmargin.errors import listing, nearest
from minmargin.inspection.findings import Finding
from minmargin.labels import are_whole_with_decimals

_MANY = 10  # rows of a class
_NO_CLASSES = {"None", "none", "missing", "unlabeled", "unlabelled", "not labeled", "undefined"}


def find_in_classes(counts: dict[str, int]) -> list[Finding]:
    """Return what looks wrong with classes, given with how many labeled rows each has."""
    counts = {name: n for name, n in counts.items() if n}
    groups = _respelled(counts)
    respelled = {name for group in groups for name in group}
    found = [_of_respelled(groups)] if groups else []
    return [
        *found,
        *_numbers_as_texts(counts),
        *_words_for_none(counts),
        *_rare_classes(counts, known=respelled),
    ]


def _respelled(counts: dict[str, int]) -> list[list[str]]:
    """Return groups of classes that differ by capitals or blanks alone. Where all are letters, there are none."""
    groups: dict[str, list[str]] = {}
    for name in counts:
        groups.setdefault(name.strip().casefold(), []).append(name)
    if all(len(key) < 2 for key in groups) and len(groups) > 3:
        return []
    return [group for group in groups.values() if len(group) > 1]


def _of_respelled(groups: list[list[str]]) -> Finding:
    first, *rest = groups
    others = f" So do {' and '.join(listing(group) for group in rest[:3])}." if rest else ""
    return Finding(
        None,
        f"Classes {listing(first)} differ by capitals or blanks alone, and count as {len(first)} classes.{others} "
        "Spell them alike.",
    )


def _numbers_as_texts(counts: dict[str, int]) -> list[Finding]:
    """Return a finding for classes that all are whole numbers with a decimal comma, as pandas writes gaps."""
    if not counts or not are_whole_with_decimals([*counts]) or not all("," in name for name in counts):
        return []
    names = listing(sorted(counts), most=4)
    return [Finding(None, f"Labels {names} are taken for texts. If they are numbers, use decimal=','.")]


def _words_for_none(counts: dict[str, int]) -> list[Finding]:
    """Return a finding for a class whose name is what programs write where there is no label."""
    found = [name for name in counts if name.strip() in _NO_CLASSES]
    return [
        Finding(
            None,
            f"{counts[name]:,} labeled rows are of class {name!r}. If this stands for no label, use "
            f"missing=[{name!r}].",
        )
        for name in found[:1]
    ]


def _rare_classes(counts: dict[str, int], known: set[str]) -> list[Finding]:
    """Return a finding for classes with a single row beside classes with many: they may be typing errors."""
    rare = [name for name, n in counts.items() if n == 1 and name not in known]
    if not rare or sorted(counts.values())[len(counts) // 2] < _MANY:
        return []
    have = f"Class {rare[0]!r} has" if len(rare) == 1 else f"Classes {listing(rare, most=4)} each have"
    alike = nearest(rare[0], [name for name, n in counts.items() if n > 1])
    fix = f"{alike} If not, label a few more." if alike else " Label a few more."
    return [Finding(None, f"{have} one labeled row, where others have many.{fix}")]
