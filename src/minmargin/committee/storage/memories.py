"""What a committee keeps of its labeled set: the form of its rows, its classes, the rows as numbers, a chosen C."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, get_args

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from minmargin.committee.provenance import Provenance
from minmargin.committee.storage.packed import Packed, pack_arrays
from minmargin.committee.storage.saved import Saved
from minmargin.data.conversion import Conversion, Marks, Purpose
from minmargin.data.foreign import ForeignIntake
from minmargin.data.intake import Form, Intake
from minmargin.data.rows import Matrix
from minmargin.data.schema import Column, Kind
from minmargin.errors import InputError
from minmargin.fields import Fields
from minmargin.learners.networks.module_rows import NamedIntake, ShapedIntake
from minmargin.learners.penalty import Candidate, Choice

_NUMBERS = ["b", "i", "u", "f4", "f8"]
# A row of more numbers has never been seen, and would not fit into the memory of most machines.
_WIDEST = 1 << 28
_LABELS = ["b", "i", "u", "f2", "f4", "f8", "U"]


def pack_classes(classes: NDArray[Any]) -> Packed:
    """Return the classes as a file."""
    kind, size = classes.dtype.kind, classes.dtype.itemsize
    if not {kind, f"{kind}{size}"} & set(_LABELS):
        raise InputError(
            f"The labels are of type {classes.dtype}, and only texts, numbers and booleans can be saved. "
            "Train the committee on one of these, such as [str(label) for label in y]."
        )
    return Packed({}, pack_arrays({"classes": classes}))


def unpack_classes(saved: Saved) -> NDArray[Any]:
    """Return the classes: two or more, sorted."""
    classes = saved.array("classes", _LABELS, (None,))
    if len(classes) < 2 or not np.array_equal(np.unique(classes), classes):
        raise saved.content.wrong("its classes are not two or more in sorted order")
    return classes


def describe_intake(intake: Intake) -> dict[str, Any]:
    """Return the form in which models take rows, for the JSON file."""
    more: dict[str, Any] = {
        "given": None
    }  # of models trained elsewhere; the format has called it so from the start
    if type(intake) is ForeignIntake:
        more["given"] = {"names": None if intake.names is None else list(intake.names), "sized": intake.sized}
    elif type(intake) is ShapedIntake:
        more["shaped"] = {"row_shape": list(intake.row_shape), "whole": intake.whole}
    elif type(intake) is NamedIntake:
        more["named"] = {"whole": list(intake.whole)}
    elif type(intake) is not Intake:
        raise InputError(f"A committee that takes rows by {type(intake).__name__} cannot be saved.")
    columns = None if intake.columns is None else [asdict(column) for column in intake.columns]
    return {
        "form": intake.form,
        "columns": columns,
        "width": intake.width,
        "backend": None if intake.backend is None else intake.backend.value,
        "missing": intake.missing,
        **more,
    }


def read_intake(fields: Fields) -> Intake:
    """Return the form in which models take rows."""
    columns = None
    if fields.optional("columns", list) is not None:
        columns = tuple(_column(each) for each in fields.each_inner("columns"))
        if len({column.name for column in columns}) != len(columns):
            raise fields.wrong("two columns have the same name")
    backend = fields.optional("backend", str)
    known = {each.value: each for each in nw.Implementation}
    if backend is not None and backend not in known:
        raise fields.wrong(f"{backend[:40]!r} is no kind of data frame")
    width = fields.size("width")
    form: Form = fields.choice("form", get_args(Form))
    by_columns = sum(column.width or 1 for column in columns or ())
    if width == 0 or (columns is not None and width != by_columns):
        raise fields.wrong(f"rows of {width:,} numbers do not fit their columns")
    kind, missing = None if backend is None else known[backend], fields.get("missing", bool)
    if width > _WIDEST:
        raise fields.wrong(f"rows of {width:,} numbers are more than any model takes")
    # What only modules have is not in the file of any other committee.
    if fields.optional("shaped", dict) is not None:
        shaped = fields.inner("shaped")
        row_shape = tuple(shaped.each("row_shape", int))
        if min(row_shape, default=0) < 1 or math.prod(row_shape) != width:
            raise fields.wrong(f"rows of {width:,} numbers have no shape {row_shape}")
        return ShapedIntake(form, columns, width, kind, missing, row_shape, shaped.get("whole", bool))
    if fields.optional("named", dict) is not None:
        whole = tuple(fields.inner("named").each("whole", bool))
        if len(whole) != len(columns or ()):
            raise fields.wrong(f"{len(whole):,} of its columns are said to be of whole numbers or not")
        return NamedIntake(form, columns, width, kind, missing, whole)
    if fields.optional("given", dict) is None:
        return Intake(form, columns, width, kind, missing)
    given = fields.inner("given")
    names = None if given.optional("names", list) is None else tuple(given.each("names", str))
    if names is not None and (not names or len(set(names)) < len(names)):
        raise fields.wrong("the names of its columns are not different texts")
    return ForeignIntake(form, columns, width, kind, missing, names, given.get("sized", bool))


def check_form(fields: Fields, intake: Intake, scorer: str, preprocess: str) -> None:
    """Raise an error unless models of a kind take rows in the form that a committee says."""
    known: dict[str, tuple[Form, ...]] = {
        "linear": ("matrix", "sparse"),
        "networks": ("matrix", "sparse"),
        "modules": ("matrix",),
        "texts": ("text",),
    }
    form, kinds = intake.form, {column.kind for column in intake.columns or ()}
    forms = ("matrix", "table") if preprocess == "auto" else known.get(scorer, get_args(Form))
    fits = {
        "table": preprocess == "auto" and intake.columns is not None,
        "frame": intake.backend is not None,
        "any": type(intake) is ForeignIntake,
        "text": kinds <= {"text"} and (intake.columns is not None or intake.width == 1),
        "matrix": "text" not in kinds,
        "sparse": "text" not in kinds,
        "objects": intake.columns is None,
    }.get(form, True)
    special = type(intake) in {ShapedIntake, NamedIntake}
    if form not in forms or not fits or (special and scorer != "modules"):
        raise fields.wrong(f"its models do not take rows in the form {form!r}")
    if type(intake) is NamedIntake and intake.columns is None:
        raise fields.wrong("its models take columns by names, and there are none")


def _column(fields: Fields) -> Column:
    kind: Kind = fields.choice("kind", get_args(Kind))
    width = None if fields.optional("width", int) is None else fields.size("width")
    return Column(fields.get("name", str), kind, fields.get("type_name", str), width, _conversion(fields))


def _conversion(fields: Fields) -> Conversion | None:
    """Return what becomes of a column's values; committees of earlier versions say nothing of it."""
    if fields.optional("conversion", dict) is None:
        return None
    given = fields.inner("conversion")
    of_marks = given.inner("marks")
    written = (
        of_marks.get("decimal", str),
        of_marks.get("thousands", str),
        tuple(of_marks.each("missing", str)),
    )
    try:
        marks = Marks(*written)
    except InputError as error:
        raise given.wrong(str(error)) from error
    return Conversion(given.choice("to", get_args(Purpose)), marks, given.get("date_format", str))


