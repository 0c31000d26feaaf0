"""Variants of `spread` that were tried before it was settled. `study/vary.py` plays them."""

from __future__ import annotations

from collections.abc import Mapping

#: What results call the way in which variants were played: logistic regression, with deals of their own.
VARIED = "variants"

#: How each variant differs from `spread`. `strategies.gradients` says what g and f are; e is their product.
MEANINGS: Mapping[str, str] = {
    "spread": "as it was proposed, and is",
    "power0": "f is not shortened",
    "power1": "f is shortened to length 1",
    "over1": "as many rows are drawn as are picked: nothing is thinned out",
    "over2": "2 rows are drawn for each pick, not 4",
    "over8": "8 rows are drawn for each pick",
    "power0-over8": "f is not shortened, and 8 rows are drawn for each pick",
    "by-g2": "rows are drawn in proportion to |g|², not |g|",
    "by-e": "rows are drawn in proportion to |e|",
    "by-1-margin": "rows are drawn in proportion to 1 - margin",
    "top4": "the 4 · B rows with the lowest margin, instead of a draw",
    "base": "p is the base's, not the members' mean",
    "all-base-0": "badge: the whole pool, p of the base, f not shortened",
    "from-labeled": "labeled rows are the first centers",
    "uniform10": "a tenth of the batch is picked at random",
}
