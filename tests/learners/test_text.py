"""`learner="text"`: texts in, a committee of linear models on their words out."""

from __future__ import annotations

import functools
import itertools
import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.linear_model import LogisticRegression

import minmargin as mm
from complaints import complaint
from minmargin.learners import resolve_learner
from minmargin.learners.text import TextScorer, Words

TOPICS = {
    "card": ["card", "stolen", "lost", "pin", "chip", "blocked"],
    "transfer": ["transfer", "pending", "bank", "cancel", "sent", "late"],
    "top-up": ["top", "up", "cash", "failed", "limit", "voucher"],
}


def made_up(n: int, seed: int) -> tuple[list[str], list[str]]:
    """Return texts of a few words each, most of them of one topic, and the topics."""
    rng = np.random.default_rng(seed)
    every = [word for words in TOPICS.values() for word in words]
    labels = rng.choice(list(TOPICS), n).tolist()
    texts = [" ".join([*rng.choice(TOPICS[each], 4), *rng.choice(every, 3)]) for each in labels]
    return texts, labels


TEXTS, LABELS = made_up(60, 0)
POOL, TRUTH = made_up(300, 1)


def pick(labeled: Any = TEXTS, labels: Any = LABELS, pool: Any = POOL, **given: Any) -> mm.Batch:
    usual = {"learner": "text", "n_models": 5, "random_state": 0, "n_jobs": 1}
    return mm.select(labeled, labels, pool, 10, **{**usual, **given})


def contents(batch: mm.Batch) -> Any:
    return [
        np.ascontiguousarray(part).tobytes()
        for part in (batch.rows, batch.scores, batch.member, batch.top_classes, batch.predicted)
    ]


# What it computes


def test_words_are_weighted_by_the_square_root_of_their_count_and_their_rarity() -> None:
    texts = np.array(["a card, a CARD; the card", "the transfer", "", "x y z"], dtype=object)
    words = Words.of(texts)
    assert words.words == ("card", "the", "transfer")
    counts = CountVectorizer().fit_transform(texts).astype(np.float64)
    counts.data = np.sqrt(counts.data)
    rarity = np.log((1 + 4) / (1 + np.array([1, 2, 1]))) + 1
    expected = counts.toarray() * rarity
    expected[:2] /= np.linalg.norm(expected[:2], axis=1, keepdims=True)
    np.testing.assert_allclose(words(texts).toarray(), expected, rtol=1e-12)
    np.testing.assert_allclose(words.rarity, TfidfTransformer().fit(counts).idf_)


def test_words_that_no_labeled_text_has_are_passed_over() -> None:
    words = Words.of(np.array(["card lost", "transfer late"], dtype=object))
    np.testing.assert_array_equal(words(["card unheard"]).toarray(), words(["card"]).toarray())
    assert words(["nothing known", ""]).nnz == 0


def test_the_base_is_logistic_regression_on_these_words() -> None:
    committee = mm.fit_committee(TEXTS, LABELS, learner=mm.TextLearner(C=3.0), n_models=2, random_state=0)
    words = Words.of(np.array(TEXTS, dtype=object))
    theirs = LogisticRegression(C=3.0, tol=1e-10, max_iter=10_000).fit(words(TEXTS), LABELS)
    np.testing.assert_allclose(
        committee.class_scores(POOL, of="base"), theirs.predict_proba(words(POOL)), atol=1e-5
    )


def test_it_learns_the_topics() -> None:
    committee = mm.fit_committee(TEXTS, LABELS, learner="text", n_models=0)
    guessed = committee.classes_[committee.class_scores(POOL, of="base").argmax(axis=1)]
    assert (guessed == TRUTH).mean() > 0.8


def test_class_weights_reach_the_models() -> None:
    plain, weighted = (
        mm.fit_committee(TEXTS, LABELS, learner=mm.TextLearner(class_weight=each), n_models=0).scorer
        for each in (None, {"card": 50.0})
    )
    assert not np.allclose(plain.base_weights, weighted.base_weights)


@pytest.mark.parametrize("entry", [s.name for s in mm.strategies() if s.name != "true-margin"])
def test_every_strategy_picks(entry: str) -> None:
    batch = pick(strategy=entry)
    assert len(set(batch.rows.tolist())) == 10


def test_a_screened_pick_is_the_pick_by_exact_scores() -> None:
    committee = mm.fit_committee(TEXTS, LABELS, learner="text", n_models=5, random_state=0)
    scores = committee.score(POOL)
    assert committee.select(POOL, 10).scores.tolist() == np.sort(scores)[:10].tolist()


def test_a_strategy_of_ones_own_sees_texts() -> None:
    batch = pick(strategy=lambda candidates: np.array([float(len(text)) for text in candidates.X]))
    assert batch.scores.tolist() == sorted(map(len, POOL))[:10]


