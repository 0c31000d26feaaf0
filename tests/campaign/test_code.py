"""A campaign's folder may come from anybody: what its settings name is run only if whoever opens it names it too."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

import minmargin as mm
from campaign.flowers import TRUTH

NAMED = "learners_of_somebody:make"
REFUSED = (
    "Campaign 'flowers' is trained by learners_of_somebody:make, which is code, and runs only if you name it too. "
    "If you trust it, open the campaign with learner='learners_of_somebody:make'."
)
HARMLESS = "from sklearn.linear_model import LogisticRegression\ndef make(): return LogisticRegression()\n"
HOSTILE = f"from pathlib import Path\nPath('ran').touch()\n{HARMLESS}"


@pytest.fixture
def labels(begin):
    """Labels for the batch of a campaign, whose learner then turns hostile, here and in the campaign's folder."""
    Path("learners_of_somebody.py").write_text(HARMLESS)
    batch = begin(learner=NAMED, folds=2).next(n_jobs=1)
    sys.modules.pop("learners_of_somebody")
    for folder in (".", "flowers"):
        Path(folder, "learners_of_somebody.py").write_text(HOSTILE)
    importlib.invalidate_caches()
    yield {each: TRUTH[each] for each in batch.ids.tolist()}
    sys.modules.pop("learners_of_somebody", None)


def test_nothing_is_run_that_is_not_named_again(labels):
    campaign = mm.Campaign.open("flowers")
    assert NAMED in campaign._repr_html_() + repr(campaign.settings)
    with pytest.warns(mm.DataWarning) as warned:
        assert campaign.add_labels(labels, n_jobs=1).new == 7
    assert [str(each.message) for each in warned] == [f"Accuracy was not measured: {REFUSED}"]
    for look in (lambda: campaign.status(n_jobs=1), lambda: campaign.report("campaign.html")):
        with pytest.warns(mm.DataWarning, match=r"^Accuracy was not measured: "):
            look()
    for asked in (lambda: campaign.next(n_jobs=1), lambda: campaign.set(n_models=4)):
        with pytest.raises(mm.InputError) as caught:
            asked()
        assert str(caught.value) == REFUSED
    assert not Path("ran").exists()


def test_another_name_is_refused(labels):
    with pytest.raises(mm.InputError) as caught:
        mm.Campaign.open("flowers", learner="sklearn.svm:SVC").next(unlabeled_ok=True, n_jobs=1)
    assert str(caught.value) == (
        "learner=sklearn.svm:SVC is not what trains campaign 'flowers', which is learners_of_somebody:make. "
        "Name that one."
    )
    assert not Path("ran").exists()


def test_what_is_named_is_run(labels):
    campaign = mm.Campaign.open("flowers", learner=NAMED)
    campaign.add_labels(labels, n_jobs=1)
    assert Path("ran").exists()
    assert len(campaign.next(n_jobs=1)) == 7
    assert [each.accuracy is None for each in campaign.status(n_jobs=1).rounds] == [False] * 3


def test_the_command_line_names_it_in_what_comes_next(labels, run_command):
    def run(*line):
        return run_command("campaign", *line, "--n-jobs", "1")

    Path("labels.csv").write_text("\n".join(["row_id,y", *map(",".join, labels.items())]))
    code, out, _ = run("add-labels", "flowers", "labels.csv", "--learner", NAMED)
    assert (code, out.splitlines()[-1]) == (0, f"Next: minmargin campaign next flowers --learner {NAMED}")
    code, _, errors = run("next", "flowers")
    assert (code, " ".join(errors.split())) == (
        1,
        f"minmargin: {REFUSED}".replace(f"learner={NAMED!r}", f"--learner {NAMED}"),
    )
    assert run("next", "flowers", "--learner", NAMED)[0] == 0
