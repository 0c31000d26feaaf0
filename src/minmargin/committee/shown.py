"""How a committee shows itself, in a terminal and in a notebook."""

from __future__ import annotations

import html
from typing import Any

from numpy.typing import NDArray

from minmargin.committee.provenance import Provenance
from minmargin.learners.penalty import Choice
from minmargin.tables import html_table


def show(n_models: int, classes: NDArray[Any], provenance: Provenance, choice: Choice | None) -> str:
    """Return a line that tells the members, the learner and the first classes."""
    names = ", ".join(map(repr, classes.tolist()[:5])) + (", …" if len(classes) > 5 else "")
    return f"<Committee: {n_models} members, learner {_learner(provenance, choice)}, classes {names}>"


def show_as_html(n_models: int, classes: NDArray[Any], provenance: Provenance, choice: Choice | None) -> str:
    """Return the same for a notebook, with the labeled rows of each class."""
    labeled = provenance.labeled()
    rows = "no labeled set" if labeled is None else f"{labeled['rows']:,} labeled rows"
    names = map(str, classes.tolist())
    counts = dict.fromkeys(names, "") if labeled is None else labeled["class_counts"]
    shown = [(name, n if n == "" else f"{n:,}") for name, n in counts.items()]
    more = f"<p>and {len(shown) - 10:,} more classes</p>" if len(shown) > 10 else ""
    return (
        f"<p><b>Committee</b>: {n_models} members, learner {html.escape(_learner(provenance, choice))}, "
        f"{rows}, seed {provenance.seeds.root}</p>{html_table(['class', 'labeled rows'], shown[:10])}{more}"
    )


def _learner(provenance: Provenance, choice: Choice | None) -> str:
    return provenance.learner + ("" if choice is None else f" with C={choice.C:g}")
