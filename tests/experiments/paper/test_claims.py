"""Verdicts on made-up results: every kind of test can come out every way, and says what it saw."""

from __future__ import annotations

import json
import re

import numpy as np
import pyarrow.parquet as pq
import pytest

from made_up_results import N_DRAWS, SIZES, angles, gaussian_draws, results, rows
from minmargin.errors import InputError
from minmargin.experiments.paper.claims import CLAIMS, Measured, Outcome, Verdict, judge
from minmargin.experiments.paper.claims.base import combine, graded
from minmargin.experiments.paper.claims.criteria import (
    as_good_as,
    best,
    better_than,
    every,
    falls_behind,
    gap_changes,
    large,
    lower_area,
    on,
    small,
    together,
)
from minmargin.experiments.paper.claims.measured import (
    BENCHMARK,
    EVERYWHERE,
    EXPERIMENTS,
    GAUSSIAN,
    TUNED,
    Place,
)
from minmargin.experiments.paper.claims.overall import duels

HOLDS, PART, FAILS, UNMEASURED = Outcome
PLACE = Place("benchmark", "nomao")
RISING = [0.00, 0.01, 0.02, 0.03, 0.04, 0.05]


def curves_of(**gains):
    named = {name.replace("_", "-"): gain for name, gain in gains.items()}
    return Measured(results(rows(PLACE, named))).curves(PLACE)


def verdict(name, measured):
    return next(claim for claim in CLAIMS if claim.name == name).decide(measured)


# The ledger as a whole


def test_names_are_unique_and_every_claim_is_complete():
    assert len({claim.name for claim in CLAIMS}) == len(CLAIMS) > 20
    for claim in CLAIMS:
        assert all((claim.meaning, claim.where, claim.test))
        assert set(claim.needs) <= set(EXPERIMENTS)


def test_without_results_nothing_is_measured():
    assert {verdict.outcome for verdict in judge(Measured()).values()} == {UNMEASURED}


def test_meanings_are_not_the_papers_sentences():
    """A few of the paper's own phrases, which would give a copied sentence away."""
    text = " ".join(claim.meaning + claim.test for claim in CLAIMS).lower()
    for phrase in (
        "outperforms other methods",
        "remarkably",
        "one of the best performing",
        "performs competitively",
    ):
        assert phrase not in text


@pytest.mark.parametrize(
    ("of_greedy", "outcome", "times"), [(2.0, HOLDS, "20.0"), (0.5, PART, "5.0"), (0.05, FAILS, "0.5")]
)
def test_what_compares_rows_takes_long_or_not(of_greedy, outcome, times):
    seconds = {"min-margin": 0.1, "k-centers": of_greedy, "balanced-margin": 3.0}
    made_up = [
        row | {"seconds": seconds.get(row["strategy"], 0.0)}
        for row in rows(PLACE, dict.fromkeys(seconds, 0.0))
    ]
    assert verdict("linear-cost", Measured(results(made_up))) == (
        outcome,
        f"times as long as min-margin, the faster of the two: nomao {times}",
    )


# How parts make a whole


@pytest.mark.parametrize(
    ("parts", "whole"),
    [
        ([HOLDS, HOLDS], HOLDS),
        ([FAILS, FAILS], FAILS),
        ([HOLDS, FAILS], PART),
        ([PART, FAILS], PART),
        ([HOLDS, UNMEASURED], PART),
        ([FAILS, UNMEASURED], FAILS),
        ([UNMEASURED], UNMEASURED),
        ([], UNMEASURED),
    ],
)
def test_a_whole_holds_in_part_where_its_parts_disagree(parts, whole):
    assert combine([Verdict(part, "seen") for part in parts]).outcome is whole


def test_parts_are_graded_by_how_many_are_good():
    assert [graded(n, 2, "").outcome for n in (0, 1, 2)] == [FAILS, PART, HOLDS]


def test_small_and_large_are_thirds():
    assert (small(SIZES), large(SIZES), every(SIZES)) == ([0, 1], [4, 5], list(range(6)))
    assert (small([5]), large([5])) == ([0], [0])
    assert small(range(7)) == [0, 1, 2]


# Each criterion


