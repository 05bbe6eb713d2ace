"""Sending one delivery: signed, to the address that was checked, following nobody elsewhere."""

from __future__ import annotations

import hashlib
import hmac
import http.client
import socket
import ssl
import time
from contextlib import suppress
from threading import Timer

from campaigns.webhooks.addresses import Destination, destination, reachable

PATIENCE = 10.0  # seconds of silence
DEADLINE = 20.0  # seconds for the whole answer
SIGNATURE = "Reeljudge-Signature"
# The last is what a connection raises that was ended while it was read.
FAULTS = (OSError, http.client.HTTPException, ValueError)


def signature(secret: str, body: str, at: int) -> str:
    """Return what the header says: the time, and the HMAC-SHA256 of the time and the body."""
    signed = hmac.new(secret.encode(), f"{at}.{body}".encode(), hashlib.sha256)
    return f"t={at},v1={signed.hexdigest()}"


def send(address: str, secret: str, event: str, body: str) -> int:
    """Post the body, and return the status of the answer. A redirect is an answer like any other.

    Raises
    ------
    BadValue, NotAllowed
        If the settings do not allow the address.
    OSError, HTTPException, ValueError
        If the site does not answer in time.
    """
    where = destination(address)
    connection = _Connection(where, reachable(where))
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "Reeljudge",
        "Reeljudge-Event": event,
        SIGNATURE: signature(secret, body, int(time.time())),
    }
    overdue = Timer(DEADLINE, connection.give_up)
    overdue.start()
    try:
        connection.request("POST", where.path, body.encode(), headers)
        return connection.getresponse().status  # nothing more of the answer is read
    finally:
        overdue.cancel()
        connection.close()


class _Connection(http.client.HTTPConnection):
    """A connection to the address that was checked, whatever the host's name leads to a moment later."""

    def __init__(self, where: Destination, address: str) -> None:
        super().__init__(where.host, where.port, timeout=PATIENCE)
        self.where, self.address = where, address
        self.default_port = {"https": 443, "http": 80}[where.scheme]

    def connect(self) -> None:
        self.sock = socket.create_connection((self.address, self.where.port), PATIENCE)
        if self.where.scheme == "https":
            tls = ssl.create_default_context()
            secure = tls.wrap_socket(self.sock, do_handshake_on_connect=False, server_hostname=self.where.host)
            self.sock = secure
            secure.do_handshake()  # by now this can be ended, too

    def give_up(self) -> None:
        """End the connection, so that whoever reads from it stops."""
        with suppress(OSError):
            if self.sock:
                self.sock.shutdown(socket.SHUT_RDWR)
