"""Advice on made-up results: a clear win, a loss, neither, and what rounds bring."""

from __future__ import annotations

import math

import numpy as np
import pytest

from minmargin.compare.advice import advise, beats_constant, labels_needed
from minmargin.compare.played import Line, Played

SIZES = [50, 100, 200, 400]
RANDOM = [0.80, 0.82, 0.84, 0.86]
N_DRAWS = 20


def played(noise=0.002, before=0.78, rounds=(), **gains):
    """Return scores that are random's curve plus each strategy's gains, up to noise without a mean."""
    rng = np.random.default_rng(0)
    hard = rng.normal(0, 0.02, N_DRAWS)  # how hard a draw is cancels out
    hard -= hard.mean()

    def drawn(curve):
        by_chance = rng.normal(0, noise, (len(SIZES), N_DRAWS))
        return np.reshape(curve, (-1, 1)) + hard + by_chance - by_chance.mean(axis=1, keepdims=True)

    lines, scores = [], []
    for name, gain in gains.items():
        strategy, _, n_rounds = name.replace("_", "-").partition("-in-")
        lines.append(Line(strategy, int(n_rounds or 1)))
        scores.append(drawn(np.add(RANDOM, gain)))
    return Played(lines, SIZES, np.array(scores), before + np.zeros(N_DRAWS))


def advice(share=True, constant=None, **settings):
    guessed = None if constant is None else constant + np.zeros(N_DRAWS)
    return advise(played(**settings)._replace(constant=guessed), share=share)


def test_a_clear_win_names_the_size_the_gain_and_what_random_would_need():
    assert advice(min_margin=[0.01, 0.02, 0.01, 0.0], random=0) == (
        "Min-margin pays: with 100 labels it scores 84.0%, 2.0 points more than random (95% interval 1.9 to 2.1, 20 "
        "draws); random needs about 200 for that."
    )


def test_a_constant_guess_that_is_beaten_changes_nothing():
    gains = {"min_margin": [0.01, 0.02, 0.01, 0.0], "random": 0}
    assert advice(constant=0.6, **gains) == advice(**gains)


def test_no_model_is_praised_that_loses_to_a_constant_guess():
    assert advice(constant=0.91, min_margin=[0.01, 0.02, 0.01, 0.0], margin=0.03, random=0) == (
        "Nothing beats a constant guess: the same answer for every row scores 91.0%, and the best model, of margin "
        "with 400 labels, 2.0 points less (95% interval 1.2 to 2.8, 20 draws). See to the learner, the columns and the "
        "score before the strategy."
    )


def test_a_lead_over_a_constant_guess_has_to_be_clear():
    assert advice(constant=0.859, random=0) == (
        "Nothing beats a constant guess: the same answer for every row scores 85.9%, and the best model, of random "
        "with 400 labels, 0.1 points more, which is not clear (95% interval -0.7 to 0.9, 20 draws). See to the "
        "learner, the columns and the score before the strategy."
    )


def test_a_winner_is_shown_where_it_beats_the_constant_guess():
    gains = {"min_margin": [0.035, 0.02, 0.02, 0.01], "random": 0}
    assert advice(**gains).startswith("Min-margin pays: with 50 labels it scores 83.5%, 3.5 points more")
    found = advice(constant=0.845, **gains)
    assert found.startswith("Min-margin pays: with 200 labels it scores 86.0%, 2.0 points more than random")


def test_a_winner_that_does_not_beat_the_constant_guess_is_not_called_good():
    assert advice(constant=0.845, min_margin=[0.035, 0.02, 0, 0], random=0) == (
        "Min-margin is ahead, but does not beat a constant guess, which scores 84.5%: with 50 labels it scores 83.5%, "
        "3.5 points more than random (95% interval 3.4 to 3.6, 20 draws); random needs about 180 for that."
    )


def test_a_guess_that_changes_from_draw_to_draw_is_beaten_by_models_that_are_always_better():
    few = played(min_margin=0.0, random=0.0)
    few = few._replace(
        scores=few.scores[..., :3], before=few.before[:3], constant=np.array([0.37, 0.37, 0.63])
    )
    assert beats_constant(few).all()
    assert not beats_constant(few._replace(constant=np.array([0.37, 0.37, 0.95]))).any()


def test_a_score_that_random_never_reaches():
    assert advice(min_margin=[0.01, 0.02, 0.02, 0.03], random=0).endswith(
        "; random does not get there with 400."
    )


