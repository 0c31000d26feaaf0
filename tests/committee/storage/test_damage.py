"""Files that are not what was saved give an error that names them, or the right answer; never anything else."""

from __future__ import annotations

import json
import os
import shutil
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy

import minmargin as mm
from committee.storage.tampering import mutated, seal
from minmargin.committee.storage.packed import pack_arrays
from minmargin.committee.storage.saved import parse_npy

# Between them they have every kind of file and of description.
KINDS = ["logistic", "chosen penalty", "sparse rows", "networks", "imputed", "preprocessed", "bayes", "texts"]
FIX = ". Restore the folder as it was saved, or save the committee again."


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


@pytest.fixture
def saved(kind, one, tmp_path):
    """Return the folder of a saved committee, and the function that loads it and scores with it."""
    committee, pool, trusted = one(kind)
    folder = committee.save(tmp_path / "saved")
    expected = committee.score(pool, n_jobs=1)

    def load():
        loaded = mm.load_committee(folder, trusted=trusted)
        return loaded.score(pool, n_jobs=1), expected, loaded.select(pool, 5, strategy="k-centers", n_jobs=1)

    return folder, load


def test_a_mutated_file_gives_an_error_that_names_it_or_the_right_answer(saved):
    folder, load = saved
    rng = np.random.default_rng(5)
    refused, n_right = [], 0
    for path in sorted(folder.iterdir()):
        data = path.read_bytes()
        for _ in range(16):
            path.write_bytes(mutated(data, rng))
            try:
                found, expected, _ = load()
            except mm.InputError as error:
                refused.append((str(path), str(error)))
            else:
                assert found.tobytes() == expected.tobytes()
                n_right += 1
        path.write_bytes(data)
    assert all(path in message for path, message in refused)
    assert len(refused) > 10 * n_right


def test_a_mutated_file_with_right_checksums_is_refused_or_loads_as_some_committee(saved):
    """Whoever can write checksums can write any committee; but nothing else than a committee."""
    folder, load = saved
    original = folder.with_name("original")
    shutil.copytree(folder, original)
    rng = np.random.default_rng(7)
    for path in sorted(folder.iterdir()):
        if path.name == "committee.json":
            continue
        for _ in range(10):
            path.write_bytes(mutated((original / path.name).read_bytes(), rng))
            seal(folder)
            with suppress(mm.MinMarginError):
                load()
        shutil.copy(original / path.name, path)


def places(value, path=()):
    """Yield the place of every value in JSON."""
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inner:
        yield from places(each, (*path, key))


WRONG = [
    None,
    True,
    -1,
    0,
    2,
    10**12,
    10**40,
    0.5,
    float("nan"),
    "",
    "x",
    "../secret.npy",
    [],
    [3, 1],
    {},
    {"a": 1},
]


def test_wrong_values_with_right_checksums_are_refused_or_load_as_some_committee(saved):
    folder, load = saved
    rng = np.random.default_rng(3)
    text = (folder / "committee.json").read_text()
    everywhere = [place for place in places(json.loads(text)["content"]) if place]
    for _ in range(80):
        *path, last = everywhere[rng.integers(len(everywhere))]

        def change(content, path=path, last=last):
            for key in path:
                content = content[key]
            if rng.random() < 0.2:
                del content[last]
            else:
                content[last] = WRONG[rng.integers(len(WRONG))]

        (folder / "committee.json").write_text(text)
        seal(folder, change)
        with suppress(mm.MinMarginError):
            load()


@given(st.binary(max_size=300))
def test_any_bytes_are_an_array_or_an_error(content):
    _parse(content)


@settings(max_examples=300)
@given(
    st.text(alphabet="{}()[]'\",: descrfoanhpLTu<>|VOUif0123456789", max_size=80),
    st.sampled_from([1, 2, 3, 9]),
)
def test_any_header_is_an_array_or_an_error(text, version):
    header = text.encode()
    length = len(header).to_bytes(2 if version == 1 else 4, "little")
    _parse(b"\x93NUMPY" + bytes([version, 0]) + length + header + bytes(64))


