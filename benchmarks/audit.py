"""How often audits and forecasts of campaigns are right, where the truth is known.

A campaign is simulated many times on labeled data: 300 labeled rows, a pool of 8,000, rounds of 50 picks by min-margin
and 50 rows drawn by chance. Everything goes through `Campaign`, and labels are the true ones.

*Audits.* Each of the first five rounds gives a 95% interval for the accuracy of its model on what it leaves of the
pool. That accuracy is known here. The mean over the last three rounds is compared with the mean of their models.

*Forecasts.* After five rounds, `status` says how many more labels one more point takes, by the audits, or by 2,000
held-out rows. The first 50 campaigns then go on, and the truth is read off their mean accuracy on the other rows, some
ten thousand, made to rise steadily: a forecast is of what is to be expected, not of one campaign's luck. If the point
is not reached by the end, all that is known is that it takes more. A forecast *tells* if its interval is narrow enough
to be said; *all* counts the others, too, whose ends are open.

The rules were chosen on ag-news, covtype and fashion-mnist. What counts is what they do on sets that nobody had looked
at then: mnist, bank-marketing and flights-3m.

    python benchmarks/audit.py [--quick] [--sets mnist] [--repetitions 20] [--jobs -1] [--data FOLDER]
                               [--parts FOLDER] [--json FILE]

    A campaign that is on disk in --parts is not simulated again, unless the rules are others by now.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import sys
import tempfile
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.isotonic import IsotonicRegression

import minmargin as mm
from measuring import Report, Table, arguments_of, figure
from minmargin.campaign import audit as auditing
from minmargin.campaign import forecast as forecasting
from minmargin.campaign.audit import Audit, mean_of, wilson
from minmargin.campaign.forecast import CONFIDENCE, GAIN, Forecast, Point, make_forecast

ROOT = Path(__file__).parents[1]
DATA, PARTS = ROOT / ".study-data", ROOT / "build" / "audit"
SETS = ("mnist", "bank-marketing", "flights-3m")
N_LABELED, N_POOL, N_HELD_OUT = 300, 8_000, 2_000
N_PICKS, N_AUDIT, N_ROUNDS = 50, 50, 5
N_MODELS = 5
#: Labels of rounds after the forecast, and how many campaigns play these.
LARGER, N_LONG = (100, 150, 250, 400, 700), 50
ENOUGH = 0.02
#: What a campaign that is kept depends on.
RULES = ", ".join(
    [
        f"{N_LABELED} labeled, pool of {N_POOL}, {N_HELD_OUT} held out, {N_ROUNDS} rounds of {N_PICKS} and {N_AUDIT}",
        f"K={N_MODELS}, then {LARGER}",
        *(
            f"{path.name} {hashlib.sha256(path.read_bytes()).hexdigest()[:12]}"
            for path in (Path(str(module.__file__)) for module in (auditing, forecasting))
        ),
    ]
)


class Repetition(NamedTuple):
    """What one simulated campaign gave.

    Attributes:
        audits: of the first rounds.
        truths: the accuracy of their models on what they left of the pool.
        by_audit: the forecast after these rounds by the audits.
        by_held_out: and by the held-out rows.
        labels: how many there were each time that the model was tried on the other rows; of those that go on alone.
        accuracies: and its accuracy there.
        seconds: that it took.
    """

    audits: list[Audit]
    truths: list[float]
    by_audit: Forecast | None
    by_held_out: Forecast | None
    labels: list[int]
    accuracies: list[float]
    seconds: float


def repeat(path: Path, repetition: int, *, larger: Sequence[int]) -> Repetition:
    """Return what one campaign gives; after the forecast it goes on, with so many labels in each round."""
    start = time.perf_counter()
    with np.load(path) as arrays:
        X, y = arrays["X"].astype(np.float64), arrays["y"].astype(int)
    order = np.random.default_rng(repetition).permutation(len(y))
    names = [f"x{column}" for column in range(X.shape[1])]
    rows = pd.DataFrame(X, columns=names).assign(y=y, key=np.arange(len(y))).iloc[order]
    ends = np.cumsum([N_LABELED, N_POOL, N_HELD_OUT])
    labeled, pool, held_out, others = np.split(np.arange(len(y)), ends)
    truth = dict(zip(rows["key"].tolist(), rows["y"].tolist(), strict=True))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "pool.parquet"
        rows.iloc[pool].drop(columns="y").to_parquet(file)
        campaign = mm.Campaign.init(
            Path(folder) / "campaign",
            labeled=rows.iloc[labeled],
            label_column="y",
            pool=str(file),
            id_column="key",
            classes=sorted(set(truth.values()) - set(rows["y"].iloc[labeled])),
            batch_size=N_PICKS,
            audit=N_AUDIT,
            n_models=N_MODELS,
            held_out=rows.iloc[held_out],
            random_state=repetition,
        )
        labels_of_pool = rows["y"].to_numpy()[pool]
        gone = np.zeros(N_POOL, dtype=bool)
        truths: list[float] = []
        tried: list[tuple[int, float]] = []
        for number, n_labels in enumerate([N_PICKS + N_AUDIT] * N_ROUNDS + list(larger)):
            batch = campaign.next(n_labels - N_AUDIT, n_jobs=1)
            if number < N_ROUNDS:
                gone[batch.picks.rows] = True
                right = predictions_of(batch) == labels_of_pool
                truths.append(float(right[~gone].mean()))
                gone[batch.rows] = True
            if larger:
                tried.append(accuracy_on(campaign, rows.iloc[others], names))
            campaign.add_labels({key: truth[key] for key in batch.ids.tolist()}, n_jobs=1)
            if number == N_ROUNDS - 1:
                status = campaign.status(n_jobs=1)
        if larger:
            tried.append(accuracy_on(campaign, rows.iloc[others], names))
        by_audit = [Point(each.labels, each.estimate.correct, each.estimate.tested) for each in status.audits]
        return Repetition(
            list(status.audits),
            truths,
            make_forecast(by_audit, status.labels),
            make_forecast(status.points, status.labels),  # also where `status` would withhold it
            [labels for labels, _ in tried],
            [accuracy for _, accuracy in tried],
            time.perf_counter() - start,
        )


def predictions_of(batch: mm.Batch) -> np.ndarray:
    """Return what the model that a batch was picked by takes every row of the pool for."""
    assert batch.origin is not None
    return np.asarray(batch.origin.classes[batch.origin.scan.class_scores("base").argmax(axis=1)])


def accuracy_on(campaign: mm.Campaign, rows: pd.DataFrame, names: list[str]) -> tuple[int, float]:
    """Return how many labels there are, and how often a model that has learned from them is right."""
    labeled = campaign.labeled().to_pandas()
    model = mm.fit_committee(labeled[names], labeled["y"], n_models=0, random_state=0, n_jobs=1)
    return len(labeled), float((model.predict(rows[names], n_jobs=1) == rows["y"].to_numpy()).mean())


def labels_for_a_point(repetitions: list[Repetition], now: int) -> float:
    """Return how many labels beyond `now` the mean accuracy takes to gain a point; infinity if it does not."""
    labels = np.array(repetitions[0].labels, dtype=float)
    mean = np.mean([each.accuracies for each in repetitions if each.accuracies], axis=0)
    rising = IsotonicRegression().fit_transform(labels, mean)
    wanted = float(np.interp(now, labels, rising)) + GAIN
    if rising[-1] < wanted:
        return float("inf")
    place = int(np.argmax(rising >= wanted))
    low, high = rising[place - 1], rising[place]
    return float(
        labels[place - 1] + (wanted - low) / (high - low) * (labels[place] - labels[place - 1]) - now
    )


def holds(forecast: Forecast, truth: float, furthest: float) -> bool:
    """Return whether a forecast's interval holds the truth, or what is known of it."""
    if np.isinf(truth):
        return forecast.high is None or forecast.high >= furthest
    return forecast.low <= truth and (forecast.high is None or truth <= forecast.high)


