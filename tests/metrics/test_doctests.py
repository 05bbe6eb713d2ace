"""The toys in the docstrings are run."""

import doctest
import importlib
import pkgutil

import pytest

import metrics.analysis
import metrics.measures

PACKAGES = (metrics.measures, metrics.analysis)
MODULES = [m.name for p in PACKAGES for m in pkgutil.iter_modules(p.__path__, f"{p.__name__}.")]


@pytest.mark.parametrize("name", MODULES)
def test_toys(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0
