"""Systems without what only Unix has: everything but campaigns and checkpoints works, and these say why they do not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

# What Windows lacks. None in the place of a module makes importing it fail.
HIDE = "import sys; sys.modules.update(dict.fromkeys(['fcntl', 'grp', 'pwd', 'resource', 'termios']))\n"
BEGIN = """
import minmargin as mm
from sklearn.datasets import load_iris
X, y = load_iris(return_X_y=True)
LABELED, LABELS = X[::5], y[::5]
"""


def printed_without_unix(script: str, folder: Path) -> list[str]:
    """Return the lines that a program prints where modules of Unix are missing."""
    program = [sys.executable, "-c", HIDE + BEGIN + script]
    run = subprocess.run(program, capture_output=True, text=True, check=False, cwd=folder)
    assert run.returncode == 0, run.stderr
    return run.stdout.splitlines()


def test_selecting_comparing_and_saving_need_nothing_of_unix(tmp_path: Path) -> None:
    script = """
batch = mm.select(LABELED, LABELS, X, 3, n_models=3, random_state=0)
batch.to_parquet("batch.parquet")
committee = mm.fit_committee(LABELED, LABELS, n_models=3, random_state=0)
committee.save("committee")
again = mm.load_committee("committee").select(X, 3)
print(batch.rows.tolist() == again.rows.tolist())
compared = mm.compare(X, y, strategies=["margin"], batch_sizes=[5], n_draws=2, n_labeled=20, n_models=2)
print({row["strategy"] for row in compared.to_pandas().to_dict("records")} >= {"margin"})
"""
    assert printed_without_unix(script, tmp_path) == ["True", "True"]


def test_campaigns_and_checkpoints_say_what_is_missing(tmp_path: Path) -> None:
    script = """
import pandas as pd
table = pd.DataFrame(X, columns=list("abcd"))
table.to_parquet("pool.parquet")
table.assign(y=y)[::5].to_parquet("labeled.parquet")
for begin in (
    lambda: mm.Campaign.init("rounds", pool="pool.parquet", labeled="labeled.parquet", label_column="y", batch_size=3),
    lambda: mm.select(LABELED, LABELS, X, 3, n_models=3, random_state=0, checkpoint="state"),
):
    try:
        begin()
    except mm.InputError as error:
        print(error)
"""
    why = "cannot be locked: this system has no fcntl, which keeps other processes out."
    fix = "Use Linux or macOS; on Windows, WSL."
    assert printed_without_unix(script, tmp_path) == [
        f"Campaign 'rounds' {why} {fix}",
        f"Checkpoint 'state' {why} {fix}",
    ]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["labeled.parquet", "pool.parquet"]
