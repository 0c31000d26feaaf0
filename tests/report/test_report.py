"""The report of a batch as a whole: what it says, what it leaves out and says so, how large it is."""

from __future__ import annotations

import io
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_digits, load_iris
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import minmargin as mm
from minmargin.execution import silent
from minmargin.report import survey
from minmargin.report.batch import Wishes, make_report
from minmargin.strategies import RowScore, resolve_strategy
from parsed_page import ParsedPage

X, y = load_iris(return_X_y=True)
NAMES = ["a", "b", "c", "d"]
SPECIES = np.array(["setosa", "versicolor", "virginica"])[y]
POOL = pd.DataFrame(X, columns=NAMES).assign(row_id=[f"r{row}" for row in range(150)])
SETTINGS: dict[str, Any] = {"n_models": 5, "random_state": 0, "n_jobs": 1}

HOSTILE = [
    "<script>alert('cell')</script>",
    "<img src=x onerror=alert(1)>",
    "javascript:alert(1)",
    "{{ 7 * 7 }}{% raw %}",
    "</script></table></body>",
    "zero\u200bwidth\ufeff",
    "\u202eright to left\u202c العربية",
    "a\x00b\x07c",
    '$x$ & <b>"bold"</b> \'',
]


def pick(pool: Any = POOL, batch_size: int = 20, **settings: Any) -> mm.Batch:
    return mm.select(POOL.loc[::5, NAMES], SPECIES[::5], pool, batch_size, **{**SETTINGS, **settings})


@pytest.fixture(scope="module")
def batch() -> mm.Batch:
    return pick(id_column="row_id")


@pytest.fixture(scope="module")
def page(batch: mm.Batch, tmp_path_factory: pytest.TempPathFactory) -> ParsedPage:
    return ParsedPage(batch.report(tmp_path_factory.mktemp("report") / "report.html"))


def test_the_first_sentence_says_what_was_asked_and_what_came_out(page: ParsedPage, batch: mm.Batch) -> None:
    shared = len(set(batch.rows) & set(pick(strategy="margin").rows))
    assert (
        "Of 150 rows in the pool, these 20 were picked by min-margin: the smallest margin under any of 5 members, "
        f"trained on 30 labeled rows. Plain margin would have picked {shared} of them."
    ) in page.sentences()


def test_every_section_is_there(page: ParsedPage) -> None:
    said = page.sentences()
    for heading in (
        "Where the picks lie",
        "What plain margin would have picked",
        "What sets them apart",
        "The picks from the pool",
        "The labeled set from the pool",
        "Scores of the pool, and the cut",
        "Which members they come from",
        "Which classes they are torn between",
        "What the base takes them for",
        "Next to plain margin",
        "The rows",
        "How it was made",
        "To repeat it",
        "The whole manifest",
    ):
        assert heading in said
    assert sum(name == "svg" for name, _ in page.elements) == 7
    assert all(attributes["aria-label"] for name, attributes in page.elements if name == "svg")


def test_the_rows_are_those_of_the_batch_with_their_reasons(page: ParsedPage, batch: mm.Batch) -> None:
    assert page.headings == ["rank", "id", "row", "predicted", "score", "reason", *NAMES]
    assert page.column("rank") == [str(rank) for rank in range(1, 21)]
    assert page.column("id") == batch.ids.tolist()
    assert page.column("row") == [str(row) for row in batch.rows]
    assert page.column("c") == [f"{value:.4g}" for value in X[batch.rows, 2]]
    assert page.column("predicted") == batch.predicted.tolist()
    for reason, member, (first, second) in zip(
        page.column("reason"), batch.member, batch.top_classes, strict=True
    ):
        assert re.fullmatch(rf"member {member} gives 0\.\d+ to {first}, 0\.\d+ to {second}", reason)


def test_a_score_is_sorted_by_all_its_digits(page: ParsedPage, batch: mm.Batch) -> None:
    keys = [
        attributes["data-key"]
        for name, attributes in page.elements
        if name == "td" and "data-key" in attributes
    ]
    assert {repr(score) for score in batch.scores.tolist()} <= set(keys)


