"""A server that Sentry's client talks to, and what it was sent."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import zlib
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

from tests.installation import ROOT, Installation


def envelopes_of(code: str, home: Path) -> str:
    """Run code in a process that has SENTRY_DSN; returns all that it sent, as compact JSON."""
    sent: list[str] = []

    class Listener(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            sent.append(_unpacked(body, self.headers.get("Content-Encoding", "")))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Listener)
    Thread(target=server.serve_forever, daemon=True).start()
    env = Installation(home).env | {"SENTRY_DSN": f"http://key@127.0.0.1:{server.server_port}/1"}
    command = [sys.executable, "manage.py", "shell", "--no-imports", "-c", code]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    server.shutdown()
    server.server_close()
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for body in sent for line in body.splitlines() if line.startswith("{")]
    return "\n".join(json.dumps(line, separators=(",", ":")) for line in lines)


def _unpacked(body: bytes, encoding: str) -> str:
    if encoding == "gzip":
        return gzip.decompress(body).decode()
    if encoding == "br":
        import brotli

        return str(brotli.decompress(body).decode())
    return (zlib.decompress(body) if encoding == "deflate" else body).decode()
