"""Rules for dates that are read as numbers: 20240131, seconds since 1970, and the days that spreadsheets count."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterator, Sequence

from minmargin.data.dates import COUNTED, EXCEL, UNIX, UNIX_MS, counted_from
from minmargin.inspection.profiles import Profile, Seen

_FEW_ROWS, _FEW_VALUES = 20, 10  # of which all may be days by chance
_FIRST, _LAST = dt.datetime(2000, 1, 1), dt.datetime(2035, 1, 1)
_NAME = re.compile(
    r"(^|[^a-z])(date|datum|day|tag|d|dt|t|time|zeit|ts|stamp|epoch|since|when|created|updated|modified)($|[^a-z])"
    r"|datetime|timestamp|(date|datum|time|zeit|_at|_on)$",
    re.IGNORECASE,
)


def dates_as_numbers(seen: Seen) -> Iterator[str]:
    """Whole numbers that are all dates in a form that counts something, or has no marks."""
    if seen.declared or seen.column.kind != "number":
        return
    for where, profile in (("the labeled set", seen.labeled), ("the pool", seen.pool)):
        form = _form_of(profile, named=bool(_NAME.search(_in_words(seen.name))))
        if profile is not None and profile.numbers is not None and form is not None:
            yield (
                f"Column {seen.name!r} of {where} is read as numbers, and its values look like "
                f"{_FORMS[form][0]}, such as {profile.numbers.percentiles[50]:.15g}. If they are, use "
                f"date={{{seen.name!r}: {form!r}}}; if not, number=[{seen.name!r}]."
            )
            return


def _in_words(name: str) -> str:
    """Return a name with what begins by a capital as a word: createdAt is created at."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)


def _form_of(profile: Profile | None, *, named: bool) -> str | None:
    if profile is None or profile.numbers is None or profile.n_known < _FEW_ROWS:
        return None
    values, whole = profile.numbers.percentiles, profile.numbers.whole
    for form, (_, fits, alone) in _FORMS.items():
        doubtful = not alone or profile.n_different < _FEW_VALUES
        if (whole or form == EXCEL) and (named or not doubtful) and fits(values):
            return form
    return None


def _are_days(values: Sequence[float]) -> bool:
    return 19_000_101 <= values[0] <= values[-1] <= 21_001_231 and all(map(_is_day, values))


def _is_day(value: float) -> bool:
    try:
        dt.datetime.strptime(f"{value:.0f}", "%Y%m%d")
    except ValueError:
        return False
    return True


def _lies_between(form: str) -> Callable[[Sequence[float]], bool]:
    first, last = (counted_from(form, moment) for moment in (_FIRST, _LAST))
    return lambda values: first <= values[0] <= values[-1] < last


#: What numbers look like by form, whether they are of it, and whether that tells enough without the column's name.
_FORMS: dict[str, tuple[str, Callable[[Sequence[float]], bool], bool]] = {
    "%Y%m%d": ("days", _are_days, True),
    UNIX: ("seconds since 1970", _lies_between(UNIX), True),
    UNIX_MS: ("milliseconds since 1970", _lies_between(UNIX_MS), True),
    EXCEL: ("days as spreadsheets count them", _lies_between(EXCEL), False),
}
assert {*COUNTED} < {*_FORMS}
