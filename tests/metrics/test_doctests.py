"""The toys in the docstrings are run, and the docstrings of public functions say what a reader looks for."""

import doctest
import importlib
import inspect
import pkgutil
import re
import sys
from collections.abc import Callable
from typing import Any

import pytest

import metrics

OTHERS = ("__main__", "ir_provider", "figures")  # these run something, or need packages of their own
MODULES = [
    module.name
    for module in pkgutil.walk_packages(metrics.__path__, "metrics.")
    if module.name.rpartition(".")[2] not in OTHERS
]
FUNCTIONS = [name for name in metrics.__all__ if inspect.isfunction(getattr(metrics, name))]
EDGES = {"calc", "explain", "fuse", "as_qrels", "run_from_dict", "temporal_nms", "grouped", "compare"}


@pytest.mark.parametrize("name", MODULES)
def test_toys(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "reeljudge", metrics)  # its name where it is installed
    assert doctest.testmod(importlib.import_module(name)).failed == 0


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_docstring_of_a_public_function(name: str) -> None:
    function: Callable[..., Any] = getattr(metrics, name)
    text = inspect.getdoc(function) or ""
    sections = re.split(r"^([A-Z][A-Za-z ]+)\n-+\n", text, flags=re.MULTILINE)
    there = dict(zip(sections[1::2], sections[2::2], strict=True))
    parameters = inspect.signature(function).parameters
    assert {"See Also", "Examples"} <= {*there}
    assert ("Parameters" in there) == bool(parameters)
    assert "Returns" in there or "Yields" in there
    assert ">>> " in there["Examples"]
    heads = [line for line in there.get("Parameters", "").splitlines() if line and not line.startswith(" ")]
    named = {each: head for head in heads for each in head.partition(" : ")[0].split(", ")}
    assert list(named) and set(named) == {*parameters} if parameters else not named
    for key, parameter in parameters.items():
        if parameter.default is not inspect.Parameter.empty and " : " in named[key]:
            assert ", default " in named[key], named[key]
    if name in EDGES:
        assert there["Examples"].count("\n\n") >= 1, "an example of an edge"


def test_most_names_are_functions_or_measures() -> None:
    assert len(FUNCTIONS) > 30
    assert {*FUNCTIONS} >= EDGES
