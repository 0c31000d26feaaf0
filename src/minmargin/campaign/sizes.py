"""How many rows a round picks: a number, or a share of the whole pool, such as "5%"."""

from __future__ import annotations

from typing import Any

from minmargin.campaign.beginning import LabeledRows
from minmargin.campaign.folder import CampaignFolder
from minmargin.checks import check_count, rows_in_share
from minmargin.pools import open_pool, resolve_batch_size


def size_of_rounds(batch_size: int | str, pool: Any, first: LabeledRows | None) -> int:
    """Return how many rows a round picks. A share is of the pool's rows, in one table of those without a label."""
    if not isinstance(batch_size, str):
        return check_count("batch_size", batch_size, least=1)
    one_table = None if first is None else first.one_table
    if one_table is not None:
        return rows_in_share("batch_size", batch_size, one_table.n_rows - one_table.n_labeled)
    return resolve_batch_size(batch_size, open_pool(pool))


def size_by_now(batch_size: int | str, files: CampaignFolder) -> int:
    """Return how many rows a round of a campaign picks, by the files that its pool has by now.

    A share is of the same rows as at the beginning, those that were picked since among them. One table that has labels,
    too, has the rows that were labeled then, which are no part of the pool.
    """
    if not isinstance(batch_size, str):
        return check_count("batch_size", batch_size, least=1)
    pool = open_pool(files.settings.pool_of(files.path))
    one_table = files.settings.label_column in pool.schema.names
    return resolve_batch_size(batch_size, pool, files.initial().num_rows if one_table else 0)
