"""Rounds that draw rows by chance: which rows these are, and what their labels tell."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from contextlib import closing

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chisquare

import minmargin as mm
from campaign.flowers import IDS, TRUTH, answers
from campaign.told import ROUNDS, predicted
from minmargin.campaign.audit import wilson


@pytest.mark.parametrize("strategy", ["min-margin", "random", "random-margin-mix", "spread", "k-centers"])
def test_an_audit_leaves_the_picks_as_they_are_and_comes_after_them(begin, strategy):
    plain = begin("plain", strategy=strategy).next(n_jobs=1)
    batch = begin("audited", strategy=strategy, audit=9).next(n_jobs=1)
    assert batch.audit.tolist() == [False] * 7 + [True] * 9
    assert batch.picks == plain
    assert len(set(batch.ids.tolist())) == 16
    assert not set(batch.ids.tolist()) & set(IDS[::10])


def test_an_audit_does_not_depend_on_chunks_threads_files_nor_on_the_number_of_rows_drawn(begin):
    drawn = begin("one", audit=9).next(n_jobs=1)
    assert begin("two", audit=9).next(n_jobs=2, chunk_size=16) == drawn
    whole = pd.concat([pd.read_parquet(f"pool/{place}.parquet") for place in (0, 1)])
    whole.to_parquet("whole.parquet")
    assert begin("three", audit=9, pool="whole.parquet").next(n_jobs=1, chunk_size=1000) == drawn
    assert begin("four", audit=20).next(n_jobs=1)[:16] == drawn
    assert begin("five", audit=9).next(n_jobs=1, checkpoint="checkpoint") == drawn


def test_audit_rows_are_drawn_alike_from_the_rest_whatever_noise_the_strategy_uses(begin):
    """Were the noise that power-margin picks by also that of the draw, rows would be left that have little of it."""
    counts: Counter[str] = Counter()
    for seed in range(60):
        strategy = "power-margin" if seed % 2 else "min-margin"
        campaign = begin(f"c{seed}", strategy=strategy, n_models=1, audit=30, random_state=seed)
        batch = campaign.next(n_jobs=1)
        rest = [each for each in IDS if each not in {*IDS[::10], *batch.picks.ids.tolist()}]
        species = Counter(TRUTH[each] for each in batch.ids[batch.audit].tolist())
        expected = Counter(TRUTH[each] for each in rest)
        counts.update({f"drawn {name}": species[name] for name in expected})
        counts.update({f"due {name}": 30 * expected[name] / len(rest) for name in expected})
    names = sorted(set(TRUTH.values()))
    found, due = ([counts[f"{what} {name}"] for name in names] for what in ("drawn", "due"))
    assert chisquare(found, due).pvalue > 0.01


def test_copies_count_in_an_audit_as_often_as_they_are_met(begin):
    rows = pd.read_parquet("pool/0.parquet")
    same = pd.concat([rows.iloc[[1]]] * 500).assign(row_id=[f"copy-{place}" for place in range(500)])
    pd.concat([rows, same]).to_parquet("copies.parquet")
    batch = begin(pool="copies.parquet", audit=100).next(n_jobs=1)
    n_copies = sum(each.startswith("copy") for each in batch.ids[batch.audit].tolist())
    assert sum(each.startswith("copy") for each in batch.picks.ids.tolist()) <= 1
    assert 75 <= n_copies <= 97  # 88.8 are to be expected


def test_what_is_left_is_drawn_if_it_is_less(begin):
    campaign = begin(batch_size=60, audit=70, distinct=False)
    batch = campaign.next(n_jobs=1)
    assert len(batch) == 130
    campaign.add_labels(answers(batch), n_jobs=1)
    assert campaign.next(4, n_jobs=1).audit.tolist() == [False] * 4 + [True]


def test_the_batch_file_the_journal_and_the_status_tell_which_rows_are_of_the_audit(begin):
    campaign = begin(audit=5, folds=0)
    batch = campaign.next(n_jobs=1, csv=True)
    table = campaign.batch()
    assert table["audit"].to_pylist() == batch.audit.tolist()
    written = pd.read_csv("flowers/batches/round-001.csv")
    assert written["audit"].tolist() == batch.audit.tolist()
    assert batch.manifest["audit"] == {"rows": 5, "seed": campaign.settings.audit_seed_of(1)}
    assert batch.manifest["settings"]["batch_size"] == 7
    assert batch.manifest["settings"]["strategy_options"] == {}
    drawn = dict(zip(batch.ids[batch.audit].tolist(), batch.predicted[batch.audit].tolist(), strict=True))
    assert campaign._journal.audits() == {1: drawn}
    assert campaign.status().audits[0].estimate.tested == 0
    campaign.add_labels(answers(batch), n_jobs=1)
    assert campaign.labeled().num_rows == 15 + 12
    (audit,) = campaign.status().audits
    right = sum(TRUTH[each] == guess for each, guess in drawn.items())
    assert (audit.labels, audit.drawn, audit.estimate.correct, audit.estimate.tested) == (15, 5, right, 5)


def test_a_pool_s_own_column_of_that_name_stays_apart(begin):
    for place in (0, 1):
        rows = pd.read_parquet(f"pool/{place}.parquet").assign(audit="theirs")
        rows.to_parquet(f"pool/{place}.parquet")
    campaign = begin(audit=3, keep=["audit"], features=["a", "b", "c", "d"])
    batch = campaign.next(n_jobs=1)
    assert campaign.batch()["pool_audit"].to_pylist() == ["theirs"] * 10
    campaign.add_labels(answers(batch), n_jobs=1)
    assert campaign.labeled().column_names == ["a", "b", "c", "d", "y", "row_id"]
    plain = begin("plain", keep=["audit"], features=["a", "b", "c", "d"])
    plain.next(n_jobs=1)
    assert plain.batch()["audit"].to_pylist() == ["theirs"] * 7


def test_each_audit_row_counts_for_the_model_that_predicted_it_and_corrections_count(begin):
    campaign = begin(audit=6)
    for _ in range(3):
        batch = campaign.next(n_jobs=1)
        campaign.add_labels(answers(batch), n_jobs=1)
    status = campaign.status()
    assert [(each.round, each.labels) for each in status.audits] == [(1, 15), (2, 28), (3, 41)]
    head, body = status.cells()
    shown = [line[head.index("audit")] for line in body]
    assert [bool(cell) for cell in shown] == [True, True, True, False], "the last model was not audited yet"
    accuracy = status.audits[0].estimate.accuracy
    assert shown[0].startswith(f"{accuracy:.1%} (")
    before = status.audits[2].estimate
    wrong = batch.ids[batch.audit].tolist()[0]
    other = next(name for name in sorted(set(TRUTH.values())) if name != TRUTH[wrong])
    campaign.add_labels({wrong: other}, replace=True, n_jobs=1)
    after = campaign.status().audits[2].estimate
    assert after.tested == before.tested
    assert after.classes != before.classes


def test_an_audit_row_that_went_back_into_the_pool_counts_only_where_it_is_drawn_again(begin):
    campaign = begin(audit=6)
    first = campaign.next(n_jobs=1)
    campaign.add_labels(answers(first.picks), n_jobs=1)
    again = campaign.next(100, requeue=True, n_jobs=1)
    assert set(first.ids[first.audit].tolist()) <= set(again.ids.tolist())
    campaign.add_labels(answers(again), n_jobs=1)
    one, two = campaign.status().audits
    assert (one.drawn, one.estimate.tested) == (6, 0)
    assert (two.drawn, two.estimate.tested) == (6, 6)


def test_models_elsewhere_are_audited_too_and_agreement_is_of_the_picks_alone(begin_given):
    campaign = begin_given(audit=8)
    plain = begin_given("plain")
    for members in ROUNDS:
        told = {"probabilities": predicted(members), "columns": ["m0_*", "m1_*"]}
        batch = campaign.next(**told, n_jobs=1)
        assert batch.audit.sum() == 8
        if campaign.n_rounds == 1:
            assert batch.picks == plain.next(**told, n_jobs=1)
            assert json.loads(campaign._journal.evidence()[1].settings)["batch_size"] == 7
        guesses = np.array(["setosa", "versicolor", "virginica"])[members.mean(axis=0).argmax(axis=1)]
        rows = [IDS.index(each) for each in batch.ids.tolist()]
        assert batch.predicted.tolist() == guesses[rows].tolist()
        campaign.add_labels(answers(batch), n_jobs=1)
        right = [TRUTH[each] == guess for each, guess in zip(batch.ids, batch.predicted, strict=True)]
        line, audit = campaign.status().rounds[-1], campaign.status().audits[-1]
        assert (line.agreed, line.audited) == (sum(right[:7]), 8)
        assert line.agreement == sum(right[:7]) / 7
        assert audit.estimate.correct == sum(right[7:])
    assert "Audit: the model with 30 labels is right in " in str(campaign.status())


def test_a_campaign_of_before_goes_on_without_an_audit_and_may_have_one_from_now_on(begin):
    campaign = begin()
    settings = json.loads((campaign.folder / "settings.json").read_text())
    for name in ("audit", "stop_hints"):
        del settings[name]
    (campaign.folder / "settings.json").write_text(json.dumps(settings))
    campaign = mm.Campaign.open("flowers")
    batch = campaign.next(n_jobs=1)
    assert batch.audit is None
    assert "audit" not in campaign.batch().column_names
    campaign.add_labels(answers(batch), n_jobs=1)
    with closing(sqlite3.connect("flowers/journal.sqlite")) as db:
        tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    assert not tables & {"audits", "changes"}
    campaign.set(audit=4)
    campaign.add_labels(answers(campaign.next(n_jobs=1)), n_jobs=1)
    assert [each.round for each in campaign.status().audits] == [2]


def test_an_audit_that_the_pool_cannot_fill_is_refused_at_the_beginning(begin):
    with pytest.raises(mm.InputError) as caught:
        begin(audit=150)
    assert str(caught.value) == (
        "batch_size=7 and audit=150 are more than the pool has (150 rows in the pool's files). Use audit<=143."
    )
    with pytest.raises(mm.InputError, match=r"^audit=-1 must be a whole number >= 0\.$"):
        begin(audit=-1)


def test_status_page_and_notebook_show_the_audit(begin):
    campaign = begin(audit=6)
    for _ in range(4):
        campaign.add_labels(answers(campaign.next(n_jobs=1)), n_jobs=1)
    status = campaign.status()
    found = status.to_dict()
    assert [each["tested"] for each in found["audits"]] == [6, 6, 6, 6]
    assert (found["audit_mean"]["rounds"], found["audit_mean"]["tested"]) == (3, 18)
    low, high = wilson(found["audit_mean"]["correct"], 18)
    assert found["audit_mean"]["interval"] == [low, high]
    json.dumps(found)
    sentence = "The mean of the last 3 audited models is "
    assert sentence in str(status)
    assert sentence in campaign._repr_html_()
    page = campaign.report("campaign.html").read_text()
    assert sentence in page
    assert "52 labels in 4 rounds. By audits, the model was right in " in page
    assert "<h2>Audit</h2>" in page
    assert "accuracy by the last audit" in page
    assert ">precision</th>" in page
