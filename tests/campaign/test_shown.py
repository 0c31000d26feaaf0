"""A campaign as it shows itself: its rounds, where its files are, and what to do next."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np

import minmargin as mm
from campaign.told import ROUNDS, predicted
from minmargin.campaign.folder import PROJECT_FILE
from minmargin.campaign.measuring import Examiner


def label(campaign, batch, n):
    campaign.add_labels(dict.fromkeys(batch.ids.tolist()[:n], "setosa"), n_jobs=1)


def test_a_campaign_tells_the_next_step(begin):
    campaign = begin()
    steps = [repr(campaign).splitlines()[-1]]
    batch = campaign.next(n_jobs=1)
    for n_labeled in (0, 6, 7):
        label(campaign, batch, n_labeled)
        steps.append(repr(campaign).splitlines()[-1])
    assert steps == [
        "Next: pick round 1 with next().",
        "Next: add the labels of 7 rows of round 1 with add_labels(...).",
        "Next: add the labels of 1 row of round 1 with add_labels(...).",
        "Next: pick round 2 with next().",
    ]


def test_rows_that_went_to_label_studio_are_fetched_from_there(begin):
    campaign = begin("my flowers")
    campaign.next(n_jobs=1)
    Path("my flowers", PROJECT_FILE).write_text("{}")
    assert repr(campaign).splitlines()[-1] == (
        "Next: fetch the labels of 7 rows of round 1 with minmargin campaign pull 'my flowers'."
    )


def test_rows_that_went_back_into_the_pool_are_not_waited_for(begin):
    campaign = begin()
    campaign.next(n_jobs=1)
    label(campaign, campaign.next(requeue=True, n_jobs=1), 7)
    assert repr(campaign).splitlines()[-1] == "Next: pick round 3 with next()."


def test_a_campaign_without_a_learner_asks_for_probabilities(begin_given):
    campaign = begin_given()
    assert repr(campaign).splitlines()[-1] == "Next: pick round 1 with next(probabilities=...)."
    assert "<th>agreement</th>" in campaign._repr_html_()
    logits = predicted(np.log(ROUNDS[0]))
    batch = campaign.next(
        probabilities=logits, columns=["m0_*", "m1_*"], values="logits", features=["vector"]
    )
    label(campaign, batch, 7)
    assert repr(campaign).splitlines()[-1] == (
        "Next: pick round 2 with next(probabilities=..., columns=['m0_*', 'm1_*'], values='logits', "
        "features=['vector'])."
    )
    assert campaign.next_flags == (
        "--probabilities",
        "probabilities.parquet",
        "--columns",
        "'m0_*'",
        "--columns",
        "'m1_*'",
        "--values",
        "logits",
        "--features",
        "vector",
    )


def test_rows_that_an_earlier_round_left_are_not_waited_for(begin):
    campaign = begin()
    campaign.next(n_jobs=1)
    label(campaign, campaign.next(unlabeled_ok=True, n_jobs=1), 7)
    assert repr(campaign).splitlines()[-1] == "Next: pick round 3 with next()."


def test_a_notebook_shows_the_status_as_a_table(begin):
    campaign = begin()
    assert campaign.status()._repr_html_() == (
        "<p><b>Campaign</b>: 0 rounds, 15 labels.</p>"
        "<table><thead><tr><th>round</th><th>picked</th><th>labeled</th><th>waiting</th><th>labels</th>"
        "<th>accuracy</th><th>balanced accuracy</th></tr></thead><tbody>"
        "<tr><td>begin</td><td>15</td><td>15</td><td>0</td><td>15</td><td></td><td></td></tr></tbody></table>"
        "<p>Accuracy is not measured: the campaign has neither held-out rows nor folds.</p>"
    )


def test_a_notebook_shows_a_campaign_with_its_files_and_the_next_step(begin):
    campaign = begin("<b>flowers")
    assert campaign._repr_html_() == (
        f"{campaign.status()._repr_html_()}<p>Folder: <code>&lt;b&gt;flowers</code></p>"
        "<p>Next: pick round 1 with next().</p>"
    )
    campaign.next(n_jobs=1)
    path = Path("&lt;b&gt;flowers", "batches", "round-001.parquet")
    assert campaign._repr_html_() == (
        f"{campaign.status()._repr_html_()}"
        f"<p>Folder: <code>&lt;b&gt;flowers</code><br>Last batch: <code>{path}</code></p>"
        "<p>Next: add the labels of 7 rows of round 1 with add_labels(...).</p>"
    )


def test_to_look_at_a_campaign_trains_no_model(begin, monkeypatch):
    campaign = begin(folds=3)
    trained = Counter()
    examine = Examiner.examine

    def count(self, table):
        trained["models"] += 1
        return examine(self, table)

    monkeypatch.setattr(Examiner, "examine", count)
    assert "labels" in campaign._repr_html_()
    assert "Campaign" in repr(mm.Campaign.open("flowers"))
    assert not trained
    assert campaign.status(n_jobs=1).accuracy is not None
    assert trained["models"] == 1
    assert f"{campaign.status().accuracy:.1%}" in campaign._repr_html_()
