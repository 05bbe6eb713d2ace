"""An OpenAI-compatible chat endpoint, whose address, key, model and prices come from the settings only."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx
from django.conf import settings

from base.errors import ReeljudgeError
from base.text import printable
from jobs.errors import JobPostponed
from metrics import MeasureError
from metrics.formats.json_reader import read_json
from retrieval.rewriting.substituters import Beat

TRIES = 6  # of one request, before the endpoint counts as away
FIRST_WAIT, LONGEST_WAIT = 1.0, 30.0  # seconds
LARGEST_ANSWER = 4 * 2**20  # bytes
LETTERS_OF_A_TOKEN = 4  # of English text, roughly
# What no second request mends: an address or a key that cannot be sent, and an answer that cannot be unpacked.
REFUSED = (
    *(httpx.InvalidURL, httpx.UnsupportedProtocol, httpx.LocalProtocolError, httpx.DecodingError),
    UnicodeEncodeError,
)


class EndpointAway(ReeljudgeError, JobPostponed):
    """The endpoint does not answer now, or is too busy. Later it may."""


class EndpointRefuses(ReeljudgeError):
    """The endpoint refuses the requests: its settings are wrong, or it answers nothing of use."""


class Unusable(Exception):
    """One answer is not what was asked for."""


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

    Attributes
    ----------
    address
        The base address, below which `/chat/completions` is.
    timeout
        Seconds for an answer.
    wait
        A function that waits so many seconds.
    """

    address: str
    model: str
    key: str = field(default="", repr=False)
    timeout: float = 60
    wait: Callable[[float], None] = time.sleep
    usage: Usage = field(default_factory=Usage)

    @classmethod
    def from_settings(cls) -> Endpoint:
        """Return the endpoint that the settings name.

        Raises
        ------
        EndpointRefuses
            If they name none.
        """
        if not settings.CHAT_URL or not settings.CHAT_MODEL:
            raise EndpointRefuses("CHAT_URL and CHAT_MODEL: not set; expected the address of an endpoint and a model")
        return cls(settings.CHAT_URL, settings.CHAT_MODEL, settings.CHAT_KEY, settings.CHAT_TIMEOUT)

    @property
    def host(self) -> str:
        """What messages call the endpoint, because its address may hold a password."""
        return httpx.URL(self.address).host

    def ask(self, messages: list[dict[str, str]], temperature: float, beat: Beat) -> str:
        """Return what the model answers. A request that finds the endpoint busy is sent again after a while.

        Raises
        ------
        EndpointAway
            If it was sent six times.
        EndpointRefuses
            If the endpoint says that the request is wrong, or the settings make none that can be sent.
        Unusable
            If the answer is no chat completion.
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
        with httpx.stream("POST", address, json=body, headers=headers, timeout=self.timeout) as answer:
            for part in answer.iter_bytes():
                content += part
                if len(content) > LARGEST_ANSWER:
                    return answer.status_code, answer.headers, b""  # no completion, and not worth reading
                if time.monotonic() > deadline:
                    raise httpx.ReadTimeout(f"not whole after {self.timeout:g} s")
            return answer.status_code, answer.headers, content

    def _text_of(self, content: bytes, messages: list[dict[str, str]]) -> str:
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

    def _count(self, usage: object, messages: list[dict[str, str]], text: str) -> None:
        counts = usage if isinstance(usage, dict) else {}
        sent = sum(tokens(message["content"]) for message in messages)
        self.usage.input_tokens += _whole(counts.get("prompt_tokens"), sent)
        self.usage.output_tokens += _whole(counts.get("completion_tokens"), tokens(text))

    def _wait(self, seconds: float, beat: Beat) -> None:
        while seconds > 0:
            self.wait(min(seconds, 10))
            seconds -= 10
            beat()


def tokens(text: str) -> int:
    """Return roughly how many tokens a text has. What the endpoint itself counts goes before."""
    return -(-len(text) // LETTERS_OF_A_TOKEN)


def _whole(value: object, otherwise: int) -> int:
    usable = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**9
    return value if usable else otherwise  # type: ignore[return-value]


def _retry_after(headers: httpx.Headers, otherwise: float) -> float:
    seconds = headers.get("retry-after", "")
    return min(60.0, float(seconds)) if seconds.isascii() and seconds.isdecimal() and len(seconds) < 6 else otherwise
