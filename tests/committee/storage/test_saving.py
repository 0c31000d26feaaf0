"""Saving: what is refused, what a folder holds, and that it is replaced whole or not at all."""

from __future__ import annotations

import builtins
import json
import signal
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import minmargin as mm
from minmargin.committee.storage import folders

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(40, 3)), np.arange(40) % 2


def fit(learner="logistic", y=Y, **settings):
    return mm.fit_committee(
        X, y, learner=learner, **{"n_models": 2, "random_state": 0, "n_jobs": 1, **settings}
    )


def refusal(committee, folder):
    with pytest.raises(mm.InputError) as error:
        committee.save(folder)
    return str(error.value)


# What a folder holds


def test_a_linear_committee_is_plain_arrays_and_a_json_file(tmp_path):
    folder = fit().save(tmp_path / "saved")
    weights = np.load(folder / "member_weights.npy", allow_pickle=False)
    assert weights.shape == (3, 2, 1)
    assert sorted(path.name for path in folder.iterdir()) == [
        "base_intercepts.npy",
        "base_weights.npy",
        "classes.npy",
        "committee.json",
        "labeled.npy",
        "member_intercepts.npy",
        "member_weights.npy",
    ]
    written = json.loads((folder / "committee.json").read_text())
    assert (written["format"], written["format_version"]) == ("minmargin committee", 1)
    assert written["minmargin"] == mm.__version__
    assert {
        name: written["content"][name] for name in ("learner", "n_models", "seed", "bootstrap_fraction")
    } == {
        "learner": "logistic",
        "n_models": 2,
        "seed": 0,
        "bootstrap_fraction": 1.0,
    }
    assert set(written["content"]["files"]) == {path.name for path in folder.glob("*.npy")}


# What is refused


def test_labels_of_another_type(tmp_path):
    committee = fit(y=np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[D]")[Y])
    assert refusal(committee, tmp_path / "saved") == (
        "The labels are of type datetime64[D], and only texts, numbers and booleans can be saved. "
        "Train the committee on one of these, such as [str(label) for label in y]."
    )
    assert list(tmp_path.iterdir()) == []


@dataclass(frozen=True)
class Own:
    """A learner of somebody's own: "logistic", with a scorer of another type."""

    inner = mm.LogisticLearner()
    name, probabilistic, takes_sparse = "own", True, False

    def check(self, n_classes):
        pass

    def intake(self, labeled):
        return self.inner.intake(labeled)

    def fit(self, *args, **settings):
        scorer = self.inner.fit(*args, **settings)
        return type("OwnScorer", (type(scorer),), {})(
            *(getattr(scorer, name) for name in type(scorer).__match_args__)
        )


def test_a_scorer_of_ones_own(tmp_path):
    assert refusal(fit(Own()), tmp_path / "saved") == (
        "A committee scored by OwnScorer cannot be saved: only those of 'logistic', 'text', 'mlp', torch modules and "
        "scikit-learn classifiers can. Save the labeled set and train it again."
    )


def test_a_function_that_no_module_has(tmp_path):
    learner = make_pipeline(FunctionTransformer(lambda rows: rows), GaussianNB())
    message = refusal(fit(learner), tmp_path / "saved")
    assert message.startswith(
        "The committee cannot be saved: skops cannot keep GaussianNB with all that it holds ("
    )
    assert message.endswith(
        "). Use functions that a module has, in place of lambdas and local ones, or another learner."
    )


def test_what_is_in_the_way(tmp_path):
    committee = fit()
    (tmp_path / "file").write_text("")
    assert refusal(committee, tmp_path / "file") == f"'{tmp_path}/file' is a file. Give a folder."
    assert refusal(committee, tmp_path / "no" / "saved") == (
        f"Folder '{tmp_path}/no' does not exist, so 'saved' cannot be written there."
    )
    fix = "so it is not replaced. Save the committee in a new folder, or empty this one."
    other = tmp_path / "other"
    other.mkdir()
    (other / "thesis.tex").write_text("")
    assert refusal(committee, other) == f"Folder '{other}' has 'thesis.tex' and no 'committee.json', {fix}"
    (other / "committee.json").write_text('{"chair": "Ada"}')
    assert refusal(committee, other) == f"Folder '{other}' has a 'committee.json' of another program, {fix}"
    saved = committee.save(tmp_path / "saved")
    (saved / "notes.txt").write_text("")
    assert refusal(committee, saved) == f"Folder '{saved}' has 'notes.txt' besides a committee, {fix}"
    assert (saved / "notes.txt").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "other", "saved"]


# Whole or not at all


def test_an_older_committee_and_its_files_are_replaced(tmp_path):
    fit(GaussianNB()).save(tmp_path / "saved")
    fit().save(tmp_path / "saved")
    assert not (tmp_path / "saved" / "estimators.skops").exists()
    assert mm.load_committee(tmp_path / "saved").provenance.learner == "logistic"
    assert [path.name for path in tmp_path.iterdir()] == ["saved"]


def test_an_empty_folder_and_what_a_link_leads_to_are_replaced(tmp_path):
    (tmp_path / "saved").mkdir()
    (tmp_path / "link").symlink_to("saved")
    for seed in (1, 2):
        fit(random_state=seed).save(tmp_path / "link")
        assert (tmp_path / "link").is_symlink()
        assert mm.load_committee(tmp_path / "saved").provenance.seeds.root == seed


