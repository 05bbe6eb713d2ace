"""The list of systems, and their options, which a web process may import."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from systems.errors import BadOption
from systems.interface import SYSTEMS, system

ROOT = Path(__file__).parents[2]


def test_the_list_loads_neither_torch_nor_faiss_nor_django() -> None:
    code = (
        "import sys, systems.interface\n"
        "print(sorted({'torch', 'faiss', 'django', 'h5py', 'transformers'} & set(sys.modules)))"
    )
    answer = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert answer.stdout == "[]\n"


@pytest.mark.parametrize("name", SYSTEMS)
def test_each_system_can_be_made(name: str, tmp_path: Path) -> None:
    made = system(name, tmp_path / name)
    assert made.name == name
    assert type(made.options) is SYSTEMS[name].options
    assert not (tmp_path / name).exists()


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("mnc", {}, "system: 'mnc'; expected one of chance, prior"),
        ("mcn", {"colour": 1}, "colour: there is no such option; expected seed, "),
        ("mcn", {"seed": "1"}, "seed: '1'; expected a value such as 1"),
        ("mcn", {"learning_rate": float("nan")}, "learning_rate: nan; expected 1e-09 to 10"),
        ("mcn", {"loss": "l2"}, "loss: 'l2'; expected one of nce, triplet"),
        ("mcn", {"intra": 0, "inter": 0}, "inter: an example without negatives; expected at least one"),
        ("mcn", {"iterations": 10_000_001}, "iterations: 10,000,001; expected 1 to 10,000,000"),
        ("prior", {"nms": 2.0}, "nms: 2; expected 0 to 1"),
        ("prior", {"longest": 1}, "shortest: 2 clips, and the longest windows have 1; expected at most as many"),
        ("mcn", {"endpoints": 1}, "endpoints: 1; expected a value such as True"),
    ],
)
def test_wrong_options_are_named(name: str, options: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(BadOption) as refused:
        system(name, tmp_path / "system", **options)
    assert message in str(refused.value)
