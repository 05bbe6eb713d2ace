"""Machines of the guide: each has a root folder of its own over this machine's, and a network address of its own.

They need root and Linux: overlays, network namespaces and chroot. Nothing outside the test's folder is changed, except
that a bridge and the namespaces exist for as long as the test runs.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

HERE = Path(__file__).parent
BRIDGE, OUTSIDE = "rjguide", "198.51.100.1"
NAMES = {"data": 20, "web-1": 11, "web-2": 12, "proxy": 10, "store": 30}
HOSTS = "127.0.0.1 localhost\n198.51.100.10 judge.example.org\n198.51.100.30 s3.example.org\n"
APT = """#!/bin/sh
# Nothing is fetched: what the guide installs must be on this machine already.
for word; do case $word in install|--yes) ;; *) dpkg-query --show "$word" >/dev/null || exit 1 ;; esac; done
"""


def are_possible() -> bool:
    programs = (
        "ip",
        "nsenter",
        "chroot",
        "mount",
        "nginx",
        "redis-server",
        "pg_createcluster",
        "openssl",
        "git",
        "curl",
    )
    return os.geteuid() == 0 and all(map(shutil.which, programs)) and Path("/usr/lib/postgresql/15").exists()


class Machine:
    def __init__(self, name: str, folder: Path) -> None:
        self.name, self.root = name, folder / name / "root"
        self.address = f"198.51.100.{NAMES[name]}"
        self.namespace = f"{BRIDGE}-{name}"

    def start(self) -> None:
        upper, work = self.root.parent / "upper", self.root.parent / "work"
        for each in (self.root, upper, work):
            each.mkdir(parents=True)
        sh(f"mount -t overlay overlay -o lowerdir=/,upperdir={upper},workdir={work} {self.root}")
        sh(f"mount -t proc proc {self.root}/proc && mount --rbind /dev {self.root}/dev")
        sh(f"mount --make-rslave {self.root}/dev && mount -t tmpfs tmpfs {self.root}/run")
        end = f"rjg{NAMES[self.name]}"
        sh(f"ip netns add {self.namespace} && ip link add {end} type veth peer name eth0 netns {self.namespace}")
        sh(f"ip link set {end} master {BRIDGE} up")
        sh(f"ip -n {self.namespace} address add {self.address}/24 dev eth0")
        sh(f"ip -n {self.namespace} link set eth0 up && ip -n {self.namespace} link set lo up")
        self.write("etc/hosts", HOSTS)
        self.write("usr/local/bin/apt-get", APT, 0o755)
        self.write("usr/local/bin/systemctl", (HERE / "systemctl.py").read_text(), 0o755)

    def write(self, name: str, text: str, mode: int = 0o644) -> None:
        file = self.root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(mode)

    def has_its_own(self, folder: str, owner: str) -> None:
        """An empty folder in place of this machine's, in which something may be running."""
        own = self.root.parent / folder.replace("/", "-")
        own.mkdir()
        shutil.chown(own, owner, owner)
        sh(f"mount --bind {own} {self.root}{folder}")

    def run(self, script: str, **variables: str) -> str:
        """Run a block of the guide as root's shell would, and stop at the first command that fails."""
        path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        env = {"PATH": path, "HOME": "/root", "LANG": "C.UTF-8", "GIT_CONFIG_NOSYSTEM": "1", **variables}
        command = ["nsenter", f"--net=/run/netns/{self.namespace}", "chroot", str(self.root), "/bin/sh", "-euc", script]
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=300)
        assert done.returncode == 0, f"on {self.name}:\n{script}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def stop(self) -> None:
        listed = subprocess.run(["ip", "netns", "pids", self.namespace], capture_output=True, text=True, check=False)
        for pid in map(int, listed.stdout.split()):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        # The namespace is gone a moment after it is deleted, and its end of the cable with it.
        subprocess.run(["ip", "link", "delete", f"rjg{NAMES[self.name]}"], check=False, capture_output=True)
        subprocess.run(["ip", "netns", "delete", self.namespace], check=False, capture_output=True)
        subprocess.run(["umount", "--recursive", "--lazy", str(self.root)], check=False, capture_output=True)

    def logs(self) -> str:
        files = sorted((self.root / "var/log").glob("reeljudge*.log"))
        return "\n".join(f"{self.name} {file.name}:\n{file.read_text()[-3000:]}" for file in files)


@contextmanager
def machines(folder: Path) -> Iterator[dict[str, Machine]]:
    made = {name: Machine(name, folder) for name in NAMES}
    try:
        sh(f"ip link add {BRIDGE} type bridge && ip address add {OUTSIDE}/24 dev {BRIDGE} && ip link set {BRIDGE} up")
        for each in made.values():
            each.start()
        yield made
    finally:
        for each in made.values():
            each.stop()
        subprocess.run(["ip", "link", "delete", BRIDGE], check=False, capture_output=True)


def sh(script: str) -> None:
    done = subprocess.run(["sh", "-euc", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{script}\n{done.stderr}"
