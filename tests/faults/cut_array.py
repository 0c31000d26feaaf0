"""Select from a .npy file that is cut short when the scan has begun. Run as `python cut_array.py FOLDER`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np

import minmargin as mm


def main() -> None:
    """Print the error that comes."""
    path = Path(sys.argv[1]) / "pool.npy"
    rng = np.random.default_rng(0)
    np.save(path, rng.normal(size=(1_000_000, 8)))
    X = rng.normal(size=(50, 8))

    def cut(stage: str, done: int, _: int | None) -> None:
        if stage == "scanning" and done:
            os.truncate(path, 1_000_000)

    try:
        mm.select(
            X, np.argmax(X[:, :3], axis=1), path, 10, n_models=5, random_state=0, n_jobs=1, progress=cut
        )
    except mm.InputError as error:
        print(error)  # noqa: T201 - for whoever started it


if __name__ == "__main__":
    main()
