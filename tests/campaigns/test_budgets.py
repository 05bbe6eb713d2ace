"""What one person may do in a time: beyond it pages and the API answer 429, and say how long to wait."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from html import unescape
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.db.models import F
from django.urls import reverse

from base.errors import TooManyRequests
from campaigns.models import CacheEntry, Campaign, Membership, spend
from judging.models import Practice, Question
from judging.work import practising
from tests.annotate.test_practice import taught as taught
from tests.api.asking import Program, problem_in
from tests.cast import browser, claim
from tests.together import at_once

WORDS = 'Does sitting on a table count?\nOr "on" a <chair>?'


@pytest.mark.django_db(transaction=True)
def test_twenty_at_once_are_not_counted_as_one(settings: Any) -> None:
    settings.QUESTION_RATE = "5/h"
    user = User.objects.create(username="ada")
    answers = at_once(*[partial(spend, user.pk, "QUESTION_RATE", "Enough.")] * 20)
    assert [type(each) for each in answers if each].count(TooManyRequests) == 15


@pytest.mark.django_db
def test_a_budget_is_one_persons_and_is_there_again_after_its_time(settings: Any) -> None:
    settings.QUESTION_RATE = "1/2m"
    ada, bob = (User.objects.create(username=name).pk for name in ("ada", "bob"))
    spend(ada, "QUESTION_RATE", "Enough.")
    spend(bob, "QUESTION_RATE", "Enough.")
    with pytest.raises(TooManyRequests, match=r"^Enough\. Try again in 2 min\.$") as refused:
        spend(ada, "QUESTION_RATE", "Enough.")
    assert 110 <= (refused.value.wait or 0) <= 120
    CacheEntry.objects.update(expires=F("expires") - timedelta(minutes=2))
    spend(ada, "QUESTION_RATE", "Enough.")


@pytest.mark.django_db
def test_what_is_not_stored_does_not_count(ada: Membership, settings: Any) -> None:
    settings.QUESTION_RATE = "1/h"
    asking = Program(ada)
    assert asking.post("campaigns/films/mine/questions", {"text": "", "key": str(uuid4())}).status_code == 400
    assert asking.post("campaigns/films/mine/questions", {"text": WORDS, "key": str(uuid4())}).status_code == 201


@pytest.mark.django_db
def test_questions_have_a_budget_and_one_that_is_sent_again_counts_once(ada: Membership, settings: Any) -> None:
    settings.QUESTION_RATE = "1/h"
    asking, known = Program(ada), {"text": WORDS, "key": str(uuid4())}
    for _ in range(3):
        assert asking.post("campaigns/films/mine/questions", known).status_code in (200, 201)
    answer = asking.post("campaigns/films/mine/questions", {"text": "And this?", "key": str(uuid4())})
    assert "sent many questions" in problem_in(answer, 429)["detail"]
    assert 3500 < int(answer["Retry-After"]) <= 3600
    assert Question.objects.count() == 1


@pytest.mark.django_db
def test_the_page_of_a_refusal_sends_what_was_typed_again(ada: Membership, settings: Any) -> None:
    settings.QUESTION_RATE = "1/h"
    client, address = browser(ada), reverse("ask", args=["films"])
    for number in range(2):
        key = str(uuid4())
        answer = client.post(address, {"text": f"{WORDS}{number}", "key": key})
    page = unescape(answer.content.decode())
    assert (answer.status_code, answer["Retry-After"].isdecimal()) == (429, True)
    assert f'name="text" value="{WORDS}1"' in page
    assert f'name="key" value="{key}"' in page
    assert "Send again" in page


@pytest.mark.django_db
def test_a_question_in_the_workplace_is_refused_too(batch: Any, ada: Membership, settings: Any) -> None:
    settings.QUESTION_RATE = "1/h"
    held = claim(ada)
    for position in (1, 2):
        body = {"about": "clip", "text": WORDS, "key": str(uuid4()), "fence": held.fence, "press": position}
        address = reverse("ask-at", args=[held.token, position])
        answer = browser(ada).post(address, body, content_type="application/json")
    problem_in(answer, 429)


@pytest.mark.django_db
def test_practice_has_a_budget(taught: Campaign, ada: Membership, settings: Any) -> None:
    settings.PRACTICE_RATE = "1/h"
    given = practising.begin(ada)
    assert given
    assert browser(ada).post(reverse("practice", args=["films"])).status_code == 302  # the same clip
    practising.answer(given, 2, 1.0)
    refused = browser(ada).post(reverse("practice", args=["films"]))
    assert (refused.status_code, "Retry-After" in refused) == (429, True)
    problem_in(Program(ada).post("campaigns/films/practice"), 429)
    assert Practice.objects.count() == 1


LISTS = ["queries", "queries/batches", "judgements", "annotators", "inbox/flags", "activity"]


@pytest.mark.django_db
@pytest.mark.parametrize("name", LISTS)
def test_files_of_lists_have_a_budget(name: str, leo: Membership, settings: Any) -> None:
    settings.FILE_RATE = "1/h"
    page, _, tab = name.partition("/")
    client, address = browser(leo), reverse(page, args=["films"])
    assert client.get(address, {"format": "csv", "view": tab}).status_code == 200
    assert client.get(address, {"format": "csv", "view": tab}).status_code == 429
    assert client.get(address).status_code == 200


@pytest.mark.django_db
def test_exports_have_a_budget_on_pages_and_in_the_api(leo: Membership, settings: Any) -> None:
    settings.FILE_RATE = "1/h"
    assert browser(leo).get(reverse("export", args=["films", "qrels.txt"])).status_code == 200
    problem_in(Program(leo).get("campaigns/films/exports/qrels.txt"), 429)
