"""State dicts are safetensors files: other tools can open them, and what is read back must fit the caller's module."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import safetensors.torch  # noqa: E402 - torch may be missing
from torch import nn  # noqa: E402

import minmargin as mm  # noqa: E402
from committee.storage.tampering import mutated, seal  # noqa: E402
from minmargin.committee.storage import state_dicts  # noqa: E402
from minmargin.committee.storage.modules import _file_names  # noqa: E402
from small_modules import IRIS, SPECIES, complaint, few_epochs, iris_net  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_torch_thread")

FIX = ". Restore the folder as it was saved, or save the committee again."
REFUSED = "A committee of torch modules cannot be saved"
MADE_BY = "Give the function that made the modules which were saved."


def fit(factory=iris_net, n_models=2):
    learner = few_epochs(factory, epochs=2)
    return mm.fit_committee(
        IRIS[::3], SPECIES[::3], learner=learner, n_models=n_models, random_state=0, device="cpu"
    )


@pytest.fixture
def folder(tmp_path):
    return fit().save(tmp_path / "saved")


def refusal(folder, factory=iris_net):
    return complaint(call=lambda: mm.load_committee(folder, factory=factory))


def bits(state):
    """Return the types, shapes and bytes of tensors by their names."""
    return {
        name: (tensor.dtype, tensor.shape, tensor.contiguous().flatten().view(torch.uint8).tolist())
        for name, tensor in state.items()
    }


# --- what is written ---------------------------------------------------------------------------------------


def test_each_model_has_a_file_of_its_own(folder):
    assert sorted(path.name for path in folder.iterdir()) == [
        "base.safetensors",
        "classes.npy",
        "committee.json",
        "labeled.npy",
        "member_00.safetensors",
        "member_01.safetensors",
    ]


@pytest.mark.parametrize(("n_models", "first"), [(1, "member_00"), (100, "member_00"), (101, "member_000")])
def test_names_sort_as_the_members_do(n_models, first):
    base, *members = _file_names(n_models)
    assert base == "base.safetensors"
    assert members[0] == f"{first}.safetensors"
    assert len(members) == n_models
    assert members == sorted(members)


def test_safetensors_alone_opens_the_state_of_each_model(tmp_path):
    committee = fit()
    folder = committee.save(tmp_path / "saved")
    models = (committee.scorer.base, *committee.scorer.members)
    for name, module in zip(("base", "member_00", "member_01"), models, strict=True):
        assert bits(safetensors.torch.load_file(folder / f"{name}.safetensors")) == bits(module.state_dict())
    with safetensors.safe_open(folder / "base.safetensors", framework="np") as file:
        assert file.metadata() == {"format": "pt"}
        weight = file.get_tensor("0.weight")
    assert weight.tobytes() == committee.scorer.base[0].weight.numpy().tobytes()


class Varied(nn.Module):
    """A layer with tensors of every type that can be saved, tied, transposed, empty and of no dimension."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 3)
        self.tied = self.first
        self.turned = nn.Parameter(torch.randn(5, 3).t(), requires_grad=False)
        self.low = nn.Parameter(torch.randn(3, dtype=torch.bfloat16), requires_grad=False)
        self.register_buffer("one", torch.tensor(1.5))
        self.register_buffer("none", torch.zeros(0, 4))
        for kind in state_dicts._TYPES:
            values = torch.tensor([0, 1, 1, 0, 1]).to(getattr(torch, kind))
            self.register_buffer(f"of_{kind}", values)

    def forward(self, X):
        return self.first(X) * self.turned.mean(dim=1) + self.low.float() + self.of_int16.sum()


def test_every_type_comes_back_to_the_bit(tmp_path):
    committee = fit(Varied, n_models=1)
    for module in (committee.scorer.base, *committee.scorer.members):  # other values than the factory's
        for kind in state_dicts._TYPES:
            module.get_buffer(f"of_{kind}").copy_(torch.tensor([1, 0, 1, 1, 0]))
        module.one.fill_(float("nan"))
    loaded = mm.load_committee(committee.save(tmp_path / "saved"), factory=Varied)
    for one, other in zip(
        (committee.scorer.base, *committee.scorer.members),
        (loaded.scorer.base, *loaded.scorer.members),
        strict=True,
    ):
        assert bits(one.state_dict()) == bits(other.state_dict())
        assert other.tied is other.first
    assert loaded.score(IRIS).tobytes() == committee.score(IRIS).tobytes()


class Stateful(nn.Linear):
    def __init__(self):
        super().__init__(4, 3)

    def get_extra_state(self):
        return {"seen": 3}

    def set_extra_state(self, state):
        pass


def with_buffer(values, name="more"):
    def make():
        made = nn.Linear(4, 3)
        made.register_buffer(name, values)
        return made

    return make


