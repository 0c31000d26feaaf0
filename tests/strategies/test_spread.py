"""Spread: unsure rows, drawn by their noise, no two alike, that lie apart."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

import minmargin as mm
from minmargin.seeds import SeedTree

rng = np.random.default_rng(0)
X, POOL = rng.normal(size=(60, 4)), rng.normal(size=(5000, 4))
Y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 1)


@pytest.fixture(scope="module")
def committee():
    return mm.fit_committee(X, Y, n_models=5, random_state=3)


def lengths(committee, pool):
    mean = committee.predict_proba(pool, of="members")
    return np.linalg.norm(mean - np.eye(mean.shape[1])[mean.argmax(axis=1)], axis=1)


def test_rows_are_drawn_in_proportion_to_how_unsure_the_members_are(committee):
    """A batch of one that nothing is thinned out of is a row's chance, over many seeds."""
    pool = POOL[:12]
    picks = []
    for seed in range(1200):
        provenance = replace(committee.provenance, seeds=SeedTree(seed))
        reseeded = replace(committee, provenance=provenance)
        picks.append(int(reseeded.select(pool, 1, strategy=mm.Spread(oversample=1), n_jobs=1).rows[0]))
    weights = lengths(committee, pool)
    expected = 1200 * weights / weights.sum()
    found = np.bincount(picks, minlength=12)
    assert ((found - expected) ** 2 / expected).sum() < 35, "11 degrees of freedom: 1 in 4,000"


@pytest.mark.usefixtures("either_way")
def test_an_array_in_the_order_of_noise_gives_what_a_stream_gives_from_front_to_back(committee):
    batch = committee.select(POOL, 50, strategy="spread")
    stream = committee.select((POOL[i : i + 321] for i in range(0, 5000, 321)), 50, strategy="spread")
    assert batch == stream
    assert batch.manifest["pool"]["rows"] == 5000


def test_few_rows_are_looked_at():
    """The noise of a row is known from its number alone, and most have too little of it."""
    pool = rng.normal(size=(200_000, 4)).astype(np.float32)
    committee = mm.fit_committee(X, Y, n_models=5, random_state=3)
    decided = {
        how: committee.select(rows, 100, strategy="spread").manifest["rows_scored_exactly"]
        for how, rows in {"array": pool, "stream": iter(np.array_split(pool, 20))}.items()
    }
    needed = 400 * np.sqrt(2 / 3) / lengths(committee, pool[:5000]).mean()
    assert decided["array"] < 2 * needed
    assert decided["stream"] < 10 * needed


def test_excluded_rows_are_never_picked(committee):
    out = committee.select(POOL, 200, strategy="spread").rows
    batch = committee.select(POOL, 50, strategy="spread", exclude=out)
    assert not np.isin(batch.rows, out).any()
    assert batch.manifest["excluded"] == {"asked": 200, "rows": 200}
    assert batch == committee.select(iter(np.array_split(POOL, 7)), 50, strategy="spread", exclude=out)


def test_no_two_picks_are_alike(committee):
    pool = np.tile(POOL[:50], (20, 1))
    batch = committee.select(pool, 50, strategy="spread")
    assert len(np.unique(pool[batch.rows], axis=0)) == 50


def test_too_few_rows_that_are_not_alike_are_an_error(committee):
    with pytest.raises(mm.InputError) as error:
        committee.select(np.tile(POOL[:50], (20, 1)), 51, strategy="spread")
    assert str(error.value) == (
        "batch_size=51 is larger than the number of distinct rows (50 among 1,000 rows in the pool). Use "
        "batch_size<=50."
    )


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (np.nan, "is missing (NaN). Fill it, drop the row, or use preprocess='auto'."),
        (np.inf, "is infinite. Replace it."),
    ],
)
def test_a_row_with_a_value_that_no_model_takes_is_named_if_it_could_be_drawn(
    committee, value, problem, form
):
    pool = POOL.copy()
    noisiest = int(np.argmax(committee.provenance.seeds.gumbel(np.arange(5000))))
    pool[noisiest, 2] = value
    for rows in (form(pool), iter([form(pool[:3000]), form(pool[3000:])])):
        with pytest.raises(mm.InputError) as error:
            committee.select(rows, 5, strategy="spread")
        assert str(error.value) == f"Pool row {noisiest:,}, column 2 {problem}"


