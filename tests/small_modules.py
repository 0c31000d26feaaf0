"""Small modules, data for them, and the shortest ways to pick with them."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits, load_iris
from torch import nn

import minmargin as mm

DIGITS, DIGIT_LABELS = load_digits(return_X_y=True)
IMAGES = (DIGITS / 16).astype(np.float32).reshape(-1, 1, 8, 8)
IRIS, SPECIES = load_iris(return_X_y=True)


class ImageNet(nn.Module):
    """One convolution, one layer."""

    def __init__(self, dropout=0.0):
        super().__init__()
        self.convolution = nn.Conv2d(1, 6, 3)
        self.dropout = nn.Dropout(dropout)
        self.last = nn.Linear(6 * 9, 10)

    def forward(self, X):
        features = nn.functional.max_pool2d(torch.relu(self.convolution(X)), 2)
        return self.last(self.dropout(features.flatten(1)))


class TokenNet(nn.Module):
    """The mean of the tokens' embeddings, then one layer."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(50, 8)
        self.last = nn.Linear(8, 2)

    def forward(self, tokens):
        return self.last(self.embedding(tokens).mean(dim=1))


def iris_net():
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))


def few_epochs(factory, **settings):
    return mm.ModuleLearner(factory, **{"epochs": 5, "batch_size": 16, "lr": 0.01, **settings})


def pick(learner, X=IMAGES[:60], y=DIGIT_LABELS[:60], pool=IMAGES[60:400], batch_size=8, **settings):
    return mm.select(
        X, y, pool, batch_size, learner=learner, **{"n_models": 3, "random_state": 0, **settings}
    )


def pick_iris(learner, pool=IRIS, **settings):
    return pick(learner, IRIS[::3], SPECIES[::3], pool, **settings)


def complaint(error=mm.InputError, call=pick_iris, **settings):
    with pytest.raises(error) as caught:
        call(**settings)
    assert type(caught.value) is error
    return str(caught.value)


def tokens():
    """Return rows of ten tokens; the first class has more of the low ones."""
    rng = np.random.default_rng(0)
    y = np.arange(300) % 2
    return rng.integers(0, 25 + 25 * y[:, np.newaxis], size=(300, 10)), np.where(y, "high", "low")
