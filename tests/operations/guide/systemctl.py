#!/usr/bin/python3
"""What a machine of the guide has in place of systemd: starts and stops what units describe, one process each.

It reads ExecStart, User, WorkingDirectory, EnvironmentFile and TimeoutStopSec. It confines nothing.
"""

from __future__ import annotations

import os
import pwd
import select
import shlex
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

FOLDERS = ("/etc/systemd/system", "/lib/systemd/system")
RUN = Path("/run/units")
WANTED = Path("/etc/systemd/system/multi-user.target.wants")
OWN_WAYS = {  # of services that come with tools of their own
    "postgresql": {
        "start": "pg_ctlcluster 15 main start",
        "stop": "pg_ctlcluster 15 main stop -m fast",
        "restart": "pg_ctlcluster 15 main restart",
    },
    "nginx": {"start": "nginx", "stop": "nginx -s quit", "restart": "nginx", "reload": "nginx -s reload"},
}


def main() -> None:
    verb, *names = [word for word in sys.argv[1:] if not word.startswith("--")]
    RUN.mkdir(exist_ok=True)
    if verb == "daemon-reload":
        return
    for name in [each.removesuffix(".service") for each in names]:
        if name in OWN_WAYS:
            subprocess.run(shlex.split(OWN_WAYS[name][verb]), check=True)
        elif verb == "enable":
            enable(name)
        elif verb == "restart":
            stop(name)
            start(name)
        else:
            {"start": start, "stop": stop}[verb](name)


def enable(name: str) -> None:
    """With --now. A timer never comes to its time."""
    if not name.endswith(".timer"):
        WANTED.mkdir(parents=True, exist_ok=True)
        (WANTED / f"{name}.service").touch()
        start(name)


def start(name: str) -> None:
    unit = described(name)
    # systemd wants the path of a program whole.
    command = shlex.split(unit["ExecStart"])
    person = pwd.getpwnam(unit["User"])
    env = {"PATH": os.environ["PATH"], "HOME": person.pw_dir, "LANG": "C.UTF-8"}
    for line in Path(unit["EnvironmentFile"]).read_text().splitlines() if "EnvironmentFile" in unit else ():
        if line and not line.startswith("#"):
            key, _, value = line.partition("=")
            env[key] = value
    with Path(f"/var/log/{name}.log").open("ab") as log:
        process = subprocess.Popen(
            command,
            cwd=unit.get("WorkingDirectory", "/"),
            env=env,
            user=person.pw_uid,
            group=person.pw_gid,
            extra_groups=[],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    (RUN / name).write_text(str(process.pid))


def stop(name: str) -> None:
    """As KillMode=mixed does: the main process is asked, and what is left at the end is killed."""
    if "*" in name:
        for each in RUN.glob(name):
            stop(each.name)
        return
    file = RUN / name
    if not file.exists():
        return
    pid = int(file.read_text())
    with suppress(ProcessLookupError):
        ending = select.poll()
        ending.register(os.pidfd_open(pid))
        os.kill(pid, signal.SIGTERM)
        ending.poll(1000 * int(described(name).get("TimeoutStopSec", 60)))
        os.killpg(pid, signal.SIGKILL)
    file.unlink()


def described(name: str) -> dict[str, str]:
    template, at, instance = name.partition("@")
    file = next(file for each in FOLDERS if (file := Path(each) / f"{template}{at}.service").exists())
    unit = file.read_text().replace("%i", instance).replace("%%", "%")
    lines = [line.partition("=") for line in unit.splitlines() if "=" in line]
    return {key: value for key, _, value in lines if not key.startswith("#")}


if __name__ == "__main__":
    main()
