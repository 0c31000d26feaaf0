"""State dicts of torch modules as safetensors files, which other tools can open."""

from __future__ import annotations

from typing import Any

from minmargin.committee.storage.damage import damaged
from minmargin.committee.storage.saved import Saved
from minmargin.device import require_torch
from minmargin.errors import InputError, listing, missing_extra

REFUSED = "A committee of torch modules cannot be saved"
_SAVING, _LOADING = "Saving a committee of torch modules", "Loading a committee of torch modules"

# Those that every version of safetensors from 0.6 on knows.
_TYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "bfloat16", "float32", "float64"),
)
_HEADER_NAME = "__metadata__"  # of safetensors itself: a file with a tensor of this name cannot be read
# A file may have so many bytes besides twice those of the module's tensors. The header needs some. The rest is for
# modules of another factory: the name of a tensor that differs tells more than a size does.
_MORE = 1 << 26
_FIX = "Give the function that made the modules which were saved."


def require_safetensors(purpose: str) -> Any:
    """Return the module safetensors.torch, or say what cannot be done without it."""
    require_torch(purpose)
    try:
        import safetensors.torch  # noqa: PLC0415 - an extra, and imports torch
    except ImportError:
        raise missing_extra(f"{purpose} needs safetensors", "torch") from None
    return safetensors.torch


def pack_state(module: Any) -> bytes:
    """Return the content of a safetensors file with the state dict of a module, or say why it cannot be saved."""
    torch, safetensors = require_torch(_SAVING), require_safetensors(_SAVING)
    state = {}
    for name, value in module.state_dict().items():
        if not isinstance(value, torch.Tensor):
            raise InputError(f"{REFUSED}: their state {name!r} is a {type(value).__name__} and no tensor.")
        if value.layout != torch.strided:
            raise InputError(f"{REFUSED}: {name!r} is sparse. Use a dense tensor.")
        if _type_name(value) not in _TYPES:
            raise InputError(
                f"{REFUSED}: {name!r} is {_type_name(value)}. Use one of {listing(_TYPES, most=20)}."
            )
        if name == _HEADER_NAME:
            raise InputError(
                f"{REFUSED}: the name {name!r} means something else in their files. Use another."
            )
        # A copy of its own for each: safetensors refuses tensors that share memory, as tied weights do.
        state[name] = value.detach().to("cpu", copy=True, memory_format=torch.contiguous_format)
    # Without a word on the format, transformers would not open the file.
    content: bytes = safetensors.save(state, metadata={"format": "pt"})
    return content


def unpack_state(saved: Saved, name: str, module: Any) -> dict[str, Any]:
    """Return the tensors of a saved file, which have the names, types and shapes of those that a module has.

    The module is the caller's. So it says how large the file may be, and nothing is done with tensors that it lacks.

    Args:
        saved: the files.
        name: the name of the file.
        module: what the factory makes.
    """
    path = saved.folder / name
    torch, safetensors = require_torch(_LOADING), require_safetensors(_LOADING)
    theirs = module.state_dict()
    n_bytes = sum(each.nbytes for each in theirs.values() if isinstance(each, torch.Tensor))
    if saved.size(name) > 2 * n_bytes + _MORE:
        raise InputError(
            f"{str(path)!r} has {saved.size(name):,} bytes, far more than the {n_bytes:,} of the "
            f"{type(module).__name__} that the factory makes. {_FIX}"
        )
    content = saved.read(name)
    try:
        state: dict[str, Any] = safetensors.load(content)
    except Exception as error:  # a header made to do harm asks for types and shapes that are none
        raise damaged(path, "it is not a safetensors file that can be read") from error
    found, wanted = describe_state(state), describe_state(theirs)
    odd = first_difference(found, wanted)
    if odd is not None:
        raise InputError(
            f"{str(path)!r} does not fit the {type(module).__name__} that the factory makes: {_short(odd)!r} is "
            f"{_short(found.get(odd, 'missing'))} in the file, and {_short(wanted.get(odd, 'missing'))} in the module. "
            f"{_FIX}"
        )
    for each, tensor in state.items():
        if tensor.dtype == torch.bool and (tensor.view(torch.uint8) > 1).any():
            raise damaged(path, f"its {each!r} holds bytes that are neither true nor false")
    return state


def describe_state(state: dict[str, Any]) -> dict[str, str]:
    """Return the type and shape of each tensor, in words."""
    torch = require_torch(_LOADING)
    return {
        name: f"{_type_name(value)} of shape {tuple(value.shape)}"
        if isinstance(value, torch.Tensor)
        else f"a {type(value).__name__}"
        for name, value in state.items()
    }


def first_difference(one: dict[str, str], other: dict[str, str]) -> str | None:
    """Return the first name, in alphabetical order, whose tensors differ or that only one of two states has."""
    return min((name for name in one.keys() | other.keys() if one.get(name) != other.get(name)), default=None)


def _type_name(tensor: Any) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def _short(text: str) -> str:
    return text if len(text) <= 80 else text[:80] + "…"
