"""What modules cannot be used for, or with, is said before or while they are trained."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402 - torch may be missing

import minmargin as mm  # noqa: E402
from small_modules import (  # noqa: E402
    DIGITS,
    IMAGES,
    IRIS,
    SPECIES,
    ImageNet,
    TokenNet,
    complaint,
    few_epochs,
    iris_net,
    pick,
    tokens,
)

pytestmark = pytest.mark.usefixtures("one_torch_thread")


def test_a_module_that_is_already_made_is_refused():
    assert complaint(learner=ImageNet()) == (
        "learner is a ImageNet that is already made, and every member needs one of its own. Pass a function that "
        "makes it, such as lambda: ImageNet(...)."
    )


def test_a_factory_of_something_else_is_refused():
    assert complaint(learner=lambda: LogisticRegression(C=2.0)) == (
        "learner's factory made a LogisticRegression, which is not a torch.nn.Module. Give a function that returns a "
        "module; pass a classifier as it is."
    )


def test_a_factory_that_fails_is_refused():
    assert complaint(learner=lambda width: nn.Linear(width, 3)) == (
        "learner's factory failed: TypeError: test_a_factory_that_fails_is_refused.<locals>.<lambda>() missing 1 "
        "required positional argument: 'width'. Give a function without arguments that returns a torch.nn.Module."
    )


def test_a_module_without_an_output_for_each_class_is_refused():
    assert complaint(learner=lambda: nn.Linear(4, 2)) == (
        "The module Linear gives outputs of shape (4, 2) for 4 rows and 3 classes. Its last layer needs 3 outputs, "
        "one for each class."
    )


def test_a_module_that_is_made_already_is_refused():
    with pytest.raises(mm.InputError) as error:
        mm.ModuleLearner(nn.Linear(4, 3))
    assert str(error.value) == (
        "factory is a Linear that is already made, and every member needs one of its own. Pass the class, "
        "ModuleLearner(Linear), or a function that makes it, such as ModuleLearner(lambda: Linear(...))."
    )


def test_a_module_that_gives_no_tensor_is_refused():
    class Pair(nn.Linear):
        def forward(self, X):
            return super().forward(X), X

    assert complaint(learner=lambda: Pair(4, 3)) == (
        "The module Pair gives a tuple. Return a tensor of one number a row and class."
    )


def test_a_module_that_does_not_take_the_rows_is_refused():
    assert complaint(learner=lambda: nn.Linear(5, 3)) == (
        "The module Linear fails on rows of shape (4,) and type float32: RuntimeError: mat1 and mat2 shapes cannot be "
        "multiplied (4x4 and 5x3). Give the rows in the shape that it takes, or ModuleLearner(..., input_shape=..., "
        "dtype=...)."
    )


def test_a_module_without_parameters_is_refused():
    assert complaint(learner=lambda: nn.LPPool1d(1, 1, ceil_mode=False), call=pick_three) == (
        "The module has no parameter that can be trained. Set requires_grad of those that shall."
    )


def pick_three(learner):
    return pick(learner, IRIS[::3, :3], SPECIES[::3], IRIS[:, :3])


def test_a_loss_that_is_one_number_is_refused():
    assert complaint(learner=few_epochs(iris_net, loss=nn.CrossEntropyLoss())) == (
        "loss gave a Tensor of shape () for 4 rows. Give one loss a row; in torch that is reduction='none'."
    )


def test_an_optimizer_that_is_none_is_refused():
    assert complaint(learner=few_epochs(iris_net, optimizer=list)) == (
        "optimizer made a list. Give a function from parameters to a torch optimizer, such as lambda parameters: "
        "torch.optim.SGD(parameters, lr=0.1)."
    )


@pytest.mark.parametrize(
    ("schedule", "reason"),
    [
        (lambda optimizer: None, "schedule failed: TypeError: "),
        (lambda optimizer, n_steps: 0.1, "schedule made a float, which does not go by steps. "),
        (
            lambda optimizer, n_steps: torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer),
            "schedule made a ReduceLROnPlateau, which does not go by steps. ",
        ),
    ],
    ids=["fails", "a number", "waits for a loss"],
)
def test_a_schedule_that_does_not_go_by_steps_is_refused(schedule, reason):
    message = complaint(learner=few_epochs(iris_net, schedule=schedule))
    assert message.startswith(reason)
    assert message.endswith(
        ". Give a function from an optimizer and the number of its steps to a torch scheduler, such as lambda "
        "optimizer, n_steps: torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, n_steps)."
    )


def test_a_weight_for_a_label_that_is_no_class_is_refused():
    assert complaint(learner=few_epochs(iris_net, class_weight={0: 1.0, "setosa": 2.0})) == (
        "class_weight has 'setosa', but the classes are 0, 1, 2. Use the labels as they are in y."
    )


def test_patience_without_rows_to_hold_out_is_refused():
    learner = few_epochs(iris_net, patience=2)
    assert complaint(call=lambda: pick(learner, IRIS[::50], SPECIES[::50], IRIS)) == (
        "patience=2 needs rows to hold out, and no class has more than one labeled row. Label more, or leave patience "
        "out."
    )


SETTINGS = {
    "epochs": ({"epochs": 0}, "epochs=0 must be a whole number >= 1; 100 is usual."),
    "batch size": ({"batch_size": 1.5}, "batch_size=1.5 must be a whole number >= 1; 32 is usual."),
    "lr": ({"lr": -1}, "lr=-1 must be a positive number. 0.001 is usual."),
    "optimizer": (
        {"optimizer": "lion"},
        (
            "optimizer='lion' must be one of 'adam', 'adamw', 'sgd', or a function from a list of parameters to a "
            "torch optimizer."
        ),
    ),
    "schedule": (
        {"schedule": 0.5},
        (
            "schedule=0.5 must be one of 'cosine', 'linear', or a function from an optimizer and the number of its "
            "steps to a torch scheduler."
        ),
    ),
    "warmup": (
        {"warmup": 1, "schedule": "linear"},
        "warmup=1 must be a number from 0 to below 1. 0.1 is usual.",
    ),
    "warmup of nothing": (
        {"warmup": 0.1},
        "warmup=0.1 is for schedule='cosine' or 'linear'. Use one of them, or let a schedule of your own warm up.",
    ),
    "class weight": (
        {"class_weight": "even"},
        "class_weight='even' must be None, 'balanced', or a weight for each class, such as {0: 2.0}.",
    ),
    "weight of a class": (
        {"class_weight": {"a": -1}},
        "class_weight gives class 'a' the weight -1. Use a number >= 0.",
    ),
    "patience": ({"patience": 0}, "patience=0 must be a whole number >= 1; 10 is usual."),
    "validation fraction": (
        {"patience": 3, "validation_fraction": 1.0},
        "validation_fraction=1.0 must be a number between 0 and 1. 0.1 is usual.",
    ),
    "loss": ({"loss": "mse"}, "loss is a str. Give a function."),
    "factory": ({"factory": None}, "factory is a NoneType. Give a function."),
    "dtype": ({"dtype": "float16"}, "dtype='float16' must be 'float32' or 'int64'."),
    "input shape": ({"input_shape": (1, 0)}, "input_shape=0 must be a whole number >= 1."),
    "standardized tokens": (
        {"dtype": "int64", "standardize": True},
        "standardize=True makes fractions of whole numbers. Leave it out for dtype='int64'.",
    ),
}


@pytest.mark.parametrize(("settings", "message"), SETTINGS.values(), ids=SETTINGS)
def test_a_setting_that_cannot_be_used_is_refused(settings, message):
    with pytest.raises(mm.InputError) as caught:
        mm.ModuleLearner(**{"factory": iris_net, **settings})
    assert str(caught.value) == message


def test_an_input_shape_of_another_size_is_refused():
    assert complaint(learner=few_epochs(iris_net, input_shape=(1, 3))) == (
        "input_shape=(1, 3) holds 3 numbers and a row has 4. Use a shape of as many."
    )


@pytest.mark.parametrize(
    ("value", "shown"), [(1.5, "1.5"), (2.0**53 + 2, "9007199254740994.0")], ids=["fraction", "large"]
)
def test_tokens_that_are_not_whole_numbers_name_the_row(value, shown):
    X, y = tokens()
    pool = X[200:].astype(np.float64)
    pool[3, 4] = value
    learner = few_epochs(TokenNet, dtype="int64")
    message = complaint(call=lambda: pick(learner, X[:200], y[:200], pool))
    assert message == (
        f"Pool row 3, column 4 is {shown}, and dtype='int64' takes whole numbers up to 2^53. Use dtype='float32', or "
        "mend it."
    )


def test_without_torch_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    assert complaint(mm.MissingExtraError, learner=iris_net) == (
        "A committee of modules needs torch, which is not installed. Use pip install 'minmargin[torch]'."
    )


# --- arrays with more than two dimensions ------------------------------------------------------------------


def test_rows_of_another_shape_are_refused():
    other = IMAGES[60:400].transpose(0, 2, 3, 1)
    assert complaint(call=lambda: pick(few_epochs(ImageNet), pool=other)) == (
        "The pool has rows of shape (8, 8, 1) and the labeled set has rows of shape (1, 8, 8). Use pool.reshape(-1, "
        "1, 8, 8)."
    )
    assert complaint(call=lambda: pick(few_epochs(ImageNet), pool=other[:, 1:])) == (
        "The pool has rows of shape (7, 8, 1) and the labeled set has rows of shape (1, 8, 8). Give both the same."
    )
    assert complaint(call=lambda: pick(few_epochs(iris_net), IRIS, SPECIES, IMAGES)) == (
        "The pool has rows of shape (1, 8, 8) and the labeled set has rows of shape (4,). Give both the same."
    )


def test_tables_of_another_width_are_refused_as_ever():
    assert complaint(call=lambda: pick(few_epochs(iris_net), IRIS, SPECIES, IRIS[:, :3])) == (
        "The pool has 3 features and the labeled set has 4. Give both the same columns in the same order."
    )


@pytest.mark.parametrize("learner", ["logistic", "random-forest", LogisticRegression()], ids=str)
@pytest.mark.parametrize("preprocess", ["none", "auto"])
def test_learners_of_tables_refuse_labeled_images(learner, preprocess):
    message = complaint(call=lambda: pick(learner, preprocess=preprocess))
    assert message == (
        "The labeled set has shape (60, 1, 8, 8), but rows and features need two dimensions. Use X.reshape(len(X), "
        "-1)."
    )


def test_learners_of_tables_refuse_a_pool_of_images(tmp_path):
    flat = DIGITS[:60]
    np.save(tmp_path / "pool.npy", IMAGES)
    for pool, what in (
        (IMAGES, "The pool"),
        ([IMAGES, IMAGES], "A chunk of the pool"),
        (tmp_path / "pool.npy", str(tmp_path / "pool.npy")),
    ):
        assert complaint(call=lambda pool=pool: pick("logistic", flat, pool=pool)) == (
            f"{what} has shape (1797, 1, 8, 8), but rows and features need two dimensions. Use X.reshape(len(X), -1)."
        )


def test_chunks_of_another_shape_are_refused():
    chunks = [IMAGES[60:100], IMAGES[100:200, :, 1:]]
    assert complaint(call=lambda: pick(few_epochs(ImageNet), pool=iter(chunks))) == (
        "Chunk 1 of the pool has rows of shape (1, 7, 8) and the first has rows of shape (1, 8, 8). Give every chunk "
        "the same columns."
    )


def test_files_of_another_shape_are_refused(tmp_path):
    np.save(tmp_path / "a.npy", IMAGES[:20])
    np.save(tmp_path / "b.npy", IMAGES[:20, :, 1:])
    assert complaint(call=lambda: pick(few_epochs(ImageNet), pool=tmp_path)) == (
        f"{str(tmp_path / 'b.npy')!r} has rows of shape (1, 7, 8) and {str(tmp_path / 'a.npy')!r} has rows of shape "
        "(1, 8, 8). Give all files of the pool the same."
    )


def test_a_missing_pixel_names_the_row():
    pool = IMAGES[60:400].copy()
    pool[5, 0, 1, 2] = np.nan
    assert complaint(call=lambda: pick(few_epochs(ImageNet), pool=pool)) == (
        "Pool row 5, column 10 is missing (NaN). Fill it, drop the row, or use preprocess='auto'."
    )
