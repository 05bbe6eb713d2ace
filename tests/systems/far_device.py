"""A device like a GPU, on machines that have none: its tensors say that they are elsewhere, and meet no others.

Tensors are kept and computed on the processor. What mixes them with tensors of the processor raises, as CUDA does. They
call their device `meta`, because torch wants a driver for any other.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

from systems.neural import device, training

WHERE = torch.device("meta")
MOVING = {"_to_copy", "copy_"}  # what may have a tensor on either side
WITH_INDEXES = {"index", "index_put", "index_put_", "_index_put_impl_", "_unsafe_index"}  # which may be here
WITH_LENGTHS = {"_pack_padded_sequence", "_pad_packed_sequence", "_pack_padded_sequence_backward"}


class Far(torch.Tensor):  # type: ignore[misc]
    """A tensor that says that it is elsewhere."""

    near: torch.Tensor

    @staticmethod
    def __new__(cls, near: torch.Tensor) -> Far:
        made: Far = torch.Tensor._make_wrapper_subclass(
            cls,
            near.size(),
            strides=near.stride(),
            storage_offset=near.storage_offset(),
            dtype=near.dtype,
            device=WHERE,
        )
        made.near = near
        return made

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return run(func, args, kwargs or {})

    def numpy(self, *, force: bool = False) -> Any:
        raise TypeError("a tensor elsewhere has no array; expected .cpu() before")

    def __repr__(self) -> str:
        return f"Far({self.near!r})"


class Mode(TorchDispatchMode):  # type: ignore[misc]
    """Sees the functions that make tensors, too."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return run(func, args, kwargs or {})


def run(func: Any, args: Any, kwargs: Any) -> Any:
    """Run a function of torch on the processor, and return tensors where they would be."""
    tensors = [each for each in tree_flatten((args, kwargs))[0] if isinstance(each, torch.Tensor)]
    far, name = any(isinstance(each, Far) for each in tensors), func.overloadpacket.__name__
    if far and name not in MOVING | WITH_LENGTHS:
        checked = tree_flatten((args[0], args[2:]) if name in WITH_INDEXES else (args, kwargs))[0]
        for each in checked:
            if isinstance(each, torch.Tensor) and not isinstance(each, Far) and each.ndim:
                raise RuntimeError(f"{func}: tensors here and elsewhere, of shape {tuple(each.shape)}")
    if "device" in kwargs and kwargs["device"] is not None:
        far = torch.device(kwargs["device"]).type == WHERE.type
        kwargs = kwargs | {"device": torch.device("cpu")}
    near_args, near_kwargs = tree_map(lambda each: each.near if isinstance(each, Far) else each, (args, kwargs))
    found = func(*near_args, **near_kwargs)
    if name == "_pack_padded_sequence":
        return Far(found[0]), found[1]  # the sizes of its batches stay here
    if name == "copy_" or (name.endswith("_") and not name.startswith("__")):
        return args[0]
    return tree_map(lambda each: Far(each) if far and type(each) is torch.Tensor else each, found)


@contextmanager
def far_device(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let networks compute on the device that is none."""
    monkeypatch.setattr(device, "device", lambda: WHERE)
    monkeypatch.setattr(training, "device", lambda: WHERE)
    monkeypatch.setattr(training, "mixed", nullcontext)
    monkeypatch.setattr(training, "own_draws", lambda: torch.random.fork_rng(devices=[]))
    monkeypatch.setattr(torch, "autocast", lambda *args, **kwargs: nullcontext())
    monkeypatch.setattr(torch, "inference_mode", torch.no_grad)  # which such tensors do not know
    with Mode():
        yield