def test_a_row_that_chance_has_left_out_is_not_looked_at(committee):
    """Nor can it change the batch, however the pool is read."""
    pool = POOL.copy()
    least_noise = int(np.argmin(committee.provenance.seeds.gumbel(np.arange(5000))))
    pool[least_noise, 2] = np.nan
    batch = committee.select(POOL, 5, strategy="spread")
    assert batch == committee.select(pool, 5, strategy="spread")
    assert batch == committee.select(iter(np.array_split(pool, 3)), 5, strategy="spread", chunk_size=100)


def test_scores_beyond_all_numbers_are_an_error(committee):
    pool = np.sign(POOL[:20]) * 1.7e308
    with pytest.raises(
        mm.InputError, match=r"The class scores of pool row \d+ are not finite numbers. Scale its f"
    ):
        committee.select(pool, 3, strategy="spread")


def test_a_learner_that_takes_missing_values_is_given_them():
    learner = HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=3)
    pool = POOL[:300].copy()
    pool[::7, 1] = np.nan
    batch = mm.select(X, Y, pool, 10, strategy="spread", learner=learner, n_models=3, random_state=0)
    assert len(set(batch.rows.tolist())) == 10


def test_members_that_are_as_sure_as_can_be_leave_the_order_that_was_drawn():
    """Where every gradient is zero nothing lies apart, and there are rows to pick all the same."""
    sure = mm.fit_committee(X, Y, n_models=5, random_state=3, learner=LogisticRegression(C=1e8))
    pool = 1e6 * (1.0 + np.abs(POOL[:100]))
    batch = sure.select(pool, 10, strategy="spread")
    assert len(set(batch.rows.tolist())) == 10


def test_texts_lie_apart_by_their_words_and_by_probabilities_where_there_are_none():
    texts = ["card is lost", "card was stolen", "top up failed", "cannot top up"] * 3
    labels = ["card", "card", "top-up", "top-up"] * 3
    pool = [
        f"my {word} is {state}"
        for word in ("card", "top", "phone")
        for state in ("lost", "failed", "here", "up")
    ]
    for learner in ("text", make_pipeline(TfidfVectorizer(), MultinomialNB()), _OfRawTexts()):
        batch = mm.select(
            texts, labels, pool, 5, strategy="spread", learner=learner, n_models=3, random_state=0
        )
        assert len(set(batch.rows.tolist())) == 5


class _OfRawTexts(MultinomialNB):
    """A classifier of texts that are never numbers to anyone else."""

    def _numbers(self, texts):
        return np.array([[text.count("card"), text.count("top"), 1] for text in texts])

    def fit(self, X, y, sample_weight=None):
        return super().fit(self._numbers(X), y)

    def predict_proba(self, X):
        return super().predict_proba(self._numbers(X))

    def predict(self, X):
        return super().predict(self._numbers(X))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array, tags.input_tags.one_d_array = True, False, True
        return tags


def test_a_classifier_without_probabilities_is_refused():
    with pytest.raises(mm.InputError) as error:
        mm.select(X, Y, POOL, 3, strategy="spread", learner=LinearSVC())
    assert str(error.value) == (
        "Strategy 'spread' needs class probabilities, and LinearSVC() has only decision_function. Wrap it in "
        "CalibratedClassifierCV(..., ensemble=False)."
    )


def test_at_least_one_row_is_drawn_for_each_pick():
    with pytest.raises(mm.InputError, match="oversample=0 must be"):
        mm.Spread(oversample=0)


def test_the_reason_says_between_which_classes_the_members_are_torn(committee):
    batch = committee.select(POOL, 5, strategy="spread")
    mean = committee.predict_proba(POOL[batch.rows], of="members")
    assert batch.top_classes.tolist() == np.argsort(-mean, axis=1)[:, :2].tolist()
    assert (batch.member == -1).all()
    assert (batch.scores < 0).all()


@pytest.mark.parametrize("strategy", ["badge", "cluster-margin"])
def test_features_of_which_no_distance_can_be_told_are_refused(strategy):
    rng = np.random.default_rng(0)
    first = rng.uniform(size=40)
    features = rng.normal(size=(40, 3))
    first[7], features[7] = 0.5, 1e200
    with pytest.raises(mm.InputError) as caught:
        mm.select_from_probabilities(
            np.stack([first, 1 - first], axis=1), 10, strategy=strategy, features=features, random_state=0
        )
    assert str(caught.value) == (
        "The features of pool row 7 are so large that its distance from other rows is no finite number. Scale its "
        "features."
    )
