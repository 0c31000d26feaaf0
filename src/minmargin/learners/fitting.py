"""Training the base and the members side by side, with errors that say which one failed and on what."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from joblib import Parallel, delayed

from minmargin.errors import MemberFitError, MinMarginError
from minmargin.execution import Progress, one_thread_each
from minmargin.labeled import Bootstrap, LabeledSet

Model = TypeVar("Model")


def fit_all(
    fit_one: Callable[[int | None], Model],
    labeled: LabeledSet,
    bootstrap: Bootstrap,
    n_members: int,
    *,
    n_jobs: int,
    progress: Progress,
) -> tuple[Model, list[Model]]:
    """Return the base, fit_one(None), and the members, fit_one(0), fit_one(1), ...

    The base comes first and alone: what is wrong with a learner or its data shows after one fit.
    Members are trained by threads, so nothing needs to be pickled; joblib.parallel_config can
    choose another backend. Matrix products stay on one thread each, or they would fight for cores.
    """
    total = n_members + 1
    progress("training", 0, total)
    members = []
    with one_thread_each():
        base = _explained(fit_one, None, n_members, labeled, bootstrap)
        progress("training", 1, total)
        fits = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")(
            delayed(_explained)(fit_one, member, n_members, labeled, bootstrap) for member in range(n_members)
        )
        for done, model in enumerate(fits, start=2):
            members.append(model)
            progress("training", done, total)
    return base, members


def _explained(
    fit_one: Callable[[int | None], Model],
    member: int | None,
    n_members: int,
    labeled: LabeledSet,
    bootstrap: Bootstrap,
) -> Model:
    try:
        return fit_one(member)
    except MinMarginError:
        raise
    except Exception as error:
        if member is None:
            who, sizes = "The base model", labeled.counts
        else:
            who, sizes = f"Member {member} of {n_members}", bootstrap.sizes
        classes = ", ".join(
            f"{name!r}: {int(n):,}" for name, n in zip(labeled.classes.tolist(), sizes, strict=True)
        )
        raise MemberFitError(
            f"{who} failed to fit on {int(sizes.sum()):,} rows (classes {classes}): "
            f"{type(error).__name__}: {error}"
        ) from error
