"""Settings changed between rounds: what is said, what is refused, and that earlier rounds stay as they were."""

from __future__ import annotations

import html
import inspect
import json
import re
from pathlib import Path

import pandas as pd
import pytest

import minmargin as mm
from campaign.flowers import IDS, NAMES, SPECIES, X, answers
from campaign.told import ROUNDS, predicted
from minmargin.campaign.changes import MEANINGS
from minmargin.campaign.journal import Journal
from minmargin.campaign.settings import SETTINGS, Settings
from minmargin.cli.campaign import init_command
from minmargin.cli.campaign_set import set_command

FOLDS = "Accuracy is measured by 3 folds (it was not before), unless there are held-out rows. What was measured stays."
POOL = (
    "pool stays as it is. Rows that were picked came from it. If rows have ids, files may be added where its path "
    "finds them."
)
LEARNER = (
    "learner stays as it is. The curve would be of two learners. Begin another campaign, with labeled.parquet of this "
    "one as its labeled rows."
)

NO_SETTING = (
    "There is no setting 'class_weight' to change. Those that may be changed are 'keep', 'batch_size', 'strategy', "
    "'strategy_options', 'n_models', 'bootstrap_fraction', 'folds', 'distinct', 'audit', 'stop_hints'."
)

#: Settings that nobody gives: they are found out from the table.
FOUND_OUT = {"label_kind", "id_kind", "learner_folder"}


def settings_of(folder: str = "flowers") -> dict[str, object]:
    return json.loads(Path(folder, "settings.json").read_text())


def test_changes_hold_from_the_next_round_on_and_say_what_they_mean(begin):
    campaign = begin()
    campaign.add_labels(answers(campaign.next(n_jobs=1)), n_jobs=1)
    said = campaign.set(batch_size=4, audit=5, n_models=2, folds=3, bootstrap_fraction=1.5, stop_hints=True)
    assert said == (
        "A round picks 4 rows from round 2 on (7 before).",
        "2 members are trained from round 2 on (3 before).",
        "A draw is 1.5 of each class from round 2 on (1 before).",
        FOLDS,
        "5 rows are drawn by chance from round 2 on (0 a round before), to measure the model by.",
        "The status says when more labels hardly pay. Successive models are compared from round 2 on.",
    )
    assert campaign.settings == mm.Campaign.open("flowers").settings == Settings.read(Path("flowers"))
    batch = campaign.next(n_jobs=1)
    assert batch.audit.tolist() == [False] * 4 + [True] * 5
    assert batch.manifest["settings"]["n_models"] == 2
    assert campaign.set(batch_size=4) == ()
    assert campaign.set(audit=0, folds=0, stop_hints=False) == (
        "Accuracy is not cross-validated any more.",
        "No rows are drawn by chance from round 3 on (5 a round before).",
        "The status does not say when more labels hardly pay.",
    )
    assert [(each.round, each.name) for each in campaign._journal.changes()] == [
        *(
            (1, name)
            for name in ("batch_size", "n_models", "bootstrap_fraction", "folds", "audit", "stop_hints")
        ),
        *((2, name) for name in ("folds", "audit", "stop_hints")),
    ]