def test_the_call_that_repeats_it_repeats_it(page: ParsedPage, batch: mm.Batch) -> None:
    call = "minmargin.select(" + page.text.partition("minmargin.select(")[2].partition("\n)")[0] + "\n)"
    names = {"minmargin": mm, "X": POOL.loc[::5, NAMES], "y": SPECIES[::5], "pool": POOL}
    again = eval(call, names)  # noqa: S307 - our own page
    np.testing.assert_array_equal(again.rows, batch.rows)


def test_the_call_says_that_rows_are_distinct(tmp_path: Path) -> None:
    pool = pd.concat([POOL] * 3, ignore_index=True)
    batch = mm.select(POOL.loc[::5, NAMES], SPECIES[::5], pool, 20, distinct=True, **SETTINGS)
    page = ParsedPage(batch.report(tmp_path / "x.html"))
    assert "distinct=True," in page.text
    assert f"copies passed over{batch.manifest['copies_passed_over']}" in page.sentences()


def test_the_manifest_is_there_whole(page: ParsedPage, batch: mm.Batch) -> None:
    assert batch.manifest["labeled"]["fingerprint"] in page.text
    assert f'"seed": {batch.manifest["settings"]["seed"]}' in page.text


def test_picks_that_tie_with_the_last_are_counted(page: ParsedPage, tmp_path: Path) -> None:
    told = [[0.5, 0.5]] * 6 + [[0.9, 0.1]] * 4
    tied = mm.select_from_probabilities(told, 5, random_state=0).report(tmp_path / "tied.html").read_text()
    assert "<dt>with the score of the last pick</dt><dd>5</dd>" in tied
    assert "with the score of the last pick" not in page.text


def test_the_same_batch_gives_the_same_bytes(batch: mm.Batch, tmp_path: Path) -> None:
    first, second = (batch.report(tmp_path / f"{name}.html").read_bytes() for name in "ab")
    assert first == second


def test_a_command_is_shown_in_place_of_the_call(batch: mm.Batch, tmp_path: Path) -> None:
    said = ParsedPage(batch.report(tmp_path / "x.html", command="minmargin select --seed 7")).sentences()
    assert "minmargin select --seed 7" in said
    assert "minmargin.select(" not in said


@pytest.mark.parametrize("strategy", [entry.name for entry in mm.strategies() if entry.name != "true-margin"])
def test_every_strategy_has_a_report(strategy: str, tmp_path: Path) -> None:
    said = ParsedPage(pick(strategy=strategy).report(tmp_path / "x.html")).sentences()
    resolved = resolve_strategy(strategy)
    assert ("has no score of a row by itself, so this is the base's margin" not in said) == isinstance(
        resolved, RowScore
    )
    assert ("This batch is plain margin's own." in said) == (strategy == "margin")
    by_member = isinstance(resolved, RowScore) and resolved.needs == "members" and resolved.contest == "model"
    assert ("Which members they come from" in said) == by_member


# What cannot be shown


def test_a_stream_says_what_is_missing_and_why(tmp_path: Path) -> None:
    page = ParsedPage(pick(iter([POOL[:70], POOL[70:]])).report(tmp_path / "x.html"))
    assert (
        "The pool was a stream of chunks, which can be read only once. So this page has no map, no scores of the rest "
        "of the pool, and no comparison with plain margin."
    ) in page.sentences()
    assert "Where the picks lie" not in page.text
    assert page.column("reason")[0].startswith("member ")
    assert "is torn between" in page.column("reason")[0]


def test_a_batch_without_an_origin_or_a_manifest_still_has_a_page(tmp_path: Path) -> None:
    made = pick()
    bare = mm.Batch(made.rows, None, made.scores, made.member, made.top_classes, made.predicted, None)
    said = ParsedPage(bare.report(tmp_path / "x.html")).sentences()
    assert "This batch was made elsewhere, and its pool and models did not come along." in said
    assert "these 20 were picked by an unnamed strategy." in said


def test_rows_of_one_number_have_no_map_and_the_page_says_so(tmp_path: Path) -> None:
    batch = mm.select(X[::5, 2:3], y[::5], X[:, 2:3], 20, **SETTINGS)
    said = ParsedPage(batch.report(tmp_path / "x.html")).sentences()
    assert "Rows have a single number each, so there is no map." in said
    assert "Next to plain margin" in said