def share(hits: list[bool]) -> str:
    """Return a share, and how exactly so many tries tell it."""
    if not hits:
        return "-"
    low, high = wilson(sum(hits), len(hits))
    return f"{np.mean(hits):.1%} ({low:.1%} to {high:.1%})"


def main() -> None:
    """Simulate campaigns on all sets."""
    arguments = arguments_of(
        __doc__,
        sets=(",".join(SETS), "names of packed sets"),
        repetitions=(20, "campaigns of each set"),
        jobs=(-1, "how many at a time"),
        data=(DATA, "the folder of packed sets, which `minmargin study --pack` makes"),
        parts=(PARTS, "the folder of campaigns that were simulated"),
    )
    if not arguments.data.is_dir():
        print(f"audit: skipped, there is no {arguments.data}.")
        return
    n_repetitions = 2 if arguments.quick else arguments.repetitions
    larger = LARGER[:2] if arguments.quick else LARGER
    report = Report(__file__, __doc__, arguments)
    audits = Table(
        "Audits: how often a 95% interval holds the truth",
        ["set", "repetitions", "seconds each", "accuracy", "error of the mean", "one round", "mean of three"],
    )
    forecasts = Table(
        f"Forecasts: how often a {CONFIDENCE:.0%} interval holds the truth",
        ["set", "by", "labels for one more point", "tell", "of these", "all", "interval, in the median"],
    )
    covered: list[bool] = []
    held: list[bool] = []
    names = arguments.sets.split(",")
    for name in names[:1] if arguments.quick else names:
        played: list[Repetition] = Parallel(n_jobs=arguments.jobs)(
            delayed(simulate_once)(
                arguments.parts, arguments.data / f"{name}.npz", number, larger if number < N_LONG else ()
            )
            for number in range(n_repetitions)
        )
        one, three = covered_by_audits(played)
        covered += one
        errors = [
            each.estimate.correct / each.estimate.tested - truth
            for done in played
            for each, truth in zip(done.audits, done.truths, strict=True)
        ]
        audits.rows.append(
            [
                name,
                f"{len(played):,}",
                figure(float(np.mean([each.seconds for each in played]))),
                f"{np.mean([each.truths for each in played]):.1%}",
                f"{100 * np.mean(errors):+.2f} ± {196 * np.std(errors) / np.sqrt(len(errors)):.2f} points",
                share(one),
                share(three),
            ]
        )
        print(audits.rows[-1], flush=True)
        for by, row, hits in rows_of_forecasts(played):
            forecasts.rows.append([name, by, *row])
            held += hits
            print(forecasts.rows[-1], flush=True)
    report.add(audits)
    report.add(forecasts)
    report.goal(
        "audit: 95% intervals hold the truth 95% of the time, within 2 points",
        share(covered),
        met=abs(float(np.mean(covered)) - 0.95) <= ENOUGH,
    )
    report.goal(
        f"audit: forecasts that tell hold the truth at least {CONFIDENCE:.0%} of the time",
        share(held),
        met=bool(held) and float(np.mean(held)) >= CONFIDENCE - ENOUGH,
    )
    report.write()


