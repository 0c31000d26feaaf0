"""Status: how far a campaign has come, round by round, and how good its model is by now."""

from __future__ import annotations

import html
from dataclasses import asdict, dataclass
from typing import Any

from minmargin.campaign.audit import N_ROUNDS_IN_MEAN, Audit, Estimate, known_audits, mean_of
from minmargin.campaign.bars import bars_of
from minmargin.campaign.findings import describe
from minmargin.campaign.forecast import LEAST_POINTS, Forecast, Point, make_forecast
from minmargin.campaign.journal import Measurement
from minmargin.campaign.leading import Rating, Skew, find_skew, rated, rating_of
from minmargin.campaign.stability import Stability
from minmargin.properties import cached_property
from minmargin.skew import ACCURACY, BALANCED
from minmargin.tables import html_table, text_table


@dataclass(frozen=True)
class RoundStatus:
    """One round; number 0 stands for the rows that were labeled at the beginning.

    Attributes:
        round: its number.
        picked_at: when, in UTC; None for round 0.
        picked: how many rows it offered.
        labeled: how many of them have a label.
        withdrawn: how many went back into the pool.
        labels: how many labels there were when the round after it was picked, or are by now.
        accuracy: the base's, with these labels; None if it is not known.
        balanced_accuracy: the mean over the classes of the part of their rows that is right, None if it is not known,
            as in rounds that an earlier version measured.
        classes: how often each class was given to its rows.
        agreed: how many labels of its picks are what was predicted; None where models are trained, and for round 0.
        audited: how many of its labels are of rows that were drawn by chance.
    """

    round: int
    picked_at: str | None
    picked: int
    labeled: int
    withdrawn: int
    labels: int
    accuracy: float | None
    balanced_accuracy: float | None
    classes: dict[str, int]
    agreed: int | None = None
    audited: int = 0

    @property
    def agreement(self) -> float | None:
        """The part of its picks' labels that were predicted; None if it is not known. Picks are hard: no accuracy."""
        n_picks = self.labeled - self.audited
        return None if self.agreed is None or not n_picks else self.agreed / n_picks

    @property
    def unlabeled(self) -> int:
        """How many rows wait for a label."""
        return self.picked - self.labeled - self.withdrawn


