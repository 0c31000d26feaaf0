"""Rows that bring probabilities along: arrays, the columns of frames and files, or chunks of these."""

from __future__ import annotations

import fnmatch
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

import narwhals as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy import sparse

from minmargin.data.columns import table_of, to_matrix
from minmargin.data.rows import Frame, SideBySide, concat_rows, count_rows
from minmargin.data.schema import Column, as_rows, column_of, missing_column
from minmargin.errors import InputError, listing
from minmargin.pools import is_path, open_pool
from minmargin.pools.base import Pool
from minmargin.pools.memory import MemoryPool
from minmargin.pools.npy import load_npy

#: The columns that hold probabilities: names or a pattern of them, or those of each model, which may have a name.
ColumnNames: TypeAlias = str | Sequence[str] | Sequence[Sequence[str]] | Mapping[str, str | Sequence[str]]

_CHUNK_SIZE = 1 << 16


@dataclass(frozen=True)
class ScoredRows:
    """Rows that bring class scores along.

    Attributes:
        pool: the rows, with the numbers of all members, then of the base, then features.
        columns: the columns that hold these, in this order; None for arrays.
        n_members: K.
        n_classes: C.
        has_base: whether the base has numbers of its own.
        n_features: D.
        names: of the classes, where columns are called after them.
        member_names: (K,) of the models, where they have names.
    """

    pool: Pool
    columns: tuple[Column, ...] | None
    n_members: int
    n_classes: int
    has_base: bool = False
    n_features: int = 0
    names: list[str] | None = None
    member_names: tuple[str, ...] | None = None

    @classmethod
    def of(
        cls, given: Any, base: Any, features: Any, columns: ColumnNames | None, pool: Any, others: list[str]
    ) -> ScoredRows:
        """Return what the arguments of `select_from_probabilities` amount to; `others` are columns with another use."""
        members = as_models(given)
        if members is not None:
            if columns is not None:
                raise InputError(
                    "columns= is for frames and files, and the probabilities are arrays. Leave it out."
                )
            return _of_arrays(members, _names_of_models(given), base, features, pool, others)
        if pool is not None:
            raise InputError(
                "The pool is for arrays of probabilities. Frames and files have their other columns themselves: leave "
                "it out."
            )
        if has_columns(given):
            return _of_columns(open_pool(given), columns, base, features, others)
        if not isinstance(given, Iterable) or isinstance(given, Mapping):
            raise InputError(
                f"The probabilities are a {type(given).__name__}. Give arrays, a data frame, or a path to files."
            )
        return _of_chunks(iter(given), columns, base, features, others)


def as_array(given: Any, name: str) -> NDArray[Any]:
    """Return a table of numbers in memory, or mapped from a file, as floats."""
    if _is_npy(given):
        given = load_npy(given)
    if sparse.issparse(given):
        raise InputError(f"{name} is a sparse matrix. Give it as a dense array, with .toarray().")
    _refuse_masked(given, name)
    array = given if isinstance(given, np.ndarray) else np.asarray(given)
    if array.ndim != 2 or array.dtype.kind not in "fiub":
        raise InputError(
            f"{name} has shape {array.shape} and type {array.dtype}. Give numbers, in two dimensions, with a "
            "row for each row of the pool."
        )
    return array if array.dtype in {np.dtype(np.float32), np.dtype(np.float64)} else array.astype(np.float64)


def as_models(given: Any) -> list[NDArray[Any]] | None:
    """Return (n, C) arrays, one a model; None for what is not made of arrays."""
    if isinstance(given, Mapping):
        return [_model_called(str(name), each) for name, each in given.items()] or None
    if isinstance(given, (list, tuple)) and given and nw.dependencies.is_into_dataframe(given[0]):
        raise InputError(
            "The probabilities are a list of data frames. Give arrays, with the classes in the same order, or one "
            "frame that has the columns of all models."
        )
    if isinstance(given, (list, tuple)) and given and (_is_npy(given[0]) or np.ndim(given[0]) == 2):
        return [as_array(each, f"Model {k}") for k, each in enumerate(given)]
    if _is_npy(given):
        given = load_npy(given)
    if has_columns(given) or not (isinstance(given, (list, tuple)) or hasattr(given, "__array__")):
        return None
    _refuse_masked(given, "The array of probabilities")
    array = _in_one_shape(given)
    if array.ndim == 3:
        return [as_array(each, f"Model {k}") for k, each in enumerate(array)]
    if array.ndim == 1:
        raise InputError(
            f"The probabilities have shape {array.shape}, and each row needs one for each class. For those of one of "
            "two classes use np.column_stack([1 - p, p])."
        )
    return [as_array(array, "The array of probabilities")]