def test_rows_with_missing_values_have_no_map(tmp_path: Path) -> None:
    holes = X.copy()
    holes[::7, 1] = np.nan
    batch = mm.select(
        holes[::5], y[::5], holes, 20, learner="gradient-boosting", **{**SETTINGS, "n_models": 2}
    )
    said = ParsedPage(batch.report(tmp_path / "x.html")).sentences()
    assert "Some rows have missing values, so there is no map, and no distances." in said
    assert "Scores of the pool, and the cut" in said


def test_a_learner_of_rows_that_are_no_numbers_has_no_map(tmp_path: Path) -> None:
    class ByLength(ClassifierMixin, BaseEstimator):
        """Texts by their length."""

        def fit(self, X, y):
            self.classes_ = np.unique(y)
            return self

        def predict_proba(self, X):
            long = np.clip([len(text) / 10 for text in X], 0.0, 1.0)
            return np.stack([1 - long, long], axis=1)

    texts = ["x" * (row % 11) + "y" for row in range(60)]
    batch = mm.select(texts[:10], [0, 1] * 5, texts, 5, learner=ByLength(), **SETTINGS)
    page = ParsedPage(batch.report(tmp_path / "x.html"))
    assert (
        "Rows are not numbers, or were given without features, so there is no map, and no distances."
        in page.sentences()
    )
    assert page.column("text") == [texts[row] for row in batch.rows]


def test_of_a_large_batch_the_table_has_the_first_rows_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("minmargin.report.rows.N_LISTED", 7)
    monkeypatch.setattr(survey, "N_LISTED", 7)
    page = ParsedPage(pick().report(tmp_path / "x.html"))
    assert len(page.rows) == 7
    assert "These are the first 7 of 20 picks; the batch's file has all of them." in page.sentences()


def test_columns_that_do_not_fit_are_named(tmp_path: Path) -> None:
    names = [f"more{place}" for place in range(17)]
    batch = pick(POOL.assign(**dict.fromkeys(names, 1)), keep=names)
    page = ParsedPage(batch.report(tmp_path / "x.html"))
    assert page.headings == ["rank", "row", "predicted", "score", "reason", *names, "a", "b", "c"]
    assert "Not shown are the columns 'd'." in page.sentences()


def test_the_first_columns_of_the_pool_are_chosen_at_first_and_the_others_can_be(tmp_path: Path) -> None:
    names = [f"more{place}" for place in range(6)]
    batch = pick(POOL.assign(**dict.fromkeys(names, 1)), keep=names)
    page = ParsedPage(batch.report(tmp_path / "x.html"))
    boxes = [
        attributes
        for name, attributes in page.elements
        if name == "input" and attributes["type"] == "checkbox"
    ]
    assert [int(box["value"]) for box in boxes] == list(range(len(page.headings)))
    chosen = [page.headings[int(box["value"])] for box in boxes if "checked" in box]
    assert chosen == ["rank", "row", "predicted", "score", "reason", *names, "a", "b"]


def test_rows_can_be_chosen_by_predicted_class_and_by_pair(page: ParsedPage, batch: mm.Batch) -> None:
    rows = [attributes for name, attributes in page.elements if name == "tr" and "data-pair" in attributes]
    classes = Counter(batch.predicted.tolist())
    pairs = [" / ".join(sorted(pair)) for pair in batch.top_classes.tolist()]
    said = page.sentences()
    groups = []
    for label, each in (("Predicted", classes), ("Torn between", Counter(pairs))):
        groups.append(sorted(each, key=lambda name, each=each: (-each[name], name)))
        assert f"{label} all" + "".join(f"{name} ({each[name]})" for name in groups[-1]) in said
    assert [groups[0][int(row["data-predicted"])] for row in rows] == batch.predicted.tolist()
    assert [groups[1][int(row["data-pair"])] for row in rows] == pairs


