"""The demo's accounts: they are the demo's own, and everybody is told that their password is known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from campaigns.models import Campaign, Membership
from config.operations.management.commands import serve
from corpus.models import Corpus
from demo.apps import ACCOUNTS, PASSWORD, demo_accounts
from tests import made_once
from tests.terminal import printed


@pytest.fixture(autouse=True)
def home(settings: Any, tmp_path: Path) -> None:
    settings.HOME = tmp_path


def test_an_account_with_the_name_of_one_of_the_demos_keeps_its_password(db: None) -> None:
    own = User.objects.create_user("asha", password="a-long-word-7")
    assert "there are accounts with the names of the demo's (asha)" in printed("demo", "--only-make")
    own.refresh_from_db()
    assert own.check_password("a-long-word-7")
    assert not Campaign.objects.exists()


def test_the_demo_is_not_made_beside_another_campaign(campaign: Campaign, tmp_path: Path) -> None:
    assert "this installation has campaigns of its own (films)" in printed("demo", "--only-make")
    assert (Campaign.objects.count(), list(tmp_path.iterdir())) == (1, [])
    assert not User.objects.filter(username__in=ACCOUNTS).exists()


def test_making_it_again_changes_no_password(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The demo was made before, and its lead has a password of her own now."""
    corpus = Corpus.objects.create(name="demo", format="tvr")
    campaign = Campaign.objects.create(name="demo", corpus=corpus, order_seed=1)
    lead = User.objects.create_user("lead", password="a-long-word-7")
    campaign.add_member(lead, Membership.Role.LEAD)
    monkeypatch.setattr("demo.management.commands.demo._copy_files", lambda folder: None)
    printed("demo", "--only-make")
    lead.refresh_from_db()
    assert lead.check_password("a-long-word-7")


@pytest.mark.parametrize(
    ("bind", "hosts", "warned"),
    [
        ("127.0.0.1:1", ["127.0.0.1", "localhost", "[::1]"], False),
        ("127.0.0.1:1", ["judge.example.org"], True),
        ("0.0.0.0:1", ["127.0.0.1"], True),
        ("[::]:1", ["127.0.0.1"], True),
        ("unix:web.sock", ["localhost"], False),
    ],
)
def test_serving_warns_of_them_when_others_can_reach_it(
    bind: str, hosts: list[str], warned: bool, db: None, settings: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    settings.ALLOWED_HOSTS, settings.REDIS_URL, settings.TRUSTED_PROXIES = (hosts, "redis://nowhere", ["10.0.0.2"])
    settings.STATIC_ROOT = made_once.collected_static()
    User.objects.create_user("ben", password=PASSWORD)
    monkeypatch.setattr(serve._Server, "run", lambda self: None)
    printed("serve", "--bind", bind)
    assert ("The password of ben is that of the demo" in capsys.readouterr().err) == warned


def test_a_changed_password_or_an_inactive_account_is_no_danger(db: None) -> None:
    User.objects.create_user("ben", password="a-long-word-7")
    User.objects.create_user("devi", password=PASSWORD, is_active=False)
    assert demo_accounts(databases=["default"]) == []
