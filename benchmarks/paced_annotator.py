"""An annotator at a person's pace, for Locust: the requests of a browser, and the time between them.

`PACED_SESSIONS` names a file with the session of each annotator.
"""

from __future__ import annotations

import json
import os
import random
import re
import time
from pathlib import Path
from typing import Any
from uuid import uuid4

from locust import FastHttpUser, task

from benchmarks.inside import SECONDS_OF_A_GRADE

ASSIGNMENT = re.compile(r'<script id="assignment" type="application/json">(.*?)</script>', re.DOTALL)
sessions = iter(json.loads(Path(os.environ["PACED_SESSIONS"]).read_text()))


class Annotator(FastHttpUser):
    """Looks at the home page, asks for a batch, judges it clip by clip, and submits it."""

    network_timeout = connection_timeout = 60.0

    def on_start(self) -> None:
        token = uuid4().hex
        self.token = {"X-CSRFToken": token}
        self.cookies = {"Cookie": f"sessionid={next(sessions)}; csrftoken={token}"}

    @task
    def batch(self) -> None:
        self.ask("GET", "/judge/", "page: home")
        answer = self.ask("POST", "/judge/bench/claim", "claim")
        handed = self.workplace(answer.headers.get("Location") or "/judge/")
        places = handed["places"] if handed else []
        for number, place in enumerate(places, 1):
            self.ask("GET", place["clip"], "clip")
            time.sleep(SECONDS_OF_A_GRADE * random.uniform(0.5, 1.5))
            self.save(handed, number)
        if handed:
            address = f"/judge/assignments/{handed['token']}/submit"
            self.ask("POST", address, "submission", json={"fence": handed["fence"]})
        else:
            time.sleep(SECONDS_OF_A_GRADE)

    def workplace(self, address: str) -> dict[str, Any]:
        """Open the workplace, and read the assignment as its scripts do."""
        headers, name = self.cookies, "page: workplace"
        with self.client.get(address, headers=headers, name=name, catch_response=True) as answer:
            found = ASSIGNMENT.search(answer.text or "")
            if not found:
                answer.failure(f"no assignment: {answer.status_code}")
                return {}
        read: dict[str, Any] = json.loads(found[1])
        return read

    def save(self, handed: dict[str, Any], number: int) -> None:
        grade, key = random.randrange(5), str(uuid4())
        body = {"grade": grade, "fence": handed["fence"], "key": key, "press": number, "seconds": 9.5}
        address = f"/judge/assignments/{handed['token']}/judgements/{number}"
        self.ask("PUT", address, "save", json=body)

    def ask(self, method: str, address: str, name: str, **more: Any) -> Any:
        headers = self.cookies | self.token | ({"Accept": "application/json"} if "json" in more else {})
        return self.client.request(method, address, name=name, headers=headers, allow_redirects=False, **more)
