"""Every code block of README, CONTRIBUTING and docs is run.

Examples with `>>>` are doctests, which pytest runs by itself. What is left, plain Python and commands after a `$`, is
run here: page by page, from top to bottom, in a folder with small files of the names that the pages use. What people
do in between, label rows, is done with the model's guesses. A page's doctests are executed too, without a look at what
they print, for what comes after them. A block with a title is a file.
Output that follows a command is compared with what it prints. What cannot run here is in ELSEWHERE, with what runs it.
"""

from __future__ import annotations

import doctest
import re
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import minmargin as mm
from made_up_files import write_files_for_label_studio
from minmargin import cli

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]

#: These pages make the files that their commands read, and start in an empty folder.
WITH_THEIR_OWN_FILES = {
    "docs/label-studio.md",
    "docs/tutorial.md",
    "docs/howto/images.md",
    "docs/howto/large-pools.md",
    "docs/howto/tables.md",
    "docs/howto/text.md",
}

#: A pattern of a command or a block of Python; what runs it instead, a file or a make target (None: nothing does, and
#: that is said); and why not here.
ELSEWHERE = [
    (r"^make ", "Makefile", "the targets are what CI is made of"),
    (r"^(pip|python3|source) ", "Makefile", "makes a new environment, as the targets do"),
    (r"-m pytest", "make test", "these tests, again"),
    (r" --help$", "tests/docs/test_docs.py", "compared with the page of commands"),
    (r"--install-completion", "tests/cli/test_manners.py", "changes the files of the user's shell"),
    (r"^minmargin reproduce", "make reproduce-quick", "minutes at best, hours on the real data"),
    (r"^minmargin study", "tests/cli/test_study.py", "needs the data"),
    (r"^minmargin published", "tests/cli/test_published.py", "needs the data"),
    (
        r"^minmargin data (fetch|verify)|fetch_dataset\(",
        "tests/experiments/datasets",
        "needs the network, or the data",
    ),
    (
        r"label-studio-venv/|COLLECT_ANALYTICS|LABEL_STUDIO_API_KEY|^minmargin [a-z-]+ (push|pull)|import Showing",
        "make test-labelling",
        "needs a Label Studio server, which those tests start",
    ),
    (r"engine=|--engine", "make test-clusters", "needs a cluster"),
    (r"s3://", "tests/pools", "needs a store, which those tests start"),
    (r"MLPLearner|my_networks\b|TensorDataset", "make test-torch", "needs torch"),
    (r"XGBClassifier", "make test-libraries", "needs XGBoost and CatBoost"),
    (r"NeuralNetClassifier", None, "skorch is not among the development tools; tried by hand"),
    (r"AutoModelForSequenceClassification", None, "needs transformers, and the network"),
    (r"SqlitePool\(\*", "CONTRIBUTING.md", "two lines for a function of the package; the class is a doctest"),
]