def _refuse_masked(given: Any, name: str) -> None:
    if any(
        isinstance(each, np.ma.MaskedArray) for each in (given, *(given if isinstance(given, list) else ()))
    ):
        raise InputError(f"{name} is a masked array. Leave out rows with masked cells.")


def _in_one_shape(given: Any) -> NDArray[Any]:
    try:
        return np.asarray(given)
    except ValueError:  # numpy's own words are of arrays within arrays
        raise InputError(
            "The probabilities have rows of different lengths. Give each row one for each class, and each model the "
            "same rows."
        ) from None


def _model_called(name: str, given: Any) -> NDArray[Any]:
    if not _is_npy(given) and (nw.dependencies.is_into_dataframe(given) or np.ndim(given) != 2):
        raise InputError(
            f"The probabilities are a dict, in which {name!r} is no array with a row for each row and a column for "
            "each class. Give such an array for each model; give columns as a data frame."
        )
    return as_array(given, f"Model {name!r}")


def _names_of_models(given: Any) -> tuple[str, ...] | None:
    """Return what models are called, if they have names."""
    if not isinstance(given, Mapping):
        return None
    names = tuple(map(str, given))
    if len(set(names)) < len(names):
        raise InputError(f"Two models have the same name ({listing(names)}). Give each its own.")
    return names


def _is_npy(given: Any) -> bool:
    return not isinstance(given, (list, tuple)) and is_path(given) and str(given).endswith(".npy")


def has_columns(given: Any) -> bool:
    """Return whether rows have columns with names: those of a data frame, a dataset or files."""
    frame = nw.dependencies.is_into_dataframe(given) and not isinstance(given, np.ndarray)
    return is_path(given) or frame or hasattr(given, "scanner")


def _of_arrays(
    members: list[NDArray[Any]],
    names: tuple[str, ...] | None,
    base: Any,
    features: Any,
    pool: Any,
    others: list[str],
) -> ScoredRows:
    frame = None if pool is None else _frame_beside(pool, features, others)
    parts = {
        f"model {name}": member for name, member in zip(names or itertools.count(), members, strict=False)
    }
    n_classes = members[0].shape[1]
    if base is not None:
        parts["base"] = as_array(base, "The base")
    classes = {name: part.shape[1] for name, part in parts.items()}
    _check_same(classes, "numbers of classes", "Give the same ones in all.")
    n_features = 0
    if features is not None:
        parts["features"] = _features(features, frame)
        n_features = parts["features"].shape[1]
    rows = {name: len(part) for name, part in parts.items()}
    rows |= {} if frame is None else {"pool": count_rows(frame)}
    _check_same(rows, "numbers of rows", "All must tell of the same rows.")
    facts = len(members), n_classes, base is not None, n_features, None, names
    if frame is None:
        return ScoredRows(MemoryPool(cast("Any", SideBySide(list(parts.values())))), None, *facts)
    columns = tuple(Column(name, "embedding", "list", part.shape[1]) for name, part in parts.items())
    return ScoredRows(MemoryPool(as_rows(_with_columns(frame, parts), "The pool")), columns, *facts)


def _frame_beside(pool: Any, features: Any, others: list[str]) -> Frame:
    """Return the frame that goes with arrays; of files, the columns that are asked for, and one that counts rows."""
    if not is_path(pool):
        frame = as_rows(pool, "The pool")
        if not isinstance(frame, nw.DataFrame):
            raise InputError("pool must be a data frame, or files, whose columns are for id_column and keep.")
        return frame
    opened = open_pool(pool)
    if opened.schema.columns is None:
        raise InputError(f"{opened.name} has no column names, which id_column and keep need. Give a table.")
    numbers = _columns_named(features) or []
    for name in (*others, *numbers):
        if name not in opened.schema.names:
            raise missing_column(name, opened.schema.names, "the pool")
    wanted = dict.fromkeys(others) | {name: cast("Column", opened.schema.find(name)).kind for name in numbers}
    chunks = list(opened.chunks(wanted or dict.fromkeys(opened.schema.names[:1]), _CHUNK_SIZE))
    if not chunks:
        raise InputError(f"{opened.name} has no rows. Give one for each row of the arrays.")
    return cast("Frame", concat_rows(chunks))


