"""docs/deployment.md is followed word for word, from empty machines to an upgrade and a restore while people judge.

Each block that names a machine runs there as it stands. The machines are those of machines.py. What else differs from
what a reader does: packages of Python other than ours are those of the suite's environment, and `systemctl` and
`apt-get` are stand-ins.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Any

import httpx
import psycopg
import pytest
from playwright.sync_api import Page, expect

from metrics import __version__
from tests import browsing
from tests.browsing import moving
from tests.films import write_film
from tests.installation import ROOT
from tests.metrics.packaged import build_wheel
from tests.operations.guide.annotators import Annotator
from tests.operations.guide.machines import Machine, are_possible, machines
from tests.waiting import wait_until

pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(1500),
    pytest.mark.skipif(not are_possible(), reason="needs root, namespaces, overlays, nginx, PostgreSQL 15 and Redis"),
    pytest.mark.skipif("CHROMIUM" not in os.environ, reason="Chromium is not here (CHROMIUM)"),
    pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="the machines' Python is Debian's 3.11"),
]
GUIDE = (ROOT / "docs" / "deployment.md").read_text()
BLOCK = re.compile(r"<!-- run: on ([\w -]+) -->\n```sh\n(.*?)```", re.S)
UPGRADE, BACKUP = "\n## Upgrading\n", "\n## Backing up, and trying a restore\n"
PEOPLE = ("ben", "cleo", "dan", "eve", "fay", "gus")
QUERIES, OPEN_AT_FIRST = 100, 12
SUITE = Path(pytest.__file__).resolve().parent.parent  # where its packages are
PACE = 1.5  # seconds between two grades of an annotator
OLD, NEW = __version__, "9.0.0"
# What pip does not install for want of a network is laid below what it has installed.
BELOW = f"""for each in /opt/reeljudge/*/lib/python3.11/site-packages; do
    mountpoint --quiet $each || mount -t overlay overlay -o lowerdir=$each:{SUITE} $each
done"""
PIP = "[install]\nno-deps = true\nno-index = true\n"
MIGRATION = """from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("jobs", "{last}")]
    operations = [migrations.RunSQL("{sql}")]
"""
BREAKS_WITH_TWO = (
    "        processes = 1 if on_sqlite",
    "        assert options['processes'] == 1\n        processes = 1 if on_sqlite",
)


@dataclass
class Place:
    """The machines, and the values that a reader sets."""

    at: dict[str, Machine]
    folder: Path
    passwords: dict[str, str] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    values: dict[str, str] = field(default_factory=dict)

    def follow(self, part: str) -> None:
        """Run all blocks of a part of the guide, in its order, each on every machine that it names."""
        for names, block in BLOCK.findall(part):
            for name in names.split():
                print(f"{time.strftime('%X')} on {name}:\n{block}")
                printed = self.at[name].run(block, **self.values)
                if "pip install" in block:
                    self.at[name].run(BELOW)
                self.passwords |= dict(re.findall(r"^(\S+): .* password (\S+)$", printed, re.M))
                self.counts["blocks"] += 1
                self.counts["commands"] += len(block.strip().splitlines())

    @property
    def certificate(self) -> Path:
        return self.at["proxy"].root / "etc/nginx/reeljudge/certificate.pem"

    def rows(self, database: str = "reeljudge") -> dict[tuple[str, int], int]:
        """The grades in a database, by assignment and place."""
        code = (
            "import json\n"
            "from judging.models import Assignment\n"
            "rows = []\n"
            "for each in Assignment.objects.all():\n"
            "    grades = dict(each.judgements.values_list('candidate', 'grade'))\n"
            "    for position, candidate in enumerate(each.places, 1):\n"
            "        if candidate in grades: rows.append([each.token, position, grades[candidate]])\n"
            "print('ROWS', json.dumps(rows))\n"
        )
        settings = "/etc/reeljudge.env" if database == "reeljudge" else f"/etc/reeljudge-{database}.env"
        printed = self.at["web-1"].run(f'SETTINGS={settings} reeljudge-server shell --no-imports -c "$CODE"', CODE=code)
        found = json.loads(printed.partition("ROWS ")[2])
        return {(token, position): grade for token, position, grade in found}

    def applied(self) -> list[tuple[str, str]]:
        """The migrations that the database has."""
        return self.query("SELECT app, name FROM django_migrations ORDER BY app, name")

    def open_batches(self) -> int:
        return int(self.query("SELECT count(*) FROM judging_batch WHERE state = 'open'")[0][0])

    def query(self, statement: str) -> list[tuple[Any, ...]]:
        password = self.values["PASSWORD"]
        with psycopg.connect(f"postgres://reeljudge:{password}@198.51.100.20/reeljudge") as database:
            return database.execute(statement.encode()).fetchall()


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    tmp_path.chmod(0o755)
    values = {
        "WHEELS": f"{tmp_path}/wheels",
        "VERSION": OLD,
        "NEW": NEW,
        "PASSWORD": secrets.token_hex(24),
        "SECRET_KEY": secrets.token_hex(32),
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
    }
    (tmp_path / "wheels").mkdir()
    for version in VERSIONS:
        make(version, tmp_path)
    with machines(tmp_path / "machines") as at:
        made = Place(at, tmp_path, values=values)
        _empty_machines(made)
        with _store(made):
            try:
                yield made
            finally:
                print("\n".join(each.logs() for each in at.values()))


def make(version: str, folder: Path) -> None:
    """A wheel of a version. Those after the first have other scripts and styles, a migration, and their own faults."""
    wheel = build_wheel(folder / version, lambda source: _changed(source, version) if version != OLD else None)
    wheel.rename(folder / "wheels" / wheel.name)


def _changed(source: Path, version: str) -> None:
    replaced(source / "metrics/__init__.py", f'"{OLD}"', f'"{version}"')
    for name in ("static/base.css", "static/annotate/annotate.css"):
        (source / name).write_text(f"{(source / name).read_text()}\n/* the second release */\n")
    for name in ("static/annotate/outbox.js", "static/annotate/workplace.js", "static/scrolling.js"):
        (source / name).write_text(f"{(source / name).read_text()}\n// the second release\n")
    migrate(source, "CREATE TABLE later (id integer)")
    VERSIONS[version](source)


