"""The page of a corpus: its size as the paper's tables have it, its moments, a search, and clips."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from base import listing
from campaigns.models import Campaign, Membership
from corpus import counting
from corpus.clips import FOR_CORPUS_PAGE
from corpus.counting import count, figures_of, verb_forms, words
from corpus.models import Clip, Corpus, Moment, Video
from jobs.models import Job
from jobs.running import work_off
from tests.cast import browser, content_of
from tests.films import write_film
from tests.terminal import printed

pytestmark = pytest.mark.django_db


@pytest.fixture
def lead(leo: Membership) -> Client:
    return browser(leo)


def page(client: Client, name: str = "films", **params: str | int) -> str:
    answer = client.get(reverse("corpus", args=[name]), params)
    assert answer.status_code == 200
    return answer.content.decode()


def rows(html: str) -> list[str]:
    return re.findall(r'data-label="Description"><a [^>]*>([^<]*)<', html)


@pytest.fixture
def small(db: None) -> Corpus:
    """Three descriptions of two moments in a film of 100 seconds, and one in a film of 20."""
    corpus = Corpus.objects.create(name="small", format="jsonl")
    descriptions = {
        100: [(0, 10, "She opens the door."), (0, 10, "A door opening"), (50, 90, "He sits, sitting down.")],
        20: [(5, 10, "The ring is HERS")],
    }
    for length, moments in descriptions.items():
        video = Video.objects.create(corpus=corpus, name=f"film-{length}", duration=length)
        for start, end, text in moments:
            Moment.objects.create(video=video, start=start, end=end, description=text, caption=text)
    return corpus


def test_the_size_is_that_of_the_papers_tables(small: Corpus) -> None:
    figures = count(small)
    assert (figures["queries"], figures["moments"], figures["videos"]) == (4, 3, 2)
    # she opens the door a opening he sits sitting down ring is hers
    assert (figures["vocabulary"], figures["verbs"]) == (13, 4)
    assert figures["moment_hours"] == pytest.approx(55 / 3600)
    assert figures["video_hours"] == pytest.approx(120 / 3600)
    assert figures["query_length"] == [3, 3.75, 4]
    assert figures["moment_length"] == [5, 16.25, 40]
    assert figures["video_length"] == [20, 60, 100]
    assert figures["ratio"] == pytest.approx((0.1 + 0.1 + 0.4 + 0.25) / 4)


def test_an_empty_corpus_has_a_page(small: Corpus, admin: Client) -> None:
    Corpus.objects.create(name="an empty one/of 2 names", format="csv")
    assert "The corpus has no moments" in page(admin, "an empty one/of 2 names")


def test_charades_is_as_large_as_in_table_1(shared: Path) -> None:
    """The paper has 11,770 moments, a vocabulary of 1,303 words, and 469 verbs."""
    texts, moments, videos = [], set(), set()
    for part in ("train", "test"):
        for line in (shared / "charades_sta" / f"charades_sta_{part}.txt").read_text().splitlines():
            place, _, sentence = line.partition("##")
            texts.append(sentence)
            moments.add(place)
            videos.add(place.split()[0])
    assert (len(texts), len(moments), len(videos)) == (16_128, 11_772, 6_672)
    vocabulary = {word for text in texts for word in words(text)}
    assert (len(vocabulary), len(verb_forms(vocabulary))) == (1_276, 275)


@pytest.mark.both_databases
def test_the_page_of_a_small_corpus_is_counted_at_once(lead: Client, corpus: Corpus) -> None:
    html = page(lead)
    assert "Verb forms" in html
    assert not Job.objects.exists()
    assert len(rows(html)) == 50


def test_a_large_corpus_is_counted_by_a_job(lead: Client, corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "AT_ONCE", 10)
    assert "is being counted for the first time" in page(lead)
    assert 'hx-select="#figures"' in page(lead)  # the page asks for the numbers by itself
    assert Job.objects.get().kind == counting.count_corpus.code
    work_off()
    assert "Verb forms" in page(lead)
    assert "hx-select" not in page(lead)
    corpus.refresh_from_db()
    assert corpus.figures == count(corpus)


def test_an_import_has_a_corpus_counted_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "AT_ONCE", 1)
    file = tmp_path / "moments.jsonl"
    line = {"video": "f", "start": 1, "end": 2, "duration": 9, "description": "a"}
    for number in (2, 3):
        file.write_text("".join(json.dumps(line | {"start": place / 10}) + "\n" for place in range(number)))
        printed("import_corpus", "films", file, "--format", "jsonl")
        assert figures_of(Corpus.objects.get()).figures is None
        work_off()
        found = figures_of(Corpus.objects.get()).figures
        assert found is not None
        assert found["queries"] == number


@pytest.mark.both_databases
def test_pages_go_on_where_the_one_before_ended(lead: Client, corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "ON_A_PAGE", 25)
    found, html = [], page(lead)
    for _ in range(3):
        found += rows(html)
        following = re.search(r'href="\?after=([^"#]+)#list">Next', html)
        html = page(lead, after=following[1]) if following else ""
    assert len(found) == 60
    assert found == sorted(found)
    assert html == ""


@pytest.mark.both_databases
def test_a_search_finds_words_in_any_order(lead: Client, corpus: Corpus) -> None:
    assert rows(page(lead, q="3 DESCRIPTION 4")) == ["secret description 3 4", "secret description 4 3"]
    assert rows(page(lead, q="description", video="secret-video-2"))[0] == "secret description 2 0"
    assert "No moment fits" in page(lead, q="a%_b")
    assert lead.get(reverse("corpus", args=["films"]), {"video": "\0"}).status_code == 400


def test_moments_are_sorted_and_chosen_by_their_length(lead: Client, small: Corpus, admin: Client) -> None:
    assert rows(page(admin, "small", sort="-seconds"))[0] == "He sits, sitting down."
    assert rows(page(admin, "small", seconds_from=6, seconds_to=20)) == ["She opens the door.", "A door opening"]
    assert rows(page(admin, "small", film="on")) == []
    file = content_of(admin.get(f"{reverse('corpus', args=['small'])}?format=csv&seconds_to=5")).decode()
    assert file.splitlines()[1:] == ["film-20@5000-10000,film-20,5.0,10.0,5.0,The ring is HERS,The ring is HERS"]


@pytest.mark.parametrize("after", ["x", "-1", "9" * 30])
def test_a_wrong_place_to_go_on_lists_nothing(lead: Client, corpus: Corpus, after: str) -> None:
    assert "No moment fits" in page(lead, after=after)


def test_what_is_in_a_description_is_text(lead: Client, corpus: Corpus) -> None:
    Moment.objects.update(description="<script>alert(1)</script>")
    assert "<script>alert" not in page(lead)
    assert "&lt;script&gt;alert" in page(lead)


@pytest.fixture
def admin(db: None) -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    return client


def test_who_sees_which_corpora(lead: Client, admin: Client, corpus: Corpus, ada: Membership, small: Corpus) -> None:
    address = reverse("campaigns")
    assert "films" in lead.get(address).content.decode()
    assert "small" not in lead.get(address).content.decode()
    assert "Corpora</h2>" not in browser(ada).get(address).content.decode()
    assert "small" in admin.get(address).content.decode()
    assert lead.get(reverse("corpus", args=["small"])).status_code == 404
    assert page(admin, "small")


def test_a_moment_is_cut_and_played_for_those_who_see_the_corpus(
    lead: Client, ada: Membership, leo: Membership, tmp_path: Path
) -> None:
    moments = write_film(tmp_path)
    printed("import_corpus", "colours", moments, "--format", "tvr", "--media", tmp_path / "media")
    colours = Corpus.objects.get(name="colours")
    campaign = Campaign.objects.create(name="colours", corpus=colours)
    campaign.add_member(leo.user, "lead")
    campaign.add_member(ada.user, "annotator")
    moment = Moment.objects.get(video__corpus=colours, start=7)
    place = f"{reverse('corpus', args=['colours'])}?moment={moment.pk}"
    assert "Cut the clip" in lead.get(place).content.decode()
    for _ in range(2):
        answer = lead.post(reverse("corpus-moment-cut", args=["colours", moment.pk]))
        assert answer.headers["Location"] == place
    assert "The clip is being cut" in lead.get(place).content.decode()
    work_off()
    clip = Clip.objects.get(audience=FOR_CORPUS_PAGE)
    address = reverse("clip", args=[clip.token])
    assert address in lead.get(place).content.decode()
    assert content_of(lead.get(address))[4:8] == b"ftyp"
    assert browser(ada).get(address).status_code == 404
    Membership.objects.filter(campaign=campaign, user=leo.user).update(state=Membership.State.LEFT)
    assert lead.get(address).status_code == 404


def test_a_moment_without_a_film_says_so(lead: Client, corpus: Corpus) -> None:
    moment = Moment.objects.all()[0]
    place = f"{reverse('corpus', args=['films'])}?moment={moment.pk}"
    html = lead.get(place).content.decode()
    assert "The corpus has no film of this video" in html
    assert "Cut the clip" not in html
    lead.post(reverse("corpus-moment-cut", args=["films", moment.pk]))
    assert not Job.objects.exists()
    assert "The corpus has no film for this clip" in lead.get(place).content.decode()


def test_the_moments_of_another_corpus_are_not_found(lead: Client, corpus: Corpus, small: Corpus) -> None:
    other = Moment.objects.filter(video__corpus=small)[0]
    assert lead.get(reverse("corpus", args=["films"]), {"moment": other.pk}).status_code == 404