def test_a_new_strategy_has_its_own_options_and_treats_copies_as_is_usual_for_it(begin):
    campaign = begin(strategy="k-centers", strategy_options={"prefilter": 50})
    assert campaign.set(strategy="random") == (
        "Rows are picked by random from round 1 on (k-centers before).",
        "The strategy's options are the usual ones from round 1 on (prefilter=50 before).",
        "Copies of picked rows are picked like other rows from round 1 on.",
    )
    assert campaign.set(strategy="cluster-margin", strategy_options={"oversample": 3}, distinct=False) == (
        "Rows are picked by cluster-margin from round 1 on (random before).",
        "The strategy's options are oversample=3 from round 1 on (the usual ones before).",
    )
    assert campaign.set(distinct=True) == ("Copies of picked rows are passed over from round 1 on.",)
    assert campaign.next(n_jobs=1).manifest["settings"]["strategy_options"]["oversample"] == 3


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"label_column": "z"}, "label_column stays as it is. Labels that came back stand under this name."),
        ({"id_column": "z"}, "id_column stays as it is. Rows that were picked are known by it."),
        ({"pool": "other.parquet"}, POOL),
        ({"learner": "mlp"}, LEARNER),
        ({"batchsize": 3}, "There is no setting 'batchsize' to change. Did you mean 'batch_size'?"),
        ({"class_weight": "balanced"}, NO_SETTING),
        ({"batch_size": 0}, "batch_size=0 must be a whole number >= 1."),
        (
            {"batch_size": "many"},
            "batch_size='many' must be a whole number >= 1, or a share of the pool such as '5%'.",
        ),
        (
            {"batch_size": "0.5%"},
            "batch_size='0.5%' of 150 rows is less than one row. Use a larger share, or batch_size=1.",
        ),
        (
            {"batch_size": 200},
            "batch_size=200 is larger than the pool (150 rows in the pool's files). Use batch_size<=150.",
        ),
        (
            {"n_models": 0},
            "Strategy 'min-margin' needs members, and n_models=0. Use n_models>=1; 25 is usual.",
        ),
        ({"distinct": None}, "distinct=None must be true or false, where models are trained."),
        ({"keep": ["nothing"]}, None),
        ({"strategy": "nothing"}, None),
        ({"strategy": "k-centers", "strategy_options": {"prefilter": 3}}, None),
        ({"audit": 144}, None),
        ({"bootstrap_fraction": 0.01}, None),
    ],
)
def test_what_may_not_be_changed_changes_nothing(begin, changes, message):
    campaign = begin()
    before = Path("flowers/settings.json").read_bytes()
    with pytest.raises(mm.InputError) as caught:
        campaign.set(**{"folds": 2, **changes})
    assert message is None or str(caught.value) == message
    assert Path("flowers/settings.json").read_bytes() == before
    assert campaign.settings.folds == 0
    assert campaign._journal.changes() == []


def test_a_share_is_of_the_whole_pool_as_at_the_beginning_and_the_number_is_said(begin):
    campaign = begin(batch_size="6%")
    assert campaign.settings.batch_size == 9
    campaign.add_labels(answers(campaign.next(n_jobs=1)), n_jobs=1)
    assert campaign.set(batch_size="10%") == ("A round picks 15 rows from round 2 on (9 before).",)
    assert campaign.set(batch_size="10%") == ()
    assert len(campaign.next(n_jobs=1)) == 15
    assert len(campaign.next("2%", n_jobs=1, unlabeled_ok=True)) == 3


def test_a_share_of_one_table_is_of_its_rows_that_had_no_label(begin):
    rows = pd.DataFrame(X, columns=NAMES).assign(row_id=IDS, y=SPECIES)
    rows.loc[rows.index % 3 > 0, "y"] = None
    rows.to_csv("all.csv", index=False)
    campaign = begin(labeled="all.csv", pool=None, batch_size="10%")
    assert campaign.settings.batch_size == 10
    assert campaign.set(batch_size="20%") == ("A round picks 20 rows from round 1 on (10 before).",)


def test_every_setting_can_be_changed_or_has_a_reason_why_not(begin):
    campaign = begin()
    for name, value in settings_of().items():
        if name in MEANINGS:
            assert campaign.set(**{name: value}) == ()
        elif name != "format":
            with pytest.raises(mm.InputError, match=f"^{name} stays as it is\\. "):
                campaign.set(**{name: value})


def test_all_places_that_list_what_may_be_changed_list_all_of_it():
    columns = (
        Path(__file__)
        .parents[2]
        .joinpath("docs", "campaigns.md")
        .read_text()
        .partition("| may be changed |")[2]
    )
    _, row, stays, _ = columns.splitlines()[2].split("|")
    said = str(mm.Campaign.set.__doc__).partition("They are checked")[0]
    argument = inspect.signature(set_command, eval_str=True).parameters["changes"].annotation.__metadata__[0]
    for place in (row, said):
        assert set(re.findall(r"`(\w+)`", place)) == set(MEANINGS)
    assert {*re.findall(r"\w+", argument.help), "strategy_options"} - {"or"} == set(MEANINGS)
    assert set(re.findall(r"`(\w+)`", stays)) == set(SETTINGS) - set(MEANINGS) - FOUND_OUT