UNSAVED = {
    "state": (Stateful, "their state '_extra_state' is a dict and no tensor."),
    "complex": (
        with_buffer(torch.zeros(2, dtype=torch.complex64)),
        (
            "'more' is complex64. Use one of 'bool', 'int8', 'int16', 'int32', 'int64', 'uint8', 'uint16', 'uint32', "
            "'uint64', 'float16', 'bfloat16', 'float32', 'float64'."
        ),
    ),
    "sparse": (with_buffer(torch.eye(2).to_sparse_coo()), "'more' is sparse. Use a dense tensor."),
    "name": (
        with_buffer(torch.zeros(2), "__metadata__"),
        "the name '__metadata__' means something else in their files. Use another.",
    ),
}


@pytest.mark.parametrize(("factory", "reason"), UNSAVED.values(), ids=UNSAVED)
def test_what_a_file_cannot_hold_is_refused_and_leaves_nothing(factory, reason, tmp_path):
    committee = fit()
    committee.scorer.members.clear()
    object.__setattr__(committee.scorer, "base", factory())
    assert complaint(call=lambda: committee.save(tmp_path / "saved")) == f"{REFUSED}: {reason}"
    assert list(tmp_path.iterdir()) == []


UNLIKE = {
    "shape": (
        lambda: nn.Sequential(nn.Linear(4, 9), nn.ReLU(), nn.Linear(9, 3)),
        "'0.bias' is float32 of shape (8,) in the base, and float32 of shape (9,)",
    ),
    "type": (
        lambda: iris_net().double(),
        "'0.bias' is float32 of shape (8,) in the base, and float64 of shape (8,)",
    ),
    "fewer": (
        lambda: nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3, bias=False)),
        "'2.bias' is float32 of shape (3,) in the base, and missing",
    ),
    "more": (
        lambda: nn.Sequential(*iris_net(), nn.PReLU()),
        "'3.weight' is missing in the base, and float32 of shape (1,)",
    ),
}


@pytest.mark.parametrize(("factory", "reason"), UNLIKE.values(), ids=UNLIKE)
def test_a_member_with_other_tensors_than_the_base_is_refused(factory, reason, tmp_path):
    committee = fit()
    committee.scorer.members[1] = factory()
    assert complaint(call=lambda: committee.save(tmp_path / "saved")) == (
        f"{REFUSED}: {reason} in member 1. Use a factory that makes the same layers each time."
    )


# --- without the library -----------------------------------------------------------------------------------


@pytest.fixture
def without_safetensors(monkeypatch):
    """Return a function that lets safetensors be missing."""

    def hide():
        for name in ("safetensors", "safetensors.torch"):
            monkeypatch.setitem(sys.modules, name, None)

    return hide


def test_the_extra_is_named_where_safetensors_is_missing(folder, without_safetensors, tmp_path):
    committee = fit()
    without_safetensors()
    needs = "needs safetensors, which is not installed. Use pip install 'minmargin[torch]'."
    save = complaint(mm.MissingExtraError, lambda: committee.save(tmp_path / "another"))
    assert save == f"Saving a committee of torch modules {needs}"
    assert not (tmp_path / "another").exists()
    called = []
    load = complaint(
        mm.MissingExtraError, lambda: mm.load_committee(folder, factory=lambda: called.append(1))
    )
    assert load == f"Loading a committee of torch modules {needs}"
    assert not called


# --- damage by bytes ---------------------------------------------------------------------------------------


def test_a_file_cut_short_is_refused(folder):
    path = folder / "member_01.safetensors"
    data = path.read_bytes()
    path.write_bytes(data[:-4])
    assert refusal(folder) == (
        f"'{path}' cannot be loaded: it has {len(data) - 4:,} bytes and {len(data):,} were saved{FIX}"
    )
    seal(folder)
    assert refusal(folder) == f"'{path}' cannot be loaded: it is not a safetensors file that can be read{FIX}"


def test_an_altered_file_is_refused(folder):
    path = folder / "member_00.safetensors"
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    assert refusal(folder) == (
        f"'{path}' cannot be loaded: its content does not have the recorded checksum, so it was altered{FIX}"
    )


def test_a_missing_file_is_refused(folder):
    path = folder / "member_00.safetensors"
    path.unlink()
    assert refusal(folder) == f"'{path}' cannot be loaded: it is missing{FIX}"


def test_more_members_than_files_are_refused(folder):
    seal(folder, lambda content: content.update(n_models=3))
    assert refusal(folder) == (
        f"'{folder}/committee.json' cannot be loaded: it does not list 'member_02.safetensors'{FIX}"
    )


