"""What every answer tells a browser to refuse, and what HTTPS=on promises about cookies."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.contrib.staticfiles import finders
from django.test import Client
from django.urls import reverse

from campaigns.models import Membership
from judging.models import Batch
from tests import made_once
from tests.cast import browser, content_of
from tests.installation import ROOT

FONT = "fonts/reeljudge-sans.woff2"
LARGEST_FONT = 60_000  # bytes
ADDRESSES = {
    "page": "/campaigns/films/",
    "page of a stranger": "/sign-in/",
    "nothing": "/nothing-here",
    "redirect": "/",
    "file": "/campaigns/films/exports/qrels.txt",
    "spreadsheet": "/campaigns/films/annotators/hours.csv",
    "too early": "/campaigns/films/releases/1.zip",
}


def directives(answer: Any) -> dict[str, list[str]]:
    parts = [each.split() for each in answer["Content-Security-Policy"].split(";")]
    return {name: sources for name, *sources in parts}


@pytest.mark.parametrize("address", ADDRESSES.values(), ids=ADDRESSES)
def test_every_answer_carries_the_same_refusals(settled: Batch, leo: Membership, address: str) -> None:
    answer = browser(leo).get(address)
    policy = directives(answer)
    assert {"default-src", "object-src", "base-uri", "frame-ancestors"} <= policy.keys()
    assert all(policy[name] == ["'none'"] for name in ("default-src", "object-src", "base-uri", "frame-ancestors"))
    assert policy["script-src"] == policy["style-src"] == ["'self'"]
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Referrer-Policy"] == "same-origin"
    assert answer["Cross-Origin-Opener-Policy"] == "same-origin"
    assert "no-store" in answer["Cache-Control"]
    assert "charset=utf-8" in answer["Content-Type"]
    assert "Access-Control-Allow-Origin" not in answer


def test_a_problem_document_carries_them_too(client: Client) -> None:
    answer = client.get("/judge/", headers={"accept": "application/json"})
    assert answer.status_code == 401
    assert "no-store" in answer["Cache-Control"]
    assert directives(answer)["default-src"] == ["'none'"]


NOT_FOR_BROWSERS = [
    *("/.git/config", "/static/", "/static/../config/settings.py", "/static/%2e%2e/%2e%2e/manage.py"),
    *("/static//etc/passwd", "/secret_key", "/reeljudge.sqlite3", "/media/", "/static/staticfiles.json~"),
]


def test_only_collected_files_are_served(settings: Any, client: Client, db: None) -> None:
    settings.STATIC_ROOT = made_once.collected_static()
    for path in NOT_FOR_BROWSERS:
        assert client.get(path).status_code == 404, path
    control = client.get("/static/base.css")
    assert (control.status_code, len(content_of(control)) > 100) == (200, True)
    control.close()


@pytest.mark.parametrize("method", ["TRACE", "CONNECT", "TRACK", "DEBUG", "PROPFIND"])
def test_unusual_methods_do_nothing(leo: Membership, method: str) -> None:
    for address in ("/sign-in/", "/campaigns/films/"):
        assert browser(leo).generic(method, address).status_code in (403, 405)


@pytest.mark.parametrize("host", ["evil.example", "testserver:80@evil.example", "testserver.evil.example", ""])
def test_another_sites_name_is_refused(client: Client, host: str) -> None:
    answer = client.get("/sign-in/", headers={"host": host})
    assert answer.status_code == 400
    assert "evil" not in answer.content.decode()
    fine = client.get("/", headers={"x-forwarded-host": "evil.example"})
    assert fine["Location"] == "/sign-in/?next=/"


def test_a_downloaded_file_is_never_shown_as_a_page(settled: Batch, leo: Membership) -> None:
    for name in ("file", "spreadsheet"):
        answer = browser(leo).get(ADDRESSES[name])
        assert answer["Content-Disposition"].startswith("attachment; filename=")
        assert not answer["Content-Type"].startswith("text/html")


def test_a_script_cannot_read_the_session(leo: Membership) -> None:
    leo.user.set_password("kitten sofa lamp")
    leo.user.save()
    client = Client()
    client.cookies["sessionid"] = "a" * 32  # of somebody who wants to know it afterwards
    client.post(reverse("sign-in"), {"username": "leo", "password": "kitten sofa lamp"})
    cookie = client.cookies["sessionid"]
    assert cookie["httponly"]
    assert cookie["samesite"] == "Lax"
    assert cookie.value != "a" * 32
    before = Client()
    before.cookies["sessionid"] = cookie.value
    assert before.get("/judge/").status_code == 200
    client.post(reverse("sign-out"))
    assert before.get("/judge/").status_code == 302


SHOW = """
import json, django
django.setup()
from django.conf import settings
from django.test import Client
client = Client()
redirect = client.get("/sign-in/")
proxied = {"x-forwarded-proto": "https"}
page = client.get("/sign-in/", headers=proxied)
client.post("/language", {"language": "zh-hans"}, headers=proxied)
cookies = {name: {key: cookie[key] for key in ("secure", "domain", "path", "samesite")}
           for name, cookie in client.cookies.items()}
shown = {"cookies": cookies, "session": settings.SESSION_COOKIE_NAME, "secure": settings.SESSION_COOKIE_SECURE}
print(json.dumps(shown | {"to": redirect.get("Location"), "hsts": page.get("Strict-Transport-Security")}))
"""


def shown_with(https: str, home: Path) -> Any:
    """What an installation with this setting of HTTPS says at its first pages; it needs no database for them."""
    home.mkdir()
    (home / "static").symlink_to(made_once.collected_static())
    env = os.environ | {"HTTPS": https, "REELJUDGE_HOME": str(home), "ALLOWED_HOSTS": "testserver"}
    env["TRUSTED_PROXIES"] = "127.0.0.1"
    env["DJANGO_SETTINGS_MODULE"] = "config.settings"
    done = subprocess.run([sys.executable, "-c", SHOW], cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_over_https_no_other_host_can_set_or_read_a_cookie(tmp_path: Path) -> None:
    report = shown_with("on", tmp_path / "https")
    assert report["cookies"].keys() == {"__Host-csrftoken", "__Host-language"}
    for cookie in report["cookies"].values():  # what browsers demand of such names
        assert cookie == {"secure": True, "domain": "", "path": "/", "samesite": "Lax"}
    assert (report["session"], report["secure"]) == ("__Host-sessionid", True)
    assert report["to"] == "https://testserver/sign-in/"
    assert "max-age=31536000" in report["hsts"]
    without = shown_with("off", tmp_path / "http")
    assert without["cookies"].keys() == {"csrftoken", "django_language"}
    assert (without["to"], without["hsts"]) == (None, None)


def test_the_font_is_small_free_and_asked_for_first(db: None) -> None:
    file = finders.find(FONT)
    assert (ROOT / str(file)).stat().st_size <= LARGEST_FONT
    assert "SIL OPEN FONT LICENSE" in (ROOT / "static" / "fonts" / "OFL.txt").read_text(encoding="utf-8")
    page = Client().get(reverse("sign-in"))
    assert f'rel="preload" href="/static/{FONT}" as="font"' in page.content.decode()
    assert "font-src 'self'" in page["Content-Security-Policy"]
