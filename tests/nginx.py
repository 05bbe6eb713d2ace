"""A real nginx with the site of deploy/nginx/reeljudge.conf, over TLS, before web servers of the tests."""

from __future__ import annotations

import re
import shutil
import socket
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from tests.installation import ROOT
from tests.waiting import wait_until

SITE = ROOT / "deploy" / "nginx" / "reeljudge.conf"
needs_nginx = pytest.mark.skipif(not shutil.which("nginx"), reason="nginx is not installed")


@dataclass
class Front:
    """Its address, that of plain HTTP, a client that believes its certificate, and the folder of its logs."""

    address: str
    plain: str
    client: httpx.Client
    folder: Path

    @property
    def logs(self) -> str:
        return "".join(file.read_text() for file in self.folder.glob("*.log"))


@contextmanager
def front(folder: Path, webs: list[str]) -> Iterator[Front]:
    """Start it before web servers, given as `host:port`; it ends with the context."""
    folder.mkdir()
    plain, secure = _free_ports(2)
    _certificate(folder)
    (folder / "nginx.conf").write_text(_around(folder, _site(folder, webs, plain, secure)))
    command = ["nginx", "-c", f"{folder}/nginx.conf", "-e", f"{folder}/errors.log"]
    checked = subprocess.run([*command, "-t"], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr
    assert "warn" not in checked.stderr, checked.stderr
    nginx = subprocess.Popen(command)
    try:
        believed = ssl.create_default_context(cafile=folder / "certificate.pem")
        wait_until(lambda: _listens(secure), lambda: "nginx listens")
        with httpx.Client(verify=believed, timeout=60) as client:
            yield Front(f"https://localhost:{secure}", f"http://localhost:{plain}", client, folder)
    finally:
        nginx.terminate()
        nginx.wait(20)


def _site(folder: Path, webs: list[str], plain: int, secure: int) -> str:
    """The site as it is in deploy/, with the addresses and files of this test."""
    site = SITE.read_text()
    servers = "".join(f"    server {web} max_fails=0;\n" for web in webs)
    site = re.sub(r"(    server 198\.51\.100\.\d+:8000 max_fails=0;\n)+", servers, site)
    for ours, theirs in {
        "listen 80;": f"listen 127.0.0.1:{plain};",
        "listen 443 ssl http2": f"listen 127.0.0.1:{secure} ssl http2",
        "/etc/nginx/reeljudge/": f"{folder}/",
        "/var/log/nginx/": f"{folder}/",
        "judge.example.org": "localhost",
    }.items():
        assert ours in site, ours
        site = site.replace(ours, theirs)
    return site


def _around(folder: Path, site: str) -> str:
    temporary = "".join(
        f"{each}_temp_path {folder}/{each};\n" for each in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    return (
        f"daemon off; user root; pid {folder}/pid; error_log {folder}/errors.log; events {{}}\n"
        f"http {{ {temporary} {site} }}\n"
    )


def _certificate(folder: Path) -> None:
    made = (
        f"openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost"
        f" -addext subjectAltName=DNS:localhost -keyout {folder}/key.pem -out {folder}/certificate.pem"
    )
    subprocess.run(made.split(), check=True, capture_output=True)


def _free_ports(number: int) -> list[int]:
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(number)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def _listens(port: int) -> bool:
    with socket.socket() as trial:
        return not trial.connect_ex(("127.0.0.1", port))
