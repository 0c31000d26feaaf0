"""`minmargin reproduce`: one command gives results, figures and a page."""

from __future__ import annotations

import json
import sys


def test_a_quick_run_gives_results_figures_and_a_page(run_command, tmp_path):
    out = tmp_path / "new"
    code, shown, _ = run_command("reproduce", "tuning", "--quick", "--draws", 1, "--out", out)
    assert code == 0
    assert f"tuning: {out / 'tuning'}.parquet" in shown
    assert "Claims" not in shown
    page = (out / "paper.md").read_text()
    assert "This is a quick run" in page
    assert (out / "figures" / "tuning.svg").exists()


def test_json_says_where_everything_is(run_command, tmp_path):
    code, shown, _ = run_command("reproduce", "tuning", "--quick", "--draws", 1, "--out", tmp_path, "--json")
    assert code == 0
    told = json.loads(shown)
    assert told["results"] == {"tuning": str(tmp_path / "tuning.parquet")}
    assert told["page"] == str(tmp_path / "paper.md")
    assert sum(told["verdicts"].values()) > 30


def test_what_cannot_be_run_is_said(run_command, tmp_path):
    code, _, told = run_command("reproduce", "imagenet", "--out", tmp_path)
    assert code == 1
    assert "There is no experiment 'imagenet'" in told
    code, _, told = run_command(
        "reproduce", "benchmark", "--out", tmp_path, "--datasets", "wine", "--draws", 1
    )
    assert code == 1
    assert "no dataset 'wine'" in told


def test_without_matplotlib_nothing_is_run_in_vain(run_command, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setattr("minmargin.cli.reproduce.find_spec", lambda _: None)
    code, _, told = run_command("reproduce", "tuning", "--quick", "--out", tmp_path / "nothing")
    assert code == 1
    assert "minmargin[report]" in told
    assert not (tmp_path / "nothing").exists()


def test_all_leaves_out_what_needs_torch_where_there_is_none(run_command, tmp_path, monkeypatch):
    from minmargin.experiments.paper import reproduce  # noqa: PLC0415 - slow to import

    monkeypatch.setattr(reproduce, "find_spec", lambda _: None)
    monkeypatch.setattr(reproduce, "NAMES", ("tuning", "mnist", "large"))
    code, shown, _ = run_command("reproduce", "all", "--quick", "--draws", 1, "--out", tmp_path)
    assert code == 0
    assert "Left out, since they train networks: mnist, large." in shown