@pytest.mark.parametrize(
    ("criterion", "gains", "outcome"),
    [
        (best("a"), {"a": 0.02, "b": 0.01}, HOLDS),
        (best("a"), {"a": 0.02, "b": [0.03, 0.01, 0.01, 0.01, 0.01, 0.01]}, PART),
        (best("a"), {"a": 0.02, "b": 0.03}, FAILS),
        (
            best("a"),
            {"a": 0.02, "true-margin": 0.03, "b": 0.01},
            HOLDS,
        ),  # the oracle is no rival unless named
        (best("a", ["true-margin"]), {"a": 0.02, "true-margin": 0.03, "b": 0.01}, FAILS),
        (best("a"), {"a": 0.02}, UNMEASURED),
        (best("a"), {"b": 0.02, "c": 0.01}, UNMEASURED),
        (as_good_as("a"), {"a": 0.02, "b": 0.02}, HOLDS),
        (as_good_as("a"), {"a": 0.02, "b": 0.024}, HOLDS),  # less than the tolerance behind
        (as_good_as("a"), {"a": 0.02, "b": [0.02, 0.02, 0.02, 0.02, 0.03, 0.03]}, PART),
        (as_good_as("a"), {"a": 0.02, "b": 0.03}, FAILS),
        (as_good_as("a", ["b"], small), {"a": 0.02, "b": [0.02, 0.02, 0.03, 0.03, 0.03, 0.03]}, HOLDS),
        (better_than("a", ["b"]), {"a": 0.02, "b": 0.01}, HOLDS),
        (better_than("a", ["b"]), {"a": 0.02, "b": [0.05, 0.05, 0.05, 0.05, 0.01, 0.01]}, HOLDS),
        (better_than("a", ["b", "c"]), {"a": 0.02, "b": 0.01, "c": 0.02}, PART),
        (better_than("a", ["b", "c"]), {"a": 0.02, "b": 0.01, "c": 0.03}, FAILS),
        (better_than("a", ["b"]), {"a": 0.02, "b": 0.02}, FAILS),
        (falls_behind("a"), {"a": 0.02, "b": 0.03}, HOLDS),
        (falls_behind("a"), {"a": 0.02, "b": [0, 0, 0, 0, 0, 0.03]}, PART),
        (falls_behind("a"), {"a": 0.02, "b": 0.023}, FAILS),
        (gap_changes("a", "b", 1), {"a": RISING, "b": 0}, HOLDS),
        (gap_changes("a", "b", 1), {"a": 0, "b": RISING}, FAILS),
        (gap_changes("a", "b", 1), {"a": 0, "b": 0}, FAILS),
        (gap_changes("a", "b", -1), {"a": 0, "b": RISING}, HOLDS),
        (gap_changes("a", "b", -1), {"a": 0}, UNMEASURED),
        (lower_area("a", ["b", "c"]), {"a": 0, "b": 0.01, "c": 0.01}, HOLDS),
        (lower_area("a", ["b", "c"]), {"a": 0, "b": 0.01, "c": 0}, PART),
        (lower_area("a", ["b", "c"]), {"a": 0.01, "b": 0, "c": 0}, FAILS),
        (together(best("a"), better_than("a")), {"a": 0.02, "b": 0.01}, HOLDS),
        (together(best("a"), better_than("a")), {"a": 0.02, "b": [0, 0, 0, 0, 0.02, 0.02]}, PART),
    ],
)
def test_a_criterion_comes_out_as_the_numbers_say(criterion, gains, outcome):
    found = criterion(curves_of(**gains))
    assert found.outcome is outcome, found.evidence
    assert found.evidence


def test_few_noisy_draws_do_not_prove_that_two_are_as_good():
    noisy = Measured(results(rows(PLACE, {"a": 0.02, "b": 0.02}, noise=0.05))).curves(PLACE)
    found = as_good_as("a")(noisy)
    assert found.outcome is UNMEASURED
    assert found.evidence.startswith("too few draws to tell")


def test_one_draw_proves_nothing():
    one = [row for row in rows(PLACE, {"a": 0.02, "b": 0.01}) if row["draw"] == 0]
    assert best("a")(Measured(results(one)).curves(PLACE)).outcome is UNMEASURED


def test_the_evidence_has_the_numbers():
    found = better_than("a", ["b"])(curves_of(a=0.02, b=0.01))
    assert re.fullmatch(
        r"better in 2 and worse in 0 of 2 comparisons at 2 sizes \(160 to 320\) "
        r"\(lowest difference \+(0\.9\d|1\.0\d) \[\+(0\.9\d|1\.0\d), \+(0\.9\d|1\.0\d)\], to b at (160|320)\)",
        found.evidence,
    )


