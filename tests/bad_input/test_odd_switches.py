"""Switches that are no switches: told before anything is trained, and never taken for true."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import minmargin as mm

X = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 2)), columns=["a", "b"])
Y = (X["a"] > 0).astype(int).tolist()
COMMITTEE = mm.fit_committee(X, Y, n_models=2, random_state=0)
COMPLAINTS = {
    "distinct": ("no", "distinct='no' must be True, False or None."),
    "keep": (5, "keep=5 must be names of columns, as texts. Use keep=[...]."),
    "progress": (
        "bar",
        "progress='bar' must be a function of a stage, the units done and their total. Leave it out for none.",
    ),
    "reading": ("x", "reading='x' must be a Reading. Use reading=mm.Reading(decimal=\",\"), say."),
}


def pick(**settings):
    return mm.select(X, Y, X, 3, n_models=2, random_state=0, **settings)


def again(**settings):
    return COMMITTEE.select(X, 3, **settings)


def given(**settings):
    return mm.select_from_probabilities([[0.9, 0.1], [0.5, 0.5]], 1, **settings)


def begin(tmp_path, **settings):
    X.assign(y=Y).to_csv(tmp_path / "labeled.csv", index=False)
    X.assign(id=range(40)).to_csv(tmp_path / "pool.csv", index=False)
    paths = {"labeled": str(tmp_path / "labeled.csv"), "pool": str(tmp_path / "pool.csv")}
    return mm.Campaign.init(tmp_path / "c", **paths, label_column="y", id_column="id", **settings)


@pytest.mark.parametrize("name", COMPLAINTS)
@pytest.mark.parametrize("call", [pick, again, given])
def test_what_is_no_switch_is_refused(call, name):
    if name == "reading" and call is not pick:
        return
    value, message = COMPLAINTS[name]
    with pytest.raises(mm.InputError) as error:
        call(**{name: value})
    assert str(error.value) == message


@pytest.mark.parametrize("name", ["distinct", "reading", "keep"])
def test_a_campaign_refuses_it_too(tmp_path, name):
    value, message = COMPLAINTS[name]
    with pytest.raises(mm.InputError) as error:
        begin(tmp_path, batch_size=3, **{name: value})
    assert str(error.value) == message


@pytest.mark.parametrize("call", [pick, again, given])
@pytest.mark.parametrize("name", ["keep", "progress"])
def test_none_is_none_of_it(call, name):
    assert len(call(**{name: None})) >= 1
