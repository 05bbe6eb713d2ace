"""What deploy/ holds works: nginx's site before real servers, systemd's units, the files for containers."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Thread

import httpx
import pytest
import yaml
from django.core.handlers.wsgi import WSGIHandler
from django.core.management import get_commands
from django.core.servers.basehttp import ThreadedWSGIServer
from django.test import override_settings
from django.test.testcases import QuietWSGIRequestHandler

from config import settings as ours
from jobs.queue import Lane
from tests import made_once, nginx
from tests.installation import ROOT
from tests.waiting import wait_until

DEPLOY = ROOT / "deploy"
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
TIMERS = sorted((DEPLOY / "systemd").glob("*.timer"))
MOST_EXPOSED = 3.5  # systemd's measure of a unit, from 0 (locked up) to 10
SECRET = "a-canary-that-only-one-person-may-know"
STATIC = {
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
}


@pytest.fixture
def machines(tmp_path: Path, transactional_db: None) -> Iterator[list[str]]:
    """Two web machines in the middle of an upgrade: each has a file that the other does not have."""
    with ExitStack() as running:
        made = []
        for name in ("old", "new"):
            shutil.copytree(made_once.collected_static(), tmp_path / name)
            (tmp_path / name / f"only.{name * 4}.js").write_text(f"// {name}")
            made.append(running.enter_context(machine(tmp_path / name)))
        yield made


@contextmanager
def machine(static: Path) -> Iterator[str]:
    """A web server with static files of its own; returns where it listens."""
    with override_settings(STATIC_ROOT=static, STORAGES=STATIC, TRUSTED_PROXIES=["127.0.0.1"]):
        application = WSGIHandler()
    server = ThreadedWSGIServer(("127.0.0.1", 0), QuietWSGIRequestHandler)
    server.set_app(application)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def front(machines: list[str], tmp_path: Path) -> Iterator[nginx.Front]:
    gone = "127.0.0.1:9"  # a machine that does not answer
    with nginx.front(tmp_path / "nginx", [gone, *machines]) as made:
        yield made


@nginx.needs_nginx
def test_the_site_of_nginx(front: nginx.Front) -> None:
    """One pair of servers for all that it promises."""
    _every_machine_has_the_files_of_all(front)
    _plain_http_is_sent_on(front)
    _names_that_are_not_ours_get_no_answer(front)
    _pages_come_packed_and_numbered(front)
    _nothing_of_a_secret_is_logged(front)
    _what_watches_is_not_for_strangers(front)


def _every_machine_has_the_files_of_all(front: nginx.Front) -> None:
    for _ in range(4):  # whichever machine comes first
        for name in ("old", "new"):
            answer = front.client.get(f"{front.address}/static/only.{name * 4}.js")
            assert (answer.status_code, answer.text) == (200, f"// {name}")
    # 503 if the machine that does not answer was asked last.
    assert front.client.get(f"{front.address}/static/only.nowhere.js").status_code in (404, 503)


def _plain_http_is_sent_on(front: nginx.Front) -> None:
    answer = front.client.get(f"{front.plain}/judge/?a=b")
    assert (answer.status_code, answer.headers["Location"]) == (301, "https://localhost/judge/?a=b")


def _names_that_are_not_ours_get_no_answer(front: nginx.Front) -> None:
    port = front.address.rpartition(":")[2]
    with pytest.raises(httpx.ConnectError, match="UNRECOGNIZED_NAME"):
        front.client.get(f"https://127.0.0.1:{port}/healthz")


def _pages_come_packed_and_numbered(front: nginx.Front) -> None:
    page = front.client.get(f"{front.address}/sign-in/", headers={"x-request-id": "0123456789-forged"})
    assert (page.status_code, page.headers["Content-Encoding"]) == (200, "gzip")
    script = re.search(r'src="(/static/[^"]+\.js)"', page.text)
    assert script
    assert front.client.get(front.address + script[1]).headers["Content-Encoding"] in ("br", "gzip")
    number = page.headers["X-Request-ID"]
    assert number != "0123456789-forged"
    line = rf"GET /sign-in/ 200 .* {number}$"
    wait_until(lambda: re.search(line, front.logs, re.M), lambda: f"a line of the log with {number}")


def _nothing_of_a_secret_is_logged(front: nginx.Front) -> None:
    for path in (
        f"/invitations/{SECRET}",
        f"/first-account/{SECRET}",
        f"/sign-in/new-password/1-{SECRET}",
        f"/account/mail/{SECRET}",
        f"/sign-in/?next={SECRET}",
    ):
        front.client.get(front.address + path, headers={"referer": f"https://localhost/{SECRET}"})
    assert "GET /sign-in/ 200" in front.logs
    assert SECRET not in front.logs


def _what_watches_is_not_for_strangers(front: nginx.Front) -> None:
    assert front.client.get(f"{front.address}/healthz").status_code == 200
    for path in ("/metrics", "/readyz", "/statusz"):
        assert front.client.get(front.address + path).status_code == 404


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd is not installed")
def test_the_units_of_systemd(tmp_path: Path) -> None:
    """They are understood, name programs that exist, and are locked up."""
    (tmp_path / "bin").mkdir(parents=True)
    (tmp_path / "bin" / "reeljudge-server").symlink_to(shutil.which("true") or "/bin/true")
    units = []
    for each in (*UNITS, *TIMERS):
        units.append(str(tmp_path / each.name))
        Path(units[-1]).write_text(each.read_text().replace("/opt/reeljudge/current", str(tmp_path)))
    verified = analyzed("verify", "--man=no", *units)
    assert (verified.returncode, verified.stderr) == (0, "")
    security = ["security", "--offline=true", f"--threshold={MOST_EXPOSED * 10:.0f}"]
    for unit in units[: len(UNITS)]:
        found = analyzed(*security, unit)
        assert found.returncode == 0, f"{found.stdout}\n{found.stderr}"
    control = tmp_path / "control.service"
    protecting = r"^(Protect|Private|Restrict|NoNew|Capab).*\n"
    control.write_text(re.sub(protecting, "", UNITS[0].read_text(), flags=re.M))
    assert analyzed(*security, str(control)).returncode == 1


def analyzed(*arguments: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "SYSTEMD_PAGER": ""}
    command = ["systemd-analyze", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=env, check=False)


def test_a_units_options_are_those_of_the_commands() -> None:
    assert len(UNITS) == 4
    for unit in UNITS:
        commands = re.findall(r"^ExecStart=/opt/reeljudge/current/bin/reeljudge-server (.*)$", unit.read_text(), re.M)
        assert commands
        for command in commands:
            words = [sys.executable, "manage.py", *command.split(), "--help"]
            env = {**os.environ, "REDIS_URL": "redis://127.0.0.1:6379/0"}
            tried = subprocess.run(words, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
            assert tried.returncode == 0, tried.stderr


def test_commands_read_the_settings_as_services_do(tmp_path: Path) -> None:
    """What a shell would read as its own stands in addresses and passwords."""
    address = "postgres://reeljudge:$1@data:5432/reeljudge?sslmode=verify-full&sslrootcert=/etc/data.crt"
    lines = ["# A comment.", "", f"REELJUDGE_HOME={tmp_path}", f"DATABASE_URL={address}", "OIDC_NAME='a b'"]
    (tmp_path / "settings.env").write_text("\n".join([*lines, 'CHAT_KEY="x;y"', "CHAT_URL="]))
    (tmp_path / "setpriv").write_text("#!/bin/sh\nenv")
    (tmp_path / "setpriv").chmod(0o755)
    environment = {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "SETTINGS": str(tmp_path / "settings.env")}
    done = subprocess.run([DEPLOY / "reeljudge-server"], env=environment, capture_output=True, text=True, check=True)
    wanted = {f"DATABASE_URL={address}", "OIDC_NAME=a b", "CHAT_KEY=x;y", "CHAT_URL=", f"HOME={tmp_path}"}
    assert wanted <= set(done.stdout.splitlines())


@pytest.mark.parametrize("file", ["reeljudge.env", "container/compose.yaml"])
def test_settings_named_in_deploy_exist(file: str) -> None:
    text = (DEPLOY / file).read_text()
    if file.endswith("yaml"):
        read = yaml.safe_load(text)
        named = set(read["services"]["web"]["environment"])
        assert {"web", *Lane.values, "sweeper", "database", "queue", "prepare"} == set(read["services"])
    else:
        named = set(re.findall(r"^([A-Z_0-9]+)=", text, re.M))
    known = set(re.findall(r'env\.\w+\(\s*"([A-Z_0-9]+)"', Path(ours.__file__).read_text()))
    assert named <= known | {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_DEFAULT_REGION", "DATABASE_URL"}


def test_the_container_holds_what_there_is() -> None:
    """All that can be said without an engine: its files and its stages exist, and its words are commands of ours."""
    text = (DEPLOY / "container" / "Containerfile").read_text()
    assert text.startswith("# Never built:")
    assert [name for name in re.findall(r"^COPY (?!--from)(\S+) ", text, re.M) if not (ROOT / name).exists()] == []
    stages = re.findall(r"^FROM \S+ AS (\w+)$", text, re.M)
    assert set(re.findall(r"^COPY --from=(\w+)", text, re.M)) <= {*stages}
    assert re.findall(r"^ENTRYPOINT (.*)$", text, re.M) == ['["reeljudge-server"]']
    services = yaml.safe_load((DEPLOY / "container" / "compose.yaml").read_text())["services"]
    ours = {name: each for name, each in services.items() if "build" in each}
    assert ours.keys() == {"web", "quick", "judging", "long", "training", "sweeper", "prepare"}
    assert {each["build"]["target"] for each in ours.values()} <= {*stages}
    assert all(each["pids_limit"] and each["mem_limit"] for each in ours.values())
    words = [json.loads(found) for found in re.findall(r"^CMD (.*)$", text, re.M)]
    words += [each["command"] for each in ours.values() if "command" in each]
    words += [each.split() for each in ours["prepare"]["entrypoint"][2].replace("reeljudge-server ", "").split(" && ")]
    assert {each[0] for each in words} == {"serve", "celery", "migrate", "collectstatic"} <= get_commands().keys()


@pytest.mark.parametrize(("service", "file"), [("worker", "celery-worker-{host}"), ("sweeper", "celery-beat.dat")])
def test_a_container_is_healthy_while_its_file_is_written(service: str, file: str, tmp_path: Path) -> None:
    if service == "worker":
        text = (DEPLOY / "container" / "Containerfile").read_text()
        check = json.loads(re.findall(r"^    CMD (\[.*\])$", text, re.M)[-1])
    else:
        read = yaml.safe_load((DEPLOY / "container" / "compose.yaml").read_text())
        check = read["services"][service]["healthcheck"]["test"][1:]
    place = tmp_path / file.format(host=socket.gethostname())

    def code() -> int:
        return subprocess.run([sys.executable, *check[1:]], cwd=tmp_path, capture_output=True, check=False).returncode

    assert code() == 1
    place.touch()
    assert code() == 0
    os.utime(place, (1, 1))
    assert code() == 1
