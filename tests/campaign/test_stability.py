"""Stable predictions: the models of successive rounds are compared on the same rows, and a hint says so."""

from __future__ import annotations

import json
import math
import sqlite3
import warnings
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import cohen_kappa_score

import minmargin as mm
from campaign.flowers import answers
from campaign.told import ROUNDS, predicted
from minmargin.campaign.sampling import STOP_SET_SIZE
from minmargin.campaign.sealing import write_seal
from minmargin.campaign.stability import Model, compare_models, kappa_of
from minmargin.seeds import SeedTree

N_ROWS = 3_000
FEATURES = ["a", "b"]
RNG = np.random.default_rng(5)
CROWD = pd.DataFrame(RNG.normal(size=(N_ROWS, 2)), columns=FEATURES)
CROWD["id"] = [f"c{row:04d}" for row in range(N_ROWS)]
LABELS = np.where(CROWD["a"] + CROWD["b"] + RNG.normal(size=N_ROWS) / 2 > 0.3, "yes", "no")
TRUTH = dict(zip(CROWD["id"], LABELS.tolist(), strict=True))


@pytest.fixture
def crowd(tmp_path, monkeypatch):
    """Begin a campaign on a pool that is larger than a stop set, with the usual settings, some of them changed."""
    monkeypatch.chdir(tmp_path)
    CROWD.to_parquet("pool.parquet")

    def crowd(folder="crowd", **changed):
        usual = {
            "labeled": CROWD.assign(y=LABELS).iloc[:30],
            "label_column": "y",
            "pool": "pool.parquet",
            "id_column": "id",
            "batch_size": 10,
            "n_models": 2,
            "random_state": 3,
            "folds": 0,
            "stop_hints": True,
        }
        return mm.Campaign.init(folder, **{**usual, **changed})

    return crowd


def label(campaign, batch):
    campaign.add_labels({each: TRUTH[each] for each in batch.ids.tolist()}, n_jobs=1)


def play(campaign, n_rounds):
    for _ in range(n_rounds):
        label(campaign, campaign.next(n_jobs=1))
    return campaign


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), min_size=1))
def test_kappa_is_that_of_scikit_learn(pairs):
    with warnings.catch_warnings():  # of a kappa that is not defined
        warnings.simplefilter("ignore")
        expected = cohen_kappa_score(*zip(*pairs, strict=True))
    found = kappa_of(pairs)
    if found is None:
        assert math.isnan(expected)
    else:
        assert found == pytest.approx(expected)


@pytest.mark.parametrize(
    "more", [{}, {"audit": 9}, {"strategy": "spread"}, {"strategy": "random", "audit": 3}]
)
def test_hints_leave_the_batch_its_file_and_its_report_as_they_are(crowd, more):
    plain = crowd("plain", stop_hints=False, **more)
    first = plain.next(n_jobs=1)
    hinted = crowd("hinted", **more)
    batch = hinted.next(n_jobs=1)
    assert batch == first
    assert hinted.batch().equals(plain.batch())
    for name in ("settings", "audit", "pool"):
        assert batch.manifest.get(name) == first.manifest.get(name)
    assert batch.origin.strategy == first.origin.strategy


def test_the_stop_set_is_a_fixed_sample_however_the_pool_is_read_and_whatever_is_picked(crowd):
    one = crowd("one")
    play(one, 3)
    CROWD.iloc[:1_000].to_parquet("pool-0.parquet")
    CROWD.iloc[1_000:].to_parquet("pool-1.parquet")
    two = crowd("two", pool="pool-*.parquet")
    two.next(n_jobs=2, chunk_size=97)
    three = crowd("three")
    three.next(n_jobs=1, checkpoint="checkpoint")
    sets = one._journal.stop_sets()
    assert sets[1] == two._journal.stop_sets()[1] == three._journal.stop_sets()[1]
    chances = SeedTree(one.settings.stop_set_seed).uniform(np.arange(N_ROWS))
    order = [CROWD["id"][row] for row in np.argsort(chances)]
    out = set(CROWD["id"][:30])
    for number, found in sets.items():
        left = [each for each in order if each not in out]
        assert set(found) == set(left[: len(found)])
        out.update(one.batch(number)["id"].to_pylist())
        assert len(set(found) - out) == STOP_SET_SIZE


