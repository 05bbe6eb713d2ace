"""The substituter that asks an OpenAI-compatible chat endpoint: several descriptions in a request, answered as JSON.

The endpoint's address, key, model and prices come from the settings only.
"""

from __future__ import annotations

import json
import re
import ssl
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import httpx
from django.conf import settings

from base.errors import ReeljudgeError
from base.text import abbreviated, printable, storable
from corpus.importers.rows import LONGEST_TEXT
from jobs.errors import JobPostponed
from metrics import MeasureError
from metrics.formats.json_reader import read_json
from retrieval.rewriting.checks import Beat, Proposal, differences

TRIES = 6  # of one request, before the endpoint counts as away
FIRST_WAIT, LONGEST_WAIT = 1.0, 30.0  # seconds
LARGEST_ANSWER = 4 * 2**20  # bytes
LETTERS_OF_A_TOKEN = 4  # of English text, roughly
PICTURE_TOKENS = 300  # of a picture of 360 lines, roughly; endpoints count in different ways
Messages = list[dict[str, Any]]  # what a message holds is a text, or a list of texts and pictures
# What no second request mends: an address or a key that cannot be sent, and an answer that cannot be unpacked.
REFUSED = (
    *(httpx.InvalidURL, httpx.UnsupportedProtocol, httpx.LocalProtocolError, httpx.DecodingError),
    UnicodeEncodeError,
)
PROMPT_VERSION = 1
TEMPERATURES = (0.0, 0.2)  # of the first and of the second attempt, as in TVR-Ranking, appendix A
UNUSABLE_IN_A_ROW = 20  # answers about one description each; then the endpoint is of no use
PROMPT = """\
You edit short descriptions of moments in films so that they can be understood by a reader who knows none of the people.
Each input has a number and a description. Rewrite each description by these rules:
1. Replace every name of a person by a common noun or a pronoun that fits: a man, a woman, a doctor, someone, they.
   Guess from the name and the sentence whether the person is a man or a woman; if you cannot tell, write "a person".
   Titles that stand before a name go with it.
2. If several people do something together, say so: two men, two people, a man and a woman.
3. Refer to the same person in the same way, and let the reader tell different people apart: the man, another man.
4. Change nothing else. Keep the actions, things, colours, places and the tense. Add nothing and explain nothing.
Answer with one JSON object and nothing around it: {"captions": [{"number": 1, "caption": "..."}, ...]}.
It has exactly one entry for each input, with the input's number."""


class EndpointAway(ReeljudgeError, JobPostponed):
    """The endpoint does not answer now, or is too busy. Later it may."""


class EndpointRefuses(ReeljudgeError):
    """The endpoint refuses the requests: its settings are wrong, or it answers nothing of use."""


class Unusable(Exception):
    """One answer is not what was asked for."""


def at_prices(input_tokens: int, output_tokens: int) -> float:
    """Return what so many tokens cost at the settings' prices."""
    cost: float = input_tokens * settings.CHAT_INPUT_PRICE + output_tokens * settings.CHAT_OUTPUT_PRICE
    return cost / 1e6


@dataclass
class Usage:
    """What requests have cost since this was last set to zero."""

    requests: int = 0
    retries: int = 0
    input_tokens: int = 0
    output_tokens: int = 0


