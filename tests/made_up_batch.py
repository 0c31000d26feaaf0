"""A batch made by hand, for the suites that show batches to annotators."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from minmargin.batch import Batch

# One red pixel.
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
)
CLASSES = ["card", "cash", "top-up"]


def made_up_batch(
    n: int = 5,
    *,
    kept: dict[str, Any] | None = None,
    ids: Sequence[Any] | None = None,
    classes: Sequence[Any] = tuple(CLASSES),
    manifest: bool = True,
) -> Batch:
    """Return n rows with ids r0, r1, ... or those given (an empty list: none), a text, and a manifest."""
    names = np.empty(len(classes), dtype=object)
    names[:] = list(classes)
    first = np.arange(n) % len(names)
    identities = [f"r{place}" for place in range(n)] if ids is None else list(ids)
    return Batch(
        rows=np.arange(n) * 10,
        ids=np.array(identities, dtype=object) if identities else None,
        scores=np.arange(n) / 1000,
        member=np.array([-1 if place == 1 else place for place in range(n)], np.int32),
        top_classes=np.stack([names[first], names[first - 1]], axis=1),
        predicted=names[first],
        kept=pa.table({"text": [f"text {place}" for place in range(n)]} if kept is None else kept),
        manifest={
            "settings": {"strategy": "min-margin"},
            "labeled": {"class_counts": {str(name): 10 for name in classes}},
        }
        if manifest
        else {},
    )
