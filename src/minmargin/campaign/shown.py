"""A campaign as it shows itself: how far it has come, where its files are, and what to do next."""

from __future__ import annotations

import html
import shlex

from minmargin.campaign.folder import CampaignFolder
from minmargin.campaign.hints import next_call, next_flags
from minmargin.campaign.status import Status
from minmargin.campaign.stock import status_of
from minmargin.campaign.values import to_text


def status_in(files: CampaignFolder) -> Status:
    """Return how far the campaign in a folder has come, as far as it was measured: to look at it trains no model."""
    settings = files.settings
    initial = files.initial()[settings.label_column].to_pylist()
    return status_of(
        files.journal,
        str(files.path),
        [str(to_text(label, settings.label_kind)) for label in initial],
        settings,
        has_project=files.has_project,
        agreed=files.count_agreed() if settings.given else None,
        next_flags=next_flags(settings, files.journal),
    )


def show_text(files: CampaignFolder) -> str:
    """Return a campaign in two lines; they take no file but the journal."""
    n_rounds = len(files.journal.rounds())
    offers, labels = files.journal.offers(), files.journal.labels()
    rounds = "1 round" if n_rounds == 1 else f"{n_rounds:,} rounds"
    return (
        f"<Campaign {str(files.path)!r}: {rounds}, {len(labels):,} of {len(offers):,} picked rows labeled>\n"
        f"{_next_step(files)}"
    )


def show_html(files: CampaignFolder) -> str:
    """Return a campaign for a notebook: its status, and below it where its files are and the next step."""
    n_rounds = len(files.journal.rounds())
    places = {"Folder": files.path}
    if n_rounds:
        places["Last batch"] = files.batch_path(n_rounds)
    lines = [f"{name}: <code>{html.escape(str(path))}</code>" for name, path in places.items()]
    return (
        f"{status_in(files)._repr_html_()}<p>{'<br>'.join(lines)}</p><p>{html.escape(_next_step(files))}</p>"
    )


def _next_step(files: CampaignFolder) -> str:
    """Return what takes a campaign further, in a sentence."""
    counts, labels = files.journal.counts(), files.journal.labels().values()
    last = len(counts)
    picked, withdrawn = counts.get(last, (0, 0))
    waiting = picked - withdrawn - sum(label.round == last for label in labels)
    if not waiting:
        call = next_call(files.journal) if files.settings.given else "next()"
        return f"Next: pick round {last + 1} with {call}."
    rows = "1 row" if waiting == 1 else f"{waiting:,} rows"
    asked = f"the labels of {rows} of round {last}"
    if files.has_project:
        return f"Next: fetch {asked} with minmargin campaign pull {shlex.quote(str(files.path))}."
    return f"Next: add {asked} with add_labels(...)."
