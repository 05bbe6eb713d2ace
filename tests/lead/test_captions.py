"""The pages on which a lead rewords a corpus: the cast list, the work, what waits, and what was replaced."""

from __future__ import annotations

from io import StringIO

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse

from campaigns.models import Campaign, Membership
from corpus.models import Corpus, Moment, Video
from jobs.models import Job
from jobs.running import work_off
from retrieval.models import CastName, Rewording
from retrieval.rewriting import counting
from tests.cast import browser

pytestmark = pytest.mark.django_db
TEXTS = [
    *["Olga opens her bag."] * 2,
    "Olga and Karel wave.",
    "He looks at Zora.",
    "He waits in Prague.",
    "Zora sits.",
    "A dog barks.",
]


@pytest.fixture
def films(db: None) -> Corpus:
    corpus = Corpus.objects.create(name="named", format="tvr")
    video = Video.objects.create(corpus=corpus, name="v", duration=100)
    for number, text in enumerate(TEXTS):
        Moment.objects.create(video=video, start=number, end=number + 1, description=text, caption=text)
    return corpus


@pytest.fixture
def lead(films: Corpus) -> Client:
    campaign = Campaign.objects.create(name="c", corpus=films)
    return browser(campaign.add_member(User.objects.create(username="lea"), Membership.Role.LEAD))


def page(client: Client, name: str, /, *arguments: object, **query: str) -> str:
    answer = client.get(reverse(name, args=arguments), query)
    assert answer.status_code == 200
    return " ".join(answer.content.decode().split())


def post(client: Client, name: str, /, *arguments: object, **fields: object) -> str:
    answer = client.post(reverse(name, args=arguments), fields, follow=True)
    return " ".join(answer.content.decode().split())


def confirm(corpus: Corpus, **phrases: str) -> None:
    for name, phrase in phrases.items():
        CastName.objects.create(corpus=corpus, name=name, phrase=phrase, confirmed=True)


def reworded(client: Client, corpus: Corpus) -> None:
    confirm(corpus, Olga="woman", Karel="man")
    post(client, "reword", corpus.pk, by="cast")
    work_off(StringIO())


def test_a_lead_drafts_and_confirms_a_cast_list(lead: Client, films: Corpus) -> None:
    assert "The cast list is empty" in page(lead, "captions", films.pk, view="cast")
    assert "has no confirmed names yet" in page(lead, "captions", films.pk)
    assert "Draft the cast list waits for a worker" in post(lead, "cast-draft", films.pk)
    work_off(StringIO())
    names = {each.name: each for each in CastName.objects.all()}
    assert names.keys() == {"Olga", "Karel", "Zora", "Prague"}
    form: dict[str, object] = {"name": [each.pk for each in names.values()]}
    form |= {f"phrase-{names[name].pk}": phrase for name, phrase in (("Olga", "old woman"), ("Zora", "girl"))}
    form |= {f"stays-{names['Prague'].pk}": "on"}
    form |= {f"confirmed-{names[name].pk}": "on" for name in ("Olga", "Prague", "Zora")}
    assert "Saved." in post(lead, "captions", films.pk, **form)
    olga, prague, karel = (CastName.objects.get(name=name) for name in ("Olga", "Prague", "Karel"))
    assert (olga.phrase, olga.confirmed, olga.count) == ("old woman", True, 2)
    assert (prague.stays, prague.confirmed) == (True, True)
    assert not karel.confirmed
    assert "Karel" in page(lead, "captions", films.pk, view="cast", show="open")
    assert "value=\"old woman\"" not in page(lead, "captions", films.pk, view="cast", show="open")  # fmt: skip


def test_a_cast_list_that_is_wrong_is_shown_again_and_not_stored(lead: Client, films: Corpus) -> None:
    confirm(films, Olga="woman", Karel="man")
    olga, karel = CastName.objects.order_by("-name")
    form = {"name": [olga.pk, karel.pk], f"phrase-{karel.pk}": "giant", f"confirmed-{olga.pk}": "on"}
    form |= {f"confirmed-{karel.pk}": "on"}
    answer = lead.post(f"{reverse('captions', args=[films.pk])}?view=cast", form)
    assert answer.status_code == 400
    text = answer.content.decode()
    assert "Olga: field phrase: &quot;&quot;; expected a noun phrase" in text
    assert 'value="giant"' in text
    assert CastName.objects.get(name="Karel").phrase == "man"


def test_names_of_another_corpus_are_left_alone(lead: Client, films: Corpus, corpus: Corpus) -> None:
    other = CastName.objects.create(corpus=corpus, name="Eve", phrase="woman", confirmed=True)
    confirm(films, Olga="woman")
    answer = lead.post(
        f"{reverse('captions', args=[films.pk])}?view=cast", {"name": [other.pk, "x", "9" * 30], "confirm-all": "1"}
    )
    assert answer.status_code == 400  # nothing of this corpus is among them
    other.refresh_from_db()
    assert other.phrase == "woman"


def test_a_corpus_is_reworded_from_the_page(lead: Client, films: Corpus) -> None:
    reworded(lead, films)
    text = page(lead, "captions", films.pk)
    assert "<dd>3</dd> <dd class=\"quiet\">of 6 distinct descriptions" in text  # fmt: skip
    assert "the cast list" in text
    assert "lea" in text


