"""The options for probabilities that others have computed, and what they may be joined with."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import typer

from minmargin.cli.completion import complete_campaign_learner
from minmargin.cli.options import split
from minmargin.errors import InputError
from minmargin.learners import LEARNERS
from minmargin.selection.scored_rows import ColumnNames

Probabilities = Annotated[
    list[str] | None,
    typer.Option(
        metavar="PATH",
        help="In place of labeled rows: files with the probabilities of your own models; repeat for more files. With "
        ".npy files, the pool may be a table that has their ids.",
    ),
]
ProbabilityColumns = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAMES",
        help="Where the probabilities are: a column a class, such as 'p_*', or a list column a model. Repeat for more "
        "models. Default: all columns that have no other use.",
    ),
]
GivenValues = Annotated[
    str, typer.Option(help="What these numbers are: probabilities, log-probabilities or logits.")
]
BaseColumns = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAMES", help="Columns of the model that was trained on all labels, if there is one."
    ),
]

# Those of campaigns, whose rounds take them.
CampaignLearner = Annotated[
    str,
    typer.Option(
        help=f"{', '.join(LEARNERS)}, or package.module:factory of a scikit-learn classifier or of torch modules; "
        "given: models live elsewhere, and every round takes their probabilities.",
        autocompletion=complete_campaign_learner,
    ),
]
RoundProbabilities = Annotated[
    list[str] | None,
    typer.Option(
        metavar="PATH",
        help="With --learner given: files with the pool's ids and what your models say; repeat for more files.",
    ),
]
RoundFeatures = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAMES", help="Columns of these files with embeddings of the rows, if there are any."
    ),
]
RoundClasses = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAMES",
        help="The classes in the order of the columns; default: as the columns are called, or the campaign's.",
    ),
]

_OF_TRAINING = (
    "labeled",
    "label_column",
    "learner",
    "learner_option",
    "class_weight",
    "keep_labeled",
    "n_models",
    "bootstrap_fraction",
    "preprocess",
)
_OF_GIVEN = ("columns", "values", "base")


class Inputs(NamedTuple):
    """Files to read.

    Attributes:
        labeled: labeled rows; none if probabilities are given.
        label_column: their column that holds the class.
        pool: the candidates; none if they are the labeled files' rows without a label, or those of the probabilities.
        probabilities: what models say of them; none if models are trained.
    """

    labeled: list[str]
    label_column: str
    pool: list[str]
    probabilities: list[str]

    @property
    def rows(self) -> list[str]:
        """The files that hold the candidates."""
        return self.pool or self.probabilities or self.labeled


def check_inputs(
    context: typer.Context,
    labeled: list[str] | None,
    label_column: str | None,
    pool: list[str] | None,
    probabilities: list[str] | None,
) -> Inputs:
    """Return the files to read: labeled rows, or probabilities, and nothing that only the other one uses."""
    unused = _OF_GIVEN if probabilities is None else _OF_TRAINING
    for name in unused:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            fix = "is for --probabilities" if probabilities is None else "is of no use with --probabilities"
            raise InputError(f"{_flag(name)} {fix}. Leave it out.")
    if probabilities is not None:
        return Inputs([], "", pool or [], probabilities)
    asked = {"labeled": labeled, "label_column": label_column}
    missing = [_flag(name) for name, value in asked.items() if not value]
    if missing:
        raise InputError(
            f"Without {' and '.join(missing)} there is nothing to select by. Give --labeled and --label-column, or "
            "--probabilities of your own."
        )
    return Inputs(labeled or [], label_column or "", pool or [], [])


def columns_of_models(columns: list[str] | None) -> ColumnNames | None:
    """Return the columns of each model: each time that --columns was given is another one.

    >>> columns_of_models(["p_*"]), columns_of_models(["a,b"]), columns_of_models(["a,b", "c,d"])
    ('p_*', ['a', 'b'], [['a', 'b'], ['c', 'd']])
    """
    models = [split([each]) or [] for each in columns or []]
    if len(models) == 1:
        return models[0][0] if len(models[0]) == 1 else models[0]
    return models or None


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")
