"""compare: the same numbers whoever plays, draws that are taken up again, and errors before anything is trained."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import minmargin as mm
from complaints import STRATEGIES
from minmargin.compare import run as running
from minmargin.errors import DataWarning, InputError

X, Y = load_breast_cancer(return_X_y=True)
X = (X - X.mean(axis=0)) / X.std(axis=0)
QUICK = {"n_labeled": 20, "batch_sizes": [5, 20], "n_draws": 3, "n_models": 3, "random_state": 7, "n_jobs": 1}


def compare(rows=X, labels=Y, **settings):
    return mm.compare(rows, labels, **{**QUICK, **settings})


def numbers(comparison):
    """Everything but the seconds."""
    return comparison.results.drop_columns(["seconds"]).to_pylist()


@pytest.fixture(scope="module")
def whole():
    return compare()


def test_every_draw_strategy_and_size_has_a_result(whole):
    frame = whole.to_pandas()
    assert len(frame) == 3 * (2 + 4 * 2)
    assert list(frame.columns) == ["draw", "strategy", "rounds", "batch_size", "score", "seconds"]
    assert frame.groupby("strategy", observed=True).size().to_dict() == {
        "none": 3, "constant": 3, "spread": 6, "min-margin": 6, "margin": 6, "random": 6
    }  # fmt: skip
    assert frame[frame["strategy"] != "constant"]["score"].between(0.7, 1).all()


def test_a_learner_without_probabilities_is_compared_without_spread():
    found = compare(learner=make_pipeline(LinearSVC()), n_draws=2)
    assert found.settings["strategies"] == ["min-margin", "margin", "random"]


def test_a_seed_gives_the_same_and_another_does_not(whole):
    assert numbers(compare()) == numbers(whole)
    assert numbers(compare(random_state=8)) != numbers(whole)


def test_processes_change_nothing(whole, monkeypatch):
    monkeypatch.setattr(running, "_WORTH_PROCESSES", 0)
    assert numbers(compare(n_jobs=2)) == numbers(whole)


def test_a_draw_is_the_same_among_more_of_them_and_a_strategy_among_others(whole):
    more = numbers(compare(n_draws=4))
    assert [row for row in more if row["draw"] < 3] == numbers(whole)
    alone = numbers(compare(strategies=["margin"]))
    assert alone == [row for row in numbers(whole) if row["strategy"] in {"none", "constant", "margin"}]


def test_a_table_is_the_same_as_an_array_a_frame_and_a_file(whole, tmp_path):
    frame = pd.DataFrame(X, columns=[f"x{place}" for place in range(30)])
    assert numbers(compare(frame)) == numbers(whole)
    frame.assign(y=Y).to_parquet(tmp_path / "table.parquet")
    assert numbers(compare(tmp_path / "table.parquet", "y")) == numbers(whole)
    assert numbers(compare(frame.assign(noise=1.0), features=list(frame.columns))) == numbers(whole)


def test_one_by_one_gives_what_training_together_gives(whole):
    one_by_one = compare(learner=mm.LogisticLearner(class_weight={0: 1.0, 1: 1.0}))
    assert numbers(one_by_one) == numbers(whole)


def test_a_penalty_is_chosen_for_every_model(whole, monkeypatch):
    auto = mm.LogisticLearner(C="auto")
    assert numbers(compare(learner=auto)) != numbers(whole)
    monkeypatch.setattr("minmargin.learners.penalty.CANDIDATES", (1.0,))
    assert numbers(compare(learner=auto)) == numbers(whole)


@pytest.mark.parametrize(
    "learner", [GaussianNB(), LinearSVC(), make_pipeline(LogisticRegression()), DecisionTreeClassifier()]
)
def test_any_learner_can_be_played_and_repeats_itself(learner):
    settings = {"learner": learner, "n_draws": 2, "batch_sizes": 10, "preprocess": "auto", "n_models": 2}
    assert numbers(compare(**settings)) == numbers(compare(**settings))


def test_networks_can_be_played():
    pytest.importorskip("torch")
    found = compare(learner=mm.MLPLearner(hidden=(8,), epochs=10), n_draws=2, device="cpu")
    assert found.to_pandas().query("strategy != 'constant'")["score"].min() > 0.7


def test_texts_can_be_played():
    rng = np.random.default_rng(0)
    texts = [
        " ".join(rng.choice(["red", "green"] if y else ["blue", "green"], 4))
        for y in range(2)
        for _ in range(60)
    ]
    labels = np.repeat(["warm", "cold"], 60)[::-1]
    learner = make_pipeline(CountVectorizer(), LogisticRegression())
    found = compare(texts, labels, learner=learner, n_labeled=10, batch_sizes=[5])
    assert found.settings["class_counts"] == {"cold": 60, "warm": 60}
    in_column = compare(
        pd.DataFrame({"t": texts, "y": labels}),
        "y",
        features="t",
        learner=learner,
        n_labeled=10,
        batch_sizes=[5],
    )
    assert numbers(found) == numbers(in_column)


def test_mixed_columns_with_missing_values_can_be_played():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"number": rng.normal(size=200), "color": rng.choice(["red", "blue", None], 200)})
    frame.loc[::7, "number"] = np.nan
    labels = (frame["color"] == "red").to_numpy()
    found = compare(frame, labels, preprocess="auto")
    assert found.to_pandas().query("batch_size == 20")["score"].min() > 0.9


# Rounds


def test_strategies_without_models_are_played_in_one_round(whole):
    found = compare(rounds=[1, 3])
    played = {(row["strategy"], row["rounds"]) for row in numbers(found) if row["batch_size"]}
    with_models = {(name, n) for name in ("spread", "min-margin", "margin") for n in (1, 3)}
    assert played == {("random", 1), *with_models}
    assert [row for row in numbers(found) if row["rounds"] == 1] == numbers(whole)
    alone = compare(rounds=3)
    by_draw = [sorted(map(str, numbers(each))) for each in (alone, found)]
    assert set(by_draw[0]) < set(by_draw[1])


# Taking up


def test_an_interrupted_comparison_is_taken_up_with_its_seed(tmp_path):
    def interrupt(stage, done, total):
        if done == 2:
            raise InterruptedError

    settings = {"random_state": None, "out": tmp_path / "curves"}
    with pytest.raises(InterruptedError):
        compare(progress=interrupt, **settings)
    assert sorted(path.name for path in (tmp_path / "curves" / "draws").iterdir()) == [
        "00000.parquet", "00001.parquet", "settings.json"
    ]  # fmt: skip
    told = []
    found = compare(progress=lambda *step: told.append(step), **settings)
    assert told == [("playing", 2, 3), ("playing", 3, 3)]
    seed = json.loads((tmp_path / "curves" / "draws" / "settings.json").read_text())["seed"]
    assert found.settings["seed"] == seed
    assert numbers(found) == numbers(compare(random_state=seed))


@pytest.mark.parametrize(
    ("changes", "there", "now"),
    [
        ({"n_labeled": 30}, "n_labeled=20", "n_labeled=30"),
        ({"scoring": "roc_auc"}, "scoring=accuracy", "scoring=roc_auc"),
        ({"random_state": 1}, "seed=7", "seed=1"),
        ({"rounds": 2}, "rounds=[1]", "rounds=[2]"),
        (
            {"strategies": ["random"]},
            "strategies=['spread(oversample=4)', 'min-margin', 'margin', 'random']",
            "strategies=['random']",
        ),
    ],
)
def test_a_folder_of_other_settings_is_refused(tmp_path, changes, there, now):
    compare(out=tmp_path, n_draws=2)
    with pytest.raises(InputError) as error:
        compare(out=tmp_path, **changes)
    path = tmp_path / "draws" / "00000.parquet"
    assert str(error.value) == (
        f"{str(path)!r} was played by other rules ({there}; now: {now}). Use another folder."
    )


def test_a_folder_of_other_data_is_refused(tmp_path):
    compare(out=tmp_path, n_draws=2)
    with pytest.raises(InputError, match=r"other rules \(fingerprint=.*; now: fingerprint="):
        compare(X + 1, out=tmp_path)


def test_a_file_is_no_folder(tmp_path):
    path = tmp_path / "file"
    path.touch()
    with pytest.raises(InputError) as error:
        compare(out=path)
    assert str(error.value) == f"{str(path)!r} is a file. Name a folder for the draws."


# Warnings


def test_what_many_draws_warn_of_is_said_once():
    def warns(model, rows, labels):
        warnings.warn(f"a score of {labels[0]}", DataWarning, stacklevel=1)
        return 0.5

    with pytest.warns(DataWarning) as caught:
        compare(scoring=warns, n_draws=2)
    texts = [str(each.message) for each in caught]
    assert texts[0].startswith("a score of")  # the rehearsal
    assert [text[:26] for text in texts[1:]] == ["In 2 of 2 draws: a score o"]


# Errors


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"strategies": ["min-margn"]},
            f"There is no strategy 'min-margn' (names: {STRATEGIES}). Did you mean 'min-margin'?",
        ),
        ({"strategies": []}, "strategies is empty. Name at least one; mm.strategies() lists them."),
        (
            {"strategies": ["margin", "random", "margin"]},
            "strategies has 'margin' twice. Results could not tell them apart.",
        ),
        ({"n_draws": 1}, "n_draws=1 must be a whole number >= 2; 50 is usual."),
        (
            {"n_models": 0},
            "Strategy 'spread' needs members, and n_models=0. Use n_models>=1; 25 is usual.",
        ),
        (
            {"strategies": [mm.KCenters(prefilter=10)]},
            "prefilter=10 keeps fewer rows than batch_size=20 asks for. Use prefilter>=20.",
        ),
        ({"preprocess": "yes"}, "preprocess='yes' must be 'none' or 'auto'."),
        ({"device": "tpu"}, "device='tpu' must be 'auto', 'cpu' or 'cuda'."),
        ({"n_jobs": 0}, "n_jobs=0 must be a whole number >= 1, or -1 for all cores."),
        (
            {"scoring": "f1", "labels": np.where(Y == 1, "yes", "no")},
            (
                "scoring='f1' failed (ValueError: pos_label=1 is not a valid label: It should be one of ['no' 'yes']) "
                "on 569 test rows. Use another scorer, or sklearn.metrics.make_scorer with the settings it needs."
            ),
        ),
    ],
)
def test_errors_come_before_anything_is_trained(settings, message, monkeypatch):
    def train(*_, **__):
        raise AssertionError("something was trained")

    monkeypatch.setattr("minmargin.committee.training.Training.fit", train)
    with pytest.raises(InputError) as error:
        compare(**settings)
    assert str(error.value) == message


def test_a_missing_value_is_named_by_its_row_of_the_table():
    rows = X.copy()
    rows[411, 3] = np.nan
    with pytest.raises(InputError) as error:
        compare(rows)
    assert str(error.value) == (
        "Labeled row 411, column 3 is missing (NaN). Fill it, drop the row, or use preprocess='auto'."
    )


def test_a_scorer_that_fails_in_a_draw_says_which_class_is_missing():
    rows, labels = load_iris(return_X_y=True)
    keep = np.r_[0:100, 100:102]
    with pytest.raises(InputError, match=r"scoring='roc_auc_ovr' failed .* in which class 2 is missing"):
        compare(rows[keep], labels[keep], scoring="roc_auc_ovr", test_size=10, n_draws=10)


def test_the_function_is_there_whatever_is_imported():
    assert callable(mm.compare)
    assert mm.Comparison.__name__ == "Comparison"
    assert Path(running.__file__).parent.name == "compare"


RARE = np.where(
    np.arange(len(Y)) < 12, "rare", np.where(Y, "yes", "no")
)  # most samples of 20 rows lack a class


def test_classes_change_nothing_for_learners_that_have_no_outputs_for_them():
    named = ["no", "rare", "yes", "never"]
    for learner in ("logistic", DecisionTreeClassifier(max_depth=3)):
        plain = compare(labels=RARE, learner=learner, strategies=["margin", "random"])
        foreseen = compare(labels=RARE, learner=learner, strategies=["margin", "random"], classes=named)
        assert numbers(foreseen) == numbers(plain)
        assert foreseen.settings["classes"] == sorted(named)
        assert "classes" not in plain.settings


def test_classes_are_outputs_of_networks_in_draws_that_lack_them():
    pytest.importorskip("torch")
    outputs = []

    def scorer(model, rows, labels):
        probabilities = model.predict_proba(rows)
        if np.ptp(probabilities, axis=0).any():  # else it is the constant guess
            outputs.append((probabilities > 0).all(axis=0).sum())
        return 0.5

    learner = mm.MLPLearner(hidden=(4,), epochs=1, class_weight="balanced")  # which is trained one by one
    common = {"labels": RARE, "learner": learner, "strategies": ["margin"], "scoring": scorer, "n_labeled": 6}
    compare(**common)
    assert 2 in outputs[1:]
    outputs.clear()
    compare(**common, classes=["no", "rare", "yes"])
    assert set(outputs[1:]) == {3}


def test_labels_that_may_stand_for_no_label_can_be_named():
    opinions = np.where(np.arange(len(Y)) % 3 == 0, -1, Y)
    with pytest.raises(InputError, match=r"name all classes with classes=\[\.\.\.\]"):
        compare(labels=opinions)
    assert compare(labels=opinions, classes=[-1, 0, 1], n_draws=2).settings["classes"] == ["-1", "0", "1"]
    with pytest.raises(InputError, match="label 1"):
        compare(labels=Y, classes=[0, 2])
