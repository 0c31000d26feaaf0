"""Some rows of a pool, to look at."""

from __future__ import annotations

from typing import cast

from minmargin.data.rows import Frame, Rows, concat_rows, count_rows, slice_rows
from minmargin.pools import MatchedPool
from minmargin.pools.files import FilePool
from minmargin.pools.fragments import Divisible

#: Pool rows that are looked at come from so many places. There are fewer of them where there are many columns: it is
#: to cost less than a tenth of a second.
_PLACES, _CELLS, _FEWEST, MOST_ROWS = 8, 400_000, 200, 20_000


def some_rows(matched: MatchedPool) -> Frame | None:
    """Return rows from everywhere in a pool; None if it has no columns, or can be read only once."""
    pool, kinds = matched.pool, matched.kinds
    if kinds is None or not isinstance(pool, Divisible):
        return None
    n_wanted = min(max(_CELLS // max(len(kinds), 1), _FEWEST), MOST_ROWS)
    n_units = pool.n_units if isinstance(pool, FilePool) else len(pool.units())
    places = range(0, n_units, max(n_units // _PLACES, 1))
    n_each = n_wanted // max(len(places), 1)
    parts: list[Rows] = []
    for unit in places:
        n_left = n_each
        for rows in pool.read_units(unit, unit + 1, kinds, n_each):
            parts.append(slice_rows(rows, 0, n_left))
            n_left -= count_rows(parts[-1])
            if n_left <= 0:
                break
    return cast("Frame", concat_rows(parts)) if parts else None
