"""Errors of the library as the command line tells them: arguments are spelled as flags."""

from __future__ import annotations

import re
import shlex

from minmargin.errors import MinMarginError
from minmargin.strategies import option_names, strategies


class SpelledError(MinMarginError):
    """An error in the words of its command already: its settings are no flags."""


# An argument with its value, or alone where its name cannot be an ordinary word.
_ARGUMENT = re.compile(
    r"(?<!--strategy-option )\b"
    r"(?:(batch_size|bootstrap_fraction|n_models|n_jobs|preprocess|prefilter|features|id_column|keep|device|precision"
    r"|classes|learner|missing|batch_sizes|n_labeled|test_size|n_draws|scoring|rounds|strategies"
    r"|unlabeled_ok|requeue|replace|new_classes|distinct|values|columns|probabilities|labeled|label_column"
    r"|audit|folds|engine|address|chunk_size|checkpoint|random_state|keep_labeled|exclude|stop_hints)"
    r"(<=|>=|=)(?:'([^']*)'|\"([^\"]*)\"|(\[\.\.\.\]|\.\.\.|[^\s.,;'\"]*))|(batch_sizes?|bootstrap_fraction|n_models|n_jobs|id_column|n_labeled|test_size)\b)"
)
_DATE = re.compile(r"\bdate=\{'([^']*)': '([^']*)'\}")
_MARK = re.compile(r"\b(decimal|thousands)=(?:'([^']*)'|\"([^\"]*)\")")
# Columns or texts, each in quotes.
_NAMED = re.compile(r"\b(drop|date|missing|category|number)=\[((?:'[^']*'(?:, )?)+)(?: and \d+ more)?\]")
_STRATEGY = re.compile(r"\bstrategy='([\w-]+)'")
_OF_NO_USE = re.compile(r"^\w+(?= is of no use with )")
_NO_POOL = re.compile(r"\b([Ww])ith pool=None")
# Where the flag has another name than the argument.
_OTHER_FLAGS = {"unlabeled_ok": "--even-so", "random_state": "--seed"}
# Somebody's own words: a label, a column, a path. An apostrophe within a word opens nothing.
_QUOTED = re.compile(r"""(?<![\w'"])(?:'[^']*'|"[^"]*")""")


def with_flags(message: str) -> str:
    """Return a message of the library with its arguments spelled as flags.

    >>> with_flags("Use preprocess='auto', or leave it out with features=[...].")
    'Use --preprocess auto, or leave it out with --features NAMES.'
    >>> with_flags("Go on without them with unlabeled_ok=True, or use new_classes=True.")
    'Go on without them with --even-so, or use --new-classes.'
    >>> with_flags("Name it as id_column. The pool has 3 features. Use batch_size<=3.")
    'Name it as --id-column. The pool has 3 features. Use --batch-size <= 3.'
    >>> with_flags("Use batch_size<=50, or distinct=False.")
    'Use --batch-size <= 50, or --no-distinct.'
    >>> with_flags("Say which, with date={'day': '%m/%d/%Y'}. Declare it with missing=[...].")
    'Say which, with --date day=%m/%d/%Y. Declare it with --missing TEXTS.'
    >>> with_flags("With pool=None, -1 stands for no label.")
    'Without --pool, -1 stands for no label.'
    >>> with_flags("held_out is of no use with learner='given'. Leave it out.")
    '--held-out is of no use with --learner given. Leave it out.'
    >>> with_flags("Use missing=['?', 'not known'], or drop=['age'].")
    "Use --missing '?,not known', or --drop age."
    >>> with_flags("If they are, use decimal=',' and thousands=' '.")
    "If they are, use --decimal ',' and --thousands ' '."
    >>> with_flags("batch_size='0.1%' of 300 rows is no row. There is no id_column='row id'.")
    "--batch-size 0.1% of 300 rows is no row. There is no --id-column 'row id'."
    >>> with_flags("Give the forest more trees, such as n_estimators=500.")
    'Give the forest more trees, such as --learner-option n_estimators=500.'
    >>> with_flags("oversample=0 is too low. Raise memory_limit, or use strategy='power-margin'.")
    '--strategy-option oversample=0 is too low. Raise --strategy-option memory_limit, or use --strategy power-margin.'
    >>> with_flags("The pool's column 'columns=3' is not there. Use audit<=10.")
    "The pool's column 'columns=3' is not there. Use --audit <= 10."
    """

    def spell(found: re.Match[str]) -> str:
        if any(start < found.start() < end for start, end in quoted):
            return found[0]
        name, relation, single, double, value, alone = found.groups()
        flag = _OTHER_FLAGS.get(name) or _flag(name or alone)
        if single is not None or double is not None:
            return f"{flag} {_as_value(double if single is None else single)}"
        value = value or ""
        if value == "False":
            return flag.replace("--", "--no-", 1)
        value = "" if value == "True" else value.replace("[...]", "TEXTS" if name == "missing" else "NAMES")
        return " ".join(filter(None, [flag, relation if relation in {"<=", ">="} else "", value]))

    message = message.replace("such as n_estimators=", "such as --learner-option n_estimators=")
    message = _DATE.sub(_as_form, _NAMED.sub(_as_list, message))
    message = _OF_NO_USE.sub(lambda found: _flag(found[0]), _MARK.sub(_as_mark, message))
    message = _NO_POOL.sub(
        r"\1ithout --pool", message.replace("select(..., pool=None)", "select with pool=None")
    )
    quoted = [each.span() for each in _QUOTED.finditer(message)]
    return _with_strategy_options(_STRATEGY.sub(r"--strategy \1", _ARGUMENT.sub(spell, message)))


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _as_value(text: str) -> str:
    """Return a value as it is typed after a flag; one with blanks needs quotes.

    >>> print(_as_value("5%"), _as_value("row id"), _as_value("owner's"), _as_value(""))
    5% 'row id' "owner's" ''
    """
    return f'"{text}"' if "'" in text else shlex.quote(text)


def _as_mark(found: re.Match[str]) -> str:
    """Return a mark as a flag, always in quotes: a comma or a point would be lost in the sentence."""
    name, mark, single = found.groups(default="")
    return f'--{name} "{single}"' if single == "'" else f"--{name} '{mark or single}'"


def _as_form(found: re.Match[str]) -> str:
    """Return a date column with its form as a flag; a form with blanks needs quotes."""
    return f"--date {shlex.quote(f'{found[1]}={found[2]}')}"


def _as_list(found: re.Match[str]) -> str:
    names = re.findall(r"'([^']*)'", found[2])
    return f"--{found[1]} {shlex.quote(','.join(names))}"


def _with_strategy_options(message: str) -> str:
    """Return a message with the options of strategies spelled as flags; names in quotes are only talked about."""
    names = sorted({name for entry in strategies() for name in option_names(entry.name)} - {"prefilter"})
    with_value = "|".join(map(re.escape, names))
    alone = "|".join(re.escape(name) for name in names if "_" in name)
    option = re.compile(
        rf"(?<!--strategy-option )(?<!')\b(?:({with_value})=(?:(True|False|None)\b)?|({alone})\b(?!'))"
    )

    def spell(found: re.Match[str]) -> str:
        name, word, only = found.groups(default="")
        return f"--strategy-option {only or f'{name}={word.lower()}'}"

    return option.sub(spell, message)
