"""Skewed classes: balanced accuracy leads, a constant guess stands beside accuracy, the rare class has its own line."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom
from sklearn.metrics import balanced_accuracy_score

import minmargin as mm
from campaign.bank import bank
from minmargin.campaign.audit import Audit, Estimate
from minmargin.campaign.findings import describe
from minmargin.campaign.journal import ClassTally, Measurement
from minmargin.campaign.leading import Skew, find_skew, mean_interval, rating_of
from minmargin.campaign.page import _lead
from minmargin.campaign.stability import Pair, Stability
from minmargin.cli.campaign_steps import poor_score
from minmargin.compare.leading import leading as leading_of_compare
from minmargin.labeled import LabeledSet

STABLE = Stability(4, tuple(Pair((n, n + 1), (n, n + 1), 1000, 1000, 1.0) for n in (1, 2, 3)))
SKEW = Skew("no", 0.9, "audited rows")


def audit(number: int, counts: dict[tuple[str, str], int], drawn: int | None = None) -> Audit:
    """Return an audit of rows given as their label and the class that they are taken for."""
    guesses = [pair for pair, n in counts.items() for _ in range(n)]
    return Audit(number, 100 * number, len(guesses) if drawn is None else drawn, Estimate.of(guesses))


MIXED = {("no", "no"): 262, ("no", "yes"): 6, ("yes", "no"): 27, ("yes", "yes"): 5}


def test_balanced_accuracy_leads_and_both_stand_beside_the_constant_guess():
    status = bank((883, 4), (874, 11), (866, 20))
    assert status.leading == "balanced_accuracy"
    assert repr(status) == (
        "<Status of 'bank': 2 rounds, 80 labels; balanced accuracy 57.6%, accuracy 88.6% (always 'no': 88.4%).>"
    )
    assert str(status).splitlines() == [
        "Campaign bank: 2 rounds, 80 labels; balanced accuracy 57.6%, accuracy 88.6% (always 'no': 88.4%).",
        "round  picked  labeled  waiting  labels  balanced accuracy  accuracy",
        "begin      40       40        0      40              51.7%     88.7%",
        "    1      20       20        0      60              54.2%     88.5%",
        "    2      20       20        0      80              57.6%     88.6%",
        "balanced accuracy 51.7% with 40 labels  ▁▄█  57.6% with 80",
        "accuracy 88.7% with 40 labels  ▅▄▅  88.6% with 80",
        "Accuracy of the base on the held-out rows.",
        "Balanced accuracy leads, since 88.4% of the held-out rows are 'no'.",
        "Always saying 'no' would be right in 88.4% of the held-out rows.",
        "Forecast: none. It would be of accuracy, by which the model is not clearly better than always saying 'no'.",
    ]
    assert _lead(status) == (
        "40 labels in 2 rounds took the model from 51.7% balanced accuracy, with 40 labels, to 57.6%, with 80. "
        "Accuracy is 88.6%, where always saying 'no' has 88.4%."
    )
    assert _lead(bank((883, 4), (874, 9))) == (
        "20 labels in 1 round brought no clear change in balanced accuracy: it was 51.7% with 40 labels, and is 53.3% "
        "with 60. Accuracy is 88.3%, where always saying 'no' has 88.4%."
    )


def test_json_has_the_score_that_leads_its_intervals_and_the_guess():
    found = bank((883, 4), (874, 11)).to_dict()
    json.dumps(found)
    assert found["leading"] == "balanced_accuracy"
    assert found["skew"] == {"name": "no", "share": 0.884, "rows": "held-out rows"}
    last = found["curve"][-1]
    assert last["classes"] == {"no": {"correct": 874, "tested": 884}, "yes": {"correct": 11, "tested": 116}}
    assert (
        last["balanced_accuracy"] == found["balanced_accuracy"] == pytest.approx((874 / 884 + 11 / 116) / 2)
    )
    assert last["balanced_interval"] == list(mean_interval([(874, 884), (11, 116)]))
    assert last["constant_guess"] == {"class": "no", "accuracy": 0.884}
    assert found["forecast"] is None


def test_where_accuracy_is_clearly_above_the_guess_the_guess_is_named_all_the_same():
    status = bank((883, 4), (870, 60))
    assert status.caution == "Always saying 'no' would be right in 88.4% of the held-out rows."
    assert _lead(status) == (
        "20 labels in 1 round took the model from 51.7% balanced accuracy, with 40 labels, to 75.1%, with 60. "
        "Accuracy is 93.0%, where always saying 'no' has 88.4%."
    )
    assert status.notes() == ["Forecast: cannot tell yet. It takes 4 measured models, and there are 2."]
    longer = bank(*[(870, 56 + step) for step in range(5)])
    assert longer.notes()[0].endswith(" It is of accuracy, which tells little of the rarer classes.")
    audited = replace(longer, audits=tuple(audit(number, MIXED) for number in range(1, 5)))
    assert " It goes by the held-out rows, and not by the audits. It is of accuracy," in audited.notes()[-1]


def test_a_guess_that_is_no_worse_is_named_where_classes_are_even_too_and_accuracy_leads():
    even = replace(
        bank((0, 0)),
        curve=(
            Measurement(0, 40, 55, 100, "held-out", (ClassTally("no", 35, 60), ClassTally("yes", 20, 40))),
        ),
    )
    assert (even.skew, even.leading) == (None, "accuracy")
    assert even.caution == "Always saying 'no' would be right in 60.0% of the held-out rows."
    assert even.to_dict()["skew"] is None


def test_the_guess_on_cross_validated_rows_is_that_of_the_labeled_ones():
    assert bank((883, 4), way="5-fold").caution == (
        "Always saying 'no' would be right in 88.4% of the labeled rows."
    )


def test_rows_that_were_drawn_by_chance_tell_of_the_classes_and_picked_rows_never_do():
    held_out = bank((883, 4)).curve[-1]
    crossed = bank((883, 4), way="5-fold").curve[-1]
    even, skewed, few = Estimate.of([("a", "a"), ("b", "b")] * 30), audit(1, MIXED).estimate, Estimate(0, 0)
    begun = {"yes": 1, "no": 9}
    assert find_skew(held_out, even, {}) == ("no", 0.884, "held-out rows")
    assert find_skew(crossed, even, begun) is None
    assert find_skew(crossed, skewed, {"yes": 5, "no": 5}) == ("no", 268 / 300, "audited rows")
    assert find_skew(crossed, few, begun) == ("no", 0.9, "rows labeled at the beginning")
    assert find_skew(crossed, Estimate.of([("a", "a"), ("b", "b")] * 24), begun) is not None
    assert find_skew(None, few, {}) is None


@pytest.mark.parametrize("n_common", [80, 81, 95])
def test_the_rule_is_that_of_compare(n_common):
    y = ["a"] * n_common + ["b"] * (100 - n_common)
    table = LabeledSet.of(np.zeros((100, 1)), y)
    counts = {"a": n_common, "b": 100 - n_common}
    led = leading_of_compare(["accuracy", "balanced_accuracy"], table)
    assert (find_skew(None, Estimate(0, 0), counts) is not None) == (led == "balanced_accuracy")


# What audits tell


def test_audit_lines_have_both_accuracies_the_guess_and_the_rare_class():
    audits = [audit(1, MIXED), audit(2, {**MIXED, ("yes", "yes"): 12, ("yes", "no"): 20}, drawn=310)]
    of_last, of_mean, of_the_rare = describe(audits, SKEW)
    assert of_last == (
        "Audit: the model with 200 labels has 67.6% (95% interval 60.2% to 76.3%) balanced accuracy and 91.3% (95% "
        "interval 87.6% to 94.0%) accuracy (always 'no': 89.3%), on what round 2 left of the pool, by 300 of 310 rows "
        "drawn by chance."
    )
    assert of_mean == (
        "Over the last 2 audits, models have 62.2% (95% interval 57.5% to 68.1%) balanced accuracy and 90.2% (95% "
        "interval 87.5% to 92.3%) accuracy (always 'no': 89.3%), by 600 rows together."
    )
    assert of_the_rare == (
        "Over the last 2 audits, recall of 'yes' is 26.6% (95% interval 17.3% to 38.5%), by 64 rows of that class; its "
        "precision is 58.6% (95% interval 40.7% to 74.5%), by 29 rows taken for it."
    )
    assert describe(audits, None)[0].startswith("Audit: the model with 200 labels is right in 91.3% ")


def test_balanced_accuracy_over_several_audits_is_that_of_their_rows_and_is_called_no_mean_of_models():
    """Where a class is rare, it is not the mean of the models' balanced accuracies."""
    audits = [
        audit(1, {("no", "no"): 90, ("yes", "no"): 9, ("yes", "yes"): 1}),
        audit(2, {("no", "no"): 98, ("yes", "no"): 0, ("yes", "yes"): 2}),
    ]
    assert [rating_of(each.estimate).balanced_accuracy for each in audits] == [0.55, 1.0]
    _, of_all, of_the_rare = describe(audits, SKEW)
    assert of_all == (
        "Over the last 2 audits, models have 62.5% (95% interval 54.4% to 76.6%) balanced accuracy and 95.5% (95% "
        "interval 91.7% to 97.6%) accuracy (always 'no': 94.0%), by 200 rows together."
    )
    assert of_the_rare == (
        "Over the last 2 audits, recall of 'yes' is 25.0% (95% interval 8.9% to 53.2%), by 12 rows of that class; its "
        "precision is 100.0% (95% interval 43.9% to 100.0%), by 3 rows taken for it."
    )


