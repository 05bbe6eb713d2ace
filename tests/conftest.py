"""A small named cast, and a campaign over a corpus without media: what most tests begin with."""

from __future__ import annotations

import gc
import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.utils import translation
from playwright.sync_api import Browser

from campaigns.models import Campaign, Membership
from corpus.models import Corpus, Moment, Video
from judging.models import Batch
from tests import browsing, emptying, forks, made_once
from tests.cast import make_query, settle
from tests.installation import Installation, installation
from tests.remembered import beginning, remembered
from tools import translations

SHARED = Path(os.environ.get("REELJUDGE_SHARED", Path(__file__).parent.parent.parent / "shared")) / "data"
SERVERS = {"browser", "place", "server", "servers"}  # fixtures
with_servers: set[Path] = set()  # files
Case = Callable[[str], AbstractContextManager[None]]
running = ExitStack()  # servers, and the browser


hypothesis.settings.register_profile("daily", max_examples=40, deadline=None)
hypothesis.settings.register_profile("long", max_examples=500, deadline=None)  # of `make faults`
hypothesis.settings.load_profile("daily")


def pytest_configure() -> None:
    gc.disable()  # until all is imported
    made_once.folder()  # before there are other processes, so that it is one for all


def pytest_sessionstart() -> None:
    """Pages in other languages need compiled words, which no repository has."""
    translations.compile_all()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests by the databases that they are for, and let files that take long begin."""
    for item in items:
        uses = item.get_closest_marker("django_db")
        if uses or "db" in _fixtures(item):
            item.add_marker("database")
        if uses and uses.kwargs.get("transaction"):
            item.add_marker("both_databases")
        if not SERVERS.isdisjoint(_fixtures(item)):
            with_servers.add(item.path)
            item.stash[forks.needs_server] = True
    tests = Counter(item.path for item in items if item.path not in with_servers)
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: (item.path not in with_servers, item.path not in slow, -tests[item.path]))


def pytest_collection_finish() -> None:
    """What is imported stays: collecting garbage looks through what tests make only, and less often."""
    gc.freeze()
    gc.enable()
    gc.set_threshold(20_000, 20, 20)


def _fixtures(item: pytest.Item) -> list[str]:
    return getattr(item, "fixturenames", [])


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    translation.activate(settings.LANGUAGE_CODE)  # the last page of the test before may have been in another
    beginning.start()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> None:
    """Servers and the browser end with the last file that needs them; the others have the machine to themselves."""
    if nextitem is None or nextitem.path not in with_servers:
        running.close()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish() -> None:
    running.close()  # when the run was stopped in the middle


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings_parallel_suffix: None) -> Iterator[None]:
    """The test database is a copy of one that is migrated already."""
    test = connection.settings_dict["TEST"]
    test["MIGRATE"] = False
    if connection.vendor == "sqlite":
        made_once.migrated_sqlite(file := Path(test["NAME"]))
        yield
        for each in file.parent.glob(f"{file.name}*"):  # and its write-ahead log
            each.unlink()
        return
    server, name = os.environ["DATABASE_URL"], test["NAME"] or f"test_{connection.settings_dict['NAME']}"
    made_once.migrated_postgres(server, name)
    yield
    made_once.drop(server, name)


@pytest.fixture(scope="session")
def django_db_keepdb() -> bool:
    """Django leaves making and removing it to the fixture above."""
    return True


@pytest.fixture(scope="session", autouse=True)
def _emptied() -> Iterator[None]:
    with ExitStack() as patches:
        for each in emptying.emptying():
            patches.enter_context(each)
        yield


@pytest.fixture(autouse=True)
def _plain_storage(settings: Any, tmp_path: Path) -> None:
    """No collected static files, and no media outside the test's folder."""
    plain = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
    settings.STORAGES = settings.STORAGES | {"staticfiles": plain}
    settings.MEDIA_ROOT = tmp_path / "media"


@pytest.fixture(scope="session")
def browser() -> Browser:
    """A real browser for all tests; a test that asks for it is skipped where there is none."""
    if "CHROMIUM" not in os.environ:
        pytest.skip("Chromium is not here (CHROMIUM)")
    return running.enter_context(browsing.chromium())


