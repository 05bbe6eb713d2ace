"""The documents are true: their commands run, and every setting, command and dependency has its line."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest

import metrics
from tests.installation import ROOT, Installation
from tests.metrics.shared import run_cli

MOMENTS, QUERIES = 300, 20
README = (ROOT / "README.md").read_text()


def commands(name: str, document: str = README) -> list[str]:
    """The lines of a document's block, the README's by default, that is marked to be run under that name."""
    block = re.search(rf"<!-- run: {name} -->\n```sh\n(.*?)```", document, re.S)
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
    line = line.replace("manage.py", str(ROOT / "manage.py")).replace("docs/", f"{ROOT / 'docs'}/")
    env = place.env | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(["sh", "-c", line], cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def beginning(shared: Path, folder: Path) -> Path:
    """A folder with the first moments of the shared file, in a file of the same name."""
    lines = (shared / "tvr" / "tvr_val_release.jsonl").read_text().splitlines(keepends=True)
    of_pictures = [line for line in lines if json.loads(line)["type"] == "v"]
    folder.mkdir()
    (folder / "tvr_val_release.jsonl").write_text("".join(of_pictures[:MOMENTS]))
    return folder


READY = """
from judging.models import Batch, Candidate
own = Candidate.objects.filter(rank=1, similarity=1)
print(Batch.objects.filter(state="open").count(), Candidate.objects.count(), own.count())
"""
TEXTS = "from judging.models import *; print(*Query.objects.values_list('text', flat=True))"


@pytest.mark.long
@pytest.mark.timeout(900)
def test_tvr_is_ready_to_judge_after_five_commands(place: Installation, shared: Path, tmp_path: Path) -> None:
    """On the first lines of the file, and with fewer queries: all captions would take the encoder minutes."""
    lines = commands("tvr")
    assert len(lines) == 5
    place.env["DATA"] = str(beginning(shared, tmp_path / "data"))
    fewer = [line.replace("--validation 500", f"--validation {QUERIES}") for line in lines]
    printed = [shell(place, line, tmp_path) for line in fewer]
    assert f"{MOMENTS} moments in " in printed[0]
    assert "distinct descriptions" in printed[1]
    assert f"{QUERIES} queries for validation and 0 for the test" in printed[2]
    assert "Rank candidates, tvr-val: done" in printed[3]
    assert printed[4].count("password") == 4
    assert place.shell(READY).split()[-3:] == [str(QUERIES), str(40 * QUERIES), str(QUERIES)]
    assert not re.search(r"\b(Sheldon|Rachel|House|Castle|Ted|Meredith)\b", place.shell(TEXTS))
    audited = place.manage("audit")
    assert "ok     Every drawn query has its own caption first, at similarity 1" in audited
    assert "BROKEN" not in audited


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
    folders = [*ROOT.glob("*/management/commands"), ROOT / "config" / "operations" / "management" / "commands"]
    there = {file.stem for folder in folders for file in folder.glob("*.py") if file.stem != "__init__"}
    documented = set(re.findall(r"^\| `(\w+)", (ROOT / "docs" / "commands.md").read_text().split("\nAnd ")[0], re.M))
    assert there == documented


def test_every_command_of_the_libraries_is_documented() -> None:
    _, *tables = (ROOT / "docs" / "commands.md").read_text().split("\nAnd ")
    for table, arguments in zip(tables, ([], ["systems"]), strict=True):
        there = set(re.findall(r"^ {4}([a-z]+)(?: |$)", run_cli(*arguments, "--help").stdout, re.M)) - {"systems"}
        names = re.findall(r"^\| (`.+?) \|", table, re.M)
        assert there == set(re.findall(r"`([a-z]+)", " ".join(names)))


def test_every_dependency_is_documented() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = [*project["dependencies"], *chain(*project["optional-dependencies"].values())]
    lines += (ROOT / "requirements-dev.in").read_text().splitlines()
    wanted = {name[0].lower() for line in lines if (name := re.match(r"[A-Za-z][\w.-]*", line))} - {"reeljudge"}
    table = (ROOT / "docs" / "dependencies.md").read_text()
    documented = {name.lower() for name in re.findall(r"^\| ([\w.-]+) \|", table, re.M)} - {"package"}
    assert wanted == documented


@pytest.mark.long
def test_a_first_campaign_is_made_as_the_quickstart_says(place: Installation, tmp_path: Path) -> None:
    lines = commands("first campaign", (ROOT / "docs" / "quickstart" / "lead.md").read_text())
    *manage, last = [line.replace(" trial/", f" {tmp_path}/trial/") for line in lines]
    printed = [place.manage(*line.replace("--out trial", f"--out {tmp_path}/trial").split()[2:]) for line in manage]
    assert "trial: 12 queries" in printed[0]
    assert "BROKEN" not in printed[1]
    assert "SHA-256" in printed[2]
    assert "alpha" in shell(place, last, tmp_path)


def documents() -> list[Path]:
    return [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]


def anchors(document: str) -> set[str]:
    """The names by which a code host, and the site, link to the headings of a document."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```", "", document, flags=re.S | re.M), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_links_between_documents_lead_somewhere() -> None:
    for file in documents():
        text = file.read_text()
        for target, anchor in re.findall(r"\]\(([^)#:]*)(?:#([^)]*))?\)", text):
            there = file.parent / target if target else file
            assert there.exists(), f"{file.name}: {target}"
            assert not anchor or anchor in anchors(there.read_text()), f"{file.name}: {target}#{anchor}"


def test_every_document_is_on_the_site_and_every_public_name_in_the_reference() -> None:
    """What building the site proves at length (tests/test_site.py)."""
    index = (ROOT / "docs" / "index.md").read_text()
    listed = {
        ((ROOT / "docs") / f"{name}.md").resolve()
        for block in re.findall(r"```{toctree}\n.*?\n\n(.*?)```", index, re.S)
        for name in block.split()
    }
    assert listed == {*documents()} - {ROOT / "README.md", ROOT / "docs" / "index.md"}
    reference = (ROOT / "docs" / "library.md").read_text()
    assert {
        name for name in metrics.__all__ if not re.search(rf"^\.\. (auto\w+|py:data):: {name}$", reference, re.M)
    } == set()


IDIOMS = r"\b(?:whoever|beside|(?:is|are|was) told|is no list|has no meaning|can it be believed|decided yet)\b"
DOCUMENTS = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("docs/quickstart/*.md")]


@pytest.mark.parametrize("document", sorted(DOCUMENTS), ids=lambda document: document.name)
def test_no_document_has_an_idiom_that_readers_stumble_over(document: Path) -> None:
    assert not re.findall(rf".*{IDIOMS}.*", document.read_text(encoding="utf-8"), re.IGNORECASE)
