"""Which device computes: the CPU, or a CUDA GPU through torch. The one place that imports torch for others."""

from __future__ import annotations

import ctypes
import importlib.util
import sys
from functools import cache
from typing import Any, Literal, Protocol, TypeAlias, cast

from minmargin.errors import InputError, missing_extra

#: Where a network is trained and rows are looked at.
Device: TypeAlias = Literal["cpu", "cuda"]
#: What a caller may ask for; "auto" is a GPU where there is one and the work is worth it.
DeviceChoice: TypeAlias = Literal["auto", "cpu", "cuda"]


class TorchDevice(Protocol):
    """A `torch.device`."""

    @property
    def type(self) -> str:
        """Its name."""
        ...

    @property
    def index(self) -> int | None:
        """Its number."""
        ...


#: One of these, with a number ("cuda:0"), or as a `torch.device`.
DeviceLike: TypeAlias = DeviceChoice | Literal["cuda:0"] | TorchDevice
#: How closely a GPU looks at rows before the closest are scored exactly.
Precision: TypeAlias = Literal["float32", "fast"]


def require_torch(purpose: str) -> Any:
    """Return the torch module, or say what cannot be done without it."""
    try:
        import torch  # noqa: PLC0415 - takes seconds to import, and is an extra
    except ImportError:
        raise missing_extra(f"{purpose} needs torch", "torch") from None
    return torch


def resolve_device(device: str | TorchDevice) -> Device:
    """Return the device that "auto", "cpu" or "cuda" stands for on this machine.

    "auto" is a CUDA GPU where there is one that torch can use. Without a driver, torch is not even imported.
    """
    device = _plain(device)
    if device == "cpu" or (device == "auto" and not _may_have_cuda()):
        return "cpu"
    torch = require_torch(f"device={device!r}")
    if torch.cuda.is_available():
        return "cuda"
    if device == "auto":
        return "cpu"
    raise InputError("device='cuda', but torch finds no CUDA GPU here. Use device='auto' or 'cpu'.")


def _plain(device: str | TorchDevice) -> DeviceChoice:
    """Return one of the three names for what the caller gave: a name, with a number or without, or a `torch.device`."""
    name, _, number = str(device).partition(":")
    known = name in {"cpu", "cuda"} and (number.isdigit() or str(device) == name)
    if not known and device != "auto":
        raise InputError(f"device={device!r} must be 'auto', 'cpu' or 'cuda'.")
    if name == "cuda" and number and int(number) > 0:
        raise InputError(
            f"device={str(device)!r} is not the first GPU, which is the one that is used. Set "
            f"CUDA_VISIBLE_DEVICES={number} and use device='cuda'."
        )
    return cast("DeviceChoice", name)


def check_device(device: str | TorchDevice) -> DeviceChoice:
    """Return a device that can be used here. "auto" is not looked into, which could import torch."""
    return "auto" if device == "auto" else resolve_device(device)


def check_precision(precision: str) -> Precision:
    """Return a precision that must be one of the known ones."""
    if precision not in {"float32", "fast"}:
        raise InputError(f"precision={precision!r} must be 'float32' or 'fast'.")
    return precision  # type: ignore[return-value]


@cache
def _may_have_cuda() -> bool:
    """Return whether torch is there, and so is the driver of a CUDA GPU."""
    has_torch = "torch" in sys.modules or importlib.util.find_spec("torch") is not None
    return has_torch and nvidia_driver_loads()


def nvidia_driver_loads() -> bool:
    """Return whether the driver of a CUDA GPU is installed."""
    try:
        ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    except OSError:
        return False
    return True
