"""One way to refuse: a form that comes too late leads back to its page; a JSON caller gets a problem document."""

from __future__ import annotations

import pytest
from django.urls import reverse

from campaigns.models import Membership
from judging.models import Batch, Candidate
from tests.cast import browser, claim


def forms(batch: Batch, lead: Membership) -> dict[str, tuple[str, dict[str, str]]]:
    """For each address of a form: what it posts that no longer fits."""
    settled = Candidate.objects.filter(batch=batch, outcome=Candidate.Outcome.SETTLED).first()
    assert settled
    return {
        "adjudicate": (reverse("adjudicate", args=["films", settled.pk]), {"grade": "1", "reason": "mine"}),
        "annotator-change": (
            reverse("annotator-change", args=["films", lead.worker]),
            {"verb": "pause", "reason": "for a day"},
        ),
    }


@pytest.mark.parametrize("name", ["adjudicate", "annotator-change"])
def test_a_page_says_why_and_nothing_is_changed(settled: Batch, leo: Membership, name: str) -> None:
    address, form = forms(settled, leo)[name]
    answer = browser(leo).post(address, form, follow=True)
    assert answer.redirect_chain, "not redirected"
    assert 'class="message error"' in answer.content.decode()


def test_a_wrong_value_is_no_dead_end(batch: Batch, leo: Membership, ada: Membership) -> None:
    """The page says what would be right, and leads back: to itself, or to the form."""
    client, figures = browser(leo), reverse("releases", args=["films"])
    answer = client.get(figures, {"query": "999"})
    assert (answer.status_code, f'href="{figures}"' in answer.content.decode()) == (400, True)
    assert "expected the id of one of this campaign’s queries" in answer.content.decode()
    make, exam = (reverse(name, args=["films"]) for name in ("exam-make", "exam"))
    form, before = {"queries": "2", "depth": "4", "seed": "9"}, f"http://testserver{exam}"
    answer = client.post(make, form, headers={"referer": before})
    assert (answer.status_code, f'href="{before}"' in answer.content.decode()) == (400, True)
    elsewhere = client.post(make, form, headers={"referer": "http://elsewhere.example/exam/"})
    assert "elsewhere" not in elsewhere.content.decode()
    claim(ada)
    answer = client.post(make, form, follow=True)
    assert "Add queries to it" in " ".join(answer.content.decode().split())


@pytest.mark.parametrize("name", ["adjudicate", "annotator-change"])
def test_json_gets_the_problem_document(settled: Batch, leo: Membership, name: str) -> None:
    address, form = forms(settled, leo)[name]
    answer = browser(leo).post(address, form, headers={"Accept": "application/json"})
    assert (answer.status_code, answer.json()["code"]) == (409, "wrongstate")
