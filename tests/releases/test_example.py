"""The example that is installed with the library is a whole release of ours, small, and made by our own script."""

from __future__ import annotations

import json
import re
from pathlib import Path
from zipfile import ZipFile

import pytest

from metrics import calc, example, load_release
from releases.archive import ReleaseArchive
from releases.checks import verify
from tests import making_example
from tests.metrics.packaged import make_environment, run, wheel
from tests.metrics.shared import ROOT
from tests.releases.test_releases import ReleaseZip

COLLECTION, RUNS = example()
DATA = ("qrels.jsonl", "pool.jsonl", "ratings.csv", "judgements.jsonl", "beir/corpus.jsonl")


def test_it_is_a_whole_release_of_sixty_queries_in_little_space() -> None:
    assert not any(verify(ReleaseArchive(COLLECTION)).values())
    assert len(load_release(COLLECTION).qrels) == 60
    assert sum(file.stat().st_size for file in COLLECTION.parent.iterdir()) < 200_000


def test_its_two_runs_differ_visibly() -> None:
    finder, guesser = (calc("nDCG_IoU(iou=0.5)@20", COLLECTION, file).table().mean() for file in RUNS.values())
    assert finder - guesser > 0.2


@pytest.mark.long
@pytest.mark.django_db(transaction=True)
def test_the_script_makes_the_same_data_again(tmp_path: Path) -> None:
    """Drawings in the release depend on the library that draws them, and its card on the day."""
    making_example.write(tmp_path)
    for file in RUNS.values():
        assert (tmp_path / file.name).read_bytes() == file.read_bytes()
    made, stored = ReleaseZip(tmp_path / COLLECTION.name), ReleaseZip(COLLECTION)
    for name in DATA:
        assert made.read(name) == stored.read(name), name


def test_readme_and_notebook_run_where_nothing_but_the_wheel_is_installed(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    built = wheel()
    assert {f"reeljudge/example/{file.name}" for file in (COLLECTION, *RUNS.values())} <= set(ZipFile(built).namelist())
    names = ("numpy", "scipy", "pandas", "python-dateutil", "six")
    python = make_environment(tmp_path / "environment", built, *names) / "bin" / "python"
    readme = re.search(r"<!-- run: five lines -->\n```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert readme
    assert run(python, "-W", "error", "-c", readme[1], folder=tmp_path).count("nDCG_IoU(iou=0.5)@20") == 2
    notebook = ROOT / "docs" / "quickstart" / "first_minutes.ipynb"
    run(python, ROOT / "tests" / "metrics" / "notebooks.py", notebook, "--check", folder=tmp_path)


def test_the_notebook_installs_the_wheel_beside_it() -> None:
    """Until the package is published."""
    cells = json.loads((ROOT / "docs" / "quickstart" / "first_minutes.ipynb").read_text())["cells"]
    first = next("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    assert first == "%pip install -q --find-links . reeljudge pandas"