OF_NO_ROW = (
    "Recall of 'yes' is not known, as none of these rows has that class; its precision is 0.0% (95% interval 0.0% to "
    "79.3%), by 1 row taken for it."
)


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        (
            {("no", "no"): 60},
            "All these rows are 'no' and are taken for it, which tells nothing of other classes.",
        ),
        (
            {("no", "no"): 59, ("no", "yes"): 1},
            OF_NO_ROW,
        ),
        (
            {("no", "no"): 59, ("yes", "no"): 1},
            "Recall of 'yes' is 0.0% (95% interval 0.0% to 79.3%), by 1 row of that class; no row was taken for it.",
        ),
    ],
)
def test_a_rare_class_that_no_row_has_or_is_taken_for(counts, said):
    lines = describe([audit(1, counts)], SKEW)
    assert lines[-1] == said
    one_class = ("yes", "no") not in counts
    assert ("balanced" in lines[0]) != one_class


def test_balanced_accuracy_by_audit_is_that_of_scikit_learn():
    labels, guesses = zip(*[pair for pair, n in MIXED.items() for _ in range(n)], strict=True)
    rating = rating_of(audit(1, MIXED).estimate)
    assert rating.balanced_accuracy == pytest.approx(balanced_accuracy_score(labels, guesses))
    assert rating.guess == pytest.approx(268 / 300)


