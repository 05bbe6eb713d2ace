"""A chat endpoint on this machine: a real HTTP server that answers as it is told, also wrongly."""

from __future__ import annotations

import base64
import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY = "told-to-nobody-else"
Answer = tuple[int, dict[str, str], bytes]
Fault = Callable[["ChatEndpoint", list[dict[str, Any]]], Answer | None]


@dataclass
class ChatEndpoint:
    """What it was asked, and how it answers.

    Attributes
    ----------
    faults
        Faults of the next requests, in order; after them it answers well.
    reword
        How it rewords a description.
    grade
        What it says of a query and its pictures.
    ended
        Set when the server ends, so that nothing waits for a silent answer any longer.
    """

    reword: Callable[[str], str]
    grade: Callable[[str, list[bytes]], str] = lambda query, pictures: '{"grade": 2}'
    faults: list[Fault] = field(default_factory=list)
    bodies: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    address: str = ""
    ended: threading.Event = field(default_factory=threading.Event)

    @property
    def temperatures(self) -> list[float]:
        return [each["temperature"] for each in self.bodies]

    def answer(self, body: dict[str, Any]) -> Answer | None:
        self.bodies.append(body)
        content = body["messages"][-1]["content"]
        inputs = content if isinstance(content, list) else json.loads(content)
        if self.faults:
            return self.faults.pop(0)(self, inputs)
        return self.well(inputs) if inputs is not content else completion(self.graded(content))

    def graded(self, content: list[dict[str, Any]]) -> str:
        """What it says of a text with pictures."""
        text, *pictures = content
        urls = [each["image_url"]["url"].partition("data:image/jpeg;base64,") for each in pictures]
        return self.grade(json.loads(text["text"])["query"], [base64.b64decode(coded) for _, _, coded in urls])

    def well(self, inputs: list[dict[str, Any]]) -> Answer:
        return completion(json.dumps({"captions": self.captions(inputs)}))

    def captions(self, inputs: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [{"number": each["number"], "caption": self.reword(each["description"])} for each in inputs]


def completion(content: str, usage: object = None, finish_reason: str = "stop") -> Answer:
    """A completion that says this."""
    message = {"role": "assistant", "content": content}
    usage = usage or {"prompt_tokens": 100, "completion_tokens": 20}
    body = {"choices": [{"index": 0, "message": message, "finish_reason": finish_reason}], "usage": usage}
    return 200, {}, json.dumps(body).encode()


def status(code: int, **headers: str) -> Fault:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda endpoint, inputs: (code, named, b'{"error": "no"}')


def body(content: bytes) -> Fault:
    return lambda endpoint, inputs: (200, {}, content)


def saying(content: str) -> Fault:
    return lambda endpoint, inputs: completion(content)


def hang_up(endpoint: ChatEndpoint, inputs: object) -> None:
    """Close the connection without an answer."""


def silence(endpoint: ChatEndpoint, inputs: object) -> None:
    """Keep the connection open, and say nothing until nobody waits any more."""
    endpoint.ended.wait(60)


def cut_off(endpoint: ChatEndpoint, inputs: list[dict[str, Any]]) -> Answer:
    """Stop in the middle of the captions, as a model does that may say no more."""
    whole = json.dumps({"captions": endpoint.captions(inputs)})
    return completion(whole[: len(whole) * 2 // 3], finish_reason="length")


def broken_off(endpoint: ChatEndpoint, inputs: list[dict[str, Any]]) -> Answer:
    """End the connection in the middle of the answer."""
    code, headers, content = endpoint.well(inputs)
    return code, headers | {"Content-Length": str(2 * len(content))}, content


def one_too_few(endpoint: ChatEndpoint, inputs: list[dict[str, Any]]) -> Answer:
    return completion(json.dumps({"captions": endpoint.captions(inputs)[1:]}))


def wrong_numbers(endpoint: ChatEndpoint, inputs: list[dict[str, Any]]) -> Answer:
    captions = [each | {"number": each["number"] + 1} for each in endpoint.captions(inputs)]
    return completion(json.dumps({"captions": captions}))


def far_too_long(endpoint: ChatEndpoint, inputs: list[dict[str, Any]]) -> Answer:
    captions = [each | {"caption": each["caption"] * 40} for each in endpoint.captions(inputs)]
    return completion(json.dumps({"captions": captions}))


def names_left_in(endpoint: ChatEndpoint, inputs: list[dict[str, Any]]) -> Answer:
    captions = [{"number": each["number"], "caption": each["description"]} for each in inputs]
    return completion(json.dumps({"captions": captions}))


def off_the_subject(endpoint: ChatEndpoint, inputs: list[dict[str, Any]]) -> Answer:
    captions = [{"number": each["number"], "caption": "the stock market fell"} for each in inputs]
    return completion(json.dumps({"captions": captions}))


def in_a_fence(endpoint: ChatEndpoint, inputs: list[dict[str, Any]]) -> Answer:
    return completion(f"```json\n{json.dumps({'captions': endpoint.captions(inputs)})}\n```")


@contextmanager
def chat_endpoint(reword: Callable[[str], str]) -> Iterator[ChatEndpoint]:
    endpoint = ChatEndpoint(reword)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            assert re.fullmatch("/v1/chat/completions", self.path)
            endpoint.keys.append(self.headers.get("Authorization", ""))
            answer = endpoint.answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            if answer is None:
                self.close_connection = True
                return
            code, headers, content = answer
            self.send_response(code)
            for name, value in ({"Content-Length": str(len(content))} | headers).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)
            self.close_connection |= "Content-Length" in headers

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    endpoint.address = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=lambda: server.serve_forever(0.02), daemon=True)
    thread.start()
    try:
        yield endpoint
    finally:
        endpoint.ended.set()
        server.shutdown()
        server.server_close()
        thread.join()
