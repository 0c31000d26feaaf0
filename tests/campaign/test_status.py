"""Status and the page: what was measured equals scikit-learn's own numbers, and hostile names stay text."""

from __future__ import annotations

import re
import sqlite3
import warnings
from contextlib import closing
from dataclasses import replace
from functools import partial

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, balanced_accuracy_score

import minmargin as mm
from campaign.bank import bank
from campaign.flowers import NAMES, TRUTH, answers
from campaign.last_release import without_seal
from minmargin.campaign.audit import Audit, Estimate
from minmargin.campaign.journal import Measurement
from minmargin.campaign.measuring import Examiner, Tally
from minmargin.campaign.stability import Stability


def play(campaign: mm.Campaign, n_rounds: int) -> mm.Campaign:
    for _ in range(n_rounds):
        campaign.add_labels(answers(campaign.next(n_jobs=1)), n_jobs=1)
    return campaign


def test_accuracy_on_held_out_rows_is_that_of_a_model_trained_on_all_labels(begin):
    campaign = play(begin(held_out="held-out.csv", learner=LogisticRegression(max_iter=1000)), 2)
    status = campaign.status()
    held_out = pd.read_csv("held-out.csv")
    labeled = campaign.labeled().to_pandas()
    for n_labels, line in zip((15, 22, 29), status.rounds, strict=True):
        model = LogisticRegression(max_iter=1000).fit(labeled[NAMES][:n_labels], labeled["y"][:n_labels])
        assert line.labels == n_labels
        assert line.accuracy == pytest.approx(model.score(held_out[NAMES], held_out["y"]))
        balanced = balanced_accuracy_score(held_out["y"], model.predict(held_out[NAMES]))
        assert line.balanced_accuracy == pytest.approx(balanced)
    assert [each.tested for each in status.curve] == [15, 15, 15]
    assert status.measured == "Accuracy of the base on the held-out rows."


def test_without_held_out_rows_accuracy_is_cross_validated_and_the_status_says_what_that_means(begin):
    status = play(begin(folds=5), 1).status()
    assert [(each.way, each.tested) for each in status.curve] == [("5-fold", 15), ("5-fold", 22)]
    assert all(0.5 < each.accuracy <= 1 for each in status.curve)
    assert status.measured == (
        "Accuracy of the base by 5-fold cross-validation of the labeled rows. These are no sample of the pool, and it "
        "may be higher or lower there: to know, hold rows out, or use --audit (for this campaign: minmargin "
        "campaign set DIR audit=50)."
    )


CROSSED = "Accuracy of the base by 2-fold cross-validation of the labeled rows."
IF_NONE = f"{CROSSED} If these are no sample of the pool, it may be higher or lower there:"
NONE = f"{CROSSED} These are no sample of the pool, and it may be higher or lower there:"
HOLD_OUT = "to know, hold rows out, or use --audit (for this campaign: minmargin campaign set DIR audit=50)."


@pytest.mark.parametrize(
    ("asked", "n_rounds", "said"),
    [
        ({}, 0, f"{IF_NONE} {HOLD_OUT}"),
        ({}, 1, f"{NONE} {HOLD_OUT}"),
        ({"strategy": "random"}, 1, f"{IF_NONE} {HOLD_OUT}"),
        ({"audit": 4}, 0, f"{IF_NONE} what counts are audits, once rows drawn by chance have labels."),
        ({"audit": 4}, 1, f"{NONE} what counts are the audits, by rows drawn by chance."),
        ({"folds": 0}, 1, "Accuracy is not measured: the campaign has neither held-out rows nor folds."),
        (
            {"folds": 0, "audit": 4},
            1,
            "Accuracy is measured by audits alone: the campaign has neither held-out rows nor folds.",
        ),
    ],
)
def test_the_status_promises_no_direction_in_which_labeled_rows_err(begin, asked, n_rounds, said):
    assert play(begin(**{"folds": 2, **asked}), n_rounds).status().measured == said


OF_FOLDS = "Recall is the part of the class&#39;s labeled rows that is right in 2-fold cross-validation"
OF_HELD_OUT = "Recall is the part of the class&#39;s held-out rows that the model by now has right"
OF_AUDITS = "that of the audits above is by rows drawn by chance, for the models that predicted them."
DIFFER = "The two differ where labeled rows are no sample of the pool: there, the audits count."


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"folds": 2}, f"{OF_FOLDS}."),
        ({"folds": 2, "audit": 4}, f"{OF_FOLDS}; {OF_AUDITS} {DIFFER}"),
        ({"held_out": "held-out.csv"}, f"{OF_HELD_OUT}."),
        ({"held_out": "held-out.csv", "audit": 4}, f"{OF_HELD_OUT}; {OF_AUDITS}"),
    ],
)
def test_the_page_says_by_which_rows_each_recall_is(begin, asked, said):
    page = play(begin(**asked), 1).report("campaign.html").read_text()
    assert f"those with the fewest labels are learned least. {said}</p>" in page
    of_audit = "By rows drawn by chance, in the last round with an audit."
    assert (of_audit in page) == ("audit" in asked)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abcd")), min_size=1))
