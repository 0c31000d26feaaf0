"""Probabilities, files and names of classes that were once misread, or ended in somebody else's error."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import minmargin as mm

P = np.array([[0.5, 0.5], [0.9, 0.1], [0.8, 0.2]])


def complaint(given, **settings):
    with pytest.raises(mm.InputError) as error:
        mm.select_from_probabilities(given, 1, **settings)
    return str(error.value)


@pytest.mark.parametrize("classes", [["dog", "cat"], ["cat", "dog"], np.array(["dog", "cat"])])
def test_classes_that_columns_are_called_after_may_come_in_any_order(classes):
    frame = pd.DataFrame({"p_cat": [0.9], "p_dog": [0.1]})
    batch = mm.select_from_probabilities(frame, 1, columns="p_*", classes=classes)
    assert batch.predicted.tolist() == ["cat"]


def test_classes_of_whole_numbers_go_by_the_names_of_columns():
    frame = pd.DataFrame({"p_1": [0.9], "p_0": [0.1]})
    assert mm.select_from_probabilities(frame, 1, columns="p_*", classes=[0, 1]).predicted.tolist() == [1]


def test_other_names_are_those_of_the_columns_in_their_order():
    frame = pd.DataFrame({"p_cat": [0.9], "p_dog": [0.1]})
    batch = mm.select_from_probabilities(frame, 1, columns="p_*", classes=["Hund", "Katze"])
    assert batch.predicted.tolist() == ["Hund"]


def test_classes_of_several_types_are_refused():
    told = complaint([[0.1, 0.2, 0.7]], classes=["a", 1, 2.5])
    assert told == "The labels mix types (number, str). Make them all strings or all numbers."


@pytest.mark.parametrize(
    "settings", [{}, {"base": np.ma.masked_array(P)}, {"features": np.ma.masked_array(P)}]
)
def test_masked_arrays_are_refused(settings):
    masked = np.ma.masked_array(P, mask=P == 0.5)
    names = {"base": "The base", "features": "The array of features"}
    name = names[next(iter(settings))] if settings else "The array of probabilities"
    told = f"{name} is a masked array. Leave out rows with masked cells."
    assert complaint(P if settings else masked, **settings) == told


def test_masked_arrays_of_several_models_are_refused():
    masked = np.ma.masked_array(P, mask=P == 0.5)
    assert complaint([P, masked]) == "Model 1 is a masked array. Leave out rows with masked cells."
    assert complaint({"a": masked}) == "Model 'a' is a masked array. Leave out rows with masked cells."


@pytest.mark.parametrize("where", ["probabilities", "features", "labeled_features", "list"])
def test_a_file_that_is_no_array_is_named(tmp_path, where):
    def told(path):
        if where == "probabilities":
            return complaint(path)
        return complaint([path]) if where == "list" else complaint(P, **{"features": P, where: path})

    absent, other, cut = (str(tmp_path / f"{name}.npy") for name in ("absent", "other", "cut"))
    assert told(absent) == f"There is no file {absent!r}."
    (tmp_path / "other.npy").write_text("a,b\n1,2\n")
    assert told(other).startswith(f"{other!r} cannot be read as .npy (the magic string is not correct")
    np.save(cut, np.zeros((1000, 2)))
    (tmp_path / "cut.npy").write_bytes((tmp_path / "cut.npy").read_bytes()[:-100])
    assert told(cut) == (
        f"{cut!r} cannot be read as .npy (mmap length is greater than file size). Mend or remove the file; nothing "
        "was written."
    )
