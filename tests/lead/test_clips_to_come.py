"""A batch whose clips are not all there says so to the lead, who tries again or opens it without them."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils.timezone import make_aware

from campaigns.models import Event, Membership
from corpus.models import Clip
from jobs.models import Job
from judging.models import Batch
from judging.pool.clips import cut_clips
from judging.work.claiming import claim
from tests.cast import browser, make_query

pytestmark = pytest.mark.django_db
ERROR = "film.mp4: cannot be decoded (<b>)"


@pytest.fixture
def closed(batch: Batch) -> Batch:
    """Its job has failed, because two of its clips cannot be cut."""
    return close(batch)


def close(batch: Batch) -> Batch:
    clips = batch.candidates.filter(rank__in=(3, 4)).values("clip")
    Clip.objects.filter(pk__in=clips).update(state=Clip.State.FAILED, error=ERROR)
    Batch.objects.filter(pk=batch.pk).update(state=Batch.State.PREPARING)
    batch.refresh_from_db()
    job = cut_clips.ask(batch)
    Job.objects.filter(pk=job.pk).update(state=Job.State.FAILED, error=f"2 failed: {ERROR}")
    return batch


def page(client: Client, name: str, *which: Any) -> str:
    answer = client.get(reverse(name, args=["films", *which]))
    assert answer.status_code == 200
    return re.sub(r"\s+", " ", answer.content.decode())


def test_the_batch_page_tells_which_clips_are_not_there(
    closed: Batch, leo: Membership, member: Callable[..., Membership]
) -> None:
    html = page(browser(leo), "batch", closed.pk)
    assert "2 of its 20 clips are not there. Nothing is tried any more until you say so." in html
    assert "<li>Rank 3: film.mp4: cannot be decoded (&lt;b&gt;)</li>" in html
    assert "Open without these clips" in html
    seen = page(browser(member("rio", "researcher")), "batch", closed.pk)
    assert "2 of its 20 clips" in seen
    assert "Open without these clips" not in seen


def test_the_lead_opens_a_batch_without_them_and_doing_it_twice_is_harmless(
    closed: Batch, leo: Membership, ada: Membership
) -> None:
    assert claim(ada) is None
    client, address = browser(leo), reverse("batches-open", args=["films"])
    for _ in range(2):
        assert client.post(address, {"batch": closed.pk}).status_code == 302
    assert "2 of its 20 clips" not in page(client, "batch", closed.pk)
    assert claim(ada)
    noted = leo.events.get(kind=Event.Kind.OPENED)
    assert noted.reason == "batch 1 of query 1, without 2 of 20 clips"
    history = page(client, "annotator", leo.worker)
    assert "Batch opened without all clips" in history
    assert noted.reason in history


def test_all_such_batches_are_opened_at_once_and_no_other(closed: Batch, leo: Membership) -> None:
    second, delayed = (
        make_query(closed.query.campaign, str(number), f"A person does thing {number}.").batches.get()
        for number in (2, 3)
    )
    close(second)
    close(delayed)
    cut_clips.jobs(delayed).update(state=Job.State.WAITING)
    desk = page(browser(leo), "campaign")
    assert "<b>2</b> <span>jobs failed" in desk
    assert reverse("batch", args=["films", closed.pk]) in desk
    assert "Open all batches without the clips that cannot be cut" in desk
    for _ in range(2):
        assert browser(leo).post(reverse("batches-open", args=["films"])).status_code == 302
    assert set(Batch.objects.filter(state=Batch.State.OPEN)) == {closed, second}
    assert leo.events.filter(kind=Event.Kind.OPENED).count() == 2


def test_when_a_delayed_job_is_tried_again_is_told(closed: Batch, leo: Membership) -> None:
    due = make_aware(datetime(2031, 5, 6, 14, 30))
    error = "the media store does not answer, or has no room: closed"
    Job.objects.update(state=Job.State.WAITING, due=due, error=error)
    client = browser(leo)
    desk = page(client, "campaign")
    assert f"is delayed: {error}. Next attempt at 14:30 on 6 May 2031." in desk
    html = page(client, "batch", closed.pk)
    assert f"The next attempt is at 14:30 on 6 May 2031: {error}." in html
    assert client.post(reverse("job-again", args=[Job.objects.get().pk])).status_code == 302
    assert Job.objects.take("wanda")
