"""Clips in an S3-compatible store, and three ways in which browsers come to them; permission is asked in each."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

import boto3
import httpx
import pytest
from django.conf import settings as used
from django.contrib.auth.models import User
from django.core.exceptions import ImproperlyConfigured
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.core.management import CommandError
from django.db.models.functions import Now
from django.test import Client
from moto.server import ThreadedMotoServer
from scipy.stats import kendalltau

from campaigns.models import Membership
from config import media_store
from config.operations import doctor
from corpus.media_audit import audit_media
from corpus.models import Clip, Moment
from jobs.models import Job
from jobs.running import work_off
from judging.models import Batch
from judging.pool.clips import retry_clips
from tests.cast import browser, claim, content_of
from tests.corpus.test_media_audit import check_audit, cut_five
from tests.installation import Installation
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
    settings.STORAGES = settings.STORAGES | {"default": media_store.storage(STORE, server)}
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
    assert [number for _, number in seen(tmp_path / "copy.mp4")] == list(range(13, 45))
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
    stored: Clip, ada: Membership, byte_range: str, status: int, first: int, last: int
) -> None:
    headers = {"range": byte_range} if byte_range else {}
    answer = browser(ada).get(f"/clips/{stored.token}", headers=headers)
    assert (answer.status_code, answer["Content-Length"]) == (status, str(last + 1 - first))
    assert (content_of(answer), answer["Content-Type"]) == (CONTENT[first : last + 1], "video/mp4")
    if byte_range:
        assert answer["Content-Range"] == f"bytes {first}-{last}/256000"


def test_of_a_stored_clip_no_more_is_fetched_than_is_asked_for(
    stored: Clip, ada: Membership, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests: list[str] = []
    storage: Any = stored.file.storage
    events = storage.bucket.meta.client.meta.events
    events.register("before-send.s3", lambda request, **_: requests.append(_method_and_range(request)))
    answer = browser(ada).get(f"/clips/{stored.token}", headers={"range": "bytes=5-9"})
    assert content_of(answer) == CONTENT[5:10]
    assert requests == ["HEAD ", "GET bytes=5-9"]
    answer = browser(ada).head(f"/clips/{stored.token}")
    assert (answer.status_code, answer["Content-Length"]) == (200, "256000")
    assert requests[2:] == ["HEAD "]


@pytest.fixture
def own_server(bucket: Any, settings: Any) -> Iterator[Callable[[], ThreadedMotoServer]]:
    """Starts a server of this test's own before the same bucket, always at the same address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings.STORAGES = settings.STORAGES | {"default": media_store.storage(STORE, f"http://127.0.0.1:{port}")}
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


def test_beyond_the_end_and_of_what_is_gone_there_is_nothing(stored: Clip, ada: Membership, bucket: Any) -> None:
    answer = browser(ada).get(f"/clips/{stored.token}", headers={"range": "bytes=256000-"})
    assert (answer.status_code, answer["Content-Range"]) == (416, "bytes */256000")
    bucket.objects.all().delete()
    assert browser(ada).get(f"/clips/{stored.token}").status_code == 404


def test_a_store_that_does_not_answer_is_told(stored: Clip, ada: Membership, settings: Any) -> None:
    away = media_store.storage(STORE, "http://127.0.0.1:9")
    settings.STORAGES = settings.STORAGES | {"default": away}
    answer = browser(ada).get(f"/clips/{stored.token}")
    assert (answer.status_code, answer["Retry-After"]) == (503, "2")


def test_a_presigned_address_needs_no_cookie_and_no_more_words(
    stored: Clip, ada: Membership, settings: Any, server: str
) -> None:
    settings.MEDIA_ADDRESSES = media_store.PRESIGNED
    answer = browser(ada).get(f"/clips/{stored.token}")
    assert answer.status_code == 302
    assert answer["Cache-Control"] == "private, max-age=300"
    address = answer["Location"]
    assert urlsplit(address).path == f"/{BUCKET}/reeljudge/clips/{stored.token}.mp4"
    assert "X-Amz-Expires=600" in address
    assert "secret" not in address
    part = httpx.get(address, headers={"range": "bytes=5-9"})
    assert (part.status_code, part.content) == (206, CONTENT[5:10])
    assert part.headers["Content-Type"] == "video/mp4"
    assert address.startswith(media_store.origins(media_store.PRESIGNED, server)[0] + "/")


@pytest.mark.django_db
@pytest.mark.parametrize("where", ["folder", "store"])
def test_what_the_proxy_sends_of_a_clip_tells_nothing_about_it(
    where: str, request: pytest.FixtureRequest, tmp_path: Path, member_of: Callable[[Batch], Membership]
) -> None:
    if where == "store":
        request.getfixturevalue("bucket")
    ada = member_of(cut_telling_batch(tmp_path))
    sent = []
    for candidate in claim(ada).candidates_in_order():
        assert candidate.clip
        for headers in ({}, {"range": "bytes=0-"}):
            answer = browser(ada).get(f"/clips/{candidate.clip.token}", headers=headers)
            content = content_of(answer)
            assert answer["ETag"] == f'"{candidate.clip.token}"'
            assert "Last-Modified" not in answer
            if not headers:
                kept = {name: value for name, value in answer.items() if name.lower() not in VARYING}
                sent.append(Sent(candidate.clip.token, kept, content))
    check_sent(sent, tmp_path)


