"""minmargin: decide what to label next.

Exact minimum-margin active learning (Jiang & Gupta 2019), and every method that the paper compares it with,
over pools of any size.
"""

from typing import TYPE_CHECKING, Any

from minmargin.batch import Batch
from minmargin.committee.committee import Committee
from minmargin.committee.training import fit_committee
from minmargin.compare import compare
from minmargin.errors import (
    DataWarning,
    InputError,
    MemberFitError,
    MinMarginError,
    MissingExtraError,
    ScoringError,
)
from minmargin.learners import LogisticLearner, MLPLearner, TextLearner
from minmargin.learners.module import ModuleLearner
from minmargin.progress import show_progress
from minmargin.selection import select
from minmargin.strategies import (
    BalancedMargin,
    KCenters,
    RandomMarginMix,
    Reasons,
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
    "BalancedMargin",
    "Batch",
    "BatchedLogisticRegression",
    "Campaign",
    "Candidates",
    "Committee",
    "Comparison",
    "DataWarning",
    "InputError",
    "KCenters",
    "LogisticLearner",
    "MLPLearner",
    "MemberFitError",
    "MinMarginError",
    "MissingExtraError",
    "ModuleLearner",
    "RandomMarginMix",
    "Reasons",
    "ScoringError",
    "TextLearner",
    "TrueMargin",
    "__version__",
    "compare",
    "fit_committee",
    "load_committee",
    "register_strategy",
    "select",
    "show_progress",
    "strategies",
]


def __getattr__(name: str) -> Any:
    # A scikit-learn estimator, and importing scikit-learn takes longer than importing this package.
    if name == "BatchedLogisticRegression":
        from minmargin.learners.batched import BatchedLogisticRegression  # noqa: PLC0415 - see above

        return BatchedLogisticRegression
    # It brings SQLite along.
    if name == "Campaign":
        from minmargin.campaign import Campaign  # noqa: PLC0415 - see above

        return Campaign
    # Few programs compare strategies.
    if name == "Comparison":
        from minmargin.compare.comparison import Comparison  # noqa: PLC0415 - see above

        return Comparison
    # Few programs load a committee.
    if name == "load_committee":
        from minmargin.committee.storage.loading import load_committee  # noqa: PLC0415 - see above

        return load_committee
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