def written(header, data=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def entry(dtype="F32", shape=(1,), begin=0, end=4):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": [begin, end]}


HEADERS = {
    "nothing": b"",
    "no header": b"1234",
    "no JSON": written(b"{'a'", b"1234"),
    "nested": written(b'{"a":' * 100_000),
    "longer than the file": (1 << 60).to_bytes(8, "little") + b"{}",
    "a list": written(b"[]"),
    "no type": written({"a": entry("pickle")}, b"1234"),
    "type of a half byte": written({"a": entry("F4", [8])}, b"1234"),
    "negative shape": written({"a": entry(shape=[-1])}, b"1234"),
    "shape that is too large": written({"a": entry(shape=[1 << 62, 8], end=0)}),
    "data outside": written({"a": entry(shape=[2], end=8)}, b"1234"),
    "data that nobody has": written({"a": entry()}, b"12345678"),
    "data of two": written({"a": entry(), "b": entry()}, b"1234"),
    "end before begin": written({"a": entry(begin=4, end=0)}, b"1234"),
}


@pytest.mark.parametrize("content", HEADERS.values(), ids=HEADERS)
def test_a_header_that_is_none_is_refused(content, folder):
    path = folder / "base.safetensors"
    path.write_bytes(content)
    seal(folder)
    assert refusal(folder) == f"'{path}' cannot be loaded: it is not a safetensors file that can be read{FIX}"


def test_a_mutated_file_with_right_checksums_is_refused_by_name_or_loads_as_some_committee(folder):
    path = folder / "member_00.safetensors"
    original, rng, refused = path.read_bytes(), np.random.default_rng(2), []
    for _ in range(150):
        path.write_bytes(mutated(original, rng))
        seal(folder)
        try:
            assert mm.load_committee(folder, factory=iris_net).n_models == 2
        except mm.InputError as error:
            refused.append(str(error))
    assert 30 < len(refused) < 150
    assert all(message.startswith(f"'{path}' ") for message in refused)


# --- damage by meaning -------------------------------------------------------------------------------------


def lack(state):
    del state["2.bias"]


OTHERS = {
    "missing": (lack, "'2.bias' is missing in the file, and float32 of shape (3,) in the module"),
    "more": (
        lambda state: state.update(more=torch.zeros(2)),
        "'more' is float32 of shape (2,) in the file, and missing in the module",
    ),
    "shape": (
        lambda state: state.update({"2.bias": torch.zeros(1, 3)}),
        "'2.bias' is float32 of shape (1, 3) in the file, and float32 of shape (3,) in the module",
    ),
    "type": (
        lambda state: state.update({"2.bias": torch.zeros(3, dtype=torch.float16)}),
        "'2.bias' is float16 of shape (3,) in the file, and float32 of shape (3,) in the module",
    ),
    "nothing": (
        lambda state: state.clear(),
        "'0.bias' is missing in the file, and float32 of shape (8,) in the module",
    ),
    "long name": (
        lambda state: state.update({"0" * 100: torch.zeros(2)}),
        f"'{'0' * 80}…' is float32 of shape (2,) in the file, and missing in the module",
    ),
}


@pytest.mark.parametrize(("alter", "reason"), OTHERS.values(), ids=OTHERS)
@pytest.mark.parametrize("name", ["base", "member_01"])
def test_tensors_that_the_module_does_not_have_are_refused(name, alter, reason, folder):
    path = folder / f"{name}.safetensors"
    state = safetensors.torch.load_file(path)
    alter(state)
    path.write_bytes(safetensors.torch.save(state))
    seal(folder)
    assert refusal(folder) == (
        f"'{path}' does not fit the Sequential that the factory makes: {reason}. {MADE_BY}"
    )


def test_a_file_that_is_far_too_large_is_not_read(folder):
    path = folder / "base.safetensors"
    seal(folder, lambda content: content["files"]["base.safetensors"].update(bytes=10**12))
    path.unlink()  # so it cannot have been looked at
    assert refusal(folder) == (
        f"'{path}' has 1,000,000,000,000 bytes, far more than the 268 of the Sequential that the factory makes. "
        f"{MADE_BY}"
    )


def masked():
    return nn.Sequential(with_buffer(torch.tensor([True, False]))())


def test_truth_values_that_are_none_are_refused(tmp_path):
    folder = fit(masked).save(tmp_path / "saved")
    path = folder / "base.safetensors"
    path.write_bytes(path.read_bytes()[:-2] + b"\x02\x00")
    seal(folder)
    assert refusal(folder, masked) == (
        f"'{path}' cannot be loaded: its '0.more' holds bytes that are neither true nor false{FIX}"
    )


def test_a_factory_whose_modules_have_a_state_besides_tensors_is_refused(tmp_path):
    folder = fit(lambda: nn.Linear(4, 3)).save(tmp_path / "saved")
    assert refusal(folder, Stateful) == (
        f"'{folder / 'base.safetensors'}' does not fit the Stateful that the factory makes: '_extra_state' is missing "
        f"in the file, and a dict in the module. {MADE_BY}"
    )
