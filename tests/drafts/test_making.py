"""A campaign is made of a draft: what is wrong is told by line, and all of it is stored or nothing."""

from __future__ import annotations

import csv
import re
from html import unescape
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoCaptureOnCommitCallbacks as Commits

from campaigns.access import let_create, let_create_no_longer
from campaigns.models import Campaign, Membership
from campaigns.uploads import append
from corpus.models import Corpus, Moment, Video
from drafts.changes import jobs_of
from drafts.forms import PRESETS
from drafts.models import Draft
from drafts.uploads import begin, store_text
from jobs.models import Job
from jobs.running import work_off
from judging.models import Batch, Query
from judging.pool.ranking import rank_candidates
from tests.cast import browser, make_query
from tests.drafts.conftest import MOMENTS, announced
from tests.films import write_film
from tests.judging.test_reuse import closed

__all__ = ["closed"]  # a fixture


def start(client: Client, name: str, draft: Draft) -> None:
    """Press the button, and run what it asks for."""
    assert client.post(reverse(name, args=[draft.token])).status_code == 302
    work_off()
    draft.refresh_from_db()


def checked(client: Client, draft: Draft) -> dict[str, Any]:
    start(client, "draft-check-start", draft)
    return dict(draft.findings)


def without_ranking(monkeypatch: pytest.MonkeyPatch) -> None:
    """These tests are about what is stored; the ranking has tests of its own."""
    monkeypatch.setattr("drafts.builder.rank_candidates", SimpleNamespace(ask=lambda campaign: None))


def test_a_draft_becomes_a_campaign(
    client: Client, draft: Draft, monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Commits
) -> None:
    without_ranking(monkeypatch)
    User.objects.create(username="asha")
    draft.change(people=[["asha", "annotator"]], settings={"padding": 2.0, "title": "Mine"})
    findings = checked(client, draft)
    assert findings["problems"] == []
    assert findings["counts"] == {"moments": 30, "videos": 3, "queries": 2}
    assert not Corpus.objects.exists()
    assert not Campaign.objects.exists()
    page = client.get(reverse("draft-create", args=[draft.token])).content.decode()
    assert "Create the campaign" in page
    with django_capture_on_commit_callbacks(execute=True):
        start(client, "draft-make", draft)
    campaign = Campaign.objects.get(name="mine")
    assert (campaign.title, campaign.padding, campaign.corpus.name) == ("Mine", 2.0, "own")
    assert Moment.objects.filter(video__corpus=campaign.corpus).count() == 30
    assert {query.text for query in campaign.queries.all()} == {"A person sits down.", "Somebody stands up."}
    roles = {member.user.username: member.role for member in campaign.memberships.select_related("user")}
    assert roles == {"nora": "lead", "asha": "annotator"}
    assert client.get(reverse("draft-create", args=[draft.token]))["Location"] == reverse("campaign", args=["mine"])
    assert not list(draft.folder.glob("*"))  # no film was uploaded, and the texts are rows now


def test_making_twice_makes_one_campaign_and_asks_for_the_ranking(client: Client, draft: Draft) -> None:
    start(client, "draft-check-start", draft)
    for _ in range(2):
        client.post(reverse("draft-make", args=[draft.token]))
    work_off()
    assert Campaign.objects.count() == Corpus.objects.count() == 1
    assert Job.objects.get(kind=rank_candidates.code).state == Job.State.DONE
    assert Query.objects.filter(candidates__isnull=False).distinct().count() == 2


def test_making_again_removes_the_files_that_a_killed_run_left(
    client: Client, draft: Draft, monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Commits
) -> None:
    without_ranking(monkeypatch)
    checked(client, draft)
    with monkeypatch.context() as patch:
        patch.setattr("drafts.builder.keep_films_only", lambda draft: None)
        start(client, "draft-make", draft)
    assert list(draft.folder.glob("*"))
    with django_capture_on_commit_callbacks(execute=True):
        start(client, "draft-make", draft)
    assert not list(draft.folder.glob("*"))