def test_what_waits_is_decided(lead: Client, films: Corpus) -> None:
    reworded(lead, films)
    text = page(lead, "captions", films.pk, view="queue")
    assert "It may still name a person: Zora." in text
    first = Rewording.objects.queued().order_by("pk")[0]
    answer = lead.post(
        reverse("caption-accept", args=[films.pk, first.pk]), {"caption": "He looks at a girl.", "page": 1, "place": 1}
    )
    assert answer["Location"] == f"{reverse('captions', args=[films.pk])}?view=queue&page=1#waiting-1"
    assert "Accepted. 2 still wait." in page(lead, "captions", films.pk, view="queue")
    first.refresh_from_db()
    assert (first.state, first.by and first.by.username) == ("accepted", "lea")
    assert "does not wait any more" in post(lead, "caption-accept", films.pk, first.pk, caption="Else.")


@pytest.mark.parametrize(
    "fields", [{"caption": ""}, {"caption": "x\0"}, {}, {"caption": "A", "page": "x"}, {"caption": "A", "place": "-1"}]
)
def test_bad_forms_are_refused(lead: Client, films: Corpus, fields: dict[str, str]) -> None:
    reworded(lead, films)
    row = Rewording.objects.queued().order_by("pk")[0]
    assert lead.post(reverse("caption-accept", args=[films.pk, row.pk]), fields).status_code == 400
    assert lead.post(reverse("reword", args=[films.pk]), {"by": "magic"}).status_code == 400


def test_a_caption_is_found_in_its_own_corpus_only(
    lead: Client, films: Corpus, campaign: Campaign, leo: Membership
) -> None:
    reworded(lead, films)
    row = Rewording.objects.queued().order_by("pk")[0]
    address = reverse("caption-accept", args=[campaign.corpus_id, row.pk])
    assert browser(leo).post(address, {"caption": "A."}).status_code == 404


def test_who_may_create_campaigns_may_reword(films: Corpus, outsider: User) -> None:
    client = Client()
    client.force_login(outsider)
    address = reverse("captions", args=[films.pk])
    assert client.get(address).status_code == 404
    outsider.user_permissions.add(Permission.objects.get(codename="add_campaign"))
    assert client.get(address).status_code == 200
    assert client.get(reverse("captions", args=[films.pk + 1000])).status_code == 404


def test_what_was_replaced_is_counted(lead: Client, films: Corpus) -> None:
    assert "Nothing is replaced yet" in page(lead, "captions", films.pk, view="replaced")
    reworded(lead, films)
    text = page(lead, "captions", films.pk, view="replaced")
    assert "4 words were put into 3 of 4 captions, 1.00 a caption" in text
    assert '<td>woman</td><td class="n">3</td><td>F</td>' in text
    assert '<td>Olga</td><td>a woman</td><td class="n">2</td>' in text
    csv = lead.get(reverse("replaced-csv", args=[films.pk]))
    assert csv["Content-Type"] == "text/csv; charset=utf-8"
    assert csv.content.decode().splitlines() == [
        "kind,before,after,count,gender",
        "word,,woman,3,F",
        "word,,man,1,M",
        "pair,Olga,a woman,2,",
        "pair,Olga and Karel,a woman and a man,1,",
    ]


def test_the_endpoint_is_offered_with_its_cost(lead: Client, films: Corpus, settings: object) -> None:
    assert "once the settings" in page(lead, "captions", films.pk)
    settings.CHAT_URL, settings.CHAT_MODEL = "http://127.0.0.1:9/v1", "model-1"  # type: ignore[attr-defined]
    settings.CHAT_INPUT_PRICE = 1000.0  # type: ignore[attr-defined]
    text = page(lead, "captions", films.pk)
    assert "By model-1: 6 descriptions in about 1 request," in text
    assert "It will cost about 0." in text
    assert "Reword by the chat endpoint" in text


def test_a_large_corpus_is_counted_by_a_job_and_old_numbers_say_so(
    lead: Client, films: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counting, "AT_ONCE", 3)
    html = page(lead, "captions", films.pk)
    assert "being counted for the first time" in html
    assert 'hx-select="main"' in html  # the page asks for the numbers by itself
    assert lead.get(reverse("replaced-csv", args=[films.pk])).status_code == 409
    work_off(StringIO())
    assert "of 6 distinct descriptions" in page(lead, "captions", films.pk)
    reworded(lead, films)
    html = page(lead, "captions", films.pk, view="replaced")
    assert "the captions have changed since" in html
    assert "Nothing is replaced yet" in html
    work_off(StringIO())
    html = page(lead, "captions", films.pk, view="replaced")
    assert "changed since" not in html
    assert "<td>woman</td><td" in html
    assert "word,,woman," in lead.get(reverse("replaced-csv", args=[films.pk])).content.decode()
    for view in ("", "replaced"):  # nothing has changed, so nothing is counted again
        page(lead, "captions", films.pk, view=view)
    assert Job.objects.get(kind=counting.count_captions.code).state == Job.State.DONE
    row = Rewording.objects.queued().first()
    assert row
    post(lead, "caption-accept", films.pk, row.pk, caption="He looks at a girl.", page=1, place=1)
    assert "changed since" in page(lead, "captions", films.pk)
    assert Job.objects.get(kind=counting.count_captions.code).is_unfinished