def test_a_claim_over_datasets_holds_in_part_while_some_are_missing():
    measured = Measured(results(rows(BENCHMARK[0], {"a": 0.02, "b": 0.01})))
    found = on(BENCHMARK[:2], best("a"))(measured)
    assert found.outcome is PART
    assert found.evidence.startswith("nomao (holds): highest mean at 6 of 6 sizes")
    assert found.evidence.endswith("; no results of shuttle")


# Claims with tests of their own


def everywhere(gains):
    return Measured(results(*(rows(place, gains) for place in EVERYWHERE)))


@pytest.mark.parametrize(
    ("margin", "random", "outcomes"),
    [
        ([0.02, 0.02, 0.02, 0.01, 0.0, 0.0], 0.0, (HOLDS, HOLDS, HOLDS, HOLDS)),
        (0.019, 0.03, (PART, HOLDS, HOLDS, PART)),
        (0.04, 0.03, (FAILS, FAILS, FAILS, FAILS)),
        ([0.04, 0.04, 0.04, 0.01, 0.01, 0.01], 0.0, (PART, PART, PART, PART)),
    ],
)
def test_claims_over_everything(margin, random, outcomes):
    measured = everywhere({"min-margin": 0.02, "margin": margin, "random": random, "committee": 0.0})
    names = ("outperforms", "as-margin-then-better", "competitive-with-margin", "substantially-better")
    found = {name: verdict(name, measured) for name in names}
    assert tuple(each.outcome for each in found.values()) == outcomes, found


def test_duels_count_each_dataset_and_size_once():
    found = duels(everywhere({"min-margin": 0.02, "margin": 0.01, "true-margin": 0.05}))
    assert found.against("margin") == (len(EVERYWHERE) * len(SIZES), 0, 0)
    assert found.against("true-margin") == (0, 0, 0)
    assert sum(found.against(late=True)) == sum(found.against(late=False)) == len(EVERYWHERE) * 3


def gaussian(gains):
    return Measured(results(*(rows(place, gains) for place in GAUSSIAN)))


@pytest.mark.parametrize(
    ("gains", "outcome"),
    [
        ({"min-margin": 0.03, "margin": 0.01, "true-margin": 0.02}, HOLDS),
        ({"min-margin": 0.03, "margin": 0.03, "true-margin": 0.02}, PART),
        ({"min-margin": 0.01, "margin": 0.03, "true-margin": 0.02}, FAILS),
        ({"min-margin": 0.01, "margin": 0.03}, UNMEASURED),
    ],
)
def test_the_only_one_that_beats_the_oracle(gains, outcome):
    assert verdict("gaussian-only-one", gaussian(gains)).outcome is outcome


@pytest.mark.parametrize(
    ("mean", "outcome"), [(0.01, HOLDS), ([0.01, 0.02, 0.02, 0.02, 0.02, 0.02], PART), (0.02, FAILS)]
)
def test_mean_margins_are_poor(mean, outcome):
    found = verdict("gaussian-mean-poor", gaussian({"min-margin": 0.02, "mean-margin": mean}))
    assert found.outcome is outcome


def test_the_oracle_catches_up():
    catching_up = gaussian({"min-margin": 0.05, "true-margin": RISING})
    assert verdict("gaussian-oracle-small", catching_up).outcome is HOLDS
    assert (
        verdict("gaussian-oracle-small", gaussian({"min-margin": 0.05, "true-margin": 0.01})).outcome is PART
    )
    assert verdict("gaussian-oracle-small", gaussian({"min-margin": 0, "true-margin": 0.01})).outcome is FAILS


@pytest.mark.parametrize(("sign", "outcome"), [(-1, HOLDS), (1, FAILS)])
def test_gains_that_follow_the_initial_model(sign, outcome):
    parts = [rows(place, {"min-margin": 0.0, "margin": 0.0}) for place in GAUSSIAN]
    for part in parts:
        before = {row["draw"]: row["accuracy"] for row in part if row["strategy"] == "none"}
        for row in part:
            if row["strategy"] == "min-margin":
                row["accuracy"] += sign * before[row["draw"]]
    assert verdict("gaussian-adapts", Measured(results(*parts))).outcome is outcome


