"""Files of sets become rows and labels; tiny files stand in for the real ones, which are tried with shared data."""

from __future__ import annotations

import gzip
import hashlib
import io
import lzma
import tarfile

import numpy as np
import pytest

from minmargin.experiments.datasets import Table
from minmargin.experiments.study import sets
from minmargin.experiments.study.sets import READERS

PEOPLE = [
    f"{40 + k}, {job}, " + ", ".join(["0"] * 39) + f", {income}."
    for k, job, income in (
        (0, "Private", "- 50000"),
        (1, "Never worked", "50000+"),
    )
]


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Writes a file of a set, of which the reader then believes that it is the known one."""

    def write_file(path, content):
        packed = lzma.compress(content) if path.endswith(".xz") else gzip.compress(content)
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_bytes(packed)
        monkeypatch.setitem(sets.CHECKSUMS, path, hashlib.sha256(packed).hexdigest())

    return write_file


def read(name, folder):
    features, labels = READERS[name](folder)
    assert len(features) == len(labels)
    return features, labels.tolist()


def test_census_income_leaves_out_the_weight_of_a_row(write, tmp_path):
    for part, line in zip(("data", "test"), PEOPLE, strict=True):
        write(f"census-income-kdd/census-income.{part}.xz", f"{line}\n".encode())
    features, labels = read("census-income", tmp_path)
    assert features.numbers.shape == (2, 7)
    assert features.nominals.shape == (2, 33)
    assert features.numbers[:, 0].tolist() == [40, 41]
    assert features.nominals[:, 0].tolist() == [" Private", " Never worked"]
    assert labels == [" - 50000.", " 50000+."]


def test_covtype_has_its_kinds_of_soil_as_one_nominal(write, tmp_path):
    def line(wilderness, soil, label):
        kinds = [int(k == wilderness) for k in range(4)] + [int(k == soil) for k in range(40)]
        return ",".join(map(str, [*range(10), *kinds, label]))

    write("covtype/covtype.data.gz", "\n".join([line(1, 30, 5), line(3, 0, 7)]).encode())
    features, labels = read("covtype", tmp_path)
    assert features.numbers[0].tolist() == list(range(10))
    assert features.nominals.tolist() == [[1, 30], [3, 0]]
    assert labels == ["5", "7"]


def test_kddcup_has_three_nominals(write, tmp_path):
    rows = [f"0,tcp,http,SF,{','.join(['1'] * 37)},normal.", f"5,udp,dns,SF,{','.join(['2'] * 37)},smurf."]
    write("kddcup99-10pct/kddcup.data_10_percent.gz", "\n".join(rows).encode())
    features, labels = read("kddcup99", tmp_path)
    assert features.numbers.shape == (2, 38)
    assert features.nominals.tolist() == [["tcp", "http", "SF"], ["udp", "dns", "SF"]]
    assert labels == ["normal.", "smurf."]


def test_messages_are_their_subject_and_body(write, tmp_path):
    messages = {
        "train/sci.space/1": b"From: a@b\nSubject: Orbits\nLines: 1\n\nRound\n\nand round.\n",
        "test/alt.atheism/2": b"Subject: No\n\nQuite.\n",
    }
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as folder:
        for name, content in messages.items():
            member = tarfile.TarInfo(f"20news-bydate-{name}")
            member.size = len(content)
            folder.addfile(member, io.BytesIO(content))
    write("20newsgroups/20news-bydate.tar.xz", archive.getvalue())
    features, labels = read("20newsgroups", tmp_path)
    assert features.texts == [" Orbits\nRound\n\nand round.\n", " No\nQuite.\n"]
    assert labels == ["sci.space", "alt.atheism"]


def test_news_and_queries_are_texts(write, tmp_path):
    write("ag_news/train_subset.csv.gz", b'"3","Pensions","Talks ""failed""."\n')
    write("ag_news/test.csv.gz", b'"4","Race","Second team,\nsecond date."\n')
    features, labels = read("ag-news", tmp_path)
    assert features.texts == ['Pensions Talks "failed".', "Race Second team,\nsecond date."]
    assert labels == ["3", "4"]
    write("banking77/train.csv.gz", b'text,category\n"Where, please, is my card?",card_arrival\n')
    write("banking77/test.csv.gz", b"text,category\nHow much?,fees\n")
    features, labels = read("banking77", tmp_path)
    assert features.texts == ["Where, please, is my card?", "How much?"]
    assert labels == ["card_arrival", "fees"]


def test_tables_with_a_header_name_their_nominals(write, tmp_path):
    write("tabular/connect-4.tsv.gz", b"a1\ta2\ttarget\n0\t2\t1\n1\t2\t0\n")
    features, labels = read("connect-4", tmp_path)
    assert features.numbers.shape == (2, 0)
    assert features.nominals.tolist() == [["0", "2"], ["1", "2"]]
    assert labels == ["1", "0"]
    write(
        "tabular/credit-default-taiwan.csv.gz",
        b"ID,LIMIT_BAL,SEX,EDUCATION,MARRIAGE,late\n1,200,2,1,1,0\n2,300,1,1,3,1\n",
    )
    features, labels = read("credit-default", tmp_path)
    assert features.numbers.tolist() == [[200], [300]]
    assert features.nominals.tolist() == [["2", "1", "1"], ["1", "1", "3"]]


def test_sets_of_the_registry_are_taken_from_it(monkeypatch):
    X = np.array([[0.5, 1.0], [0.0, 3.0], [1.0, 2.0]])
    table = Table(X, np.array([0, 1, 1]), ("no", "yes"), X[:1], np.array([1]), ("a", "b"))
    monkeypatch.setattr(sets, "load_dataset", lambda name, folder: table)
    features, labels = read("magic04", None)
    assert features.numbers.shape == (3, 2)
    assert labels == ["no", "yes", "yes"]
    features, labels = read("nomao", None)  # codes beyond 1 make a column nominal
    assert features.numbers.tolist() == [[0.5], [0.0], [1.0]]
    assert features.nominals.tolist() == [[1.0], [3.0], [2.0]]
    features, labels = read("mnist", None)  # the test set's rows come last
    assert features.pixels.shape == (4, 2)
    assert labels == ["no", "yes", "yes", "yes"]