def _check_same(counts: dict[str, int], what: str, fix: str) -> None:
    if len(set(counts.values())) > 1:
        told = "; ".join(f"{name}: {n:,}" for name, n in counts.items())
        raise InputError(f"What was given has different {what} ({told}). {fix}")


def _features(features: Any, frame: Frame | None) -> NDArray[Any]:
    names = _columns_named(features)
    if names is None:
        return as_array(features, "The array of features")
    if frame is None:
        raise InputError(
            f"features names columns ({listing(names)}), and the probabilities are arrays. Give an array, or "
            "a frame that has these columns with pool=."
        )
    for name in names:
        if name not in frame.columns:
            raise missing_column(name, frame.columns, "the pool")
    return np.ascontiguousarray(to_matrix(frame.select(names)))


def _columns_named(features: Any) -> list[str] | None:
    """Return the columns that features are; None if they are an array, or a file of one."""
    names = [features] if isinstance(features, str) and not _is_npy(features) else features
    is_list = (
        isinstance(names, (list, tuple)) and len(names) > 0 and all(isinstance(each, str) for each in names)
    )
    return list(names) if is_list else None


def _with_columns(frame: Frame, parts: dict[str, NDArray[Any]]) -> pa.Table:
    """Return a table with a list column for each array, beside those of a frame. Arrays are not copied."""
    table = table_of(frame)
    for name, part in parts.items():
        if name in table.column_names:
            raise InputError(
                f"The pool has a column {name!r}, which is what an array is called here. Rename it."
            )
        flat = pa.array(np.ascontiguousarray(part).ravel())
        table = table.append_column(name, pa.FixedSizeListArray.from_arrays(flat, part.shape[1]))
    return table


def _of_chunks(
    chunks: Iterator[Any], columns: ColumnNames | None, base: Any, features: Any, others: list[str]
) -> ScoredRows:
    first = next(chunks, None)
    if first is None:
        raise InputError(
            "There are no probabilities: the iterable gave no chunk (a generator can be read once)."
        )
    if isinstance(first, Mapping):
        raise InputError("A chunk of probabilities is a dict. Give chunks that are arrays, or frames.")
    members = as_models(first)
    if members is None:
        return _of_columns(open_pool(itertools.chain([first], chunks)), columns, base, features, others)
    for name, value in (("base", base), ("features", features), ("columns", columns)):
        if value is not None:
            raise InputError(f"{name}= needs whole arrays, or chunks that are frames, with named columns.")
    joined = (_like_first(each, members, place) for place, each in enumerate(chunks, start=1))
    pool = open_pool(itertools.chain([np.hstack(members)], joined))
    return ScoredRows(pool, None, len(members), members[0].shape[1])


def _like_first(chunk: Any, first: list[NDArray[Any]], place: int) -> NDArray[Any]:
    """Return a later chunk, models side by side; it must be what the first one was."""
    models = as_models(chunk)
    if models is None or [each.shape[1] for each in models] != [each.shape[1] for each in first]:
        found = "no array" if models is None else f"of {len(models)} models with {models[0].shape[1]} classes"
        raise InputError(
            f"Chunk {place} of the probabilities is {found}, and the first one is of {len(first)} with "
            f"{first[0].shape[1]}. Give chunks of one form."
        )
    return np.hstack(models)


