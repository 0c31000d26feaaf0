"""A folder becomes a committee."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minmargin.committee.committee import Committee
from minmargin.committee.provenance import Provenance
from minmargin.committee.storage.memories import check_form, read_intake, unpack_classes, unpack_vectors
from minmargin.committee.storage.modules import unpack_modules
from minmargin.committee.storage.saved import Saved
from minmargin.committee.storage.scorers import unpack_scorer, vectors_width
from minmargin.data.intake import Intake
from minmargin.errors import InputError
from minmargin.fields import Fields
from minmargin.learners.base import Preprocessor, Scorer
from minmargin.seeds import SeedTree


def load_committee(
    folder: str | Path, *, trusted: Sequence[str] = (), factory: Callable[[], Any] | None = None
) -> Committee:
    """Return the committee that `committee.save` wrote: it scores and selects as the one that was saved.

    Nothing is unpickled. A file that was altered, cut short or written by a newer version gives an error.

    Args:
        folder: where it was saved.
        trusted: names of further types that may be made when classifiers of scikit-learn are loaded, and of the
            factory that may be imported to make torch modules. The error that refuses them names them. Name only
            what you know, from those whom you trust.
        factory: the function that makes the modules of a committee of torch modules. Nothing is imported then.
    """
    if isinstance(trusted, str):
        raise InputError(f"trusted={trusted!r} is one name. Use a list: trusted=[{trusted!r}].")
    if not (factory is None or callable(factory)):
        raise InputError(f"factory is a {type(factory).__name__}. Give the function that makes the modules.")
    saved = Saved.open(Path(folder))
    content = saved.content
    of_modules = content.inner("scorer").get("kind", str) == "modules"
    if factory is not None and not of_modules:
        raise InputError(
            f"factory makes torch modules, and {str(saved.folder)!r} has models of learner "
            f"{content.get('learner', str)!r}. Leave it out."
        )
    classes = unpack_classes(saved)
    intake = read_intake(content.inner("intake"))
    preprocess = content.choice("preprocess", ("none", "auto"))
    check_form(content.inner("intake"), intake, content.inner("scorer").get("kind", str), preprocess)
    preprocessor, n_columns = _preprocessor(saved, intake, preprocess)
    scored = _scored(content, len(classes))
    theirs = classes if scored is None else classes[scored]
    if of_modules:
        scorer: Scorer = unpack_modules(
            saved, intake, n_columns, len(theirs), factory=factory, trusted=trusted
        )
        width: int | None = n_columns
    else:
        scorer, width = _scorer(saved, theirs, n_columns, trusted)
    fraction, seed = content.optional("bootstrap_fraction", float), content.size("seed")
    labeled = content.optional("labeled", dict)
    provenance = Provenance(
        content.get("learner", str),
        intake,
        preprocess,
        fraction,
        SeedTree(seed),
        content.get("sparse", bool),
        _no_labeled_set if labeled is None else partial(dict, labeled),
        unpack_vectors(saved, width),
        content.optional("has_base", bool) is not False,  # as in every committee before files said it
        partial(str, content.optional("identity", str) or ""),
    )
    return Committee(classes, provenance, preprocessor, scorer, scored=scored)


def _no_labeled_set() -> None:
    """Return nothing: the models came without a labeled set."""


def _scored(content: Fields, n_classes: int) -> NDArray[np.intp] | None:
    """Return the places of the classes that the models score; None if they score all of them."""
    if content.optional("scored", list) is None:
        return None
    places = content.each("scored", int)
    if len(places) < 2 or places != sorted(set(places)) or places[0] < 0 or places[-1] >= n_classes:
        raise content.wrong(
            f"the classes that its models score are not two or more of {n_classes:,} in order"
        )
    return np.array(places, dtype=np.intp)


def _preprocessor(saved: Saved, intake: Intake, preprocess: str) -> tuple[Preprocessor | None, int]:
    """Return the preprocessor, and how many numbers a row has when models see it."""
    if preprocess == "none":
        return None, intake.width
    from minmargin.committee.storage.preprocessing import unpack_preprocessor  # noqa: PLC0415 - imports scikit-learn

    return unpack_preprocessor(saved, intake.columns, intake.width)


def _scorer(
    saved: Saved, classes: NDArray[Any], n_columns: int, trusted: Sequence[str]
) -> tuple[Scorer, int | None]:
    """Return the models, and how many numbers a row has as their last step sees it, if that is known."""
    n_models = saved.content.size("n_models")
    if saved.content.inner("scorer").get("kind", str) == "estimators":
        from minmargin.committee.storage.estimators import unpack_estimators  # noqa: PLC0415 - imports scikit-learn

        return unpack_estimators(saved, classes, n_models, trusted)
    scorer = unpack_scorer(saved, n_columns, len(classes), n_models)
    return scorer, vectors_width(scorer, n_columns)
