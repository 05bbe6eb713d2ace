"""A new installation: what it makes is its owner's alone, and it says what has to be done first."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
from pathlib import Path

import pytest
import vl_convert
from django.conf import settings as django_settings

from base.templatetags import figures
from config import settings
from tests.installation import ROOT, Installation


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


def test_processes_that_start_at_once_have_one_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SECRET_KEY", raising=False)
    monkeypatch.setattr(settings, "HOME", tmp_path)
    make = secrets.token_urlsafe

    def slow(length: int) -> str:
        """As when another process starts while this one makes its key."""
        monkeypatch.setattr(secrets, "token_urlsafe", make)
        keys.append(settings.secret_key())
        return make(length)

    monkeypatch.setattr(secrets, "token_urlsafe", slow)
    keys: list[str] = []
    keys.append(settings.secret_key())
    assert keys[0] == keys[1] != ""
    assert [each.name for each in tmp_path.iterdir()] == ["secret_key"]


def test_a_command_before_migrate_says_so(tmp_path: Path, subtests: pytest.Subtests) -> None:
    moment = {"vid_name": "v", "duration": 9, "ts": [0, 3], "desc": "A person sits down.", "type": "v"}
    (moments := tmp_path / "moments.jsonl").write_text(json.dumps(moment))
    (queries := tmp_path / "queries.json").write_text("[]")
    place = Installation(tmp_path / "home")
    for command in (
        ["import_corpus", "tvr", str(moments), "--format", "tvr"],
        ["create_campaign", "tvr", "--corpus", "tvr", "--queries", str(queries)],
        ["add_member", "tvr", "ada"],
        ["audit"],
    ):
        with subtests.test(command[0]):
            done = place.command(*command)
            assert (done["code"], "Traceback" in done["err"]) == (2, False)
            assert "run `python manage.py migrate` first" in done["err"]
    place.stop()


def test_processes_that_draw_at_once_have_one_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(django_settings, "HOME", tmp_path)
    bundle = vl_convert.javascript_bundle
    scripts: list[str] = []

    def slow(snippet: str) -> str:
        """As when another process needs the script while this one makes it."""
        monkeypatch.setattr(vl_convert, "javascript_bundle", bundle)
        scripts.append(figures.VegaFinder().find(figures.SCRIPT))
        return bundle(snippet)

    monkeypatch.setattr(vl_convert, "javascript_bundle", slow)
    scripts.append(figures.VegaFinder().find(figures.SCRIPT))
    assert len(set(scripts)) == 1
    assert Path(scripts[0]).read_text() == bundle(figures.SNIPPET)
    assert [each.name for each in Path(scripts[0]).parent.iterdir()] == [figures.SCRIPT]


def test_what_the_address_of_the_database_says_of_tls_reaches_it(tmp_path: Path) -> None:
    words = "from django.conf import settings; print(settings.DATABASES['default']['OPTIONS'])"
    address = "postgres://person@127.0.0.1:1/name?sslmode=verify-full&sslrootcert=/etc/data.crt"
    env = {**os.environ, "DATABASE_URL": address, "REELJUDGE_HOME": str(tmp_path)}
    printed = subprocess.run(
        [sys.executable, "manage.py", "shell", "--no-imports", "-c", words],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "'sslmode': 'verify-full', 'sslrootcert': '/etc/data.crt'" in printed
    assert "lock_timeout" in printed


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("WEB_THREADS", "many", "WEB_THREADS: 'many'; expected a whole number"),
        ("CHAT_TIMEOUT", "", "CHAT_TIMEOUT: ''; expected a number"),
        ("DATABASE_URL", "mysql://me:secret@there/films", "DATABASE_URL: expected postgres://"),
        ("EMAIL_URL", "mail.example.org:secret", "EMAIL_URL: no such address; expected smtp+tls://"),
        ("API_RATE", "600", "API_RATE: '600'; expected a number and /s"),
        ("TIME_ZONE", "Mars/Base", "Mars/Base"),
        ("LOG_LEVEL", "loud", "LOG_LEVEL: 'loud'; expected DEBUG"),
        ("MEDIA_STORE", "clips", "MEDIA_STORE: 'clips'; expected s3://bucket"),
    ],
)
def test_a_wrong_setting_is_one_line(name: str, value: str, words: str, tmp_path: Path) -> None:
    env = {**os.environ, "REELJUDGE_HOME": str(tmp_path), name: value}
    done = subprocess.run([sys.executable, "manage.py", "check"], cwd=ROOT, env=env, capture_output=True, text=True)
    assert done.returncode == 2
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
    assert "secret" not in done.stderr
