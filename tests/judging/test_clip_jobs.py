"""A batch's clips are cut ahead by a job; without those that cannot be cut it waits for the lead's word."""

from __future__ import annotations

import json
import os
import socket
from io import StringIO
from pathlib import Path
from typing import Any

import av
import pytest
from django.contrib.auth.models import User
from django.core.files.storage import default_storage
from scipy.stats import kendalltau

from campaigns.models import Campaign, Event
from corpus.clips import cutter, make, widened
from corpus.errors import CorpusError
from corpus.models import Clip, Corpus, Moment, Video
from corpus.stored_files import TIME_OF_ALL_FILES
from jobs.models import Job
from jobs.running import run, work_off
from judging.audit import audit
from judging.models import Batch, Candidate
from judging.pool.clips import cut_clips
from judging.pool.opening import open_without_clips
from judging.settings import set_up
from tests.cast import browser, claim, clip_addresses, content_of, make_query
from tests.jobs.test_jobs import take
from tests.lead.test_campaign_settings import SENT
from tests.numbered import draw_film, seen
from tests.telling import cut_telling_batch
from tests.terminal import printed


@pytest.fixture
def media(tmp_path: Path) -> Path:
    """A folder of a film, a text that claims to be one, and nothing of a third."""
    folder = tmp_path / "films"
    folder.mkdir()
    draw_film(folder / "good.mp4", 30)
    (folder / "bad.mp4").write_text("This is no film. " * 100)
    return folder


def open_batch(tmp_path: Path, *options: object, **how: Any) -> Batch:
    """A batch over five moments, of which the second lies behind the film's end."""
    stretches = [("good", 0, 1), ("good", 7, 8), ("bad", 0, 1), ("gone", 0, 1), ("good", 2, 3)]
    lines = [
        {"vid_name": video, "ts": [start, end], "duration": 9, "desc": f"{video} {start}"}
        for video, start, end in stretches
    ]
    file = tmp_path / "moments.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)))
    printed("import_corpus", "films", file, "--format", "tvr", *options)
    campaign = Campaign.objects.create(name="films", corpus=Corpus.objects.get(), **how)
    make_query(campaign, "1", "A person sits down.")
    return Batch.objects.get()


def clips() -> dict[str, Clip]:
    return {f"{clip.video.name} {clip.start:g}": clip for clip in Clip.objects.select_related("video")}


@pytest.mark.django_db
def test_a_batch_whose_clips_cannot_all_be_cut_waits_for_the_lead(tmp_path: Path, media: Path) -> None:
    batch = open_batch(tmp_path, "--media", media)
    assert batch.state == Batch.State.PREPARING
    [job] = work_off(StringIO())
    batch.refresh_from_db()
    assert (batch.state, job.state) == (Batch.State.PREPARING, Job.State.FAILED)
    assert not any(audit(batch.query.campaign).values())  # the lead knows of it
    made = clips()
    assert {name: clip.state for name, clip in made.items()} == {
        "good 0": "ready",
        "good 2": "ready",
        "good 7": "failed",
        "bad 0": "failed",
        "gone 0": "missing",
    }
    assert made["good 7"].error == "no frame lies in this stretch of the video"
    assert made["bad 0"].error.startswith("bad.mp4: cannot be decoded")
    expected = "2 clips cut, 1 missing, 2 failed: "
    assert job.message.startswith(expected)
    assert job.message.endswith((made["bad 0"].error, made["good 7"].error))
    assert job.error == f"{job.message}. Try again, or open the batch without these clips"
    ready = made["good 2"]
    assert ready.file.name == f"clips/{ready.token}.mp4"
    assert [number for _, number in seen(Path(default_storage.path(ready.file.name)))] == list(range(20, 30))
    assert len(default_storage.listdir("clips")[1]) == 2


@pytest.mark.django_db
def test_a_batch_opens_when_its_clips_are_there(tmp_path: Path, media: Path) -> None:
    """What no media were imported for is no clip to wait for."""
    batch = open_batch(tmp_path, "--media", media)
    Candidate.objects.filter(clip__in=[clips()["good 7"], clips()["bad 0"]]).delete()
    assert work_off(StringIO()) == []
    batch.refresh_from_db()
    assert batch.state == Batch.State.OPEN
    assert Job.objects.get().message == "2 clips cut, 1 missing"


