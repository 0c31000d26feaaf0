"""Status and the page: what was measured equals scikit-learn's own numbers, and hostile names stay text."""

from __future__ import annotations

import re

import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import minmargin as mm
from campaign.flowers import NAMES, TRUTH, answers
from minmargin.campaign.measuring import Examiner


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
    assert [each.tested for each in status.curve] == [15, 15, 15]
    assert status.measured == "Accuracy of the base on the held-out rows."


def test_without_held_out_rows_accuracy_is_cross_validated_and_the_status_says_what_that_means(begin):
    status = play(begin(folds=5), 1).status()
    assert [(each.way, each.tested) for each in status.curve] == [("5-fold", 15), ("5-fold", 22)]
    assert all(0.5 < each.accuracy <= 1 for each in status.curve)
    assert "Picked rows are the hard ones" in status.measured


def test_with_too_few_labels_nothing_is_measured(begin):
    campaign = begin(labeled=pd.read_csv("labeled.csv").iloc[[0, 7]], folds=5)
    status = campaign.status()
    assert (status.accuracy, status.curve[0].way) == (None, "too few labels")
    assert "%" not in repr(status)


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
    campaign = begin(labeled=labeled, pool=noted_pool(), folds=3, preprocess="auto")
    assert campaign.status().accuracy > 0.5
    with pytest.warns(mm.DataWarning, match="^Text column 'note' has a different value"):
        campaign.next(n_jobs=1)


def noted_pool() -> str:
    pool = pd.concat([pd.read_parquet(f"pool/{place}.parquet") for place in (0, 1)])
    pool.assign(note="none").to_parquet("noted.parquet")
    return "noted.parquet"


def test_the_status_in_words(begin):
    campaign = begin()
    batch = campaign.next(n_jobs=1)
    campaign.add_labels({each: TRUTH[each] for each in batch.ids.tolist()[:3]}, n_jobs=1)
    assert repr(campaign) == "<Campaign 'flowers': 1 round, 3 of 7 picked rows labeled>"
    assert repr(campaign.status()).splitlines() == [
        "<Status: 1 round, 18 labels, 4 picked rows wait for a label.>",
        "round  picked  labeled  waiting  labels  accuracy",
        "begin      15       15        0      15          ",
        "    1       7        3        4      18          ",
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