def test_balanced_accuracy_is_that_of_scikit_learn(guesses):
    labels, taken_for = zip(*guesses, strict=True)
    found = Measurement(0, 9, *Tally.of(guesses, "held-out"))
    assert found.accuracy == pytest.approx(accuracy_score(labels, taken_for))
    with warnings.catch_warnings():  # of predicted classes that no row has
        warnings.simplefilter("ignore", UserWarning)
        assert found.balanced_accuracy == pytest.approx(balanced_accuracy_score(labels, taken_for))


def test_a_journal_without_counts_by_class_is_read_and_goes_on(begin):
    campaign = play(begin(held_out="held-out.csv"), 1)
    before = campaign.status()
    with closing(sqlite3.connect("flowers/journal.sqlite")) as db:
        db.execute("DROP TABLE measured_classes")
    without_seal("flowers")  # as no version did that had no such counts
    status = campaign.status()
    assert [each.accuracy for each in status.rounds] == [each.accuracy for each in before.rounds]
    assert [each.balanced_accuracy for each in status.rounds] == [None, None]
    assert [line[-1] for line in status.cells()[1]] == ["–", "–"]  # noqa: RUF001 - the dash that is shown
    assert status.caution is None
    page = campaign.report("campaign.html").read_text()
    assert "<dt>balanced accuracy</dt>" not in page
    assert ">recall</th>" not in page
    play(campaign, 1)
    assert [each.balanced_accuracy is None for each in campaign.status().rounds] == [True, True, False]


def test_a_hint_to_stop_comes_where_the_curve_is_flat_for_certain_and_only_if_it_was_asked_for():
    flat = replace(
        bank(*[(860, 60)] * 6),
        curve=tuple(Measurement(place, 400 + 100 * place, 90_000, 100_000, "held-out") for place in range(6)),
    )
    assert flat.hints == []
    assert "Time to stop?" not in str(flat)
    hinted = replace(flat, stability=Stability(0, ()))
    (hint,) = hinted.hints
    assert hint == (
        "Time to stop? Even at best, one more point of accuracy takes as many labels as there are by now (140)."
    )
    assert str(hinted).splitlines()[-1] == hint
    assert hinted.to_dict()["hints"] == [hint]
    rising = replace(
        hinted,
        curve=tuple(
            Measurement(place, 400 + 100 * place, 80_000 + 2_000 * place, 100_000, "held-out")
            for place in range(6)
        ),
    )
    assert rising.hints == []
    assert rising.to_dict()["forecast"]["tells"]


def test_a_forecast_goes_by_held_out_rows_or_else_by_audits_and_never_by_folds():
    audits = tuple(Audit(number, 100 * number, 50, Estimate(40, 50)) for number in range(1, 5))
    held_out = replace(bank((883, 4), (874, 11)), audits=audits)
    assert [each.tested for each in held_out.points] == [1000, 1000]
    crossed = replace(bank((883, 4), (874, 11), way="5-fold"), audits=audits)
    assert [each.tested for each in crossed.points] == [50] * 4
    assert crossed.forecast is not None
    assert bank((883, 4), way="5-fold").notes() == []


def test_with_too_few_labels_nothing_is_measured(begin):
    campaign = begin(labeled=pd.read_csv("labeled.csv").iloc[[0, 7]], folds=5)
    status = campaign.status()
    assert (status.accuracy, status.curve[0].way) == (None, "too few labels")
    assert "%" not in str(status)


def test_what_was_not_measured_is_measured_by_the_next_status_and_only_then(begin, monkeypatch):
    campaign = begin(folds=3)
    batch = campaign.next(n_jobs=1)

    def fail(*_):
        raise mm.MinMarginError("The learner is ill.")

    with monkeypatch.context() as patch:
        patch.setattr(Examiner, "examine", fail)
        with pytest.warns(mm.DataWarning, match=r"^Accuracy was not measured: The learner is ill\.$"):
            assert campaign.add_labels(answers(batch), n_jobs=1).new == 7
    assert [each.labels for each in campaign.status().curve] == [15, 22]
    monkeypatch.setattr(Examiner, "examine", fail)
    assert [each.labels for each in campaign.status().curve] == [15, 22]