@pytest.mark.django_db
def test_what_a_store_sends_of_a_clip_does_not_tell_its_rank(
    bucket: Any, tmp_path: Path, settings: Any, member_of: Callable[[Batch], Membership]
) -> None:
    """A store tells when a clip was uploaded, whoever asks. So clips are uploaded in an order that means nothing."""
    uploaded: list[str] = []
    events = cast(Any, default_storage).bucket.meta.client.meta.events
    events.register("before-send.s3", lambda request, **_: uploaded.append(f"{request.method} {request.url}"))
    batch = cut_telling_batch(tmp_path)
    settings.MEDIA_ADDRESSES = media_store.PRESIGNED
    ada, sent, moved = member_of(batch), [], set()
    for candidate in claim(ada).candidates_in_order():
        assert candidate.clip
        answer = browser(ada).get(f"/clips/{candidate.clip.token}")
        fetched = httpx.get(answer["Location"])
        kept = {name: value for name, value in fetched.headers.items() if name not in VARYING}
        sent.append(Sent(candidate.clip.token, kept, fetched.content))
        place = urlsplit(answer["Location"])._replace(query="").geturl()
        moved.add(place.replace(candidate.clip.token, "TOKEN"))
        assert "canary" not in str(dict(answer.items()))
    check_sent(sent, tmp_path)
    assert len(moved) == 1
    ranks = dict(batch.candidates.values_list("clip__file", "rank"))
    puts = [address for address in uploaded if address.startswith("PUT ")]
    order = [ranks[address.partition("/reeljudge/")[2]] for address in puts]
    assert sorted(order) == list(range(1, 21))
    assert abs(kendalltau(order, range(20)).statistic) < UNLIKELY


# What a store says of each answer, and when an object was uploaded.
VARYING = ("date", "content-length", "last-modified", "x-amz-request-id", "x-amzn-requestid", "x-request-id")
UNLIKELY = 0.8  # of twenty in random order: once in more than a million


@pytest.fixture
def member_of() -> Callable[[Batch], Membership]:
    def make(batch: Batch) -> Membership:
        return batch.query.campaign.add_member(User.objects.create(username="ada"), "annotator")

    return make


@pytest.mark.parametrize("kind", [media_store.PROXY, media_store.PRESIGNED])
def test_permission_is_asked_before_the_store(stored: Clip, bob: Membership, settings: Any, kind: str) -> None:
    settings.MEDIA_ADDRESSES = kind
    for client, status in ((Client(), 302), (browser(bob), 404)):
        answer = client.get(f"/clips/{stored.token}")
        assert answer.status_code == status
        assert "X-Amz" not in answer.get("Location", "")


def test_nginx_is_told_where_a_local_clip_is(batch: Batch, ada: Membership, bob: Membership, settings: Any) -> None:
    settings.MEDIA_ADDRESSES = media_store.ACCEL
    clip = store_clip(claim(ada).candidates_in_order()[0].clip)
    answer = browser(ada).get(f"/clips/{clip.token}")
    assert (answer.status_code, answer.content) == (200, b"")
    assert answer["X-Accel-Redirect"] == f"/stored/clips/{clip.token}.mp4"
    assert answer["Content-Type"] == "video/mp4"
    assert "private" in answer["Cache-Control"]
    refused = browser(bob).get(f"/clips/{clip.token}")
    assert refused.status_code == 404
    assert "X-Accel-Redirect" not in refused


@pytest.mark.parametrize(
    ("kind", "place", "endpoint", "message"),
    [
        ("presigned", "", "", "MEDIA_ADDRESSES: 'presigned'; with MEDIA_STORE='' expected proxy or accel"),
        ("accel", STORE, "", f"MEDIA_ADDRESSES: 'accel'; with MEDIA_STORE='{STORE}' expected proxy or presigned"),
        ("anyhow", "", "", "MEDIA_ADDRESSES: 'anyhow'"),
        ("presigned", STORE, "", "S3_ENDPOINT_URL: none"),
    ],
)
def test_addresses_that_do_not_fit_the_store_are_refused(kind: str, place: str, endpoint: str, message: str) -> None:
    with pytest.raises(ImproperlyConfigured, match=message):
        media_store.addresses(kind, place, endpoint)


@pytest.mark.parametrize("place", ["films", "s3://", "https://films"])
def test_a_store_that_is_none_is_refused(place: str) -> None:
    with pytest.raises(ImproperlyConfigured, match=r"MEDIA_STORE: .*; expected s3://bucket or s3://bucket/prefix"):
        media_store.storage(place, "")


def test_pages_may_show_and_fetch_what_the_store_sends(tmp_path: Path) -> None:
    place = Installation(tmp_path / "home")
    place.env |= {"MEDIA_STORE": STORE, "MEDIA_ADDRESSES": "presigned", "S3_ENDPOINT_URL": "https://s3.example.org"}
    policy = (
        "from django.conf import settings; rules = settings.CONTENT_SECURITY_POLICY['DIRECTIVES'];"
        " print(rules['media-src'], rules['connect-src'])"
    )
    assert place.run("manage.py", "shell", "--no-imports", "-c", policy).count("'https://s3.example.org'") == 2
    rules = used.CONTENT_SECURITY_POLICY["DIRECTIVES"]
    assert (rules["media-src"], rules["connect-src"]) == (["'self'", "blob:"], ["'self'"])


@pytest.mark.django_db
def test_doctor_compares_the_buckets_rule_with_the_sites_names(bucket: Any, settings: Any) -> None:
    settings.MEDIA_ADDRESSES, settings.ALLOWED_HOSTS = media_store.PRESIGNED, ["judge.example.org", "other.example.org"]
    rule = {"AllowedOrigins": ["https://judge.example.org"], "AllowedMethods": ["GET"]}
    bucket.Cors().put(CORSConfiguration={"CORSRules": [rule]})
    found = [(each.level, each.words) for each in doctor.look() if each.check == "store"]
    assert found == [
        ("ok", "keeps what is written"),
        (
            "error",
            "the bucket's CORS rule does not allow GET from other.example.org; expected https://other.example.org",
        ),
    ]
    assert not list(bucket.objects.all())
