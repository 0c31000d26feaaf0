"""Beginning and opening: all is checked before anything is written, and settings are what they say."""

from __future__ import annotations

import importlib
import json
import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import minmargin as mm
from campaign.flowers import IDS, SPECIES, answers
from campaign.last_release import without_seal


def complaint(call, *args, **more):
    with pytest.raises(mm.InputError) as caught:
        call(*args, **more)
    return str(caught.value)


WRONG = {
    "Column 'z' is not in the labeled set (columns: 'a', 'b', 'c', 'd', 'row_id', 'y').": {
        "label_column": "z"
    },
    "Id column 'a' is Float64. Use one of texts or whole numbers, which can be told apart.": {
        "id_column": "a",
        "features": ["b"],
    },
    "features names the id column 'row_id'. Leave it out.": {"features": ["a", "row_id"]},
    "batch_size=0 must be a whole number >= 1.": {"batch_size": 0},
    "folds=-1 must be a whole number >= 0; 5 is usual.": {"folds": -1},
    "strategy is a function, and a campaign keeps strategies by name. Use a name from mm.strategies(), with "
    "strategy_options; register_strategy gives a name to one of your own.": {
        "strategy": lambda candidates: None
    },
    "pool is a ndarray, and a campaign reads its pool in every round. Write it to files, and give their path.": {
        "pool": np.zeros((3, 4))
    },
    "The URI of 's3://bucket/pool.parquet' holds credentials or options, which would be written to settings.json. "
    "Give them by environment variables or a profile.": {"pool": "s3://key:secret@bucket/pool.parquet"},
    "The labeled set has no column names, and a campaign needs them. Give a frame, or Parquet or CSV files.": {
        "labeled": np.zeros((3, 2))
    },
}


@pytest.mark.parametrize(("message", "changed"), WRONG.items())
def test_what_is_wrong_is_said_before_anything_is_written(begin, message, changed):
    assert complaint(begin, **changed) == message
    assert not Path("flowers").exists()


def test_classes_that_no_labeled_row_has_can_be_named(begin):
    campaign = begin(classes=["lily", "setosa"])
    assert campaign.classes == ["setosa", "versicolor", "virginica", "lily"]
    assert campaign.empty_classes == ["lily"]


def test_classes_of_held_out_rows_are_known_though_no_labeled_row_has_them(begin):
    labeled = pd.read_csv("labeled.csv")
    campaign = begin(labeled=labeled[labeled["y"] != "versicolor"], held_out="held-out.csv")
    assert campaign.classes == ["setosa", "versicolor", "virginica"]
    assert campaign.empty_classes == ["versicolor"]
    batch = campaign.next(n_jobs=1)
    assert set(batch.predicted) <= {"setosa", "virginica"}
    assert campaign.add_labels(dict.fromkeys(batch.ids.tolist(), "versicolor"), n_jobs=1).new == 7
    assert campaign.empty_classes == []


def test_a_module_that_is_not_there_is_said_to_be_looked_for(begin, here):
    assert complaint(begin, learner="nope:make") == (
        "learner=nope:make failed: ModuleNotFoundError: No module named 'nope'. It was looked for in "
        f"{str(here)!r} and among installed packages."
    )
    Path("broken.py").write_text("import nothing_of_this_name")
    assert complaint(begin, learner="broken:make") == (
        "learner=broken:make failed: ModuleNotFoundError: No module named 'nothing_of_this_name'."
    )
    assert not Path("flowers").exists()


def test_a_learner_in_a_folder_is_found_again_from_anywhere_and_after_a_move(begin, here, monkeypatch):
    factory = (
        "from sklearn.linear_model import LogisticRegression\ndef make(): return LogisticRegression(C=0.5)\n"
    )
    Path("a_learner_in_a_folder.py").write_text(factory)
    begin(learner="a_learner_in_a_folder:make")
    assert json.loads(Path("flowers/settings.json").read_text())["learner_folder"] == ".."
    (here / "moved").mkdir()
    for name in ("flowers", "pool", "a_learner_in_a_folder.py"):
        (here / name).rename(here / "moved" / name)
    sys.modules.pop("a_learner_in_a_folder")
    importlib.invalidate_caches()
    monkeypatch.chdir("/")
    moved = mm.Campaign.open(here / "moved" / "flowers", learner="a_learner_in_a_folder:make")
    batch = moved.next(n_jobs=1)
    assert batch.manifest["settings"]["learner"] == "LogisticRegression(C=0.5)"


def test_a_learner_of_an_installed_package_has_no_folder(begin):
    assert begin(learner="sklearn.linear_model:LogisticRegression").settings.learner_folder is None


def test_settings_of_an_earlier_version_are_read(begin):
    begin()
    path = Path("flowers/settings.json")
    settings = json.loads(path.read_text())
    del settings["learner_folder"], settings["distinct"]
    path.write_text(json.dumps(settings))
    without_seal("flowers")
    assert len(mm.Campaign.open("flowers").next(n_jobs=1)) == 7


