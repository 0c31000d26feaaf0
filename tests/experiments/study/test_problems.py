"""Problems are coded as the module says, packed once, and refused where they are not what they were."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from pathlib import Path

import numpy as np
import pytest

from minmargin.errors import InputError
from minmargin.experiments.study import sets
from minmargin.experiments.study.cells import RULES
from minmargin.experiments.study.coding import Columns, Images, Texts
from minmargin.experiments.study.problems import (
    LARGE_PROBLEMS,
    PROBLEMS,
    check_problems,
    half_of,
    load_problem,
    make_problem,
    pack_problems,
)
from minmargin.experiments.study.sets import READERS, RealSet


def test_the_halves_are_every_other_name():
    assert list(PROBLEMS) == sorted(PROBLEMS)
    assert len(PROBLEMS) >= 22
    assert [half_of(name) for name in PROBLEMS[:3]] == ["choose", "confirm", "choose"]
    assert half_of("covtype-large") == half_of("covtype")
    assert set(LARGE_PROBLEMS).isdisjoint(PROBLEMS)


def test_numbers_are_standardized_over_all_rows_and_nominals_become_columns():
    numbers = np.array([[1.0, 7.0, 1.0], [3.0, 7.0, 0.0], [5.0, 7.0, 1.0], [7.0, 7.0, 1.0]])
    nominals = np.array([["a"], ["b"], ["a"], ["c"]])
    coded = Columns(numbers, nominals).code(np.array([3, 1]))
    deviation = np.sqrt(5)
    np.testing.assert_allclose(
        coded, [[3 / deviation, 0, 1, 0, 0, 1], [-1 / deviation, 0, 0, 0, 1, 0]], atol=1e-12
    )


def test_rare_levels_share_a_column():
    levels = np.array([["common"]] * 995 + [["rare"]] * 2 + [["rarer"]] * 1 + [["usual"]] * 6)
    coded = Columns(np.empty((len(levels), 0)), levels).code(np.array([0, 995, 997, 998]))
    assert coded.tolist() == [[1, 0, 0], [0, 0, 1], [0, 0, 1], [0, 1, 0]]


def test_texts_and_images_have_columns_of_variance_1_on_average():
    words = ["red", "green", "blue", "cat", "dog", "cow", "sun", "sea"]
    rng = np.random.default_rng(0)
    texts = Texts([" ".join(rng.choice(words, size=4)) for _ in range(60)])
    images = Images(rng.random((80, 100)))
    for features, n_columns in ((texts, 7), (images, 64)):
        coded = features.code(np.arange(len(features)))
        assert coded.shape == (len(features), n_columns)
        assert coded.var(axis=0).mean() == pytest.approx(1)


def test_a_problem_is_a_draw_of_its_set_rounded_to_float16(monkeypatch):
    rows = np.arange(30_000.0)[:, np.newaxis]
    real = RealSet(Columns(rows, rows[:, :0]), np.where(rows[:, 0] % 3 == 0, "third", "other"))
    monkeypatch.setitem(READERS, "phoneme", lambda _: real)
    problem = make_problem("phoneme")
    assert problem.X.shape == (24_000, 1)
    assert problem.X.dtype == np.float16
    assert problem.names.tolist() == ["other", "third"]
    assert problem.y.mean() == pytest.approx(1 / 3, abs=0.01)
    assert make_problem("phoneme").fingerprint == problem.fingerprint


def test_packed_problems_are_read_as_they_were_packed(packed):
    problem = load_problem(packed, "satimage")
    assert problem.X.shape == (900, 4)
    assert problem.names.tolist() == ["class 0", "class 1", "class 2"]
    assert problem.copies == pytest.approx(0, abs=0.01)
    stamp = (packed / "satimage.npz").stat().st_mtime_ns
    pack_problems(packed, ["satimage"])  # is there already: its set is not even looked for
    assert (packed / "satimage.npz").stat().st_mtime_ns == stamp


def test_copies_are_rows_that_repeat_another(packed):
    problem = load_problem(packed, "phoneme")
    twice = problem._replace(X=np.concatenate([problem.X, problem.X]))
    assert twice.copies == pytest.approx(0.5, abs=0.01)
    assert twice.fingerprint != problem.fingerprint


def test_a_problem_that_is_not_packed_is_named(tmp_path):
    path = tmp_path / "nomao.npz"
    with pytest.raises(InputError) as caught:
        load_problem(tmp_path, "nomao")
    assert str(caught.value) == (
        f"Problem 'nomao' is not packed: there is no file {str(path)!r}. Use minmargin study --pack first."
    )
    path.write_bytes(b"no archive")
    with pytest.raises(InputError, match=re.escape(f"{str(path)!r} cannot be read (") + ".*--pack"):
        load_problem(tmp_path, "nomao")


def test_a_problem_that_nobody_knows_is_refused_with_the_nearest_name():
    with pytest.raises(
        InputError, match=r"^There is no problem 'mnst' \(names: '20newsgroups', .*\)\. .*'mnist'"
    ):
        check_problems(["mnst"])


def test_files_beside_the_registry_are_checked(tmp_path, monkeypatch):
    with pytest.raises(InputError) as caught:
        READERS["spambase"](tmp_path)
    path = tmp_path / "tabular" / "spambase.tsv.gz"
    assert str(caught.value) == (
        f"File 'tabular/spambase.tsv.gz' is in no folder of data sets ({str(path)!r}). "
        "Put it there, or name the folder that has it with --data-dir."
    )
    path.parent.mkdir()
    path.write_bytes(gzip.compress(b"a\ttarget\n1.5\t0\n2.5\t1\n", mtime=0))
    with pytest.raises(
        InputError, match=r"is altered: its content has sha256 .* Get a copy with that checksum\.$"
    ):
        READERS["spambase"](tmp_path)
    monkeypatch.setattr(sets, "CHECKSUMS", dict.fromkeys(sets.CHECKSUMS, _sha256(path)))
    real = READERS["spambase"](tmp_path)
    assert real.features.numbers.tolist() == [[1.5], [2.5]]
    assert real.labels.tolist() == ["0", "1"]


def _sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


#: Directions found in float32 depend on the kernels of BLAS, and so on the processor.
OF_THE_MACHINE = {"fashion-mnist", "mnist"}
KEPT = json.loads((Path(__file__).parents[3] / "study" / "results" / "problems.json").read_text())


@pytest.mark.parametrize("name", PROBLEMS)
def test_real_sets_become_problems_that_results_which_are_kept_can_be_continued_with(name, shared_data):
    problem = make_problem(name, shared_data)
    if name not in OF_THE_MACHINE:
        assert KEPT[name]["rules"] == f"rows {problem.fingerprint}, {RULES}"
    assert len(problem.X) >= 4_000
    assert len(problem.names) >= 2
    assert np.isfinite(problem.X).all()
