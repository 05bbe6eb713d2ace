"""Taking the network and other people's files away from this process, as far as the kernel lets it (Linux).

This calls the kernel itself: `unshare` for a network namespace without any connection, and the three calls of Landlock,
which limit a process to some folders. None needs privileges, and what the kernel does not offer is left open.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path

CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446  # numbers of calls, the same on all usual processors
VERSION_ONLY, PATH_BENEATH = 1, 1
NO_NEW_PRIVILEGES = 38
# Landlock's rights to files: how many there are since each version, and those of reading (files and folders).
RIGHTS = {1: 13, 2: 14, 3: 15, 5: 16}
READ = 1 << 2 | 1 << 3


def confine(readable: Iterable[Path], writable: Path) -> list[str]:
    """Let this process, which has one thread yet, only read some folders and Python's own, and write in one other.

    Returns
    -------
    list of str
        What is closed now, of "network" and "files".
    """
    if sys.platform != "linux":
        return []
    kernel = ctypes.CDLL(None, use_errno=True)
    closed = []
    # Root needs no namespace of users, which would take its right to everybody's files away.
    if not kernel.unshare(CLONE_NEWNET) or not kernel.unshare(CLONE_NEWUSER | CLONE_NEWNET):
        closed.append("network")
    own = (sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib"))
    libraries = [Path(path) for path in (*own, "/lib", "/lib64", "/usr/lib")]
    if _close_files(kernel, [*readable, *libraries], writable):
        closed.append("files")
    return closed


def _close_files(kernel: ctypes.CDLL, readable: list[Path], writable: Path) -> bool:
    version = kernel.syscall(CREATE_RULESET, None, 0, VERSION_ONLY)
    if version < 1:
        return False
    every = (1 << RIGHTS[max(since for since in RIGHTS if since <= version)]) - 1
    handled = struct.pack("Q", every)
    rules = kernel.syscall(CREATE_RULESET, handled, len(handled), 0)
    try:
        for folder in readable:
            _allow(kernel, rules, folder, READ)
        _allow(kernel, rules, writable, every)
        kernel.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0)
        return bool(kernel.syscall(RESTRICT_SELF, rules, 0) == 0)
    finally:
        os.close(rules)


def _allow(kernel: ctypes.CDLL, rules: int, folder: Path, rights: int) -> None:
    if not folder.is_dir():
        return
    place = os.open(folder, os.O_PATH | os.O_CLOEXEC)
    try:
        rule = struct.pack("=Qi", rights, place)
        if kernel.syscall(ADD_RULE, rules, PATH_BENEATH, rule, 0):
            raise OSError(ctypes.get_errno(), f"{folder}: cannot be allowed")
    finally:
        os.close(place)
