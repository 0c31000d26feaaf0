"""Containers that people bring: datasets of Hugging Face and torch, Delta and Lance tables, lists of dicts.

They are known by the names of their types, so none of their libraries is imported here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from narwhals.dependencies import is_pandas_dataframe, is_pandas_series
from numpy.typing import NDArray
from scipy import sparse

from minmargin.errors import InputError, is_unicode, listing, not_unicode

_STREAMED_ROWS = 1 << 13  # of a stream, at a time


def unwrap(source: Any, what: str) -> Any:
    """Return what a container holds: an array, a list, an Arrow table or dataset; what is no container, as it is.

    Datasets of Hugging Face are left as they are, since they are read in parts. `what` names the rows in errors.
    """
    for module, name, take_out in _CONTAINERS:
        if _is_a(source, module, name):
            return take_out(source, what)
    return _table_of_dicts(source, what) if _is_list_of_dicts(source) else source


def is_arrow_dataset(source: Any) -> bool:
    """Return whether this is a dataset of pyarrow; one of Lance is, too."""
    return _is_a(source, "pyarrow._dataset", "Dataset")


def is_hub_dataset(source: Any) -> bool:
    """Return whether this is a dataset of Hugging Face whose rows have positions."""
    return _is_a(source, "datasets.arrow_dataset", "Dataset")


def is_hub_stream(source: Any) -> bool:
    """Return whether this is a dataset of Hugging Face that can only be read from its beginning."""
    return _is_a(source, "datasets.iterable_dataset", "IterableDataset")


def is_unframed(source: Any) -> bool:
    """Return whether rows have named columns but come in no data frame, so that no kind of frame was chosen."""
    read = (is_hub_dataset, is_hub_stream, is_arrow_dataset, _is_list_of_dicts)
    known = any(is_one(source) for is_one in read) or _is_a(source, "deltalake.table", "DeltaTable")
    return known or is_dict(source)


def is_dict(source: Any) -> bool:
    """Return whether this is a dict of some kind, and not one of scipy's sparse arrays, of which some are dicts."""
    return isinstance(source, Mapping) and not sparse.issparse(source)


def with_index(source: Any, name: str | None) -> Any:
    """Return a pandas frame with its index as a column, if `name` names the index and no column; others as they are.

    An index without a name is called "index", as `reset_index` calls it.
    """
    if name is None or not _is_of_pandas(source, is_pandas_dataframe) or name in source.columns:
        return source
    names = list(source.index.names)
    if len(names) > 1 and name in {"index", *names}:
        raise InputError(
            f"id_column={name!r} names an index with the levels {listing(names)}, and one value a row is needed. Use "
            "pool.reset_index(), and name a column that tells its rows apart."
        )
    return source.reset_index(names=name) if name == (names[0] or "index") else source


def dense(values: nw.Series[Any]) -> nw.Series[Any]:
    """Return a column of which pandas keeps only what is not zero with all its values; others as they are."""
    if not isinstance(values.dtype, nw.Unknown):
        return values
    native = values.to_native()
    kept_sparse = _name(getattr(native, "dtype", None)) == "SparseDtype"
    return nw.from_native(native.sparse.to_dense(), series_only=True) if kept_sparse else values


def holds_objects(values: nw.Series[Any]) -> bool:
    """Return whether a column of pandas holds Python objects: what narwhals says of these rests on the first few."""
    if not isinstance(values.dtype, (nw.Object, nw.String)) or not values.implementation.is_pandas_like():
        return False
    return bool(values.to_native().dtype == object)


def check_same_index(X: Any, y: Any) -> None:
    """Raise an error if labels in a pandas series belong to other rows than those in pandas's X, by their index."""
    of_pandas = _is_of_pandas(X, is_pandas_dataframe) or _is_of_pandas(X, is_pandas_series)
    if not (of_pandas and _is_of_pandas(y, is_pandas_series)) or len(X) != len(y):
        return
    if X.index.equals(y.index):
        return
    same_rows = X.index.is_unique and y.index.is_unique and X.index.isin(y.index).all()
    if same_rows:
        raise InputError(
            "The index of y has the rows of X in another order. Use y.loc[X.index], or y.to_numpy() if the labels "
            "stand in the order of X."
        )
    place = next(at for at, (mine, other) in enumerate(zip(X.index, y.index, strict=True)) if mine != other)
    raise InputError(
        f"The index of y is not that of X: row {place:,} of X is {X.index[place]!r}, and that of y is "
        f"{y.index[place]!r}. Give the labels of these rows, or y.to_numpy() if they stand in the order of X."
    )


def _is_of_pandas(source: Any, is_native: Callable[[Any], bool]) -> bool:
    """Return whether this is pandas's own: narwhals warns whoever asks that of its own frames."""
    return not isinstance(source, (nw.DataFrame, nw.Series)) and is_native(source)


