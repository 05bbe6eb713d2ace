"""Where the real data is, and how the tests of this package reach the command line."""

import contextlib
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from metrics.commands.main import main

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


def run_cli(*arguments: object, seed: str = "", folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run `python -m metrics` in this process; with a seed of hashes or in a folder, in one of its own."""
    words = [*map(str, arguments)]
    if not seed and not folder:
        return _in_this_process(words)
    return subprocess.run(
        [sys.executable, "-m", "metrics", *words],
        cwd=folder or ROOT,
        env={**os.environ, "PYTHONHASHSEED": seed or "0", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )


def _in_this_process(words: list[str]) -> subprocess.CompletedProcess[str]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(words)
        except SystemExit as end:
            code = int(end.code or 0)
    return subprocess.CompletedProcess(words, code, out.getvalue(), err.getvalue())


def write(path: Path, data: object) -> Path:
    """Write JSON, or text as it is."""
    path.write_text(data if isinstance(data, str) else json.dumps(data))
    return path
