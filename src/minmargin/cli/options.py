"""Options that several commands have, and what their values mean."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from minmargin.checks import rows_in_share
from minmargin.cli.completion import (
    complete_device,
    complete_engine,
    complete_learner,
    complete_strategy,
)
from minmargin.data.schema import missing_column
from minmargin.errors import InputError, listing, nearest
from minmargin.learners import LEARNERS, resolve_learner
from minmargin.learners.reference import is_reference, learner_named
from minmargin.pools.uris import is_uri
from minmargin.report.pages import check_page
from minmargin.strategies import option_names


class PreprocessChoice(StrEnum):
    """What `--preprocess` takes."""

    AUTO = "auto"
    NONE = "none"


class ClassWeightChoice(StrEnum):
    """What `--class-weight` takes."""

    BALANCED = "balanced"


_LABELED = typer.Option(metavar="PATH", help="Labeled rows: Parquet, CSV or Feather; repeat for more.")
_LABEL_COLUMN = typer.Option(help="The labeled files' column that holds the class.")

LabeledFiles = Annotated[list[str], _LABELED]
LabelColumn = Annotated[str, _LABEL_COLUMN]
# Where models may live elsewhere, so that nothing has to be labeled.
MaybeLabeledFiles = Annotated[list[str] | None, _LABELED]
MaybeLabelColumn = Annotated[str | None, _LABEL_COLUMN]
MaybePoolFiles = Annotated[
    list[str] | None,
    typer.Option(
        metavar="PATH",
        help="Candidates: files, a folder or a quoted glob; repeat for more. Default: the labeled files' rows without "
        "a label.",
    ),
]
Features = Annotated[
    list[str] | None,
    typer.Option(metavar="NAMES", help="Feature columns, comma-separated or repeated; default: all."),
]
StrategyOption = Annotated[
    str,
    typer.Option(help="How to pick; see 'minmargin strategies'.", autocompletion=complete_strategy),
]
Prefilter = Annotated[
    int | None, typer.Option(help="For greedy strategies: keep only this many rows, by lowest margin.")
]
StrategyOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--strategy-option",
        metavar="NAME=VALUE",
        help="A strategy's own setting, such as oversample=8; repeat for more.",
    ),
]
LearnerOption = Annotated[
    str,
    typer.Option(
        help=f"{', '.join(LEARNERS)}, or package.module:factory of a scikit-learn classifier or of torch modules.",
        autocompletion=complete_learner,
    ),
]
OwnLearner = Annotated[
    str | None,
    typer.Option(
        "--learner",
        help="The package.module:factory that trains this campaign. It is run only if you name it.",
    ),
]
Distinct = Annotated[
    bool | None,
    typer.Option(
        "--distinct/--no-distinct",
        help="Pass over rows that look just like one picked before them; default: yes, but for random.",
        show_default=False,
    ),
]
NModels = Annotated[int, typer.Option(help="K: members trained on bootstrap draws.")]
BootstrapFraction = Annotated[float, typer.Option(help="beta: size of a bootstrap draw, per class.")]
PreprocessOption = Annotated[
    PreprocessChoice | None,
    typer.Option(
        help="auto: impute and standardize numbers, one-hot encode texts. "
        "Default: auto, but none for text and for a package.module:factory.",
    ),
]
NJobs = Annotated[int, typer.Option(help="Threads; -1 uses all cores.")]
DeviceOption = Annotated[
    str,
    typer.Option(
        help="auto, cpu or cuda: auto is a GPU where there is one and the work is worth it.",
        autocompletion=complete_device,
    ),
]
EngineOption = Annotated[
    str,
    typer.Option(
        help="Where the pool is read: local, dask, ray or spark. It never changes the batch.",
        autocompletion=complete_engine,
    ),
]
Address = Annotated[str | None, typer.Option(help="Where the engine's cluster is; default: this machine.")]
CheckpointFolder = Annotated[
    Path | None,
    typer.Option(
        help="A folder for what was found so far: if the command is interrupted, the same one goes on."
    ),
]
NetworkDevice = Annotated[
    str, typer.Option(help="Where networks are trained: auto, cpu or cuda.", autocompletion=complete_device)
]
Replace = Annotated[
    bool, typer.Option("--replace", help="Change labels that differ from those added before.")
]
NewClasses = Annotated[
    bool, typer.Option("--new-classes", help="Let classes come up that the campaign does not know.")
]
EveryClass = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAMES",
        help="All classes that may occur, labeled or not, comma-separated or repeated; default: the labels.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print as JSON, for machines.")]


BatchSize = Annotated[
    str,
    typer.Option(
        metavar="NUMBER", help="How many rows to pick: a number, or a share of the pool such as 5%."
    ),
]


def batch_size_of(text: str) -> int | str:
    """Return a number of rows, or a share as it is, and say now if it is neither.

    >>> batch_size_of("200"), batch_size_of("5%")
    (200, '5%')
    """
    try:
        return int(text)
    except ValueError:
        rows_in_share(
            "batch_size", text, 10**9
        )  # of some pool: how many rows this one has is found out later
        return text


def split(values: list[str] | None) -> list[str] | None:
    """Return names that were given comma-separated or repeated, or None if there are none."""
    if not values:
        return None
    return [name.strip() for value in values for name in value.split(",") if name.strip()]


_WORDS = {"true": True, "false": False, "none": None}


def strategy_options(strategy: str, given: list[str] | None, prefilter: int | None) -> dict[str, Any]:
    """Return a strategy's options: those that were given as NAME=VALUE, and the prefilter, if there is one.

    >>> strategy_options("cluster-margin", ["oversample=20", "n_clusters=none"], None)
    {'oversample': 20, 'n_clusters': None}
    """
    options: dict[str, Any] = {} if prefilter is None else {"prefilter": prefilter}
    known = option_names(strategy)
    has = f"Strategy {strategy!r} has {listing(known) if known else 'no options'}."
    for text in given or []:
        name, equals, value = map(str.strip, text.partition("="))
        if not equals:
            raise InputError(f"--strategy-option {text} is not NAME=VALUE. {has}")
        if name not in known:
            raise InputError(
                f"--strategy-option {text} is no option of the strategy. {has}{nearest(name, known)}"
            )
        if name in options:
            raise InputError(f"--strategy-option {text} gives {name!r} a second time. Give it once.")
        try:
            options[name] = value_of(value)
        except ValueError:
            raise InputError(
                f"--strategy-option {text} gives {value!r}, which is neither a number nor true, false or none. {has}"
            ) from None
    return options


def value_of(text: str) -> int | float | bool | None:
    """Return what a text stands for; raise ValueError if that is no value of an option."""
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    try:
        return int(text)
    except ValueError:
        number = float(text)
    if not math.isfinite(number):  # settings are kept as JSON, which has no such numbers
        raise ValueError
    return number


LearnerOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--learner-option",
        metavar="NAME=VALUE",
        help="A setting of a learner with a name, such as C=auto or class_weight=balanced; repeat for more.",
    ),
]


ClassWeight = Annotated[
    ClassWeightChoice | None,
    typer.Option(
        help="balanced: all classes count the same in training. Short for --learner-option class_weight=balanced.",
    ),
]


def learner_for(learner: str, given: list[str] | None, class_weight: ClassWeightChoice | None = None) -> Any:
    """Return the learner of a name or a reference, with the settings that were given.

    >>> learner_for("text", ["C=auto"]).C, learner_for("logistic", ["C=10", "class_weight=balanced"]).C
    ('auto', 10)
    >>> learner_for("mlp", None, ClassWeightChoice.BALANCED).class_weight
    'balanced'
    """
    options = learner_options(learner, given, class_weight)
    if learner not in LEARNERS or not options:
        return learner_named(learner)
    from minmargin.learners.options import learner_with  # noqa: PLC0415 - imports scikit-learn

    return learner_with(learner, options)


def learner_options(
    learner: str, given: list[str] | None, class_weight: ClassWeightChoice | None
) -> dict[str, Any]:
    """Return the settings of a learner that were given as NAME=VALUE, or by a flag of their own.

    >>> learner_options("logistic", ["C=10"], ClassWeightChoice.BALANCED)
    {'C': 10, 'class_weight': 'balanced'}
    """
    if not given and class_weight is None:
        return {}
    if learner not in LEARNERS:
        if learner != "given" and not is_reference(learner):
            resolve_learner(learner)  # which says what there is
        flag = "--learner-option" if given else "--class-weight"
        raise InputError(
            f"{flag} is for learners with a name ({', '.join(LEARNERS)}), and --learner is {learner}. Leave it out."
        )
    from minmargin.learners.options import option_names  # noqa: PLC0415 - imports scikit-learn

    known, options = option_names(learner), dict[str, Any]()
    for text in given or []:
        option, equals, value = map(str.strip, text.partition("="))
        if not equals or option not in known:
            what = "is no setting of the learner" if equals else "is not NAME=VALUE"
            raise InputError(
                f"--learner-option {text} {what}. Learner {learner!r} has {listing(known, most=30)}."
                f"{nearest(option, known)}"
            )
        if option in options:
            raise InputError(f"--learner-option {text} gives {option!r} a second time. Give it once.")
        try:
            options[option] = value_of(value)
        except ValueError:
            options[option] = value  # a word, such as auto or balanced
        if option == "class_weight" and class_weight is not None and options[option] != class_weight:
            raise InputError(
                f"--class-weight {class_weight} and --learner-option {text} differ. Give one of them."
            )
    return options if class_weight is None else {**options, "class_weight": str(class_weight)}


ReportOption = Annotated[
    Path | None, typer.Option(help="Where a page goes that shows the batch and why it was picked, as HTML.")
]
ReportImages = Annotated[
    str | None, typer.Option(help="The column of images, or of paths to them, for the report.")
]


def one_or_all(paths: list[str]) -> str | list[str | Path]:
    """Return the only path by itself, as messages name it, or all of them; a list of texts need not be paths."""
    return paths[0] if len(paths) == 1 else [each if is_uri(each) else Path(each) for each in paths]


def one_or_none(names: list[str] | None) -> str | list[str] | None:
    """Return the only name by itself, which may be a file; all of them; or None, if there are none."""
    return names if names is None or len(names) != 1 else names[0]


def check_report(
    report: Path | None, image_column: str | None, columns: Callable[[], Sequence[str]], of: str
) -> None:
    """Raise an error, before anything is picked, if the report cannot be written or show this column of `columns`."""
    if report is not None:
        check_page(report)
    elif image_column is not None:
        raise InputError("--image-column is for a report. Say where it goes with --report.")
    if image_column is not None and image_column not in (names := columns()):
        raise missing_column(image_column, names, of)


def preprocess_for(choice: PreprocessChoice | None, learner: str) -> Any:
    """Return what was chosen; otherwise what suits a learner: texts and what a factory makes may see raw columns."""
    if choice is not None:
        return choice.value
    return "none" if learner in {"text", "given"} or is_reference(learner) else "auto"
