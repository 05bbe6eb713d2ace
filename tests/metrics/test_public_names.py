"""`import metrics` offers what the library promises, costs nothing, and reaches for no framework."""

import ast
import subprocess
import sys

import pytest

import metrics
from tests.metrics.shared import ROOT


def test_every_public_name_is_there() -> None:
    for name in metrics.__all__:
        assert getattr(metrics, name) is not None
    assert {*metrics.__all__} <= {*dir(metrics)}


def test_type_checkers_see_the_same_names() -> None:
    tree = ast.parse((ROOT / "metrics" / "__init__.py").read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    imported = {(f".{node.module}", name.asname) for node in imports for name in node.names}
    assert imported == {(module, name) for module, names in metrics._NAMES.items() for name in names}


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = metrics.nothing


@pytest.mark.parametrize(
    ("work", "heavy"),
    [
        ("", ("numpy", "scipy")),
        ("metrics.calc; metrics.compare; metrics.Client", ("django", "torch", "pandas", "altair", "httpx")),
    ],
)
def test_what_is_imported(work: str, heavy: tuple[str, ...]) -> None:
    code = f"import sys, metrics\n{work}\nprint([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
