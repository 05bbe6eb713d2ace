"""Where the real data is, and how the tests of this package reach the command line."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
SHARED = (ROOT / os.environ.get("REELJUDGE_SHARED", "../shared")).resolve()

needs_shared = pytest.mark.skipif(
    not SHARED.is_dir(), reason="the shared data is not here: set REELJUDGE_SHARED to its folder"
)


def cases(name: str) -> list[dict[str, Any]]:
    """The small cases of one published evaluator; none where the shared data is absent."""
    path = SHARED / "data" / "reference_eval" / f"{name}_small_cases.json"
    if not path.exists():
        return []
    found: list[dict[str, Any]] = json.loads(path.read_text())
    return found


def run_cli(*arguments: object, seed: str = "0", folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run `python -m metrics` as a person would, in that folder."""
    return subprocess.run(
        [sys.executable, "-m", "metrics", *map(str, arguments)],
        cwd=folder,
        env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )


def write(path: Path, data: object) -> Path:
    """Write JSON, or text as it is."""
    path.write_text(data if isinstance(data, str) else json.dumps(data))
    return path