def test_a_folder_in_use_is_left_alone(begin):
    begin()
    assert complaint(begin) == (
        "There is a campaign in 'flowers' already. Go on with it, or use another folder; to begin anew, remove this "
        "one, with all that was picked and labeled in it."
    )
    Path("mine").mkdir()
    Path("mine/initial.parquet").write_text("mine")
    assert complaint(begin, "mine") == "'mine' is not an empty folder. Use a new one."
    assert Path("mine/initial.parquet").read_text() == "mine"


@pytest.mark.parametrize("pool", ["pool", "pool/*", "pool/**/*.parquet"])
def test_batches_must_not_become_part_of_the_pool(begin, here, pool):
    assert complaint(begin, "pool/flowers", pool=pool) == (
        f"The campaign's folder 'pool/flowers' lies among the pool's files ({str(here / pool)!r}). "
        "Use another folder."
    )


def test_a_beginning_that_was_cut_off_is_begun_anew(begin):
    begin()
    Path("flowers/settings.json").unlink()
    assert complaint(mm.Campaign.open, "flowers") == (
        "There is no campaign in 'flowers'. Begin one with Campaign.init, or minmargin campaign init."
    )
    assert len(begin().next(n_jobs=1)) == 7


def test_a_campaign_can_be_moved_with_its_pool_and_taken_up_from_elsewhere(begin, here, monkeypatch):
    campaign = begin()
    campaign.add_labels(answers(campaign.next(n_jobs=1)), n_jobs=1)
    (here / "moved").mkdir()
    for name in ("flowers", "pool"):
        (here / name).rename(here / "moved" / name)
    monkeypatch.chdir("/")
    assert len(mm.Campaign.open(here / "moved" / "flowers").next(n_jobs=1)) == 7


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"batchsize": 3}, "has an unknown setting 'batchsize'. Did you mean 'batch_size'?"),
        ({"seed": -1}, "has seed=-1, and seed must be a whole number >= 0."),
        ({"pool": []}, "has pool=[], and pool must be a list of paths."),
        ({"held_out": "no"}, 'has held_out="no", and held_out must be true or false.'),
        ({"format": 2}, "has format 2, and this version reads 1. Use the version that wrote it."),
    ],
)
def test_settings_that_were_changed_by_hand_are_checked(begin, change, message):
    begin()
    path = Path("flowers/settings.json")
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    assert complaint(mm.Campaign.open, "flowers") == f"'flowers/settings.json' {message}"


def test_settings_may_be_changed_between_rounds(begin):
    begin()
    path = Path("flowers/settings.json")
    path.write_text(json.dumps({**json.loads(path.read_text()), "batch_size": 3, "strategy": "margin"}))
    with pytest.warns(mm.DataWarning) as caught:
        campaign = mm.Campaign.open("flowers")
    assert [str(each.message) for each in caught] == [
        "'flowers/settings.json' was changed: A round picks 3 rows from round 1 on (7 before).",
        "'flowers/settings.json' was changed: Rows are picked by margin from round 1 on (min-margin before).",
    ]
    batch = campaign.next(n_jobs=1)
    assert (len(batch), batch.manifest["settings"]["strategy"]) == (3, "margin")
    mm.Campaign.open("flowers")  # which says nothing: it is written down


def test_a_learner_object_is_given_again_when_a_campaign_is_opened(begin):
    begin(learner=LogisticRegression(C=0.1))
    assert complaint(mm.Campaign.open("flowers").next) == (
        "Campaign 'flowers' was begun with an object as its learner. Open it with Campaign.open(folder, learner=...), "
        "or write one of 'logistic', 'text', 'mlp', 'random-forest', 'gradient-boosting' or package.module:factory "
        "into settings.json."
    )
    assert len(mm.Campaign.open("flowers", learner=LogisticRegression(C=0.1)).next(n_jobs=1)) == 7


def test_a_damaged_journal_is_named(begin):
    begin()
    Path("flowers/journal.sqlite").write_bytes(b"not a database, whatever its name may say" * 100)
    assert complaint(mm.Campaign.open, "flowers") == (
        "'flowers/journal.sqlite' cannot be used: file is not a database. Nothing was changed; if it is damaged, put "
        "back a copy of the folder."
    )


def test_features_called_like_columns_of_a_batch_keep_their_values(begin):
    names = {"a": "score", "b": "id", "c": "pool_id", "d": "predicted"}
    for path in ("pool/0.parquet", "pool/1.parquet"):
        pd.read_parquet(path).rename(columns=names).to_parquet(path)
    campaign = begin(labeled=pd.read_csv("labeled.csv").rename(columns=names))
    batch = campaign.next(n_jobs=1)
    campaign.add_labels(answers(batch), n_jobs=1)
    pool = pd.concat([pd.read_parquet(f"pool/{place}.parquet") for place in (0, 1)]).set_index("row_id")
    table = campaign.labeled().to_pandas().iloc[-7:].set_index("row_id")
    for name in names.values():
        assert table[name].tolist() == pool.loc[batch.ids.tolist(), name].tolist()


