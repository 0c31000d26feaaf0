"""What a report says about a batch in numbers: members, pairs of classes, shares, distances, settings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from minmargin.manifest import classes_of, empty_classes, labeled_part
from minmargin.report.neighbors import NearCopies
from minmargin.report.pages import number
from minmargin.report.spread import Compared
from minmargin.report.survey import Survey

if TYPE_CHECKING:
    from minmargin.batch import Batch

N_COPIES = 12  # pairs of near-copies that are named
_SPACE = "\N{NO-BREAK SPACE}"


def count_pairs(batch: Batch) -> list[tuple[tuple[str, str], int]]:
    """Return how many picks lie between each pair of classes, most first."""
    pairs = Counter((min(pair), max(pair)) for pair in _as_texts(batch.top_classes.tolist()))
    return sorted(pairs.items(), key=lambda pair: (-pair[1], pair[0]))


def _as_texts(pairs: list[Any]) -> Iterator[tuple[str, str]]:
    return ((str(first), str(second)) for first, second in pairs)


def class_shares(batch: Batch, survey: Survey | None) -> dict[str, dict[str, float]]:
    """Return the share of every class in the labeled set, the pool and the batch; most frequent in the batch first."""
    labeled: Mapping[str, int] = labeled_part(batch.manifest).get("class_counts", {})
    counts: dict[str, Mapping[str, int]] = {"labeled": labeled} if labeled else {}
    if survey is not None and batch.origin is not None:
        guesses = batch.origin.classes[survey.sample.notes["predicted"]]
        counts["pool"] = Counter(map(str, guesses.tolist()))
    counts["batch"] = given = Counter(map(str, batch.predicted.tolist()))
    names = sorted({*given, *(labeled or classes_of(batch.manifest))}, key=lambda name: (-given[name], name))
    return {
        kind: {name: each.get(name, 0) / max(sum(each.values()), 1) for name in names}
        for kind, each in counts.items()
    }


def members_met(batch: Batch) -> str | None:
    """Return how many members have picks on their boundary, of how many; None if no single member decided."""
    met = set(batch.member[batch.member >= 0].tolist())
    n_models = batch.manifest.get("settings", {}).get("n_models", len(met))
    return f"{len(met)}{_SPACE}of{_SPACE}{n_models}" if met else None


def numbers_at_the_top(
    batch: Batch, n_pairs: int, compared: Compared | None, near_copies: NearCopies | None
) -> Iterator[tuple[str, str]]:
    """Yield the numbers that stand at the top of the page, with a word each."""
    yield number(len(batch)), "picked"
    if "pool" in batch.manifest:
        yield number(batch.manifest["pool"]["rows"]), "in the pool"
        if batch.manifest["labeled"] is not None:
            yield number(batch.manifest["labeled"]["rows"]), "labeled"
    met = members_met(batch)
    if met is not None:
        yield met, "members met"
    if n_pairs > 1:
        yield number(n_pairs), "pairs of classes"
    n_equal = int((batch.scores == batch.scores[-1]).sum())
    if n_equal > 1:  # among these, and others of the pool, the seed decided
        yield number(n_equal), "with the score of the last pick"
    if compared is not None:
        yield f"{compared.n_shared / len(batch):.0%}", "shared with plain margin"
    if near_copies is not None and near_copies.pairs:
        yield number(len(near_copies.twin_of)), "near-copies of another"
    if "seconds" in batch.manifest:
        yield f"{sum(batch.manifest['seconds'].values()):.1f}{_SPACE}s", "to pick"


def how_much_of_the_pool(batch: Batch, survey: Survey) -> str:
    """Return how many rows of the pool were looked at, as a sentence."""
    n = len(survey.sample)
    excluded = (batch.manifest.get("excluded") or {}).get("rows", 0)
    whole = n == batch.manifest["pool"]["rows"] - excluded
    return f"All {n:,} rows." if whole else f"A sample of {n:,} rows."


def spread_rows(compared: Compared) -> list[list[str]]:
    """Return the distances of each kind of rows, and how they compare with those of random ones."""
    usual = compared.spreads.get("random rows")
    if usual is None:
        return []

    def shown(value: float, of_random: float) -> str:
        return number(value) + (f" ({value / of_random:.2f})" if of_random else "")

    return [[name, *map(shown, spread, usual)] for name, spread in compared.spreads.items()]


def copies_in_words(near_copies: NearCopies) -> str:
    """Return how many picks are nearly the same as another, and by which rule, as sentences."""
    n, usual = len(near_copies.twin_of), near_copies.usual
    rule = "at the same place as another"
    if usual > 0:
        rule = (
            f"closer to another than a tenth of {number(usual)}, the median distance from a random row of the pool to "
            "the nearest of as many"
        )
    if not n:
        return f"No pick lies {rule}."
    return f"{n:,} picks lie {rule}. To label both of such a pair tells little more than to label one."


def copy_rows(batch: Batch, near_copies: NearCopies) -> list[list[str]]:
    """Return the first pairs of near-copies: how each is called, and their distance."""

    def named(rank: int) -> str:
        told = f"row {batch.rows[rank]}" if batch.ids is None else str(batch.ids[rank])
        return f"{told} (rank {rank + 1:,})"

    return [
        [named(first), named(second), number(distance)]
        for first, second, distance in near_copies.pairs[:N_COPIES]
    ]


def settings_in_words(manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the settings and timings, each with its name."""
    settings, pool = (manifest.get(part, {}) for part in ("settings", "pool"))
    labeled = labeled_part(manifest)
    seconds = manifest.get("seconds", {}).items()
    facts = {
        "strategy": settings.get("strategy"),
        "learner": settings.get("learner"),
        "members": settings.get("n_models"),
        "names of the members": ", ".join(settings.get("member_names", ())),
        "bootstrap fraction": settings.get("bootstrap_fraction"),
        "preprocessing": settings.get("preprocess"),
        "seed": settings.get("seed"),
        "labeled rows": labeled.get("rows"),
        "classes without labels": ", ".join(empty_classes(manifest)),
        "pool": pool.get("kind"),
        "excluded rows": (manifest.get("excluded") or {}).get("rows"),
        "copies passed over": manifest.get("copies_passed_over"),
        "engine": settings.get("engine"),
        "device": settings.get("device"),
        "scored by": settings.get("scoring_path"),
        "time": ", ".join(f"{stage} {spent:.2f}{_SPACE}s" for stage, spent in seconds),
        "picked on": manifest.get("created"),
    }
    return [(name, str(value)) for name, value in facts.items() if value not in {None, ""}]