def read_whole(source: Any, what: str) -> Any:
    """Return a dataset of any kind as one Arrow table; anything else as it is."""
    if is_arrow_dataset(source):
        return source.to_table()
    if is_hub_dataset(source):
        return HubRows(source, what).read(0, len(source), None)
    if is_hub_stream(source):
        tables = list(stream_tables(source))
        if not tables:
            raise InputError(f"{what} has no rows.")
        return pa.concat_tables(tables, promote_options="permissive")
    return source


class HubRows:
    """The rows of a Hugging Face dataset as Arrow tables, in its own order, with the names of classes for their codes.

    Attributes:
        schema: its columns, as they are read.
    """

    def __init__(self, dataset: Any, what: str) -> None:
        if dataset.format["type"] == "custom":
            raise InputError(
                f"{what} is a dataset with a transform, which its columns are read without. Use dataset.map(...) to "
                "keep what it makes, or dataset.with_format(None) to leave it out."
            )
        self._dataset = dataset
        self._classes = _class_names(dataset)
        self.schema: pa.Schema = _named_classes(
            dataset.features.arrow_schema.empty_table(), self._classes
        ).schema

    def read(self, start: int, stop: int, names: Sequence[str] | None) -> pa.Table:
        """Return rows start..stop-1, of some columns; None: of all."""
        # A shuffled or selected dataset is a table and a list of positions: only its own reading heeds them.
        chosen = self._dataset if names is None else self._dataset.select_columns(list(names))
        table = chosen.with_format("arrow")[start:stop]
        # Shuffled rows come in pieces of one row each.
        return _named_classes(table.combine_chunks(), self._classes)

    def take(self, rows: NDArray[np.intp], names: Sequence[str]) -> pa.Table:
        """Return the rows with these positions, of some columns."""
        table = self._dataset.select_columns(list(names)).with_format("arrow")[rows.tolist()]
        return _named_classes(table.combine_chunks(), self._classes)


def stream_tables(dataset: Any) -> Iterator[pa.Table]:
    """Return the rows of a streamed Hugging Face dataset as Arrow tables, in order, with the names of classes."""
    classes = _class_names(dataset)
    for table in dataset.with_format("arrow").iter(batch_size=_STREAMED_ROWS):
        yield _named_classes(table, classes)


def _class_names(dataset: Any) -> dict[str, list[str]]:
    features = dataset.features or {}  # a stream may not know its features before it is read
    return {
        name: list(feature.names)
        for name, feature in features.items()
        if _is_a(feature, "datasets.features.features", "ClassLabel")
    }


def _named_classes(table: pa.Table, classes: Mapping[str, list[str]]) -> pa.Table:
    """Return the table with each code of a class replaced by its name; -1 stands for no class."""
    for name, names in classes.items():
        if name in table.column_names:
            codes = table.column(name)
            known = pc.if_else(pc.greater_equal(codes, 0), codes, None)
            named = pa.chunked_array([pa.array(names, pa.string())]).take(known)
            table = table.set_column(table.column_names.index(name), name, named)
    return table.replace_schema_metadata(None)


def _take_out_of_loader(loader: Any, what: str) -> Any:
    """Return the rows of a torch loader that gives them in order and as they are in its dataset."""
    if not _is_a(loader.sampler, "torch.utils.data.sampler", "SequentialSampler"):
        raise InputError(
            f"{what} is a DataLoader that gives rows in another order than its dataset, so row numbers would mean "
            "nothing. Use shuffle=False and no sampler, or give loader.dataset."
        )
    rows = unwrap(loader.dataset, what)
    as_they_are = loader.collate_fn.__module__ == "torch.utils.data._utils.collate"
    if not (as_they_are and (isinstance(rows, np.ndarray) or is_hub_dataset(rows))):
        raise InputError(
            f"{what} is a DataLoader that makes its rows as it goes, of a {_name(loader.dataset)}. Use a TensorDataset "
            "and the usual collate_fn, or give the rows as an array."
        )
    return rows


def _take_out_of_subset(subset: Any, what: str) -> NDArray[Any]:
    rows = unwrap(subset.dataset, what)
    if not isinstance(rows, np.ndarray):
        raise InputError(
            f"{what} is a Subset of a {_name(subset.dataset)}. Use a Subset of a TensorDataset, or give the rows as an "
            "array."
        )
    return rows[np.asarray(subset.indices, dtype=np.intp)]


def _take_out_of_tensors(dataset: Any, what: str) -> NDArray[Any]:
    if len(dataset.tensors) > 2:
        raise InputError(
            f"{what} is a TensorDataset of {len(dataset.tensors)} tensors, and one of rows, or of rows and labels, is "
            "needed. Give the rows as one tensor."
        )
    return _tensor_rows(dataset.tensors[0], what)


def _tensor_rows(tensor: Any, what: str) -> NDArray[Any]:
    tensor = tensor.detach()
    if str(tensor.dtype) == "torch.bfloat16":  # which numpy does not know, and float32 holds
        tensor = tensor.float()
    try:
        rows: NDArray[Any] = tensor.cpu().resolve_conj().resolve_neg().numpy()
    except (TypeError, RuntimeError) as error:  # sparse, quantized, or without data
        reason = str(error).partition(".")[0].partition(";")[0]
        raise InputError(
            f"{what} is a tensor that is no plain array ({reason}). Use tensor.to_dense(), or give an array."
        ) from error
    return rows


