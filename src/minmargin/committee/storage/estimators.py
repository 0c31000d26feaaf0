"""Fitted scikit-learn classifiers, through skops, which makes objects of trusted types only."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minmargin.committee.storage.damage import damaged
from minmargin.committee.storage.packed import Packed
from minmargin.committee.storage.saved import Saved
from minmargin.errors import InputError, listing, missing_extra
from minmargin.learners.recognition import last_step
from minmargin.learners.sklearn import EstimatorScorer

_FILE = "estimators.skops"


def require_skops(purpose: str) -> Any:
    """Return the module skops.io, or say what cannot be done without it."""
    try:
        import skops.io  # noqa: PLC0415 - an extra
    except ImportError:
        raise missing_extra(f"{purpose} needs skops", "skops") from None
    return skops.io


def pack_estimators(scorer: EstimatorScorer) -> Packed:
    """Return fitted classifiers as a file, or say why they cannot be saved."""
    skops = require_skops("Saving a committee of scikit-learn classifiers")
    models = [scorer._base, *scorer._members]  # noqa: SLF001 - what is saved is what is inside
    try:
        data: bytes = skops.dumps(models)
        # What cannot be read again is refused now, not when the original is gone. These are the caller's own objects.
        skops.loads(data, trusted=skops.get_untrusted_types(data=data))
    except Exception as error:
        raise InputError(
            f"The committee cannot be saved: skops cannot keep {type(last_step(models[0])).__name__} with all that it "
            f"holds ({error}). Use functions that a module has, in place of lambdas and local ones, or another learner."
        ) from error
    return Packed({"kind": "estimators"}, {_FILE: data})


def unpack_estimators(
    saved: Saved, classes: NDArray[Any], n_models: int, trusted: Sequence[str]
) -> tuple[EstimatorScorer, int | None]:
    """Return the saved classifiers, and how many numbers their last step takes, if it tells.

    An error names the types in them that skops does not know and nobody trusts.
    """
    path = saved.folder / _FILE
    data = saved.read(_FILE)
    skops = require_skops("Loading a committee of scikit-learn classifiers")
    try:
        _check_sizes(data)
        unknown = [name for name in skops.get_untrusted_types(data=data) if name not in trusted]
    except Exception as error:
        raise damaged(path, f"it is not a skops file that can be read ({_short(error)})") from error
    if unknown:
        raise InputError(
            f"{str(path)!r} holds objects of types that skops does not know to be harmless: "
            f"{listing(unknown, most=20)}. If you trust whoever wrote it, use load_committee(..., trusted={unknown!r})."
        )
    try:
        models = skops.loads(data, trusted=list(trusted))
    except Exception as error:
        raise damaged(path, f"skops cannot make classifiers of it ({_short(error)})") from error
    if not (isinstance(models, list) and len(models) == n_models + 1):
        raise damaged(path, f"it does not hold a base and {n_models:,} members")
    for model in models:
        theirs = getattr(model, "classes_", classes)
        scores = hasattr(model, "predict_proba") or hasattr(model, "decision_function")
        if not (scores and len(theirs) and np.isin(theirs, classes).all()):
            raise damaged(path, "it holds something else than classifiers of the saved classes")
    scorer = EstimatorScorer(models[0], models[1:], classes)
    width = getattr(last_step(models[0]), "n_features_in_", None)
    return scorer, int(width) if isinstance(width, (int, np.integer)) else None


def _check_sizes(data: bytes) -> None:
    """Raise an error for an archive that would take more memory than its own size: skops compresses nothing."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = archive.infolist()
    stored = all(entry.compress_type == zipfile.ZIP_STORED for entry in entries)
    if not stored or sum(entry.file_size for entry in entries) > len(data):
        raise ValueError("it is compressed")


def _short(error: Exception) -> str:
    text = f"{type(error).__name__}: {error}"
    return text if len(text) <= 200 else text[:200] + "…"