def test_the_journal_keeps_what_the_model_of_the_round_predicted(crowd):
    campaign = play(crowd(learner=LogisticRegression()), 2)
    rows = CROWD.set_index("id")
    for number, n_labels in ((1, 30), (2, 40)):
        labeled = campaign.labeled().to_pandas()[:n_labels]
        model = LogisticRegression().fit(labeled[FEATURES], labeled["y"])
        found = campaign._journal.stop_sets()[number]
        assert list(found.values()) == model.predict(rows.loc[list(found), FEATURES]).tolist()


def test_successive_models_are_compared_on_the_rows_that_both_have_predicted(crowd):
    campaign = play(crowd(audit=5), 3)
    sets, found = campaign._journal.stop_sets(), campaign.status(n_jobs=1).stability
    assert [each.rounds for each in found.pairs] == [(1, 2), (2, 3)]
    assert [each.labels for each in found.pairs] == [(30, 45), (45, 60)]
    for pair in found.pairs:
        before, after = (sets[number] for number in pair.rounds)
        shared = sorted(before.keys() & after.keys())
        assert pair.rows == len(shared) > 1_900
        guesses = [[each[row] for row in shared] for each in (before, after)]
        assert pair.kappa == pytest.approx(cohen_kappa_score(*guesses))
    assert found.sentence == (
        "Stable predictions: cannot tell yet. It takes 4 models of rounds with stop hints, and there are 3."
    )


def test_status_json_page_and_notebook_say_that_predictions_have_settled(crowd):
    campaign = play(crowd(batch_size=30), 1)
    campaign.set(batch_size=700)
    play(campaign, 1)
    campaign.set(batch_size=2)
    play(campaign, 4)
    status = campaign.status(n_jobs=1)
    assert status.stability.stable
    last = status.stability.last
    hint = (
        f"Time to stop? Predictions have hardly changed: kappa {status.stability.kappa:.3f} in the mean of the last 3 "
        f"pairs of models (with 760 to 766 labels), by {last[0].rows:,} rows"
    )
    assert status.hints[-1].startswith(hint)
    assert status.hints[-1].endswith(
        " of the pool. Stable is not right: this tells that more labels like these change little, and not how good the "
        "model is."
    )
    assert str(status).splitlines()[-1] == status.hints[-1]
    found = status.to_dict()
    json.dumps(found)
    assert found["hints"] == status.hints
    assert found["stability"]["stable"] is True
    assert found["stability"]["pairs"][-1]["labels"] == (764, 766)
    assert hint in campaign.report("crowd.html").read_text()
    assert hint in campaign._repr_html_()
    campaign.set(stop_hints=False)
    quiet = campaign.status(n_jobs=1)
    assert (quiet.stability, quiet.hints) == (None, [])
    assert "redictions" not in str(quiet)


def test_hints_may_be_turned_on_later_and_without_them_nothing_is_kept(crowd):
    campaign = play(crowd(stop_hints=False), 2)
    with closing(sqlite3.connect("crowd/journal.sqlite")) as db:
        tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    assert "stop_sets" not in tables
    assert campaign.set(stop_hints=True) == (
        "The status says when more labels hardly pay. Successive models are compared from round 3 on.",
    )
    assert campaign.status(n_jobs=1).stability.sentence == (
        "Stable predictions: cannot tell yet. It takes 4 models of rounds with stop hints, and there are 0."
    )
    play(campaign, 2)
    assert list(campaign._journal.stop_sets()) == [3, 4]
    assert [each.rounds for each in campaign.status(n_jobs=1).stability.pairs] == [(3, 4)]


def test_two_rounds_without_new_labels_in_between_are_one_model(crowd):
    campaign = crowd()
    campaign.next(n_jobs=1)
    label(campaign, campaign.next(n_jobs=1, unlabeled_ok=True))
    play(campaign, 1)
    found = campaign.status(n_jobs=1).stability
    assert (found.n_models, [each.rounds for each in found.pairs]) == (2, [(2, 3)])