def partly_labeled(path: str, labeled: set[str]) -> str:
    rows = pd.read_parquet("pool")
    truth = dict(zip(IDS, SPECIES, strict=True))
    labels = [truth[each] if each in labeled else None for each in rows["row_id"]]
    table = rows.assign(y=labels)
    table.to_csv(path, index=False) if path.endswith(".csv") else table.to_parquet(path)
    return path


@pytest.mark.parametrize("path", ["table.csv", "table.parquet"])
def test_one_table_is_labeled_rows_and_pool(begin, path):
    known = pd.read_csv("labeled.csv")["row_id"].tolist()
    one = begin("one", labeled=partly_labeled(path, set(known)), pool=None)
    two = begin("two")
    assert one.labeled().num_rows == two.labeled().num_rows == 15
    for _ in range(2):
        batch = one.next(n_jobs=1)
        assert batch.rows.tolist() == two.next(n_jobs=1).rows.tolist()
        assert not set(batch.ids) & set(known)
        for campaign in (one, two):
            campaign.add_labels(answers(batch), n_jobs=1)


def test_ids_of_one_table_stay_as_they_stand(begin):
    rows = pd.DataFrame({"a": np.arange(40.0) % 7, "row_id": [f"{row:03d}" for row in range(40)]})
    rows.assign(y=["no", "yes", None, None] * 10).to_csv("table.csv", index=False)
    campaign = begin(labeled="table.csv", pool=None, batch_size=20, distinct=False)
    assert sorted(campaign.next(n_jobs=1).ids) == [f"{row:03d}" for row in range(40) if row % 4 > 1]


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (
            {"id_column": None},
            (
                "With pool=None, rows with labels and without are in the same files, and known by their ids. Name the "
                "column that holds these with id_column."
            ),
        ),
        (
            {"labeled": pd.DataFrame({"y": ["a", None]})},
            (
                "With pool=None, the pool is the labeled files' rows without a label. Give labeled= and "
                "label_column=, the first of them as a path to files."
            ),
        ),
        (
            {"label_column": "z"},
            "Column 'z' is not in the labeled set (columns: 'a', 'b', 'c', 'd', 'row_id', 'y').",
        ),
        (
            {},
            (
                "All 15 rows have labels. With pool=None, those are picked from whose label is None, NaN, -1 or empty. "
                "Give the rows to pick from as pool."
            ),
        ),
    ],
)
def test_one_table_that_cannot_be_both(begin, changed, told):
    assert complaint(begin, pool=None, **changed) == told
    assert not Path("flowers").exists()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"stop_hints": 1}, "stop_hints=1 must be true or false."),
        (
            {"learner_options": {"class_weight": {"setosa": 2}}},
            (
                "learner_options={'class_weight': {'setosa': 2}} must be an object of numbers, texts, true, false or "
                "null, or null itself."
            ),
        ),
        (
            {"learner_options": {"class_weights": "balanced"}},
            (
                "learner_options has 'class_weights', and learner 'logistic' has 'C', 'fit_intercept', 'class_weight', "
                "'tol'. Did you mean 'class_weight'?"
            ),
        ),
        (
            {"learner": LogisticRegression(), "learner_options": {"C": 2}},
            (
                "learner_options is for learners with a name (logistic, text, mlp, random-forest, gradient-boosting), "
                "and learner is a LogisticRegression. Leave it out."
            ),
        ),
        (
            {"strategy": "k-centers", "strategy_options": {"prefilter": 2.5}},
            "prefilter=2.5 must be a whole number >= 1.",
        ),
    ],
)
def test_what_could_not_be_read_back_is_not_begun(begin, wrong, message):
    with pytest.raises(mm.InputError, match=f"^{re.escape(message)}$"):
        begin(**wrong)
    assert not Path("flowers").exists()


def test_numbers_of_numpy_are_settings_like_others(begin):
    begin(
        strategy="k-centers", strategy_options={"prefilter": np.int64(50)}, bootstrap_fraction=np.float32(1)
    )
    settings = mm.Campaign.open("flowers").settings
    assert (settings.strategy_options, settings.bootstrap_fraction) == ({"prefilter": 50}, 1.0)


def test_a_round_picks_a_whole_number_of_rows(begin):
    campaign = begin(audit=2)
    with pytest.raises(mm.InputError, match=r"^batch_size=0\.5 must be a whole number >= 1\.$"):
        campaign.next(0.5, n_jobs=1)
    assert len(campaign.next(np.int64(3), n_jobs=1)) == 5