@pytest.mark.parametrize(
    ("spreads", "outcome"),
    [
        ({"min-margin": 0.5, "margin": 0.1, "committee": 0.1}, HOLDS),
        ({"min-margin": 0.5, "margin": 0.1, "committee": 0.9}, PART),
        ({"min-margin": 0.1, "margin": 0.5, "committee": 0.9}, FAILS),
        ({"min-margin": 0.1}, UNMEASURED),
    ],
)
def test_picks_that_are_spread_across_the_boundary(spreads, outcome):
    assert verdict("gaussian-picks", Measured(draws=gaussian_draws(spreads))).outcome is outcome


@pytest.mark.parametrize(
    ("pairs", "outcomes"),
    [
        ({(100, "12Bm"): (0.12, 0.01)}, (HOLDS, HOLDS, HOLDS)),
        ({(100, "12Bm"): (0.10, 0.01), (100, "12Bm2"): (0.12, 0.01)}, (HOLDS, PART, HOLDS)),
        ({(100, "12Bm"): (0.10, 0.12)}, (FAILS, FAILS, FAILS)),
        (
            {(20, "12Bm"): (0.12, 0.01)},
            (UNMEASURED, UNMEASURED, UNMEASURED),
        ),  # too small an m for the theorem
        (
            {(100, "12Bm"): (0.1094, 0.1016)},
            (HOLDS, UNMEASURED, UNMEASURED),
        ),  # too close to the bounds to tell
    ],
)
def test_the_theorem_and_its_bounds(pairs, outcomes):
    measured = Measured(theorem=angles(pairs))
    names = ("theorem", "theorem-margin-bound", "theorem-min-margin-bound")
    assert tuple(verdict(name, measured).outcome for name in names) == outcomes


def test_margins_bound_is_held_against_the_steadier_mean_if_there_is_one():
    unit = np.pi**2 / (101 * 102)
    setting = {
        "m": 100,
        "pool_factor": "12Bm",
        "margin_with_known_base": {"mean": 0.104 * unit, "error": 0.001 * unit},
    }
    noisy = Measured(
        theorem=angles({(100, "12Bm"): (0.11, 0.01)}, noise=1), notes={"theorem": {"settings": [setting]}}
    )
    found = verdict("theorem-margin-bound", noisy)
    assert found.outcome is FAILS
    assert "0.104 [0.102, 0.106] against 0.1094" in found.evidence


@pytest.mark.parametrize(
    ("first", "second", "outcome"),
    [(True, True, HOLDS), (True, False, PART), (False, False, FAILS)],
)
def test_the_lemmas(first, second, outcome):
    below = {"m": 10, "holds": False}  # neither lemma speaks of so small an m
    lines = {"lemma_1": [below, {"m": 100, "holds": first}], "lemma_2": [below, {"m": 100, "holds": second}]}
    assert verdict("lemmas", Measured(notes={"theorem": {"proof": lines}})).outcome is outcome


@pytest.mark.parametrize(("committee", "outcome"), [(0.0, HOLDS), (0.02, PART)])
def test_the_only_one_that_keeps_up_with_random(committee, outcome):
    gains = {
        "min-margin": 0.02,
        "random": 0.01,
        "margin": [0.02, 0.02, 0.02, 0.0, 0.0, 0.0],
        "committee": committee,
    }
    places = [place for place in EVERYWHERE if place.experiment == "large"]
    assert (
        verdict("large-only-like-random", Measured(results(*(rows(p, gains) for p in places)))).outcome
        is outcome
    )
    gains["min-margin"] = 0.0
    assert (
        verdict("large-only-like-random", Measured(results(*(rows(p, gains) for p in places)))).outcome
        is FAILS
    )


@pytest.mark.parametrize(("weak", "outcome"), [(3, HOLDS), (1, PART), (0, FAILS)])
def test_the_appendixs_methods_are_often_weak(weak, outcome):
    extra = {
        name: 0.0 if number < weak else 0.05
        for number, name in enumerate(("balanced-margin", "k-centers", "random-margin-mix"))
    }
    measured = Measured(results(rows(PLACE, {"min-margin": 0.02, "margin": 0.02, "random": 0.01, **extra})))
    assert verdict("appendix-weak", measured).outcome is outcome


# Tuning


def tuned(beta=None, members=None, margin=0.0, random=0.0):
    parts = []
    for dataset in TUNED:
        place = Place("tuning", dataset, "reference")
        parts.append(rows(place, {"margin": margin, "random": random}))
        for name, values in (("beta", beta or {}), ("K", members or {})):
            parts += [
                rows(place._replace(variant=f"{name}={value:g}"), {"min-margin": gain})
                for value, gain in values.items()
            ]
    return Measured(results(*parts))


