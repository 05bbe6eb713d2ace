"""Clips in an S3-compatible store, and what browsers get of them."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import boto3
import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ImproperlyConfigured
from django.core.files.base import ContentFile
from django.core.management import CommandError
from django.db.models.functions import Now
from moto.server import ThreadedMotoServer

from campaigns.models import Membership
from config import environment
from corpus.media_audit import audit_media
from corpus.models import Clip, Moment
from jobs.models import Job
from jobs.running import work_off
from judging.models import Batch
from judging.pool.clips import retry_clips
from tests.cast import browser, claim, clip_addresses, content_of
from tests.corpus.test_media_audit import check_audit, cut_five
from tests.numbered import draw_film, seen
from tests.telling import Sent, check_sent, cut_telling_batch
from tests.terminal import printed

BUCKET = "films"
STORE = f"s3://{BUCKET}/reeljudge"
CONTENT = bytes(range(256)) * 1000


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """An S3 store of its own, spoken to over HTTP; returns its address."""
    running = ThreadedMotoServer(port=0, verbose=False)
    running.start()
    host, port = running.get_host_and_port()
    yield f"http://{host}:{port}"
    running.stop()


@pytest.fixture
def bucket(server: str, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The bucket in which this installation keeps its clips."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    settings.STORAGES = settings.STORAGES | {"default": environment.storage(STORE, server)}
    bucket = boto3.resource("s3", endpoint_url=server).Bucket(BUCKET)
    bucket.create()
    yield bucket
    bucket.objects.all().delete()
    bucket.delete()


@pytest.fixture
def stored(bucket: Any, batch: Batch, ada: Membership) -> Clip:
    return store_clip(claim(ada).candidates_in_order()[0].clip)


def store_clip(clip: Clip | None) -> Clip:
    assert clip
    clip.state = Clip.State.READY
    clip.file.save(f"clips/{clip.token}.mp4", content=ContentFile(CONTENT))
    return clip


def test_clips_are_cut_into_the_store(bucket: Any, batch: Batch, tmp_path: Path, settings: Any) -> None:
    draw_film(tmp_path / "secret-video-0.mp4", 100)
    video = Moment.objects.order_by("pk").first().video  # type: ignore[union-attr]
    video.corpus.media_folder, video.media = str(tmp_path), "secret-video-0.mp4"
    video.corpus.save()
    video.save()
    assert retry_clips([batch]) == (10, 1)
    work_off(StringIO())
    clip = Clip.objects.get(state=Clip.State.READY)  # the film ends before the others begin
    assert [each.key for each in bucket.objects.all()] == [f"reeljudge/clips/{clip.token}.mp4"]
    stored = bucket.Object(f"reeljudge/{clip.file.name}")
    assert stored.content_type == "video/mp4"
    (tmp_path / "copy.mp4").write_bytes(stored.get()["Body"].read())
    assert [number for _, number in seen(tmp_path / "copy.mp4")] == list(range(12, 45))
    assert not Path(settings.MEDIA_ROOT).exists()


@pytest.mark.parametrize(
    ("byte_range", "status", "first", "last"),
    [
        ("", 200, 0, 255_999),
        ("bytes=0-", 206, 0, 255_999),
        ("bytes=100000-100009", 206, 100_000, 100_009),
        ("bytes=-7", 206, 255_993, 255_999),
        ("bytes=255999-300000", 206, 255_999, 255_999),
    ],
)
def test_a_stored_clip_is_read_whole_or_in_part(
    stored: Clip, leo: Membership, byte_range: str, status: int, first: int, last: int
) -> None:
    headers = {"range": byte_range} if byte_range else {}
    answer = browser(leo).get(f"/clips/{stored.token}", headers=headers)
    assert (answer.status_code, answer["Content-Length"]) == (status, str(last + 1 - first))
    assert (content_of(answer), answer["Content-Type"]) == (CONTENT[first : last + 1], "video/mp4")
    if byte_range:
        assert answer["Content-Range"] == f"bytes {first}-{last}/256000"


def test_of_a_stored_clip_no_more_is_fetched_than_is_asked_for(
    stored: Clip, leo: Membership, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests: list[str] = []
    storage: Any = stored.file.storage
    events = storage.bucket.meta.client.meta.events
    events.register("before-send.s3", lambda request, **_: requests.append(_method_and_range(request)))
    answer = browser(leo).get(f"/clips/{stored.token}", headers={"range": "bytes=5-9"})
    assert content_of(answer) == CONTENT[5:10]
    assert requests == ["HEAD ", "GET bytes=5-9"]
    answer = browser(leo).head(f"/clips/{stored.token}")
    assert (answer.status_code, answer["Content-Length"]) == (200, "256000")
    assert requests[2:] == ["HEAD "]


@pytest.fixture
def own_server(bucket: Any, settings: Any) -> Iterator[Callable[[], ThreadedMotoServer]]:
    """Starts a server of this test's own before the same bucket, always at the same address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings.STORAGES = settings.STORAGES | {"default": environment.storage(STORE, f"http://127.0.0.1:{port}")}
    started: list[ThreadedMotoServer] = []

    def start() -> ThreadedMotoServer:
        started.append(ThreadedMotoServer(port=port, verbose=False))
        started[-1].start()
        return started[-1]

    yield start
    for each in started:
        each.stop()


