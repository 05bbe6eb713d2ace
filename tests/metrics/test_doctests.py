"""The toys in the docstrings are run."""

import doctest
import importlib
import pkgutil

import pytest

import metrics.measures

MODULES = [m.name for m in pkgutil.iter_modules(metrics.measures.__path__, "metrics.measures.")]


@pytest.mark.parametrize("name", MODULES)
def test_toys(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0
