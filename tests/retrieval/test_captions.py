"""A corpus is encoded in parts and ranked block by block, and what comes out is bit for bit that of all at once."""

from __future__ import annotations

from io import StringIO
from typing import Any

import numpy as np
import pytest

from corpus.models import Corpus, Moment, Video
from jobs.models import Job
from jobs.running import run, work_off
from retrieval import captions, embedding
from retrieval.captions import (
    CaptionRow,
    encode_captions,
    nearest_in,
    nearest_moments,
    nothing,
    packed,
    ranges,
    rows_in,
    with_packed,
)
from retrieval.embedding import Vectors, embed, lacking
from retrieval.models import Vector
from retrieval.nearest import nearest_distinct

pytestmark = pytest.mark.django_db
WORDS = ("sits", "stands", "waves", "drinks", "opens the door", "lifts a box", "runs")


def silent(done: int, total: int, message: str = "") -> None:
    pass


@pytest.fixture
def corpus(db: None) -> Corpus:
    """Forty moments of two videos: equal captions, stretches with two descriptions, and an order unlike that of ids."""
    made = Corpus.objects.create(name="films", format="tvr")
    videos = [Video.objects.create(corpus=made, name=name, duration=500) for name in ("film b", "film a")]
    for number in range(40):
        start = 10.0 * (number * 7 % 20)
        Moment.objects.create(
            video=videos[number % 2],
            start=start,
            end=start + 5,
            description=f"description {number}",
            caption=f"Person {number % 3} {WORDS[number % 7]}.",
        )
    return made


@pytest.mark.parametrize(("size", "depth"), [(3, 5), (7, 40), (40, 5), (1, 1)])
def test_blocks_change_nothing(corpus: Corpus, monkeypatch: pytest.MonkeyPatch, size: int, depth: int) -> None:
    rows = rows_in(corpus, 1, 2**60)
    ids = sorted({row.id for row in rows})
    assert len(ids) < len(rows)
    queries = embed(["He sits down.", "She waves.", "Somebody opens a door.", "Person 1 runs."])
    labels = np.array([ids.index(row.id) for row in rows])
    wanted = nearest_distinct(queries, embed([row.caption for row in rows]), labels, depth)
    monkeypatch.setattr(captions, "CAPTIONS_OF_A_BLOCK", size)
    in_parts = nothing(len(queries))
    for span in reversed(ranges(corpus, size)):
        in_parts = with_packed(in_parts, packed(nearest_in(corpus, *span, queries, depth, silent)), depth)
    for found in (nearest_moments(corpus, queries, depth, silent), in_parts):
        assert found.nearest.similarities.tobytes() == wanted.similarities.tobytes()
        for ours, theirs in zip(found.nearest.indices, wanted.indices, strict=True):
            assert [found.rows[place] for place in ours] == [rows[place] for place in theirs]


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(captions, "CAPTIONS_OF_A_PART", 8)


def test_captions_are_encoded_in_parts_once(corpus: Corpus, small_parts: None, monkeypatch: pytest.MonkeyPatch) -> None:
    encoded: list[str] = []
    encode = embedding.encode

    def noted(model: Any, texts: list[str]) -> Vectors:
        encoded.extend(texts)
        return encode(model, texts)

    monkeypatch.setattr(embedding, "encode", noted)
    seen: list[CaptionRow] = []
    encode_captions(corpus, silent, seen.extend)
    assert sorted(seen) == rows_in(corpus, 1, 2**60)
    assert sorted(encoded) == sorted({*Moment.objects.values_list("caption", flat=True)})
    assert Job.objects.filter(kind="encode-some-captions", state=Job.State.DONE, is_part=True).count() == 5
    encode_captions(corpus, silent)
    assert len(encoded) == Vector.objects.count()


def test_another_campaign_finds_the_parts_that_are_left(corpus: Corpus, small_parts: None) -> None:
    """As when the worker of the first was killed: its parts are there, and the second does them."""

    class Killed(BaseException):
        pass

    def report(done: int, total: int, message: str = "") -> None:
        if message.startswith("encoding captions: 2"):
            raise Killed

    with pytest.raises(Killed):
        encode_captions(corpus, report)
    parts = Job.objects.filter(is_part=True)
    assert parts.filter(state=Job.State.DONE).count() == 2
    encode_captions(corpus, silent)
    assert not lacking([*Moment.objects.values_list("caption", flat=True)])
    assert parts.count() == 5
    assert work_off(StringIO()) == []  # those of which other parts had all captions
    assert set(parts.values_list("state", "attempts")) == {(Job.State.DONE, 1)}


def test_a_part_of_a_corpus_that_is_gone_is_done(corpus: Corpus) -> None:
    captions.encode_some.ask(corpus, "key", model="m", first=1, last=9)
    corpus.delete()
    job = Job.objects.take("wanda")
    assert job
    run(job)
    job.refresh_from_db()
    assert job.state == Job.State.DONE