def test_a_store_that_is_away_for_a_while_postpones_cutting(
    own_server: Callable[[], ThreadedMotoServer], bucket: Any, batch: Batch, tmp_path: Path
) -> None:
    """More often than a job has attempts; the clips come when the store is back, and it holds nothing else."""
    running = own_server()
    cut_five(batch, tmp_path)
    Batch.objects.update(state=Batch.State.PREPARING)
    Clip.objects.update(state=Clip.State.WAITING, file="")
    bucket.objects.all().delete()
    running.stop()
    retry_clips(Batch.objects.select_related("query__campaign"))
    for attempt in range(1, 5):
        assert len(work_off(StringIO())) == 1
        job = Job.objects.get()
        assert (job.state, job.attempts, job.waits) == (Job.State.WAITING, 0, attempt)
        assert job.error.startswith("the media store does not answer, or has no room: Could not connect")
        Job.objects.update(due=Now())
    assert set(Clip.objects.filter(video__media="film.mp4").values_list("state", "error")) == {("waiting", "")}
    with pytest.raises(CommandError, match="the media store does not answer") as refusal:
        printed("audit", "--media")
    assert refusal.value.returncode == 2
    own_server()
    assert work_off(StringIO()) == []
    assert len(list(bucket.objects.all())) == 5
    assert list(audit_media(checksums=True)) == []
    batch.refresh_from_db()
    assert batch.state == Batch.State.OPEN


def test_of_a_store_everything_is_found_and_cut_again(
    bucket: Any, batch: Batch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("corpus.media_audit.FILES_AT_A_TIME", 3)
    check_audit(cut_five(batch, tmp_path))


def _method_and_range(request: Any) -> str:
    byte_range = request.headers.get("Range", b"")
    return f"{request.method} {byte_range.decode() if isinstance(byte_range, bytes) else byte_range}"


def test_beyond_the_end_and_of_what_is_gone_there_is_nothing(stored: Clip, leo: Membership, bucket: Any) -> None:
    answer = browser(leo).get(f"/clips/{stored.token}", headers={"range": "bytes=256000-"})
    assert (answer.status_code, answer["Content-Range"]) == (416, "bytes */256000")
    bucket.objects.all().delete()
    assert browser(leo).get(f"/clips/{stored.token}").status_code == 404


def test_a_store_that_does_not_answer_is_told(stored: Clip, leo: Membership, settings: Any) -> None:
    away = environment.storage(STORE, "http://127.0.0.1:9")
    settings.STORAGES = settings.STORAGES | {"default": away}
    answer = browser(leo).get(f"/clips/{stored.token}")
    assert (answer.status_code, answer["Retry-After"]) == (503, "2")


@pytest.mark.django_db
@pytest.mark.parametrize("where", ["folder", "store"])
def test_what_the_proxy_sends_of_a_clip_tells_nothing_about_it(
    where: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    if where == "store":
        request.getfixturevalue("bucket")
    ada = cut_telling_batch(tmp_path).query.campaign.add_member(User.objects.create(username="ada"), "annotator")
    sent = []
    for address in clip_addresses(claim(ada)):
        key = address.rpartition("/")[2]
        for headers in ({}, {"range": "bytes=0-"}):
            answer = browser(ada).get(address, headers=headers)
            content = content_of(answer)
            assert answer["ETag"] == f'"{key}"'
            assert "Last-Modified" not in answer
            if not headers:
                kept = {name: value for name, value in answer.items() if name.lower() not in VARYING}
                sent.append(Sent(key, kept, content))
    check_sent(sent, tmp_path)
    assert len({len(each.content) for each in sent}) > len(sent) / 2  # so that headers could tell them apart


VARYING = ("date", "content-length", "x-request-id")


@pytest.mark.parametrize("place", ["films", "s3://", "https://films"])
def test_a_store_that_is_none_is_refused(place: str) -> None:
    with pytest.raises(ImproperlyConfigured, match=r"MEDIA_STORE: .*; expected s3://bucket or s3://bucket/prefix"):
        environment.storage(place, "")
