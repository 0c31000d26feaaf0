"""Torch modules: a state dict for each, and the name of the function that makes them, which is not called unasked."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from minmargin.committee.storage.damage import damaged
from minmargin.committee.storage.index import INDEX
from minmargin.committee.storage.packed import Packed, pack_arrays
from minmargin.committee.storage.saved import Saved
from minmargin.committee.storage.state_dicts import (
    REFUSED,
    describe_state,
    first_difference,
    pack_state,
    require_safetensors,
    unpack_state,
)
from minmargin.data.intake import Intake
from minmargin.device import resolve_device
from minmargin.errors import InputError
from minmargin.fields import Fields
from minmargin.learners.networks.factories import FactoryName, import_factory
from minmargin.learners.networks.module_rows import ModuleRows, NamedIntake, NamedRows, RowMaker
from minmargin.learners.networks.module_scorer import ModuleScorer
from minmargin.learners.networks.stopping import Reached


def pack_modules(scorer: ModuleScorer) -> Packed:
    """Return trained modules as files, a state dict for each, or say why they cannot be saved."""
    _check_alike(scorer)
    names, models = _file_names(scorer.n_members), (scorer.base, *scorer.members)
    files = {name: pack_state(module) for name, module in zip(names, models, strict=True)}
    rows: dict[str, Any] | None = None
    if isinstance(scorer.rows, RowMaker):
        maker = scorer.rows
        rows = {"shape": list(maker.shape), "dtype": maker.dtype, "standardized": maker.standard is not None}
        if maker.standard is not None:
            files |= pack_arrays(dict(zip(("rows_mean", "rows_scale"), maker.standard, strict=True)))
    named = scorer.made_by
    description = {
        "kind": "modules",
        "factory": None if named is None else named._asdict(),
        "rows": rows,
        "trained": scorer.path,
        "reached": None if scorer.reached is None else [_described(each) for each in scorer.reached],
    }
    return Packed(description, files)


def _check_alike(scorer: ModuleScorer) -> None:
    """Raise an error unless all modules have the same tensors: one factory has to make them again."""
    base = describe_state(scorer.base.state_dict())
    for k, member in enumerate(scorer.members):
        theirs = describe_state(member.state_dict())
        odd = first_difference(base, theirs)
        if odd is not None:
            raise InputError(
                f"{REFUSED}: {odd!r} is {base.get(odd, 'missing')} in the base, and {theirs.get(odd, 'missing')} in "
                f"member {k}. Use a factory that makes the same layers each time."
            )


def _file_names(n_models: int) -> Iterator[str]:
    """Return the names of the files of the base and the members, which sort as the members do."""
    yield "base.safetensors"
    width = max(2, len(str(n_models - 1)))
    yield from (f"member_{k:0{width}d}.safetensors" for k in range(n_models))


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
    n_models = saved.content.size("n_models")
    reached = _read_reached(description, n_models)
    require_safetensors("Loading a committee of torch modules")  # before the factory is called
    from minmargin.learners.networks import modules  # noqa: PLC0415 - imports torch

    on = resolve_device("auto")
    few = modules.as_tensors(rows.make(np.zeros((2, n_columns))), on)
    module = modules.make_module(make, np.random.SeedSequence(0), few, on)
    modules.check_outputs(module, few, 2, n_classes)
    loaded = [_load(saved, name, module) for name in _file_names(n_models)]
    return ModuleScorer(loaded[0], loaded[1:], rows, on, description.get("trained", str), reached, made_by)


def _load(saved: Saved, name: str, made: Any) -> Any:
    """Return a copy of the module that the factory made, with the tensors of a file."""
    state = unpack_state(saved, name, made)
    module = copy.deepcopy(made)
    module.load_state_dict(state)
    return module.eval().requires_grad_(requires_grad=False)


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