@pytest.mark.parametrize("at_once", [True, False])
def test_a_disk_that_is_full_leaves_the_old_committee(at_once, tmp_path, monkeypatch):
    if not at_once:
        monkeypatch.setattr(folders, "_exchange", lambda *_: False)
    fit(random_state=1).save(tmp_path / "saved")

    def full(descriptor):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", full)
        assert refusal(fit(), tmp_path / "saved") == (
            f"'{tmp_path}/saved' cannot be written: No space left on device."
        )
    assert [path.name for path in tmp_path.iterdir()] == ["saved"]
    assert mm.load_committee(tmp_path / "saved").provenance.seeds.root == 1
    fit(random_state=2).save(tmp_path / "saved")
    assert [path.name for path in tmp_path.iterdir()] == ["saved"]
    assert mm.load_committee(tmp_path / "saved").provenance.seeds.root == 2


def test_the_old_committee_is_put_back_if_the_new_one_cannot_take_its_place(tmp_path, monkeypatch):
    monkeypatch.setattr(folders, "_exchange", lambda *_: False)
    fit(random_state=1).save(tmp_path / "saved")
    rename = Path.rename

    def refuse(self, target):
        if self.suffix == ".tmp":
            raise OSError(13, "Permission denied")
        return rename(self, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", refuse)
        assert (
            refusal(fit(), tmp_path / "saved") == f"'{tmp_path}/saved' cannot be written: Permission denied."
        )
    assert [path.name for path in tmp_path.iterdir()] == ["saved"]
    assert mm.load_committee(tmp_path / "saved").provenance.seeds.root == 1


# Each of its children saves until it is killed, at a random moment: to start Python anew for each would take seconds.
KILLING = """
import os, random, signal, sys, time
import numpy as np
import minmargin as mm
X = np.random.default_rng(0).normal(size=(400, 30))
committees = [mm.fit_committee(X, np.arange(400) % 2, n_models=9, random_state=seed, n_jobs=1) for seed in (0, 1)]
committees[0].save(sys.argv[1])
moments = random.Random(0)
for _ in sys.stdin:
    child = os.fork()
    while not child:
        for committee in committees:
            committee.save(sys.argv[1])
    time.sleep(moments.uniform(0.01, 0.06))
    os.kill(child, signal.SIGKILL)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


def test_a_process_killed_while_it_saves_leaves_a_whole_committee(tmp_path):
    command = [sys.executable, "-c", KILLING, str(tmp_path / "saved")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as killing:
        for _ in range(12):
            killing.stdin.write("again\n")
            killing.stdin.flush()
            assert killing.stdout.readline() == f"{-signal.SIGKILL}\n"
            assert mm.load_committee(tmp_path / "saved").provenance.seeds.root in {0, 1}


# skops


class Guesser(ClassifierMixin, BaseEstimator):
    """A classifier that no library knows."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def predict_proba(self, X):
        scores = np.abs(X[:, : len(self.classes_)]) + 0.1
        return scores / scores.sum(axis=1, keepdims=True)


def test_types_that_skops_does_not_know_are_refused_by_name_unless_they_are_trusted(tmp_path, monkeypatch):
    # As a module of that name would be: tests are not imported under a name that can be imported again.
    monkeypatch.setitem(sys.modules, "guessing", sys.modules[__name__])
    monkeypatch.setattr(Guesser, "__module__", "guessing")
    committee = fit(Guesser())
    folder = committee.save(tmp_path / "saved")
    with pytest.raises(mm.InputError) as error:
        mm.load_committee(folder)
    assert str(error.value) == (
        f"'{folder}/estimators.skops' holds objects of types that skops does not know to be harmless: "
        "'guessing.Guesser'. If you trust whoever wrote it, use load_committee(..., trusted=['guessing.Guesser'])."
    )
    loaded = mm.load_committee(folder, trusted=["guessing.Guesser", "another.Type"])
    assert loaded.score(X).tobytes() == committee.score(X).tobytes()
    with pytest.raises(mm.InputError) as error:
        mm.load_committee(folder, trusted="guessing.Guesser")
    assert (
        str(error.value)
        == "trusted='guessing.Guesser' is one name. Use a list: trusted=['guessing.Guesser']."
    )


def test_without_skops_the_error_names_the_extra(tmp_path, monkeypatch):
    committee = fit(GaussianNB())
    folder = committee.save(tmp_path / "saved")
    real = builtins.__import__

    def without(name, *args):
        if name.startswith("skops"):
            raise ImportError(name)
        return real(name, *args)

    monkeypatch.setattr(builtins, "__import__", without)
    for verb, act in (
        ("Saving", lambda: committee.save(folder)),
        ("Loading", lambda: mm.load_committee(folder)),
    ):
        with pytest.raises(mm.MissingExtraError) as error:
            act()
        assert str(error.value) == (
            f"{verb} a committee of scikit-learn classifiers needs skops, which is not installed. "
            "Use pip install 'minmargin[skops]'."
        )
    assert (folder / "estimators.skops").exists()


def test_an_intake_of_another_type(tmp_path):
    committee = fit()

    class Other(type(committee.provenance.intake)):
        pass

    given = committee.provenance.intake
    intake = Other(given.form, given.columns, given.width)
    changed = replace(committee, provenance=replace(committee.provenance, intake=intake))
    assert refusal(changed, tmp_path / "saved") == "A committee that takes rows by Other cannot be saved."
