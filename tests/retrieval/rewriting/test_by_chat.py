"""The chat endpoint is asked as the settings say, and every kind of bad answer is survived and counted."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from retrieval.rewriting.by_chat import (
    TRIES,
    UNUSABLE_IN_A_ROW,
    ChatSubstituter,
    Endpoint,
    EndpointAway,
    EndpointRefuses,
)
from retrieval.rewriting.checks import Proposal
from tests import chat_endpoint as stub
from tests.chat_endpoint import KEY, ChatEndpoint

DESCRIPTIONS = [f"Olga lifts box number {number}." for number in range(8)]
CAPTIONS = [f"A woman lifts box number {number}." for number in range(8)]


@pytest.fixture
def endpoint() -> Iterator[ChatEndpoint]:
    with stub.chat_endpoint(lambda text: text.replace("Olga", "A woman")) as made:
        yield made


@pytest.fixture
def waited() -> list[float]:
    return []


@pytest.fixture
def chat(endpoint: ChatEndpoint, waited: list[float]) -> ChatSubstituter:
    return ChatSubstituter(Endpoint(endpoint.address, "model-1", KEY, timeout=20, wait=waited.append))


def propose(chat: ChatSubstituter, attempt: int = 1) -> list[str]:
    return [proposal.after for proposal in proposals(chat, attempt)]


def proposals(chat: ChatSubstituter, attempt: int = 1) -> list[Proposal]:
    return [each for answer in chat.propose(DESCRIPTIONS, attempt, lambda: None) for each in answer]


def test_one_request_holds_several_descriptions(chat: ChatSubstituter, endpoint: ChatEndpoint) -> None:
    assert propose(chat) == CAPTIONS
    [body] = endpoint.bodies
    assert (body["model"], body["temperature"]) == ("model-1", 0.0)
    assert [each["description"] for each in json.loads(body["messages"][1]["content"])] == DESCRIPTIONS
    assert endpoint.keys == [f"Bearer {KEY}"]
    assert vars(chat.endpoint.usage) == {
        "requests": 1, "retries": 0, "input_tokens": 100, "output_tokens": 20
    }  # fmt: skip


def test_the_second_attempt_is_a_little_warmer(chat: ChatSubstituter, endpoint: ChatEndpoint) -> None:
    propose(chat, attempt=2)
    assert endpoint.temperatures == [0.2]


def test_what_was_replaced_is_told(chat: ChatSubstituter) -> None:
    assert proposals(chat)[0].replaced == [("Olga", "A woman")]


@pytest.mark.parametrize("code", [408, 429, 500, 502, 503])
def test_a_busy_endpoint_is_asked_again_after_a_while(
    chat: ChatSubstituter, endpoint: ChatEndpoint, waited: list[float], code: int
) -> None:
    endpoint.faults = [stub.status(code), stub.status(code)]
    assert propose(chat) == CAPTIONS
    assert waited == [1.0, 2.0]
    assert (chat.endpoint.usage.requests, chat.endpoint.usage.retries) == (3, 2)


def test_it_is_asked_when_it_says(chat: ChatSubstituter, endpoint: ChatEndpoint, waited: list[float]) -> None:
    endpoint.faults = [stub.status(429, Retry_After="7"), stub.status(429, Retry_After="soon")]
    assert propose(chat) == CAPTIONS
    assert waited == [7.0, 2.0]


def test_a_connection_that_breaks_is_made_again(chat: ChatSubstituter, endpoint: ChatEndpoint) -> None:
    endpoint.faults = [stub.hang_up, stub.broken_off]
    assert propose(chat) == CAPTIONS
    assert chat.endpoint.usage.retries == 2


def test_an_answer_that_does_not_come_is_asked_for_again(endpoint: ChatEndpoint, waited: list[float]) -> None:
    endpoint.faults = [stub.silence]
    chat = ChatSubstituter(Endpoint(endpoint.address, "m", timeout=2, wait=waited.append))
    assert propose(chat) == CAPTIONS
    assert waited[0] == 1.0


def test_an_endpoint_that_stays_away_is_told_apart(chat: ChatSubstituter, endpoint: ChatEndpoint) -> None:
    endpoint.faults = [stub.status(503)] * TRIES
    with pytest.raises(EndpointAway, match=rf"status 503: .*, {TRIES} times"):
        propose(chat)
    assert len(endpoint.bodies) == TRIES


def test_nobody_listens() -> None:
    nowhere = Endpoint("http://127.0.0.1:9", "m", wait=lambda seconds: None)
    with pytest.raises(EndpointAway, match="ConnectError"):
        propose(ChatSubstituter(nowhere))


@pytest.mark.parametrize("code", [400, 401, 403, 404, 302])
def test_a_refusal_ends_at_once_and_never_tells_the_key(
    chat: ChatSubstituter, endpoint: ChatEndpoint, code: int
) -> None:
    endpoint.faults = [stub.status(code, Location="http://127.0.0.1:9/")]
    with pytest.raises(EndpointRefuses, match=f"status {code}") as fault:
        propose(chat)
    assert len(endpoint.bodies) == 1
    assert KEY not in str(fault.value) + repr(chat.endpoint)


@pytest.mark.parametrize("key", [f"{KEY}\r", f"{KEY} ", f"{KEY[:4]}\n{KEY[4:]}", f"{KEY}’"])
def test_a_key_that_cannot_be_sent_is_never_told(endpoint: ChatEndpoint, key: str) -> None:
    chat = ChatSubstituter(Endpoint(endpoint.address, "m", key, wait=lambda seconds: None))
    with pytest.raises(EndpointRefuses, match=r"^CHAT_URL or CHAT_KEY: \w+$"):
        propose(chat)
    assert endpoint.bodies == []


@pytest.mark.parametrize("address", ["127.0.0.1:9/v1", "ftp://127.0.0.1/v1", "http://a:b", "http://\0"])
def test_an_address_that_is_none_is_told(address: str) -> None:
    with pytest.raises(EndpointRefuses, match="CHAT_URL or CHAT_KEY"):
        propose(ChatSubstituter(Endpoint(address, "m", wait=lambda seconds: None)))


@pytest.mark.parametrize("fault", [stub.status(404), stub.status(503), stub.saying("?")])
def test_a_password_in_the_address_is_never_told(endpoint: ChatEndpoint, fault: stub.Fault) -> None:
    endpoint.faults = [fault] * 1000
    address = endpoint.address.replace("http://", f"http://reeljudge:{KEY}@")
    with pytest.raises((EndpointAway, EndpointRefuses), match=r"CHAT_URL 127\.0\.0\.1: ") as error:
        propose_until_it_is_given_up(ChatSubstituter(Endpoint(address, "m", wait=lambda seconds: None)))
    assert KEY not in str(error.value)


def test_an_answer_that_cannot_be_unpacked_is_refused(chat: ChatSubstituter, endpoint: ChatEndpoint) -> None:
    endpoint.faults = [stub.status(200, Content_Encoding="gzip")]
    with pytest.raises(EndpointRefuses, match="DecodingError"):
        propose(chat)


@pytest.mark.parametrize(
    "fault",
    [
        stub.one_too_few,
        stub.cut_off,
        stub.wrong_numbers,
        stub.saying("Certainly! Here are your captions."),
        stub.saying('{"captions": "none"}'),
        stub.saying('{"captions": [1, 2]}'),
        stub.saying("[" * 100_000),
        stub.body(b"<html>rubbish</html>"),
        stub.body(b"\xff\xfe\x00"),
        stub.body(b'{"choices": []}'),
        stub.body(b'{"choices": [{"message": {"content": null}}]}'),
        stub.body(b"[]"),
        stub.body(b" " * (5 * 2**20)),
    ],
)
def test_an_answer_of_no_use_is_asked_for_in_halves(
    chat: ChatSubstituter, endpoint: ChatEndpoint, fault: stub.Fault
) -> None:
    endpoint.faults = [fault]
    assert propose(chat) == CAPTIONS
    assert [len(json.loads(each["messages"][1]["content"])) for each in endpoint.bodies] == [8, 4, 4]
    assert chat.endpoint.usage.retries == 2


def test_json_in_a_fence_is_read(chat: ChatSubstituter, endpoint: ChatEndpoint) -> None:
    endpoint.faults = [stub.in_a_fence]
    assert propose(chat) == CAPTIONS
    assert len(endpoint.bodies) == 1


def test_captions_that_are_too_long_are_no_proposals(chat: ChatSubstituter, endpoint: ChatEndpoint) -> None:
    endpoint.faults = [stub.far_too_long]
    found = proposals(chat)
    assert [proposal.after for proposal in found] == [""] * 8
    assert "too long" in found[0].why


def test_rubbish_about_one_description_costs_that_one_only(chat: ChatSubstituter, endpoint: ChatEndpoint) -> None:
    rubbish = stub.saying("?")
    endpoint.faults = [rubbish, rubbish, rubbish, rubbish]  # 8, 4, 2, and the first alone
    found = proposals(chat)
    assert [proposal.after for proposal in found] == ["", *CAPTIONS[1:]]
    assert "of no use: not JSON" in found[0].why


def test_an_endpoint_that_only_talks_rubbish_is_given_up(chat: ChatSubstituter, endpoint: ChatEndpoint) -> None:
    endpoint.faults = [stub.saying("?")] * 1000
    with pytest.raises(EndpointRefuses, match=f"{UNUSABLE_IN_A_ROW} answers in a row are of no use"):
        propose_until_it_is_given_up(chat)


def propose_until_it_is_given_up(chat: ChatSubstituter) -> None:
    for _ in range(10):
        propose(chat)


def test_tokens_are_estimated_if_the_endpoint_does_not_count_them(
    chat: ChatSubstituter, endpoint: ChatEndpoint
) -> None:
    endpoint.faults = [lambda each, inputs: stub.completion(json.dumps({"captions": each.captions(inputs)}), "?")]
    propose(chat)
    assert chat.endpoint.usage.input_tokens > 200
    assert chat.endpoint.usage.output_tokens > 50