def _of_columns(
    pool: Pool, columns: ColumnNames | None, base: Any, features: Any, others: list[str]
) -> ScoredRows:
    if pool.schema.columns is None:
        raise InputError(f"{pool.name} has no column names. Give .npy files as a list, one for each model.")
    called = _names_of_models(columns)
    if isinstance(columns, Mapping):
        columns = [_listed(each) for each in columns.values()]
    of_base, of_rows = ([] if each is None else _names(each, pool) for each in (base, features))
    models = _columns_of_models(columns, pool, {*of_base, *of_rows, *others})
    found = [_column(name, pool) for model in models for name in model.values()]
    _check_kinds(found)
    lists = found[0].kind == "embedding"
    members = [[column.name] for column in found] if lists else [list(model.values()) for model in models]
    if called is not None and len(called) != len(members):
        raise InputError(
            f"columns has names for {len(called)} models ({listing(called)}), and holds the columns of {len(members)}. "
            "Name each model once."
        )
    with_base = [*members, of_base] if of_base else members
    widths = [sum(_column(name, pool).width or 1 for name in model) for model in with_base]
    counts = {", ".join(model): width for model, width in zip(with_base, widths, strict=True)}
    _check_same(counts, "numbers of classes", "Give the same ones in all.")
    wanted = [_column(name, pool) for name in [*itertools.chain(*with_base), *of_rows]]
    n_features = sum(_column(name, pool).width or 1 for name in of_rows)
    names = None if lists else list(models[0])
    return ScoredRows(pool, tuple(wanted), len(members), widths[0], bool(of_base), n_features, names, called)


def _check_kinds(found: list[Column]) -> None:
    """Raise an error that names a column which is not what the others are: numbers, or lists of numbers."""
    kinds = {"number": "numbers", "embedding": "lists of numbers"}
    fix = "Name those that hold the probabilities with columns=[...]."
    if not found:
        raise InputError(f"No column is left that may hold probabilities. {fix}")
    usual = max(kinds, key=lambda kind: sum(column.kind == kind for column in found))
    for column in found:
        if column.kind != usual:
            others = listing(each.name for each in found if each.kind == usual)
            holds = kinds.get(column.kind, f"no numbers ({column.type_name})")
            beside = f", and others hold {kinds[usual]} ({others})" if others else ""
            raise InputError(f"Column {column.name!r} holds {holds}{beside}. {fix}")


def _columns_of_models(columns: ColumnNames | None, pool: Pool, used: set[str]) -> list[dict[str, str]]:
    """Return the columns of each model, by the class that each is called after."""
    if columns is None:
        return [{name: name for name in pool.schema.names if name not in used}]
    one = [columns] if isinstance(columns, str) else columns
    names_only = all(isinstance(each, str) for each in one)
    several = len(one) > 1 and all("*" in each for each in one)
    asked = [one] if names_only and not several else one
    models = [_by_class(_listed(of_model), pool) for of_model in asked]
    if all(_is_pattern(_listed(of_model)) for of_model in asked):
        for model in models:
            if set(model) != set(models[0]):
                raise InputError(
                    f"One model has columns for {listing(models[0])}, and another for {listing(model)}. Models "
                    "must tell of the same classes."
                )
        models = [{name: model[name] for name in models[0]} for model in models]
    return models


def _by_class(wanted: list[str], pool: Pool) -> dict[str, str]:
    """Return columns by what the star of a pattern stands for; by their names, where there is none."""
    names = _names(wanted, pool)
    if not _is_pattern(wanted):
        return {name: name for name in names}
    before, after = wanted[0].split("*")
    return {name[len(before) : len(name) - len(after)]: name for name in names}


def _is_pattern(wanted: list[str]) -> bool:
    return len(wanted) == 1 and wanted[0].count("*") == 1


def _listed(names: Any) -> list[str]:
    return [names] if isinstance(names, str) else list(names)


def _names(wanted: Any, pool: Pool) -> list[str]:
    """Return columns by their names, or by patterns of them."""
    if not isinstance(wanted, str):
        return [name for each in wanted for name in _names(each, pool)]
    names = pool.schema.names
    found = [wanted] if wanted in names else fnmatch.filter(names, wanted)
    if not found:
        raise missing_column(wanted, names, pool.name)
    return found


def _column(name: str, pool: Pool) -> Column:
    """Return a column, with the width of its lists: where their type does not tell it, the first of them does."""
    column = cast("Column", pool.schema.find(name))
    if column.kind != "embedding" or column.width is not None:
        return column
    first = cast("Frame", next(pool.chunks({name: "embedding"}, 1)))
    return column_of(name, first[name])
