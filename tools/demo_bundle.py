"""`make demo-bundle`: make the demo with its trained systems in an empty folder, and pack it into `demo/bundle`."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# What belongs to the installation in which the demo was made.
FORGET = ("DELETE FROM django_session", "DELETE FROM jobs_sign", "DELETE FROM campaigns_token", "VACUUM")
NOW = "UPDATE jobs_job SET due = created WHERE state = 'waiting'"
UNFINISHED = "SELECT COUNT(*) FROM jobs_job WHERE state IN ('waiting', 'running')"
FAILED = "SELECT label, error FROM jobs_job WHERE state = 'failed'"
PACK = """
import django; django.setup()
from pathlib import Path
from demo.bundle import pack
pack(Path({!r}), Path({!r}))
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        env = {name: value for name, value in os.environ.items() if name not in ("DATABASE_URL", "REDIS_URL")}
        env |= {"REELJUDGE_HOME": str(home), "DJANGO_SETTINGS_MODULE": "config.settings"}
        for words in (["migrate", "-v0"], ["demo", "--only-make"]):
            _run(["manage.py", *words], env)
        with closing(sqlite3.connect(home / "reeljudge.sqlite3", isolation_level=None)) as database:
            while database.execute(UNFINISHED).fetchone()[0]:
                database.execute(NOW)
                _run(["manage.py", "worker", "--until-idle"], env)
            if failed := database.execute(FAILED).fetchall():
                sys.exit(f"make demo-bundle: {failed[0]}")
            database.execute("PRAGMA journal_mode = DELETE")
            for statement in FORGET:
                database.execute(statement)
        _run(["-c", PACK.format(str(home), str(ROOT / "demo" / "files"))], env)
    parts = sorted((ROOT / "demo" / "bundle").glob("*.zip"))
    print(*(f"{each.relative_to(ROOT)}: {each.stat().st_size / 1e6:.1f} MB" for each in parts), sep="\n")


def _run(words: list[str], env: dict[str, str]) -> None:
    subprocess.run([sys.executable, *words], cwd=ROOT, env=env, check=True)  # noqa: S603 - words of this file


if __name__ == "__main__":
    main()
