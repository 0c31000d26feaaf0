"""Advice: what the curves say about whether to pick or to label at random, in one plain sentence."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from minmargin.compare.played import Line, Played
from minmargin.compare.statistics import LEVEL, Difference, area, careful_difference, decide
from minmargin.compare.words import Words
from minmargin.tables import to_two_digits

RANDOM = "random"
_WORTH_WHILE = 1.1  # times the labels that the others would need
_NO_MATTER = 0.005  # half a point: a gain that is surely smaller is none worth speaking of


def advise(played: Played, *, share: bool) -> str:
    """Return whether a strategy pays, by how much and how certainly; and what rounds bring, if several were played.

    Args:
        played: the scores.
        share: whether they are shares of rows, so that differences are points of a hundred.
    """
    words = Words(share)
    to = reference(played)
    rivals = [line for line in played.lines if line.strategy != to.strategy]
    if not beats_constant(played).any():
        return _nothing_learned(played, words)
    if not rivals:
        return f"Only {to.strategy} was played, so there is nothing to compare it with."
    return " ".join([_verdict(played, rivals, to, words), *_about_rounds(played, words)])


def reference(played: Played) -> Line:
    """Return the line that others have to beat: random if it was played, else the first."""
    names = [line.strategy for line in played.lines]
    return played.lines[names.index(RANDOM) if RANDOM in names else 0]


def beats_constant(played: Played) -> NDArray[np.bool_]:
    """Return (L, B) which models are clearly better than the constant guess; all, if there was none.

    Where no class is far more common than others, the guess differs so much from draw to draw that a few draws tell
    nothing in pairs. There it is enough that a model is better in its worst draw than the guess is in its best.
    """
    if played.constant is None:
        return np.ones(played.scores.shape[:2], dtype=bool)
    in_pairs = decide(careful_difference(played.scores, played.constant)) > 0
    return np.asarray(in_pairs | (played.scores.min(axis=-1) > np.nanmax(played.constant)))


def _nothing_learned(played: Played, words: Words) -> str:
    """Return the sentence for models none of which beats the constant guess."""
    assert played.constant is not None
    ahead = careful_difference(played.scores, played.constant)
    line, size = np.unravel_index(int(ahead.mean.argmax()), ahead.mean.shape)
    cell = ahead.cell(int(line), int(size))
    sign = 1 if cell.mean > 0 else -1
    amount = f"{words.amount(sign * cell.mean)} {'more, which is not clear' if sign > 0 else 'less'}"
    return (
        f"Nothing beats a constant guess: the same answer for every row scores {_guessed(played, words)}, and the best "
        f"model, of {played.lines[int(line)]} with {played.sizes[int(size)]:,} labels, {amount} "
        f"({words.interval(cell, sign=sign)}). See to the learner, the columns and the score before the strategy."
    )


def _guessed(played: Played, words: Words) -> str:
    """Return the score of the constant guess."""
    assert played.constant is not None
    return words.score(np.nanmean(played.constant))


def _verdict(played: Played, rivals: Sequence[Line], to: Line, words: Words) -> str:
    difference = played.differences([(line, played.opponent(line, to.strategy)) for line in rivals])
    decided = decide(difference)
    if (decided > 0).any():
        return _win(played, rivals, to, difference, decided, words)
    if (decided < 0).any():
        line, size = np.unravel_index(
            int(np.where(decided < 0, difference.mean, np.inf).argmin()), decided.shape
        )
        cell = difference.cell(int(line), int(size))
        return (
            f"{_rule(to)}: nothing that was tried beats {to.strategy} here, and {rivals[int(line)]} scores "
            f"{words.amount(-cell.mean)} less with {played.sizes[int(size)]:,} labels "
            f"({words.interval(cell, sign=-1)})."
        )
    line, size = np.unravel_index(int(np.nanargmax(difference.mean)), decided.shape)
    cell = difference.cell(int(line), int(size))
    found = (
        f"No clear difference: {listed(rivals)} cannot be told from {to.strategy} at any size that was tried"
    )
    if words.share and difference.high.max() < _NO_MATTER:
        found = (
            f"{_rule(to)}: {listed(rivals)} {'bring' if len(rivals) > 1 else 'brings'} next to nothing here"
        )
    what, sign = ("largest gain", 1) if cell.mean >= 0 else ("smallest loss", -1)
    return (
        f"{found}; the {what}, of {rivals[int(line)]} with {played.sizes[int(size)]:,} labels, is "
        f"{words.amount(sign * cell.mean)} ({words.interval(cell, sign=sign)})."
    )


def _win(
    played: Played,
    rivals: Sequence[Line],
    to: Line,
    difference: Difference,
    decided: NDArray[np.int8],
    words: Words,
) -> str:
    """Return the sentence for the line that is highest on the whole, among those that win somewhere."""
    heights = np.array([_height(played, line) for line in rivals])
    learned = beats_constant(played)[[played.lines.index(line) for line in rivals]]
    wins = (decided > 0) & learned if ((decided > 0) & learned).any() else decided > 0
    best = int(np.where(wins.any(axis=1), heights, -np.inf).argmax())
    size = int(np.where(wins[best], difference.mean[best], -np.inf).argmax())
    cell, n_labels = difference.cell(best, size), played.sizes[size]
    score = float(played.of_line(rivals[best])[size].mean())
    needed = labels_needed(played, to, score)
    pays = "pays" if needed >= _WORTH_WHILE * n_labels else "is ahead, but hardly"
    if not learned[best, size]:
        pays = f"is ahead, but does not beat a constant guess, which scores {_guessed(played, words)}"
    sentence = (
        f"{_capital(str(rivals[best]))} {pays}: with {n_labels:,} labels it scores {words.score(score)}, "
        f"{words.amount(cell.mean)} more than {to.strategy} ({words.interval(cell)})"
    )
    if math.isinf(needed):
        sentence += f"; {to.strategy} does not get there with {played.sizes[-1]:,}"
    elif needed > n_labels:
        sentence += f"; {to.strategy} needs about {to_two_digits(needed):,} for that"
    equals = [
        line
        for place, line in enumerate(rivals)
        if line.rounds == rivals[best].rounds
        and place != best
        and decided[place, size] > 0
        and _no_difference(played, rivals[best], line, size)
    ]
    if equals:
        sentence += f"; {listed(equals)} {'does' if len(equals) == 1 else 'do'} about as well"
    worse = [played.sizes[place] for place in np.flatnonzero(decided[best] < 0)]
    if worse:
        sentence += f"; with {listed([f'{each:,}' for each in worse])} it is worse than {to.strategy}"
    return sentence + "."


def labels_needed(played: Played, line: Line, score: float) -> float:
    """Return how many labels a line needs for a score, read off its mean curve; infinite if it never gets there."""
    labels = [0, *played.sizes]
    curve = [float(played.before.mean()), *played.of_line(line).mean(axis=-1).tolist()]
    for place in range(1, len(labels)):
        if curve[place] >= score:
            if curve[place - 1] >= score:
                return float(labels[place - 1])
            way = (score - curve[place - 1]) / (curve[place] - curve[place - 1])
            return float(labels[place - 1] + way * (labels[place] - labels[place - 1]))
    return math.inf


def _about_rounds(played: Played, words: Words) -> list[str]:
    """Return what the most rounds bring over the fewest, for the highest strategy that was played in several."""
    by_strategy: dict[str, list[Line]] = {}
    for line in played.lines:
        by_strategy.setdefault(line.strategy, []).append(line)
    several = [lines for lines in by_strategy.values() if len(lines) > 1]
    if not several:
        return []
    highest = max(several, key=lambda lines: max(_height(played, line) for line in lines))
    few, many = highest[0], highest[-1]
    difference = played.differences([(many, few)])
    decided = decide(difference)[0]
    named = f"{many.strategy} in {many.rounds} rounds"
    if not decided.any():
        return [f"No clear difference between {named} and in {few.rounds}."]
    size = int(np.where(decided != 0, np.abs(difference.mean[0]), -np.inf).argmax())
    cell, sign = difference.cell(0, size), int(decided[size])
    amount = f"{words.amount(sign * cell.mean)} {'more' if sign > 0 else 'less'}"
    sentence = f"{_capital(named)} instead of {few.rounds} scores {amount} with {played.sizes[size]:,} labels"
    return [f"{sentence} ({words.interval(cell, sign=sign)})."]


def _height(played: Played, line: Line) -> float:
    """Return the mean height of a line's curve."""
    return float(area(played.of_line(line), played.sizes).mean())


def _no_difference(played: Played, first: Line, second: Line, size: int) -> bool:
    """Return whether two lines cannot be told apart, neither at one size nor over all of them."""
    heights = [played.of_line(line) for line in (first, second)]
    here = careful_difference(*(height[size] for height in heights))
    overall = careful_difference(*(area(height, played.sizes) for height in heights))
    return bool(min(here.p_value, overall.p_value) >= LEVEL)


def _rule(to: Line) -> str:
    return "Label at random" if to.strategy == RANDOM else f"Keep to {to.strategy}"


def listed(names: Sequence[object]) -> str:
    """Return names as a sentence has them.

    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    *others, last = map(str, names)
    return f"{', '.join(others)} and {last}" if others else last


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