@pytest.mark.parametrize("sizes", [(268, 32), (90, 10), (500, 100), (200, 30, 20)])
@pytest.mark.parametrize("recalls", [(0.97, 0.2, 0.5), (0.9, 0.6, 0.4), (0.8, 0.95, 0.7)])
def test_intervals_of_balanced_accuracy_cover_as_often_as_they_say(sizes, recalls):
    rng = np.random.default_rng(1)
    recalls = recalls[: len(sizes)]
    found = np.column_stack(
        [binom.rvs(n, p, size=4_000, random_state=rng) for n, p in zip(sizes, recalls, strict=True)]
    )
    known: dict[tuple[int, ...], tuple[float, float]] = {}
    hits = 0
    for row in map(tuple, found.tolist()):
        if row not in known:
            known[row] = mean_interval(list(zip(row, sizes, strict=True)))
        low, high = known[row]
        hits += low <= np.mean(recalls) <= high
    least = 0.92 if min(sizes) <= 10 else 0.935  # of ten rows a recall is one of eleven numbers
    assert least <= hits / 4_000 <= 0.985


# Hints


def test_no_hint_praises_a_model_that_is_no_better_than_a_constant_guess():
    settled = replace(bank((880, 1), (880, 1)), stability=STABLE)
    assert settled.hints == []
    assert settled.notes()[-1] == (
        f"{STABLE.sentence} But the model is not clearly better than always saying the same, so that is no reason to "
        "stop."
    )
    better = replace(bank((880, 60), (880, 60)), stability=STABLE)
    (hint,) = better.hints
    assert hint.startswith(f"Time to stop? {STABLE.sentence} ")
    assert sum(STABLE.sentence in note for note in better.notes()) == 1