def _take_out_of_delta(delta_table: Any, what: str) -> Any:
    return delta_table.to_pyarrow_dataset()


def _take_out_of_column(column: Any, what: str) -> list[Any]:
    return list(column[:])


def _refuse_splits(splits: Any, what: str) -> Any:
    first = next(iter(splits), "train")
    raise InputError(
        f"{what} is of the type {_name(splits)}, with the splits {listing(splits)}. Give one of them, such as "
        f"dataset[{first!r}]."
    )


#: The module and name of a type, and what takes the rows out of it.
_CONTAINERS: tuple[tuple[str, str, Callable[[Any, str], Any]], ...] = (
    ("torch.utils.data.dataloader", "DataLoader", _take_out_of_loader),
    ("torch.utils.data.dataset", "Subset", _take_out_of_subset),
    ("torch.utils.data.dataset", "TensorDataset", _take_out_of_tensors),
    ("torch", "Tensor", _tensor_rows),
    ("deltalake.table", "DeltaTable", _take_out_of_delta),
    ("datasets.arrow_dataset", "Column", _take_out_of_column),
    ("datasets.dataset_dict", "DatasetDict", _refuse_splits),
    ("datasets.dataset_dict", "IterableDatasetDict", _refuse_splits),
)


def _is_list_of_dicts(source: Any) -> bool:
    return isinstance(source, (list, tuple)) and bool(source) and is_dict(source[0])


def _table_of_dicts(rows: Sequence[Any], what: str) -> pa.Table:
    """Return the table of rows that are dicts; what a row does not have is missing there."""
    for place, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise InputError(
                f"{what} is a list whose first row is a dict and whose row {place:,} is a {_name(row)}. "
                "Give every row as a dict."
            )
    names = list(dict.fromkeys(name for row in rows for name in row))
    odd = [name for name in names if not isinstance(name, str)]
    if odd:
        raise InputError(
            f"{what} has dicts with keys that are not strings ({listing(odd, most=3)}). Use strings."
        )
    _check_names(names, what)
    return pa.table({name: _column_of_dicts(rows, name, what) for name in names})


def _check_names(names: Iterable[str], what: str) -> None:
    for name in names:
        if not is_unicode(name):
            raise not_unicode(f"{what} has a column called", name)


def _column_of_dicts(rows: Sequence[Any], name: str, what: str) -> pa.Array:
    try:
        return pa.array([row.get(name) for row in rows])
    except UnicodeEncodeError as error:
        raise not_unicode(f"Column {name!r} holds the text", error.object) from error
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        types = sorted({_name(row[name]) for row in rows if row.get(name) is not None})
        raise InputError(
            f"{what} has dicts whose values for {name!r} go into no column ({', '.join(types)}). Give values of one "
            "type."
        ) from error


def table_of_arrays(columns: Mapping[Any, Any], what: str) -> pa.Table:
    """Return the table of a dict of columns, as tokenizers give them: arrays, tensors or lists, of the same length."""
    odd = [name for name in columns if not isinstance(name, str)]
    if odd or not columns:
        trouble = f"keys that are not strings ({listing(odd, most=3)})" if odd else "no columns"
        raise InputError(
            f"{what} is a dict with {trouble}. Use the names of columns as keys, and their values as arrays."
        )
    _check_names(columns, what)
    made = {name: _column_of_array(name, values, what) for name, values in columns.items()}
    first = next(iter(made))
    for name, column in made.items():
        if len(column) != len(made[first]):
            raise InputError(
                f"{what} is a dict whose {first!r} has {len(made[first]):,} rows and whose {name!r} has "
                f"{len(column):,}. Give all columns the same rows."
            )
    return pa.table(made)


def _column_of_array(name: str, values: Any, what: str) -> pa.Array:
    values = unwrap(values, what)
    if isinstance(values, np.ma.MaskedArray):
        raise InputError(
            f"{what} is a dict whose {name!r} is a masked array. Use .filled(np.nan), so that missing cells are NaN."
        )
    try:
        array = np.asarray(values)
    except ValueError as error:  # lists of several lengths
        raise InputError(
            f"{what} is a dict whose {name!r} is no array ({error}). Pad its rows to one length."
        ) from error
    if array.ndim == 1:
        return pa.array(values if isinstance(values, list) else array)
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        raise InputError(
            f"{what} is a dict whose {name!r} has shape {array.shape} and type {array.dtype}. A column has one value a "
            "row, or a row of numbers."
        )
    if array.dtype.kind == "b":  # which Arrow has no lists of that are numbers
        array = array.astype(np.uint8)
    return pa.FixedSizeListArray.from_arrays(pa.array(array.ravel()), array.shape[1])


def _name(value: Any) -> str:
    return type(value).__name__


def _is_a(source: Any, module: str, name: str) -> bool:
    """Return whether a value is of a class, or one derived from it, without importing the class's module."""
    return any(each.__name__ == name and each.__module__ == module for each in type(source).__mro__)
