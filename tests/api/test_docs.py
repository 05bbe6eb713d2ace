"""The examples of docs/api.md run, one after the other, against a server."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from threading import Event, Thread
from typing import Any

import numpy as np
import pytest
from django.db import connection

from accounts.models import Token
from campaigns.models import Membership
from jobs.running import work_off
from judging.models import Batch, Judgement
from releases.models import Release
from runs.models import TrainedSystem
from tests.cast import claim, judge_all
from tests.installation import ROOT
from tests.runs.test_systems import arrays
from tests.runs.uploading import GOOD, ranking

DOCUMENT = (ROOT / "docs" / "api.md").read_text()


@pytest.fixture
def worker(transactional_db: None) -> Iterator[None]:
    """Somebody who runs the jobs meanwhile."""
    done = Event()

    def work() -> None:
        while not done.wait(0.1):
            work_off(StringIO())
        connection.close()

    thread = Thread(target=work)
    thread.start()
    yield
    done.set()
    thread.join()


@pytest.mark.skipif(not shutil.which("curl"), reason="curl is not here")
def test_the_examples_run(
    live_server: Any,
    worker: None,
    batch: Batch,
    ada: Membership,
    bob: Membership,
    leo: Membership,
    member: Any,
    settings: Any,
    tmp_path: Path,
) -> None:
    judge_all(claim(bob), lambda candidate: 3)
    settings.FEATURES_ROOT, settings.MODELS_ROOT = tmp_path / "features", tmp_path / "models"
    (tmp_path / "features" / "films").mkdir(parents=True)
    np.savez(tmp_path / "features" / "films" / "i3d.npz", **arrays())
    (tmp_path / "run.json").write_text(ranking(GOOD))
    blocks = re.findall(r"<!-- run: api -->\n```sh\n(.*?)```", DOCUMENT, re.S)
    assert len(blocks) == 7
    tokens = {
        name: Token.objects.make(who.user, name, Token.Scope.values, 1)[1]
        for name, who in (("LEAD", leo), ("ANNOTATOR", ada), ("RESEARCHER", member("rio", "researcher")))
    }
    done = subprocess.run(
        ["sh", "-ec", "\n".join(blocks)],
        cwd=tmp_path,
        env={"SITE": live_server.url, "PATH": os.environ["PATH"]} | tokens,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert Judgement.objects.filter(annotator=ada, seat__isnull=False).count() == 20
    assert (tmp_path / "release.zip").stat().st_size == Release.objects.get().size
    assert '"name":"mine-seed1"' in done.stdout
    assert [system.name for system in TrainedSystem.objects.all()] == ["chance 1"]
    assert (tmp_path / "qrels.txt").read_text().count("\n") == 20


def test_the_signature_is_checked_as_documented() -> None:
    from campaigns.webhooks import signature

    found = re.search(r"```python\n(.*?)```", DOCUMENT, re.S)
    assert found
    known: dict[str, Any] = {}
    exec(found[1], known)
    now = int(known["time"].time())
    header = signature("secret", '{"a": 1}', now)
    assert known["is_genuine"]("secret", header, b'{"a": 1}')
    assert not known["is_genuine"]("secret", header, b'{"a": 2}')
    assert not known["is_genuine"]("other", header, b'{"a": 1}')
    assert not known["is_genuine"]("secret", signature("secret", '{"a": 1}', now - 600), b'{"a": 1}')
