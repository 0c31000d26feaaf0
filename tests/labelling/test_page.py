"""The page on Label Studio, followed to the letter, with a person's part done through the server's interface."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from sklearn.datasets import load_digits

import minmargin as mm
from made_up_files import write_files_for_label_studio

PAGE = Path(__file__).parents[2] / "docs" / "label-studio.md"
DIGITS = load_digits().target.tolist()


def blocks() -> list[tuple[str, str]]:
    """Return the page's code: its language and its text."""
    return re.findall(r"```(console|python)\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)


def label_all(server: Any, title: str, truth: dict[str, str]) -> int:
    """Label the rows of a project as somebody would who knows the truth; return how many there were."""
    (number,) = [
        each["id"] for each in server.ask("GET", "/api/projects/")["results"] if each["title"] == title
    ]
    open_tasks = [task for task in server.tasks(number) if not task["annotations"]]
    for task in open_tasks:
        target = next(name for name in ("text", "image", "columns") if name in task["data"])
        server.annotate(task["id"], truth[task["data"]["row_id"]], target=target)
    return len(open_tasks)


def test_the_page_leads_to_a_labeled_second_round(
    environment: Any, run_command: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    truth = write_files_for_label_studio() | {f"digit-{row}": str(digit) for row, digit in enumerate(DIGITS)}
    n_labeled = []
    for language, text in blocks():
        if language == "python":
            exec(text.replace("http://localhost:8080", environment.url), {})  # noqa: S102 - the page is ours
            continue
        for line in re.findall(r"^\$ (minmargin .*)", text.replace("\\\n", " "), flags=re.MULTILINE):
            _, *arguments = shlex.split(line)
            code, out, err = run_command(*arguments)
            assert (code, err) == (0, ""), f"{line}: {out}{err}"
            if "push" in arguments:
                title = "one batch" if "label-studio" in arguments else arguments[2]
                n_labeled.append((title, label_all(environment, title, truth)))
    assert n_labeled == [
        *[("bank", 30)] * 2,
        ("customers", 30),
        *[("digits", 20)] * 2,
        ("one batch", 20),
    ]
    for name, n_rounds in (("bank", 2), ("customers", 1)):
        assert run_command("campaign", "pull", name)[0] == 0
        assert [each.labeled for each in mm.Campaign.open(name).status().rounds[1:]] == [30] * n_rounds
    assert run_command("campaign", "pull", "digits")[0] == 0
    campaign = mm.Campaign.open("digits")
    status = campaign.status()
    assert [(each.picked, each.labeled) for each in status.rounds[1:]] == [(20, 20), (20, 20)]
    rows = pq.read_table("digits/labeled.parquet")["digit"].to_pylist()
    assert len(rows) == 50 + 40
    assert set(rows) <= set(range(10))
    assert Path("labels.csv").read_text().count("\n") == 21
    for name in ("tasks.json", "interface.xml", "tasks.jsonl"):
        assert Path(name).stat().st_size > 0
    assert environment.token not in Path("digits/label-studio.json").read_text()


def test_a_campaign_that_was_never_pushed_says_so(
    environment: Any, run_command: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("labeled.csv").write_text("x,y\n0,a\n1,b\n0.1,a\n0.9,b\n")
    Path("pool.csv").write_text("x\n" + "".join(f"{value / 10}\n" for value in range(10)))
    options = ["--labeled", "labeled.csv", "--label-column", "y", "--pool", "pool.csv", "--batch-size", "2"]
    assert run_command("campaign", "init", "tiny", *options)[0] == 0
    assert run_command("campaign", "pull", "tiny") == (
        1,
        "",
        "minmargin: Campaign 'tiny' has no project in Label Studio yet. Use minmargin campaign push first.\n",
    )
