"""A batch from a list of texts shows the texts, and neither its table nor its files have them."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest

import minmargin as mm

TEXTS = [
    "my card was stolen",
    "I lost my card",
    "the card is broken",
    "my transfer is pending",
    "the transfer failed",
]
TOPICS = ["card"] * 3 + ["transfer"] * 2
POOL = [
    "where is my\n\ttransfer",
    "<b>card</b> & transfer",
    "the card, and the transfer: " + "so long " * 20,
    "half a pair \ud800 of my card",
]
SHOWN = [  # on one line, and cut in print
    "where is my transfer",
    "<b>card</b> & transfer",
    "the card, and the transfer: so long so …",
    "half a pair ? of my card",
]


def pick(pool: Any, batch_size: int = 4) -> mm.Batch:
    return mm.select(TEXTS, TOPICS, pool, batch_size, learner="text", n_models=3, random_state=0, n_jobs=1)


@pytest.mark.parametrize("container", [list, tuple, np.array, lambda texts: pd.Series(texts, dtype=object)])
def test_each_row_is_printed_with_its_text(container: Any) -> None:
    batch = pick(container(POOL))
    head, *lines = repr(batch).splitlines()[1:]
    assert head.split()[-1] == "text"
    for line, row in zip(lines, batch.rows, strict=True):
        assert line.endswith("  " + SHOWN[row])


def test_some_picks_are_shown_with_their_own_texts() -> None:
    batch = pick(POOL)
    assert repr(batch[2:3]).endswith("  " + SHOWN[batch.rows[2]])
    assert repr(batch[:0]).splitlines()[1].split()[-1] == "text"


def test_a_notebook_shows_more_of_a_text_and_none_of_its_tags() -> None:
    html = pick(POOL)._repr_html_()
    assert "<th>text</th>" in html
    assert "<td>&lt;b&gt;card&lt;/b&gt; &amp; transfer</td>" in html
    assert f"<td>{(POOL[2])[:59]}…</td>" in html


def test_the_table_has_no_texts() -> None:
    batch = pick(POOL)
    assert "text" not in batch.to_arrow().column_names
    assert "text" not in batch.to_pandas().columns


def test_texts_are_not_shown_where_the_pool_is_not_at_hand() -> None:
    """As in another process, or after a stream of chunks has passed."""
    sent = pickle.loads(pickle.dumps(pick(POOL)))  # noqa: S301 - our own
    streamed = pick(iter([pd.DataFrame({"words": POOL[:3]})]), 2)
    for batch in (sent, streamed):
        assert repr(batch).splitlines()[1].split()[-1] == "predicted"


def test_an_empty_text_is_an_empty_cell() -> None:
    batch = pick(["", "my card"], 2)
    line = repr(batch).splitlines()[2 + batch.rows.tolist().index(0)]
    assert line.split()[-1] in TOPICS


def test_a_frame_shows_what_was_kept() -> None:
    frame = pd.DataFrame({"words": POOL[:2]})
    labeled = pd.DataFrame({"words": TEXTS})
    settings: dict[str, Any] = {"learner": "text", "n_models": 3, "random_state": 0, "n_jobs": 1}
    assert "card" not in repr(mm.select(labeled, np.arange(5) > 2, frame, 2, **settings))
    assert SHOWN[1] in repr(mm.select(labeled, np.arange(5) > 2, frame, 2, keep=["words"], **settings))
