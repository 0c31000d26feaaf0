"""What the shell offers when the tab key is pressed after an option: names that this package knows."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from minmargin.campaign.settings import GIVEN
from minmargin.experiments.datasets import DATASETS
from minmargin.learners import LEARNERS
from minmargin.scan.engines import ENGINES
from minmargin.strategies import strategies


def complete_strategy(incomplete: str) -> list[tuple[str, str]]:
    """Return the strategies that begin so, with their meaning, which some shells show."""
    return [(each.name, each.summary) for each in strategies() if each.name.startswith(incomplete)]


def _from(names: Iterable[str]) -> Callable[[str], list[str]]:
    known = list(names)

    def complete(incomplete: str) -> list[str]:
        return [name for name in known if name.startswith(incomplete)]

    return complete


complete_learner = _from(LEARNERS)
complete_campaign_learner = _from([*LEARNERS, GIVEN])
complete_dataset = _from(DATASETS)
complete_engine = _from(ENGINES)
complete_device = _from(["auto", "cpu", "cuda"])
complete_experiment = _from(
    ["gaussian", "theorem", "benchmark", "tuning", "mnist", "fashion", "large", "all"]
)
