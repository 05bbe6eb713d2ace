"""Clients that ask as fast as a server answers, each with one connection that stays open.

The light ones are as light as Python allows, because they use the same processors as the server: one process waits for
all connections at once, sends prepared bytes and looks for the end of each answer. The others are httpx in threads.
"""

from __future__ import annotations

import selectors
import socket
import time
from collections.abc import Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import httpx


class Request(NamedTuple):
    method: str
    path: str
    headers: Mapping[str, str] = {}
    body: bytes = b""

    def sent(self) -> bytes:
        lines = [f"{self.method} {self.path} HTTP/1.1", "Host: 127.0.0.1"]
        lines += [f"{name}: {value}" for name, value in {**ACCEPTED, **self.headers}.items()]
        return "\r\n".join([*lines, f"Content-Length: {len(self.body)}", "", ""]).encode() + self.body


ACCEPTED = {"Accept": "application/json", "Content-Type": "application/json"}
Answer = tuple[int, bytes]  # status and body
Client = Generator[Request, Answer, None]  # yields requests, and is sent their answers


class Connection:
    """One client's connection."""

    def __init__(self, port: int, client: Client) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.client, self.received, self.seconds = client, b"", list[float]()
        self._send(next(client))

    def _send(self, request: Request) -> None:
        sent = request.sent()
        self.began = time.perf_counter()
        self.socket.sendall(sent)

    def receive(self) -> bool:
        """Read what has come. Return False when the client has asked for the last time."""
        self.received += self.socket.recv(65536)
        head, end, body = self.received.partition(b"\r\n\r\n")
        if not end or len(body) < _length(head):
            return True
        self.seconds.append(time.perf_counter() - self.began)
        self.received = b""
        try:
            self._send(self.client.send((int(head[9:12]), body)))
        except StopIteration:
            self.socket.close()
            return False
        return True


def _length(head: bytes) -> int:
    return int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])


def run(port: int, clients: Sequence[Client]) -> list[float]:
    """Let all clients ask at once until each is done. Return the seconds of each answer."""
    waiting = selectors.DefaultSelector()
    connections = [Connection(port, client) for client in clients]
    for each in connections:
        waiting.register(each.socket, selectors.EVENT_READ, each)
    while waiting.get_map():
        for key, _ in waiting.select():
            if not key.data.receive():
                waiting.unregister(key.fileobj)
    return [seconds for each in connections for seconds in each.seconds]


def run_httpx(port: int, clients: Sequence[Client]) -> list[float]:
    """Do the same with httpx, a thread for each client. They cost several times what a save costs the server."""
    with ThreadPoolExecutor(len(clients)) as threads:
        return [seconds for each in threads.map(lambda client: _by_httpx(port, client), clients) for seconds in each]


def _by_httpx(port: int, client: Client) -> list[float]:
    seconds = []
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=ACCEPTED, timeout=60) as http:
        request = next(client)
        while True:
            began = time.perf_counter()
            answer = http.request(request.method, request.path, headers=request.headers, content=request.body)
            seconds.append(time.perf_counter() - began)
            try:
                request = client.send((answer.status_code, answer.content))
            except StopIteration:
                return seconds