@pytest.mark.django_db
def test_the_lead_opens_a_batch_without_clips_and_it_is_noted(tmp_path: Path, media: Path) -> None:
    batch = open_batch(tmp_path, "--media", media)
    lead = batch.query.campaign.add_member(User.objects.create(username="leo"), "lead")
    work_off(StringIO())
    assert [open_without_clips(lead, batch), open_without_clips(lead, batch)] == [True, False]
    batch.refresh_from_db()
    assert batch.state == Batch.State.OPEN
    noted = lead.events.get(kind=Event.Kind.OPENED)
    assert (noted.by, noted.reason) == (lead, "batch 1 of query 1, without 2 of 5 clips")
    assert not any(audit(batch.query.campaign).values())


@pytest.mark.django_db
def test_cutting_again_leaves_what_is_ready(tmp_path: Path, media: Path) -> None:
    batch = open_batch(tmp_path, "--media", media)
    work_off(StringIO())
    before = list(Clip.objects.order_by("pk").values())
    cut_clips.ask(batch)
    work_off(StringIO())
    assert list(Clip.objects.order_by("pk").values()) == before
    assert len(default_storage.listdir("clips")[1]) == 2


@pytest.mark.django_db
def test_a_worker_without_the_films_leaves_the_job_to_others_and_says_so_once(
    tmp_path: Path, media: Path, caplog: pytest.LogCaptureFixture
) -> None:
    batch = open_batch(tmp_path, "--media", media)
    other = make_query(batch.query.campaign, "2", "A person stands up.").batches.get()
    (media / "good.mp4").rename(tmp_path / "good.mp4")
    for _ in range(2):
        run(take("wanda:1"))
    assert Job.objects.take("wanda:2") is None
    here = f"{media} on {socket.gethostname()}"
    assert caplog.messages == [f"films are missing in {here}; jobs that need them are left to other machines"]
    assert {job.error for job in Job.objects.all()} == {f"good: its media are not in {here}"}
    assert {each.state for each in Batch.objects.all()} == {Batch.State.PREPARING}
    assert clips()["good 0"].state == Clip.State.WAITING
    (tmp_path / "good.mp4").rename(media / "good.mp4")  # willy's machine has it
    for _ in range(2):
        run(take("willy:1"))
    assert clips()["good 0"].state == clips()["good 2"].state == Clip.State.READY
    assert clips()["good 7"].state == Clip.State.FAILED
    assert not any(job.is_delayed for job in cut_clips.jobs(other))


@pytest.mark.django_db
def test_without_media_a_batch_opens_at_once(tmp_path: Path) -> None:
    batch = open_batch(tmp_path)
    assert batch.state == Batch.State.OPEN
    assert {clip.state for clip in clips().values()} == {Clip.State.MISSING}
    assert not Job.objects.exists()


@pytest.mark.django_db
def test_a_campaign_that_waits_for_films_opens_no_batch_without_clips(tmp_path: Path) -> None:
    """Until the lead decides so; later batches open at once then."""
    batch = open_batch(tmp_path, opens_without_films=False)
    assert batch.state == Batch.State.PREPARING
    assert not Job.objects.exists()
    lead = batch.query.campaign.add_member(User.objects.create(username="leo"), "lead")
    assert (open_without_clips(lead), open_without_clips(lead)) == (1, 0)
    batch.refresh_from_db()
    assert batch.state == Batch.State.OPEN
    assert "without 5 of 5 clips" in lead.events.get().reason
    assert make_query(Campaign.objects.get(), "2", "A person stands up.").batches.get().state == Batch.State.OPEN


@pytest.mark.django_db
def test_a_batch_waits_for_the_films_that_are_missing(tmp_path: Path, media: Path) -> None:
    """The clips of the other films are cut, and the job does not fail."""
    for name in ("good", "bad"):
        (media / f"{name}.mp4").unlink()
        draw_film(media / f"{name}.mp4", 90)
    batch = open_batch(tmp_path, "--media", media, opens_without_films=False)
    assert work_off(StringIO()) == []
    batch.refresh_from_db()
    assert (batch.state, clips()["gone 0"].state) == (Batch.State.PREPARING, Clip.State.MISSING)
    assert not Job.objects.failed().exists()