def test_two_classes_have_a_sentence_and_no_chart_with_one_bar(tmp_path: Path) -> None:
    two = SPECIES != "setosa"
    batch = mm.select(POOL[two][NAMES][::5], SPECIES[two][::5], POOL[two], 20, **{**SETTINGS, "n_models": 1})
    page = ParsedPage(batch.report(tmp_path / "x.html"))
    said = page.sentences()
    assert "All picks are torn between versicolor and virginica." in said
    for absent in ("Which classes they are torn between", "Which members they come from", "pairs of classes"):
        assert absent not in said
    assert not any("data-pair" in attributes for _, attributes in page.elements)


# Texts and pictures


def test_what_annotators_read_stands_before_the_reason_and_other_columns_after_it(tmp_path: Path) -> None:
    long = [f"row {row}: " + "many words " * 6 for row in range(150)]
    wide = POOL.assign(photo=image_of(0), **{f"more{place}": place for place in range(6)})
    wide = wide.assign(title="short", question=long, answer=long, note=long)
    kept = [f"more{place}" for place in range(6)] + ["title", "question", "answer", "note"]
    batch = pick(wide, id_column="row_id", keep=kept)
    page = ParsedPage(batch.report(tmp_path / "x.html", image_column="photo"))
    front = ["rank", "id", "row", "image", "question", "answer", "predicted", "score", "reason"]
    assert page.headings == [*front, *(f"more{place}" for place in range(6)), "title", "note", *NAMES]


def test_texts_are_shown_as_texts_though_nobody_kept_them(tmp_path: Path) -> None:
    pool = pd.DataFrame({"text": [f"word{row % 7} in row {row}" for row in range(80)]})
    # Texts that look alike to a learner that knows seven words are shown as they are.
    learner = make_pipeline(TfidfVectorizer(), LogisticRegression())
    batch = mm.select(pool[:10], ["x", "y"] * 5, pool, 7, features="text", learner=learner, **SETTINGS)
    assert ParsedPage(batch.report(tmp_path / "x.html")).column("text") == pool["text"][batch.rows].tolist()


def test_rows_that_are_images_are_shown_as_pictures(tmp_path: Path) -> None:
    digits, numbers = load_digits(return_X_y=True)
    batch = mm.select(digits[:100], numbers[:100], digits[100:400], 20, **SETTINGS)
    page = ParsedPage(batch.report(tmp_path / "x.html", image_shape=(8, 8)))
    pictures = [attributes for name, attributes in page.elements if name == "img"]
    assert len(pictures) == 20
    assert all(attributes["src"].startswith("data:image/png;base64,") for attributes in pictures)
    assert all(attributes["class"] == "pixels" and attributes["alt"] == "" for attributes in pictures)


def image_of(number: int, side: int = 20) -> bytes:
    noise = np.random.default_rng(number).integers(0, 255, (side, side, 3), dtype=np.uint8)
    with io.BytesIO() as file:
        Image.fromarray(noise).save(file, format="PNG")
        return file.getvalue()


def test_a_column_of_images_need_not_be_kept(tmp_path: Path) -> None:
    batch = pick(POOL.assign(photo=[image_of(row) for row in range(150)]))
    page = ParsedPage(batch.report(tmp_path / "x.html", image_column="photo"))
    assert sum(name == "img" for name, _ in page.elements) == 20
    assert "photo" not in page.headings


def test_a_column_of_images_that_cannot_be_had_is_an_error(tmp_path: Path) -> None:
    batch = pick(iter([POOL.assign(photo=[image_of(0)] * 150)]))
    with pytest.raises(mm.InputError) as error:
        batch.report(tmp_path / "x.html", image_column="photo")
    assert str(error.value) == (
        "Column 'photo' is not in the batch, and its pool cannot be read again. Select with keep=['photo']."
    )
    assert list(tmp_path.iterdir()) == []


# Errors, before anything is read


