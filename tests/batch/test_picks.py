"""Picks of a batch: one by one, some of them as a batch of their own, and two batches compared."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.datasets import load_iris

import minmargin as mm
from made_up_batch import made_up_batch

X, y = load_iris(return_X_y=True)
NOT_AN_INDEX = (
    "A batch takes a number, a slice, a mask or a list of numbers in its brackets, not {!r}. Its columns are "
    "attributes, such as batch.scores, and to_pandas() has all of them."
)


def pick(pool: Any = X, batch_size: int = 8, **settings: Any) -> mm.Batch:
    return mm.select(X[::5], y[::5], pool, batch_size, n_models=3, random_state=0, **settings)


@pytest.fixture
def batch() -> mm.Batch:
    """Five rows with ids and a text; the second has no deciding member."""
    return made_up_batch()


# One pick


def test_a_number_gives_one_pick_in_plain_values(batch: mm.Batch) -> None:
    assert batch[2] == mm.Pick(
        rank=3,
        row=20,
        id="r2",
        score=0.002,
        member=2,
        first_class="top-up",
        second_class="cash",
        predicted="top-up",
        kept={"text": "text 2"},
    )
    assert batch[-1] == batch[np.int64(4)] == list(batch)[4]
    assert type(batch[2].row) is int
    assert batch[1].member is None


def test_a_pick_is_shown_without_what_the_batch_has_not(batch: mm.Batch) -> None:
    assert repr(batch[1]) == (
        "Pick(rank=2, row=10, id='r1', score=0.001, member=None, first_class='cash', second_class='card', "
        "predicted='cash', kept={'text': 'text 1'})"
    )
    bare = replace(batch, ids=None, kept=None)
    assert repr(bare[0]) == (
        "Pick(rank=1, row=0, score=0.0, member=0, first_class='card', second_class='top-up', predicted='card')"
    )


@pytest.mark.parametrize(
    ("strategy", "reason"),
    [
        ("min-margin", "member {0.member} is torn between {0.first_class} and {0.second_class}"),
        ("margin", "the base is torn between {0.first_class} and {0.second_class}"),
        ("committee", "the members are torn between {0.first_class} and {0.second_class}"),
        ("spread", "the members on average are torn between {0.first_class} and {0.second_class}; {1}"),
        ("random", "drawn by chance"),
    ],
)
def test_a_pick_says_why_it_was_picked(strategy: str, reason: str) -> None:
    batch = pick(strategy=strategy)
    for each in (batch[0], batch[1], *batch):
        distance = (
            "the first pick" if each.rank == 1 else f"{-each.score:.3g} from the nearest pick before it"
        )
        assert each.reason == reason.format(each, distance)


def test_a_row_of_an_audit_was_drawn_by_chance(batch: mm.Batch) -> None:
    audited = replace(batch, audit=np.array([False, True, False, True, True]))
    drawn = [each.reason == "drawn by chance" for each in audited]
    assert drawn == [False, True, False, True, True]


def test_a_member_with_a_name_is_called_by_it() -> None:
    batch = mm.select_from_probabilities({"forest": [[0.6, 0.4]], "net": [[0.9, 0.1]]}, 1, classes=["a", "b"])
    assert batch[0].reason == "forest is torn between a and b"


def test_a_loop_gives_the_picks_as_the_files_have_them(tmp_path: Path) -> None:
    pool = pd.DataFrame(X, columns=list("abcd")).assign(key=[f"k{row}" for row in range(150)], score="theirs")
    batch = mm.select(
        pool[list("abcd")][::5],
        y[::5],
        pool,
        6,
        n_models=3,
        random_state=0,
        id_column="key",
        keep=["score", "a"],
    )
    records = [{**vars(each), "pool_score": each.kept["score"], "a": each.kept["a"]} for each in batch]
    for record in records:
        # Only files of batches with an audit have that column, and a reason is for people.
        del record["kept"], record["audit"], record["reason"]
    assert records == batch.to_arrow().to_pylist()


@pytest.mark.parametrize("place", [5, -6])
def test_a_pick_that_is_not_there_is_an_index_error(batch: mm.Batch, place: int) -> None:
    with pytest.raises(IndexError) as caught:
        batch[place]
    assert str(caught.value) == f"There is no pick {place} in a batch of 5, whose picks are counted from 0."
    with pytest.raises(IndexError):
        batch[[0, place]]


def test_ids_come_out_as_they_are() -> None:
    ids = ["2020-01-02", "2020-01-03", "2020-01-04", "2020-01-05", "2020-01-06"]
    dates = replace(made_up_batch(), ids=np.array(ids, dtype="datetime64[us]"))
    assert dates[1].id.isoformat() == "2020-01-03T00:00:00"
    missing = made_up_batch(ids=["a", None, "c", None, "e"])
    assert [each.id for each in missing] == ["a", None, "c", None, "e"]


# Some of the picks


@pytest.mark.parametrize(
    ("index", "places"),
    [
        (slice(2), [0, 1]),
        (slice(None, None, -2), [4, 2, 0]),
        (slice(9, 12), []),
        ([3, 0], [3, 0]),
        ([-1], [4]),
        ([], []),
        (np.array([1, 2], dtype=np.uint8), [1, 2]),
        ([True, False, False, True, False], [0, 3]),
        (pd.Series([False, True, False, False, False]), [1]),
        (pl.Series([4, 1]), [4, 1]),
        (pa.array([2]), [2]),
    ],
)
def test_slices_masks_and_numbers_give_a_batch_of_these_picks(
    batch: mm.Batch, index: Any, places: list[int]
) -> None:
    some = batch[index]
    assert isinstance(some, mm.Batch)
    assert len(some) == len(places)
    assert [replace(each, rank=0) for each in some] == [replace(batch[place], rank=0) for place in places]
    assert [each.rank for each in some] == list(range(1, len(places) + 1))
    assert some.manifest is batch.manifest
    assert some.to_arrow().column_names == batch.to_arrow().column_names


def test_a_mask_of_scores_picks(batch: mm.Batch) -> None:
    assert batch[batch.scores < 0.002] == batch[:2]
    assert batch[batch.predicted == "card"].rows.tolist() == [0, 30]


@pytest.mark.parametrize(
    ("index", "message"),
    [
        ([True, False], "The mask has 2 values, and the batch has 5 picks. Give one value a pick."),
        ([1, 1, -1, 4], "Pick 1, 4 is named twice. Name each pick once."),
        *(
            (index, NOT_AN_INDEX.format(index))
            for index in ("score", (1, 2), True, 1.5, [0.5], [[1, 2]], None)
        ),
    ],
)
def test_other_indices_are_refused(batch: mm.Batch, index: Any, message: str) -> None:
    with pytest.raises(mm.InputError) as caught:
        batch[index]
    assert str(caught.value) == message


def test_some_picks_can_be_shown_and_written(batch: mm.Batch, tmp_path: Path) -> None:
    assert repr(batch[:0]).startswith("<Batch: 0 of the rows by min-margin>")
    assert "text 1" in repr(batch[1:2])
    assert "text 1" in batch[1:2]._repr_html_()
    written = pd.read_csv(batch[3:].to_csv(tmp_path / "some.csv"))
    assert written["rank"].tolist() == [1, 2]
    assert written["row"].tolist() == [30, 40]


@pytest.mark.parametrize("strategy", ["min-margin", "k-centers"])
def test_some_picks_can_be_reported_on_and_the_page_says_that_there_were_more(
    tmp_path: Path, strategy: Any
) -> None:
    batch = pick(strategy=strategy)
    page = batch[[6, 2, 1]].report(tmp_path / "some.html").read_text()
    assert "This page shows 3 of the 8 rows that were picked together: the batch was cut." in page
    assert "the batch was cut" not in batch.report(tmp_path / "all.html").read_text()


def test_there_is_no_report_of_no_picks(tmp_path: Path) -> None:
    with pytest.raises(mm.InputError, match=r"^The batch has no picks, so there is nothing to report on\.$"):
        pick()[:0].report(tmp_path / "none.html")


# Equality


def test_the_same_batch_picked_twice_is_equal_whatever_its_manifest_says() -> None:
    first, again = pick(n_jobs=1), pick(chunk_size=50)
    assert first.manifest != again.manifest
    assert first == again
    assert first == first[:]
    assert first == pickle.loads(pickle.dumps(first))  # noqa: S301 - written a moment ago
    assert first != pick(batch_size=7)


@pytest.mark.parametrize(
    "changed",
    [
        {"rows": np.arange(5)},
        {"ids": None},
        {"ids": np.array(["r0", "r1", "r2", "r3", None], dtype=object)},
        {"scores": np.zeros(5)},
        {"member": np.zeros(5, np.int32)},
        {"top_classes": np.full((5, 2), "card")},
        {"predicted": np.arange(5)},
        {"kept": None},
        {"kept": pa.table({"text": ["other"] * 5})},
        {"kept": pa.table({"name": [f"text {place}" for place in range(5)]})},
    ],
)
def test_a_batch_with_anything_else_is_another(batch: mm.Batch, changed: dict[str, Any]) -> None:
    assert batch != replace(batch, **changed)


def test_missing_values_equal_each_other() -> None:
    def made() -> mm.Batch:
        kept = {"a": [float("nan"), None, 1.0, 2.0, 3.0], "e": [[float("nan")], [], None, [1.0], [2.0]]}
        return made_up_batch(kept=kept, ids=[None, float("nan"), "c", "d", "e"])

    assert made() == made()
    floats = np.array([np.nan, 1, 2, 3, 4])
    assert replace(made(), ids=floats) == replace(made(), ids=floats.copy())
    assert replace(made(), ids=floats) != replace(made(), ids=floats[::-1])


def test_the_kind_of_frame_does_not_matter() -> None:
    columns = {name: X[:, place] for place, name in enumerate("abcd")} | {
        "t": [f"t{row}" for row in range(150)]
    }
    batches = [
        mm.select(
            X[::5], y[::5], frame(columns), 5, features=list("abcd"), keep=["t"], n_models=3, random_state=0
        )
        for frame in (pd.DataFrame, pl.DataFrame, pa.table)
    ]
    assert batches[0] == batches[1] == batches[2]


@pytest.mark.parametrize("other", [1, "batch", None, np.arange(5), [1, 2]])
def test_compared_with_anything_else_a_batch_is_not_equal_and_gives_one_answer(
    batch: mm.Batch, other: Any
) -> None:
    assert (batch == other) is False
    assert (batch != other) is True


def test_an_array_does_not_compare_a_batch_with_each_of_its_elements(batch: mm.Batch) -> None:
    assert (np.arange(5) == batch) is False


def test_a_batch_has_no_hash(batch: mm.Batch) -> None:
    with pytest.raises(TypeError, match="unhashable type: 'Batch'"):
        {batch}  # noqa: B018 - made to fail
