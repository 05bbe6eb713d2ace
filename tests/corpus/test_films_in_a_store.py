"""Films below a prefix of an S3-compatible store: found, measured, fetched to be cut, and what is wrong is told."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto.server import ThreadedMotoServer

from config import environment
from corpus.clips import FOR_CORPUS_PAGE, clips_of, cutter, make
from corpus.errors import CorpusError, FilmAway
from corpus.films import media_at
from corpus.models import Clip, Corpus, Moment
from drafts.sources import allowed_folder
from tests.films import SECONDS, write_film
from tests.terminal import printed, refused

PREFIX = "s3://given/own/films"


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    running = ThreadedMotoServer(port=0, verbose=False)
    running.start()
    host, port = running.get_host_and_port()
    yield f"http://{host}:{port}"
    running.stop()


@pytest.fixture
def bucket(server: str, settings: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """A bucket with one film, beside which lie other things."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    settings.S3_ENDPOINT_URL, settings.S3_CLIENT = server, environment.client(server)
    made = boto3.resource("s3", endpoint_url=server).Bucket("given")
    made.create()
    write_film(tmp_path / "drawn")
    made.upload_file(str(tmp_path / "drawn" / "media" / "film.mp4"), "own/films/season/film-1.mp4")
    made.put_object(Key="own/films/readme.txt", Body=b"none")
    made.put_object(Key="own/filmsets/film-2.mp4", Body=b"of somebody else")
    yield made
    made.objects.all().delete()
    made.delete()


@pytest.fixture
def moments(tmp_path: Path) -> Path:
    rows = [{"video": f"film-{n}", "start": 1, "end": 3, "description": f"She sits {n}."} for n in (1, 1)]
    (file := tmp_path / "moments.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


@pytest.mark.django_db
def test_a_corpus_is_imported_measured_and_cut_from_a_store(bucket: Any, moments: Path) -> None:
    output = printed("import_corpus", "remote", moments, "--format", "jsonl", "--media", PREFIX)
    assert "videos with media: 1" in output
    corpus = Corpus.objects.get(name="remote")
    video = corpus.videos.get()
    assert (corpus.media_folder, video.media) == (PREFIX, "season/film-1.mp4")
    assert video.duration == pytest.approx(SECONDS, abs=0.1)
    moment = Moment.objects.select_related("video__corpus").get()
    clip = clips_of([moment], FOR_CORPUS_PAGE)[moment.pk]
    signs: list[None] = []
    with cutter() as tool:
        make(clip, tool, lambda: signs.append(None))
        assert clip.state == Clip.State.READY
        assert signs  # the lease was renewed while the film was fetched
        bucket.objects.all().delete()
        other = clips_of([moment], "others")[moment.pk]
        make(other, tool)
    assert other.state == Clip.State.FAILED
    assert f"{PREFIX}/season/film-1.mp4: the store refuses it (NoSuchKey)" in other.error


@pytest.mark.django_db
def test_a_store_that_is_away_leaves_the_clip_to_be_cut_later(bucket: Any, moments: Path, settings: Any) -> None:
    printed("import_corpus", "remote", moments, "--format", "jsonl", "--media", PREFIX)
    moment = Moment.objects.select_related("video__corpus").get()
    clip = clips_of([moment], FOR_CORPUS_PAGE)[moment.pk]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        settings.S3_ENDPOINT_URL = f"http://127.0.0.1:{free.getsockname()[1]}"
    with cutter() as tool, pytest.raises(FilmAway, match="cannot be reached from this machine"):
        make(clip, tool)
    clip.refresh_from_db()
    assert clip.is_waiting


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("prefix", "message"),
    [
        ("s3://", "names no bucket; expected s3://BUCKET/PREFIX"),
        ("s3://nobodys/films", "the store refuses it (NoSuchBucket)"),
        ("s3://given/nowhere", "s3://given/nowhere: no videos"),
        ("s3://given/own/film", "s3://given/own/film: no videos"),
    ],
)
def test_a_wrong_prefix_is_told(bucket: Any, moments: Path, prefix: str, message: str) -> None:
    assert message in refused("import_corpus", "remote", moments, "--format", "jsonl", "--media", prefix)
    assert not Corpus.everything.exists()


def test_a_lead_names_prefixes_below_those_of_the_setting(settings: Any) -> None:
    settings.MEDIA_FOLDERS = ["/srv/films", "s3://given/own/"]
    assert allowed_folder("s3://given/own/films/") == "s3://given/own/films/"
    for other in ("s3://given/owner", "s3://given", "s3://others/own", "/s3://given/own", "s3:/given/own"):
        with pytest.raises(CorpusError, match="the setting MEDIA_FOLDERS names"):
            allowed_folder(other)


def test_names_at_any_depth_are_found_once(bucket: Any) -> None:
    bucket.put_object(Key="own/films/a/film-1.webm", Body=b"another of the same name")
    assert media_at(f"{PREFIX}/").index == {"film-1": "a/film-1.webm"}
