"""A committee becomes a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minmargin.committee.provenance import Provenance
from minmargin.committee.storage.folders import write_folder
from minmargin.committee.storage.index import INDEX, check_replaceable, write_index
from minmargin.committee.storage.memories import describe_intake, pack_classes, pack_vectors
from minmargin.committee.storage.packed import Packed
from minmargin.committee.storage.scorers import pack_scorer
from minmargin.learners.base import Preprocessor, Scorer
from minmargin.manifest import describe_software


def save_committee(
    folder: str | Path,
    classes: NDArray[Any],
    scored: NDArray[np.intp] | None,
    provenance: Provenance,
    preprocessor: Preprocessor | None,
    scorer: Scorer,
) -> Path:
    """Write the parts of a committee into a folder, whole or not at all, and return the folder.

    `scored` are the places of the classes that the models score; None: of all.
    """
    path = Path(folder)
    models, labels = pack_scorer(scorer), pack_classes(classes)
    tables = _pack_preprocessor(preprocessor)
    vectors = pack_vectors(provenance)
    content = {
        "learner": provenance.learner,
        "n_models": scorer.n_members,
        "bootstrap_fraction": provenance.bootstrap_fraction,
        "seed": provenance.seeds.root,
        "preprocess": provenance.preprocess,
        "sparse": provenance.sparse,
        "scored": None if scored is None else scored.tolist(),
        "has_base": provenance.has_base,
        "identity": provenance.identity(),
        "labeled": provenance.labeled(),
        "intake": describe_intake(provenance.intake),
        "preprocessor": None if tables is None else tables.description,
        "scorer": models.description,
        "vectors": vectors.description,
        "versions": describe_software(),
    }
    files = models.files | labels.files | vectors.files | ({} if tables is None else tables.files)
    # A link stays a link: what it leads to is replaced.
    write_folder(path.resolve(), {**files, INDEX: write_index(content, files)}, check_replaceable)
    return path


def _pack_preprocessor(preprocessor: Preprocessor | None) -> Packed | None:
    if preprocessor is None:
        return None
    from minmargin.committee.storage.preprocessing import pack_preprocessor  # noqa: PLC0415 - imports scikit-learn

    return pack_preprocessor(preprocessor)