def test_what_is_wrong_is_told_by_line_and_nothing_is_stored(client: Client, draft: Draft) -> None:
    bad = MOMENTS + "film-1,9,8,Ends before it starts.,60\nfilm-2,x,8,No number.,60\n"
    store_text(draft, "moments", "moments.csv", bad)
    store_text(draft, "queries", "queries.jsonl", '{"query_id": 1}\n{"query_id": 2, "query": "Fine."}\n')
    draft.change(name="", people=[["nobody", "lead"]])
    problems = "\n".join(checked(client, draft)["problems"])
    for part in (
        "moments.csv: line 32",
        "moments.csv: line 33",
        "queries.jsonl: line 1",
        "The settings, name",
        "nobody",
    ):
        assert part in problems
    assert str(draft.folder) not in problems
    page = client.get(reverse("draft-create", args=[draft.token])).content.decode()
    assert "Fix 5 problems" in page
    client.post(reverse("draft-make", args=[draft.token]))
    assert "Check the draft first" in client.get(reverse("draft-create", args=[draft.token])).content.decode()
    assert not Corpus.objects.exists()
    assert not Campaign.objects.exists()


def test_unusable_moments_can_be_left_out(client: Client, draft: Draft) -> None:
    store_text(draft, "moments", "moments.csv", MOMENTS + "film-1,9,8,Ends before it starts.,60\n")
    step = reverse("draft-data", args=[draft.token])
    client.post(step, {"corpus_name": "own", "format": "csv", "leaves_out_unusable": "on"})
    work_off()
    assert "Left out: they end before they begin" in client.get(step).content.decode()
    findings = checked(client, draft)
    assert findings["problems"] == []
    assert "Moments that are left out, because they end before they begin: 1." in findings["notes"]


def test_the_first_hundred_problems_are_listed_and_all_are_counted(client: Client, draft: Draft) -> None:
    store_text(draft, "moments", "moments.csv", MOMENTS + "film-1,9,8,Backwards.,60\n" * 250)
    findings = checked(client, draft)
    assert (len(findings["problems"]), findings["more"]) == (100, 150)


def test_a_change_asks_for_another_check(client: Client, draft: Draft) -> None:
    checked(client, draft)
    client.post(reverse("draft-queries", args=[draft.token]), {"split": "val", "pasted": ""})
    draft.refresh_from_db()
    assert (draft.findings, draft.split) == ({}, "val")
    client.post(reverse("draft-make", args=[draft.token]))
    assert not Job.objects.filter(kind="make-campaign").exists()


def test_who_lost_the_permission_makes_nothing(client: Client, draft: Draft, nora: User) -> None:
    checked(client, draft)
    client.post(reverse("draft-make", args=[draft.token]))
    let_create_no_longer(nora)
    failed = work_off()
    assert "no longer" in failed[0].error
    assert not Corpus.objects.exists()
    assert client.get(reverse("drafts")).status_code == 404


