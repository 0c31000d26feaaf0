"""Torch modules are saved, and made again by a function that the caller gives or trusts by name."""

from __future__ import annotations

import functools
import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402 - torch may be missing

import minmargin as mm  # noqa: E402
from committee.storage.tampering import seal  # noqa: E402
from minmargin.learners.networks.factories import FactoryName, find_name  # noqa: E402
from small_modules import (  # noqa: E402
    DIGIT_LABELS,
    IMAGES,
    IRIS,
    SPECIES,
    ImageNet,
    complaint,
    few_epochs,
    iris_net,
    tokens,
)

pytestmark = pytest.mark.usefixtures("one_torch_thread")

MAKE = """
from torch import nn

print("imported")

def make(width=8):
    return nn.Sequential(nn.Linear(4, width), nn.ReLU(), nn.Linear(width, 3))
"""


class NamedNet(nn.Module):
    """The mean of tokens' embeddings, plus a number."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(50, 4)
        self.last = nn.Linear(4, 2)

    def forward(self, ids, size):
        return self.last(self.embedding(ids).mean(dim=1) + size[:, None])


def normed():
    return nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.LazyLinear(3))


def fit(factory=iris_net, X=IRIS[::3], y=SPECIES[::3], n_models=2, **settings):
    learner = few_epochs(factory, **settings)
    return mm.fit_committee(X, y, learner=learner, n_models=n_models, random_state=0, device="cpu")


def named_rows():
    X, y = tokens()
    return {"ids": X, "size": np.linspace(-1, 1, len(X))}, y


def images():
    return fit(ImageNet, IMAGES[:60], DIGIT_LABELS[:60]), IMAGES[60:200]


def named():
    columns, y = named_rows()
    labeled = {name: values[:100] for name, values in columns.items()}
    return fit(NamedNet, labeled, y[:100], inputs=["ids", "size"], patience=2), columns


def tokenized():
    X, y = tokens()
    committee = fit(
        lambda: nn.Sequential(nn.Embedding(50, 3), nn.Flatten(), nn.Linear(30, 2)),
        X[:90],
        y[:90],
        dtype="int64",
    )
    return committee, X


def preprocessed():
    frame = pd.DataFrame(IRIS, columns=list("abcd")).assign(color=np.where(IRIS[:, 0] > 5, "red", "blue"))
    learner = few_epochs(lazy)
    committee = mm.fit_committee(
        frame[::3], SPECIES[::3], learner=learner, n_models=2, random_state=0, preprocess="auto"
    )
    return committee, frame


def lazy():
    return nn.LazyLinear(3)


def batch_normed():
    with pytest.warns(mm.DataWarning):
        return fit(normed, standardize=True, patience=2), IRIS


CASES = {
    "table": lambda: (fit(), IRIS),
    "images": images,
    "tokens": tokenized,
    "named inputs": named,
    "batch norm, standardized": batch_normed,
    "preprocessed table": preprocessed,
    "only a base": lambda: (fit(n_models=0), IRIS),
    "classes without rows": lambda: (
        mm.fit_committee(
            IRIS[:100:5],
            SPECIES[:100:5],
            classes=[0, 1, 2],
            learner=few_epochs(iris_net),
            n_models=2,
            random_state=0,
        ),
        IRIS,
    ),
}
FACTORIES = {
    "images": ImageNet,
    "tokens": lambda: nn.Sequential(nn.Embedding(50, 3), nn.Flatten(), nn.Linear(30, 2)),
    "named inputs": NamedNet,
    "batch norm, standardized": normed,
    "preprocessed table": lazy,
}


@pytest.mark.parametrize("kind", CASES)
def test_modules_come_back_to_the_bit(kind, tmp_path):
    committee, pool = CASES[kind]()
    loaded = mm.load_committee(committee.save(tmp_path / "saved"), factory=FACTORIES.get(kind, iris_net))
    strategy = "min-margin" if committee.n_models else "margin"
    assert loaded.score(pool, strategy=strategy).tolist() == committee.score(pool, strategy=strategy).tolist()
    assert loaded.predict_proba(pool).tolist() == committee.predict_proba(pool).tolist()
    for chosen in (strategy, "k-centers"):
        one, other = (each.select(pool, 5, strategy=chosen) for each in (loaded, committee))
        assert one.rows.tolist() == other.rows.tolist()
        assert one.manifest["settings"] == other.manifest["settings"]
    assert repr(loaded) == repr(committee)
    assert loaded.stopping == committee.stopping
    assert loaded.scorer.made_by == committee.scorer.made_by
    again = mm.load_committee(loaded.save(tmp_path / "again"), factory=FACTORIES.get(kind, iris_net))
    assert again.score(pool, strategy=strategy).tolist() == committee.score(pool, strategy=strategy).tolist()


def test_versions_that_know_no_modules_are_told_so(tmp_path):
    folder = fit().save(tmp_path / "saved")
    assert json.loads((folder / "committee.json").read_text())["format_version"] == 2


def test_another_pool_is_matched_as_before(tmp_path):
    committee, pool = images()
    loaded = mm.load_committee(committee.save(tmp_path / "saved"), factory=ImageNet)
    with pytest.raises(mm.InputError) as caught:
        loaded.select(pool.reshape(-1, 8, 8), 3)
    assert str(caught.value) == (
        "The pool has rows of shape (8, 8) and the labeled set has rows of shape (1, 8, 8). Use pool.reshape(-1, 1, 8, "
        "8)."
    )


def test_no_code_is_imported_unless_its_name_is_trusted(tmp_path):
    (tmp_path / "our_nets.py").write_text(MAKE)
    np.save(tmp_path / "pool.npy", IRIS)
    head = "import sys, functools, numpy as np, minmargin as mm; pool = np.load('pool.npy'); "
    train = (
        "import our_nets; learner = mm.ModuleLearner(functools.partial(our_nets.make, width=5), epochs=2); "
        "c = mm.fit_committee(pool[::5], np.repeat([0, 1, 2], 10), learner=learner, n_models=2, random_state=0, "
        "device='cpu'); c.save('saved'); print(c.score(pool).tobytes().hex())"
    )
    refused = "print(*[mm.load_committee('saved')])"
    trusted = "print(mm.load_committee('saved', trusted=['our_nets:make']).score(pool).tobytes().hex())"

    def run(code):
        command = [sys.executable, "-c", head + code]
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)

    scores = run(train).stdout.split()[-1]
    without = run(refused)
    assert "imported" not in without.stdout
    assert without.stderr.strip().splitlines()[-1] == (
        "minmargin.errors.InputError: 'saved/committee.json' is of torch modules, whose weights are of no use without "
        "the function that makes them, which was 'our_nets:make' with width=5. Use load_committee(..., factory=...) "
        "with that function; or, if you trust whoever wrote it, trusted=['our_nets:make'] to import it."
    )
    assert run(trusted).stdout.split() == ["imported", scores]


def test_a_factory_without_a_name_has_to_be_given(tmp_path):
    folder = fit(lambda: nn.Linear(4, 3)).save(tmp_path / "saved")
    assert complaint(call=lambda: mm.load_committee(folder)) == (
        f"'{folder}/committee.json' is of torch modules, whose weights are of no use without the function that makes "
        "them. Use load_committee(..., factory=...) with that function."
    )
    assert len(mm.load_committee(folder, factory=lambda: nn.Linear(4, 3)).select(IRIS, 4)) == 4


def test_a_trusted_name_that_leads_nowhere_says_so(tmp_path):
    folder = fit().save(tmp_path / "saved")
    seal(folder, lambda content: content["scorer"]["factory"].update(name="no_such_module:make"))
    message = complaint(call=lambda: mm.load_committee(folder, trusted=["no_such_module:make"]))
    assert message == (
        "The factory 'no_such_module:make' cannot be imported: ModuleNotFoundError: No module named 'no_such_module'. "
        "Use load_committee(..., factory=...) with the function itself."
    )


WRONG = {
    "another width": (
        lambda: nn.Sequential(nn.Linear(4, 9), nn.ReLU(), nn.Linear(9, 3)),
        (
            "{base} does not fit the Sequential that the factory makes: '0.bias' is float32 of shape (8,) in the file, "
            "and float32 of shape (9,) in the module. Give the function that made the modules which were saved."
        ),
    ),
    "another type": (
        lambda: iris_net().double(),
        "The module Sequential fails on rows of shape (4,) and type float32: RuntimeError: ",
    ),
    "other layers": (
        lambda: nn.Linear(4, 3),
        (
            "{base} does not fit the Linear that the factory makes: '0.bias' is float32 of shape (8,) in the file, and "
            "missing in the module. Give the function that made the modules which were saved."
        ),
    ),
    "other classes": (
        lambda: nn.Linear(4, 2),
        (
            "The module Linear gives outputs of shape (2, 2) for 2 rows and 3 classes. Its last layer needs 3 outputs, "
            "one for each class."
        ),
    ),
    "no module": (
        lambda: 3,
        (
            "learner's factory made a int, which is not a torch.nn.Module. Give a function that returns a module; pass "
            "a classifier as it is."
        ),
    ),
}


@pytest.mark.parametrize(("factory", "message"), WRONG.values(), ids=WRONG)
def test_another_factory_is_refused(factory, message, tmp_path):
    folder = fit().save(tmp_path / "saved")
    found = complaint(call=lambda: mm.load_committee(folder, factory=factory))
    message = message.format(base=repr(str(folder / "base.safetensors")))
    assert found == message or (message.endswith("Error: ") and found.startswith(message))


def test_a_factory_for_other_models_is_refused(tmp_path):
    folder = mm.fit_committee(IRIS[::3], SPECIES[::3], n_models=2).save(tmp_path / "saved")
    assert complaint(call=lambda: mm.load_committee(folder, factory=iris_net)) == (
        f"factory makes torch modules, and {str(folder)!r} has models of learner 'logistic'. Leave it out."
    )
    assert complaint(call=lambda: mm.load_committee(folder, factory="our_nets:make")) == (
        "factory is a str. Give the function that makes the modules."
    )


# --- names -------------------------------------------------------------------------------------------------


class Maker:
    @staticmethod
    def net():
        return iris_net()

    def __call__(self):
        return iris_net()


def test_the_name_of_a_factory_is_where_it_can_be_found_again():
    here = __name__
    assert find_name(normed) == FactoryName(f"{here}:normed", {})
    assert find_name(NamedNet) == FactoryName(f"{here}:NamedNet", {})
    assert find_name(functools.partial(ImageNet, dropout=0.5)) == FactoryName(
        "small_modules:ImageNet", {"dropout": 0.5}
    )
    for nameless in (
        lambda: 0,
        Maker(),
        functools.partial(ImageNet, 0.5),
        functools.partial(ImageNet, dropout={1, 2}),
        functools.wraps(iris_net)(lambda: 0),
        functools.partial(functools.partial, ImageNet),
    ):
        assert find_name(nameless) is None


# --- damage ------------------------------------------------------------------------------------------------


ALTERED = {
    "shape": (lambda scorer: scorer["rows"].update(shape=[5]), "rows of 4 numbers have no shape (5,)"),
    "no shape": (
        lambda scorer: scorer["rows"].update(shape=[-2, -2]),
        "rows of 4 numbers have no shape (-2, -2)",
    ),
    "type": (
        lambda scorer: scorer["rows"].update(dtype="object"),
        "'dtype' is 'object' and must be one of 'float32', 'int64'",
    ),
    "reached": (lambda scorer: scorer.update(reached=[None]), "1 models were stopped, and there are 3"),
    "reached by none": (
        lambda scorer: scorer["reached"].__setitem__(0, {"epochs": -1}),
        "'epochs' is -1",
    ),
    "factory": (lambda scorer: scorer.update(factory={"name": 3}), "'name' is 3 and must be a string"),
}


@pytest.mark.parametrize(("alter", "reason"), ALTERED.values(), ids=ALTERED)
def test_descriptions_that_do_not_fit_are_refused(alter, reason, tmp_path):
    folder = fit(patience=2).save(tmp_path / "saved")
    seal(folder, lambda content: alter(content["scorer"]))
    assert complaint(call=lambda: mm.load_committee(folder, factory=iris_net)) == (
        f"'{folder}/committee.json' cannot be loaded: {reason}. Restore the folder as it was saved, or save the "
        "committee again."
    )


def test_a_scale_that_is_none_is_refused(tmp_path):
    folder = fit(standardize=True).save(tmp_path / "saved")
    np.save(folder / "rows_scale.npy", np.array([1.0, 0.0, 1.0, 1.0]))
    seal(folder)
    assert complaint(call=lambda: mm.load_committee(folder, factory=iris_net)) == (
        f"'{folder / 'rows_scale.npy'}' cannot be loaded: rows cannot be standardized by what it holds. Restore the "
        "folder as it was saved, or save the committee again."
    )
