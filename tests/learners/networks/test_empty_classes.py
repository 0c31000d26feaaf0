"""Networks have outputs for classes that nobody has labeled yet."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402 - torch may be missing

import minmargin as mm  # noqa: E402
from small_modules import DIGIT_LABELS, IMAGES, IRIS, SPECIES, ImageNet, complaint, few_epochs, pick  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_torch_thread")


def test_a_module_keeps_all_its_outputs_while_some_classes_have_no_labels():
    learner, known = few_epochs(ImageNet), DIGIT_LABELS[:200] < 8
    committee = mm.fit_committee(
        IMAGES[:200][known],
        DIGIT_LABELS[:200][known],
        classes=range(10),
        learner=learner,
        n_models=2,
        random_state=0,
    )
    assert committee.classes_.tolist() == list(range(10))
    scores = committee.class_scores(IMAGES[200:300])
    assert scores.shape == (100, 10)
    assert (scores > 0).all()
    np.testing.assert_allclose(scores.sum(axis=1), 1.0, atol=1e-12)
    batch = committee.select(IMAGES[200:], 5)
    assert batch.manifest["labeled"]["class_counts"]["9"] == 0


def test_without_them_the_outputs_are_one_for_each_label():
    known = DIGIT_LABELS[:200] < 8
    assert complaint(
        call=pick, learner=few_epochs(ImageNet), X=IMAGES[:200][known], y=DIGIT_LABELS[:200][known]
    ) == (
        "The module ImageNet gives outputs of shape (4, 10) for 4 rows and 8 classes. Its last layer needs 8 outputs, "
        "one for each class. If it is to tell 10 classes apart, name them all with classes=[...]."
    )


def test_class_weights_leave_out_classes_without_labels():
    classes = [0, 1, 2, 3]
    learner = few_epochs(lambda: nn.Linear(4, 4), class_weight="balanced")
    committee = mm.fit_committee(
        IRIS[::3], SPECIES[::3], classes=classes, learner=learner, n_models=1, random_state=0
    )
    assert committee.class_scores(IRIS).shape == (150, 4)


@pytest.mark.parametrize("class_weight", [None, "balanced", {1: 2.0, 3: 0.5}])
def test_an_mlp_has_an_output_for_each_class_and_is_saved_with_them(class_weight, tmp_path):
    learner = mm.MLPLearner(hidden=(5,), epochs=3, class_weight=class_weight, patience=2)
    committee = mm.fit_committee(
        IRIS[::3], SPECIES[::3], classes=[0, 1, 2, 3], learner=learner, n_models=2, random_state=0
    )
    scores = committee.class_scores(IRIS)
    assert scores.shape == (150, 4)
    assert (scores > 0).all()
    loaded = mm.load_committee(committee.save(tmp_path / "saved"))
    assert loaded.classes_.tolist() == [0, 1, 2, 3]
    np.testing.assert_array_equal(loaded.class_scores(IRIS), scores)
    assert loaded.select(IRIS, 5) == committee.select(IRIS, 5)