@pytest.mark.parametrize(
    ("wishes", "message"),
    [
        (
            {"columns": "a"},
            "columns names 'a', and a map has two directions. Name two columns, or two places.",
        ),
        (
            {"columns": ["a"]},
            "columns names 'a', and a map has two directions. Name two columns, or two places.",
        ),
        (
            {"columns": ["a", 1]},
            "columns names 'a', 1, and a map has two directions. Name two columns, or two places.",
        ),
        (
            {"image_shape": (3, 3)},
            "image_shape=(3, 3) has 9 numbers, and rows have 4. Give a shape with as many.",
        ),
        ({"columns": ("a", "e")}, "Column 'e' is not in the pool (columns: 'a', 'b', 'c', 'd', 'row_id')."),
    ],
)
def test_a_wish_that_cannot_be_granted_is_an_error(
    batch: mm.Batch, tmp_path: Path, wishes: dict[str, Any], message: str
) -> None:
    with pytest.raises(mm.InputError) as error:
        batch.report(tmp_path / "x.html", **wishes)
    assert str(error.value) == message
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_does_not_exist_is_noticed_first(batch: mm.Batch, tmp_path: Path) -> None:
    seen: list[str] = []
    with pytest.raises(mm.InputError, match="does not exist"):
        batch.report(tmp_path / "no" / "x.html", progress=lambda stage, done, total: seen.append(stage))
    assert seen == []


# Hostile data


def test_hostile_contents_stay_text(tmp_path: Path) -> None:
    names = [f"{place}{text}" for place, text in enumerate(HOSTILE[:8])]
    cells = [HOSTILE[row % 8] for row in range(150)]
    pool = POOL.assign(**dict.fromkeys(names, cells))
    classes = np.array([HOSTILE[0], HOSTILE[3], HOSTILE[8]], dtype=object)[y]
    batch = mm.select(POOL.loc[::5, NAMES], classes[::5], pool, 20, keep=names, **SETTINGS)
    page = ParsedPage(batch.report(tmp_path / "x.html"))
    assert sorted(page.headings) == sorted(["rank", "row", "predicted", "score", "reason", *names, *NAMES])
    for name in names:
        assert page.column(name)[0] == cells[batch.rows[0]], name
    assert page.column("predicted") == batch.predicted.tolist()
    assert sum(name == "script" for name, _ in page.elements) == 1
    assert not any(attribute.startswith("on") for _, attributes in page.elements for attribute in attributes)
    assert "49" not in page.column("predicted")


def test_half_a_surrogate_pair_of_a_batch_made_elsewhere_is_a_question_mark(
    batch: mm.Batch, tmp_path: Path
) -> None:
    other = replace(batch, predicted=np.array(["\ud800"] * 20, dtype=object), origin=None)
    assert ParsedPage(other.report(tmp_path / "x.html")).column("predicted") == ["?"] * 20


@settings(max_examples=10)
@given(names=st.lists(st.text(max_size=30), min_size=3, max_size=3))
def test_any_names_of_classes_are_shown_as_they_are(batch: mm.Batch, names: list[str]) -> None:
    renamed = dict(zip(np.unique(SPECIES), names, strict=True))
    called = np.vectorize(renamed.get, otypes=[object])
    other = replace(
        batch, predicted=called(batch.predicted), top_classes=called(batch.top_classes), origin=None
    )
    page = ParsedPage(make_report(other, Wishes(), progress=silent).encode().decode())
    assert page.column("predicted") == [renamed[name] for name in batch.predicted]


# Size


def test_a_thousand_rows_with_long_texts_and_pictures_stay_below_two_megabytes(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    n = 1200
    rows = X[rng.integers(0, 150, n)] + rng.normal(size=(n, 4))
    pool = pd.DataFrame(rows, columns=NAMES).assign(
        photo=[image_of(number, 96) for number in range(30)] * 40,
        **{f"text{place}": [f'<&"日本語_{number}>' * 100 for number in range(n)] for place in range(9)},
        **{f"number{place}": rng.normal(size=n) for place in range(20)},
    )
    keep = [name for name in pool if name.startswith(("text", "number"))]
    batch = mm.select(POOL.loc[::5, NAMES], SPECIES[::5], pool, 1000, keep=keep, **SETTINGS)
    path = batch.report(tmp_path / "x.html", image_column="photo")
    assert path.stat().st_size < 2_000_000
    page = ParsedPage(path)
    assert len(page.rows) == 1000
    said = page.sentences()
    assert "texts are cut at" in said
    assert "rows have pictures, to keep the page small." in said
