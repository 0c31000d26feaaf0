"""Rounds: what is picked, what is never picked again, and that a round is one call of select."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minmargin as mm
from campaign.flowers import IDS, TRUTH, answers


def test_no_row_is_picked_twice_nor_one_that_was_labeled_or_held_out(begin):
    campaign = begin(held_out="held-out.csv")
    seen = {*IDS[::10], *IDS[5::10]}
    for _ in range(5):
        batch = campaign.next(n_jobs=1)
        assert not seen & set(batch.ids.tolist())
        seen |= set(batch.ids.tolist())
        campaign.add_labels(answers(batch), n_jobs=1)
    assert len(seen) == 30 + 5 * 7


@pytest.mark.parametrize("strategy", ["min-margin", "margin", "random"])
def test_a_round_is_the_batch_that_select_gives_for_the_same_labels_exclusions_and_seed(begin, strategy):
    campaign = begin(strategy=strategy)
    excluded = IDS[::10]
    for number in (1, 2, 3):
        labeled = campaign.labeled()
        batch = campaign.next(n_jobs=1)
        direct = mm.select(
            labeled,
            "y",
            "pool/*.parquet",
            7,
            strategy=strategy,
            n_models=3,
            random_state=campaign.settings.seed_of(number),
            features=["a", "b", "c", "d"],
            id_column="row_id",
            exclude=excluded,
            n_jobs=1,
        )
        assert batch.ids.tolist() == direct.ids.tolist()
        assert batch.scores.tolist() == direct.scores.tolist()
        excluded = [*excluded, *batch.ids.tolist()]
        campaign.add_labels(answers(batch), n_jobs=1)


def test_a_round_passes_over_copies_if_the_campaign_was_begun_so(begin):
    for number in range(2):  # the pool once more, under other ids
        rows = pq.read_table(f"pool/{number}.parquet")
        ids = pa.array([f"again-{each}" for each in rows["row_id"].to_pylist()])
        place = rows.column_names.index("row_id")
        pq.write_table(rows.set_column(place, "row_id", ids), f"pool/{number + 2}.parquet")
    plain, campaign = begin("plain", distinct=False), begin()
    assert "copies_passed_over" not in plain.next(60, n_jobs=1).manifest
    batch = mm.Campaign.open(campaign.folder).next(60, n_jobs=1)
    picked = campaign.batch().select(["a", "b", "c", "d"]).to_pylist()
    assert len({tuple(row.values()) for row in picked}) == 60
    assert batch.manifest["copies_passed_over"] > 0


@settings(max_examples=10)
@given(seed=st.integers(0, 2**53 - 1), sizes=st.lists(st.integers(1, 12), min_size=1, max_size=4))
def test_a_campaign_played_again_gives_the_same_batches(begin, tmp_path_factory, seed, sizes):
    def play():
        campaign = begin(str(tmp_path_factory.mktemp("played") / "flowers"), random_state=seed)
        for size in sizes:
            batch = campaign.next(size, n_jobs=1)
            campaign.add_labels(answers(batch), n_jobs=1)
            yield batch.ids.tolist(), batch.scores.tolist()

    assert list(play()) == list(play())


def test_rounds_have_seeds_of_their_own(begin):
    campaign = begin()
    seeds = [campaign.settings.seed_of(number) for number in range(1, 51)]
    assert len(set(seeds)) == 50
    assert all(0 <= seed < 2**53 for seed in seeds)


def test_the_batch_file_is_the_batch_and_keeps_the_features(begin):
    campaign = begin()
    batch = campaign.next(csv=True, n_jobs=1)
    table = campaign.batch()
    assert table["id"].to_pylist() == batch.ids.tolist()
    assert table.column_names[-4:] == ["a", "b", "c", "d"]
    assert pq.read_table("flowers/batches/round-001.parquet").equals(table)
    assert campaign.batch_path().with_suffix(".csv").exists()


def test_while_rows_have_no_label_the_next_round_waits(begin):
    campaign = begin()
    batch = campaign.next(n_jobs=1)
    first, *others = batch.ids.tolist()
    campaign.add_labels({each: TRUTH[each] for each in others}, n_jobs=1)
    with pytest.raises(mm.InputError) as caught:
        campaign.next(n_jobs=1)
    assert str(caught.value) == (
        f"1 row of round 1 has no label yet ({first!r}). Add the labels first, go on without them "
        "with unlabeled_ok=True, or put the rows back into the pool with requeue=True."
    )


def test_a_skipped_row_is_offered_again_only_after_requeue(begin):
    campaign = begin(batch_size=10, distinct=False)
    skipped = set(campaign.next(n_jobs=1).ids.tolist())
    second = set(campaign.next(n_jobs=1, unlabeled_ok=True).ids.tolist())
    assert not skipped & second
    # All that is left, with the twenty that nobody labeled.
    third = set(campaign.next(135, n_jobs=1, requeue=True).ids.tolist())
    assert skipped | second <= third
    status = campaign.status()
    assert [each.withdrawn for each in status.rounds] == [0, 10, 10, 0]
    assert [each.unlabeled for each in status.rounds] == [0, 0, 0, 135]


def test_without_an_id_column_rows_are_known_by_number_and_the_pool_must_stay(begin, here):
    campaign = begin(id_column=None, features=["a", "b", "c", "d"])
    batch = campaign.next(n_jobs=1)
    campaign.add_labels({row: TRUTH[IDS[row]] for row in batch.rows.tolist()}, n_jobs=1)
    assert not set(batch.rows.tolist()) & set(campaign.next(n_jobs=1).rows.tolist())
    (here / "pool" / "1.parquet").rename(here / "pool" / "2.parquet")
    with pytest.raises(mm.InputError) as caught:
        campaign.next(n_jobs=1, unlabeled_ok=True)
    assert str(caught.value) == (
        "The pool's files have changed, and without an id column rows are known by their number. "
        "Put them back, or begin a campaign with id_column."
    )


def test_a_changed_batch_file_is_refused(begin):
    campaign = begin()
    campaign.next(n_jobs=1)
    path = campaign.batch_path()
    path.write_bytes(path.read_bytes() + b" ")
    with pytest.raises(mm.InputError) as caught:
        campaign.batch()
    assert str(caught.value) == f"{str(path)!r} was changed since it was written. Put back a copy."


def test_a_round_knows_the_classes_that_nobody_has_labeled_yet(begin):
    campaign = begin(classes=["lily"], folds=3)
    batch = campaign.next(n_jobs=1)
    assert batch.manifest["classes"] == ["lily", "setosa", "versicolor", "virginica"]
    assert batch.manifest["labeled"]["class_counts"]["lily"] == 0
    first, *others = answers(batch)
    campaign.add_labels({first: "lily", **{each: TRUTH[each] for each in others}}, n_jobs=1)
    assert campaign.empty_classes == []
    assert campaign.next(n_jobs=1).manifest["labeled"]["class_counts"]["lily"] == 1


def test_a_round_is_the_same_whether_or_not_a_class_without_labels_was_named(begin):
    plain, named = begin("plain"), begin(classes=["lily"])
    assert plain.next(n_jobs=1) == named.next(n_jobs=1)


def test_a_round_counts_when_what_belongs_to_it_is_done(begin):
    campaign = begin()
    seen = []

    def look(batch: mm.Batch) -> None:
        seen.append(
            (campaign.n_rounds, sorted(path.name for path in (campaign.folder / "batches").iterdir()))
        )
        if len(seen) == 1:
            raise mm.InputError("The report cannot be written.")

    with pytest.raises(mm.InputError, match=r"^The report cannot be written\.$"):
        campaign.next(csv=True, n_jobs=1, on_batch=look)
    assert campaign.n_rounds == 0
    assert list((campaign.folder / "batches").iterdir()) == []
    campaign.next(csv=True, n_jobs=1, on_batch=look)
    assert campaign.n_rounds == 1
    assert seen == [(0, ["round-001.csv", "round-001.parquet"])] * 2


@pytest.mark.parametrize("pool", ["pool", ["pool", "more"]])
def test_a_pool_may_be_a_folder_or_several(begin, here, pool):
    (here / "more").mkdir()
    (here / "pool" / "1.parquet").rename(here / "more" / "1.parquet")
    campaign = begin(pool=[here / each for each in pool] if isinstance(pool, list) else pool)
    assert campaign.next(n_jobs=1).manifest["pool"]["rows"] == (70 if pool == "pool" else 150)
