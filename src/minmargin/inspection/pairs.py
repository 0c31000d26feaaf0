"""Rules for both tables: what the pool has and the labeled set does not, or the other way round."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterator

from minmargin.data.guessing import tell_nothing
from minmargin.inspection.profiles import Profile, Seen

_FEW_ROWS = 20  # in fewer, chance explains nearly anything
_MOST = 0.9  # of the values, or of the rows
_FEW_LEVELS = 20  # of a column whose categories may be written in short elsewhere
_CHANCE = 1e-4  # that a difference is by chance


def unknown_share(labeled: Profile | None, pool: Profile | None) -> float:
    """Return which share of a pool's categories the labeled set does not have; 0 of ids and free text."""
    if labeled is None or pool is None or not labeled.levels or not pool.n_known:
        return 0.0
    if tell_nothing(labeled.n_different, labeled.n_rows):
        return 0.0
    known = {text for text, _ in labeled.levels}
    return sum(n for text, n in pool.levels if text not in known) / pool.n_known


def unknown_categories(seen: Seen) -> Iterator[str]:
    """Categories of the pool that the labeled set does not have."""
    if (
        seen.pool is None
        or seen.column.kind != "text"
        or seen.pool.n_known < _FEW_ROWS
        or not seen.labeled.levels
    ):
        return
    if seen.labeled.n_different > _MOST * seen.labeled.n_known:  # free text, or ids
        return
    known = {text for text, _ in seen.labeled.levels}
    strange = [(text, n) for text, n in seen.pool.levels if text not in known]
    n_strange = sum(n for _, n in strange)
    if n_strange * 2 <= seen.pool.n_known:
        return
    alike = _alike([text for text, _ in strange], sorted(known))
    example = f"{alike[0]!r} where that has {alike[1]!r}" if alike else f"{strange[0][0]!r}"
    mend = "Spell them alike in both" if alike else "Look whether both have the same columns"
    yield (
        f"Column {seen.name!r}: {n_strange:,} of {seen.pool.n_known:,} values in the pool are categories that the "
        f"labeled set does not have, such as {example}, so they tell nothing. {mend}, or use "
        f"drop=[{seen.name!r}]."
    )


def _alike(strange: list[str], known: list[str]) -> tuple[str, str] | None:
    """Return an unknown category and a known one that is the same in other letters, or both at length and in short."""
    folded = {text.strip().casefold(): text for text in known}
    for text in strange:
        if (same := folded.get(text.strip().casefold())) is not None:
            return text, same
    if len(strange) > _FEW_LEVELS or len(known) > _FEW_LEVELS:
        return None
    pairs = {
        text: [other for key, other in folded.items() if _is_short_for(text.strip().casefold(), key)]
        for text in strange
    }
    if all(len(others) == 1 for others in pairs.values()):
        return strange[0], pairs[strange[0]][0]
    return None


def _is_short_for(one: str, other: str) -> bool:
    return one.startswith(other) or other.startswith(one)


def gone_from_the_pool(seen: Seen) -> Iterator[str]:
    """A feature that has no value, or only one, in the pool; or none in the labeled set."""
    labeled, pool = seen.labeled, seen.pool
    if pool is None or pool.n_rows < _FEW_ROWS or pool.kind == "embedding":
        return
    if not labeled.n_known:
        if pool.n_known * 2 > pool.n_rows:
            yield (
                f"Column {seen.name!r} has no value in any labeled row, and one in {pool.n_known:,} of "
                f"{pool.n_rows:,} rows of the pool, so nothing is learned from it. Look whether it was written, or use "
                f"drop=[{seen.name!r}]."
            )
    elif not pool.n_known:
        yield (
            f"Column {seen.name!r} has no value in any row of the pool, and {labeled.n_known:,} in the labeled set. "
            f"Look whether it was written, or use drop=[{seen.name!r}]."
        )
    elif pool.n_different == 1 and labeled.n_different > 1 and not _by_chance(labeled, pool):
        value = pool.levels[0][0] if pool.levels else None if pool.numbers is None else pool.numbers.lowest
        each = "each row of the pool" + (" that has a value" if pool.n_missing else "")
        yield (
            f"Column {seen.name!r} is {value!r} in {each}, and has {labeled.n_different:,} values in the labeled set. "
            f"Look whether both were made alike, or use drop=[{seen.name!r}]."
        )


def _by_chance(labeled: Profile, pool: Profile) -> bool:
    """Return whether the rows with other values may all be among the labeled ones by chance (Fisher's exact test)."""
    if labeled.levels:
        n_others = labeled.n_known - dict(labeled.levels).get(pool.levels[0][0], 0)
    elif labeled.numbers is not None and pool.numbers is not None:
        values = labeled.numbers.percentiles
        share = sum(value != pool.numbers.lowest for value in values) / len(values)
        n_others = max(round(share * labeled.n_known), labeled.n_different - 1)
    else:
        n_others = labeled.n_known
    share_labeled = labeled.n_known / (labeled.n_known + pool.n_known)
    return n_others * math.log(share_labeled) > math.log(_CHANCE)


def missing_in_one(seen: Seen) -> Iterator[str]:
    """A feature that hardly any row has a value of, and that most rows of the other table have."""
    labeled, pool = seen.labeled, seen.pool
    if pool is None or min(labeled.n_rows, pool.n_rows) < _FEW_ROWS or pool.kind != labeled.kind:
        return
    shares = [profile.n_missing / profile.n_rows for profile in (labeled, pool)]
    if max(shares) >= _MOST and min(shares) <= 1 / 2:
        yield (
            f"Column {seen.name!r} is missing in {pool.n_missing:,} of {pool.n_rows:,} rows of the pool and in "
            f"{labeled.n_missing:,} of {labeled.n_rows:,} labeled rows. Look whether it was written, or use "
            f"drop=[{seen.name!r}]."
        )


def time_apart(labeled: Profile | None, pool: Profile | None) -> str:
    """Return "later" if all dates of the pool are later than those of the labeled set, or "earlier"; else nothing."""
    if labeled is None or pool is None or labeled.span is None or pool.span is None:
        return ""
    (first, last), (first_there, last_there) = map(_moments, (labeled.span, pool.span))
    return "later" if first_there > last else "earlier" if last_there < first else ""


def of_another_time(seen: Seen) -> Iterator[str]:
    """Dates of the pool that are further from those of the labeled set than any two of either are."""
    labeled, pool = seen.labeled, seen.pool
    apart = time_apart(labeled, pool)
    if not apart or pool is None or labeled.span is None or pool.span is None:
        return
    if min(labeled.n_known, pool.n_known) < _FEW_ROWS:
        return
    (first, last), (first_there, last_there) = map(_moments, (labeled.span, pool.span))
    gap = max(first_there - last, first - last_there)
    if gap > max(last - first, last_there - first_there):
        yield (
            f"Column {seen.name!r} is {' to '.join(pool.span)} in the pool and {' to '.join(labeled.span)} in the "
            f"labeled set, so all rows of the pool are far {apart}. Look whether both are dates of the same kind, or "
            f"use drop=[{seen.name!r}]."
        )


def _moments(span: tuple[str, str]) -> tuple[dt.datetime, dt.datetime]:
    return dt.datetime.fromisoformat(span[0]), dt.datetime.fromisoformat(span[1])
