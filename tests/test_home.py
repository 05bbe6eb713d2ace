"""What an installation makes is its owner's alone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.installation import ROOT


def test_nobody_else_can_look_into_the_home(tmp_path: Path) -> None:
    home = tmp_path / "home"
    env = {name: value for name, value in os.environ.items() if name not in ("DATABASE_URL", "SECRET_KEY")}
    code = (
        f"import os; os.chdir({str(home)!r}); "
        "from django.db import connection; c = connection.cursor(); c.execute('CREATE TABLE t (x)');"
        "print(*(f'{f}:{os.stat(f).st_mode & 0o777:o}' for f in sorted(os.listdir('.'))))"
    )
    done = subprocess.run(
        [
            sys.executable,
            str(ROOT / "manage.py"),
            "shell",
            "--no-imports",
            "-c",
            f"import os; os.chdir({str(home)!r}); {code}",
        ],
        env=env | {"REELJUDGE_HOME": str(home)},
        umask=0o022,
        capture_output=True,
        text=True,
        check=True,
    )
    assert f"{home.stat().st_mode & 0o777:o}" == "700"
    modes = dict(each.split(":") for each in done.stdout.split())
    assert {"reeljudge.sqlite3", "reeljudge.sqlite3-wal", "secret_key"} <= modes.keys()
    assert set(modes.values()) == {"600"}
