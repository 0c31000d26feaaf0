"""What audits tell where classes are skewed: balanced accuracy first, then accuracy beside that of a constant guess.

Accuracy alone would praise a model that never names the rare class. So the rarest class has a sentence of its own, with
its recall and its precision.
"""

from __future__ import annotations

from collections.abc import Sequence

from minmargin.campaign.audit import (
    N_ROUNDS_IN_MEAN,
    Audit,
    Estimate,
    describe_audits,
    known_audits,
    mean_of,
    wilson,
)
from minmargin.campaign.leading import Skew, rating_of


def describe(audits: Sequence[Audit], skew: Skew | None) -> list[str]:
    """Return what audits tell, in sentences: of the last model that one measured, and over the last few audits.

    Over several audits, the recall of a class is that of their rows together, and balanced accuracy the mean of these.
    It is not the mean of the models' own: where a class is rare, those are by a handful of rows each.
    """
    known = known_audits(audits)
    if skew is None or not known:
        return describe_audits(audits)
    last, several = known[-1], known[-N_ROUNDS_IN_MEAN:]
    of_drawn = "" if last.estimate.tested == last.drawn else f" of {last.drawn:,}"
    of_last = (
        f"Audit: the model with {last.labels:,} labels has {_beside_a_guess(last.estimate, skew.name)}, on what round "
        f"{last.round} left of the pool, by {_rows(last.estimate.tested, of_drawn)} drawn by chance."
    )
    lines = [of_last]
    together = mean_of(several)
    if len(several) == 1:
        return [*lines, _of_the_rarest(together, skew.name)]
    over = f"Over the last {len(several)} audits"
    of_all = (
        f"{over}, models have {_beside_a_guess(together, skew.name)}, by {_rows(together.tested)} together."
    )
    return [*lines, of_all, _of_the_rarest(together, skew.name, over)]


def _beside_a_guess(estimate: Estimate, common: str) -> str:
    """Return both accuracies, the balanced one first, and that of always naming the most common class."""
    rating = rating_of(estimate)
    assert rating is not None, "there is a row"
    guess = f"(always {common!r}: {rating.share_of(common):.1%})"
    plain = f"{_between(estimate.accuracy, estimate.interval)} accuracy {guess}"
    if rating.balanced_accuracy is None:
        return plain
    return f"{_between(rating.balanced_accuracy, rating.balanced_interval)} balanced accuracy and {plain}"


def _of_the_rarest(estimate: Estimate, common: str, over: str = "") -> str:
    """Return recall and precision of the rarest class that rows have or are taken for, in sentences.

    `over` says which audits the rows are of, where there are several.
    """
    others = [each for each in estimate.classes if each.name != common]
    if not others:
        return f"All these rows are {common!r} and are taken for it, which tells nothing of other classes."
    rarest = min(others, key=lambda each: (each.labeled, each.name))
    recall, precision = (
        _between(correct, wilson(rarest.correct, n))
        for correct, n in ((rarest.recall, rarest.labeled), (rarest.precision, rarest.predicted))
    )
    found = f"{over}, recall" if over else "Recall"
    found += (
        f" of {rarest.name!r} is {recall}, by {_rows(rarest.labeled)} of that class"
        if rarest.labeled
        else f" of {rarest.name!r} is not known, as none of these rows has that class"
    )
    taken = (
        f"its precision is {precision}, by {_rows(rarest.predicted)} taken for it"
        if rarest.predicted
        else "no row was taken for it"
    )
    return f"{found}; {taken}."


def _between(share: float | None, ends: tuple[float, float]) -> str:
    return "" if share is None else f"{share:.1%} (95% interval {ends[0]:.1%} to {ends[1]:.1%})"


def _rows(n: int, of: str = "") -> str:
    return "1 row" if n == 1 and not of else f"{n:,}{of} rows"