def test_it_has_a_name_with_the_settings_that_are_not_the_usual_ones() -> None:
    assert resolve_learner("text") == mm.TextLearner()
    assert mm.TextLearner().name == "text"
    assert mm.TextLearner(C=3, class_weight="balanced").name == "text(C=3, class_weight='balanced')"
    made = pick().manifest["settings"]
    assert (made["learner"], made["preprocess"]) == ("text", "none")
    assert made["scoring_path"].startswith("linear models, trained together")


def test_what_makes_numbers_of_columns_is_refused() -> None:
    with pytest.raises(mm.InputError) as refused:
        pick(preprocess="auto")
    assert str(refused.value) == (
        "preprocess='auto' makes numbers of columns, and learner='text' reads the texts themselves. Leave "
        "preprocess out."
    )


def test_c_must_be_positive() -> None:
    with pytest.raises(mm.InputError) as caught:
        mm.TextLearner(C=0)
    assert (
        str(caught.value)
        == "C=0 must be a positive number, or 'auto'. 1.0 is usual; more fits the labels closer."
    )


# The forms that texts come in


@pytest.mark.parametrize(
    "form",
    [
        list,
        tuple,
        np.array,
        lambda texts: np.array(texts, dtype=object),
        pd.Series,
        lambda texts: pl.Series("t", texts),
    ],
    ids=["list", "tuple", "array", "objects", "pandas series", "polars series"],
)
def test_every_form_of_a_list_of_texts_gives_the_same_batch(form: Any) -> None:
    assert contents(pick(form(TEXTS), pool=form(POOL))) == contents(pick())


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "pyarrow"])
def test_the_only_text_column_of_a_frame_is_found(frame: Any) -> None:
    labeled = frame({"topic": LABELS, "text": TEXTS, "number": list(range(60))})
    pool = frame({"number": list(range(100, 400)), "text": POOL, "price": [1.5] * 300})
    batch = pick(labeled, "topic", pool, id_column="number", keep=["text"])
    assert contents(batch) == contents(pick())
    assert batch.ids.tolist() == (batch.rows + 100).tolist()
    assert batch.kept["text"].to_pylist() == [POOL[row] for row in batch.rows]


def test_texts_of_several_columns_are_read_as_one() -> None:
    halves = [[text.split(" ", 3) for text in texts] for texts in (TEXTS, POOL)]
    labeled, pool = (
        pl.DataFrame({"tail": [h[3] for h in half], "head": [" ".join(h[:3]) for h in half]})
        for half in halves
    )
    assert contents(pick(labeled, pool=pool)) == contents(pick())
    assert contents(pick(labeled, pool=pool.select("head", "tail"))) == contents(pick())


def test_a_missing_text_is_an_empty_one() -> None:
    missing, empty = ([gap if i % 7 == 0 else text for i, text in enumerate(TEXTS)] for gap in (None, ""))
    assert contents(pick(missing)) == contents(pick(empty))
    assert contents(pick(pl.DataFrame({"t": missing}), pool=pl.DataFrame({"t": POOL}))) == contents(
        pick(empty)
    )
    assert contents(pick(pool=[*POOL, None])) == contents(pick(pool=[*POOL, ""]))


def test_a_column_without_any_text_is_left_out() -> None:
    labeled = pl.DataFrame({"text": TEXTS, "note": [None] * 60})
    assert contents(pick(labeled, pool=pl.DataFrame({"text": POOL}))) == contents(pick())


def test_files_are_read_without_a_preprocessor(tmp_path: Any) -> None:
    pq.write_table(pa.table({"text": TEXTS, "topic": LABELS}), tmp_path / "labeled.parquet")
    pd.DataFrame({"text": POOL}).to_csv(tmp_path / "pool.csv", index=False)
    batch = pick(tmp_path / "labeled.parquet", "topic", tmp_path / "pool.csv")
    assert contents(batch) == contents(pick())


# What it refuses


def test_columns_of_other_kinds_are_refused_with_the_text_columns_named() -> None:
    frame = pl.DataFrame({"text": TEXTS, "age": [1] * 60, "title": TEXTS})
    assert complaint(frame, LABELS, frame, learner="text") == (
        "learner='text' reads text columns only, and column 'age' is Int64. Name the text columns with features=[...] "
        "('text', 'title'); a column that identifies rows, as id_column."
    )
    both = pick(frame, pool=frame, features=["text", "title"])
    assert both.manifest["labeled"]["features"] == ["text", "title"]


def test_a_frame_without_texts_is_refused() -> None:
    frame = pl.DataFrame({"note": [None] * 60}, schema={"note": pl.String})
    assert complaint(frame, LABELS, frame, learner="text") == (
        "learner='text' reads texts, and there are none in 'note'. Name the text columns with features=[...]."
    )


