"""The package as a whole: what it imports, exports, and in which direction its modules depend on each other."""

from __future__ import annotations

import ast
import functools
import inspect
import re
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any, get_args

import pytest

import minmargin as mm
from minmargin import compute, typing
from minmargin.learners import LEARNERS
from minmargin.scan.engines import ENGINES

SOURCE = Path(mm.__file__).parent
# Extras, and what a selection loads when it needs it.
OPTIONAL = [
    "torch",
    "safetensors",
    "dask",
    "ray",
    "pyspark",
    "skactiveml",
    "matplotlib",
    "jinja2",
    "polars",
    "numba",
    "sklearn",
]

ROOT = SOURCE.parents[1]


@functools.cache
def rooms() -> list[list[str]]:
    """Return the rows of the map in CONTRIBUTING: in each, units of the package that may import one another."""
    rows = re.findall(r"^\| (`.*?) \|", (ROOT / "CONTRIBUTING.md").read_text(), flags=re.MULTILINE)
    return [re.findall(r"`(\w+)/?`", row) for row in rows]


def test_importing_the_package_loads_no_optional_library_until_a_name_needs_it():
    script = (
        f"import sys, minmargin; print([name for name in {OPTIONAL} if name in sys.modules])\n"
        "minmargin.BatchedLogisticRegression; print('sklearn' in sys.modules)"
    )
    assert printed_by(script) == ["[]", "True"]


def printed_by(script: str) -> list[str]:
    """Return the lines that a program of its own prints: nothing was imported there before."""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return run.stdout.split()


def test_dir_shows_the_public_names_and_nothing_else():
    """Neither what was imported nor submodules; `__doc__` and the like are there, and not listed."""
    script = "import minmargin as mm; import minmargin.campaign; print(*dir(mm))"
    assert printed_by(script) == sorted(mm.__all__)
    assert printed_by("import minmargin as mm; print(mm.__name__, mm.__file__)") == ["minmargin", mm.__file__]


def test_an_import_of_everything_gives_the_public_names():
    script = "before = {*dir()}; from minmargin import *; print(*sorted({*dir()} - before - {'before'}))"
    assert printed_by(script) == sorted(mm.__all__)


def test_names_that_bring_much_along_are_imported_when_they_are_asked_for():
    assert set(mm._LAZY) < set(mm.__all__)
    script = f"import sys, minmargin; dir(minmargin); print(*({set(mm._LAZY.values())} & {{*sys.modules}}))"
    assert printed_by(script) == []
    for name in mm._LAZY:
        assert getattr(mm, name).__name__ == name


def test_a_name_that_is_not_there_is_no_attribute():
    with pytest.raises(AttributeError, match=r"^module 'minmargin' has no attribute 'selct'$"):
        mm.selct  # noqa: B018 - asked for, and not used


def test_the_names_that_types_know_are_those_of_the_registries():
    """`make lint` shows, by tests/typed, that type checkers go by them."""
    script = (
        "import minmargin as mm; print(*(each.name for each in mm.strategies()))"  # nothing was added there
    )
    assert list(get_args(typing.StrategyName)) == printed_by(script)
    assert get_args(typing.LearnerName) == tuple(LEARNERS)
    assert get_args(typing.EngineName) == ENGINES


@pytest.mark.parametrize(
    "function",
    [mm.select, mm.fit_committee, mm.Committee.select, mm.Committee.score, mm.compare, mm.Campaign.init],
    ids=lambda function: function.__qualname__,
)
def test_help_shows_what_is_taken_by_a_name_of_the_typing_module(function: Callable[..., Any]):
    named = {
        "X",
        "y",
        "pool",
        "strategy",
        "learner",
        "preprocess",
        "device",
        "precision",
        "engine",
        "random_state",
    }
    for name, parameter in inspect.signature(function).parameters.items():
        if name in named and (function, name) != (mm.Campaign.init, "pool"):  # files only
            assert re.split(r"\W", parameter.annotation)[0] in typing.__all__, name


