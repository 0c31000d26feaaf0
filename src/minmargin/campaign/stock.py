"""Taking stock: what the journal of a campaign tells of its rounds, counted."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from minmargin.campaign.audit import Audit
from minmargin.campaign.journal import Journal, Label
from minmargin.campaign.measuring import how_measured
from minmargin.campaign.settings import Settings
from minmargin.campaign.stability import Model, compare_models
from minmargin.campaign.status import RoundStatus, Status


def status_of(
    journal: Journal,
    folder: str,
    initial: Sequence[str],
    settings: Settings,
    *,
    has_project: bool,
    agreed: Mapping[int, int] | None = None,
    next_flags: tuple[str, ...] = (),
) -> Status:
    """Return the status that a journal tells.

    Args:
        journal: of the campaign.
        folder: of the campaign.
        initial: the labels of the beginning, as the journal writes them.
        settings: of the campaign.
        has_project: whether a round was pushed to a labeling tool.
        agreed: for each round, how many labels of its picks were predicted; None where models are trained.
        next_flags: what the command for the next round takes besides the folder.
    """
    measurements, counts, rounds = journal.measurements(), journal.counts(), journal.rounds()
    by_round: dict[int, Counter[str]] = defaultdict(Counter)
    by_round[0].update(initial)
    labels = journal.labels()
    for label in labels.values():
        by_round[label.round][label.label] += 1
    audits = _audits_of(journal, labels, len(initial))
    audited = {each.round: each.estimate.tested for each in audits}
    # What a round has brought is what the next one knew.
    knew = [*(each.addition for each in rounds), journal.last_addition()]
    lines = []
    for number, addition in enumerate(knew):
        picked, withdrawn = counts[number] if number else (len(initial), 0)
        found = measurements.get(addition)
        lines.append(
            RoundStatus(
                round=number,
                picked_at=rounds[number - 1].picked_at if number else None,
                picked=picked,
                labeled=by_round[number].total(),
                withdrawn=withdrawn,
                labels=len(initial) + len(journal.labels(addition)),
                accuracy=None if found is None else found.accuracy,
                balanced_accuracy=None if found is None else found.balanced_accuracy,
                classes=dict(by_round[number]),
                agreed=None if agreed is None else agreed.get(number),
                audited=audited.get(number, 0),
            )
        )
    # Labels may come in several parts. What was measured in between is no round's end, and would bend the curve.
    curve = tuple(measurements[addition] for addition in dict.fromkeys(knew) if addition in measurements)
    return Status(
        folder=folder,
        rounds=tuple(lines),
        classes=tuple(journal.classes()),
        curve=curve,
        measured=how_measured(settings, n_rounds=len(rounds), audits=audits),
        has_project=has_project,
        given=agreed is not None,
        next_flags=next_flags,
        audits=audits,
        stability=compare_models(_models_of(journal, len(initial))) if settings.stop_hints else None,
    )


def _models_of(journal: Journal, n_initial: int) -> list[Model]:
    """Return the models of the rounds that had a stop set. What was given is one model, if it is the same again."""
    given, predicted = journal.evidence(), journal.stop_sets()
    return [
        Model(
            made.number,
            n_initial + len(journal.labels(made.addition)),
            given[made.number].fingerprint if made.number in given else made.addition,
            predicted[made.number],
        )
        for made in journal.rounds()
        if made.number in predicted
    ]


def _audits_of(journal: Journal, labels: Mapping[str, Label], n_initial: int) -> tuple[Audit, ...]:
    """Return the audits of a journal. A row that went back into the pool is no audit row of the round that lost it."""
    predicted = journal.audits()
    return tuple(
        Audit.of(
            made.number,
            n_initial + len(journal.labels(made.addition)),
            predicted[made.number],
            {each: label.label for each, label in labels.items() if label.round == made.number},
        )
        for made in journal.rounds()
        if made.number in predicted
    )