@dataclass
class Endpoint:
    """Sends messages to the endpoint, and counts what they cost.

    address: the base address, below which `/chat/completions` is.
    timeout: seconds for an answer.
    wait: a function that waits so many seconds.
    """

    address: str
    model: str
    key: str = field(default="", repr=False)
    timeout: float = 60
    wait: Callable[[float], None] = time.sleep
    usage: Usage = field(default_factory=Usage)

    @classmethod
    def from_settings(cls) -> Endpoint:
        """Return the endpoint that the settings name. Raises EndpointRefuses if they name none."""
        if not settings.CHAT_URL or not settings.CHAT_MODEL:
            raise EndpointRefuses("CHAT_URL and CHAT_MODEL: not set; expected the address of an endpoint and a model")
        return cls(settings.CHAT_URL, settings.CHAT_MODEL, settings.CHAT_KEY, settings.CHAT_TIMEOUT)

    @property
    def host(self) -> str:
        """What messages call the endpoint, because its address may hold a password."""
        return httpx.URL(self.address).host

    def take_usage(self) -> dict[str, int]:
        """Return what was asked for since the last call, and begin to count anew."""
        taken, self.usage = self.usage, Usage()
        return vars(taken)

    def ask(self, messages: Messages, temperature: float, beat: Beat) -> str:
        """Return what the model answers. A request that finds the endpoint busy is sent again after a while.

        Raises EndpointAway if it was sent six times. Raises EndpointRefuses if the endpoint says that the request is
        wrong, or the settings make none that can be sent. Raises Unusable if the answer is no chat completion.
        """
        body = {"model": self.model, "temperature": temperature, "messages": messages}
        for number in range(TRIES):
            beat()
            self.usage.requests += 1
            self.usage.retries += bool(number)
            wait = min(LONGEST_WAIT, FIRST_WAIT * 2**number)
            try:
                status, headers, content = self._post(body)
            except REFUSED as fault:  # its words may hold the key
                raise EndpointRefuses(f"CHAT_URL or CHAT_KEY: {type(fault).__name__}") from None
            except httpx.TransportError as fault:
                problem = f"{type(fault).__name__}: {fault}"
            else:
                if status == 200:
                    return self._text_of(content, messages)
                problem = f"status {status}: {printable(content[:200].decode(errors='replace'))}"
                if status not in (408, 409, 425, 429) and status < 500:
                    raise EndpointRefuses(f"CHAT_URL {self.host}: {problem}; expected a chat completion")
                wait = _retry_after(headers, wait)
            if number + 1 < TRIES:
                self._wait(wait, beat)
        raise EndpointAway(f"CHAT_URL {self.host}: {problem}, {TRIES} times")

    def _post(self, body: dict[str, Any]) -> tuple[int, httpx.Headers, bytes]:
        address = f"{self.address.rstrip('/')}/chat/completions"
        headers = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        deadline, content = time.monotonic() + self.timeout, b""
        with httpx.stream(
            "POST", address, json=body, headers=headers, timeout=self.timeout, verify=_certificates()
        ) as answer:
            for part in answer.iter_bytes():
                content += part
                if len(content) > LARGEST_ANSWER:
                    return answer.status_code, answer.headers, b""  # no completion, and not worth reading
                if time.monotonic() > deadline:
                    raise httpx.ReadTimeout(f"not whole after {self.timeout:g} s")
            return answer.status_code, answer.headers, content

    def _text_of(self, content: bytes, messages: Messages) -> str:
        try:
            answer = read_json(content)
            text = answer["choices"][0]["message"]["content"]
        except (MeasureError, LookupError, TypeError) as fault:
            self._count({}, messages, "")
            raise Unusable(f"no chat completion: {printable(content[:80].decode(errors='replace'))}") from fault
        self._count(answer.get("usage"), messages, text if isinstance(text, str) else "")
        if not isinstance(text, str):
            raise Unusable("a chat completion without a text")
        return text

    def _count(self, usage: object, messages: Messages, text: str) -> None:
        counts = usage if isinstance(usage, dict) else {}
        self.usage.input_tokens += _whole(counts.get("prompt_tokens"), tokens_of(messages))
        self.usage.output_tokens += _whole(counts.get("completion_tokens"), tokens(text))

    def _wait(self, seconds: float, beat: Beat) -> None:
        while seconds > 0:
            self.wait(min(seconds, 10))
            seconds -= 10
            beat()


@cache
def _certificates() -> ssl.SSLContext:
    """Those that this process trusts. Reading them takes 20 milliseconds, which each request would wait for."""
    return httpx.create_ssl_context()


