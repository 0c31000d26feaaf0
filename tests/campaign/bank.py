"""A made-up bank, of whose customers few say yes, as a campaign's status tells of it."""

from __future__ import annotations

from minmargin.campaign.journal import ClassTally, Measurement
from minmargin.campaign.status import RoundStatus, Status


def bank(*right: tuple[int, int], way: str = "held-out") -> Status:
    """Return the status of a campaign with 884 rows of "no" and 116 of "yes", so many of which were right each time."""
    curve = tuple(
        Measurement(
            place,
            40 + 20 * place,
            no + yes,
            1000,
            way,
            (ClassTally("no", no, 884), ClassTally("yes", yes, 116)),
        )
        for place, (no, yes) in enumerate(right)
    )
    rounds = tuple(
        RoundStatus(
            place,
            None,
            40 if place == 0 else 20,
            40 if place == 0 else 20,
            0,
            each.labels,
            each.accuracy,
            each.balanced_accuracy,
            {},
        )
        for place, each in enumerate(curve)
    )
    return Status("bank", rounds, ("no", "yes"), curve, "Accuracy of the base on the held-out rows.", False)