@dataclass(frozen=True, repr=False)
class Status:
    """How far a campaign has come.

    Attributes:
        folder: of the campaign.
        rounds: what it began with, then every round.
        classes: all classes that may be given, also those that no row has.
        curve: what was measured with the labels of each round, as far as it was; that of the last one moves as its
            labels come in.
        measured: how accuracy is measured, in words.
        has_project: whether a round was pushed to a labeling tool.
        given: whether probabilities are given in every round, so that there is no accuracy.
        next_flags: what the command for the next round then takes.
        audits: what the rows that rounds drew by chance tell of the rounds' models.
        stability: how far the models of successive rounds agree; None if hints to stop were not asked for.
    """

    folder: str
    rounds: tuple[RoundStatus, ...]
    classes: tuple[str, ...]
    curve: tuple[Measurement, ...]
    measured: str
    has_project: bool
    given: bool = False
    next_flags: tuple[str, ...] = ()
    audits: tuple[Audit, ...] = ()
    stability: Stability | None = None

    @property
    def labels(self) -> int:
        """How many labeled rows there are, with those of the beginning."""
        return sum(each.labeled for each in self.rounds)

    @property
    def unlabeled(self) -> int:
        """How many picked rows wait for a label."""
        return sum(each.unlabeled for each in self.rounds)

    @property
    def accuracy(self) -> float | None:
        """The base's accuracy with the labels of now; None if it is not known."""
        return self.rounds[-1].accuracy

    @property
    def balanced_accuracy(self) -> float | None:
        """The base's balanced accuracy with the labels of now; None if it is not known."""
        return self.rounds[-1].balanced_accuracy

    @cached_property
    def skew(self) -> Skew | None:
        """The class that has so many of the rows that accuracy tells little; None if there is none."""
        measured = self.curve[-1] if self.curve else None
        return find_skew(measured, mean_of(known_audits(self.audits)), self.rounds[0].classes)

    @property
    def leading(self) -> str:
        """The score that comes first: balanced accuracy where classes are skewed and it is known, or else accuracy."""
        known = any(each.balanced_accuracy is not None for each in self.curve) or known_audits(self.audits)
        return BALANCED if self.skew is not None and known else ACCURACY

    @property
    def caution(self) -> str | None:
        """What the most common class alone would give, in a sentence; None where accuracy is clearly above it.

        Where classes are skewed it is always said.
        """
        last = self.curve[-1] if self.curve else None
        rating = None if last is None else rating_of(last)
        if (
            last is None
            or rating is None
            or (self.skew is None and rating.is_better_than_a_guess(skewed=False))
        ):
            return None
        rows = "held-out" if last.way == "held-out" else "labeled"
        return (
            f"Always saying {rating.common.name!r} would be right in {rating.guess:.1%} of the {rows} rows."
        )

    @property
    def audited(self) -> Estimate:
        """What the last audits tell in the mean."""
        return mean_of(known_audits(self.audits)[-N_ROUNDS_IN_MEAN:])

    @property
    def rating(self) -> Rating | None:
        """How the model does by class on rows that were drawn by chance, or else on labeled ones; None if unknown."""
        last = self.curve[-1] if self.curve else None
        if self.audited.tested and (last is None or last.way != "held-out"):
            return rating_of(self.audited)
        return None if last is None else rating_of(last)

    @property
    def points(self) -> list[Point]:
        """The measured accuracies that a forecast can go by: those on held-out rows, or else those of audits.

        Cross-validation measures on picked rows, and its curve is not that of accuracy.
        """
        on_held_out = [each for each in self.curve if each.way == "held-out"]
        if on_held_out:
            return [Point(each.labels, each.correct, each.tested) for each in on_held_out]
        known = known_audits(self.audits)
        return [Point(each.labels, each.estimate.correct, each.estimate.tested) for each in known]

    @cached_property
    def forecast(self) -> Forecast | None:
        """How many more labels one more point of accuracy takes.

        None before enough was measured to tell, and where classes are skewed and accuracy is not clearly above that of
        always naming one class: a point more of it would be worth nothing.
        """
        return None if self._is_no_better_in_accuracy else make_forecast(self.points, self.labels)

    @property
    def _is_no_better_in_accuracy(self) -> bool:
        rating = self.rating
        return (
            self.skew is not None and rating is not None and not rating.is_better_than_a_guess(skewed=False)
        )

    @property
    def hints(self) -> list[str]:
        """That it may be time to stop, a sentence for each reason; none if hints were not asked for."""
        if self.stability is None:
            return []
        better = self.rating is None or self.rating.is_better_than_a_guess(skewed=self.skew is not None)
        hints = []
        # Where classes are skewed, accuracy stands still while a rare class is learned.
        if self.forecast is not None and self.forecast.far and better and self.skew is None:
            hints.append(
                f"Time to stop? Even at best, one more point of accuracy takes as many labels as there are by now "
                f"({self.labels:,})."
            )
        if self.stability.stable and better:
            hints.append(
                f"Time to stop? {self.stability.sentence} Stable is not right: this tells that more labels like "
                "these change little, and not how good the model is."
            )
        return hints

    def notes(self) -> list[str]:
        """Return what audits tell, what is to be expected of more labels, and hints, in sentences."""
        return [*describe(self.audits, self.skew), *self._expected(), *self._settled(), *self.hints]

    def _expected(self) -> list[str]:
        n_points = len({each.labels for each in self.points})
        if not n_points:
            return []
        if self._is_no_better_in_accuracy and self.skew is not None:
            as_good = f"the model is not clearly better than always saying {self.skew.name!r}"
            return [f"Forecast: none. It would be of accuracy, by which {as_good}."]
        if self.forecast is None:
            there = "is 1" if n_points == 1 else f"are {n_points}"
            return [f"Forecast: cannot tell yet. It takes {LEAST_POINTS} measured models, and there {there}."]
        said = [self.forecast.sentence]
        if known_audits(self.audits) and any(each.way == "held-out" for each in self.curve):
            said.append("It goes by the held-out rows, and not by the audits.")
        if self.skew is not None:
            said.append("It is of accuracy, which tells little of the rarer classes.")
        return [" ".join(said)]

    def _settled(self) -> list[str]:
        """Return how far successive models agree, where that is no reason to stop."""
        if self.stability is None or any(self.stability.sentence in hint for hint in self.hints):
            return []
        if self.stability.stable:
            but = "But the model is not clearly better than always saying the same, so that is no reason to stop."
            return [f"{self.stability.sentence} {but}"]
        return [self.stability.sentence]

    @property
    def sentence(self) -> str:
        """All of it in a sentence."""
        n_rounds = len(self.rounds) - 1
        rounds = "1 round" if n_rounds == 1 else f"{n_rounds:,} rounds"
        waiting = f", {self.unlabeled:,} {waiting_rows(self.unlabeled)}" if self.unlabeled else ""
        return f"{rounds}, {self.labels:,} labels{waiting}{self._scores()}."

    def _scores(self) -> str:
        if self.accuracy is None:
            return ""
        if self.balanced_accuracy is None:
            return f"; accuracy {self.accuracy:.1%}"
        if self.skew is None:
            return f"; accuracy {self.accuracy:.1%}, balanced {self.balanced_accuracy:.1%}"
        rating = rating_of(self.curve[-1])
        guess = "" if rating is None else f" (always {rating.common.name!r}: {rating.guess:.1%})"
        return f"; balanced accuracy {self.balanced_accuracy:.1%}, accuracy {self.accuracy:.1%}{guess}"

    def cells(self) -> tuple[list[str], list[list[str]]]:
        """Return the headings and the cells of a table of rounds."""
        withdrawn = any(each.withdrawn for each in self.rounds)
        head = [
            "round",
            "picked",
            "labeled",
            "waiting",
            *(["withdrawn"] if withdrawn else []),
            "labels",
            *(["agreement"] if self.given else self._in_order("accuracy", "balanced accuracy")),
            *([] if not self.audits else ["audit"] if self.skew is None else ["audit, balanced"]),
        ]
        body = [
            [
                "begin" if each.round == 0 else str(each.round),
                f"{each.picked:,}",
                f"{each.labeled:,}",
                f"{each.unlabeled:,}",
                *([f"{each.withdrawn:,}"] if withdrawn else []),
                f"{each.labels:,}",
                *self._measured_cells(each),
                *([self._audit_cell(each)] if self.audits else []),
            ]
            for each in self.rounds
        ]
        return head, body

    def _measured_cells(self, line: RoundStatus) -> list[str]:
        if self.given:
            return ["" if line.agreement is None else f"{line.agreement:.1%}"]
        if line.accuracy is None:
            return ["", ""]
        return self._in_order(f"{line.accuracy:.1%}", _percent(line.balanced_accuracy))

    def _in_order(self, accuracy: str, balanced: str) -> list[str]:
        return [accuracy, balanced] if self.skew is None else [balanced, accuracy]

    def _audit_cell(self, line: RoundStatus) -> str:
        """Return how good the model with a line's labels was on the rows that the next round drew."""
        found = next((each.estimate for each in self.audits if each.round == line.round + 1), None)
        rating = None if found is None else rating_of(found)
        if found is None or rating is None:
            return ""
        score = found.accuracy if self.skew is None else rating.balanced_accuracy
        low, high = rating.interval if self.skew is None else rating.balanced_interval
        return "" if score is None else f"{score:.1%} ({low:.1%} to {high:.1%})"

    def to_dict(self) -> dict[str, Any]:
        """Return all of it, ready for JSON."""
        known = known_audits(self.audits)
        forecast = self.forecast
        return {
            "folder": self.folder,
            "labels": self.labels,
            "unlabeled": self.unlabeled,
            "accuracy": self.accuracy,
            "balanced_accuracy": self.balanced_accuracy,
            "leading": self.leading,
            "skew": None if self.skew is None else self.skew._asdict(),
            "measured": self.measured,
            "classes": list(self.classes),
            "rounds": [
                {**asdict(each), "agreement": each.agreement, "unlabeled": each.unlabeled}
                for each in self.rounds
            ],
            "curve": [
                {
                    **each._asdict(),
                    "classes": {name: {"correct": n, "tested": of} for name, n, of in each.classes},
                    "accuracy": each.accuracy,
                    **rated(each),
                }
                for each in self.curve
            ],
            "audits": [{**each.to_dict(), **rated(each.estimate)} for each in self.audits],
            "audit_mean": {
                "rounds": len(known[-N_ROUNDS_IN_MEAN:]),
                **self.audited.to_dict(),
                **rated(self.audited),
            }
            if known
            else None,
            "forecast": None if forecast is None else forecast.to_dict(),
            "stability": None if self.stability is None else self.stability.to_dict(),
            "hints": self.hints,
        }

    @property
    def title(self) -> str:
        """What is shown above the table of rounds."""
        return f"Campaign {self.folder}: {self.sentence}"

    def __repr__(self) -> str:
        return f"<Status of {self.folder!r}: {self.sentence}>"

    def __str__(self) -> str:
        head, body = self.cells()
        return "\n".join([self.title, text_table(head, body), *self.curve_lines()])

    def curve_lines(self) -> list[str]:
        """Return the learning curve as a line of bars, with its ends and how it was measured.

        Where classes are skewed, that of balanced accuracy comes first.
        """
        known = [(each.labels, each.accuracy) for each in self.curve if each.accuracy is not None]
        notes = [self.measured, *([self.caution] if self.caution else []), *self.notes()]
        if self.skew is not None and self.leading == BALANCED:
            notes.insert(1, self.skew.sentence)
        if not known:
            return notes
        balanced = [
            (each.labels, each.balanced_accuracy) for each in self.curve if each.balanced_accuracy is not None
        ]
        if self.skew is None or not balanced:
            return [bars_of(known), *notes]
        return [f"balanced accuracy {bars_of(balanced)}", f"accuracy {bars_of(known)}", *notes]

    def _repr_html_(self) -> str:
        head, body = self.cells()
        notes = "".join(f"<p>{html.escape(line)}</p>" for line in self.curve_lines())
        return f"<p><b>Campaign</b>: {html.escape(self.sentence)}</p>{html_table(head, body)}{notes}"


def waiting_rows(n: int) -> str:
    """Return the words for a number of picked rows without a label.

    >>> waiting_rows(1), waiting_rows(2)
    ('picked row waits for a label', 'picked rows wait for a label')
    """
    return "picked row waits for a label" if n == 1 else "picked rows wait for a label"


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.1%}"  # noqa: RUF001 - a dash, for what is not known
