"""In a notebook: committees as tables, progress as bars below the cell, and silence elsewhere."""

from __future__ import annotations

import io
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from rich.console import Console

import minmargin as mm
from minmargin import progress

X = np.random.default_rng(0).normal(size=(120, 3))


@pytest.fixture
def screen(monkeypatch):
    """A notebook: what it shows after each update."""
    pictures = []

    def show(picture, *, raw, display_id=True):
        assert raw
        assert display_id
        assert set(picture) == {"text/html", "text/plain"}
        pictures.append(picture)
        return SimpleNamespace(update=show)

    display = SimpleNamespace(display=show)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(display=display))
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    monkeypatch.setattr("rich.console.Console", lambda **_: SimpleNamespace(is_jupyter=True))
    return pictures


def test_a_notebook_shows_each_stage_as_a_bar(screen, monkeypatch):
    monkeypatch.setattr(progress, "_SECONDS_BETWEEN", 0.0)
    with mm.show_progress() as report:
        mm.select(X[:40], X[:40, 0] > 0, X, 3, n_models=4, random_state=0, progress=report)
    first, second = screen[-2]["text/html"].removesuffix("</div>").split("</div>")
    assert first.startswith('<div><progress max="5" value="5"></progress> training: 5 of 5 models')
    assert second.startswith('<div><progress max="120" value="120"></progress> scanning: 120 of 120 rows')
    first, second = screen[-2]["text/plain"].splitlines()
    assert first.startswith("training: 5 of 5 models")
    assert second.startswith("scanning: 120 of 120 rows")


def test_the_bars_vanish_when_all_is_done(screen):
    with mm.show_progress() as report:
        report("training", 1, 2)
        assert screen[-1]["text/plain"] == "training: 1 of 2 models"
    assert screen[-1] == {"text/html": "", "text/plain": ""}


def test_a_notebook_is_not_flooded(screen, monkeypatch):
    clock = iter(1 + np.arange(1000) / 1000)
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: float(next(clock))))
    with mm.show_progress() as report:
        for done in range(200):
            report("comparing", done, None)
    assert 3 < len(screen) < 20
    assert screen[-2]["text/html"].startswith("<div><progress></progress> comparing: 1")


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_an_error_leaves_the_last_state_on_the_screen(screen, error):
    def fail_half_way():
        with mm.show_progress() as report:
            report("<b>", 0, 2)
            report("<b>", 1, 2)  # too soon after the other to be shown by itself
            raise error

    with pytest.raises(error):
        fail_half_way()
    assert screen[-1] == {
        "text/html": '<div><progress max="2" value="1"></progress> &lt;b&gt;: 1 of 2</div>',
        "text/plain": "<b>: 1 of 2",
    }


def test_a_terminal_shows_amount_and_speed(monkeypatch):
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: 4.0))
    stage = progress.Stage("scanning", _start=0.0)
    stage.move(2_000_000, None)
    assert stage.amount() == "2,000,000 rows, 500,000/s"


def test_nothing_is_shown_where_nobody_looks(monkeypatch):
    log = io.StringIO()
    monkeypatch.setattr("rich.console.Console", lambda **_: Console(file=log))
    with mm.show_progress() as report:
        report("scanning", 1, 2)
    assert log.getvalue() == ""


def test_a_committee_is_shown_as_a_table_of_its_classes():
    labels = np.array(["<i>", "b"])[(X[:40, 0] > 0).astype(int)]
    shown = mm.fit_committee(X[:40], labels, n_models=2, random_state=7)._repr_html_()
    counts = {name: int((labels == name).sum()) for name in ("<i>", "b")}
    assert shown == (
        "<p><b>Committee</b>: 2 members, learner logistic, 40 labeled rows, seed 7</p>"
        "<table><thead><tr><th>class</th><th>labeled rows</th></tr></thead><tbody>"
        f"<tr><td>&lt;i&gt;</td><td>{counts['<i>']}</td></tr><tr><td>b</td><td>{counts['b']}</td></tr>"
        "</tbody></table>"
    )


def test_a_committee_of_many_classes_shows_ten():
    shown = mm.fit_committee(X[:60], np.arange(60) // 4, n_models=1, random_state=0)._repr_html_()
    assert shown.count("<tr><td>") == 10
    assert shown.endswith("<p>and 5 more classes</p>")