def simulate_once(parts: Path, path: Path, repetition: int, larger: Sequence[int]) -> Repetition:
    """Return what one campaign gives. What is on disk is not simulated again; what is not is put there, whole."""
    part = parts / f"{path.stem}.{repetition}.{len(larger)}"
    if part.exists():
        rules, kept = pickle.loads(part.read_bytes())  # noqa: S301 - written below
        if rules != RULES:
            sys.exit(
                f"{part} was simulated by other rules ({rules}; now: {RULES}). Use another folder with --parts."
            )
        return Repetition(*kept)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = repeat(path, repetition, larger=larger)
    parts.mkdir(parents=True, exist_ok=True)
    begun = part.with_suffix(f"{part.suffix}.{os.getpid()}")
    begun.write_bytes(pickle.dumps((RULES, tuple(found))))
    begun.replace(part)
    return found


def covered_by_audits(played: list[Repetition]) -> tuple[list[bool], list[bool]]:
    """Return for each audit whether its interval holds the truth, and the same for the means of the last three."""
    one, three = [], []
    for done in played:
        for audit, truth in zip(done.audits, done.truths, strict=True):
            low, high = audit.estimate.interval
            one.append(low <= truth <= high)
        low, high = mean_of(done.audits[-3:]).interval
        three.append(bool(low <= np.mean(done.truths[-3:]) <= high))
    return one, three


def rows_of_forecasts(played: list[Repetition]) -> list[tuple[str, list[str], list[bool]]]:
    """Return for each kind of forecast the cells of its row, and whether each that tells is right."""
    now = N_LABELED + N_ROUNDS * (N_PICKS + N_AUDIT)
    furthest = played[0].labels[-1] - now
    truth = labels_for_a_point(played, now)
    kinds: dict[str, list[Any]] = {
        "audits": [done.by_audit for done in played],
        "held-out rows": [done.by_held_out for done in played],
    }
    found = []
    for by, made in kinds.items():
        told = [each for each in made if each.tells]
        hits = [holds(each, truth, furthest) for each in told]
        middle = (
            [int(np.median([each.low for each in told])), int(np.median([each.high for each in told]))]
            if told
            else []
        )
        row = [
            f"more than {furthest:,.0f}" if np.isinf(truth) else f"{truth:,.0f}",
            f"{len(told) / len(made):.0%}",
            share(hits),
            share([holds(each, truth, furthest) for each in made]),
            " to ".join(f"{end:,}" for end in middle) or "-",
        ]
        found.append((by, row, hits))
    return found


if __name__ == "__main__":
    main()