def test_a_corpus_that_is_there_is_taken_as_it_is(
    client: Client, draft: Draft, corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_ranking(monkeypatch)
    answer = client.post(reverse("draft-data", args=[draft.token]), {"corpus": corpus.pk})
    assert answer["Location"] == reverse("draft-queries", args=[draft.token])
    assert checked(client, draft)["problems"] == []
    start(client, "draft-make", draft)
    assert Campaign.objects.get().corpus == corpus


def test_grades_of_a_campaign_that_one_leads_are_reused(
    client: Client, draft: Draft, closed: Query, nora: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The step offers it once a person leads it, and the check says of how many queries it has grades."""
    without_ranking(monkeypatch)
    queries, earlier = reverse("draft-queries", args=[draft.token]), closed.campaign
    fields = {"split": "", "pasted": "", "validation": 0, "test": 0, "seed": 1}
    assert "Reuse the grades of" not in client.get(queries).content.decode()
    draft.change(corpus=earlier.corpus)
    assert "Reuse the grades of" not in client.get(queries).content.decode()
    refused = client.post(queries, fields | {"reuses": "films"})
    assert (refused.status_code, draft.reuses) == (400, None)
    lead = earlier.add_member(nora, "lead")
    assert '<option value="films">' in client.get(queries).content.decode()
    assert client.post(queries, fields | {"reuses": "films"}).status_code == 302
    findings = checked(client, draft)
    assert (draft.reuses, findings["problems"]) == (earlier, [])
    assert "Queries of which films has grades that may be reused: 1." in findings["notes"]
    start(client, "draft-make", draft)
    assert Campaign.objects.get(name="mine").reuses == earlier
    Draft.objects.filter(pk=draft.pk).update(campaign=None, name="other")
    Membership.objects.filter(pk=lead.pk).update(state=Membership.State.LEFT)
    problems = checked(client, draft)["problems"]
    assert "The queries: you do not lead films, whose grades are reused, over this corpus" in problems


def test_an_annotator_over_a_corpus_cannot_choose_it(
    client: Client, draft: Draft, nora: User, campaign: Campaign
) -> None:
    let_create_no_longer(nora)
    campaign.add_member(User.objects.get(pk=nora.pk), Membership.Role.ANNOTATOR)
    let_create(nora)
    answer = client.post(reverse("draft-data", args=[draft.token]), {"corpus": campaign.corpus_id})
    assert answer.status_code == 400
    draft.change(corpus=campaign.corpus)  # became one after the choice
    assert "you annotate" in checked(client, draft)["problems"][0]


@pytest.mark.parametrize("role", ["lead", "researcher"])
def test_an_annotator_over_the_corpus_does_not_come_to_see_it(
    client: Client, draft: Draft, campaign: Campaign, ada: Membership, role: str
) -> None:
    draft.change(corpus=campaign.corpus, people=[["ada", role]])
    [problem] = checked(client, draft)["problems"]
    assert problem.startswith("The people: ada: Who annotates another campaign over the same corpus")
    draft.change(people=[["ada", "annotator"]])
    assert checked(client, draft)["problems"] == []


def test_films_are_found_by_their_names_and_kept(
    client: Client, draft: Draft, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_ranking(monkeypatch)
    write_film(tmp_path / "films")
    film = (tmp_path / "films" / "media" / "film.mp4").read_bytes()
    for name, content in {"film-0.mp4": film, "film-1.mp4": b"no film", "holiday.mp4": film}.items():
        append(begin(draft, "film", name, len(content)), 0, content)
    draft.refresh_from_db()
    assert draft.media == "upload"
    notes = "\n".join(checked(client, draft)["notes"])
    assert "video film-0: its film is shorter (44.00 s) than the corpus says (60 s)" in notes
    assert "video film-1: " in notes
    assert "Videos without a film, whose clips will be missing: 1 (film-2)." in notes
    assert "Films with the name of no video: 1 (holiday)." in notes
    start(client, "draft-make", draft)
    found = {
        video.name: Path(video.corpus.media_folder) / video.media if video.media else None
        for video in Video.objects.select_related("corpus")
    }
    assert found["film-2"] is None
    assert found["film-0"]
    assert found["film-0"].read_bytes() == film


def test_films_are_added_to_a_stored_corpus_later(
    client: Client, draft: Draft, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_ranking(monkeypatch)
    checked(client, draft)
    start(client, "draft-make", draft)
    campaign, corpus = Campaign.objects.get(), Corpus.objects.get()
    make_query(campaign, "9", "A person waves.")
    batch = Batch.objects.get()
    assert batch.state == Batch.State.PREPARING
    overview = client.get(reverse("campaign", args=["mine"])).content.decode()
    assert "films missing" in overview
    assert "Judge without films" in overview
    assert "3 films are missing" in client.get(reverse("corpus", args=["own"])).content.decode()
    address = reverse("corpus-films", args=[corpus.pk])
    assert "Add the films" in client.get(client.post(address)["Location"]).content.decode()
    films = Draft.objects.unfinished().get()
    client.post(address, {"draft": films.token})
    assert "There are no films" in work_off()[0].error
    write_film(tmp_path / "films")
    film = (tmp_path / "films" / "media" / "film.mp4").read_bytes()
    for name in ("film-0.mp4", "film-1.mp4", "film-2.mp4"):
        append(begin(films, "film", name, len(film)), 0, film)
    client.post(address, {"draft": films.token})
    assert work_off() == []
    batch.refresh_from_db()
    assert batch.state == Batch.State.OPEN
    assert "films are missing" not in client.get(reverse("corpus", args=["own"])).content.decode()


@pytest.mark.parametrize(
    ("file", "fields", "message"),
    [
        ("no,such\n1,2\n", {}, "no column video, for the field video; there are: no, such"),
        ("video|start|end|description\na|1|2|Somebody waves.\n", {}, "there are: video|start|end|description"),
        (MOMENTS + "film-1,9,8,Ends before it starts.,60\n", {}, "Line 32: field "),
        (MOMENTS + "film-1,9,1e9,Ends in thirty years.,60\n", {}, "Line 32: field end: 1e+09; expected at most"),
        (MOMENTS, {"column_description": "Sentence"}, "no column Sentence"),
        (MOMENTS, {"format": "tvr"}, "Line 1: not JSON"),
        (" \n", {}, "the file is empty"),
    ],
)
def test_the_step_tells_what_is_wrong_with_a_file(
    client: Client, draft: Draft, file: str, fields: dict[str, str], message: str
) -> None:
    step = reverse("draft-data", args=[draft.token])
    for content, wrong in ((file, True), (MOMENTS, False)):
        store_text(draft, "moments", "moments.csv", content)
        form = {"corpus_name": "own", "format": "csv"} | (fields if wrong else {})
        assert client.post(step, form)["Location"] == f"{step}#found"  # it is still to be read
        work_off()
        page = client.get(step)
        words = unescape(page.content.decode())
        assert (message in words, page.context["steps"][0].done) == (wrong, not wrong)
        assert str(draft.folder) not in words
        onward = f"{step}#found" if wrong else reverse("draft-queries", args=[draft.token])
        assert client.post(step, form)["Location"] == onward
    assert not Corpus.objects.exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (MOMENTS.encode("utf-16"), "the file is in UTF-16; expected UTF-8"),
        (b"PK\x03\x04folder/", "the file is an archive"),
        (MOMENTS.encode() + b"film-1,1,2,caf\xe9,60\n", "line 32: is not UTF-8 text"),
    ],
)
def test_what_is_no_text_is_told(client: Client, draft: Draft, content: bytes, message: str) -> None:
    append(begin(draft, "moments", "odd.csv", len(content)), 0, content)
    client.get(reverse("draft-data", args=[draft.token]))
    work_off()
    page = client.get(reverse("draft-data", args=[draft.token]))
    assert message in unescape(page.content.decode())
    assert not page.context["steps"][0].done


def test_a_text_that_is_there_twice_is_one_query(client: Client, draft: Draft) -> None:
    step, texts = reverse("draft-queries", args=[draft.token]), "A man waves.\nA dog runs.\n\nA man waves.\n"
    assert client.post(step, {"pasted": texts})["Location"] != step
    client.get(step)
    work_off()
    found = client.get(step).context["read"]["found"]
    assert (found.first, found.counts) == ([["A man waves."], ["A dog runs."]], {"queries": 2, "repeated": 1})
    assert checked(client, draft)["counts"]["queries"] == 2


def test_a_csv_of_queries_is_read(client: Client, draft: Draft) -> None:
    step = reverse("draft-queries", args=[draft.token])
    store_text(draft, "queries", "queries.csv", 'query_id,query\n7,A man waves.\n8,\n9,"A dog runs, and barks."\n')
    client.get(step)
    work_off()
    found = client.get(step).context["read"]["found"]
    assert (found.first, found.counts) == ([["A man waves."], ["A dog runs, and barks."]], {"queries": 2})
    assert [problem["line"] for problem in found.problems] == [3]


def test_a_step_with_problems_leads_to_them(client: Client, draft: Draft) -> None:
    step = reverse("draft-queries", args=[draft.token])
    store_text(draft, "queries", "queries.jsonl", '{"query_id": 1}\n')
    client.get(step)
    work_off()
    assert client.post(step, {"pasted": ""})["Location"] == f"{step}#found"
    assert client.get(step).content.decode().count('id="found"') == 1


def test_columns_and_names_are_proposed(client: Client, draft: Draft) -> None:
    draft.change(format="", corpus_name="", name="")
    Corpus.objects.create(name="holidays", format="csv")
    content = MOMENTS.replace("video,start,end,description,duration", "Film;From;To;Sentence;Length").replace(",", ";")
    store_text(draft, "moments", "Holidays.csv", content)
    step = reverse("draft-data", args=[draft.token])
    client.get(step)
    work_off()
    page = client.get(step)
    form = page.context["form"]
    assert [form[f"column_{name}"].initial for name in ("video", "start", "description")] == [
        "Film",
        "From",
        "Sentence",
    ]
    assert form["corpus_name"].initial == "holidays-2"
    assert page.context["read"]["found"].counts == {"videos": 3, "moments": 30}
    assert len(page.context["read"]["found"].first) == 10
    assert not page.context["steps"][0].done  # it has no name that somebody chose
    assert client.post(step, {"corpus_name": "holidays-2"})["Location"] == reverse("draft-queries", args=[draft.token])
    settings = client.get(reverse("draft-rules", args=[draft.token]))
    assert settings.context["form"]["name"].value() == "holidays-2"
    store_text(draft, "queries", "queries.txt", "A person sits down.\n")
    assert checked(client, Draft.objects.get(pk=draft.pk))["counts"]["moments"] == 30


def test_a_preset_fills_the_rules_and_stores_nothing(client: Client, draft: Draft) -> None:
    step = reverse("draft-rules", args=[draft.token])
    for key, (name, _, values) in PRESETS.items():
        page = client.get(step, {"preset": key})
        form = page.context["form"]
        assert {field: form[field].value() for field in values} == values
        assert f'<a href="?preset={key}" aria-current="true"><strong>{name}</strong>' in page.content.decode()
    draft.refresh_from_db()
    assert draft.settings == {}


def test_numbers_of_queries_show_what_they_tell_and_take(client: Client, draft: Draft) -> None:
    page = client.get(reverse("draft-queries", args=[draft.token]))
    rows = page.context["other"].by_queries
    assert [(plan.queries, round(difference, 3)) for plan, difference in rows[:2]] == [(25, 0.084), (50, 0.058)]
    assert all(one.hours <= next.hours for (one, _), (next, _) in pairwise(rows))
    assert "data-slider" in page.content.decode()


def test_only_formats_that_have_them_ask_for_types_and_columns(client: Client, draft: Draft) -> None:
    def asked_for(content: str, **fields: str) -> set[str]:
        store_text(draft, "moments", "moments.txt", content)
        client.post(address, fields)
        work_off()
        return set(re.findall(r'name="(kind|column_video)"', client.get(address).content.decode()))

    address = reverse("draft-reading", args=[draft.token, "moments"])
    assert asked_for("3MSZA 24.3 30.4##person turn a light on.\n", kind="t", column_video="video") == set()
    assert asked_for('{"vid_name": "a", "ts": [1, 2], "desc": "Waves.", "duration": 9}\n') == {"kind"}
    assert asked_for(MOMENTS) == {"column_video"}
    draft.refresh_from_db()
    assert (draft.format, draft.kind, draft.columns) == ("", "", {})


def test_all_problems_are_a_file(client: Client, draft: Draft) -> None:
    store_text(draft, "moments", "moments.csv", MOMENTS + "=1+1,9,8,Backwards.,60\n" * 150)
    store_text(draft, "queries", "q.jsonl", '{"query_id": 1}\n')
    draft.change(name="no good")
    checked(client, draft)
    address = reverse("draft-problems", args=[draft.token])
    client.get(reverse("draft-data", args=[draft.token]))
    work_off()
    body = b"".join(client.get(address).streaming_content).decode()  # type: ignore[attr-defined]
    rows = list(csv.reader(body.splitlines()))
    assert rows[0] == ["step", "file", "line", "text", "problem"]
    assert rows[1][:4] == ["corpus", "moments.csv", "32", "'=1+1,9,8,Backwards.,60"]
    assert [row[0] for row in rows[1:]] == ["corpus"] * 150 + ["queries", "settings"]
    page = client.get(reverse("draft-create", args=[draft.token])).content.decode()
    assert f'<a href="{reverse("draft-rules", args=[draft.token])}">Rules and people</a>' in page
    assert "<code>=1+1,9,8,Backwards.,60</code>" in page


def test_what_was_found_goes_with_the_file(
    client: Client, draft: Draft, django_capture_on_commit_callbacks: Commits
) -> None:
    client.get(reverse("draft-data", args=[draft.token]))
    work_off()
    assert {each.suffix for each in draft.folder.iterdir()} == {".csv", ".txt", ".reading", ".faults"}
    with django_capture_on_commit_callbacks(execute=True):
        for upload in draft.uploads.all():
            client.post(reverse("upload-remove", args=[draft.token, upload.token]))
    assert not list(draft.folder.iterdir())


def test_the_preview_counts_the_videos_without_a_length(client: Client, draft: Draft) -> None:
    """The step is done once their films, or a file of durations, are there; nothing names options of commands."""
    without = "video,start,end,description\n" + "".join(
        f"film-{number % 3},1,2,A person sits down on chair {number}.\n" for number in range(9)
    )
    store_text(draft, "moments", "moments.csv", without)
    address, words = reverse("draft-data", args=[draft.token]), "3 videos have no length. Upload a file of durations"
    client.get(address)
    work_off()
    page = client.get(address)
    assert (words in " ".join(page.content.decode().split()), page.context["steps"][0].done) == (True, False)
    found = checked(client, draft)
    assert [problem[: len(words)] for problem in found["problems"]] == [words]
    assert "--" not in "".join(found["problems"] + found["notes"])
    start(client, "draft-store", draft)
    assert Job.objects.failed().get().error.startswith(words)
    store_text(draft, "durations", "durations.csv", "video,duration\n" + "".join(f"film-{n},60\n" for n in range(3)))
    client.get(address)
    work_off()
    assert client.get(address).context["steps"][0].done
    assert checked(client, draft)["problems"] == []


def test_a_file_that_is_read_while_the_page_asks_shows_its_columns(
    client: Client, draft: Draft, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_text(draft, "moments", "moments.csv", "A,B,C,D,E\nfilm-1,1,2,A person sits down.,60\n")
    asks = client.get(reverse("draft-data", args=[draft.token])).context["read"]["asks"]

    def working(*about: Any) -> list[Job]:
        jobs = jobs_of(*about)
        work_off()
        return jobs

    monkeypatch.setattr("lead.views.drafts.jobs_of", working)
    answer = client.get(reverse("draft-reading", args=[draft.token, "moments"]), {"asks": asks})
    assert "Columns of the file" in answer.content.decode()
    assert answer["HX-Retarget"] == "#reading"


def test_an_upload_that_is_not_whole_hinders(client: Client, draft: Draft) -> None:
    append(begin(draft, "film", "film-0.mp4", 100), 0, b"x" * 45)
    assert "film-0.mp4: 45 % has arrived" in checked(client, draft)["problems"][0]


def test_only_folders_that_the_settings_name_are_looked_into(
    client: Client, draft: Draft, tmp_path: Path, settings: Any
) -> None:
    secret, films = tmp_path / "secret", tmp_path / "films"
    for folder in (secret, films / "own"):
        folder.mkdir(parents=True)
    write_film(films / "own" / "more")
    (films / "out").symlink_to(secret)
    settings.MEDIA_FOLDERS = [str(films)]
    address, own = reverse("draft-data", args=[draft.token]), {"corpus_name": "own", "format": "csv"}
    for below in ("../secret", "own/../../secret", ".."):
        assert client.post(address, own | {"root": str(films), "below": below}).status_code == 400
    assert client.post(address, own | {"root": str(secret)}).status_code == 400
    problems = []
    for below in ("out", "nowhere"):
        client.post(address, own | {"root": str(films), "below": below})
        problems += checked(client, draft)["problems"]
    assert [each.partition(": ")[2].partition(": ")[2] for each in problems] == [
        "is not there; expected a folder below one that the setting MEDIA_FOLDERS names"
    ] * 2
    client.post(address, own | {"root": str(films), "below": "own"})
    assert checked(client, draft)["problems"] == []
    draft.refresh_from_db()
    assert draft.media_folder == str(films / "own")


def test_without_the_setting_no_folder_is_offered(client: Client, draft: Draft) -> None:
    address = reverse("draft-data", args=[draft.token])
    assert "a folder on the server" not in client.get(address).content.decode()
    assert client.post(address, {"films": "folder"}).status_code == 400


VALUES = {
    "name": "other", "padding": "1.5", "watch_first": "0.4", "batch_size": "10", "batches": "2", "tolerance": "1",
    "second_from": "2", "exam_rounds": "3", "hidden_places": "0", "check_warn": "0.25", "check_pause": "0.4",
    "hourly_rate": "12.50", "currency": "sgd", "paid_plays": "3", "paid_beyond": "60",
    "held_back_runs": "3",
}  # fmt: skip


def test_settings_are_those_of_the_settings_page(client: Client, draft: Draft) -> None:
    address, values = reverse("draft-rules", args=[draft.token]), VALUES
    page = client.get(address).content.decode()
    assert "Seconds around a moment" in page
    assert client.post(address, values | {"padding": "61"}).status_code == 400
    assert client.post(address, values | {"name": "no good"}).status_code == 400
    answer = client.post(address, values)
    assert answer["Location"] == reverse("draft-create", args=[draft.token])
    draft.refresh_from_db()
    assert (draft.name, draft.settings["padding"], draft.settings["hourly_rate"]) == ("other", 1.5, "12.50")
    again = client.get(address).content.decode()
    assert 'value="12.50"' in again
    assert 'value="SGD"' in again
    assert checked(client, draft)["problems"] == []


def test_people_have_accounts(client: Client, draft: Draft) -> None:
    User.objects.create(username="asha")
    address = reverse("draft-rules", args=[draft.token])
    for wrong in ("zoe", "asha boss", "asha\nasha", "nora", "asha lead now"):
        assert client.post(address, VALUES | {"people": wrong}).status_code == 400
    assert client.post(address, VALUES | {"people": "asha researcher\n"}).status_code == 302
    draft.refresh_from_db()
    assert draft.people == [["asha", "researcher"]]


def test_a_pasted_corpus_needs_no_script(client: Client, nora: User) -> None:
    client.post(reverse("drafts"))
    draft = Draft.objects.get(owner=nora)
    form = {"corpus_name": "own", "format": "csv", "pasted": MOMENTS.replace("description", "Sentence")}
    address = reverse("draft-data", args=[draft.token])
    assert client.post(address, form)["Location"] == f"{address}#found"
    work_off()
    assert client.get(address).context["steps"][0].done
    client.post(reverse("draft-queries", args=[draft.token]), {"pasted": "A person sits down."})
    draft.change(name="mine")
    assert checked(client, draft)["counts"] == {"moments": 30, "videos": 3, "queries": 1}


def test_a_draft_that_is_being_made_is_not_changed(client: Client, draft: Draft) -> None:
    checked(client, draft)
    client.post(reverse("draft-make", args=[draft.token]))
    for name in ("draft-data", "draft-queries", "draft-remove", "draft-check-start"):
        assert client.post(reverse(name, args=[draft.token])).status_code == 409
    assert announced(client, draft, "a.mp4", 9).status_code == 409
    upload = draft.uploads.get(purpose="queries")
    assert client.post(reverse("upload-remove", args=[draft.token, upload.token])).status_code == 409
    draft.refresh_from_db()
    assert draft.is_ready


def test_of_a_draft_that_was_changed_after_all_nothing_is_made(client: Client, draft: Draft) -> None:
    """The change came between the look at the draft and the job."""
    checked(client, draft)
    client.post(reverse("draft-make", args=[draft.token]))
    draft.change(name="other")
    failed = work_off()
    assert "Check the draft first" in failed[0].error
    assert not Campaign.objects.exists()


def test_drafts_are_ones_own(client: Client, draft: Draft, outsider: User) -> None:
    assert "mine" in client.get(reverse("campaigns")).content.decode()
    outsider.user_permissions.set(draft.owner.user_permissions.all())
    other = browser(outsider)
    assert "mine" not in other.get(reverse("campaigns")).content.decode()
    assert other.post(reverse("draft-remove", args=[draft.token])).status_code == 404


def test_the_desk_lists_what_is_missing_until_somebody_judges(
    client: Client, draft: Draft, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked(client, draft)
    start(client, "draft-make", draft)
    desk = reverse("campaign", args=["mine"])
    page = client.get(desk).content.decode()
    assert "Before the first batch is judged" in page
    assert "2 of 2 queries are ranked" in page
    assert "0 annotators have joined (2 are enough to begin)" in page
    assert "0 of 2 batches are open" in page  # there are no films
    campaign = Campaign.objects.get()
    client.post(reverse("batches-open", args=["mine"]))
    assert "2 of 2 batches are open" in client.get(desk).content.decode()
    ada, bob = (campaign.add_member(User.objects.create(username=name), "annotator") for name in ("ada", "bob"))
    assert "2 annotators have joined" in client.get(desk).content.decode()
    assert browser(bob).post(reverse("claim", args=["mine"])).status_code == 302
    assert "Before the first batch" not in client.get(desk).content.decode()
    assert ada.may_judge
