"""The toys in the docstrings are run."""

import doctest
import importlib
import pkgutil

import pytest

import metrics

OTHERS = ("__main__", "ir_provider", "figures")  # these run something, or need packages of their own
MODULES = [
    module.name
    for module in pkgutil.walk_packages(metrics.__path__, "metrics.")
    if module.name.rpartition(".")[2] not in OTHERS
]


@pytest.mark.parametrize("name", MODULES)
def test_toys(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0
