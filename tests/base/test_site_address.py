"""The address of the site in links that others get: of a setting, not of what a browser sent."""

from __future__ import annotations

from typing import Any

import pytest
from allauth.account.models import EmailAddress
from django.test import Client, RequestFactory
from django.urls import reverse

from base.sites import site_address
from campaigns.models import Membership
from jobs.models import Job
from tests.api.asking import Program
from tests.cast import browser, make_query


def address_for(host: str, **headers: Any) -> str:
    return site_address(RequestFactory().get("/", headers={"host": host}, **headers))


def test_the_setting_is_the_address_whatever_a_browser_sends(settings: Any) -> None:
    settings.SITE_URL = "https://judge.example.org"
    assert address_for("testserver:9999") == "https://judge.example.org"


def test_a_port_that_only_the_browser_names_is_left_out(settings: Any) -> None:
    assert address_for("testserver:9999") == "http://testserver"
    assert address_for("testserver:9999", SERVER_PORT="9999") == "http://testserver:9999"
    settings.TRUSTED_PROXIES = ["10.0.0.1"]  # behind which the server's own port is not that of the site
    assert address_for("testserver:9999", SERVER_PORT="9999") == "http://testserver"
    settings.CSRF_TRUSTED_ORIGINS = ["http://testserver:9999"]
    assert address_for("testserver:9999") == "http://testserver:9999"


@pytest.mark.django_db
def test_the_mail_for_a_new_password_leads_to_this_site(ada: Membership, settings: Any) -> None:
    settings.MAILS = True
    EmailAddress.objects.create(user=ada.user, email="ada@example.org", verified=True, primary=True)
    Client().post(reverse("account_reset_password"), {"email": "ada@example.org"}, headers={"host": "testserver:9999"})
    assert Job.objects.get(kind="mail-new-password").arguments["site"] == "http://testserver"


@pytest.mark.django_db
def test_links_of_the_api_and_of_invitations_lead_to_the_address_of_the_setting(leo: Membership, settings: Any) -> None:
    settings.SITE_URL = "https://judge.example.org"
    for number in "23":
        make_query(leo.campaign, number, f"Query {number}.")
    found = Program(leo).get("campaigns/films/queries", limit=1).json()
    assert found["next"].startswith("https://judge.example.org/api/v1/campaigns/films/queries?")
    page = browser(leo).post(reverse("invite", args=["films"]), {"role": "annotator", "hours": 24, "way": "link"})
    assert b"https://judge.example.org/" in page.content