def test_models_elsewhere_are_compared_too_and_the_same_probabilities_are_one_model(begin_given):
    campaign = begin_given(stop_hints=True, audit=4)
    for members in (ROUNDS[0], ROUNDS[1], ROUNDS[1]):
        told = {"probabilities": predicted(members), "columns": ["m0_*", "m1_*"]}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", mm.DataWarning)  # of the same probabilities again
            campaign.add_labels(answers(campaign.next(n_jobs=1, **told)))
    sets = campaign._journal.stop_sets()
    assert [len(each) for each in sets.values()] == [150, 150 - 11, 150 - 22]
    order = predicted(ROUNDS[0]).set_index("row_id")
    mean = (ROUNDS[0][0] + ROUNDS[0][1]).argmax(axis=1)
    names = np.array(["setosa", "versicolor", "virginica"])
    assert sets[1] == dict(zip(order.index, names[mean].tolist(), strict=True))
    found = campaign.status().stability
    assert (found.n_models, [each.rounds for each in found.pairs]) == (2, [(1, 3)])


def models(*predictions):
    return [
        Model(place, 100 * place, place, {f"r{row}": guess for row, guess in enumerate(each)})
        for place, each in enumerate(predictions, start=1)
    ]


def test_what_is_said_of_few_rows_of_one_class_and_of_models_that_differ():
    few = compare_models(models(*["ab" * 100] * 4))
    assert few.sentence == (
        "Stable predictions: cannot tell. The last models can be compared on 200 rows of the pool, and it takes 500."
    )
    same = compare_models(models(*["a" * 1_000] * 4))
    assert same.sentence == (
        "Stable predictions: cannot tell. Successive models take all compared rows for one class."
    )
    other = "ab" * 480 + "ba" * 20
    differ = compare_models(models("ab" * 500, other, "ab" * 500, other))
    assert differ.sentence == (
        "Predictions still change: kappa 0.920 in the mean of the last 3 pairs of models (with 100 to 400 labels), by "
        "1,000 rows of the pool."
    )
    assert [each.stable for each in (few, same, differ)] == [False] * 3
    shrinking = models(*["ab" * size for size in (600, 580, 560, 540)])
    assert compare_models(shrinking).sentence == (
        "Predictions have hardly changed: kappa 1.000 in the mean of the last 3 pairs of models (with 100 to 400 "
        "labels), by 1,080 rows or more of the pool."
    )


def test_a_kappa_just_below_the_limit_is_no_hint_and_is_not_shown_as_the_limit():
    before, after = "ab" * 5_000, "ab" * 4_949 + "ba" * 51
    almost = compare_models(models(before, after, before, after))
    assert not almost.stable
    assert "still change: kappa 0.979 " in almost.sentence
    at_it = compare_models(models(before, "ab" * 4_975 + "ba" * 25, before, "ab" * 4_975 + "ba" * 25))
    assert at_it.kappa == pytest.approx(0.99)
    assert at_it.stable
    below = replace(at_it, pairs=tuple(each._replace(kappa=0.98999) for each in at_it.pairs))
    assert not below.stable
    assert "kappa 0.989 " in below.sentence


@pytest.mark.parametrize("text", ["[]", '{"no": "c0001"}', '{"no": [7]}'])
def test_a_stop_set_that_says_something_else_is_refused(crowd, text):
    play(crowd(), 1)
    with closing(sqlite3.connect("crowd/journal.sqlite", isolation_level=None)) as db:
        db.execute("UPDATE stop_sets SET predicted = ?", (text,))
        write_seal(db)
    with pytest.raises(mm.InputError) as caught:
        mm.Campaign.open("crowd")
    assert str(caught.value) == (
        f"{str(Path('crowd/journal.sqlite'))!r} cannot be used: it does not tell what the rows of a stop set were "
        "taken for. Nothing was changed; if it is damaged, put back a copy of the folder."
    )