def test_who_does_as_well_is_told_and_who_loses_elsewhere_is_not_among_them():
    found = advice(
        min_margin=[0.01, 0.02, 0.01, 0.0],
        margin=[0.0099, 0.0199, 0.01, 0.0],
        committee=[0.01, 0.02, 0.01, -0.05],
        random=0,
    )
    assert found.endswith("; random needs about 200 for that; margin does about as well.")


def test_a_win_here_and_a_loss_there():
    assert advice(min_margin=[-0.02, 0.0, 0.02, 0.03], random=0).endswith(
        "; with 50 it is worse than random."
    )


def test_a_gain_of_few_labels_is_called_so():
    found = advice(noise=0.0005, min_margin=[0.0, 0.0012, 0.0, 0.0], random=0)
    assert found == (
        "Min-margin is ahead, but hardly: with 100 labels it scores 82.1%, 0.1 points more than random (95% interval "
        "0.1 to 0.2, 20 draws); random needs about 110 for that."
    )


def test_a_loss_says_to_label_at_random():
    assert advice(min_margin=[0, 0, -0.01, -0.02], margin=[0, 0, -0.02, -0.03], random=0) == (
        "Label at random: nothing that was tried beats random here, and margin scores 3.0 points less with 400 labels "
        "(95% interval 2.9 to 3.1, 20 draws)."
    )


def test_no_clear_difference_is_called_so_with_what_may_have_been_missed():
    assert advice(noise=0.05, min_margin=[0.004, 0, 0, 0], margin=0, random=0) == (
        "No clear difference: min-margin and margin cannot be told from random at any size that was tried; the largest "
        "gain, of min-margin with 50 labels, is 0.4 points (95% interval -2.3 to 3.1, 20 draws)."
    )


def test_a_difference_that_is_surely_small_is_none():
    assert advice(noise=0.001, min_margin=[0.0001, 0, 0, 0], random=0) == (
        "Label at random: min-margin brings next to nothing here; the largest gain, of min-margin with 50 labels, is "
        "0.0 points (95% interval 0.0 to 0.1, 20 draws)."
    )


def test_without_random_the_first_has_to_be_beaten():
    found = advice(margin=0, min_margin=[0, 0, -0.01, -0.02])
    assert found.startswith(
        "Keep to margin: nothing that was tried beats margin here, and min-margin scores 2.0 points"
    )


def test_one_strategy_alone():
    assert advice(random=0) == "Only random was played, so there is nothing to compare it with."


def test_scores_that_are_no_shares_have_no_points():
    assert advice(share=False, min_margin=[0.01, 0.02, 0.01, 0.0], random=0) == (
        "Min-margin pays: with 100 labels it scores 0.840, 0.020 more than random (95% interval 0.019 to 0.021, 20 "
        "draws); random needs about 200 for that."
    )


@pytest.mark.parametrize(
    ("gain", "sentence"),
    [
        (
            [0.01, 0.02, 0.015, 0.01],
            (
                "Min-margin in 5 rounds instead of 1 scores 1.0 points more with 400 labels (95% interval 0.8 to "
                "1.2, 20 draws)."
            ),
        ),
        ([0.01, 0.02, 0.01, 0.0], "No clear difference between min-margin in 5 rounds and in 1."),
        (
            [0.0, 0.02, 0.01, 0.0],
            (
                "Min-margin in 5 rounds instead of 1 scores 1.0 points less with 50 labels (95% interval 0.8 to "
                "1.2, 20 draws)."
            ),
        ),
    ],
)
def test_what_rounds_bring(gain, sentence):
    found = advice(noise=0.003, min_margin=[0.01, 0.02, 0.01, 0.0], random=0, min_margin_in_5=gain)
    assert found.endswith(". " + sentence)


def test_rounds_are_told_of_the_strategy_that_is_highest():
    found = advice(min_margin=0.01, min_margin_in_5=0.015, margin=0.02, margin_in_5=0.03, random=0)
    assert "Margin in 5 rounds pays" in found
    assert "Margin in 5 rounds instead of 1 scores 1.0 points more" in found


@pytest.mark.parametrize(
    ("score", "labels"), [(0.81, 75), (0.79, 25), (0.86, 400), (0.87, math.inf), (0.78, 0), (0.70, 0)]
)
def test_labels_needed_are_read_off_the_curve(score, labels):
    curve = played(noise=0, random=0)
    flat = curve._replace(scores=np.reshape(RANDOM, (1, -1, 1)) + np.zeros((1, 4, N_DRAWS)))
    assert labels_needed(flat, Line("random", 1), score) == pytest.approx(labels)
