"""Reeljudge from its wheel alone: in an empty virtual environment, from another folder, without a network."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.installation import ROOT
from tests.metrics.packaged import PROJECT, run, wheel
from tests.test_docs import README, commands
from tests.waiting import wait_until

VERSIONS = ("3.11", "3.12", "3.13")
APPS = set(PROJECT["tool"]["importlinter"]["root_packages"])
INSTALLING = (ROOT / "docs" / "installing.md").read_text()
ONE_LIBRARY = """
import sys, reeljudge
from demo.judged import Client
print(Client is reeljudge.Client, {"metrics", "systems"} & {*sys.modules})
"""
ASK_TO_TRAIN = """
from campaigns.models import Membership
from runs.systems.orders import Wanted, ask_to_train
researcher = Membership.objects.get(campaign__name="demo-judged", user__username="researcher")
ask_to_train(researcher, Wanted("mcn", "mcn", "descriptor"))
"""
# What the command prints one after the other, each within the patience of a test.
STAGES = ("Copying", "Rewording", "Ranking", "Freezing", "Submitting", "Reeljudge is at")


def pinned(file: str) -> dict[str, str]:
    """The versions in a file of requirements, by package."""
    return dict(re.findall(r"^([\w.-]+)==([^\s;]+)", (ROOT / file).read_text(), re.M))


def test_what_is_pinned_with_hashes_is_what_the_tests_run_with() -> None:
    """Each package has hashes; the extras' names and versions are those of the checkout."""
    everything = pinned("requirements.txt")
    for name in ("server", "worker"):
        text = (ROOT / "deploy" / "requirements" / f"{name}.txt").read_text()
        blocks = re.split(r"\n(?=\S)", text.strip())
        assert {bool(re.search(r"--hash=sha256:[0-9a-f]{64}", block)) for block in blocks} == {True}
    server, worker = pinned("deploy/requirements/server.txt"), pinned("deploy/requirements/worker.txt")
    assert worker == {name: version for name, version in everything.items() if name != "torch"}
    elsewhere = {"colorama", "tzdata", "httpx2-jsfetch"}  # needed on other systems than Linux
    assert {name: everything.get(name) for name in server.keys() - elsewhere} == {
        name: version for name, version in server.items() if name not in elsewhere
    }
    wanted = PROJECT["project"]["optional-dependencies"]["server"]
    assert {re.split(r"[\[<>=]", each.lower())[0] for each in wanted} <= server.keys()
    assert not {"torch", "transformers", "sentence-transformers"} & server.keys()


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with our wheel in it."""
    folder = tmp_path_factory.mktemp("released")
    shutil.copy(wheel(), folder)
    shutil.copytree(ROOT / "deploy" / "requirements", folder / "requirements")
    return folder


def interpreter(version: str) -> str:
    """Python of that version, if this machine has it."""
    own = Path(sys.base_prefix, "bin", f"python{version}")
    others = Path.home().glob(f".pyenv/versions/{version}.*/bin/python{version}")
    for place in (own, Path(shutil.which(f"python{version}") or own), *others):
        words = [str(place), "-m", "venv", "--help"]
        if place.exists() and subprocess.run(words, capture_output=True, check=False).returncode == 0:
            return str(place)
    pytest.skip(f"Python {version} is not here")


@pytest.fixture(params=VERSIONS)
def place(request: pytest.FixtureRequest, tmp_path: Path, wheels: Path) -> Path:
    """An empty virtual environment of a version of Python, into which the documented lines install the wheel."""
    version = request.param
    run(interpreter(version), "-m", "venv", tmp_path / "venv", folder=tmp_path)
    folder = shutil.copytree(wheels, tmp_path / "released")
    path = f"{tmp_path / 'venv' / 'bin'}{os.pathsep}{os.environ['PATH']}"
    for line in commands("closed network", INSTALLING):
        run("sh", "-c", line, folder=folder, PATH=path, PIP_DISABLE_PIP_VERSION_CHECK="1", PIP_QUIET="1")
    return tmp_path


class Served:
    """The two lines of a new user, of which the second goes on serving; in an environment with nothing else in it."""

    def __init__(self, place: Path) -> None:
        self.home, self.elsewhere = place / "person", place / "elsewhere"
        self.elsewhere.mkdir()
        self.program = place / "venv" / "bin" / "reeljudge-server"
        self.env = {"PATH": "/usr/bin:/bin", "HOME": str(self.home), "OMP_NUM_THREADS": "1"}
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.bind = f"127.0.0.1:{free.getsockname()[1]}"
        self.log = place / "log"
        words = [str(self.program), *commands("first lines", README)[1].split()[1:], "--bind", self.bind]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                words, cwd=self.elsewhere, env=self.env, stdout=log, stderr=log, start_new_session=True
            )

    def printed(self, *words: str) -> str:
        command = [str(self.program), *words]
        done = subprocess.run(command, cwd=self.elsewhere, env=self.env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{words}: {done.stdout}\n{done.stderr}"
        return done.stdout

    def end(self) -> None:
        os.killpg(self.process.pid, signal.SIGTERM)
        self.process.wait(30)


@pytest.fixture
def served(place: Path) -> Iterator[Served]:
    made = Served(place)
    try:
        for stage in STAGES:
            wait_until(lambda stage=stage: stage in made.log.read_text(), made.log.read_text)  # type: ignore[misc]
        yield made
    finally:
        made.end()


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_two_lines_lead_to_a_judged_batch(place: Path, served: Served) -> None:
    packages = next(place.glob("venv/lib/python*/site-packages"))
    assert not APPS & {each.name for each in packages.iterdir()}
    assert not (packages / "torch").exists()
    assert "this needs torch: pip install 'reeljudge[worker]'" in served.log.read_text()
    with httpx.Client(base_url=f"http://{served.bind}") as client:
        page = client.get("/sign-in/", headers={"Accept-Language": "zh-CN"})
        assert 'lang="zh-hans"' in page.text
        assert "登录" in page.text
        style = re.search(r'href="(/static/[^"]+\.css)"', page.text)
        assert style
        assert client.get(style[1]).status_code == 200
    judged = served.printed("simulate", "demo", "--annotators", "1", "--address", f"http://{served.bind}")
    batches, judgements = map(int, re.findall(r"^(\d+) batches, (\d+) judgements", judged, re.M)[0])
    assert judgements == 20 * batches > 0
    assert "BROKEN" not in served.printed("audit", "--media")
    assert (served.home / ".local" / "share" / "reeljudge" / "reeljudge.sqlite3").exists()
    assert list(served.elsewhere.iterdir()) == []
    assert served.printed("shell", "--no-imports", "-c", ONE_LIBRARY) == "True set()\n"
    served.printed("shell", "--no-imports", "-c", ASK_TO_TRAIN)
    wait_until(lambda: "torch is not installed on" in served.printed("jobs"), lambda: served.printed("jobs"))


def test_the_first_lines_are_those_of_the_wheel() -> None:
    install, demo = commands("first lines", README)
    assert (install, demo) == ("pip install --find-links . 'reeljudge[server]'", "reeljudge-server demo")