def describe_choice(choice: Choice | None) -> dict[str, Any] | None:
    """Return what C="auto" chose, for the JSON file; None if C was given."""
    return None if choice is None else choice.describe()


def read_choice(description: Fields) -> Choice | None:
    """Return what C="auto" chose; None if C was given, as in every committee before files said it."""
    if description.optional("choice", dict) is None:
        return None
    chosen = description.inner("choice")
    candidates = [
        Candidate(*(each.get(name, float) for name in Candidate._fields))
        for each in chosen.each_inner("candidates")
    ]
    return Choice(chosen.get("C", float), chosen.size("held_out"), tuple(candidates))


def pack_vectors(provenance: Provenance) -> Packed:
    """Return the labeled rows as the learner's last step sees them, or why they are no vectors."""
    try:
        vectors = provenance.vectors()
    except Exception as error:  # noqa: BLE001 - a pipeline's own; only greedy strategies need what it cannot make
        return Packed({"kind": "none", "reason": str(error)}, {})
    if vectors is None:
        return Packed({"kind": "no labeled set"}, {})
    if isinstance(vectors, sparse.csr_array):
        arrays = {name: getattr(vectors, name) for name in ("data", "indices", "indptr")}
        description = {"kind": "sparse", "width": int(vectors.shape[1])}
        return Packed(description, pack_arrays({f"labeled_{name}": array for name, array in arrays.items()}))
    return Packed({"kind": "dense"}, pack_arrays({"labeled": vectors}))


def unpack_vectors(saved: Saved, width: int | None) -> Memory:
    """Return the labeled rows as vectors of `width` numbers (None: as many as there are)."""
    fields = saved.content.inner("vectors")
    kind = fields.choice("kind", ("dense", "sparse", "none", "no labeled set"))
    if kind == "no labeled set":
        return Memory(None)
    if kind == "none":
        return Memory(None, fields.get("reason", str))
    if kind == "dense":
        return Memory(saved.array("labeled", ["f4", "f8"], (None, width)))
    n_columns = fields.size("width")
    if width not in {None, n_columns}:
        raise fields.wrong(f"the labeled rows have {n_columns:,} numbers, and the models take {width:,}")
    data = saved.array("labeled_data", _NUMBERS, (None,))
    indices = saved.array("labeled_indices", ["i4", "i8"], data.shape)
    indptr = saved.array("labeled_indptr", ["i4", "i8"], (None,))
    try:
        rows = sparse.csr_array((data, indices, indptr), shape=(len(indptr) - 1, n_columns))
        rows.check_format(full_check=True)
    except (ValueError, IndexError, OverflowError) as error:
        raise fields.wrong(f"the labeled rows are no sparse matrix ({error})") from error
    return Memory(rows)


@dataclass(frozen=True)
class Memory:
    """The labeled rows of a loaded committee.

    Attributes:
        rows: (N, D) as the learner's last step sees them; None if there are none.
        reason: why they are no vectors; None if there is no labeled set.
    """

    rows: Matrix | None
    reason: str | None = None

    def __call__(self) -> Matrix | None:
        """Return the rows, or say why they are no vectors."""
        if self.rows is None and self.reason is not None:
            raise InputError(self.reason)
        return self.rows
