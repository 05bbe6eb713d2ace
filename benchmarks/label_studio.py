"""What a judgement costs here and in Label Studio, with PostgreSQL and two processes of sixteen threads each.

`LABEL_STUDIO` names the Python of an environment with `label-studio` and `gunicorn`. Thirty-two annotators take turns:
here each saves twenty grades and submits, which claims the next batch; there each asks for a task and stores an
annotation, five times.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import urlopen
from uuid import uuid4

from benchmarks.databases import fresh, has_postgres, is_sound
from benchmarks.hot_clients import Client, Request
from benchmarks.judging import CLIENTS, SAVES, TURNS, Person, Served, prepare
from benchmarks.measuring import Skipped
from tests import made_once
from tests.installation import Installation
from tests.waiting import wait_until

JUDGEMENTS = 5  # of each annotator in a turn there, which takes as long as a batch here
PAIRS = 20_000
RESULT = [{"from_name": "grade", "to_name": "clip", "type": "rating", "value": {"rating": 3}}]
MAKE = f"""
from users.models import User
from organizations.models import Organization
from projects.models import Project
from tasks.models import Task
from rest_framework.authtoken.models import Token
from jwt_auth.models import JWTSettings
lead = User.objects.create_user("lead@example.com", "x" * 12)
organization = Organization.create_organization(created_by=lead, title="bench")
JWTSettings.objects.filter(organization=organization).update(legacy_api_tokens_enabled=True)
form = '<View><Text name="query" value="$query"/><Image name="clip" value="$clip"/>'
form += '<Rating name="grade" toName="clip" maxRating="5"/></View>'
project = Project.objects.create(
    title="bench", created_by=lead, organization=organization, label_config=form, maximum_annotations=2)
Task.objects.bulk_create([
    Task(project=project, overlap=2, data={{"query": f"query {{n // 20}}", "clip": f"https://clips/{{n}}.gif"}})
    for n in range({PAIRS})], batch_size=1000)
for number in range({CLIENTS}):
    user = User.objects.create_user(f"annotator-{{number}}@example.com", "x" * 12)
    organization.add_user(user)
    user.active_organization = organization
    user.save()
    print("TOKEN", Token.objects.get_or_create(user=user)[0].key)
"""


def figures() -> Iterator[str]:
    python = os.environ.get("LABEL_STUDIO")
    if not python or not has_postgres():
        raise Skipped("LABEL_STUDIO does not name a Python with label-studio and gunicorn, or PostgreSQL is not here")
    with fresh("postgres") as place, _label_studio(python) as (other, tokens):
        people = [Person(number, session) for number, session in enumerate(prepare(place, TURNS + 1))]
        there = [{"Authorization": f"Token {token}"} for token in tokens]
        claims, saves, submits, studio = Served(place), Served(place), Served(place), Served(other)
        claims.ask([each.claim() for each in people])  # later, submitting hands out the next batch
        for _ in range(TURNS):
            saves.ask([each.save() for each in people])
            submits.ask([each.submit() for each in people])
            studio.ask([_judged(headers) for headers in there])
        here = len(saves.seconds) / (claims.took + saves.took + submits.took)
        elsewhere = studio.rate / 2
        mine = (claims.processor + saves.processor + submits.processor) / (CLIENTS * TURNS * SAVES)
        theirs = studio.processor / (len(studio.seconds) / 2)
        yield f"here {here:.0f} judgements a second, {1000 * mine:.1f} ms of the web processes each, all told"
        yield f"Label Studio {elsewhere:.1f} a second, {1000 * theirs:.0f} ms"
        yield f"here beside it: {here / elsewhere:.0f} × the rate, {theirs / mine:.0f} × less processor time"
        yield is_sound(place, "bench")


def _judged(headers: dict[str, str]) -> Client:
    for _ in range(JUDGEMENTS):
        status, body = yield Request("GET", "/api/projects/1/next", headers)
        assert status == 200, body
        answer = json.dumps({"result": RESULT, "lead_time": 5}).encode()
        address = f"/api/tasks/{json.loads(body)['id']}/annotations/"
        status, body = yield Request("POST", address, headers, answer)
        assert status == 201, body


@contextmanager
def _label_studio(python: str) -> Iterator[tuple[Installation, list[str]]]:
    """Serve a Label Studio with a project and annotators. Yield its server, and the annotators' tokens."""
    server, name = os.environ["TEST_POSTGRES_URL"], f"label_studio_{uuid4().hex[:12]}"
    database = urlsplit(made_once.empty_postgres(server, name))
    found = [python, "-c", "import label_studio; print(label_studio.__path__[0])"]
    program = subprocess.run(found, capture_output=True, text=True, check=True).stdout.split()[-1]
    with tempfile.TemporaryDirectory() as folder:
        other = Installation(Path(folder))
        env = os.environ | {
            "DJANGO_DB": "default",
            "DJANGO_SETTINGS_MODULE": "core.settings.label_studio",
            "POSTGRE_NAME": name,
            "POSTGRE_USER": database.username or "postgres",
            "POSTGRE_PASSWORD": database.password or "",
            "POSTGRE_HOST": database.hostname or "127.0.0.1",
            "POSTGRE_PORT": str(database.port or 5432),
            "LABEL_STUDIO_BASE_DATA_DIR": folder,
            "COLLECT_ANALYTICS": "false",
            "LOG_LEVEL": "ERROR",
        }
        try:
            done = partial(subprocess.run, cwd=program, env=env, capture_output=True, text=True, check=True)
            done([python, "manage.py", "migrate", "-v0"])
            printed = done([python, "manage.py", "shell", "-c", MAKE]).stdout
            command = [python, "-m", "gunicorn", "core.wsgi:application", "-w", "2", "-k", "gthread", "--threads", "16"]
            command += ["--timeout", "300", "--bind", f"127.0.0.1:{other.port}"]
            quiet = subprocess.DEVNULL
            other.processes.append(
                subprocess.Popen(command, cwd=program, env=env, stdout=quiet, stderr=quiet, start_new_session=True)
            )
            wait_until(partial(_answers, other.port), lambda: "Label Studio answers")
            yield other, re.findall(r"^TOKEN (\S+)$", printed, re.M)
        finally:
            other.stop()
            made_once.drop(server, name)


def _answers(port: int) -> bool:
    with suppress(OSError), urlopen(f"http://127.0.0.1:{port}/health", timeout=60):
        return True
    return False