@pytest.mark.parametrize("X", [np.ones((60, 3)), sparse.csr_array(np.ones((60, 3)))], ids=["dense", "sparse"])
def test_numbers_are_refused(X: Any) -> None:
    assert complaint(X, LABELS, X, learner="text") == (
        "learner='text' reads texts, and the labeled set is an array of shape (60, 3). Pass a list of texts, or a "
        "frame or file with text columns."
    )


@pytest.mark.parametrize("text", ["", "? !", "a b c"])
def test_texts_without_words_are_refused(text: str) -> None:
    assert complaint([text] * 60, LABELS, POOL, learner="text") == (
        "The 60 labeled texts have no word of two letters or digits or more, so nothing can be learned from them. Look "
        "whether features=[...] names the right column."
    )


def test_a_pool_of_numbers_is_refused() -> None:
    assert complaint(TEXTS, LABELS, np.ones((9, 3)), learner="text") == (
        "The labeled set is a list of texts, and the pool is an array of shape (9, 3). Give both in the same form."
    )


def test_a_list_of_texts_cannot_stand_for_several_columns() -> None:
    labeled = pl.DataFrame({"head": TEXTS, "tail": TEXTS})
    assert complaint(labeled, LABELS, POOL, learner="text") == (
        "The labeled set has texts in 'head', 'tail', and the pool is an array of shape (300,). Give both in the same "
        "form."
    )
    assert contents(pick(labeled.select("head"), pool=POOL)) == contents(pick())


# The promise


@functools.cache
def committee() -> mm.Committee:
    return mm.fit_committee(TEXTS, LABELS, learner="text", n_models=5, random_state=3, n_jobs=1)


@functools.cache
def one_piece(strategy: str) -> Any:
    return contents(committee().select(POOL, 12, strategy=strategy, n_jobs=1))


@pytest.mark.usefixtures("small_blocks", "either_way")
@settings(max_examples=60)
@given(
    strategy=st.sampled_from(
        ["min-margin", "margin", "committee", "var-softmax", "balanced-margin", "k-centers"]
    ),
    marks=st.lists(st.integers(1, 299), max_size=5),
    chunk_size=st.integers(1, 400),
    n_jobs=st.sampled_from([1, 2, 5]),
    as_array=st.booleans(),
)
def test_no_chunking_of_the_pool_changes_the_batch(
    strategy: str, marks: list[int], chunk_size: int, n_jobs: int, as_array: bool
) -> None:
    edges = [0, *sorted(set(marks)), len(POOL)]
    parts = [POOL[start:stop] for start, stop in itertools.pairwise(edges)]
    pool = (np.array(each, dtype=object) if as_array else pl.DataFrame({"t": each}) for each in parts)
    batch = committee().select(pool, 12, strategy=strategy, chunk_size=chunk_size, n_jobs=n_jobs)
    assert contents(batch) == one_piece(strategy)


@given(
    st.lists(st.text(max_size=30), min_size=1, max_size=12),
    st.integers(0, 11),
)
def test_a_text_gives_the_same_bits_beside_any_others(texts: list[str], at: int) -> None:
    words = Words.of(np.array([*TEXTS, "ünï 日本語 ß"], dtype=object))
    mixed = [f"{text} {POOL[i]} {text}" for i, text in enumerate(texts)]
    row = at % len(mixed)
    together, alone = words(mixed)[[row]], words([mixed[row]])
    assert (together.data.tobytes(), together.indices.tolist()) == (
        alone.data.tobytes(),
        alone.indices.tolist(),
    )


def test_it_travels_to_other_processes() -> None:
    scorer = committee().scorer
    assert type(scorer) is TextScorer
    scorer.base_scores(POOL[:3])
    there = pickle.loads(pickle.dumps(scorer))  # noqa: S301 - our own
    assert there.base_scores(POOL).tobytes() == scorer.base_scores(POOL).tobytes()


# In company


def test_compare_plays_with_texts() -> None:
    found = mm.compare(
        TEXTS, LABELS, learner="text", n_labeled=20, batch_sizes=[10], n_draws=2, n_models=3, random_state=0
    )
    assert found.settings["learner"] == "text"
    assert set(found.curves["strategy"].to_pylist()) >= {"random", "min-margin"}


def test_a_report_shows_the_texts(tmp_path: Any) -> None:
    batch = pick()
    page = batch.report(tmp_path / "report.html").read_text(encoding="utf-8")
    assert POOL[batch.rows[0]] in page


def test_a_classifier_of_texts() -> None:
    from minmargin.integrations.sklearn import CommitteeClassifier  # noqa: PLC0415 - only here

    classifier = CommitteeClassifier(learner="text", n_models=3, random_state=0).fit(TEXTS, LABELS)
    assert np.mean(classifier.predict(POOL) == np.array(TRUTH)) > 0.8