def migrate(source: Path, sql: str) -> None:
    folder = source / "jobs" / "migrations"
    last = max(each.stem for each in folder.glob("[0-9]*.py"))
    name = f"{int(last[:4]) + 1 if last[0] == '9' else 9001}_later.py"
    (folder / name).write_text(MIGRATION.format(last=last, sql=sql))


def replaced(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert text.count(old) == 1, (file, old)
    file.write_text(text.replace(old, new))


def _never_gets_ready(source: Path) -> None:
    line = "        from django.core.wsgi import get_wsgi_application"
    replaced(source / "config/operations/management/commands/serve.py", line, f"        raise SystemExit(3)\n{line}")


def _serves_in_one_process_only(source: Path) -> None:
    """It gets ready when it is tried, and not when its unit starts it."""
    replaced(source / "config/operations/management/commands/serve.py", *BREAKS_WITH_TWO)


def _cannot_migrate(source: Path) -> None:
    """Its first migration works, and the second does not."""
    migrate(source, "CREATE TABLE half (id integer)")
    migrate(source, "SELECT 1 / 0")


def _needs_a_pause_and_fails(source: Path) -> None:
    migrate(source, "CREATE TABLE half (id integer)")  # which is there already
    migrate(source, "CREATE TABLE whole (id integer)")
    replaced(source / "config/operations/schema.py", 'OLDEST = "0.2.0"', 'OLDEST = "9.0.4"')
    _serves_in_one_process_only(source)


FAILURES = {
    "9.0.1": f"9.0.1 does not get ready; {NEW} serves on.",
    "9.0.2": f"9.0.2 was not ready within 9 s; {NEW} serves again.",
    "9.0.3": f"the database was not upgraded; {NEW} serves on.",
}
INSTALLING = """<!-- run: on web-1 -->
```sh
python3 -m venv /opt/reeljudge/{version}
/opt/reeljudge/{version}/bin/pip install --quiet --find-links $WHEELS "reeljudge[worker]=={version}"
```"""
UPGRADING = "SECONDS_TO_BE_READY=9 reeljudge-upgrade {version} 2>&1 && exit 1 || true"
VERSIONS: dict[str, Callable[[Path], None]] = {
    OLD: lambda source: None,
    NEW: lambda source: None,
    "9.0.1": _never_gets_ready,
    "9.0.2": _serves_in_one_process_only,
    "9.0.3": _cannot_migrate,
    "9.0.4": _needs_a_pause_and_fails,
}


def _empty_machines(place: Place) -> None:
    """What an empty machine has: a cluster as the package of PostgreSQL makes it, and the films in their place."""
    data = place.at["data"]
    data.has_its_own("/var/lib/postgresql", "postgres")
    data.has_its_own("/var/lib/redis", "redis")
    data.run("rm -rf /etc/postgresql/15/main && pg_createcluster 15 main")
    write_film(place.folder / "films")
    texts = [f"A person sits down on chair number {number}." for number in range(QUERIES)]
    queries = [{"query_id": number, "query": text} for number, text in enumerate(texts)]
    (place.folder / "films" / "queries.json").write_text(json.dumps(queries))
    for name in ("web-1", "web-2"):
        shutil.copytree(place.folder / "films", place.at[name].root / "srv/films")
        place.at[name].write("etc/pip.conf", PIP)
        # The suite's environment may lie in a folder that only root may enter.
        above = " ".join(map(str, [SUITE, *SUITE.parents]))
        place.at[name].run(f"for each in {above}; do chmod o+rx $each; done")


@contextmanager
def _store(place: Place) -> Iterator[None]:
    """An S3 stand-in with TLS, whose certificate the web machines believe."""
    store = place.at["store"]
    store.run(
        "cd /srv && openssl req -x509 -newkey rsa:2048 -nodes -days 30 -subj /CN=s3.example.org"
        " -addext subjectAltName=DNS:s3.example.org -keyout key.pem -out certificate.pem"
    )
    for name in ("web-1", "web-2"):
        shutil.copy(store.root / "srv/certificate.pem", place.at[name].root / "etc/store.pem")
    certificate = f"--ssl-cert {store.root}/srv/certificate.pem --ssl-key {store.root}/srv/key.pem"
    command = f"ip netns exec {store.namespace} {sys.executable} -m moto.server"
    server = subprocess.Popen(
        f"{command} --host {store.address} --port 443 --ssl {certificate}".split(),
        env={**os.environ, "MOTO_S3_CUSTOM_ENDPOINTS": "https://s3.example.org"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_until(lambda: _answers("https://198.51.100.30/moto-api/"), lambda: "the store answers")
        yield
    finally:
        server.kill()
        server.wait()


def _answers(address: str) -> bool:
    try:
        return httpx.get(address, verify=False).status_code < 500
    except httpx.HTTPError:
        return False


@pytest.fixture
def crowd(place: Place) -> Iterator[Callable[[], list[Annotator]]]:
    stop = Event()
    made: list[Annotator] = []

    def start() -> list[Annotator]:
        made.extend(Annotator(name, place.passwords[name], place.certificate, stop, PACE) for name in PEOPLE)
        for each in made:
            each.start()
        return made

    yield start
    stop.set()
    for each in made:
        each.join(60)


def test_the_guide(place: Place, crowd: Callable[[], list[Annotator]], capsys: pytest.CaptureFixture[str]) -> None:
    installing, rest = GUIDE.split(UPGRADE)
    upgrading, backing_up = rest.split(BACKUP)
    _install(place, installing)
    with browsing.chromium_at({"judge.example.org": "198.51.100.10", "s3.example.org": "198.51.100.30"}) as browser:
        page = _first_judged_clip(place, browser.new_page(ignore_https_errors=True))
        people = crowd()
        _wait_for_grades(people, 20)
        _upgrade(place, upgrading, people)
        _goes_on_in_the_page(page)
        before = _restore(place, backing_up, people)
        _upgrades_that_fail(place, people)
    stopped = _stop(people)
    _figures_are_counted(place)
    _an_upgrade_in_a_pause_that_fails(place)
    rows = place.rows()
    acknowledged = {key: grade for each in people for key, grade in each.acknowledged.items()}
    assert stopped == []
    assert lost(acknowledged, rows) == 0
    assert lost({**acknowledged, ("never said", 1): 2}, rows) == 1  # the control
    assert "BROKEN" not in place.at["web-1"].run("reeljudge-server audit")
    totals = sum((each.counts for each in people), Counter()) + place.counts
    with capsys.disabled():
        print(f"\nguide: {', '.join(f'{count:,} {name}' for name, count in sorted(totals.items()))}")
        print(
            f"guide: {len(acknowledged):,} grades acknowledged, 0 lost; {before:,} before the dump, all restored; "
            "0 pages failed"
        )


def _install(place: Place, part: str) -> None:
    """Up to the campaign; the store's certificate is one that no authority knows."""
    start = "Then start everything:"
    first, second = part.split(start)
    bucket = "The bucket stays private"
    place.follow(first.split(bucket)[0])
    for name in ("web-1", "web-2"):
        place.at[name].run("echo AWS_CA_BUNDLE=/etc/store.pem >> /etc/reeljudge.env")
    place.follow(first.split(bucket)[1])
    place.follow(second)
    printed = place.at["web-1"].run(f"reeljudge-server add_member films {' '.join(PEOPLE[3:])}")
    place.passwords |= dict(re.findall(r"^(\S+): .* password (\S+)$", printed, re.M))
    wait_until(lambda: place.open_batches() >= OPEN_AT_FIRST, lambda: "batches are open")


def _first_judged_clip(place: Place, page: Page) -> Page:
    """In a browser, whose page stays open during the upgrade."""
    page.goto("https://judge.example.org/sign-in/")
    page.fill("[name=username], [name=login]", "ada")
    page.fill("[name=password]", place.passwords["ada"])
    page.click("main button")
    page.wait_for_url(lambda address: "sign-in" not in address)
    page.goto("https://judge.example.org/judge/")
    page.click("form[action$='/claim'] button")
    page.wait_for_selector("#workplace")
    moving(page)
    page.keyboard.press("3")
    expect(page.locator("#saved")).to_have_text("saved ✓")
    assert list(place.rows().values()) == [3]
    return page


def _goes_on_in_the_page(page: Page) -> None:
    """It was loaded before the upgrade: it says so, and no key press is lost."""
    moving(page)
    page.keyboard.press("1")
    expect(page.locator("#saved")).to_have_text("saved ✓")
    expect(page.locator("#renewed")).to_be_visible()
    expect(page.locator("#position")).to_contain_text("3 /")


def _wait_for_grades(people: list[Annotator], more: int) -> None:
    now = sum(each.counts["grades"] for each in people)

    def came() -> bool:
        assert not _failures(people)
        return sum(each.counts["grades"] for each in people) >= now + more

    wait_until(came, lambda: f"{more} more grades")


def _upgrade(place: Place, part: str, people: list[Annotator]) -> None:
    """Block after block, and people judge on after each."""
    for found in BLOCK.finditer(part):
        place.follow(found[0])
        _wait_for_grades(people, 10)
        if found[1] == "web-1" and "reeljudge-upgrade" in found[2]:
            _only_one_machine_has_the_new_files(place)
    assert {version for each in people for version in each.versions} >= set(_versions(place))
    assert len(_versions(place)) == 1
    assert all(len(each.versions - {""}) == 2 for each in people)
    assert "finish the upgrade" not in place.at["web-1"].run("reeljudge-server doctor")


def _upgrades_that_fail(place: Place, people: list[Annotator]) -> None:
    """Whatever fails, the version before serves afterwards, and people judge on."""
    first = place.at["web-1"]
    for version, words in FAILURES.items():
        place.follow(INSTALLING.format(version=version))
        printed = first.run(UPGRADING.format(version=version))
        assert printed.strip().splitlines()[-1] == f"reeljudge-upgrade: {words}", printed
        assert first.run("readlink /opt/reeljudge/current").strip() == NEW
        _wait_for_grades(people, 10)
    # The database has a table of a newer version by now, which is no obstacle to a start.
    first.run("systemctl restart reeljudge-web && curl -sf --retry 60 --retry-all-errors http://127.0.0.1:8000/readyz")


def _an_upgrade_in_a_pause_that_fails(place: Place) -> None:
    """It changed the tables, and they are as before; so is what people had judged."""
    before, applied = place.rows(), place.applied()
    first, version = place.at["web-1"], "9.0.4"
    place.follow(INSTALLING.format(version=version))
    refused = first.run(UPGRADING.format(version=version))
    assert f"Version {NEW} cannot go on with the tables of {version}" in refused
    place.at["web-2"].run("systemctl stop 'reeljudge-*'")
    printed = first.run(UPGRADING.format(version=f"{version} --pause"))
    assert "The database is upgraded." in printed
    assert printed.strip().splitlines()[-1] == (
        f"reeljudge-upgrade: {version} was not ready within 9 s; {NEW} serves again."
    )
    assert (place.rows(), place.applied()) == (before, applied)
    assert first.run("curl -s http://127.0.0.1:8000/readyz").startswith('{"ready": true')


def _only_one_machine_has_the_new_files(place: Place) -> None:
    """The control: without the proxy's second try the pages of one machine would lack the other's files."""
    first, second = (f"http://{place.at[name].address}:8000" for name in ("web-1", "web-2"))
    ask = "curl -s -H 'Host: judge.example.org' -H 'X-Forwarded-Proto: https'"  # which is believed of the proxy alone
    page = place.at["proxy"].run(f"{ask} {first}/sign-in/")
    script = re.findall(r'"(/static/scrolling[^"]+)"', page)[0]
    ask += " -o /dev/null -w '%{http_code}'"
    assert place.at["proxy"].run(f"{ask} {first}{script}") == "200"
    assert place.at["proxy"].run(f"{ask} {second}{script}") == "404"


def _versions(place: Place) -> set[str]:
    ask = "curl -s -o /dev/null -D - http://127.0.0.1:8000/healthz"
    printed = [place.at[name].run(ask) for name in ("web-1", "web-2")]
    return {found[1] for each in printed if (found := re.search(r"Reeljudge-Version: (\w+)", each))}


def _figures_are_counted(place: Place) -> None:
    """By both processes of a machine since its upgrade; and the probe names its checks to this machine."""
    figures = place.at["web-1"].run("curl -s http://127.0.0.1:8000/metrics")
    saved = re.search(r'reeljudge_requests_total{address="judge",method="PUT",status="200"} (\d+)', figures)
    assert saved, figures
    assert int(saved[1]) > 0
    assert 'reeljudge_clips{state="failed"} 0' in figures
    for lane in ("quick", "judging", "long", "training"):
        assert re.search(
            rf'reeljudge_workers\{{lane="{lane}",machine="\S+",version="{re.escape(NEW)}"\}} [12]', figures
        )
    assert '"workers": "ok"' in place.at["web-1"].run("curl -s http://127.0.0.1:8000/statusz")


def _restore(place: Place, part: str, people: list[Annotator]) -> int:
    """Back up, restore beside, and audit, while people judge; returns how many grades were acknowledged before."""
    before = {key: grade for each in people for key, grade in list(each.acknowledged.items())}
    place.follow(part)
    _wait_for_grades(people, 10)
    restored = place.rows("restored")
    assert lost(before, restored) == 0
    return len(before)


def _stop(people: list[Annotator]) -> list[str]:
    for each in people:
        each.stop.set()
    for each in people:
        each.join(60)
        assert not each.is_alive()
    return _failures(people)


def _failures(people: list[Annotator]) -> list[str]:
    return [failure for each in people for failure in each.failures]


def lost(acknowledged: dict[tuple[str, int], int], rows: dict[tuple[str, int], int]) -> int:
    return sum(rows.get(key) != grade for key, grade in acknowledged.items())
