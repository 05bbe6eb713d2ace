"""A corpus is reworded: every description is verified or waits for a lead, none is lost, nothing is asked for twice."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from corpus.models import Corpus, Moment, Video
from retrieval.models import CastName, Rewording, Substitution, may_become_queries
from retrieval.rewriting.by_cast import CastSubstituter
from retrieval.rewriting.by_chat import ChatSubstituter, Endpoint, EndpointAway, EndpointRefuses
from retrieval.rewriting.cast import Cast, Entry, Lexicon
from retrieval.rewriting.cast_file import draft
from retrieval.rewriting.substituting import carry_out, cast_of
from tests import chat_endpoint as stub
from tests.chat_endpoint import ChatEndpoint
from tests.remembered import remembered

pytestmark = pytest.mark.django_db
State = Rewording.State
TEXTS = [
    "Olga opens the door and walks in.",
    "Olga opens the door and walks in.",  # two moments, one description
    "Karel lifts a brown box from the floor.",
    "A dog sleeps on the sofa.",
    "Olga and Karel shake hands.",
    "He points at Zora.",  # whom the cast list does not know
]
CAST = [Entry("Olga", "woman"), Entry("Karel", "man")]


@pytest.fixture
@remembered
def films(db: None) -> Corpus:
    return corpus_of(TEXTS)


def corpus_of(texts: list[str]) -> Corpus:
    corpus = Corpus.objects.create(name="with names", format="tvr")
    video = Video.objects.create(corpus=corpus, name="v", duration=10_000)
    Moment.objects.bulk_create(
        Moment(video=video, start=number, end=number + 1, description=text, caption=text)
        for number, text in enumerate(texts)
    )
    return corpus


def confirm(corpus: Corpus, entries: list[Entry] = CAST) -> None:
    for entry in entries:
        CastName.objects.create(corpus=corpus, name=entry.name, phrase=entry.phrase, confirmed=True)


@pytest.fixture
def endpoint() -> Iterator[ChatEndpoint]:
    def reword(text: str) -> str:
        return text.replace("Olga", "a woman").replace("Karel", "a man").replace("Zora", "a girl")

    with stub.chat_endpoint(reword) as made:
        yield made


class Reports:
    """What a job would be told."""

    def __init__(self) -> None:
        self.all: list[tuple[int, int, str]] = []

    def __call__(self, done: int, total: int, message: str = "") -> None:
        self.all.append((done, total, message))


def by_cast(corpus: Corpus) -> Reports:
    reports = Reports()
    carry_out(Substitution.objects.create(corpus=corpus, by="cast"), reports)
    return reports


def order_by_chat(corpus: Corpus, **more: Any) -> Substitution:
    prices = {"input_price": 2.0, "output_price": 8.0}
    return Substitution.objects.create(corpus=corpus, by="chat", model="model-1", **prices, **more)


def chat(endpoint: ChatEndpoint, at_a_time: int = 2, timeout: float = 60) -> ChatSubstituter:
    made = ChatSubstituter(Endpoint(endpoint.address, "model-1", timeout=timeout, wait=lambda seconds: None))
    made.at_a_time = at_a_time
    return made


def states(corpus: Corpus) -> dict[str, str]:
    return dict(Rewording.objects.filter(corpus=corpus).values_list("before", "state"))


def captions(corpus: Corpus) -> list[str]:
    moments = Moment.objects.filter(video__corpus=corpus).order_by("start")
    return list(moments.values_list("caption", flat=True))


def nothing_unverified_is_a_caption(corpus: Corpus) -> None:
    for moment in Moment.objects.filter(video__corpus=corpus):
        row = Rewording.objects.get(corpus=corpus, before=moment.description)
        settled = row.state in (State.VERIFIED, State.ACCEPTED)
        assert moment.caption == (row.after if settled else row.before)


def test_a_cast_list_makes_captions(films: Corpus) -> None:
    confirm(films)
    reports = by_cast(films)
    assert captions(films) == [
        *["A woman opens the door and walks in."] * 2,
        "A man lifts a brown box from the floor.",
        "A dog sleeps on the sofa.",
        "A woman and a man shake hands.",
        "He points at Zora.",
    ]
    waits = Rewording.objects.queued().get()
    assert (waits.before, waits.attempts) == ("He points at Zora.", 1)
    assert waits.why == "It may still name a person: Zora."
    assert Rewording.objects.settled().count() == 4
    assert reports.all[-1] == (5, 5, "rewording: 5 of 5 descriptions")
    order = Substitution.objects.get()
    assert order.ended
    assert (order.descriptions, order.requests, order.cost) == (5, 0, 0)


def test_a_caption_that_means_something_else_waits(films: Corpus) -> None:
    confirm(films, [Entry("Olga", "rocket engine with twelve nozzles in the orbit of the outer planets"), CAST[1]])
    by_cast(films)
    waits = Rewording.objects.get(before=TEXTS[0])
    assert waits.state == State.QUEUED
    assert waits.similarity is not None
    assert waits.similarity < 0.4
    assert waits.why == f"Its similarity to the description is {waits.similarity:.2f}; expected at least 0.4."
    nothing_unverified_is_a_caption(films)


@pytest.mark.any_database
@pytest.mark.both_databases
def test_doing_it_again_changes_nothing(films: Corpus) -> None:
    confirm(films)
    by_cast(films)
    before = list(Rewording.objects.order_by("pk").values("pk", "after", "state", "substitution"))
    by_cast(films)
    assert list(Rewording.objects.order_by("pk").values("pk", "after", "state", "substitution")) == before
    assert Substitution.objects.latest("pk").descriptions == 0


@pytest.mark.any_database
@pytest.mark.both_databases
def test_a_longer_cast_list_renews_what_the_shorter_one_made(films: Corpus) -> None:
    confirm(films)
    by_cast(films)
    CastName.objects.create(corpus=films, name="Zora", phrase="girl", confirmed=True)
    CastName.objects.filter(name="Karel").update(phrase="old man")
    by_cast(films)
    assert captions(films)[2:] == [
        "An old man lifts a brown box from the floor.",
        "A dog sleeps on the sofa.",
        "A woman and an old man shake hands.",
        "He points at a girl.",
    ]
    assert not Rewording.objects.queued().exists()


def test_a_name_that_leaves_the_cast_list_leaves_no_caption(films: Corpus) -> None:
    confirm(films)
    by_cast(films)
    CastName.objects.filter(name="Karel").delete()
    by_cast(films)
    assert states(films)[TEXTS[2]] == State.QUEUED
    assert captions(films)[2] == TEXTS[2]
    nothing_unverified_is_a_caption(films)


def test_captions_that_the_corpus_gave_are_left_alone(films: Corpus) -> None:
    confirm(films)
    Moment.objects.filter(description=TEXTS[2]).update(caption="somebody works")
    by_cast(films)
    assert captions(films)[2] == "somebody works"
    assert TEXTS[2] not in states(films)


@pytest.mark.any_database
@pytest.mark.both_databases
def test_moments_that_come_later_get_the_captions_that_are_known(films: Corpus) -> None:
    confirm(films)
    by_cast(films)
    video = Video.objects.get()
    for start, text in ((500, TEXTS[0]), (600, "Karel waves.")):
        Moment.objects.create(video=video, start=start, end=start + 1, description=text, caption=text)
    by_cast(films)
    assert captions(films)[-2:] == ["A woman opens the door and walks in.", "A man waves."]


def test_an_empty_cast_list_is_refused(films: Corpus) -> None:
    with pytest.raises(Exception, match="no confirmed names"):
        by_cast(films)
    assert not Rewording.objects.exists()


def test_the_endpoint_makes_captions_and_their_cost_is_counted(films: Corpus, endpoint: ChatEndpoint) -> None:
    order, reports = order_by_chat(films), Reports()
    carry_out(order, reports, chat(endpoint))
    assert set(states(films).values()) == {State.VERIFIED}
    order.refresh_from_db()
    assert (order.requests, order.retries, order.input_tokens, order.output_tokens) == (3, 0, 300, 60)
    assert order.cost == pytest.approx((300 * 2 + 60 * 8) / 1e6)
    assert reports.all[-1][2] == "rewording: 5 of 5 descriptions, cost so far 0.0011"
    nothing_unverified_is_a_caption(films)


def test_what_fails_once_is_asked_for_again_and_what_fails_twice_waits(films: Corpus, endpoint: ChatEndpoint) -> None:
    endpoint.faults = [stub.names_left_in, stub.off_the_subject]
    carry_out(order_by_chat(films), Reports(), chat(endpoint))
    assert endpoint.temperatures == [0.0] * 3 + [0.2] * 2
    assert set(states(films).values()) == {State.VERIFIED}
    assert set(Rewording.objects.values_list("attempts", flat=True)) == {1, 2}

    Rewording.objects.all().delete()
    Moment.objects.update(caption=TEXTS[0], description=TEXTS[0])
    endpoint.faults = [stub.off_the_subject, stub.names_left_in]
    carry_out(order_by_chat(films), Reports(), chat(endpoint))
    waits = Rewording.objects.get()
    assert (waits.state, waits.attempts) == (State.QUEUED, 2)
    assert "may still name a person: Olga" in waits.why


def test_an_endpoint_that_goes_away_loses_nothing(films: Corpus, endpoint: ChatEndpoint) -> None:
    order = order_by_chat(films)
    endpoint.faults = [endpoint_well, *[stub.status(503)] * 6]
    with pytest.raises(EndpointAway):
        carry_out(order, Reports(), chat(endpoint))
    assert sorted(states(films).values()) == [State.OPEN] * 3 + [State.VERIFIED] * 2
    order.refresh_from_db()
    assert (order.requests, order.retries, order.ended) == (7, 5, None)
    endpoint.bodies.clear()
    carry_out(order, Reports(), chat(endpoint))
    assert len(endpoint.bodies) == 2  # for the three that were left
    assert set(states(films).values()) == {State.VERIFIED}
    order.refresh_from_db()
    assert (order.requests, order.descriptions) == (9, 5)


def test_each_answer_is_stored_as_it_comes(films: Corpus, endpoint: ChatEndpoint) -> None:
    """An answer of no use is asked for in halves; the endpoint goes away between them."""
    order = order_by_chat(films)
    endpoint.faults = [stub.saying("?"), endpoint_well, *[stub.status(503)] * 6]
    with pytest.raises(EndpointAway):
        carry_out(order, Reports(), chat(endpoint, 4))
    assert sorted(states(films).values()) == [State.OPEN] * 3 + [State.PROPOSED] * 2
    endpoint.bodies.clear()
    carry_out(order, Reports(), chat(endpoint, 4))
    assert len(endpoint.bodies) == 1
    assert set(states(films).values()) == {State.VERIFIED}


def endpoint_well(endpoint: ChatEndpoint, inputs: list[dict[str, Any]]) -> stub.Answer:
    return endpoint.well(inputs)


def test_answers_of_a_worker_that_died_are_checked_and_not_asked_for_again(
    films: Corpus, endpoint: ChatEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Died(BaseException):
        pass

    def die(*_: object) -> None:
        raise Died

    order = order_by_chat(films)
    with monkeypatch.context() as patch:
        patch.setattr("retrieval.rewriting.substituting.check", die)
        with pytest.raises(Died):
            carry_out(order, Reports(), chat(endpoint))
    assert sorted(states(films).values()) == [State.OPEN] * 3 + [State.PROPOSED] * 2
    nothing_unverified_is_a_caption(films)
    carry_out(order, Reports(), chat(endpoint))
    assert len(endpoint.bodies) == 3
    assert set(states(films).values()) == {State.VERIFIED}


def test_the_endpoint_is_asked_only_for_what_the_cast_list_did_not_solve(films: Corpus, endpoint: ChatEndpoint) -> None:
    confirm(films)
    by_cast(films)
    carry_out(order_by_chat(films), Reports(), chat(endpoint))
    [body] = endpoint.bodies
    assert [each["description"] for each in json.loads(body["messages"][1]["content"])] == ["He points at Zora."]
    by_cast(films)  # which leaves alone what the endpoint made
    assert set(states(films).values()) == {State.VERIFIED}


@pytest.mark.any_database
@pytest.mark.both_databases
def test_captions_are_made_again_only_if_asked_for(films: Corpus, endpoint: ChatEndpoint) -> None:
    carry_out(order_by_chat(films), Reports(), chat(endpoint))
    carry_out(order_by_chat(films), Reports(), chat(endpoint))
    assert len(endpoint.bodies) == 3
    again = order_by_chat(films, again=True)
    carry_out(again, Reports(), chat(endpoint))
    assert len(endpoint.bodies) == 6
    carry_out(again, Reports(), chat(endpoint))
    assert len(endpoint.bodies) == 6


@pytest.mark.any_database
@pytest.mark.both_databases
def test_only_settled_captions_may_become_queries(films: Corpus) -> None:
    assert may_become_queries(films).count() == 6  # nobody has begun to reword them
    Moment.objects.filter(description="A dog sleeps on the sofa.").update(caption="an animal sleeps")
    confirm(films)
    by_cast(films)
    video = Video.objects.get()
    Moment.objects.create(video=video, start=900, end=901, description="Olga eats.", caption="Olga eats.")
    assert sorted(may_become_queries(films).values_list("caption", flat=True)) == [
        "A man lifts a brown box from the floor.",
        "A woman and a man shake hands.",
        *["A woman opens the door and walks in."] * 2,
        "an animal sleeps",
    ]


@pytest.fixture
def tvr(shared: Path) -> Corpus:
    """Two hundred descriptions of TVR, and a cast list that was drafted from them and taken as it is."""
    lines = (shared / "tvr" / "tvr_val_release.jsonl").read_text().splitlines()
    texts = sorted({row["desc"].strip() for row in map(json.loads, lines) if row["type"] == "v"})
    corpus = corpus_of(Random(13).sample(texts, 200))
    draft(corpus)
    CastName.objects.filter(corpus=corpus).update(confirmed=True)
    return corpus


def test_two_hundred_descriptions_of_tvr_offline(tvr: Corpus) -> None:
    by_cast(tvr)
    counts = count(tvr)
    assert sum(counts.values()) == 200
    assert set(counts) <= {State.VERIFIED, State.QUEUED}
    assert counts[State.VERIFIED] >= 190, list(Rewording.objects.queued().values_list("before", "after", "why"))
    nothing_unverified_is_a_caption(tvr)


def test_two_hundred_descriptions_of_tvr_through_an_endpoint_that_fails_in_every_way(tvr: Corpus) -> None:
    """It really rewords, by the offline rules, as far as it does not fail."""
    offline = CastSubstituter(cast_of(tvr))
    with stub.chat_endpoint(lambda text: offline.substituted(text).after) as endpoint:
        endpoint.faults = list(every_fault())
        faults = len(endpoint.faults)
        order, reports = order_by_chat(tvr), Reports()
        for _ in range(3):  # it goes away once, and refuses once
            try:
                carry_out(order, reports, chat(endpoint, 10, timeout=2))
            except (EndpointAway, EndpointRefuses):
                continue
            break
        assert not endpoint.faults
        order.refresh_from_db()
        assert order.ended
        assert order.requests == len(endpoint.bodies)
        assert order.retries >= faults - 10
        assert reports.all[-1][2].endswith(f"descriptions, cost so far {order.cost:.4f}")
        assert order.cost > 0
    counts = count(tvr)
    assert sum(counts.values()) == 200
    assert set(counts) <= {State.VERIFIED, State.QUEUED}
    assert counts[State.VERIFIED] >= 180
    nothing_unverified_is_a_caption(tvr)


def every_fault() -> Iterator[stub.Fault]:
    yield from [stub.status(429, Retry_After="1"), stub.status(500), stub.hang_up, endpoint_well]
    yield from [stub.silence, stub.broken_off, endpoint_well, stub.cut_off]
    yield from [stub.saying("Of course!"), stub.one_too_few, stub.wrong_numbers, stub.body(b"<html>")]
    yield from [stub.far_too_long, stub.names_left_in, stub.off_the_subject, stub.in_a_fence]
    yield from [stub.status(503)] * 6
    yield stub.status(401)


def count(corpus: Corpus) -> dict[str, int]:
    counts: dict[str, int] = {}
    for state in states(corpus).values():
        counts[state] = counts.get(state, 0) + 1
    return counts


def test_names_are_found_whatever_substituted(films: Corpus) -> None:
    """The cast list finds names that the corpus writes in lower case by mistake, too."""
    cast = Cast(CAST, [], Lexicon(["Olga sits."] * 60))
    assert cast.names_in("then olga and Karel's dog sit") == ["olga", "Karel"]
