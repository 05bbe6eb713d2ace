"""A campaign's queries are drawn from its corpus's captions: distinct ones, in proportion, the same everywhere."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest
from django.db.models import QuerySet
from hypothesis import given
from hypothesis import strategies as st

from base.errors import BadValue, WrongState
from campaigns.models import Campaign
from corpus.models import Corpus, Moment, Video
from jobs.models import Job
from jobs.running import work_off
from judging.audit import own_caption_first
from judging.models import Candidate, Kind, Query
from judging.pool import selection as module
from judging.pool.selection import Counts, apportion, caption_id, select, store, training_queries
from retrieval.models import may_become_queries
from tests.terminal import printed, refused

FEW = Counts(validation=3, test=5)


def make_corpus(captions: list[tuple[str, str]], name: str = "films") -> Corpus:
    """A corpus of these captions, each with the name of its video, in the order given."""
    corpus = Corpus.objects.create(name=name, format="tvr")
    videos = {
        video: Video.objects.create(corpus=corpus, name=video, duration=10_000)
        for video in dict.fromkeys(video for video, _ in captions)
    }
    Moment.objects.bulk_create(
        Moment(video=videos[video], start=place, end=place + 5, caption=caption, description=f"{place} {caption}")
        for place, (video, caption) in enumerate(captions)
    )
    return corpus


def plain(number: int) -> list[tuple[str, str]]:
    return [(f"film_{place % 3}", f"Somebody does thing {place}.") for place in range(number)]


@pytest.mark.both_databases
@pytest.mark.django_db
def test_a_seed_draws_the_same_queries_on_every_database() -> None:
    drawn = select(make_corpus(plain(40)), FEW, seed=7)
    numbers = [[text.split()[-1] for text in split] for split in (drawn.validation, drawn.test)]
    assert numbers == DRAWN
    assert (drawn.captions, drawn.training) == (40, 32)
    assert drawn.sha256[:16] == CHECKSUM


DRAWN = [["33.", "14.", "39."], ["32.", "5.", "10.", "7.", "1."]]
CHECKSUM = "f57b26ef8ad6b3d4"


@pytest.mark.django_db
def test_neither_the_order_of_the_corpus_nor_another_caption_changes_much() -> None:
    captions = plain(60)
    first = select(make_corpus(captions), FEW, seed=1)
    Random(3).shuffle(captions)
    assert select(make_corpus(captions, "shuffled"), FEW, seed=1).record == first.record
    more = select(make_corpus([*captions, ("film_0", "Somebody else comes.")], "more"), FEW, seed=1)
    for before, after in ((first.validation, more.validation), (first.test, more.test)):
        assert len(set(before) - set(after)) <= 1
    other = select(make_corpus(captions, "other"), FEW, seed=2)
    assert other.validation != first.validation


@pytest.mark.django_db
def test_identical_captions_are_one_query_and_stay_out_of_training() -> None:
    corpus = make_corpus([*plain(4), ("film_1", "He  sits."), ("film_2", "He sits."), ("film_0", "He sits.")])
    assert Moment.objects.count() == 7
    drawn = select(corpus, Counts(2, 3), seed=1)
    assert (drawn.captions, len({*drawn.validation, *drawn.test}), drawn.training) == (5, 5, 0)
    campaign = Campaign.objects.create(name="films", corpus=corpus)
    assert store(campaign, drawn) == 5
    assert training_queries(campaign) == []


@pytest.mark.django_db
def test_what_is_left_is_for_training_in_the_order_of_the_moments() -> None:
    corpus = make_corpus(plain(10))
    campaign = Campaign.objects.create(name="films", corpus=corpus)
    store(campaign, drawn := select(corpus, FEW, seed=1))
    left = training_queries(campaign)
    ordered = [f"Somebody does thing {place}." for rest in range(3) for place in range(rest, 10, 3)]
    assert left == [text for text in ordered if text not in {*drawn.validation, *drawn.test}]
    own = Query.objects.create(campaign=campaign, query_id="own", text=left[0])
    Query.objects.filter(pk=own.pk).update(withdrawn="2026-01-01T00:00:00Z", withdrawn_for="query")
    Query.objects.create(campaign=campaign, query_id="copy", text=left[1], kind=Kind.EXAM)
    assert training_queries(campaign) == left[1:]


@given(total=st.integers(0, 300), sizes=st.lists(st.integers(0, 100), max_size=8))
def test_shares_are_whole_and_within_one_of_the_exact_ones(total: int, sizes: list[int]) -> None:
    total = min(total, sum(sizes))
    parts = apportion(total, sizes)
    assert sum(parts) == total
    for part, size in zip(parts, sizes, strict=True):
        assert part <= size
        assert abs(part - total * size / max(1, sum(sizes))) < 1


@pytest.mark.django_db
def test_strata_give_as_large_a_share_as_they_have() -> None:
    shows = {"friends_s01": 40, "house_s07": 20, "s04e21": 20}
    corpus = make_corpus([(f"{show}_{n % 4}", f"{show} {n}") for show, count in shows.items() for n in range(count)])
    drawn = select(corpus, Counts(4, 16), seed=5, by=["show"])
    assert [tuple(each) for each in drawn.strata] == [
        ("friends", 40, 2, 8), ("house", 20, 1, 4), ("s", 20, 1, 4)
    ]  # fmt: skip
    assert sum(text.startswith("friends") for text in drawn.test) == 8
    assert [each.training for each in drawn.strata] == [30, 15, 15]


@pytest.mark.django_db
def test_strata_by_length_and_show_together() -> None:
    corpus = make_corpus([("42", "One two."), ("42", "One two three four five six."), ("house", "Word " * 21)])
    names = [each.name for each in select(corpus, Counts(1, 2), seed=1, by=["show", "length", "show"]).strata]
    assert names == ["house, over 20 words", "no letters, 1-5 words", "no letters, 6-10 words"]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("counts", "seed", "by", "message"),
    [
        (Counts(-1, 2), 1, [], "validation: -1; expected a number of queries, 0 or more"),
        (Counts(0, 0), 1, [], "validation and test: 0 queries; expected 1 to 10"),
        (Counts(4, 7), 1, [], "validation and test: 11 queries; expected 1 to 10: so many distinct captions"),
        (Counts(1, 1), -1, [], "seed: -1; expected 0 to"),
        (Counts(1, 1), 2**63, [], "seed: 9223372036854775808; expected 0 to"),
        (Counts(1, 1), 1, ["video"], "strata: video; expected show or length"),
    ],
)
def test_what_cannot_be_drawn_is_refused(counts: Counts, seed: int, by: list[str], message: str) -> None:
    with pytest.raises(BadValue) as fault:
        select(make_corpus(plain(10)), counts, seed, by)
    assert str(fault.value).startswith(message)


@pytest.mark.django_db
def test_only_captions_that_may_become_queries_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = make_corpus(plain(10))

    def verified(corpus: Corpus) -> QuerySet[Moment]:
        return may_become_queries(corpus).filter(video__name="film_0")

    monkeypatch.setattr(module, "may_become_queries", verified)
    drawn = select(corpus, Counts(1, 1), seed=1)
    assert drawn.captions == 4
    campaign = Campaign.objects.create(name="films", corpus=corpus)
    store(campaign, drawn)
    assert len(training_queries(campaign)) == 2


@pytest.mark.django_db
def test_storing_twice_adds_nothing_and_another_selection_is_refused() -> None:
    corpus = make_corpus(plain(20))
    campaign = Campaign.objects.create(name="films", corpus=corpus)
    drawn = select(corpus, FEW, seed=1)
    assert (store(campaign, drawn), store(campaign, drawn)) == (8, 0)
    campaign.refresh_from_db()
    assert campaign.selection == drawn.record
    with pytest.raises(WrongState, match="has a selection with seed 1 already"):
        store(campaign, select(corpus, FEW, seed=2))
    assert campaign.queries.count() == 8


@pytest.mark.django_db
def test_a_query_of_ones_own_with_the_same_words_is_the_same_query() -> None:
    corpus = make_corpus(plain(8))
    campaign = Campaign.objects.create(name="films", corpus=corpus)
    own = Query.objects.create(campaign=campaign, query_id="own", text="Somebody does thing 1.")
    assert store(campaign, select(corpus, FEW, seed=1)) == 7
    own.refresh_from_db()
    assert own.aliases == [caption_id("Somebody does thing 1.")]
    assert own.split in ("val", "test")


@pytest.mark.any_database
@pytest.mark.both_databases
@pytest.mark.django_db
def test_the_command_draws_and_every_query_keeps_its_own_moment(tmp_path: Path) -> None:
    make_corpus([*plain(12), *[("film_2", "somebody DOES thing 3.")] * 6, *[("film_1", "Somebody does thing 3.")] * 3])
    (tmp_path / "own.json").write_text(json.dumps([{"query_id": 1, "query": "A dog barks."}]))
    output = printed(
        *("create_campaign", "films", "--corpus", "films", "--queries", tmp_path / "own.json", "--split", "own"),
        *("--select", "--validation", 3, "--test", 8, "--seed", 4, "--strata", "show"),
    )
    assert "films: 3 queries for validation and 8 for the test, drawn from 13 distinct captions with seed 4" in output
    assert "2 captions are left for training." in output
    assert "  film: 13 captions, 3 for validation, 8 for the test" in output
    assert "films: 1 queries added, 0 merged" in output
    Campaign.objects.update(batch_size=3, batches=1)
    work_off()
    queries = list(Query.objects.all())
    splits = [query.split for query in queries]
    assert (splits.count("val"), splits.count("test"), splits.count("own")) == (3, 8, 1)
    for query in queries:
        own = Moment.objects.filter(caption=query.text)
        first = Candidate.objects.filter(query=query).order_by("rank")[: min(3, own.count())]
        assert [(each.similarity, each.moment.caption) for each in first] == [(1.0, query.text)] * len(first)
    assert "ok     Every drawn query has its own caption first" in printed("audit", "films")
    drawn = next(query for query in queries if query.split == "val")
    Candidate.objects.filter(query=drawn, rank=1).update(similarity=0.98)
    [found] = own_caption_first(Campaign.objects.get())
    assert found == f"query {drawn.query_id} has a first candidate of similarity 0.98, not its own caption"


@pytest.mark.django_db
def test_the_command_refuses_in_one_message_and_stores_nothing(tmp_path: Path) -> None:
    make_corpus(plain(5))
    command = ("create_campaign", "films", "--corpus", "films")
    assert refused(*command) == "which queries? Expected --queries FILE, --select, or both"
    assert refused(*command, "--seed", 3).startswith("--seed: belongs to a selection; expected --select")
    assert refused(*command, "--select").startswith("validation and test: 3,281 queries; expected 1 to 5")
    (tmp_path / "own.json").write_text("[{}]")
    few = ("--select", "--validation", 1, "--test", 1)
    assert "no query was stored" in refused(*command, *few, "--queries", tmp_path / "own.json")
    assert not Campaign.objects.exists()
    assert not Job.objects.exists()


@pytest.mark.django_db
def test_half_a_thousand_and_2781_of_a_real_corpus(shared: Path) -> None:
    lines = (shared / "tvr" / "tvr_val_release.jsonl").read_text().splitlines()
    records = [record for record in map(json.loads, lines) if record["type"] == "v"]
    corpus = make_corpus([(record["vid_name"], record["desc"].strip()) for record in records])
    drawn = select(corpus, Counts(), seed=1, by=["show", "length"])
    assert (len(drawn.validation), len(drawn.test)) == (500, 2781)
    assert drawn.captions == len({" ".join(record["desc"].split()) for record in records})
    assert len({*drawn.validation, *drawn.test}) == 3281
