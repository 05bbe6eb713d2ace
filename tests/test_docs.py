"""The documents are true: their commands run, and every setting, command and dependency has its line."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.installation import ROOT, Installation

README = (ROOT / "README.md").read_text()


def commands(name: str) -> list[str]:
    """The lines of the README's block that is marked to be run under that name."""
    block = re.search(rf"<!-- run: {name} -->\n```sh\n(.*?)```", README, re.S)
    assert block, name
    return block[1].strip().splitlines()


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Installation]:
    made = Installation(tmp_path / "home")
    made.env["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{made.env['PATH']}"
    made.create()
    yield made
    made.stop()


def shell(place: Installation, line: str, folder: Path) -> str:
    """Run a line as the reader would, but write where the test may."""
    line = line.replace("manage.py", str(ROOT / "manage.py"))
    env = place.env | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        ["sh", "-c", line], cwd=folder, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.mark.timeout(900)
def test_tvr_is_ready_to_judge_after_four_commands(place: Installation, shared: Path, tmp_path: Path) -> None:
    lines = commands("tvr")
    assert len(lines) == 4
    place.env["DATA"] = str(shared)
    printed = [shell(place, line, tmp_path) for line in lines]
    assert "8,097 moments in 2,179 videos" in printed[0]
    assert "500 queries added" in printed[1]
    assert "rank candidates campaign tvr-val: done" in printed[2]
    assert printed[3].count("password") == 4
    count = "from judging.models import *; print(Batch.objects.filter(state='open').count(), Candidate.objects.count())"
    assert place.shell(count).split()[-2:] == ["500", "20000"]
    assert "BROKEN" not in place.manage("audit")


def test_a_run_is_scored_as_the_readme_says(place: Installation, tmp_path: Path) -> None:
    (tmp_path / "qrels").mkdir()
    pair = {"pair_id": 1, "query_id": 7, "query": "q", "video_name": "v", "timestamp": [0, 2], "relevance": 3}
    (tmp_path / "qrels" / "qrels.jsonl").write_text(json.dumps(pair))
    (tmp_path / "run.json").write_text('{"7": [{"video_name": "v", "timestamp": [0, 2], "model_scores": 1}]}')
    export, *evaluate = commands("score")
    assert export == "python manage.py export_qrels demo --out qrels"
    printed = [shell(place, line, tmp_path) for line in evaluate]
    assert "nDCG_IoU(iou=0.5)@20" in printed[0]
    assert json.loads(printed[1])["convention"] == "released"


def test_every_setting_is_documented() -> None:
    settings = (ROOT / "config" / "settings.py").read_text()
    read = set(re.findall(r'env\.\w+\(\s*"([A-Z_]+)"', settings))
    documented = set(re.findall(r"^\| `([A-Z_]+)` \|", (ROOT / "docs" / "settings.md").read_text(), re.M))
    assert read == documented


def test_every_command_is_documented() -> None:
    there = {file.stem for file in ROOT.glob("*/management/commands/*.py") if file.stem != "__init__"}
    documented = set(
        re.findall(r"^\| `(\w+)", (ROOT / "docs" / "commands.md").read_text().split("\nAnd ")[0], re.M)
    )
    assert there == documented


def test_every_dependency_is_documented() -> None:
    wanted = set()
    for file in ("requirements.in", "requirements-dev.in"):
        for line in (ROOT / file).read_text().splitlines():
            if name := re.match(r"[A-Za-z][\w.-]*", line):
                wanted.add(name[0].lower())
    table = (ROOT / "docs" / "dependencies.md").read_text()
    documented = {name.lower() for name in re.findall(r"^\| ([\w.-]+) \|", table, re.M)} - {"package"}
    assert wanted == documented


def test_links_between_documents_lead_somewhere() -> None:
    for file in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", file.read_text()):
            assert (file.parent / target).exists(), f"{file.name}: {target}"