@pytest.mark.parametrize(
    ("fifty", "hundred", "outcome"), [(0.02, 0.021, HOLDS), (0.02, 0.04, PART), (0.04, 0.05, FAILS)]
)
def test_the_number_of_members_hardly_matters(fifty, hundred, outcome):
    measured = tuned(members={2: 0.0, 25: 0.02, 50: fifty, 100: hundred})
    found = verdict("tuning-members", measured)
    assert found.outcome is outcome
    assert "K = 2 -2.0" in found.evidence


FALLING = {0.25: 0.04, 0.5: 0.03, 1: 0.02, 2: 0.01, 4: 0.0}
FLAT = dict.fromkeys(FALLING, 0.02)
CLIMBING = dict(zip(FALLING, reversed(FALLING.values()), strict=True))
TRADED = {beta: [-height, -height, 0, 0, height, height] for beta, height in FALLING.items()}
HALF_TRADED = {beta: [0, 0, 0, 0, height, height] for beta, height in FALLING.items()}
BENT = {**FALLING, 0.25: 0.025}


@pytest.mark.parametrize(
    ("name", "beta", "outcome"),
    [
        ("tuning-beta-helps", FALLING, HOLDS),
        ("tuning-beta-helps", FLAT, FAILS),
        ("tuning-beta-shuttle", FALLING, HOLDS),
        ("tuning-beta-shuttle", BENT, PART),
        ("tuning-beta-shuttle", CLIMBING, FAILS),
        ("tuning-beta-cod-rna", CLIMBING, HOLDS),
        ("tuning-beta-cod-rna", FALLING, FAILS),
        ("tuning-beta-magic04", TRADED, HOLDS),
        ("tuning-beta-magic04", HALF_TRADED, PART),
        ("tuning-beta-magic04", FLAT, FAILS),
        ("tuning-large-like-margin", FALLING, HOLDS),
        ("tuning-large-like-margin", {**FALLING, 0.25: 0.0}, PART),
        ("tuning-large-like-margin", CLIMBING, FAILS),
        ("tuning-small-like-random", CLIMBING, HOLDS),
        ("tuning-small-like-random", FALLING, FAILS),
    ],
)
def test_what_beta_does(name, beta, outcome):
    found = verdict(name, tuned(beta=beta))
    assert found.outcome is outcome, found.evidence


@pytest.mark.parametrize(
    ("leads", "outcome"),
    [((0.03, 0.01, 0.0), HOLDS), ((0.01, 0.03, 0.0), FAILS), ((0.01, 0.01 - 1e-6, 0.0), PART)],
)
def test_random_does_best_on_shuttle(leads, outcome):
    parts = [
        rows(Place("tuning", dataset, "reference"), {"margin": 0.0, "random": lead})
        for dataset, lead in zip(TUNED, leads, strict=True)
    ]
    assert verdict("tuning-shuttle-random", Measured(results(*parts))).outcome is outcome


def test_variants_are_paired_by_the_draws_that_all_have():
    parts = [
        rows(Place("tuning", "shuttle", f"beta={beta:g}"), {"min-margin": gain})
        for beta, gain in FALLING.items()
    ]
    parts[0] = [row for row in parts[0] if row["draw"] != 3]
    assert verdict("tuning-beta-shuttle", Measured(results(*parts))).outcome is HOLDS


# The folder


def test_a_folder_is_read_with_whatever_is_there(tmp_path):
    found = results(rows(PLACE, {"a": 0.02, "b": 0.01}))["benchmark"]
    pq.write_table(found.table, tmp_path / "benchmark.parquet")
    (tmp_path / "benchmark.json").write_text(json.dumps({"draws": N_DRAWS}))
    measured = Measured.read(tmp_path)
    assert [name for name in EXPERIMENTS if measured.has(name)] == ["benchmark"]
    assert measured.notes == {"benchmark": {"draws": N_DRAWS}}
    assert measured.curves(PLACE).strategies == ["a", "b"]
    assert measured.curves(BENCHMARK[1]) is measured.curves(PLACE._replace(variant="other")) is None
    assert measured.curves(GAUSSIAN[0]) is None


def test_a_missing_folder_is_an_error(tmp_path):
    with pytest.raises(InputError) as caught:
        Measured.read(tmp_path / "none")
    assert str(caught.value) == (
        f"There is no folder {str(tmp_path / 'none')!r} with results. "
        f"Use minmargin reproduce all --out {tmp_path / 'none'}."
    )
