"""Trained models as arrays: linear models and fully connected networks."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, cast, get_args

import numpy as np
from numpy.typing import NDArray

from minmargin.committee.storage.memories import describe_choice, read_choice
from minmargin.committee.storage.modules import pack_modules
from minmargin.committee.storage.packed import Packed, pack_arrays
from minmargin.committee.storage.saved import Saved
from minmargin.compute import DenseNetworks
from minmargin.errors import InputError
from minmargin.fields import Fields
from minmargin.learners.affine import Columns, Expansion
from minmargin.learners.base import Scorer
from minmargin.learners.linear import LinearScorer, Link
from minmargin.learners.networks.module_scorer import ModuleScorer
from minmargin.learners.networks.scorer import NetworkScorer
from minmargin.learners.text import TextScorer, Words

_WORDS = "words.json"
_VIEW = ("source", "center", "scale", "fill")


def pack_scorer(scorer: Scorer) -> Packed:
    """Return trained models as files, or say why they cannot be saved."""
    # Types are compared exactly: a subclass may hold more than is known here.
    if type(scorer) is LinearScorer:
        return _pack_linear(scorer, {})
    if type(scorer) is TextScorer:
        return _pack_texts(scorer)
    if type(scorer) is NetworkScorer:
        return _pack_networks(scorer)
    if type(scorer) is ModuleScorer:
        return pack_modules(scorer)
    from minmargin.learners.recognition import CompiledScorer  # noqa: PLC0415 - imports scikit-learn
    from minmargin.learners.sklearn import EstimatorScorer  # noqa: PLC0415 - imports scikit-learn

    if type(scorer) is CompiledScorer:
        return _pack_linear(scorer, {f"view_{name}": getattr(scorer.view, name) for name in _VIEW})
    if type(scorer) is EstimatorScorer:
        from minmargin.committee.storage.estimators import pack_estimators  # noqa: PLC0415 - imports scikit-learn

        return pack_estimators(scorer)
    raise InputError(
        f"A committee scored by {type(scorer).__name__} cannot be saved: only those of 'logistic', 'text', 'mlp', "
        "torch modules and scikit-learn classifiers can. Save the labeled set and train it again."
    )


def _pack_linear(scorer: LinearScorer, view: dict[str, Any]) -> Packed:
    expansion = scorer.expansion
    if not (expansion is None or type(expansion) is Expansion):
        raise InputError(f"Features made by {type(expansion).__name__} cannot be saved.")
    description = {
        "kind": "linear",
        "link": scorer.link,
        "trained": scorer.trained,
        "choice": describe_choice(scorer.choice),
        "expansion": None if expansion is None else {"used": expansion.used, "filled": expansion.filled},
        "view": bool(view),
    }
    return Packed(description, pack_arrays(_weights(scorer) | view))


def _weights(scorer: LinearScorer) -> dict[str, Any]:
    return {
        "base_weights": scorer.base_weights,
        "base_intercepts": scorer.base_intercepts,
        "member_weights": scorer.member_weights,
        "member_intercepts": scorer.member_intercepts,
    }


def _pack_texts(scorer: TextScorer) -> Packed:
    words = cast("Words", scorer.expansion)
    files = pack_arrays(_weights(scorer) | {"rarity": words.rarity})
    # As JSON: numpy would give every word the length of the longest.
    files[_WORDS] = json.dumps({"words": words.words}).encode()
    description = {"kind": "texts", "trained": scorer.trained, "choice": describe_choice(scorer.choice)}
    return Packed(description, files)


def _pack_networks(scorer: NetworkScorer) -> Packed:
    arrays: dict[str, Any] = {"center": scorer.center, "scale": scorer.scale}
    for name, networks in (("base", scorer.base), ("member", scorer.members)):
        for layer, (weights, biases) in enumerate(zip(networks.weights, networks.biases, strict=True)):
            arrays |= {f"{name}_weights_{layer}": weights, f"{name}_biases_{layer}": biases}
    description = {"kind": "networks", "layers": len(scorer.base.weights), "trained": scorer.trained}
    return Packed(description, pack_arrays(arrays))


def unpack_scorer(saved: Saved, n_columns: int, n_classes: int, n_models: int) -> Scorer:
    """Return the saved models that are arrays.

    All shapes must fit together: compiled kernels do not look where they read.

    Args:
        saved: the files.
        n_columns: how many numbers a row has.
        n_classes: how many classes there are.
        n_models: how many members there are.
    """
    description = saved.content.inner("scorer")
    kind = description.choice("kind", ("linear", "networks", "texts"))
    if kind == "networks":
        return _unpack_networks(saved, description, n_columns, n_classes, n_models)
    if kind == "texts":
        return _unpack_texts(saved, description, n_classes, n_models)
    return _unpack_linear(saved, description, n_columns, n_classes, n_models)


def _unpack_linear(
    saved: Saved, description: Fields, n_columns: int, n_classes: int, n_models: int
) -> LinearScorer:
    expansion = _expansion(description, n_columns)
    width = n_columns if expansion is None else expansion.width
    arrays = _unpack_weights(saved, description, width, n_classes, n_models)
    link: Link = description.choice("link", get_args(Link))
    trained = description.get("trained", str)
    if not description.get("view", bool):
        choice = read_choice(description)
        return LinearScorer(*arrays, link=link, expansion=expansion, trained=trained, choice=choice)
    from minmargin.learners.recognition import CompiledScorer  # noqa: PLC0415 - imports scikit-learn

    view = _view(saved, description, n_columns)
    return CompiledScorer(*arrays, link=link, expansion=expansion, trained=trained, view=view)


def _unpack_weights(
    saved: Saved, description: Fields, width: int, n_classes: int, n_models: int
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
    base = saved.array("base_weights", ["f8"], (width, 1, None))
    n_outputs = base.shape[2]
    if n_outputs != n_classes and (n_outputs, n_classes) != (1, 2):
        raise description.wrong(f"the models have {n_outputs} outputs for {n_classes} classes")
    arrays = (
        base,
        saved.array("base_intercepts", ["f8"], (1, n_outputs)),
        saved.array("member_weights", ["f8"], (width, n_models, n_outputs)),
        saved.array("member_intercepts", ["f8"], (n_models, n_outputs)),
    )
    _check_finite(description, arrays)
    return arrays


def _check_finite(description: Fields, arrays: Iterable[NDArray[Any]]) -> None:
    """Raise an error if the models hold numbers that are none: scores would be none, and the pool be blamed for it."""
    if not all(np.isfinite(array).all() for array in arrays):
        raise description.wrong("the models have weights that are not finite")


def _unpack_texts(saved: Saved, description: Fields, n_classes: int, n_models: int) -> TextScorer:
    fields = saved.json(_WORDS)
    words = tuple(fields.each("words", str))
    if not words or len(set(words)) != len(words):
        raise fields.wrong("its words are not different texts")
    rarity = saved.array("rarity", ["f8"], (len(words),))
    if not (np.isfinite(rarity).all() and (rarity > 0).all()):
        raise fields.wrong("the weights of its words are no positive numbers")
    arrays = _unpack_weights(saved, description, len(words), n_classes, n_models)
    trained, choice = description.get("trained", str), read_choice(description)
    return TextScorer(*arrays, expansion=Words(words, rarity), trained=trained, choice=choice)


def _expansion(description: Fields, n_columns: int) -> Expansion | None:
    if description.optional("expansion", dict) is None:
        return None
    inner = description.inner("expansion")
    used, filled = tuple(inner.each("used", int)), tuple(inner.each("filled", int))
    ordered = all(list(each) == sorted(set(each)) for each in (used, filled))
    if not (ordered and used and set(filled) <= set(used) and used[0] >= 0 and used[-1] < n_columns):
        raise description.wrong(f"the columns that models look at are not among {n_columns:,}")
    return Expansion(used, filled)


def _view(saved: Saved, description: Fields, n_columns: int) -> Columns:
    source = saved.array("view_source", ["i8"], (None,))
    if not (len(source) and (source >= 0).all() and (source < n_columns).all()):
        raise description.wrong(f"the columns of the base's view are not among {n_columns:,}")
    others = [saved.array(f"view_{name}", ["f8"], source.shape) for name in _VIEW[1:]]
    return Columns(source.astype(np.intp), *others)


def _unpack_networks(
    saved: Saved, description: Fields, n_columns: int, n_classes: int, n_models: int
) -> NetworkScorer:
    n_layers = description.size("layers")
    if not 1 <= n_layers <= len(saved.content.inner("files").names):
        raise description.wrong(f"the networks have {n_layers:,} layers")

    def networks(name: str, n_networks: int) -> DenseNetworks:
        weights, biases = [], []
        width = n_columns
        for layer in range(n_layers):
            last = n_classes if layer == n_layers - 1 else None
            weights.append(saved.array(f"{name}_weights_{layer}", ["f4", "f8"], (n_networks, width, last)))
            width = weights[-1].shape[2]
            biases.append(saved.array(f"{name}_biases_{layer}", ["f4", "f8"], (n_networks, width)))
        _check_finite(description, (*weights, *biases))
        return DenseNetworks(tuple(weights), tuple(biases))

    base, members = networks("base", 1), networks("member", n_models)
    if base.widths != members.widths:
        raise description.wrong("the base and the members have layers of different widths")
    center, scale = saved.array("center", ["f4"], (n_columns,)), saved.array("scale", ["f8"], (n_columns,))
    _check_finite(description, (center, scale))
    return NetworkScorer(base, members, center, scale, description.get("trained", str))


def vectors_width(scorer: Scorer, n_columns: int) -> int:
    """Return how many numbers a row has as the last step of models that are arrays sees it."""
    if type(scorer) is TextScorer:
        return len(scorer.base_weights)
    if type(scorer) in {LinearScorer, NetworkScorer}:
        return n_columns
    from minmargin.learners.recognition import CompiledScorer  # noqa: PLC0415 - imports scikit-learn

    return len(scorer.view.source) if isinstance(scorer, CompiledScorer) else n_columns
