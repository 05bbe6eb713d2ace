"""The search page: what was found with its clips, and what it says while there is nothing to find yet."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlencode

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.test import Client
from django.urls import reverse

from campaigns.models import Campaign, Membership
from corpus.models import Clip, Moment, Video
from jobs.models import Job
from jobs.running import work_off
from judging.models import Batch
from judging.pool.clips import cut_clip, search_audience
from retrieval.models import SearchIndex
from retrieval.search import index
from retrieval.search.index import index_captions
from systems.clips import codes
from tests.cast import browser, content_of

pytestmark = pytest.mark.django_db
QUERY = "secret caption 3 4"
AGAIN = "hx-trigger"


@pytest.fixture
def leads(leo: Membership, campaign: Campaign) -> Client:
    return browser(leo)


def page(client: Client, words: str = QUERY, **headers: str) -> str:
    answer = client.get(
        f"{reverse('queries', args=['films'])}?{urlencode({'view': 'search', 'q': words})}", headers=headers
    )
    assert answer.status_code == 200
    return answer.content.decode()


def cut(client: Client, moment: Moment) -> int:
    posted = {"moment": moment.pk, "q": QUERY}
    answer = client.post(reverse("search-cut", args=["films"]), posted)
    assert answer.status_code != 302 or answer["Location"].endswith("/queries/?view=search&q=secret+caption+3+4")
    return answer.status_code


def own() -> Moment:
    return Moment.objects.select_related("video").get(caption=QUERY)


def test_the_first_search_waits_for_the_index(leads: Client) -> None:
    empty = leads.get(reverse("queries", args=["films"]), {"view": "search"}).content.decode()
    assert not Job.objects.exists()
    assert AGAIN not in empty
    assert "being prepared for the search" in page(leads)
    assert AGAIN in page(leads)
    assert Job.objects.get().kind == index_captions.code
    work_off()
    found = page(leads)
    assert AGAIN not in found
    assert "The nearest of 60 moments by their captions." in found
    assert found.count("<li>") == 20
    first = found.split("<li>")[1]
    assert QUERY in first
    assert 'Similarity <span class="n">1.000</span>' in first
    assert "secret-video-3, 41.25–44.50 s" in first
    assert "The corpus has no film of it." in first
    assert "<h1>" not in page(leads, **{"hx-request": "true"})


def test_a_job_that_failed_is_asked_for_again_by_a_lead_only(
    leads: Client, campaign: Campaign, member: Callable[..., Membership]
) -> None:
    page(leads)
    Job.objects.update(state=Job.State.FAILED, error="the model is away")
    html = page(leads)
    assert "The search is not ready: the model is away" in html
    assert "Try again" in html
    researcher = browser(member("rosa", "researcher"))
    assert "Try again" not in page(researcher)
    assert Job.objects.get().has_failed
    leads.post(reverse("job-again", args=[Job.objects.get().pk]))
    assert work_off() == []
    assert "The nearest of 60 moments by their captions." in page(researcher)


def test_a_lead_has_a_clip_cut_for_the_search_alone(
    leads: Client, member: Callable[..., Membership], ada: Membership
) -> None:
    page(leads)
    work_off()
    Video.objects.update(media="film.mp4")
    assert "Cut the clip" in page(leads)
    researcher = browser(member("rosa", "researcher"))
    assert "Cut the clip" not in page(researcher)
    assert "The clip is not cut." in page(researcher)
    assert [cut(leads, own()), cut(leads, own())] == [302, 302]
    clip = Clip.objects.get(audience=search_audience(Campaign.objects.get()))
    assert Job.objects.filter(kind=cut_clip.code).count() == 1
    assert "The clip is being cut." in page(leads)
    assert AGAIN in page(leads)
    ready(clip)
    assert reverse("clip", args=[clip.token]) in page(researcher)
    address = reverse("clip", args=[clip.token])
    found = [status_of(client, address) for client in (leads, researcher, browser(ada))]
    assert found == [200, 200, 404]


def status_of(client: Client, address: str) -> int:
    answer = client.get(address)
    content_of(answer)  # so that its file is closed
    return int(answer.status_code)


def ready(clip: Clip) -> None:
    clip.file.name = default_storage.save(f"clips/{clip.token}.mp4", ContentFile(b"0123456789"))
    clip.state = Clip.State.READY
    clip.save()


def test_a_lead_of_another_campaign_sees_no_clip_of_the_search(leads: Client, campaign: Campaign) -> None:
    Video.objects.update(media="film.mp4")
    cut(leads, own())
    ready(clip := Clip.objects.get(audience=search_audience(campaign)))
    other = Campaign.objects.create(name="plays", corpus=campaign.corpus)
    stranger = browser(other.add_member(campaign.memberships.get().user, "lead"))
    address = reverse("clip", args=[clip.token])
    assert status_of(stranger, address) == 200  # leads both
    campaign.memberships.all().delete()
    assert status_of(stranger, address) == 404


def test_a_clip_that_annotators_have_is_shown(leads: Client, batch: Batch) -> None:
    page(leads)
    work_off()
    candidate = batch.candidates.select_related("moment__video").first()
    assert candidate
    moment = candidate.moment
    clip, _ = Clip.objects.get_or_create(video=moment.video, start=moment.start, end=moment.end, audience="films")
    ready(clip)
    batch.candidates.filter(pk=candidate.pk).update(clip=clip)
    assert reverse("clip", args=[clip.token]) in page(leads, candidate.moment.caption)


def test_a_corpus_that_has_grown_says_so(leads: Client) -> None:
    page(leads)
    work_off()
    video = own().video
    Moment.objects.create(video=video, start=97, end=99, caption="New.", description="New.")
    video.corpus.count_change()
    html = page(leads)
    assert "The corpus has changed" in html
    assert "without those that have changed since" in html
    work_off()
    assert "New." in page(leads, "New.").split("<li>")[1]
    assert SearchIndex.objects.get().moments == 61


def test_the_page_says_that_an_approximate_index_stands_in(leads: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("faiss", reason="faiss-cpu is not installed")
    monkeypatch.setattr(index, "EXACT_UP_TO", 10)
    page(leads)
    work_off()
    html = " ".join(page(leads).split())
    assert "An approximate index (faiss, IVF with 8 bits a number) stands in for the exact search" in html
    assert "it finds 100.0 % in the mean" in html
    monkeypatch.setattr(codes, "is_installed", lambda: False)
    html = " ".join(page(leads).split())
    assert "An approximate index stands in once the package faiss-cpu is installed" in html
    assert "100.0 %" not in html


@pytest.mark.parametrize("words", ["x" * 501, "a\0b"])
def test_a_wrong_query_is_refused(leads: Client, words: str) -> None:
    assert leads.get(reverse("queries", args=["films"]), {"view": "search", "q": words}).status_code == 400
    assert not Job.objects.exists()


def test_a_moment_of_another_corpus_is_not_cut(leads: Client) -> None:
    for moment, status in (("999999", 404), ("", 400), ("x", 400)):
        posted = {"moment": moment, "q": QUERY}
        assert leads.post(reverse("search-cut", args=["films"]), posted).status_code == status
    assert not Clip.objects.filter(audience__startswith="search").exists()
