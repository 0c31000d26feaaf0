"""Runs the notebooks: `make notebooks`.

Each is written as a Python file with cells of text and code. It is executed from top to bottom in a folder of its own,
and stored as a notebook with its outputs. An error in a cell ends it, and leaves the notebook as it was.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import jupytext
import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).parent


def execute(source: Path) -> Path:
    """Return the path of the notebook that a Python file was made into."""
    notebook = jupytext.read(source)
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(FOLDER / "data", Path(folder) / "data")
        resources = {"metadata": {"path": folder}}
        NotebookClient(
            notebook, timeout=600, kernel_name="python3", resources=resources, record_timing=False
        ).execute()
    notebook.metadata = {
        "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
        "language_info": {"name": "python"},
    }
    for place, cell in enumerate(notebook.cells):
        cell.id = f"cell-{place}"  # instead of a random one, so that running again changes outputs only
        cell.metadata = {}
    path = source.with_suffix(".ipynb")
    nbformat.write(notebook, path)
    return path


if __name__ == "__main__":
    os.environ["COLUMNS"] = "100"
    for each in sorted(FOLDER.glob("*.py")):
        if each != Path(__file__):
            print(execute(each).name)
