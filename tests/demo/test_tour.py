"""The demo's tour, and its roles on the page of signing in; nobody else meets either."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import resolve, reverse

from campaigns.models import Campaign, Membership
from demo.tour import STEPS
from tests.cast import browser

ROLES = "Try the demo as"
PLACE = 'class="tour"'


@pytest.fixture
def demo(campaign: Campaign, ada: Membership, settings: Any, tmp_path: Path) -> None:
    settings.HOME = tmp_path
    (tmp_path / "demo").mkdir()
    Campaign.objects.filter(pk=campaign.pk).update(name="demo")


def test_each_role_has_five_pages() -> None:
    assert STEPS.keys() == {*Membership.Role.values}
    for steps in STEPS.values():
        assert len(steps) == 5
        assert all(resolve(step.address.partition("?")[0]).url_name == step.page for step in steps)


def test_it_goes_from_page_to_page_until_it_is_ended(demo: None, ada: Membership) -> None:
    client = browser(ada)
    for number, step in enumerate(STEPS[ada.role], 1):
        answer = client.get(reverse("tour", args=[number]))
        assert answer["Location"] == step.address
        page = client.get(step.address).content.decode()
        assert f"Step {number} of 5" in page
        assert (reverse("tour", args=[number + 1]) in page) == (number < 5)
    assert PLACE in client.get(reverse("work")).content.decode()  # it is on every page
    assert client.get(reverse("tour", args=[0]))["Location"] == reverse("home")
    assert PLACE not in client.get(reverse("work")).content.decode()


def test_the_page_of_signing_in_has_the_roles(demo: None) -> None:
    page = Client().get(reverse("sign-in")).content.decode()
    assert ROLES in page
    assert page.count(f'name="next" value="{reverse("tour", args=[1])}"') == 4


def test_another_installation_has_neither(campaign: Campaign, ada: Membership) -> None:
    assert ROLES not in Client().get(reverse("sign-in")).content.decode()
    assert browser(ada).get(reverse("tour", args=[1])).status_code == 404
