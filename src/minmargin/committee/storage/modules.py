"""Torch modules: their tensors as arrays, and the name of the function that makes them, which is not called unasked."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minmargin.committee.storage.damage import Fields, damaged
from minmargin.committee.storage.index import INDEX
from minmargin.committee.storage.packed import Packed, pack_arrays
from minmargin.committee.storage.saved import Saved
from minmargin.data.intake import Intake
from minmargin.device import require_torch, resolve_device
from minmargin.errors import InputError
from minmargin.learners.networks.factories import FactoryName, import_factory
from minmargin.learners.networks.module_rows import ModuleRows, NamedIntake, NamedRows, RowMaker
from minmargin.learners.networks.module_scorer import ModuleScorer
from minmargin.learners.networks.stopping import Reached

_TENSORS = ["b", "i", "u", "f2", "f4", "f8"]
_REFUSED = "A committee of torch modules cannot be saved"


def pack_modules(scorer: ModuleScorer) -> Packed:
    """Return the tensors of trained modules as files, or say why they cannot be saved."""
    base, *members = [_state(module) for module in (scorer.base, *scorer.members)]
    arrays = {}
    for place, (name, array) in enumerate(base.items()):
        theirs = [state.get(name) for state in members]
        if any(other is None or other.shape != array.shape for other in theirs):
            raise InputError(f"{_REFUSED}: the factory made modules whose {name!r} has several shapes.")
        arrays[f"base_state_{place}"] = array
        arrays[f"member_state_{place}"] = np.array(theirs, dtype=array.dtype).reshape(-1, *array.shape)
    rows: dict[str, Any] | None = None
    if isinstance(scorer.rows, RowMaker):
        maker = scorer.rows
        rows = {"shape": list(maker.shape), "dtype": maker.dtype, "standardized": maker.standard is not None}
        if maker.standard is not None:
            arrays |= dict(zip(("rows_mean", "rows_scale"), maker.standard, strict=True))
    named = scorer.made_by
    description = {
        "kind": "modules",
        "factory": None if named is None else named._asdict(),
        "state": list(base),
        "rows": rows,
        "trained": scorer.path,
        "reached": None if scorer.reached is None else [_described(each) for each in scorer.reached],
    }
    return Packed(description, pack_arrays(arrays))


def _state(module: Any) -> dict[str, NDArray[Any]]:
    torch = require_torch("Saving a committee of modules")
    arrays = {}
    for name, value in module.state_dict().items():
        if not isinstance(value, torch.Tensor):
            raise InputError(f"{_REFUSED}: their state {name!r} is a {type(value).__name__} and no tensor.")
        if value.dtype == torch.bfloat16 or value.is_complex():
            kind = str(value.dtype).split(".")[-1]
            raise InputError(f"{_REFUSED}: {name!r} is {kind}, which has no array. Use module.float().")
        arrays[name] = value.detach().cpu().numpy()
    return arrays


def _described(reached: Reached | None) -> dict[str, Any] | None:
    return None if reached is None else reached._asdict()


def unpack_modules(
    saved: Saved,
    intake: Intake,
    n_columns: int,
    n_classes: int,
    *,
    factory: Callable[[], Any] | None,
    trusted: Sequence[str],
) -> ModuleScorer:
    """Return the saved modules, made by a factory that the caller gave or trusts by name.

    Args:
        saved: the files.
        intake: the form in which the modules take rows.
        n_columns: how many numbers a row has.
        n_classes: how many classes they score.
        factory: makes one module; None: one that is found by its name.
        trusted: the names that may be imported.
    """
    description = saved.content.inner("scorer")
    made_by = _read_name(description)
    make = factory or _trusted_factory(saved, made_by, trusted)
    rows = _read_rows(saved, description, intake, n_columns)
    names = description.each("state", str)
    n_models = saved.content.size("n_models")
    base = [saved.array(f"base_state_{place}", _TENSORS) for place in range(len(names))]
    members = [
        saved.array(f"member_state_{place}", _TENSORS, (n_models, *array.shape))
        for place, array in enumerate(base)
    ]
    reached = _read_reached(description, n_models)
    require_torch("Loading a committee of modules")
    from minmargin.learners.networks import modules  # noqa: PLC0415 - imports torch

    on = resolve_device("auto")
    few = modules.as_tensors(rows.make(np.zeros((2, n_columns))), on)
    module = modules.make_module(make, np.random.SeedSequence(0), few, on)
    modules.check_outputs(module, few, 2, n_classes)
    states = [dict(zip(names, base, strict=True))]
    states += [
        {name: array[k, ...] for name, array in zip(names, members, strict=True)} for k in range(n_models)
    ]
    loaded = [_load(copy.deepcopy(module), state) for state in states]
    return ModuleScorer(loaded[0], loaded[1:], rows, on, description.get("trained", str), reached, made_by)


def _load(module: Any, state: dict[str, NDArray[Any]]) -> Any:
    """Return a module with saved tensors, which must be those that it has."""
    torch = require_torch("Loading a committee of modules")
    wanted = {name: torch.as_tensor(array) for name, array in state.items()}
    fix = "Give the function that made the modules which were saved."
    theirs = module.state_dict()
    odd = sorted(set(theirs) ^ set(wanted))
    if odd:
        raise InputError(
            f"The factory makes a {type(module).__name__} with other tensors than those that were saved: {odd[0]!r} is "
            f"only in one of them. {fix}"
        )
    for name, tensor in wanted.items():
        have, saved = _shown(theirs[name]), _shown(tensor)
        if have != saved:
            raise InputError(
                f"The factory makes a {type(module).__name__} whose {name!r} is {have}, and {saved} was saved. {fix}"
            )
    module.load_state_dict(wanted)
    return module.eval().requires_grad_(requires_grad=False)


def _shown(tensor: Any) -> str:
    return f"{str(tensor.dtype).split('.')[-1]} of shape {tuple(tensor.shape)}"


def _trusted_factory(saved: Saved, made_by: FactoryName | None, trusted: Sequence[str]) -> Callable[[], Any]:
    if made_by is not None and made_by.name in trusted:
        return import_factory(made_by)
    which = "" if made_by is None else f", which was {made_by}"
    trust = (
        ""
        if made_by is None
        else f"; or, if you trust whoever wrote it, trusted={[made_by.name]!r} to import it"
    )
    raise InputError(
        f"{str(saved.folder / INDEX)!r} is of torch modules, whose weights are of no use without the function that "
        f"makes them{which}. Use load_committee(..., factory=...) with that function{trust}."
    )


def _read_name(description: Fields) -> FactoryName | None:
    if description.optional("factory", dict) is None:
        return None
    inner = description.inner("factory")
    return FactoryName(inner.get("name", str), inner.get("arguments", dict))


def _read_rows(saved: Saved, description: Fields, intake: Intake, n_columns: int) -> ModuleRows:
    if isinstance(intake, NamedIntake):
        return NamedRows.of(intake)
    fields = description.inner("rows")
    shape = tuple(fields.each("shape", int))
    if min(shape, default=1) < 1 or math.prod(shape) != n_columns:
        raise fields.wrong(f"rows of {n_columns:,} numbers have no shape {shape}")
    dtype = fields.choice("dtype", ("float32", "int64"))
    if not fields.get("standardized", bool):
        return RowMaker(shape, dtype)
    mean, scale = (saved.array(f"rows_{name}", ["f8"], (n_columns,)) for name in ("mean", "scale"))
    if not (np.isfinite(mean).all() and np.isfinite(scale).all() and (scale > 0).all()):
        raise damaged(saved.folder / "rows_scale.npy", "rows cannot be standardized by what it holds")
    return RowMaker(shape, dtype, (mean, scale))


def _read_reached(description: Fields, n_models: int) -> tuple[Reached | None, ...] | None:
    if description.optional("reached", list) is None:
        return None
    values = description.get("reached", list)
    if len(values) != n_models + 1:
        raise description.wrong(f"{len(values):,} models were stopped, and there are {n_models + 1:,}")
    return tuple(None if value is None else _read_one(description.part(value)) for value in values)


def _read_one(fields: Fields) -> Reached:
    return Reached(fields.size("epochs"), fields.size("best_epoch"), fields.get("best_loss", float))
