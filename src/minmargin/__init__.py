"""minmargin: decide what to label next.

Exact minimum-margin active learning (Jiang & Gupta 2019), and every method that the paper compares it with,
over pools of any size.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from minmargin.batch import Batch, Pick
from minmargin.committee.committee import Committee
from minmargin.committee.training import fit_committee
from minmargin.compare import compare
from minmargin.data.reading import Reading
from minmargin.errors import (
    DataWarning,
    InputError,
    MemberFitError,
    MinMarginError,
    MissingExtraError,
    ScoringError,
)
from minmargin.inspection import Inspection, inspect
from minmargin.learners import LogisticLearner, MLPLearner, TextLearner
from minmargin.learners.module import ModuleLearner
from minmargin.progress import show_progress
from minmargin.selection import select, select_from_probabilities
from minmargin.strategies import (
    Badge,
    BalancedMargin,
    ClusterMargin,
    KCenters,
    PowerMargin,
    RandomMarginMix,
    Reasons,
    SoftRank,
    Spread,
    TrueMargin,
    register_strategy,
    strategies,
)
from minmargin.strategies.candidates import Candidates
from minmargin.version import __version__

if TYPE_CHECKING:
    from minmargin.campaign import Campaign
    from minmargin.committee.storage.loading import load_committee
    from minmargin.compare.comparison import Comparison
    from minmargin.learners.batched import BatchedLogisticRegression

__all__ = [
    "Badge",
    "BalancedMargin",
    "Batch",
    "BatchedLogisticRegression",
    "Campaign",
    "Candidates",
    "ClusterMargin",
    "Committee",
    "Comparison",
    "DataWarning",
    "InputError",
    "Inspection",
    "KCenters",
    "LogisticLearner",
    "MLPLearner",
    "MemberFitError",
    "MinMarginError",
    "MissingExtraError",
    "ModuleLearner",
    "Pick",
    "PowerMargin",
    "RandomMarginMix",
    "Reading",
    "Reasons",
    "ScoringError",
    "SoftRank",
    "Spread",
    "TextLearner",
    "TrueMargin",
    "__version__",
    "compare",
    "fit_committee",
    "inspect",
    "load_committee",
    "register_strategy",
    "select",
    "select_from_probabilities",
    "show_progress",
    "strategies",
]


# Imported when first asked for, since each brings along what most programs do without.
_LAZY = {
    "BatchedLogisticRegression": "minmargin.learners.batched",  # scikit-learn, slower to import than all of this
    "Campaign": "minmargin.campaign",  # SQLite
    "Comparison": "minmargin.compare.comparison",
    "load_committee": "minmargin.committee.storage.loading",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LAZY[name]), name)


def __dir__() -> list[str]:
    return __all__
