"""Pages of errors: a wrong method, a large body, a fault of ours; and where signing in leads afterwards."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from campaigns.models import Campaign, Membership
from tests.cast import browser


def is_a_page(text: str) -> bool:
    """Whether it has our stylesheet and a way back."""
    return "base.css" in text and 'href="/"' in text


@pytest.mark.parametrize("referer", ["http://testserver/judge/", ""])
def test_after_signing_in_what_takes_post_only_leads_to_its_page(campaign: Campaign, referer: str) -> None:
    """It was a white page with the status 405 before."""
    answer = Client().post(reverse("claim", args=["films"]), headers={"referer": referer} if referer else {})
    page = reverse("work") if referer else reverse("home")
    assert answer.headers["Location"] == f"{reverse('sign-in')}?next={page}"


def test_the_page_of_another_site_is_not_the_one_before(campaign: Campaign) -> None:
    answer = Client().post(reverse("claim", args=["films"]), headers={"referer": "https://evil.example.org/judge/"})
    assert answer.headers["Location"] == f"{reverse('sign-in')}?next={reverse('home')}"


def test_a_wrong_method_is_answered_by_a_page(ada: Membership) -> None:
    answer = browser(ada).get(reverse("claim", args=["films"]))
    assert (answer.status_code, answer.headers["Allow"]) == (405, "POST")
    assert is_a_page(answer.content.decode())
    answer = browser(ada).get(reverse("claim", args=["films"]), headers={"accept": "application/json"})
    assert (answer.status_code, answer.json()["code"]) == (405, "wrongmethod")


def test_a_large_body_is_answered_by_a_page(ada: Membership) -> None:
    answer = browser(ada).post(reverse("claim", args=["films"]), {"text": "x" * 2_000_000})
    assert answer.status_code == 413
    text = answer.content.decode()
    assert is_a_page(text)
    assert "This is too large: at most 1 MB can be sent at once." in text


def test_a_fault_of_ours_is_answered_by_a_page(ada: Membership, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("annotate.views.claiming.claim", lambda *_: 1 / 0)
    client = browser(ada)
    client.raise_request_exception = False
    answer = client.post(reverse("claim", args=["films"]))
    assert answer.status_code == 500
    assert is_a_page(answer.content.decode())