def tokens(text: str) -> int:
    """Return roughly how many tokens a text has. What the endpoint itself counts goes before."""
    return -(-len(text) // LETTERS_OF_A_TOKEN)


def tokens_of(messages: Messages) -> int:
    """Return roughly how many tokens messages have, with their pictures."""
    contents = (message["content"] for message in messages)
    parts = (part for content in contents for part in ([content] if isinstance(content, str) else content))
    texts = (part if isinstance(part, str) else part.get("text") for part in parts)
    return sum(PICTURE_TOKENS if text is None else tokens(text) for text in texts)


def json_of(reply: str) -> object:
    """Return the JSON that an answer is, also within a fence. Raises Unusable if it is none."""
    fenced = re.fullmatch(r"\s*```(?:json)?\s*(.*?)\s*```\s*", reply, re.S)
    try:
        return read_json(fenced[1] if fenced else reply)
    except MeasureError as fault:
        raise Unusable(f"not JSON: {abbreviated(reply)}") from fault


def _whole(value: object, otherwise: int) -> int:
    usable = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**9
    return value if usable else otherwise  # type: ignore[return-value]


def _retry_after(headers: httpx.Headers, otherwise: float) -> float:
    seconds = headers.get("retry-after", "")
    return min(60.0, float(seconds)) if seconds.isascii() and seconds.isdecimal() and len(seconds) < 6 else otherwise


class ChatSubstituter:
    """Asks a model for captions. An answer that is of no use is asked for again, about half as many descriptions."""

    attempts = len(TEMPERATURES)
    at_a_time = 10

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self.made_by = f"{endpoint.model}, prompt {PROMPT_VERSION}"
        self.unusable = 0  # answers about one description, in a row

    def propose(self, descriptions: Sequence[str], attempt: int, beat: Beat) -> Iterator[list[Proposal]]:
        """Yield the proposals of each answer. Raises EndpointAway and EndpointRefuses as `Endpoint.ask` does; also if
        one answer after the other is of no use.
        """
        try:
            reply = self.endpoint.ask(messages(descriptions), TEMPERATURES[attempt - 1], beat)
            captions = _captions(reply, len(descriptions))
        except Unusable as fault:
            if len(descriptions) == 1:
                yield [self._none(str(fault))]
            else:
                yield from self._in_halves(descriptions, attempt, beat)
            return
        self.unusable = 0
        yield [_proposal(before, after) for before, after in zip(descriptions, captions, strict=True)]

    def _in_halves(self, descriptions: Sequence[str], attempt: int, beat: Beat) -> Iterator[list[Proposal]]:
        middle = len(descriptions) // 2
        for half in (descriptions[:middle], descriptions[middle:]):
            self.endpoint.usage.retries += 1
            yield from self.propose(half, attempt, beat)

    def _none(self, why: str) -> Proposal:
        """Return that there is no proposal for one description, unless no answer has been of use for long."""
        self.unusable += 1
        if self.unusable >= UNUSABLE_IN_A_ROW:
            raise EndpointRefuses(
                f"CHAT_URL {self.endpoint.host}: {self.unusable} answers in a row are of no use; the last: {why}"
            )
        return Proposal("", [], f"The endpoint's answer is of no use: {why}.")


def messages(descriptions: Sequence[str]) -> Messages:
    """Return the messages that ask for the captions of these descriptions."""
    numbered = [{"number": number, "description": text} for number, text in enumerate(descriptions, 1)]
    request = json.dumps(numbered, ensure_ascii=False)
    return [{"role": "system", "content": PROMPT}, {"role": "user", "content": request}]


def _captions(reply: str, expected: int) -> list[object]:
    """Return the captions of an answer in the order of the descriptions. Raises Unusable if it is not JSON as asked
    for, or holds more, fewer or other numbers than the request.
    """
    answer = json_of(reply)
    entries = answer.get("captions") if isinstance(answer, dict) else None
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise Unusable(f"not the JSON that was asked for: {abbreviated(answer)}")
    by_number: dict[Any, object] = {str(entry.get("number")): entry.get("caption") for entry in entries}
    wanted = [str(number) for number in range(1, expected + 1)]
    if len(entries) != expected or set(by_number) != set(wanted):
        raise Unusable(f"{len(entries)} captions for {expected} descriptions, or wrong numbers")
    return [by_number[number] for number in wanted]


def _proposal(before: str, after: object) -> Proposal:
    if not isinstance(after, str) or not after.strip() or not storable(after):
        return Proposal("", [], f"The endpoint's caption is {abbreviated(after)}; expected a text.")
    after = " ".join(after.split())
    if len(after) > 2 * len(before) + 60 or len(after.encode()) > LONGEST_TEXT:
        return Proposal("", [], f"The endpoint's caption is too long: {len(after):,} characters for {len(before):,}.")
    return Proposal(after, differences(before, after))
