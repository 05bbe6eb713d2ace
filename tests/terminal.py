"""Running `manage.py`: in this process where that is enough, and as a person would where it is not."""

from __future__ import annotations

import os
import subprocess
import sys
from io import StringIO
from pathlib import Path
from urllib.parse import quote

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

ROOT = Path(__file__).resolve().parent.parent


def printed(*arguments: object) -> str:
    """What a command prints."""
    out = StringIO()
    call_command(*map(str, arguments), stdout=out)
    return out.getvalue()


def refused(*arguments: object) -> str:
    """What a command answers to bad input: one message, and exit code 2."""
    with pytest.raises(CommandError) as fault:
        call_command(*map(str, arguments), stdout=StringIO())
    assert fault.value.returncode == 2
    return str(fault.value)


def environment() -> dict[str, str]:
    """That of a process of its own which works on this test's database."""
    return {**os.environ, "DATABASE_URL": _database_url(), "PYTHONWARNINGS": "ignore"}


def manage(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "manage.py", *map(str, arguments)],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )


def _database_url() -> str:
    settings = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite:///{settings['NAME']}"
    who, word, host = (quote(settings[part], safe="") for part in ("USER", "PASSWORD", "HOST"))
    return f"postgres://{who}:{word}@{host}:{settings['PORT']}/{settings['NAME']}"