@pytest.fixture
def chromium(browser: Browser) -> Iterator[Browser]:
    """The browser for one test: what it leaves open is closed, since films go on playing in a forgotten page."""
    before = list(browser.contexts)
    yield browser
    for context in browser.contexts:
        if context not in before:
            context.close()


@pytest.fixture(scope="session")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Installation]:
    """The running installation of a kind, `sqlite` or `postgres`, with films: one for all tests that do not kill it.

    It holds the corpora of `import_films`. Each test has campaigns and people of its own.
    """

    @cache
    def of_kind(kind: str) -> Installation:
        if kind == "postgres" and not {"TEST_POSTGRES_URL", "TEST_REDIS_URL"} <= os.environ.keys():
            pytest.skip("PostgreSQL and Redis are not here (TEST_POSTGRES_URL, TEST_REDIS_URL)")
        made = running.enter_context(installation(tmp_path_factory.mktemp(kind), kind))
        browsing.import_films(made)
        return made

    return of_kind


@pytest.fixture(scope="session")
def server(servers: Callable[[str], Installation], browser: Browser) -> Installation:
    """The one on SQLite, where there is a browser to look at it."""
    return servers("sqlite")


@pytest.fixture
def case(subtests: pytest.Subtests, db: None) -> Case:
    """One of many cases of a test, `with case(name):`. Each has its own report, and finds the database as before."""

    @contextmanager
    def one(name: str) -> Iterator[None]:
        before = transaction.savepoint()
        with subtests.test(name):
            yield
        transaction.savepoint_rollback(before)

    return one


@pytest.fixture
def shared() -> Path:
    """The folder with real data; a test that asks for it is skipped where it is not."""
    if not SHARED.is_dir():
        pytest.skip("the shared data are not here (REELJUDGE_SHARED)")
    return SHARED


@pytest.fixture
@remembered
def corpus(db: None) -> Corpus:
    """Sixty moments in six films, without media."""
    corpus = Corpus.objects.create(name="films", format="tvr")
    for number in range(6):
        video = Video.objects.create(corpus=corpus, name=f"secret-video-{number}", duration=100)
        Moment.objects.bulk_create(
            Moment(
                video=video,
                start=10 * place + 1.25,
                end=10 * place + 4.5,
                description=f"secret description {number} {place}",
                caption=f"secret caption {number} {place}",
            )
            for place in range(10)
        )
    return corpus


@pytest.fixture
@remembered
def campaign(corpus: Corpus) -> Campaign:
    """One query with forty ranked candidates; its first batch of twenty is open."""
    campaign = Campaign.objects.create(name="films", corpus=corpus, order_seed=7)
    make_query(campaign, "1", "A person sits down.")
    return campaign


@pytest.fixture
def batch(campaign: Campaign) -> Batch:
    return Batch.objects.get(query__campaign=campaign)


@pytest.fixture
@remembered
def settled(batch: Batch, ada: Membership, bob: Membership) -> Batch:
    """Its last five all have grade 1."""
    settle(batch, ada, bob)
    return batch


@pytest.fixture
def member(campaign: Campaign) -> Callable[..., Membership]:
    """Makes somebody a member: member("ada") is an annotator, member("leo", "lead") a lead."""

    @remembered
    def make(username: str, role: str = "annotator") -> Membership:
        user, _ = User.objects.get_or_create(username=username)
        return campaign.add_member(user, role)

    return make


@pytest.fixture
def ada(member: Callable[..., Membership]) -> Membership:
    return member("ada")


@pytest.fixture
def bob(member: Callable[..., Membership]) -> Membership:
    return member("bob")


@pytest.fixture
def cleo(member: Callable[..., Membership]) -> Membership:
    return member("cleo")


@pytest.fixture
def dan(member: Callable[..., Membership]) -> Membership:
    return member("dan")


@pytest.fixture
def leo(member: Callable[..., Membership]) -> Membership:
    return member("leo", "lead")


@pytest.fixture
@remembered
def outsider(db: None) -> User:
    return User.objects.create(username="oda")
