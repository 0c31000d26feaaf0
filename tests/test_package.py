"""The package as a whole: what it imports, exports, and in which direction its modules depend on each other."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import minmargin as mm

SOURCE = Path(mm.__file__).parent
# Extras, and numba, which a selection loads when it needs it. (pandas is loaded by scikit-learn itself.)
OPTIONAL = [
    "torch",
    "dask",
    "ray",
    "pyspark",
    "label_studio_sdk",
    "skactiveml",
    "matplotlib",
    "jinja2",
    "polars",
    "numba",
]

# The way of the data. A module may import only from its own group and the groups before it.
ORDER = [
    [
        "version",
        "errors",
        "checks",
        "seeds",
        "threads",
        "device",
        "margins",
        "rows",
        "atomic",
        "lock",
        "schema",
        "fingerprint",
        "manifest",
    ],
    [
        "bootstrap",
        "lanes",
        "simd",
        "kernels",
        "intake",
        "topb",
        "cut",
        "pools",
        "labels",
        "rough",
        "bounds",
        "screen",
    ],
    ["labeled"],
    ["networks", "gpu"],
    ["learners"],
    ["progress"],
    ["provenance", "candidates"],
    ["undecided"],
    ["strategies"],
    ["line"],
    ["engines"],
    ["exclusion", "source"],
    ["scan"],
    ["parcel", "checkpoint", "fragmented"],
    ["origin"],
    ["batch"],
    ["training"],
    ["committee", "persistence"],
    ["selection"],
    ["report"],
    ["campaign"],
    ["integrations"],
    ["datasets"],
    ["compare"],
    ["paper"],
    ["demo", "doctor"],
    ["cli", "__init__"],
]


def test_importing_the_package_loads_no_optional_library():
    script = f"import sys, minmargin; print([name for name in {OPTIONAL} if name in sys.modules])"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert found.strip() == "[]"


# A method of Batch writes its report: what comes later is imported when it is called, and not before.
DOORS = {("batch.py", "report")}


def imports(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("minmargin"):
            inner = node.module.split(".")[1:]
            yield from inner[:1] or [alias.name for alias in node.names]


def module_of(path):
    return path.relative_to(SOURCE).with_suffix("").parts[0]


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda p: str(p.relative_to(SOURCE)))
def test_imports_point_backwards_along_the_way_of_the_data(path):
    rank = {name: place for place, group in enumerate(ORDER) for name in group}
    for imported in imports(path):
        if (str(path.relative_to(SOURCE)), imported) in DOORS:
            continue
        assert rank[imported] <= rank[module_of(path)], f"{path.name} imports {imported}, which comes later"


def test_every_public_name_is_documented():
    reference = (SOURCE.parents[1] / "docs" / "reference.md").read_text()
    for name in mm.__all__:
        value = getattr(mm, name)
        assert name == "__version__" or value.__doc__, f"{name} has no docstring"
        assert name == "__version__" or name in reference, f"{name} is not in docs/reference.md"


def test_the_version_is_that_of_the_installed_package():
    assert mm.__version__ == version("minmargin")


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda p: str(p.relative_to(SOURCE)))
def test_no_module_passes_400_lines(path):
    assert len(path.read_text().splitlines()) <= 400