@pytest.mark.django_db
def test_two_queries_share_the_clip_of_a_moment(tmp_path: Path, media: Path) -> None:
    batch = open_batch(tmp_path, "--media", media)
    Candidate.objects.filter(clip__in=[clips()["good 7"], clips()["bad 0"]]).delete()
    assert work_off(StringIO()) == []
    Moment.objects.filter(candidates__isnull=True).delete()
    again = make_query(batch.query.campaign, "2", "A person stands up.").batches.get()
    assert (again.state, Clip.objects.count(), Job.objects.unfinished().count()) == (Batch.State.OPEN, 5, 0)


@pytest.mark.django_db
def test_clips_are_asked_for_again_when_their_media_are_back(tmp_path: Path, media: Path) -> None:
    batch = open_batch(tmp_path, "--media", media)
    gone = media.rename(tmp_path / "elsewhere")
    assert work_off(StringIO())
    assert work_off(StringIO()) == []  # the next attempt is later
    gone.rename(media)
    campaign = batch.query.campaign.name
    assert printed("retry_clips", campaign) == "4 clips of 1 batches are asked for again\n"
    work_off(StringIO())
    assert Clip.objects.filter(state=Clip.State.READY).count() == 2
    assert printed("retry_clips", campaign) == "2 clips of 1 batches are asked for again\n"
    Clip.objects.filter(state=Clip.State.WAITING).update(state=Clip.State.READY)
    assert printed("retry_clips") == "0 clips of 1 batches are asked for again\n"
    assert Batch.objects.get(pk=batch.pk).state == Batch.State.OPEN
    assert printed("retry_clips") == "0 clips of 0 batches are asked for again\n"


