"""How a campaign goes on: the commands that come next, and what is there after an interruption."""

from __future__ import annotations

import shlex
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from minmargin.campaign import Campaign, Status
from minmargin.campaign.settings import FILE
from minmargin.cli.interruption import in_checkpoint
from minmargin.cli.tables import show_table
from minmargin.device import check_device
from minmargin.skew import BALANCED

#: Below it, guesses that annotators see may do more harm than good.
_TRUSTED = 0.6
#: What an interrupted command leaves behind that adds labels.
ADDED_OR_NOT = "Either all labels were added or none; the same command adds those that are missing."


def begun(folder: Path) -> str:
    """Return whether a campaign has begun, by now."""
    if (folder / FILE).exists():
        return f"The campaign has begun; {command_for('next', folder)} goes on."
    return "No campaign was begun; the same command begins anew."


def picked(campaign: Campaign, n_before: int, checkpoint: Path | None) -> str:
    """Return what there is of the next round, by now."""
    number = campaign.n_rounds
    if number > n_before:
        return f"Round {number} was picked, and is in {campaign.batch_path(number)}."
    if checkpoint is not None:
        return in_checkpoint(checkpoint)
    return f"No round was picked, and the campaign is as it was; {next_for(campaign)} picks it anew."


def command_for(name: str, folder: Path, *more: str) -> str:
    """Return a command line of this family, ready to be copied."""
    return " ".join(["minmargin campaign", name, shlex.quote(str(folder)), *more])


def next_for(campaign: Campaign, *more: str) -> str:
    """Return the command line that picks the next round of a campaign, ready to be copied."""
    return command_for("next", campaign.folder, *campaign.next_flags, *more)


def show_status(status: Status, console: Console) -> None:
    """Print the rounds and the learning curve."""
    head, body = status.cells()
    console.print(escape(status.title))
    show_table(console, head, body, right=head)
    for text in status.curve_lines():
        console.print(escape(text))


def say_next(console: Console, steps: dict[str, str]) -> None:
    """Print the commands that go on, with what each is for, if there are several."""
    for place, (command, purpose) in enumerate(steps.items()):
        which = "  or:" if place else "Next:"
        console.print(f"{which} [bold]{escape(command)}[/bold]{purpose and f'  ({purpose})'}")


def poor_score(campaign: Campaign, *, n_jobs: int = -1, device: str = "auto") -> str | None:
    """Return what the model's score is, if it is so low that annotators had better not see its guesses; else None."""
    status = campaign.status(n_jobs=n_jobs, device=check_device(device))
    score = status.balanced_accuracy if status.leading == BALANCED else status.accuracy
    if score is None or score >= _TRUSTED:
        return None
    return f"{status.leading.replace('_', ' ')} is {score:.1%}"
