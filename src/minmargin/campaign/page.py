"""The page on a campaign: its learning curve, its rounds, the classes that came up, and how to go on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minmargin.campaign.audit import N_ROUNDS_IN_MEAN, Estimate, known_audits, wilson
from minmargin.campaign.changes import changes_made, explain
from minmargin.campaign.curves import balanced_of, draw_audit, draw_curve
from minmargin.campaign.journal import Change, Measurement
from minmargin.campaign.leading import rating_of
from minmargin.campaign.measuring import interval
from minmargin.campaign.settings import Settings
from minmargin.campaign.status import Status, waiting_rows
from minmargin.errors import listing
from minmargin.files import write_text

if TYPE_CHECKING:
    from markupsafe import Markup

_CLASS_COLORS = ("blue", "vermilion", "green", "gold", "purple", "ink")
_N_CLASSES_IN_TABLE = 100  # the others are there when they are asked for


def write_page(path: str | Path, status: Status, settings: Settings, changes: Sequence[Change]) -> Path:
    """Write the page and return its path; `changes` are those of the journal."""
    page = _page(status, settings, changes)
    return write_text(path, page)


def _page(status: Status, settings: Settings, changes: Sequence[Change]) -> str:
    from minmargin.report.pages import render  # noqa: PLC0415 - reports are an extra

    head, body = status.cells()
    counts = _class_counts(status)
    has_curve = any(each.accuracy is not None for each in status.curve)
    return render(
        "campaign.html.jinja",
        name=Path(status.folder).resolve().name,
        lead=_lead(status),
        caution=status.caution,
        recalled=_recalled(status),
        n_audits=min(N_ROUNDS_IN_MEAN, len(known_audits(status.audits))),
        skew=status.skew,
        measured=status.measured + (" The band is a 95% interval." if settings.held_out else ""),
        numbers=_numbers(status),
        audit=draw_audit(status) if known_audits(status.audits) else None,
        audited=_audit_table(status),
        notes=status.notes(),
        curve=draw_curve(status, held_out=settings.held_out) if has_curve else None,
        mix=_draw_mix(status, [name for name, count in counts.most_common() if count]),
        given=status.given,
        rounds=(head, body),
        classes=_class_table(status, sorted(counts, key=lambda name: (counts[name], name))),
        n_shown=_N_CLASSES_IN_TABLE,
        facts=[*_facts(settings), *_changed(changes_made(changes, settings))],
        commands=_commands(status),
    )


def _lead(status: Status) -> str:
    """Return what the labels have brought, and no more than can be told from so many rows."""
    known = [each for each in status.curve if each.accuracy is not None]
    n_rounds = sum(each.labeled > 0 for each in status.rounds[1:])
    rounds = "1 round" if n_rounds == 1 else f"{n_rounds:,} rounds"
    more = status.labels - status.rounds[0].labeled
    audits = known_audits(status.audits)
    by_audit = len(audits) > 1 and not any(each.way == "held-out" for each in known)
    points: list[tuple[int, Measurement | Estimate]] = (
        [(each.labels, each.estimate) for each in audits]
        if by_audit
        else [(each.labels, each) for each in known]
    )
    if status.skew is not None and more and len(balanced_of(points).labels) > 1:
        return f"{more:,} labels in {rounds}{_balanced_change(points, by_audit=by_audit)}"
    if by_audit:
        (first_low, first_high), (low, high) = audits[0].estimate.interval, audits[-1].estimate.interval
        return (
            f"{more:,} labels in {rounds}. By audits, the model was right in {first_low:.1%} to {first_high:.1%} of "
            f"the rest of the pool with {audits[0].labels:,} labels, and in {low:.1%} to {high:.1%} with "
            f"{audits[-1].labels:,}."
        )
    if not more or len(known) < 2:
        return f"The campaign has {status.sentence}"
    first, last = known[0], known[-1]
    low, high = interval(last)
    if low <= (first.accuracy or 0.0) <= high:
        balanced = ""
        if first.balanced_accuracy is not None and last.balanced_accuracy is not None:
            balanced = (
                f" Balanced accuracy was {first.balanced_accuracy:.1%} and is {last.balanced_accuracy:.1%}."
            )
        return (
            f"{more:,} labels in {rounds} brought no clear change in accuracy: it was {first.accuracy:.1%} with "
            f"{first.labels:,} labels, and is {last.accuracy:.1%} with {last.labels:,}.{balanced}"
        )
    return (
        f"{more:,} labels in {rounds} took the model from {first.accuracy:.1%} accuracy, with {first.labels:,} labels, "
        f"to {last.accuracy:.1%}, with {last.labels:,}."
    )


def _balanced_change(points: Sequence[tuple[int, Measurement | Estimate]], *, by_audit: bool) -> str:
    """Return what has become of balanced accuracy, and what accuracy is beside that of a constant guess."""
    lead = balanced_of(points)
    before, after = f"with {lead.labels[0]:,} labels", f"with {lead.labels[-1]:,}"
    (first_low, first_high), (low, high) = lead.ends[0], lead.ends[-1]
    first, last = lead.scores[0], lead.scores[-1]
    rating = rating_of(points[-1][1])
    guess = "" if rating is None else f", where always saying {rating.common.name!r} has {rating.guess:.1%}"
    accuracy = f"Accuracy is {points[-1][1].accuracy or 0.0:.1%}{guess}."
    if by_audit:
        return (
            f". By audits, balanced accuracy was {first_low:.1%} to {first_high:.1%} {before}, and {low:.1%} to "
            f"{high:.1%} {after}. {accuracy}"
        )
    if low <= first <= high:
        return (
            f" brought no clear change in balanced accuracy: it was {first:.1%} {before}, and is {last:.1%} {after}. "
            f"{accuracy}"
        )
    return f" took the model from {first:.1%} balanced accuracy, {before}, to {last:.1%}, {after}. {accuracy}"


def _numbers(status: Status) -> list[tuple[str, str]]:
    n_rounds = len(status.rounds) - 1
    numbers = [
        (f"{n_rounds:,}", "round" if n_rounds == 1 else "rounds"),
        (f"{status.labels:,}", "labels"),
        (f"{status.unlabeled:,}", waiting_rows(status.unlabeled)),
    ]
    scores = [(status.accuracy, "accuracy"), (status.balanced_accuracy, "balanced accuracy")]
    known = known_audits(status.audits)
    if known:
        last = known[-1].estimate
        rating = rating_of(last)
        balanced = None if rating is None or status.skew is None else rating.balanced_accuracy
        scores += [
            (last.accuracy, "accuracy by the last audit")
            if balanced is None
            else (balanced, "balanced accuracy by the last audit")
        ]
    if status.skew is not None:
        scores = [scores[1], scores[0], *scores[2:]]
    return numbers + [(f"{score:.1%}", name) for score, name in scores if score is not None]


def _audit_table(status: Status) -> tuple[list[str], list[list[str]]]:
    """Return precision and recall of each class with their intervals, over the last audits, the rarest class first."""
    body = [
        [
            each.name,
            f"{each.labeled:,}",
            _with_interval(each.correct, each.labeled),
            f"{each.predicted:,}",
            _with_interval(each.correct, each.predicted),
        ]
        for each in sorted(status.audited.classes, key=lambda each: (each.labeled, each.name))
    ]
    return ["class", "rows", "recall", "taken for it", "precision"], body


def _with_interval(correct: int, tested: int) -> str:
    if not tested:
        return ""
    low, high = wilson(correct, tested)
    return f"{correct / tested:.1%} ({low:.1%} to {high:.1%})"


def _draw_mix(status: Status, names: list[str]) -> Markup | None:
    """Return what part of each round's labels each class has; None where a picture would not tell it.

    That is before a round has labels, and with so many classes that those with a color have less than half of them.
    """
    from minmargin.report.drawing import COLORS, drawn, inline  # noqa: PLC0415 - an extra

    shown = [each for each in status.rounds if each.labeled]
    # One color fewer, if there are more classes than colors: the rest share one.
    named = names if len(names) <= len(_CLASS_COLORS) else names[: len(_CLASS_COLORS) - 1]
    n_named = sum(each.classes.get(name, 0) for each in shown for name in named)
    if len(shown) < 2 or 2 * n_named < status.labels:
        return None
    height = 0.9 + 0.27 * len(shown)
    with drawn(7.0, height) as (figure, axes):
        left = [0.0] * len(shown)
        for place, name in enumerate([*named, None] if len(named) < len(names) else named):
            counts = [
                each.labeled - sum(each.classes.get(other, 0) for other in named)
                if name is None
                else each.classes.get(name, 0)
                for each in shown
            ]
            widths = [count / each.labeled for count, each in zip(counts, shown, strict=True)]
            axes.barh(
                range(len(shown)),
                widths,
                left=left,
                height=0.72,
                color=COLORS["faint"] if name is None else COLORS[_CLASS_COLORS[place]],
                label=f"{len(names) - len(named):,} others" if name is None else _short(name),
            )
            left = [start + width for start, width in zip(left, widths, strict=True)]
        axes.set_yticks(
            range(len(shown)), ["begin" if each.round == 0 else f"round {each.round}" for each in shown]
        )
        axes.invert_yaxis()
        axes.set_xlim(0, 1)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        figure.legend(
            loc="outside upper left",
            ncols=3 if max(map(len, named)) > 10 else 6,
            handlelength=0.9,
            columnspacing=1.2,
        )
        return inline(
            figure, "What part of each round's labels each class has; the table below has the counts."
        )


def _class_counts(status: Status) -> Counter[str]:
    """Return how many labels each class has, in the order of their names; also those that no row has yet."""
    counts: Counter[str] = Counter(dict.fromkeys(sorted(status.classes), 0))
    for each in status.rounds:
        counts.update(each.classes)
    return counts


def _class_table(status: Status, names: list[str]) -> tuple[list[str], list[list[str]]]:
    """Return how many labels each round gave to each class, and what the model by now makes of the class."""
    shown = [each for each in status.rounds if each.labeled]
    recalls = {each.name: f"{each.recall:.1%}" for each in status.curve[-1].classes} if status.curve else {}
    head = ["class", *("begin" if each.round == 0 else f"round {each.round}" for each in shown), "all"]
    body = []
    for name in names:
        counts = [each.classes.get(name, 0) for each in shown]
        recall = [recalls.get(name, "")] if recalls else []
        body.append([name, *(f"{count:,}" for count in counts), f"{sum(counts):,}", *recall])
    return [*head, *(["recall"] if recalls else [])], body


def _recalled(status: Status) -> str:
    """Return by which rows the recall of the table of classes is; empty where it has none."""
    last = status.curve[-1] if status.curve else None
    if last is None or not last.classes:
        return ""
    of_class = "Recall is the part of the class's"
    by_chance = (
        "that of the audits above is by rows drawn by chance, for the models that predicted them"
        if known_audits(status.audits)
        else ""
    )
    if last.way == "held-out":
        return f"{of_class} held-out rows that the model by now has right{by_chance and '; '}{by_chance}."
    crossed = f"{of_class} labeled rows that is right in {last.way} cross-validation"
    if not by_chance:
        return f"{crossed}."
    differ = "The two differ where labeled rows are no sample of the pool: there, the audits count."
    return f"{crossed}; {by_chance}. {differ}"


def _facts(settings: Settings) -> list[tuple[str, Any]]:
    options, of_learner = (
        ", ".join(f"{name}={value}" for name, value in (each or {}).items())
        for each in (settings.strategy_options, settings.learner_options)
    )
    training = {
        "features": f"{len(settings.feature_names):,}: {listing(settings.feature_names)}",
        "learner": (settings.learner or "an object given in Python")
        + (f" ({of_learner})" if of_learner else ""),
        "members": f"{settings.n_models} (bootstrap fraction {settings.bootstrap_fraction:g})",
        "preprocess": settings.preprocess,
    }
    facts = {
        "pool": ", ".join(settings.pool),
        "id column": settings.id_column or "none: rows are known by their number",
        "label column": settings.label_column,
        "strategy": settings.strategy + (f" ({options})" if options else ""),
        **({"learner": "none: probabilities are given in every round"} if settings.given else training),
        "rows a round": f"{settings.batch_size:,}"
        + (f", and {settings.audit:,} drawn by chance" if settings.audit else ""),
        "seed": str(settings.seed),
    }
    return list(facts.items())


def _changed(changes: Sequence[Change]) -> list[tuple[str, str]]:
    """Return what each change means, and when it was made; the other facts are those of now."""
    return [
        (f"changed after round {each.round}" if each.round else "changed before round 1", meaning)
        for each, meaning in zip(changes, explain(changes), strict=True)
    ]


def _commands(status: Status) -> str:
    """Return the commands that take the campaign further."""
    import shlex  # noqa: PLC0415 - for this page only

    folder = shlex.quote(status.folder)
    steps: dict[str, str] = {}
    if status.rounds[-1].unlabeled:
        steps |= {f"push {folder}": "label in Label Studio,", f"pull {folder}": "and fetch the labels;"}
        if not status.has_project:
            steps[f"add-labels {folder} labels.csv"] = "or add labels from elsewhere;"
    steps |= {
        " ".join(["next", folder, *status.next_flags]): "then pick the next batch",
        f"status {folder}": "and see what the labels bring",
    }
    width = max(map(len, steps))
    return "\n".join(f"minmargin campaign {step:{width}}  # {what}" for step, what in steps.items())


def _short(name: str) -> str:
    return name if len(name) <= 24 else name[:23] + "…"
