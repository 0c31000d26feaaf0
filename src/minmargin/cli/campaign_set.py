"""`minmargin campaign set`: other settings from the next round on."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer
from rich.markup import escape

from minmargin.campaign import Campaign
from minmargin.cli.campaign import Folder, campaign_app
from minmargin.cli.flags import SpelledError
from minmargin.cli.options import AsJson, OwnLearner, StrategyOptions, split, strategy_options, value_of
from minmargin.cli.show import make_console
from minmargin.errors import InputError

# The leading \\b keeps the lines as they are, so that the example can be copied.
_EXAMPLE = """\b
Example:
  minmargin campaign set cards batch_size=100 audit=50
  minmargin campaign set cards strategy=spread --strategy-option oversample=8
"""


@campaign_app.command("set", epilog=_EXAMPLE)
def set_command(
    folder: Folder,
    changes: Annotated[
        list[str],
        typer.Argument(
            metavar="NAME=VALUE...",
            help="batch_size, strategy, distinct, keep, n_models, bootstrap_fraction, folds, audit or stop_hints.",
        ),
    ],
    strategy_option: StrategyOptions = None,
    learner: OwnLearner = None,
    as_json: AsJson = False,
) -> None:
    """Change settings from the next round on, all of them or none."""
    campaign = Campaign.open(folder, learner=learner)
    asked = changes_of(changes)
    if strategy_option:
        named = str(asked.get("strategy", campaign.settings.strategy))
        asked["strategy_options"] = strategy_options(named, strategy_option, None)
    try:
        meanings = campaign.set(**asked)
    except InputError as error:
        raise SpelledError(str(error)) from error
    if as_json:
        typer.echo(json.dumps({"changes": meanings}, indent=2))
        return
    console = make_console()
    for meaning in meanings or ("Nothing is changed: these are the settings.",):
        console.print(escape(meaning))


def changes_of(given: list[str]) -> dict[str, Any]:
    """Return settings that were given as NAME=VALUE: numbers, true, false, none, and texts; `keep` is a list.

    >>> changes_of(["batch_size=50", "strategy=spread", "keep=text,url"])
    {'batch_size': 50, 'strategy': 'spread', 'keep': ['text', 'url']}
    """
    changes: dict[str, Any] = {}
    for text in given:
        name, equals, value = map(str.strip, text.partition("="))
        if not equals:
            raise SpelledError(f"{text} is not NAME=VALUE. Write batch_size=50, say.")
        if name in changes:
            raise SpelledError(f"{text} gives {name!r} a second time. Give it once.")
        if name == "keep":
            changes[name] = (split([value]) or []) if value else []
            continue
        try:
            changes[name] = value_of(value)
        except ValueError:
            changes[name] = value
    return changes