_FENCE = re.compile(
    r"^```(?P<kind>python|console)(?: title=\"(?P<title>.*?)\")?\n(?P<body>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)
_COMMAND = re.compile(r"^\$ (?P<line>(?:.*\\\n)*.*)\n(?P<output>(?:(?!\$ ).*\n)*)", re.MULTILINE)
_SECONDS = re.compile(r"\d+\.\d+ s\b")
_NUMBER = re.compile(r"\d+\.\d+(?:e-?\d+)?")


@dataclass(frozen=True)
class Step:
    """One command or block of Python of a page."""

    kind: str
    text: str
    output: str = ""

    @property
    def is_run(self) -> bool:
        """Whether it is run here for its own sake, and not only for what comes after it."""
        return self.kind != "doctest" and not any(re.search(pattern, self.text) for pattern, *_ in ELSEWHERE)


def steps_of(page: Path) -> list[Step]:
    """Return the commands and blocks of a page, in order."""
    steps = []
    for fence in _FENCE.finditer(page.read_text()):
        body = fence["body"]
        if fence["kind"] == "console":
            for found in _COMMAND.finditer(body):
                words = shlex.split(found["line"].replace("\\\n", " "), comments=True)
                steps.append(Step("command", shlex.join(words), found["output"]))
        elif fence["title"]:
            steps.append(Step("file", f"# {fence['title']}\n{body}"))
        elif body.lstrip().startswith(">>>"):
            examples = doctest.DocTestParser().get_examples(body)
            steps.append(Step("doctest", "".join(example.source for example in examples)))
        else:
            steps.append(Step("python", body))
    return steps


WITH_STEPS = [page for page in PAGES if any(step.is_run for step in steps_of(page))]


def write_files(formats: list[str]) -> dict[str, object]:
    """Write what the pages take for granted, labeled files and a pool in two, and return frames of numbers."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(1700, 3)), columns=["a", "b", "c"]).assign(
        color=rng.choice(["red", "green"], 1700),
        row_id=[f"r{i:04}" for i in range(1700)],
        title=[f"Row {i}" for i in range(1700)],
        url=[f"rows/{i}" for i in range(1700)],
    )
    labels = np.where(table["a"] > 0, "yes", "no")
    known = table.drop(columns=["row_id", "title", "url"]).assign(y=labels)
    labeled = known[:400]
    known[1600:].to_csv("test.csv", index=False)
    labeled.to_csv("labeled.csv", index=False)
    labeled.to_parquet("labeled.parquet", index=False)
    Path("pool").mkdir()
    for name in formats:
        for place, part in enumerate((table[400:1000], table[1000:1600])):
            getattr(part, f"to_{name}")(f"pool/part-{place}.{name}", index=False)
    numbers = table[["a", "b", "c"]]
    return {"X": numbers[:400], "y": labels[:400], "pool": numbers[400:1600]}


def play_pull(command: str) -> bool:
    """Return whether a command fetches the labels of a campaign; if so, add them as if people had given them."""
    found = re.fullmatch(r"minmargin campaign pull (\w+)", command)
    if found is not None:
        campaign = mm.Campaign.open(found[1])
        batch = campaign.batch().to_pydict()
        campaign.add_labels(dict(zip(batch["id"], batch["predicted"], strict=True)))
    return found is not None


def label_the_last_batch() -> None:
    """Do what people do between two commands of a campaign: write labels.csv."""
    for batch in sorted(Path().glob("*/batches/*.csv"))[-1:]:
        picked = pd.read_csv(batch)
        pd.DataFrame({"id": picked["id"], "label": picked["predicted"]}).to_csv("labels.csv", index=False)


@pytest.mark.parametrize("page", WITH_STEPS, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_blocks_of_a_page_run(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    names = {"mm": mm}
    if str(page.relative_to(ROOT)) not in WITH_THEIR_OWN_FILES:
        formats = [name for name in ("csv", "parquet") if f"pool/*.{name}" in page.read_text()]
        names |= write_files(formats or ["parquet"])
    if page.name == "label-studio.md":
        write_files_for_label_studio()
    steps = steps_of(page)
    last = max(place for place, step in enumerate(steps) if step.is_run)
    code = 0
    for step in steps[: last + 1]:
        if step.text == "echo '$?'":
            assert step.output == f"{code}\n"
        elif step.kind == "file":
            title, _, body = step.text.removeprefix("# ").partition("\n")
            Path(title).write_text(body)
        elif step.kind == "doctest" or (step.kind == "python" and step.is_run):
            exec(compile(step.text, page.name, "exec"), names)  # noqa: S102 - the pages are ours
        elif play_pull(step.text):
            continue
        elif step.is_run:
            code = run_command(step, monkeypatch, capsys)
            label_the_last_batch()


def run_command(step, monkeypatch, capsys):
    """Return the exit code of a command, after a look at its output if the page shows it."""
    program, *arguments = shlex.split(step.text)
    assert program == "minmargin", f"{step.text!r} is neither ours nor in ELSEWHERE"
    capsys.readouterr()
    monkeypatch.setattr(sys, "argv", [program, *arguments])
    code = cli.run()
    out, err = capsys.readouterr()
    if step.output:
        assert comparable(out + err) == comparable(step.output)
    else:
        assert (code, err) == (0, "")
    return code


def comparable(output: str) -> list[str]:
    """Return the words of an output, without times, and with numbers as far as machines agree on trained models."""
    rounded = _NUMBER.sub(lambda number: f"{float(number[0]):.2f}", _SECONDS.sub("SECONDS", output))
    return rounded.split()


@pytest.mark.parametrize(("pattern", "suite", "why"), ELSEWHERE)
def test_what_runs_elsewhere_is_on_a_page_and_has_a_suite(pattern, suite, why):
    assert why
    assert any(re.search(pattern, step.text) for page in PAGES for step in steps_of(page)), "no page has it"
    if suite is None:
        return
    if suite.startswith("make "):
        assert f"\n{suite.removeprefix('make ')}:" in (ROOT / "Makefile").read_text()
    else:
        assert (ROOT / suite).exists()
