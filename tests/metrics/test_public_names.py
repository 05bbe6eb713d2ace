"""`import metrics` offers what the library promises, costs nothing, and reaches for no framework."""

import subprocess
import sys

import pytest

import metrics
from tests.metrics.shared import ROOT


def test_every_public_name_is_there() -> None:
    for name in metrics.__all__:
        assert getattr(metrics, name) is not None
    assert {*metrics.__all__} <= {*dir(metrics)}


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = metrics.nothing  # type: ignore[attr-defined]


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
