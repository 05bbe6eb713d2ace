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

MOMENTS, QUERIES = 600, 30
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


def beginning(shared: Path, folder: Path) -> Path:
    """A folder with the first moments and queries of the shared one, in files of the same names."""
    moments, queries = "tvr/tvr_val_release.jsonl", "tvr_ranking/val_queries_from_author_predictions.json"
    for name in (moments, queries):
        (folder / name).parent.mkdir(parents=True)
    of_pictures = [
        line
        for line in (shared / moments).read_text().splitlines(keepends=True)
        if json.loads(line)["type"] == "v"
    ]
    (folder / moments).write_text("".join(of_pictures[:MOMENTS]))
    (folder / queries).write_text(json.dumps(json.loads((shared / queries).read_text())[:QUERIES]))
    return folder


@pytest.mark.timeout(900)
def test_tvr_is_ready_to_judge_after_four_commands(place: Installation, shared: Path, tmp_path: Path) -> None:
    """On the first lines of both files: all of their captions would take the encoder minutes."""
    lines = commands("tvr")
    assert len(lines) == 4
    place.env["DATA"] = str(beginning(shared, tmp_path / "data"))
    printed = [shell(place, line, tmp_path) for line in lines]
    assert f"{MOMENTS} moments in " in printed[0]
    assert f"{QUERIES} queries added" in printed[1]
    assert "rank candidates campaign tvr-val: done" in printed[2]
    assert printed[3].count("password") == 4
    count = "from judging.models import *; print(Batch.objects.filter(state='open').count(), Candidate.objects.count())"
    assert place.shell(count).split()[-2:] == [str(QUERIES), str(40 * QUERIES)]
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
    for file in [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", file.read_text()):
            assert (file.parent / target).exists(), f"{file.name}: {target}"