HEADERS = [
    ("<f8", "(10000000000000,)"),
    ("<f8", "(0, 99999999999999999999999999)"),
    ("<f8", "(-2, -4)"),
    ("<U0", "(10000000000000,)"),
    ("<U999999999", "(1,)"),
    ("|O", "(8,)"),
    ("|V8", "(8,)"),
    ("<M8[s]", "(8,)"),
    ("<c8", "(8,)"),
    ([("a", "<f8")], "(8,)"),
]


@pytest.mark.parametrize(("descr", "shape"), HEADERS)
def test_a_header_that_promises_too_much_or_objects_is_refused(descr, shape):
    header = f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    assert _parse(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(64)) is None


def _parse(content):
    with suppress(mm.InputError):
        return parse_npy(content, Path("x.npy"))


@given(
    st_numpy.arrays(
        st.sampled_from(["<f8", ">f8", "<f4", "<i8", "?", "<U3", ">U3"]),
        st_numpy.array_shapes(min_dims=0, min_side=0),
    )
)
def test_any_array_comes_back_as_it_was(array):
    found = _parse(pack_arrays({"x": array})["x.npy"])
    assert found.dtype == array.dtype.newbyteorder("=")
    assert found.shape == array.shape
    assert found.tobytes() == array.astype(found.dtype).tobytes()


# Single damages, with their whole message


@pytest.fixture
def logistic(one, tmp_path):
    return one("logistic").committee.save(tmp_path / "saved")


def complaint(folder, **settings):
    with pytest.raises(mm.InputError) as error:
        mm.load_committee(folder, **settings)
    return str(error.value)


def test_a_folder_that_is_not_there(tmp_path):
    assert complaint(tmp_path / "no") == (
        f"There is no folder '{tmp_path}/no'. Give the one that committee.save wrote."
    )


def test_a_folder_of_something_else(tmp_path):
    assert complaint(tmp_path) == f"'{tmp_path}/committee.json' cannot be loaded: it is missing{FIX}"
    (tmp_path / "committee.json").write_text('{"members": 3}')
    assert complaint(tmp_path) == (
        f"'{tmp_path}/committee.json' cannot be loaded: 'format' is None and must be a string{FIX}"
    )


def test_a_missing_file(logistic):
    (logistic / "classes.npy").unlink()
    assert complaint(logistic) == f"'{logistic}/classes.npy' cannot be loaded: it is missing{FIX}"


def test_a_file_cut_short(logistic):
    path = logistic / "member_weights.npy"
    data = path.read_bytes()
    path.write_bytes(data[:-3])
    assert complaint(logistic) == (
        f"'{path}' cannot be loaded: it has {len(data) - 3:,} bytes and {len(data):,} were saved{FIX}"
    )


def test_an_altered_file(logistic):
    path = logistic / "member_weights.npy"
    path.write_bytes(path.read_bytes()[:-1] + b"\x00")
    assert complaint(logistic) == (
        f"'{path}' cannot be loaded: its content does not have the recorded checksum, so it was altered{FIX}"
    )


def test_an_altered_setting(logistic):
    path = logistic / "committee.json"
    path.write_text(path.read_text().replace('"seed": 11', '"seed": 12'))
    assert complaint(logistic) == (
        f"'{path}' cannot be loaded: its content does not have the recorded checksum, so it was altered{FIX}"
    )


def test_other_spacing_and_order_is_no_alteration(logistic):
    path = logistic / "committee.json"
    path.write_text(json.dumps(json.loads(path.read_text()), sort_keys=True))
    mm.load_committee(logistic)


@pytest.mark.parametrize("scored", [[], [1], [2, 0, 1], [0, 1, 1], [-1, 0, 1], [0, 1, 3]])
def test_scored_classes_that_are_none(logistic, scored):
    seal(logistic, lambda content: content.update(scored=scored))
    assert complaint(logistic) == (
        f"'{logistic / 'committee.json'}' cannot be loaded: the classes that its models score are not two or more of 3 "
        f"in order{FIX}"
    )


def test_fewer_scored_classes_than_the_models_have(logistic):
    seal(logistic, lambda content: content.update(scored=[0, 1]))
    assert complaint(logistic) == (
        f"'{logistic / 'committee.json'}' cannot be loaded: the models have 3 outputs for 2 classes{FIX}"
    )


