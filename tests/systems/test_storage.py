"""What systems store: arrays and trees of tensors, without pickling, and nothing that is larger than its file."""

from __future__ import annotations

import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from systems.errors import SystemsError
from systems.neural.description import MODEL
from systems.neural.training import load
from systems.storage import read_arrays, read_tree, write_arrays, write_tree
from tests.hostile.features import npy_header, rows


def test_a_tree_comes_back_as_it_was(tmp_path: Path) -> None:
    """As the state of an optimiser: numbers as keys, tensors without dimensions, infinite values."""
    state = {0: {"step": torch.tensor(3.0), "mean": torch.arange(6.0).reshape(2, 3)}, 1: {}}
    tree = {"state": state, "groups": [{"lr": 0.1, "fused": None, "on": True}], "values": [[1, -np.inf]]}
    write_tree(tmp_path / "tree.npz", tree | {"empty": torch.empty(0, 4), "words": ["é", ""]})
    found = read_tree(tmp_path / "tree.npz", torch.from_numpy)
    assert found["state"][0]["step"].shape == ()
    assert torch.equal(found["state"][0]["mean"], state[0]["mean"])
    assert found["empty"].shape == (0, 4)
    assert [found[name] for name in ("groups", "values", "words")] == [tree["groups"], tree["values"], ["é", ""]]
    found["state"][0]["mean"] += 1  # it is no view of bytes that cannot be changed


def test_a_network_in_the_format_of_pickles_is_not_loaded(tmp_path: Path) -> None:
    class Command:
        def __reduce__(self) -> Any:
            return Path.touch, (tmp_path / "touched",)

    for name, write in (("saved", torch.save), ("pickled", lambda each, file: file.write_bytes(pickle.dumps(each)))):
        (folder := tmp_path / name).mkdir()
        write({"weight": Command()}, folder / MODEL)
        with pytest.raises(SystemsError, match=r"model\.safetensors: cannot be read .*; delete it and train again"):
            load(folder)
    assert not (tmp_path / "touched").exists()


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "pickled": ({"member": npy_header((1,), "|O") + pickle.dumps(1)}, "pickled objects; expected numbers"),
    "terabytes": ({"member": npy_header((10**12,))}, "its header promises 4,000,000,000,000 bytes of float32"),
    "compressed": (
        {"member": npy_header((3, 4)) + rows().tobytes(), "how": zipfile.ZIP_DEFLATED},
        "a.npy is compressed",
    ),
    "no array": ({"member": b"nothing"}, "cannot be read"),
}


@pytest.mark.parametrize("fault", WRONG)
def test_stored_arrays_are_no_larger_than_their_file(fault: str, tmp_path: Path) -> None:
    given, message = WRONG[fault]
    with zipfile.ZipFile(tmp_path / "index.npz", "w", given.get("how", zipfile.ZIP_STORED)) as file:
        file.writestr("a.npy", given["member"])
    with pytest.raises(SystemsError) as refused:
        read_arrays(tmp_path / "index.npz")
    assert message in str(refused.value)
    assert str(refused.value).endswith("train or index the system again")


def test_arrays_come_back_as_they_were(tmp_path: Path) -> None:
    arrays = {"f": np.asfortranarray(rows()), "names": np.array(["a", "bc"]), "none": np.array((), np.str_)}
    write_arrays(tmp_path / "arrays.npz", arrays)
    found = read_arrays(tmp_path / "arrays.npz")
    for name, array in arrays.items():
        assert found[name].dtype == array.dtype
        assert np.array_equal(found[name], array)
