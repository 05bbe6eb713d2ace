"""The device on which networks compute, one for a process: the processor, or a GPU. Importing this loads no torch."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import BadOption

if TYPE_CHECKING:
    import torch

AUTO, CPU, CUDA, MPS = DEVICES = ("auto", "cpu", "cuda", "mps")
_chosen = AUTO


def choose(name: str) -> None:
    """Let the networks of this process compute on this device from now on; those that are loaded stay where they are.

    name: `cpu`, `cuda`, `mps`, or `auto`, which is `cuda` where torch finds a GPU and else `cpu`.
    Raises BadOption if there is no such device. Of `cuda` and `mps` only `device` looks whether they are there.
    """
    global _chosen
    if name not in DEVICES:
        raise BadOption("device", repr(name), f"one of {', '.join(DEVICES)}")
    _chosen = name


def device() -> torch.device:
    """Return the device that was chosen. Raises BadOption if this machine does not have it, or torch cannot use it."""
    import torch

    if _chosen == AUTO:
        return torch.device(CUDA if torch.cuda.is_available() else CPU)
    there = {CPU: True, CUDA: torch.cuda.is_available(), MPS: torch.backends.mps.is_available()}
    if not there[_chosen]:
        right = ", ".join([AUTO, *(name for name, is_there in there.items() if is_there)])
        raise BadOption("device", f"{_chosen!r}, which torch {torch.__version__} does not find here", right)
    return torch.device(_chosen)


def placed(array: NDArray[Any]) -> torch.Tensor:
    """Return a tensor of an array on the device: a view on the processor, a copy that is under way on a GPU."""
    import torch

    tensor = torch.from_numpy(np.ascontiguousarray(array))
    where = device()
    if where.type == CPU:
        return tensor
    return (tensor.pin_memory() if where.type == CUDA else tensor).to(where, non_blocking=True)


def mixed() -> AbstractContextManager[Any]:
    """Return a context in which a GPU multiplies matrices in bfloat16 (autocast); on the processor nothing changes."""
    import torch

    return torch.autocast(CUDA, torch.bfloat16) if device().type == CUDA else nullcontext()


def own_draws() -> AbstractContextManager[Any]:
    """Return a context after which torch's random numbers, also those of the device, go on as if nothing was drawn."""
    import torch

    where = device()
    return torch.random.fork_rng(devices=[] if where.type == CPU else None, device_type=where.type)
