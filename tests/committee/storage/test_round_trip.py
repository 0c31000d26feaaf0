"""A committee that was saved and loaded scores and selects as before, to the bit."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

import minmargin as mm
from minmargin.manifest import fingerprint_models
from minmargin.strategies import BUILT_IN, resolve_strategy

STRATEGIES = [name for name in BUILT_IN if name != "true-margin"]  # which has no default

# Forests of few trees have margins of 0, which is said, and is not what is tested here.
pytestmark = pytest.mark.filterwarnings("ignore:All .* picks have the score 0")


def usable(committee):
    """Return the strategies that a committee has what it takes for."""
    oracle = mm.TrueMargin(
        lambda rows: np.arange(rows.shape[0] if hasattr(rows, "shape") else len(rows)) % 7.0
    )
    return [name for name in STRATEGIES if _has_what_it_takes(committee, resolve_strategy(name))] + [oracle]


def _has_what_it_takes(committee, strategy):
    members = committee.n_models or strategy.needs != "members"
    return members and (committee.scorer.probabilistic or not strategy.probabilistic)


def picked(batch):
    return {
        "rows": batch.rows.tolist(),
        "scores": batch.scores.tobytes().hex(),
        "member": batch.member.tolist(),
        "classes": [[str(name) for name in pair] for pair in batch.top_classes.tolist()],
        "predicted": batch.predicted.tolist(),
    }


def told(batch):
    """Return what a manifest tells of the committee."""
    return batch.manifest["settings"], batch.manifest["labeled"], batch.manifest["rows_scored_exactly"]


def test_every_strategy_picks_the_same_batch_with_the_same_manifest(each, tmp_path):
    each.committee.save(tmp_path / "saved")
    loaded = mm.load_committee(tmp_path / "saved", trusted=each.trusted)
    for strategy in usable(each.committee):
        before, after = (
            committee.select(each.pool, 12, strategy=strategy, n_jobs=1)
            for committee in (each.committee, loaded)
        )
        assert picked(after) == picked(before)
        assert told(after) == told(before)


def test_all_scores_and_what_the_committee_says_of_itself_are_the_same(each, tmp_path):
    assert each.committee.save(str(tmp_path / "saved") + "/") == tmp_path / "saved"
    loaded = mm.load_committee(str(tmp_path / "saved"), trusted=each.trusted)
    for strategy in {"min-margin", "margin"} & set(usable(each.committee)):
        before, after = (
            committee.score(each.pool, strategy=strategy, n_jobs=1) for committee in (each.committee, loaded)
        )
        assert before.tobytes() == after.tobytes()
    assert repr(loaded) == repr(each.committee)
    assert (loaded.n_models, loaded.training) == (each.committee.n_models, None)
    assert (loaded.classes_.dtype, loaded.classes_.tolist()) == (
        each.committee.classes_.dtype,
        each.committee.classes_.tolist(),
    )
    assert fingerprint_models(loaded.scorer) == fingerprint_models(each.committee.scorer)
    assert type(loaded.scorer) is type(each.committee.scorer)


def test_what_was_loaded_can_be_saved_again_as_the_same_files(each, tmp_path):
    each.committee.save(tmp_path / "first")
    mm.load_committee(tmp_path / "first", trusted=each.trusted).save(tmp_path / "second")
    first, second = (
        {path.name: path.read_bytes() for path in (tmp_path / name).iterdir() if path.suffix != ".skops"}
        for name in ("first", "second")
    )
    if (tmp_path / "first" / "estimators.skops").exists():  # skops numbers objects as it meets them
        first, second = (
            {name: data for name, data in files.items() if name != "committee.json"}
            for files in (first, second)
        )
    assert first == second


SCRIPT = """
import json, sys
import minmargin as mm
strategies, cases = json.load(sys.stdin)
found = {}
for name, (folder, pool, trusted) in cases.items():
    committee = mm.load_committee(folder, trusted=trusted)
    batches = [committee.select(pool, 20, strategy=strategy, n_jobs=1) for strategy in strategies]
    found[name] = [[batch.rows.tolist(), batch.scores.tobytes().hex()] for batch in batches]
print(json.dumps(found))
"""


def test_a_fresh_process_picks_the_same_batches(one, tmp_path):
    cases, expected = {}, {}
    for name in ("logistic", "networks", "imputed", "forest", "bayes"):
        committee, pool, trusted = one(name)
        committee.save(tmp_path / name)
        np.save(tmp_path / f"{name}.npy", pool)
        cases[name] = (str(tmp_path / name), str(tmp_path / f"{name}.npy"), trusted)
        batches = [committee.select(pool, 20, strategy=strategy, n_jobs=1) for strategy in STRATEGIES]
        expected[name] = [[batch.rows.tolist(), batch.scores.tobytes().hex()] for batch in batches]
    asked = json.dumps([STRATEGIES, cases])
    command = [sys.executable, "-c", SCRIPT]
    done = subprocess.run(command, input=asked, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == expected


def test_loading_a_linear_committee_imports_neither_scikit_learn_nor_torch_nor_skops(one, tmp_path):
    one("logistic").committee.save(tmp_path / "saved")
    script = (
        "import sys, minmargin as mm; mm.load_committee(sys.argv[1]); "
        "print([name for name in ('sklearn', 'torch', 'skops', 'numba') if name in sys.modules])"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "saved")]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == "[]"


def test_damaged_words_are_refused(one, tmp_path):
    one("words").committee.save(tmp_path / "saved")
    assert json.loads((tmp_path / "saved" / "words.json").read_text()) == {"words": ["petal", "sepal"]}
    (tmp_path / "saved" / "words.json").write_text('{"words": ["petal", "petal"]}')
    with pytest.raises(mm.InputError, match=r"words\.json' cannot be loaded"):
        mm.load_committee(tmp_path / "saved")


def test_rows_that_are_no_vectors_are_told_of_when_a_strategy_needs_them(tmp_path):
    rows = np.array(
        [["red", "small"], ["blue", "large"], ["red", "large"], ["blue", "small"]] * 10, dtype=object
    )
    class_of = [0, 1, 0, 1] * 10
    # The trees see codes, but as one step the rows themselves are texts.
    learner = make_pipeline(make_pipeline(OrdinalEncoder(), ExtraTreesClassifier(2)))
    committee = mm.fit_committee(rows, class_of, learner=learner, n_models=2, random_state=0)
    committee.save(tmp_path / "saved")
    loaded = mm.load_committee(tmp_path / "saved", trusted=["sklearn.tree._tree.Tree"])
    assert loaded.select(rows, 3).rows.tolist() == committee.select(rows, 3).rows.tolist()
    for either in (committee, loaded):
        with pytest.raises(mm.InputError, match="these rows are not numbers"):
            either.select(rows, 3, strategy="k-centers")
