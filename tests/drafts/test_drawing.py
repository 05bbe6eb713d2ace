"""A campaign's queries are drawn from the captions of its corpus, which can be stored and reworded before."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from base.errors import WrongState
from campaigns.models import Campaign
from corpus.importers.load import UNFINISHED, staged
from corpus.models import Corpus, Moment, Video
from drafts.builder import forget_unfinished_corpora
from drafts.models import Draft
from drafts.sources import source_of
from drafts.uploads import begin, store_text
from jobs.models import Job
from jobs.running import work_off
from judging.pool import selection
from retrieval.models import CastName
from retrieval.rewriting import counting
from tests.drafts.conftest import announced
from tests.films import write_film

DRAWING = {"validation": 4, "test": 6, "seed": 7, "split": "own", "pasted": ""}
NAMES = ["Olga", "Karel"]


@pytest.fixture
def named(draft: Draft) -> Draft:
    """A draft of a corpus whose descriptions name two people, and no queries yet."""
    rows = "".join(
        f"film-{n % 3},{n},{n + 1},{NAMES[n % 2]} lifts box {n} and waits for {NAMES[(n + 1) % 2]}.,60\n"
        for n in range(20)
    )
    store_text(draft, "moments", "moments.csv", f"video,start,end,description,duration\n{rows}")
    draft.uploads.filter(purpose="queries").delete()
    return draft


def page(client: Client, name: str, draft: Draft) -> str:
    return " ".join(client.get(reverse(name, args=[draft.token])).content.decode().split())


def post(client: Client, name: str, draft: Draft, **fields: object) -> str:
    answer = client.post(reverse(name, args=[draft.token]), fields, follow=True)
    draft.refresh_from_db()
    return " ".join(answer.content.decode().split())


def stored(client: Client, draft: Draft) -> Corpus:
    post(client, "draft-store", draft)
    assert not work_off()
    draft.refresh_from_db()
    assert draft.corpus
    return draft.corpus


@pytest.mark.both_databases
def test_a_new_corpus_is_stored_reworded_and_drawn_from(client: Client, named: Draft) -> None:
    assert "Store the corpus now" in page(client, "draft-queries", named)
    corpus = stored(client, named)
    assert Moment.objects.filter(video__corpus=corpus).count() == 20
    assert not named.uploads.exists()
    assert "Nobody has reworded it" in page(client, "draft-queries", named)
    for name, phrase in zip(NAMES, ("woman", "man"), strict=True):
        CastName.objects.create(corpus=corpus, name=name, phrase=phrase, confirmed=True)
    client.post(reverse("reword", args=[corpus.pk]), {"by": "cast"})
    assert not work_off()
    assert "20 of 20 descriptions are reworded and settled" in page(client, "draft-queries", named)
    assert "Draw queries waits for a worker" in post(client, "draft-queries", named, **DRAWING, look="1")
    assert not work_off()
    found = selection.select(corpus, selection.Counts(4, 6), 7)
    html = page(client, "draft-queries", named)
    counted = counting.counted(corpus).figures
    assert counted
    assert (counted.captions, counted.ready, found.captions) == (20, 20, 20)
    assert "20 distinct captions, of which 20 may become queries" in html
    assert all(text in html for text in found.validation + found.test)
    assert "Drawn from 20 captions that may become queries, with seed 7: <strong>4</strong>" in html
    store_text(named, "queries", "pasted.txt", f"Somebody stands up.\n{found.test[0]}\n")
    post(client, "draft-check-start", named)
    assert not work_off()
    assert "Drawn from 20" in page(client, "draft-create", named)
    post(client, "draft-make", named)
    assert not work_off()
    campaign = Campaign.objects.get(name="mine")
    splits = dict(campaign.queries.values_list("text", "split"))
    assert splits == {
        **dict.fromkeys(found.validation, "val"),
        **dict.fromkeys(found.test, "test"),
        "Somebody stands up.": "own",
    }
    assert campaign.selection == found.record
    assert len(selection.training_queries(campaign)) == 10
    assert not any(name in text for text in splits for name in NAMES)


def test_what_cannot_be_drawn_is_told(client: Client, named: Draft) -> None:
    named.change(selection={"validation": 4, "test": 6, "seed": 7, "strata": []})
    post(client, "draft-check-start", named)
    work_off()
    named.refresh_from_db()
    assert "The drawn queries: can be drawn once the corpus is stored" in "".join(named.findings["problems"])
    stored(client, named)
    answer = post(client, "draft-queries", named, **DRAWING | {"test": 17})
    assert "21 queries together; expected at most 20" in answer
    nothing = DRAWING | {"test": 0, "validation": 0}
    assert "Write how many queries to draw" in post(client, "draft-queries", named, **nothing, look="1")
    assert named.selection["test"] == 6
    post(client, "draft-queries", named, split="", pasted="")
    assert named.selection == {}


@pytest.mark.any_database
@pytest.mark.both_databases
def test_captions_that_change_after_the_check_ask_for_another_one(client: Client, named: Draft) -> None:
    stored(client, named)
    post(client, "draft-queries", named, **DRAWING, strata=["show", "length"])
    post(client, "draft-check-start", named)
    assert not work_off()
    html = page(client, "draft-create", named)
    assert "film, 6-10 words" in html
    Moment.objects.filter(start=3).update(caption="Somebody else waits.")
    post(client, "draft-make", named)
    assert "The captions have changed since the check" in work_off()[0].error
    assert not Campaign.objects.exists()


def test_a_wrong_line_stores_nothing_and_a_corpus_under_way_is_seen_by_nobody(
    client: Client, named: Draft, nora: User
) -> None:
    with staged(named.token, source_of(named), lambda rows: None) as corpus:
        assert Moment.objects.filter(video__corpus=corpus).count() == 20
        assert not Corpus.objects.exists()
        assert "Corpora</h2>" not in client.get(reverse("campaigns")).content.decode()
        assert client.get(reverse("captions", args=[corpus.pk])).status_code == 404
    assert not Video.objects.exists()
    assert not Corpus.everything.exists()
    store_text(named, "moments", "moments.csv", "video,start,end,description,duration\nv,1,2,Fine.,9\nv,3,2,Bad.,9\n")
    post(client, "draft-store", named)
    assert "line 3" in work_off()[0].error
    assert "line 3" in page(client, "draft-queries", named)
    assert not Corpus.everything.exists()


def test_what_a_killed_job_has_left_goes_with_the_next_attempt_or_within_the_hour(client: Client, named: Draft) -> None:
    def leave(token: str) -> None:
        corpus = Corpus.everything.create(name=f"{UNFINISHED}{token}", format="csv", is_whole=False)
        Video.objects.create(corpus=corpus, name="left", duration=1)

    leave(named.token)
    stored(client, named)
    assert not Video.objects.filter(name="left").exists()
    leave(named.token)
    Job.objects.filter(kind="store-corpus").update(state=Job.State.WAITING)
    forget_unfinished_corpora()
    assert Video.objects.filter(name="left").exists()  # a job goes on with it
    Job.objects.filter(kind="store-corpus").update(state=Job.State.DONE)
    forget_unfinished_corpora()
    assert not Video.objects.filter(name="left").exists()
    assert Corpus.everything.get().name == "own"


def test_films_of_a_stored_corpus_stay(client: Client, named: Draft, tmp_path: Path) -> None:
    write_film(tmp_path / "drawn")
    film = (tmp_path / "drawn" / "media" / "film.mp4").read_bytes()
    upload = begin(named, "film", "film-0.mp4", len(film))
    post(client, "draft-store", named)
    assert "film-0.mp4: 0 % has arrived" in work_off()[0].error
    upload.path.parent.mkdir(parents=True, exist_ok=True)
    upload.path.write_bytes(film)
    named.uploads.filter(pk=upload.pk).update(received=len(film))
    corpus = stored(client, named)
    assert corpus.videos.exclude(media="").count() == 1
    answer = announced(client, named, "film-0.mp4", 1000)
    assert answer.status_code == 409
    assert f"belong to the corpus {corpus}" in answer.json()["detail"]
    with pytest.raises(WrongState):
        begin(named, "film", "other.mp4", 10)
    removed = client.post(reverse("upload-remove", args=[named.token, upload.token]))
    assert removed.status_code == 409
    assert upload.path.exists()
