"""In a fresh installation: small work compiles nothing, and large work says that it compiles."""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import minmargin as mm
from minmargin.cli.app import app

ONCE = "minmargin: kernels for large work are compiled, once for this installation; it takes 5 to 20 seconds."
EVERY_TIME = (
    "minmargin: kernels for large work are compiled, in every process anew, because no folder can be written to keep "
    "them (set NUMBA_CACHE_DIR to one); it takes 5 to 20 seconds."
)


def run(script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    return subprocess.run(
        [sys.executable, "-c", script],
        env={**kept, **environment},
        capture_output=True,
        text=True,
        check=True,
    )


README = """
import sys
import minmargin as mm
from sklearn.datasets import load_breast_cancer
X, y = load_breast_cancer(return_X_y=True)
batch = mm.select(X[:60], y[:60], X[60:], batch_size=20, preprocess="auto", random_state=0)
mm.select(X[:60], y[:60], iter([X[60:]]), batch_size=20, strategy="k-centers", random_state=0)
texts = ["card is lost", "card was stolen", "top up failed", "cannot top up"]
mm.select(texts, ["card", "card", "top-up", "top-up"], ["my card", "lost it"], batch_size=1, learner="text")
print(batch.rows[:5].tolist(), "numba" in sys.modules)
"""


def test_the_first_selections_of_the_readme_load_no_numba() -> None:
    done = run(README)
    assert done.stdout.strip() == "[32, 349, 398, 317, 453] False"
    assert done.stderr == ""


KERNELS = """
import numpy as np
from minmargin.compute import kernels
print(kernels.norms(np.eye(2)), kernels.norms(np.eye(2, dtype=np.float32)))
"""


def test_compiling_is_told_of_once_and_what_is_kept_is_not_compiled_again(tmp_path: Path) -> None:
    first, second = (run(KERNELS, NUMBA_CACHE_DIR=str(tmp_path)) for _ in range(2))
    assert first.stdout == second.stdout == "[1. 1.] [1. 1.]\n"
    assert (first.stderr, second.stderr) == (f"{ONCE}\n", "")


def test_functions_of_others_are_none_of_our_business(tmp_path: Path) -> None:
    script = "import minmargin.compute.compiled, numba; print(numba.njit(lambda x: x + 1)(1))"
    done = run(script, NUMBA_CACHE_DIR=str(tmp_path))
    assert (done.stdout, done.stderr) == ("2\n", "")


def test_where_no_folder_can_be_written_every_process_compiles(tmp_path: Path) -> None:
    """Files stand where the folders would: that stops even the root user, as in a read-only container."""
    package = tmp_path / "minmargin"
    shutil.copytree(Path(mm.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in ("compute", "compute/cpu"):
        (package / folder / "__pycache__").touch()
    nowhere = dict.fromkeys(("HOME", "XDG_CACHE_HOME", "LOCALAPPDATA"), os.devnull)
    for _ in range(2):
        done = run(KERNELS, PYTHONPATH=str(tmp_path), PYTHONDONTWRITEBYTECODE="1", **nowhere)
        assert done.stdout == "[1. 1.] [1. 1.]\n"
        assert done.stderr == f"{EVERY_TIME}\n"


@pytest.mark.parametrize(("options", "told"), [(["--quiet"], False), ([], True)])
def test_quiet_commands_do_not_tell(options: list[str], told: bool) -> None:
    CliRunner().invoke(app, [*options, "strategies"])
    assert logging.getLogger("minmargin").isEnabledFor(logging.WARNING) is told