@pytest.mark.django_db
def test_a_film_that_never_answers_fails_its_clip_and_no_other(
    tmp_path: Path, media: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor does the job's lease run out meanwhile: nobody else takes it over."""
    (media / "bad.mp4").unlink()
    os.mkfifo(media / "bad.mp4")
    settings.CUTTING_SECONDS, settings.JOB_LEASE = 5, 3
    monkeypatch.setattr("base.confinement.SECONDS_BETWEEN_HEARTBEATS", 0.5)
    open_batch(tmp_path, "--media", media)
    job = take("wanda")
    others: list[Job | None] = []
    run(job, lambda job: others.append(Job.objects.take("otto")))
    job.refresh_from_db()
    assert (job.state, job.attempts, job.message[:11]) == (Job.State.FAILED, 1, "2 clips cut")
    assert len(others) > 4
    assert set(others) == {None}
    assert clips()["bad 0"].state == Clip.State.FAILED
    assert clips()["bad 0"].error == "bad.mp4: cutting took more than 5 seconds"


@pytest.mark.parametrize(
    ("start", "end", "padding", "stretch"),
    [(3, 5, 0, (3, 5)), (3, 5, 1.5, (1.5, 6.5)), (1, 9, 2, (0, 10)), (8, 12, 1, (7, 12)), (0, 10, 60, (0, 10))],
)
def test_padding_widens_a_moment_inside_its_video(
    start: float, end: float, padding: float, stretch: tuple[float, float]
) -> None:
    moment = Moment(video=Video(name="film", duration=10), start=start, end=end)
    assert widened(moment, padding) == stretch


@pytest.mark.django_db
def test_a_campaign_chooses_padding_and_sound(tmp_path: Path, media: Path) -> None:
    draw_film(media / "good.mp4", 30, sound=True)
    batch = open_batch(tmp_path, "--media", media, padding=0.5, sound=True)
    work_off(StringIO())
    stretches = {(clip.start, clip.end, clip.sound) for clip in clips().values()}
    assert stretches == {(0, 1.5, True), (1.5, 3.5, True), (6.5, 8.5, True)}
    ready = clips()["good 1.5"]
    assert [number for _, number in seen(Path(ready.file.path))] == list(range(15, 30))
    with av.open(ready.file.path) as clip:
        assert [stream.type for stream in clip.streams] == ["video", "audio"]
    plain = Campaign.objects.create(name="plain", corpus=batch.query.campaign.corpus)
    make_query(plain, "1", "A person sits down.")
    work_off(StringIO())
    assert Clip.objects.count() == 10  # other clips: neither wide nor heard
    assert Clip.objects.filter(sound=False, start=2, end=3, state=Clip.State.READY).exists()


def ready_clips(batch: Batch) -> list[Clip]:
    return list(Clip.objects.filter(candidates__batch=batch, state=Clip.State.READY).distinct())


@pytest.mark.django_db
def test_padding_that_changes_while_clips_are_cut_holds_for_that_batch_too(
    tmp_path: Path, media: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = open_batch(tmp_path, "--media", media)
    lead = batch.query.campaign.add_member(User.objects.create(username="leo"), "lead")
    made: list[Clip] = []

    def make_slowly(clip: Clip, *rest: Any) -> None:
        make(clip, *rest)
        made.append(clip)
        if len(made) == 1:
            assert set_up(lead, SENT | {"padding": "0.5", "order_seed": "3"}).is_valid()

    monkeypatch.setattr("judging.pool.clips.make", make_slowly)
    assert len(work_off(StringIO())) == 1
    assert {(clip.start, clip.end) for clip in ready_clips(batch)} == {(0, 1.5), (1.5, 3.5)}
    assert not Clip.objects.filter(candidates__batch=batch, state=Clip.State.WAITING).exists()


@pytest.mark.django_db
def test_who_read_the_campaign_before_its_padding_changed_prepares_the_clips_of_now(
    tmp_path: Path, media: Path
) -> None:
    """As the ranking does, which opens batches for minutes."""
    early = open_batch(tmp_path, "--media", media).query.campaign
    Campaign.objects.update(padding=0.5)
    late = make_query(early, "2", "A person stands up.").batches.get()
    assert early.padding == 0
    assert (0, 1.5) in late.candidates.values_list("clip__start", "clip__end")


@pytest.mark.django_db
@pytest.mark.parametrize("late", ["fails", "is done"])
def test_a_late_cutter_changes_nothing_about_a_ready_clip(
    tmp_path: Path, media: Path, monkeypatch: pytest.MonkeyPatch, late: str
) -> None:
    """Its lease has run out, another worker has cut the clip meanwhile, and it does not know."""
    open_batch(tmp_path, "--media", media)
    clip = clips()["good 2"]
    with cutter() as tool:
        cut = tool.cut

        def cut_late(*arguments: Any) -> None:
            monkeypatch.setattr(tool, "cut", cut)
            make(Clip.objects.get(pk=clip.pk), tool)
            if late == "fails":
                raise CorpusError("this worker's disk is full")
            cut(*arguments)

        monkeypatch.setattr(tool, "cut", cut_late)
        make(clip, tool)
    stored = Clip.objects.get(pk=clip.pk)
    assert (clip.state, clip.error, clip.file.name) == (stored.state, stored.error, stored.file.name)
    assert (stored.state, stored.error) == (Clip.State.READY, "")
    assert default_storage.listdir("clips")[1] == [Path(stored.file.name or "").name]
    assert [number for _, number in seen(Path(stored.file.path))] == list(range(20, 30))


@pytest.mark.django_db
def test_clips_are_cut_in_no_order_and_their_files_have_one_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When a clip was cut must not tell its rank: several servers tell an annotator's browser the time of a file."""
    order: list[int] = []

    def note(clip: Clip, *rest: Any) -> None:
        order.append(clip.candidates.get().rank)
        make(clip, *rest)

    monkeypatch.setattr("judging.pool.clips.make", note)
    batch = cut_telling_batch(tmp_path)
    assert sorted(order) == list(range(1, 21))
    assert abs(kendalltau(order, range(20)).statistic) < 0.8  # it is more once in a million times
    assert {Path(clip.file.path).stat().st_mtime for clip in ready_clips(batch)} == {TIME_OF_ALL_FILES}


@pytest.mark.django_db
def test_two_campaigns_share_neither_the_address_nor_the_file_of_a_clip(tmp_path: Path, media: Path) -> None:
    first = open_batch(tmp_path, "--media", media)
    corpus = first.query.campaign.corpus
    other = make_query(Campaign.objects.create(name="other", corpus=corpus), "1", "A person sits down.")
    work_off(StringIO())
    Batch.objects.update(state=Batch.State.OPEN)
    ready = [{(clip.start, clip.end): clip for clip in ready_clips(batch)} for batch in (first, other.batches.get())]
    assert ready[0].keys() == ready[1].keys()
    for stretch, clip in ready[0].items():
        twin = ready[1][stretch]
        assert clip.token != twin.token
        assert clip.file.name != twin.file.name
    ada = other.campaign.add_member(User.objects.create(username="ada"), "annotator")
    for address in filter(None, clip_addresses(claim(ada))):
        answer = browser(ada).get(address)
        assert (answer.status_code, bool(content_of(answer))) == (200, True)
    for clip in (*ready[0].values(), *ready[1].values()):
        assert browser(ada).get(f"/clips/{clip.token}").status_code == 404