def test_init_and_its_command_take_every_setting_and_the_docstring_explains_it():
    explained = re.findall(r"^    (\w+): ", str(inspect.getdoc(Settings)), re.MULTILINE)
    assert sorted(explained) == sorted(SETTINGS)
    arguments = set(inspect.signature(mm.Campaign.init).parameters)
    assert set(SETTINGS) - arguments == {*FOUND_OUT, "seed"}
    flags = {
        "reading",
        "strategy_options",
        "learner_options",
        "random_state",
    }  # which are called otherwise, or several
    assert arguments - set(inspect.signature(init_command).parameters) == {*flags, "inspected"}


def test_rounds_before_a_change_of_what_batches_carry_are_read_as_they_were_written(begin):
    campaign = begin(features=["a", "b"], keep=["c"])
    first = campaign.next(n_jobs=1)
    campaign.add_labels(answers(first), n_jobs=1)
    assert campaign.set(keep=["d", "c"]) == (
        "Batches carry 'd', 'c' from round 2 on ('c' before). Those that were written stay as they are.",
    )
    campaign.add_labels(answers(campaign.next(n_jobs=1)), n_jobs=1)
    campaign.set(keep="d")
    campaign.set(keep=[])
    campaign.add_labels(answers(campaign.next(n_jobs=1)), n_jobs=1)
    assert [campaign.batch(n).column_names[8:] for n in (1, 2, 3)] == [
        ["a", "b", "c"],
        ["a", "b", "d", "c"],
        ["a", "b"],
    ]
    labeled = campaign.labeled()
    assert labeled.column_names == ["a", "b", "y", "row_id"]
    assert labeled["a"].to_pylist()[15:22] == first.kept["a"].to_pylist()


def test_models_elsewhere_have_no_use_for_settings_of_training_and_old_rows_lack_new_columns(begin_given):
    campaign = begin_given(keep=["a"])
    told = {"columns": ["m0_*", "m1_*"], "n_jobs": 1}
    campaign.add_labels(answers(campaign.next(probabilities=predicted(ROUNDS[0]), **told)))
    with pytest.raises(mm.InputError) as caught:
        campaign.set(n_models=3)
    assert (
        str(caught.value) == "n_models is of no use with learner='given', which trains nothing. Leave it out."
    )
    assert campaign.set(keep=["a", "b"], distinct=True, audit=3)[0] == (
        "Batches carry 'a', 'b' from round 2 on ('a' before). Those that were written stay as they are."
    )
    campaign.add_labels(answers(campaign.next(probabilities=predicted(ROUNDS[1]), **told)))
    labeled = campaign.labeled()
    assert labeled.column_names == ["a", "b", "label", "row_id"]
    assert labeled["b"].null_count == 7


def test_a_change_that_was_cut_off_after_the_journal_does_no_harm(begin, monkeypatch):
    campaign = begin(features=["a", "b"], keep=["c"])
    campaign.add_labels(answers(campaign.next(n_jobs=1)), n_jobs=1)

    def killed(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Settings, "write", killed)
        with pytest.raises(KeyboardInterrupt):
            campaign.set(keep=["d"])
    campaign = mm.Campaign.open("flowers")
    assert campaign.settings.keep == ("c",)
    campaign.add_labels(answers(campaign.next(n_jobs=1)), n_jobs=1)
    campaign.set(keep=["d"])
    campaign.add_labels(answers(campaign.next(n_jobs=1)), n_jobs=1)
    assert [campaign.batch(n).column_names[-1] for n in (1, 2, 3)] == ["c", "c", "d"]
    assert len(campaign.labeled()) == 15 + 21
    assert [each.round for each in Journal(Path("flowers/journal.sqlite")).changes()] == [1, 2]


