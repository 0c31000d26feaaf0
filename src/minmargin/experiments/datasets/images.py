"""MNIST and Fashion-MNIST: 28 x 28 gray images with a standard test set."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
from numpy.typing import NDArray

from minmargin.experiments.datasets.base import Loader, Table
from minmargin.experiments.datasets.formats import read_idx

_DIGITS = tuple("0123456789")
_CLOTHES = (
    "T-shirt/top",
    "trouser",
    "pullover",
    "dress",
    "coat",
    "sandal",
    "shirt",
    "sneaker",
    "bag",
    "ankle boot",
)


def _load_images(files: Mapping[str, bytes], classes: tuple[str, ...]) -> Table:
    train = read_idx(files["train-images-idx3-ubyte"])
    _, height, width = train.shape
    return Table(
        X=_intensities(train),
        y=read_idx(files["train-labels-idx1-ubyte"]).astype(np.intp),
        classes=classes,
        test_X=_intensities(read_idx(files["t10k-images-idx3-ubyte"])),
        test_y=read_idx(files["t10k-labels-idx1-ubyte"]).astype(np.intp),
        features=tuple(f"pixel_{row}_{column}" for row in range(height) for column in range(width)),
    )


def _intensities(pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
    return np.divide(pixels.reshape(len(pixels), -1), 255, dtype=np.float32)


load_mnist: Loader = partial(_load_images, classes=_DIGITS)
load_fashion_mnist: Loader = partial(_load_images, classes=_CLOTHES)