def test_a_newer_format(logistic):
    path = logistic / "committee.json"
    written = json.loads(path.read_text())
    path.write_text(json.dumps({**written, "format_version": 3, "minmargin": "9.9"}))
    assert complaint(logistic) == (
        f"'{path}' has format version 3, written by minmargin 9.9, and minmargin {mm.__version__} reads versions up "
        "to 2. Use the minmargin that wrote it, or a newer one."
    )


@pytest.mark.parametrize(
    "name", ["../classes.npy", "/etc/passwd", "a/b.npy", "..", ".npy", "c:x.npy", "x.npy\n", "x.pkl"]
)
def test_a_file_name_that_leads_elsewhere(logistic, name):
    def change(content):
        content["files"][name] = content["files"]["classes.npy"]

    seal(logistic, change)
    assert complaint(logistic) == (
        f"'{logistic}/committee.json' cannot be loaded: it lists a file {name!r}, which no committee has{FIX}"
    )


def test_a_pipe_in_place_of_a_file(logistic):
    (logistic / "classes.npy").unlink()
    os.mkfifo(logistic / "classes.npy")
    assert complaint(logistic) == f"'{logistic}/classes.npy' cannot be loaded: it is no plain file{FIX}"


def test_json_that_is_none_or_nested_too_deeply(logistic):
    path = logistic / "committee.json"
    for text in (
        "[" * 200_000,
        '{"a": ' * 200_000,
        "\x00",
        "\xff\xfe\x00\xd8",
        "9" * 5000,
    ):
        path.write_text(text, encoding="latin-1")
        assert complaint(logistic).startswith(f"'{path}' cannot be loaded: it ")


def test_weights_that_do_not_fit(logistic):
    path = logistic / "member_weights.npy"
    np.save(path, np.zeros((4, 4, 3)))
    seal(logistic)
    assert complaint(logistic) == (
        f"'{path}' cannot be loaded: it has shape (4, 4, 3) and must have (4, 3, 3){FIX}"
    )


def test_an_array_of_pickled_objects_is_not_unpickled(logistic, tmp_path):
    class Harmful:
        def __reduce__(self):
            return (os.mkdir, (str(tmp_path / "harm"),))

    np.save(logistic / "classes.npy", np.array([Harmful(), Harmful()], dtype=object), allow_pickle=True)
    seal(logistic)
    assert "its header promises object of shape (2,)" in complaint(logistic)
    assert not (tmp_path / "harm").exists()


FORMS = {
    "rows of 10,000,000,000 numbers are more than any model takes": ("logistic", {"width": 10**10}),
    "the columns that models look at are not among 2": ("imputed", {"width": 2}),
    "its models do not take rows in the form 'text'": ("logistic", {"form": "text"}),
    "its models do not take rows in the form 'frame'": ("bayes", {"form": "frame"}),
    "its models do not take rows in the form 'matrix'": ("logistic", {"named": {"whole": []}}),
    "the names of its columns are not different texts": (
        "bayes",
        {"given": {"names": ["a", "a"], "sized": True}},
    ),
}


@pytest.mark.parametrize("reason", FORMS)
def test_forms_and_sizes_are_checked_before_anything_is_made_of_them(reason, one, tmp_path):
    kind, changed = FORMS[reason]
    folder = one(kind).committee.save(tmp_path / "saved")
    seal(folder, lambda content: content["intake"].update(changed))
    with pytest.raises(mm.InputError) as caught:
        mm.load_committee(folder)
    assert str(caught.value) == f"'{folder / 'committee.json'}' cannot be loaded: {reason}{FIX}"


def test_weights_that_are_not_finite_are_no_fault_of_the_pool(one, tmp_path):
    folder = one("logistic").committee.save(tmp_path / "saved")
    weights = np.load(folder / "member_weights.npy")
    weights[0, 0, 0] = np.nan
    np.save(folder / "member_weights.npy", weights)
    seal(folder)
    with pytest.raises(mm.InputError) as caught:
        mm.load_committee(folder)
    assert str(caught.value) == (
        f"'{folder / 'committee.json'}' cannot be loaded: the models have weights that are not finite{FIX}"
    )