def test_labels_that_come_in_parts_are_one_point_of_the_curve_which_moves(begin):
    campaign = begin(held_out="held-out.csv")
    labels = list(answers(campaign.next(n_jobs=1)).items())
    for part in (labels[:2], labels[2:5]):
        campaign.add_labels(dict(part), n_jobs=1)
    assert [each.labels for each in campaign.status().curve] == [15, 20]
    campaign.add_labels(dict(labels[5:]), n_jobs=1)
    campaign.next(n_jobs=1)
    status = campaign.status()
    assert [each.labels for each in status.curve] == [15, 22]
    assert [each.accuracy for each in status.rounds[:2]] == [each.accuracy for each in status.curve]


@pytest.mark.filterwarnings("error::minmargin.DataWarning")
def test_what_a_round_warns_of_is_not_said_again_by_every_fold(begin):
    labeled = pd.concat([pd.read_csv("labeled.csv"), pd.read_csv("held-out.csv")])
    labeled["note"] = [f"n{row}" for row in range(len(labeled))]
    warned = partial(pytest.warns, mm.DataWarning, match="^Text column 'note' has a different value")
    with warned():
        campaign = begin(labeled=labeled, pool=noted_pool(), folds=3, preprocess="auto")
    assert campaign.status().accuracy > 0.5
    with warned():
        campaign.next(n_jobs=1)


def noted_pool() -> str:
    pool = pd.concat([pd.read_parquet(f"pool/{place}.parquet") for place in (0, 1)])
    pool.assign(note=[f"m{row}" for row in range(len(pool))]).to_parquet("noted.parquet")
    return "noted.parquet"


def test_the_status_in_words(begin):
    campaign = begin()
    batch = campaign.next(n_jobs=1)
    campaign.add_labels({each: TRUTH[each] for each in batch.ids.tolist()[:3]}, n_jobs=1)
    assert repr(campaign).splitlines() == [
        "<Campaign 'flowers': 1 round, 3 of 7 picked rows labeled>",
        "Next: add the labels of 4 rows of round 1 with add_labels(...).",
    ]
    assert (
        repr(campaign.status())
        == "<Status of 'flowers': 1 round, 18 labels, 4 picked rows wait for a label.>"
    )
    assert str(campaign.status()).splitlines() == [
        "Campaign flowers: 1 round, 18 labels, 4 picked rows wait for a label.",
        "round  picked  labeled  waiting  labels  accuracy  balanced accuracy",
        "begin      15       15        0      15",
        "    1       7        3        4      18",
        "Accuracy is not measured: the campaign has neither held-out rows nor folds.",
    ]
    assert sum(campaign.status().to_dict()["rounds"][1]["classes"].values()) == 3


def test_the_page_has_the_curve_the_rounds_and_the_commands_and_hostile_names_stay_text(begin):
    campaign = begin("<b>flowers", held_out="held-out.csv")
    batch = campaign.next(n_jobs=1)
    hostile = "</script><img src=x onerror=alert(1)>{{ 7*7 }}$x$"
    labels = {**answers(batch), batch.ids[0]: hostile}
    campaign.add_labels(labels, new_classes=True, n_jobs=1)
    page = campaign.report("campaign.html").read_text()
    assert "<img src=x" not in page
    assert "<b>flowers" not in page
    assert "{{ 7*7 }}" in page
    assert page.count("<svg") == 2
    assert "<dt>balanced accuracy</dt>" in page
    assert page.count(">recall</th>") == 1
    assert "minmargin campaign next &#39;&lt;b&gt;flowers&#39;" in page
    assert "minmargin campaign push" not in page, "all rows are labeled"
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert campaign.report("again.html").read_text() == page


def test_the_page_counts_classes_that_no_row_has_and_tells_how_to_go_on(begin):
    campaign = begin(classes=["lily"])
    campaign.next(n_jobs=1)
    page = campaign.report("campaign.html").read_text()
    rows = [page.index(f"<td><bdi>{name}</bdi>") for name in ("lily", "setosa", "versicolor")]
    assert rows == sorted(rows), "the rarest first"
    commands = page[page.index("How to go on") :]
    steps = re.findall("minmargin campaign ([a-z-]+)", commands)
    assert steps == ["push", "pull", "add-labels", "next", "status"]


def test_a_campaign_without_rounds_has_a_page_too(begin):
    page = begin().report("campaign.html").read_text()
    assert "There is no measurement yet." in page
