"""The lists of flags and of runs: page, file and API choose and sort alike, and each reads only what it may."""

from __future__ import annotations

from collections.abc import Callable
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse

from campaigns.models import Membership
from judging.models import Batch, Flag
from judging.review.decisions import dismiss
from judging.work import grading, submitting
from tests.cast import browser, claim, content_of, judge_all, text_between_tags

pytestmark = pytest.mark.both_databases  # it is about the reports' SQL


@pytest.fixture
def flags(batch: Batch, ada: Membership) -> list[Flag]:
    """Two pairs that Ada flagged in a batch that she submitted."""
    work = claim(ada)
    for position, reason in ((1, "other"), (2, "clip")):
        grading.flag(work, position, reason, f"word {position}", fence=work.fence, key=uuid4())
    judge_all(work, lambda candidate: 2, submit=False)
    submitting.submit(work, work.fence)
    return list(Flag.objects.order_by("pk"))


def listed(client: Client, page: str, twin: str, address: str, column: str) -> list[str]:
    """What a column has in the rows that an address chooses: in the file, of as many rows as in the API."""
    answer = client.get(f"/api/v1/campaigns/films/{twin}?{address}")
    assert answer.status_code == 200, answer.content
    page, _, tab = page.partition("/")
    place = f"{reverse(page, args=['films'])}?view={tab}&{address}"
    rendered = client.get(place)
    file = content_of(client.get(f"{place}&format=csv")).decode()
    header, *lines = [line.split(",") for line in file.splitlines()]
    assert rendered.status_code == 200
    assert len(lines) == len(answer.json()["results"]) == len(rendered.context["listed"].lines)
    return [line[header.index(column)] for line in lines] if column in header else []


def test_flags_wait_are_handled_and_stay_in_the_list(
    flags: list[Flag], leo: Membership, member: Callable[..., Membership]
) -> None:
    def reasons(address: str) -> list[str]:
        return listed(browser(leo), "inbox/flags", "flags", address, "comment")

    assert reasons("") == ["word 2", "word 1"]
    dismiss(flags[0], leo)
    assert reasons("") == ["word 2"]
    assert reasons("show=handled") == ["word 1"]
    assert reasons("show=all&sort=at") == ["word 1", "word 2"]
    assert reasons("show=all&sort=-handled") == ["word 1", "word 2"]  # what is not handled comes last
    assert reasons("show=all&reason=clip") == ["word 2"]
    assert reasons("show=all&worker=9") == []
    assert reasons("show=all&q=sits+down&outcome=open") == ["word 2", "word 1"]
    rita = browser(member("rita", "researcher"))
    assert listed(rita, "inbox/flags", "flags", "show=all", "comment") == []
    page = rita.get(reverse("inbox", args=["films"]), {"view": "flags"}).content.decode()
    assert "word 2" not in page
    assert "ada" not in text_between_tags(page).lower()
