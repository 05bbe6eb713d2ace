"""A small named cast, and a campaign over a corpus without media: what most tests begin with."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Browser

from base import translations
from campaigns.models import Campaign, Membership
from corpus.models import Corpus, Moment, Video
from judging.models import Batch
from tests import browsing
from tests.cast import make_query, settle

SHARED = Path(os.environ.get("REELJUDGE_SHARED", Path(__file__).parent.parent.parent / "shared")) / "data"


def pytest_sessionstart() -> None:
    """Pages in other languages need compiled words, which no repository has."""
    translations.compile_all()


@pytest.fixture(autouse=True)
def _plain_storage(settings: Any, tmp_path: Path) -> None:
    """No collected static files, no media outside the test's folder, and fast passwords."""
    plain = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
    settings.STORAGES = settings.STORAGES | {"staticfiles": plain}
    settings.MEDIA_ROOT = tmp_path / "media"
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """A real browser; a test that asks for it is skipped where there is none."""
    if "CHROMIUM" not in os.environ:
        pytest.skip("Chromium is not here (CHROMIUM)")
    with browsing.chromium() as browser:
        yield browser


@pytest.fixture
def shared() -> Path:
    """The folder with real data; a test that asks for it is skipped where it is not."""
    if not SHARED.is_dir():
        pytest.skip("the shared data are not here (REELJUDGE_SHARED)")
    return SHARED


@pytest.fixture
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
def campaign(corpus: Corpus) -> Campaign:
    """One query with forty ranked candidates; its first batch of twenty is open."""
    campaign = Campaign.objects.create(name="films", corpus=corpus, order_seed=7)
    make_query(campaign, "1", "A person sits down.")
    return campaign


@pytest.fixture
def batch(campaign: Campaign) -> Batch:
    return Batch.objects.get(query__campaign=campaign)


@pytest.fixture
def settled(batch: Batch, ada: Membership, bob: Membership) -> Batch:
    """Its last five all have grade 1."""
    settle(batch, ada, bob)
    return batch


@pytest.fixture
def member(campaign: Campaign) -> Callable[..., Membership]:
    """Makes somebody a member: member("ada") is an annotator, member("leo", "lead") a lead."""

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
def outsider(db: None) -> User:
    return User.objects.create(username="oda")