# A method of Batch writes its report: what comes later is imported when it is called, and not before.
DOORS = {("batch/batch.py", "report")}


@functools.cache
def nodes_of(path):
    return tuple(ast.walk(ast.parse(path.read_text())))


def imports(path):
    for node in nodes_of(path):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("minmargin"):
            inner = node.module.split(".")[1:]
            yield from inner[:1] or [alias.name for alias in node.names]


def unit_of(path):
    return path.relative_to(SOURCE).with_suffix("").parts[0]


def test_the_map_shows_every_unit_of_the_package_once():
    found = {path.stem for path in SOURCE.glob("*.py")} | {
        path.parent.name for path in SOURCE.glob("*/__init__.py")
    }
    assert sorted(name for row in rooms() for name in row) == sorted(found - {"__init__"})


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda p: str(p.relative_to(SOURCE)))
def test_imports_point_upwards_in_the_map(path):
    rank = {name: place for place, row in enumerate([*rooms(), ["__init__"]]) for name in row}
    for imported in imports(path):
        if (str(path.relative_to(SOURCE)), imported) in DOORS:
            continue
        assert rank[imported] <= rank[unit_of(path)], f"{path.name} imports {imported}, which comes later"


#: Imports that go past the machine room's door, by file and module, each with its reason.
PAST_THE_DOOR: dict[tuple[str, str], str] = {
    ("learners/newton/kernels.py", "minmargin.compute.compiled"): "it imports numba, which the door must not",
    (
        "experiments/published/solver.py",
        "minmargin.compute.compiled",
    ): "it imports numba, which the door must not",
}


@pytest.mark.parametrize(
    "path",
    [path for path in sorted(SOURCE.rglob("*.py")) if path.relative_to(SOURCE).parts[0] != "compute"],
    ids=lambda p: str(p.relative_to(SOURCE)),
)
def test_other_rooms_enter_the_machine_room_by_its_door(path):
    for node in nodes_of(path):
        if isinstance(node, ast.ImportFrom) and node.module == "minmargin.compute":
            assert {alias.name for alias in node.names} <= set(compute.__all__)
        modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        modules += [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
        for module in modules:
            known = (str(path.relative_to(SOURCE)), module) in PAST_THE_DOOR
            assert known or not module.startswith("minmargin.compute."), f"{path.name} imports {module}"


def test_the_door_of_the_machine_room_opens_without_loading_anything_heavy():
    script = (
        "import sys, minmargin.compute, minmargin.learners.linear, minmargin.learners.networks.scorer; "
        "print([name for name in ('numba', 'torch') if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert found.strip() == "[]"


@pytest.mark.parametrize("room", ["compute", "scan"])
def test_the_page_of_a_room_tells_of_every_file(room):
    page = (SOURCE / room / "README.md").read_text()
    told = {name.split("/")[-1] for name in re.findall(r"`([\w/]+)`", page)}
    assert {path.stem for path in (SOURCE / room).rglob("*.py")} - {"__init__"} <= told


def test_only_the_command_line_imports_experiments():
    importers = {unit_of(path) for path in SOURCE.rglob("*.py") if "experiments" in imports(path)}
    assert importers <= {"experiments", "cli"}


def test_every_public_name_is_documented():
    reference = (ROOT / "docs" / "reference.md").read_text()
    for name in mm.__all__:
        value = getattr(mm, name)
        assert name == "__version__" or value.__doc__, f"{name} has no docstring"
        assert name == "__version__" or name in reference, f"{name} is not in docs/reference.md"


def test_the_version_is_that_of_the_installed_package_and_of_the_citation():
    assert mm.__version__ == version("minmargin")
    assert f"\nversion: {mm.__version__}\n" in (ROOT / "CITATION.cff").read_text()


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda p: str(p.relative_to(SOURCE)))
def test_no_module_passes_400_lines(path):
    assert len(path.read_text().splitlines()) <= 400
