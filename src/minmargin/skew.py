"""Skewed classes: where one class has so many of the rows that accuracy tells little.

Who always names that class is right nearly always, and has learned nothing. Another score leads then, wherever models
are judged.
"""

from __future__ import annotations

from collections.abc import Mapping

_SKEWED = 0.8  # the share of the most common class above which accuracy tells little
ACCURACY = "accuracy"
BALANCED = "balanced_accuracy"


def most_common(class_counts: Mapping[str, int]) -> tuple[str, float] | None:
    """Return the most common class and its share, if it is so common that classes are skewed.

    >>> most_common({"no": 9, "yes": 1}), most_common({"no": 8, "yes": 2}), most_common({})
    (('no', 0.9), None, None)
    """
    n_rows = sum(class_counts.values())
    if not n_rows:
        return None
    name = max(class_counts, key=class_counts.__getitem__)
    share = class_counts[name] / n_rows
    return (name, share) if share > _SKEWED else None