def test_a_flat_accuracy_is_no_reason_to_stop_where_classes_are_skewed():
    classes = (ClassTally("no", 88_000, 90_000), ClassTally("yes", 5_000, 10_000))
    flat = tuple(Measurement(n, 400 + 100 * n, 93_000, 100_000, "held-out", classes) for n in range(6))
    status = replace(bank(*[(860, 60)] * 6), curve=flat, stability=Stability(0, ()))
    assert status.forecast is not None
    assert status.forecast.far
    assert status.hints == []
    even = (ClassTally("no", 48_000, 50_000), ClassTally("yes", 45_000, 50_000))
    assert len(replace(status, curve=tuple(each._replace(classes=even) for each in flat)).hints) == 1


# All of it


@pytest.fixture
def customers(tmp_path, monkeypatch):
    """Begin a campaign on customers of whom one in ten says yes."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(2)
    rows = pd.DataFrame(rng.normal(size=(1_500, 3)), columns=["a", "b", "c"])
    y = np.where(rows["a"] + rng.normal(size=1_500) > 1.8, "yes", "no")
    rows["id"] = [f"k{row}" for row in range(1_500)]
    rows.iloc[60:].to_parquet("pool.parquet")
    truth = dict(zip(rows["id"], y.tolist(), strict=True))

    def begin(**more):
        campaign = mm.Campaign.init(
            "bank",
            labeled=rows.assign(y=y).iloc[:60],
            label_column="y",
            pool="pool.parquet",
            id_column="id",
            batch_size=15,
            n_models=2,
            random_state=0,
            **more,
        )
        for _ in itertools.repeat(None, 3):
            batch = campaign.next(n_jobs=1)
            campaign.add_labels({each: truth[each] for each in batch.ids.tolist()}, n_jobs=1)
        return campaign

    return begin


def test_status_and_page_of_skewed_classes(customers):
    campaign = customers(audit=40, folds=3)
    status = campaign.status(n_jobs=1)
    assert status.skew.rows == "audited rows"
    head, body = status.cells()
    assert head[-3:] == ["balanced accuracy", "accuracy", "audit, balanced"]
    assert [bool(line[-1]) for line in body] == [True, True, True, False]
    lines = str(status).splitlines()
    assert any(line.startswith("balanced accuracy ") for line in lines)
    assert any(line.startswith("Over the last 3 audits, models have ") for line in lines)
    assert any(line.startswith("Over the last 3 audits, recall of 'yes' is ") for line in lines)
    page = campaign.report("bank.html").read_text()
    assert "<dt>balanced accuracy by the last audit</dt>" in page
    assert 'aria-label="Balanced accuracy by number of labels: ' in page
    assert 'aria-label="Balanced accuracy by audit, by number of labels: ' in page
    assert page.count("accuracy of always naming the most common class") == 2
    assert "Balanced accuracy leads, since " in page
    assert " By audits, balanced accuracy was " in page
    found = status.to_dict()
    assert found["audit_mean"]["constant_guess"]["class"] == "no"
    assert found["audits"][-1]["balanced_interval"][0] <= found["audits"][-1]["balanced_accuracy"]


def test_guesses_of_a_model_that_finds_few_of_the_rare_class_are_not_shown_lightly(customers, monkeypatch):
    campaign = customers(folds=3)
    poor = bank((883, 4))
    monkeypatch.setattr(mm.Campaign, "status", lambda *_, **__: poor)
    assert poor_score(campaign) == "balanced accuracy is 51.7%"
    good = bank((883, 60))
    monkeypatch.setattr(mm.Campaign, "status", lambda *_, **__: good)
    assert poor_score(campaign) is None


def test_with_audits_alone_the_page_says_why_balanced_accuracy_leads(customers):
    campaign = customers(audit=40, folds=0)
    status = campaign.status(n_jobs=1)
    assert (status.accuracy, status.leading) == (None, "balanced_accuracy")
    assert status.skew.sentence in str(status)
    assert status.skew.sentence.replace("'", "&#39;") in campaign.report("bank.html").read_text()