def test_a_learner_that_is_an_object_is_needed_to_check_a_change(begin):
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415 - for this test only

    begin(learner=LogisticRegression(max_iter=1000))
    with pytest.raises(mm.InputError, match=r"^Campaign 'flowers' was begun with an object as its learner"):
        mm.Campaign.open("flowers").set(batch_size=3)
    opened = mm.Campaign.open("flowers", learner=LogisticRegression(max_iter=1000))
    assert opened.set(batch_size=3) == ("A round picks 3 rows from round 1 on (7 before).",)


def test_a_change_that_a_killed_process_wrote_down_and_never_made_is_written_down_once(begin, monkeypatch):
    campaign = begin()
    campaign.next(n_jobs=1)

    def be_killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Settings, "write", be_killed)
        for size in (3, 4):
            with pytest.raises(KeyboardInterrupt):
                campaign.set(batch_size=size, audit=2)
    assert settings_of()["batch_size"] == 7
    campaign.set(batch_size=4, audit=2)
    campaign.set(batch_size=7)  # which was made, and is no slip
    campaign.set(batch_size=4)
    changes = [(each.name, each.before, each.after) for each in campaign._journal.changes()]
    assert changes == [
        ("batch_size", 7, 4),
        ("audit", 0, 2),
        ("batch_size", 4, 7),
        ("batch_size", 7, 4),
    ]


def facts_of(page: str) -> list[tuple[str, str]]:
    return [(name, html.unescape(value)) for name, value in re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", page)]


def test_the_page_has_a_line_for_each_change_with_its_round(begin, monkeypatch):
    campaign = begin(audit=2)
    assert not any("changed" in name for name, _ in facts_of(campaign.report("page.html").read_text()))
    campaign.set(folds=3)
    for batch_size in (4, 5, 6):
        campaign.add_labels(answers(campaign.next(n_jobs=1)), n_jobs=1)
        campaign.set(batch_size=batch_size, n_models=9)
        campaign.set(n_models=3)  # which takes it back
    campaign.add_labels(answers(campaign.next(n_jobs=1)), n_jobs=1)

    def be_killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Settings, "write", be_killed)
        with pytest.raises(KeyboardInterrupt):
            campaign.set(strategy="spread")
    assert facts_of(campaign.report("page.html").read_text())[-5:] == [
        ("seed", "0"),
        ("changed before round 1", FOLDS),
        ("changed after round 1", "A round picks 4 rows from round 2 on (7 before)."),
        ("changed after round 2", "A round picks 5 rows from round 3 on (4 before)."),
        ("changed after round 3", "A round picks 6 rows from round 4 on (5 before)."),
    ]
    campaign.add_labels(answers(campaign.next(n_jobs=1)), n_jobs=1)
    campaign.set(strategy="random", keep=["row_id"])
    assert facts_of(campaign.report("page.html").read_text())[-4:] == [
        ("changed after round 3", "A round picks 6 rows from round 4 on (5 before)."),
        (
            "changed after round 5",
            "Batches carry 'row_id' from round 6 on (none before). Those that were written stay as they are.",
        ),
        ("changed after round 5", "Rows are picked by random from round 6 on (min-margin before)."),
        ("changed after round 5", "Copies of picked rows are picked like other rows from round 6 on."),
    ]


def test_what_another_process_has_set_holds_for_an_open_campaign(here, begin):
    for path in sorted(Path("pool").iterdir()):
        pd.read_parquet(path).assign(site="north").to_parquet(path)
    campaign = begin()
    other = mm.Campaign.open("flowers")
    other.set(keep=["site"], batch_size=4)
    assert campaign.settings == other.settings
    batch = campaign.next(n_jobs=1)
    assert len(batch) == 4
    campaign.add_labels(answers(batch), n_jobs=1)
    assert campaign.labeled().equals(mm.Campaign.open("flowers").labeled())
    assert len(mm.Campaign.open("flowers").next(n_jobs=1)) == 4
