"""What the tests of systems share: the tiny encoder of the tests of retrieval, and the processor."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from tests.retrieval.conftest import simcse as simcse


@pytest.fixture(scope="module", autouse=True)
def on_the_processor(request: pytest.FixtureRequest) -> Iterator[None]:
    """Also where there is a GPU, on which sums differ from time to time: `test_devices` alone computes there."""
    with pytest.MonkeyPatch.context() as patched:
        if request.path.name != "test_devices.py":
            patched.setattr(torch.cuda, "is_available", lambda: False)
        yield
