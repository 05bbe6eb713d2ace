"""Clients that ask as fast as a server answers, each with one connection that stays open.

They are as light as Python allows, because they use the same processors as the server: one process, which waits for all
connections at once, sends prepared bytes and looks for the end of each answer.
"""

from __future__ import annotations

import selectors
import socket
import time
from collections.abc import Generator, Sequence

Answer = tuple[int, bytes]  # status and body
Client = Generator[bytes, Answer, None]  # yields requests, and is sent their answers
HEAD = "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: application/json\r\n{more}"


def request(method: str, path: str, headers: str = "", body: bytes = b"") -> bytes:
    """Return the bytes of a request. Each of the headers ends with a line break."""
    more = f"{headers}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return HEAD.format(method=method, path=path, more=more).encode() + body


class Connection:
    """One client's connection."""

    def __init__(self, port: int, client: Client) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.client, self.received, self.seconds = client, b"", list[float]()
        self._send(next(client))

    def _send(self, asked: bytes) -> None:
        self.began = time.perf_counter()
        self.socket.sendall(asked)

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
