"""Annotators over HTTPS, who load and send what a browser does, and note all that does not come as it should."""

from __future__ import annotations

import html
import json
import re
import ssl
from collections import Counter
from pathlib import Path
from threading import Event, Thread
from typing import Any
from urllib.parse import urljoin, urlsplit
from uuid import uuid4

import httpx

SITE, PROXY = "https://judge.example.org", "198.51.100.10"
GRADE = 2
# What a browser sends again by itself: a connection that was kept open was closed by the other side meanwhile.
CLOSED = (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError)


class Annotator(Thread):
    """Judges batch after batch until told to stop; `acknowledged` holds what the server has said 200 to."""

    def __init__(self, name: str, password: str, certificate: Path, stop: Event, pace: float) -> None:
        super().__init__(daemon=True, name=name)
        self.password, self.stop, self.pace = password, stop, pace
        believed = ssl.create_default_context(cafile=certificate)
        self.client = httpx.Client(verify=believed, timeout=30)
        self.counts: Counter[str] = Counter()
        self.versions: set[str] = set()
        self.failures: list[str] = []
        self.acknowledged: dict[tuple[str, int], int] = {}

    def run(self) -> None:
        try:
            self._sign_in()
            while not self.stop.is_set():
                if token := self._claim():
                    self._judge_batch(token)
                else:
                    self.stop.wait(2)
        except Exception as fault:  # noqa: BLE001 - noted, and looked at by the test
            self.failures.append(f"{self.name}: {type(fault).__name__}: {fault}")
        finally:
            self.client.close()

    def _sign_in(self) -> None:
        page = self._page("/sign-in/")
        name = re.search(r'<input[^>]*name="(username|login)"', page.text)
        assert name, page.text
        form = {"csrfmiddlewaretoken": _token(page), name[1]: self.name, "password": self.password}
        answer = self._page("/sign-in/", form)
        assert "sign-in" not in str(answer.url), answer.text

    def _claim(self) -> str | None:
        home = self._page("/judge/")
        form = re.search(r'action="(/judge/[\w-]+/claim)"', home.text)
        assert form, home.text
        page = self._page(form[1], {"csrfmiddlewaretoken": _token(home)})
        found = re.search(r"/judge/assignments/([\w-]+)/", page.url.path)
        if found:
            self._data, self._csrf = _data(page), _token(page)
        return found[1] if found else None

    def _judge_batch(self, token: str) -> None:
        for position, place in enumerate(self._data["places"], 1):
            if place["grade"] is not None:
                continue
            if place["clip"]:
                self._clip(place["clip"])
            self._say("PUT", f"/judge/assignments/{token}/judgements/{position}", grade=GRADE, seconds=1.0)
            self.acknowledged[token, position] = GRADE
            self.counts["grades"] += 1
            if self.stop.wait(self.pace):
                return
        self._say("POST", f"/judge/assignments/{token}/submit")
        self.counts["batches"] += 1

    def _clip(self, path: str) -> None:
        answer = self._ask("GET", path, headers={"range": "bytes=0-99"})
        if answer.status_code not in (206, 302):
            self.failures.append(f"{self.name}: clip {path}: {answer.status_code}")
        self.counts["clips"] += 1

    def _say(self, method: str, path: str, **body: Any) -> None:
        """Send it as the page's outbox does: again with the same key until it is acknowledged."""
        content = {**body, "fence": self._data["fence"]}
        if method == "PUT":
            content["key"] = str(uuid4())
        headers = {"accept": "application/json", "x-csrftoken": self._csrf}
        while True:
            try:
                answer = self._ask(method, path, json=content, headers=headers)
            except httpx.HTTPError:
                answer = None
            if answer is not None and answer.status_code == 200:
                return
            if answer is not None and answer.status_code < 500:
                raise AssertionError(f"{method} {path}: {answer.status_code} {answer.text[:300]}")
            self.counts["kept and sent again"] += 1
            self.stop.wait(1)

    def _page(self, path: str, form: dict[str, str] | None = None) -> httpx.Response:
        """Load a page with its scripts and stylesheets, or send a form and load the page that comes then."""
        answer = self._ask("POST", path, data=form) if form else self._ask("GET", path)
        while answer.is_redirect:
            answer = self._ask("GET", urlsplit(urljoin(path, answer.headers["Location"])).path)
        self.counts["pages"] += 1
        if answer.status_code != 200:
            raise AssertionError(f"page {path}: {answer.status_code} {answer.text[:300]}")
        for file in sorted(set(re.findall(r'(?:src|href)="(/static/[^"]+)"', answer.text))):
            found = self._ask("GET", file)
            self.counts["static files"] += 1
            if found.status_code != 200:
                self.failures.append(f"{self.name}: {file} of {path}: {found.status_code}")
        return answer

    def _ask(self, method: str, path: str, headers: dict[str, str] | None = None, **content: Any) -> httpx.Response:
        sent = {"host": "judge.example.org", "origin": SITE, "referer": f"{SITE}/", **(headers or {})}
        for again in (False, True):
            try:
                answer = self.client.request(
                    method,
                    f"https://{PROXY}{path}",
                    headers=sent,
                    extensions={"sni_hostname": "judge.example.org"},
                    **content,
                )
                break
            except CLOSED:
                self.counts["sent again by the browser"] += 1
                if again:
                    raise
        self.versions.add(answer.headers.get("Reeljudge-Version", ""))
        return answer


def _token(page: httpx.Response) -> str:
    found = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page.text)
    assert found, page.text
    return found[1]


def _data(page: httpx.Response) -> dict[str, Any]:
    found = re.search(r'<script id="assignment" type="application/json">(.*?)</script>', page.text)
    assert found, page.text
    data: dict[str, Any] = json.loads(html.unescape(found[1]))
    return data
